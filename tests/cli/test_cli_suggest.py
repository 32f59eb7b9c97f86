"""``spnmkl suggest``: the search of the library on a table, told and written."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN

Run = Callable[..., tuple[int, str, str]]
BEGIN = ("suggest", "data.csv", "--label", "y", "--jobs", 1)


def samples(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, size=(n, 3)), columns=["blood__a", "blood__b", "scan__a"])
    y = np.where(frame["blood__a"] * frame["scan__a"] > 0, "ill", "well")
    return frame.assign(colour=rng.choice(["red", "blue"], n), y=y)


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    return folder


def test_a_structure_is_found_told_and_written(run: Run) -> None:
    code, out, err = run(*BEGIN, "--budget", 16, "--subsamples", 1, "--out", "s.json", "--progress")
    assert code == 0
    first, *_ = out.splitlines()[1:]
    assert "blood__a × scan__a" in first
    assert "Evidence for products: " in out
    assert "scores are of 30 other rows" in out and "; guessing has 5" in out and "± is one standard error" in out
    saved = re.search(r"Drawing 1 of \d, (.*), is saved as s\.json\.", err)
    assert "refits; best so far: " in err and saved is not None and "blood__a × scan__a" in saved[1]
    spn = SPN.from_json(Path("s.json").read_text(encoding="utf-8"))
    fit = re.search(r"--structure s\.json --C ([\d.e+-]+) \(chosen by cross-validation on the rows searched;", err)
    assert fit is not None and float(fit[1]) > 0 and "since the search saw them" in err
    assert {spn.label(leaf) for leaf in spn.kernels} >= {"blood__a", "scan__a"}
    assert not run("validate", "s.json", "--data", "data.csv", "--label", "y")[0]


def test_nothing_is_said_to_be_found_where_nothing_is(run: Run) -> None:
    samples().assign(y=np.random.default_rng(0).permutation(samples()["y"])).to_csv("data.csv", index=False)
    code, out, _ = run(*BEGIN, "--budget", 8, "--subsamples", 0, "--held-out", 0, "--out", "-")
    assert code == 0
    assert not SPN.from_json(out).validate()
    _, out, _ = run(*BEGIN, "--budget", 8, "--subsamples", 0, "--held-out", 0)
    assert "no drawing is better than a constant" in out


def test_a_sum_that_leads_is_saved_although_no_product_was_found(run: Run) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, size=(100, 6)), columns=list("abcdef"))
    frame.assign(y=np.where(frame["a"] + 0.3 * rng.normal(size=100) > 0, "ill", "well")).to_csv("data.csv", index=False)
    code, out, err = run(*BEGIN, "--budget", 16, "--subsamples", 0, "--held-out", 0, "--out", "s.json")
    assert code == 0 and "No evidence for products" in out and "Without products, a is recommended: it is " in out
    assert "Drawing 1 of 2, a, is saved as s.json." in err and "will do" not in out
    spn = SPN.from_json(Path("s.json").read_text(encoding="utf-8"))
    assert [spn.label(leaf) for leaf in spn.kernels] == ["a"]


def test_what_is_saved_is_what_will_do(run: Run) -> None:
    """By evidence the sum of two kernels is first, but the flat sum of all is what is said to do."""
    frame = samples(60)[["blood__a", "blood__b", "scan__a"]]
    noise = np.random.default_rng(1).normal(size=60)
    frame.assign(y=np.where(frame["blood__a"] + 0.5 * noise > 0, "ill", "well")).to_csv("data.csv", index=False)
    code, out, err = run(*BEGIN, "--budget", 8, "--subsamples", 1, "--held-out", 0, "--out", "s.json")
    assert code == 0 and "The flat sum of all kernels will do." in out
    flat = next(line for line in out.splitlines() if line.startswith("blood__a + blood__b + scan__a "))
    assert out.splitlines()[1] != flat and "%" not in flat, "no search has to find it, so that it does not recur"
    spn = SPN.from_json(Path("s.json").read_text(encoding="utf-8"))
    assert len(spn.kernels) == 3 and "Drawing 2 of 2, the flat sum of all kernels, is saved as s.json." in err
    assert "100 %" in out.splitlines()[1]
    assert "--structure s.json --C cv." in err and "too good" not in err, "it was there before the search"


def test_time_and_bad_input_have_their_codes(run: Run) -> None:
    code, out, _ = run(*BEGIN, "--max-time", 1e-3, "--out", "s.json")
    assert code == 6
    assert "So far, as it was stopped" in out
    assert Path("s.json").exists()
    code, _, err = run(*BEGIN, "--budget", 0)
    assert code == 2
    assert "expected a whole number of 1 or more, found '0'" in err
    code, _, err = run(*BEGIN, "--quiet", "--outer-folds", 1)
    assert code == 2
