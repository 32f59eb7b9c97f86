"""What the app can do to rows and columns, and to C, on the command line."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.model_file import load_model
from spnmkl.training.choose import choose_C
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings

Run = Callable[..., tuple[int, str, str]]
FIT = ("fit", "data.csv", "--label", "y", "--out", "m.spnmkl", "--structure", "flat")


def samples(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "blue", "grey"], n)
    frame["y"] = np.where(X[:, 0] + 0.5 * (frame["colour"] == "red") + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    frame.loc[[3, 9, 20], "b"] = None
    frame.loc[[5, 6], "y"] = None
    return frame


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    return folder


UNLABELLED = "spnmkl: 2 rows without a label: left out.\n"
LEFT_OUT = {
    "mean": "",
    "median": "",
    "drop-rows": "spnmkl: 3 of 78 rows with missing values: left out.\n",
    "drop-columns": "spnmkl: 1 of 4 columns with missing values: left out ('b').\n",
}


@pytest.mark.parametrize("missing", LEFT_OUT)
def test_missing_values_and_labels(run: Run, missing: str) -> None:
    code, _, err = run(*FIT, "--missing", missing)
    assert (code, err) == (0, UNLABELLED + LEFT_OUT[missing])
    model = load_model("m.spnmkl")
    assert len(model.solution_.y) == (75 if missing == "drop-rows" else 78)
    assert ("b" in model.feature_names_in_) == (missing != "drop-columns")
    assert model.extra_["preparation"]["choices"]["missing"] == missing.replace("-", " ")


@pytest.mark.parametrize("text", ["one-hot", "drop"])
def test_columns_of_text(run: Run, text: str) -> None:
    code, _, err = run(*FIT, "--missing", "mean", "--text", text)
    assert code == 0 and err == UNLABELLED + "spnmkl: 1 text column ('colour'): left out.\n" * (text == "drop")
    expected = ["a", "b", "c", *(f"colour={c}" for c in ("blue", "grey", "red") if text == "one-hot")]
    assert load_model("m.spnmkl").feature_names_in_.tolist() == expected
    code, _, err = run("predict", "m.spnmkl", "data.csv", "--out", "p.csv")
    assert code == 0 and "3 values were filled in 3 rows" in err


def test_equal_rows_with_different_labels_are_told(run: Run) -> None:
    frame = samples().drop(columns="b").dropna()
    pd.concat([frame, frame.iloc[:3].assign(y=["no", "yes", "no"]), frame.iloc[:3]]).to_csv("data.csv", index=False)
    code, _, err = run(*FIT)
    differ = int((frame["y"].iloc[:3] != ["no", "yes", "no"]).sum())
    assert code == 0 and 0 < differ < 3
    assert err.startswith(f"spnmkl: {3 * differ} rows in {differ} group") and err.count("\n") == 1


def test_rows_that_cannot_be_predicted_are_left_empty(run: Run) -> None:
    run(*FIT, "--missing", "drop-rows")
    code, _, err = run("predict", "m.spnmkl", "data.csv", "--out", "p.csv")
    assert code == 0 and "3 rows without a prediction, for missing values in 'b'" in err
    assert np.flatnonzero(pd.read_csv("p.csv")["prediction"].isna()).tolist() == [3, 9, 20]


def test_C_by_another_score(run: Run) -> None:
    code, out, _ = run(*FIT, "--missing", "mean", "--C", "cv", "--scoring", "roc_auc")
    dataset = Dataset("data", samples(), "y")
    prepared = prepare(dataset.template("flat"), dataset, Choices(missing="mean"), SplitSettings(0.0, 0))
    best = choose_C(prepared, Settings(scoring="roc_auc"))
    assert code == 0
    assert f"C = {best.best_C:.4g} by cross-validation: area under the ROC curve {best.mean.max():.3f} on 5" in out
    assert best.best_C != choose_C(prepared, Settings()).best_C, "accuracy would have chosen another"


def test_C_by_cross_validation(run: Run) -> None:
    code, out, _ = run(*FIT, "--missing", "mean", "--C", "cv", "--test-share", 0.25, "--seed", 4)
    dataset = Dataset("data", samples(), "y")
    prepared = prepare(dataset.template("flat"), dataset, Choices(missing="mean"), SplitSettings(0.25, 4))
    best = choose_C(prepared, Settings()).best_C
    assert code == 0 and out.startswith(f"C = {best:.4g} by cross-validation: ") and " % on 5 folds\n" in out
    assert pytest.approx(best) == load_model("m.spnmkl").C


def test_C_that_cannot_be_chosen(run: Run) -> None:
    assert run(*FIT, "--missing", "mean", "--C", "cv", "--max-time", "1e-9") == (
        2,
        "",
        UNLABELLED + "spnmkl: No value of C was done within 1e-09 s; allow more with --max-time.\n",
    )


def test_C_by_cross_validation_in_tiles(run: Run) -> None:
    chosen = []
    for room in (1, 0):
        code, out, _ = run(*FIT, "--missing", "mean", "--C", "cv", "--max-memory", room)
        assert code == 0
        chosen.append(out.splitlines()[0])
    assert chosen[0] == chosen[1] and "by cross-validation" in chosen[0]


def test_scores_over_folds_and_probabilities(run: Run) -> None:
    asked = (*FIT, "--missing", "mean", "--nested", "3x2", "--test-share", 0.25, "--positive", "yes")
    code, out, said = run(*asked, "--progress")
    told = [line.partition("; ") for line in said.splitlines() if line.startswith("scores over folds: ")]
    assert [words for words, *_ in told] == [f"scores over folds: {k} of 6 folds done" for k in range(1, 7)]
    assert all(left.endswith(" left") for *_, left in told[:-1]) and not told[-1][2]
    assert "round 1, fold 1 of 3, " in said
    model = load_model("m.spnmkl")
    stored = model.extra_["scores"]
    assert code == 0 and stored["folds_done"] == 6 and stored["of"] == "training rows" and stored["C"] == "given"
    assert "3 folds, 2 times; training rows only; C = 1 as set by hand" in out
    for measure in ("balanced accuracy", "area under the ROC curve", "sensitivity", "specificity", "log loss"):
        assert f"  {measure}" in out
    assert out.index("C = 1 as set by hand") < out.index("weights:")  # beside the other scores
    code, told, _ = run("inspect", "m.spnmkl")
    assert "on rows held out, 6 folds of" in told and "log loss" in told
    code, table, _ = run("predict", "m.spnmkl", "data.csv", "--probabilities")
    found = pd.read_csv(io.StringIO(table))
    names = [f"probability_{c}" for c in model.classes_]
    assert code == 0 and np.allclose(found[names].sum(axis=1), 1)
    assert run(*FIT, "--missing", "mean")[0] == 0
    code, _, said = run("predict", "m.spnmkl", "data.csv", "--probabilities")
    assert code == 2 and "The model has no probabilities; fit it with --probabilities or --nested" in said
    assert run(*FIT, "--missing", "mean", "--probabilities")[0] == 0
    assert run("predict", "m.spnmkl", "data.csv", "--probabilities")[0] == 0
    code, _, said = run(*FIT, "--nested", "5")
    assert code == 2 and "expected folds x rounds such as 5x2, found '5'" in said


def test_the_score_over_folds_is_said_once_and_nothing_is_left_out(run: Run) -> None:
    code, out, _ = run(*FIT, "--missing", "mean", "--nested", "5x1", "--scoring", "balanced_accuracy")
    assert code == 0 and "mean over 5 folds; all rows" in out
    assert out.lower().count("balanced accuracy ") == 1
    assert re.search(r"^  accuracy +\d+\.\d %", out, re.MULTILINE)
    assert not re.search(r"\d%", out)


def test_what_a_sum_may_miss_and_whose_rows_sensitivity_counts_is_said(run: Run) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, size=(60, 2)), columns=["a", "b"])
    frame.assign(y=rng.permutation(np.resize(["case", "control"], 60))).to_csv("noise.csv", index=False)
    fit = "fit", "noise.csv", "--label", "y", "--out", "m.spnmkl", "--weights", "certified", "--test-share", 0.3
    _, out, _ = run(*fit)
    assert "spnmkl suggest searches for such products." in out
    assert "sensitivity is of 'control', the second by name; where 'case'" in out and "--positive case" in out
    _, out, _ = run(*fit, "--positive", "case")
    assert "the second by name" not in out


def test_without_a_structure_what_is_not_given_is_chosen_and_said(run: Run) -> None:
    code, out, err = run("fit", "data.csv", "--label", "y", "--out", "m.spnmkl", "--missing", "mean")
    assert code == 0, err
    assert re.search(r"^Drawing: (a sum of \d+ kernels: |one kernel, ).*\.$", out, re.MULTILINE)
    assert re.search(r"^Weights: .* on 5 folds of \d+ training rows; .* had \d", out, re.MULTILINE)
    assert re.search(r"^C = \S+, the best for them", out, re.MULTILINE)
    code, told, _ = run("inspect", "m.spnmkl")
    assert code == 0 and "chosen when it was trained:" in told and "  Weights: " in told
    code, out, _ = run(
        "fit", "data.csv", "--label", "y", "--out", "m.spnmkl", "--missing", "mean", "--C", "2", "--weights", "evidence"
    )
    assert code == 0 and "Weights: " not in out and "evidence" in out
