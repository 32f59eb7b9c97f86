"""The experiments: the short configuration from end to end, that it resumes, and its statistics."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tolerances import ROUNDING

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import experiments
from experiment_report import average_ranks, comparison, complete, critical_difference, holm, pairwise
from experiments import all_sets, auc, from_file, known_split, main, split_of

from spnmkl.baselines import compute_kernels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two views in a file, and the results of a short run on it."""
    folder = tmp_path_factory.mktemp("experiments")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(3)
    frame = pd.DataFrame(X, columns=["a__1", "a__2", "b__1", "b__2"])
    frame.assign(label=np.where(X[:, 0] * X[:, 2] > 0, "yes", "no")).to_csv(folder / "tiny.csv", index=False)
    main(arguments(folder))
    return folder


def arguments(folder: Path, *more: str) -> list[str]:
    few = ["--sets", "tiny", "--splits", "1", "--seeds", "1", "--sizes", "30"]
    return ["--short", "--data", str(folder), "--out", str(folder / "out"), *few, *more]


def test_every_method_has_a_result_and_is_reported(folder: Path) -> None:
    table = pd.read_csv(folder / "out" / "results.csv")
    accuracy, recovery = (table[table["section"] == section] for section in ("accuracy", "recovery"))
    expected = set(experiments.accuracy_methods(from_file(folder / "tiny.csv")))
    assert set(accuracy["method"]) == expected
    assert set(recovery["method"]) == set(experiments.known_methods())
    assert table[["accuracy", "auc", "validation"]].stack().between(0, 1).all()
    assert (table["active"] <= table["kernels"]).all()
    assert (table["gap"].dropna() <= 1e-2).all()
    assert recovery.set_index("method")["share"].dropna().index.tolist() == [experiments.QUESTION]
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert all(name in report for name in table["method"])
    assert "--short" in report
    assert (folder / "out" / "recovery.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_run_goes_on_where_it_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "out" / "results.csv"
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:9], encoding="utf-8")
    computed = []
    add = experiments.Results.add
    monkeypatch.setattr(experiments.Results, "add", lambda self, cell: (computed.append(cell.method), add(self, cell)))
    main(arguments(folder))
    assert computed == [experiments.QUESTION]
    again, before = pd.read_csv(path), lines[-1].split(",")
    assert len(again) == len(lines) - 1
    assert again["accuracy"].iloc[-1] == float(before[list(again).index("accuracy")])
    with pytest.raises(SystemExit, match="results of other settings"):
        main(arguments(folder, "--folds", "3"))


def test_nothing_is_learned_from_test_rows(folder: Path) -> None:
    data = from_file(folder / "tiny.csv")
    split = split_of(data, 0, experiments.SHORT.choice)
    np.testing.assert_allclose(split.X.mean(axis=0), 0, atol=ROUNDING)
    assert np.abs(split.X_test.mean(axis=0)).max() > 1e-3
    small, large = known_split(0, 50), known_split(0, 200)
    np.testing.assert_array_equal(small.X_test, large.X_test)
    np.testing.assert_array_equal(small.X, large.X[:50])
    assert not (set(map(tuple, large.X)) & set(map(tuple, large.X_test)))


def test_sets_are_found(folder: Path) -> None:
    assert list(all_sets(None)) == ["iris", "breast_cancer", "wine", "digits"]
    assert list(all_sets(folder))[-1] == "tiny"
    assert list(all_sets(folder)["tiny"]().groups) == ["a", "b"]
    data = all_sets(None)["breast_cancer"]()
    assert sorted(column for kernels in data.groups.values() for column in kernels[0].spec.features) == [*range(30)]
    with pytest.raises(SystemExit, match="no set 'absent'"):
        main(["--sets", "absent", "--out", str(folder / "other")])


def test_easy_mkl_takes_part_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """MKLpy is not installed with the tests: what it would be asked is checked, not what it answers."""
    asked = []

    def mklpy(kernels: list, y: np.ndarray, C: float, rule: object, name: str) -> np.ndarray:
        asked.append((len(kernels), set(y.tolist()), name))
        return np.arange(len(kernels), dtype=float)

    monkeypatch.setattr(experiments, "mklpy", mklpy)
    monkeypatch.setattr(experiments, "find_spec", lambda name: name == "MKLpy")
    assert "EasyMKL (MKLpy)" not in experiments.accuracy_methods(all_sets(None)["iris"]())
    data = all_sets(None)["breast_cancer"]()
    method = experiments.accuracy_methods(data)["EasyMKL (MKLpy)"]
    split = split_of(data, 0, experiments.SHORT.choice)
    found = method.fit(compute_kernels([method], split.X)[0], split.y, points=2, folds=2)
    assert asked == 3 * [(15, {-1.0, 1.0}, "EasyMKL")]
    assert len(found.model.active) == 14


def test_auc_of_more_classes_is_the_mean_over_classes() -> None:
    y, classes = np.array(["a", "b", "c", "a"]), np.array(["a", "b", "c"])
    decision = np.array([[0.9, 0, 0], [0, 0.8, 0.3], [0.2, 0.9, 0.1], [0.1, 0, 0.2]])
    # a: (0.9, 0.1) over (0, 0.2): 3 of 4; b: 0.8 over (0, 0.9, 0): 2 of 3; c: 0.1 over (0, 0.3, 0.2): 1 of 3.
    assert auc(y, decision, classes) == pytest.approx((3 / 4 + 2 / 3 + 1 / 3) / 3)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.9]) == pytest.approx([0.04, 0.09, 0.09, 0.9])


def test_ranks_and_tests() -> None:
    rng = np.random.default_rng(0)
    means = pd.DataFrame(
        {"good": 0.9 + 0.01 * rng.uniform(size=8), "middle": np.full(8, 0.85), "bad": np.full(8, 0.85)}
    )
    ranks = average_ranks(means)
    assert ranks.to_dict() == {"good": 1.0, "middle": 2.5, "bad": 2.5}
    found = {frozenset(pair[:2]): (pair[0], pair[3]) for pair in pairwise(means)}
    assert found[frozenset({"good", "bad"})] == ("good", pytest.approx(3 * 2 / 2**8))
    assert found[frozenset({"middle", "bad"})][1] == 1.0
    told = " ".join(comparison(means, ranks))
    assert "good over middle (p = 0.023); good over bad (p = 0.023)" in told
    assert "no test can tell" in " ".join(comparison(means[:5], ranks))
    exact = stats.wilcoxon(x := rng.normal(0.3, 1, 8), method="exact").pvalue
    assert pairwise(pd.DataFrame({"x": x, "zero": np.zeros(8)}))[0][2] == pytest.approx(exact)


def test_critical_difference_is_the_tabulated_one() -> None:
    # Demšar (2006), table 5: q = 2.343 for 3 classifiers and 3.164 for 10, at 5 %.
    assert critical_difference(3, 10) == pytest.approx(2.343 * np.sqrt(3 * 4 / 60), rel=1e-3)
    assert critical_difference(10, 12) == pytest.approx(3.164 * np.sqrt(10 * 11 / 72), rel=1e-3)


def test_ranks_leave_out_what_is_not_everywhere() -> None:
    rows = [("s1", "a", 0.5), ("s1", "b", 0.6), ("s1", "c", 0.7), ("s2", "a", 0.5), ("s2", "b", 0.6)]
    means = complete(pd.DataFrame(rows, columns=["set", "method", "accuracy"]), "accuracy")
    assert list(means) == ["a", "b"]
    assert list(means.index) == ["s1", "s2"]
