"""Memory before a training: counted, and held against what one really takes."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN, Kernel, Product, Sum, templates
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.memory import available_memory
from spnmkl.training.choose import choose_C
from spnmkl.training.prepared import prepare
from spnmkl.training.room import LANDMARKS, ExactRoom, memory_text, refusal, size_of
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

N, COLUMNS = 500, 6


def dataset(n_classes: int, noisy: bool) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, COLUMNS))
    score = rng.random(2 * N) if noisy else np.sin(X[:, 0]) + X[:, 1]
    codes = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(COLUMNS)]).assign(y=[f"c{code}" for code in codes])
    return Dataset("made", frame, "y")


def leaf(column: int, width: float = 1.0) -> Kernel:
    return Kernel("rbf", gamma=width, features=[f"x{column}"])


FLAT = templates.flat([leaf(k % COLUMNS, 1.0 + k) for k in range(12)])
PRODUCT = templates.product_of_sums(
    {"A": [leaf(0), leaf(1), leaf(2)], "B": [leaf(3), leaf(4)], "C": [leaf(5), leaf(5, 9.0)]}
)
NARROW = templates.flat([leaf(0, 1e4), leaf(1, 1e4)])  # every row is a free support vector
SHAPES = {
    "twelve kernels": (FLAT, 2, False, 0),
    "a product of sums": (PRODUCT, 2, False, 0),
    "four classes": (PRODUCT, 4, False, 0),
    "narrow kernels, no structure in the labels": (NARROW, 2, True, 0),
    "cross-validation": (FLAT, 2, False, 4),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_peak_is_within_half_as_much_again(name: str) -> None:
    spn, n_classes, noisy, folds = SHAPES[name]
    data, settings = dataset(n_classes, noisy), Settings(tol=1e-2)
    small = replace(data, frame=data.frame.iloc[:120])
    train(prepare(spn, small, Choices(), SplitSettings(0.5)), settings)  # compiles
    tracemalloc.start()
    try:
        known = prepare(spn, data, Choices(), SplitSettings(0.5))
        if folds:
            choose_C(known, settings, folds, C=[1.0])
        else:
            train(known, settings)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    expected = size_of(spn, known.n, n_classes, folds).memory
    assert peak / 1.5 <= expected <= 1.5 * peak


def test_leaves_of_one_specification_count_once() -> None:
    twins = SPN(Sum(Product(leaf(0)), Product(leaf(0))))
    assert size_of(twins, N, 2).matrices == 1
    given = SPN(Sum(Product(Kernel("precomputed", label="a")), Product(Kernel("precomputed", label="b"))))
    assert size_of(given, N, 2).matrices == 2


def test_a_refusal_tells_how_many_rows_would_fit() -> None:
    free = 8 * 10**9
    sentence = refusal(size_of(FLAT, 20_000, 2), free)
    assert sentence is not None
    start = "This needs about 45 GB of memory, but 8.0 GB are free: use fewer rows or fewer kernels; with 12 kernels "
    assert sentence.startswith(start)
    rows = int(sentence.removeprefix(start).split()[0].replace(",", ""))
    assert refusal(size_of(FLAT, rows, 2), free) is None
    assert refusal(size_of(FLAT, rows + 1, 2), free) is not None


def test_a_refusal_tells_how_many_kernels_would_fit() -> None:
    sentence = refusal(size_of(FLAT, 10_000, 2), 6 * 10**9)
    assert sentence is not None
    assert "with 10,000 training rows 4 kernels would fit" in sentence  # 4 + 2 matrices of 0.8 GB in 90 % of 6 GB


def test_no_refusal_where_it_fits_or_nothing_is_known() -> None:
    small = size_of(FLAT, 100, 2)
    assert refusal(small, 10**9) is None
    assert refusal(size_of(FLAT, 10**6, 2), None) is None


def test_without_matrices_only_the_rows_count() -> None:
    whole = size_of(FLAT, 20_000, 2)
    assert refusal(whole, 10 * 10**9) is not None
    assert refusal(whole.in_tiles, 10 * 10**9) is None
    assert refusal(whole.in_tiles, 10**9) == (
        "This needs about 6.4 GB of memory, but 1.0 GB are free: use fewer rows; 7,479 training rows would fit. "
        + LANDMARKS
    )


def test_landmarks_are_offered_where_the_exact_way_does_not_fit() -> None:
    free = 20 * 10**9
    assert ExactRoom(10_000, Settings(), 2 * 10**9).words() is None
    assert ExactRoom(10**6, Settings(), None).words() is None
    large, single = ExactRoom(100_000, Settings(), free), ExactRoom(40_000, Settings(), free)
    said = large.words() or ""
    assert said.startswith("Exact training on 100,000 rows needs about 40 GB of memory beside its kernels, but 20 GB ")
    assert "--approximation nystroem" in said and "not certified" in said and not large.fits(large.least)
    said = single.words() or ""
    assert (
        single.fits(single.least) and "about 6.4 GB of memory beside its kernels, and up to 26 GB where single" in said
    )
    for settings in (Settings(tol=1e-6), Settings(weights="evidence")):
        twice = ExactRoom(50_000, settings, free)
        assert not twice.fits(twice.least) and "up to" not in (twice.words() or "")
    evidence = Settings(weights="evidence")  # has no step in single precision
    assert ExactRoom(40_000, evidence, free).words() is None and ExactRoom(48_000, evidence, free).words() is not None
    no_sample_fits = refusal(size_of(FLAT, 20_000, 2).in_tiles, 10**8)
    assert no_sample_fits is not None and LANDMARKS not in no_sample_fits


def test_the_words() -> None:
    assert [memory_text(b) for b in (20_000, 3_140_000, 999_600_000, 12.3e9)] == ["20 kB", "3.1 MB", "1.0 GB", "12 GB"]


def written(root: Path, files: dict[str, object]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(str(text))
    return root


MEMINFO = {"proc/meminfo": "MemTotal: 2000 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\n"}


def test_memory_of_the_machine(tmp_path: Path) -> None:
    assert available_memory(written(tmp_path, MEMINFO)) == 1000 * 1024


def test_memory_is_unknown_where_nothing_tells_it(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None


def test_the_tightest_control_group_counts(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/app"
    root = written(
        tmp_path,
        MEMINFO
        | {
            "proc/self/cgroup": "0::/app/inner\n",
            f"{group}/memory.max": 500_000,
            f"{group}/memory.current": 300_000,
            f"{group}/memory.stat": "anon 200000\ninactive_file 50000\n",
            f"{group}/inner/memory.max": "max",
            f"{group}/inner/memory.current": 100_000,
        },
    )
    assert available_memory(root) == 250_000


def test_control_groups_of_the_first_version(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        MEMINFO
        | {
            "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/not/visible/here\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": 400_000,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": 450_000,
            "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 0\n",
        },
    )
    assert available_memory(root) == 0


def test_this_machine_has_some() -> None:
    found = available_memory()
    assert found is None or found > 10**7


def test_computed_kernels_count_in_single_precision_where_they_begin_in_it() -> None:
    """As for `spnmkl fit`; a process may still take what double precision would."""
    size = size_of(FLAT, 50_000, 2, 0, Settings()).in_tiles
    assert 4 * 50_000**2 < size.memory < 12 * 10**9 and size.in_double.memory > 16 * 50_000**2
    assert refusal(size, 16 * 10**9) is None and refusal(size.in_double, 16 * 10**9) is not None
    for settings in (Settings(tol=1e-5), Settings(weights="evidence"), Settings(p=0.5), Settings(p="sparse")):
        assert size_of(FLAT, 50_000, 2, 0, settings).in_tiles.memory > 16 * 50_000**2
