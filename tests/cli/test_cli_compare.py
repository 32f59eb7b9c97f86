"""``spnmkl compare``: a structure and other methods on the same folds."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl import Kernel, solve, templates
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.problem import answers
from spnmkl.rivals import choose_rival
from spnmkl.study.contest import Contest, Plan, compete, outer_folds
from spnmkl.study.entrants import entrants
from spnmkl.training.default import suited_drawing
from spnmkl.training.prepared import prepare

Run = Callable[..., tuple[int, str, str]]
SPN = templates.flat([Kernel("rbf", features=[name], label=name) for name in ("a", "b")])
BEGIN = ("compare", "data.csv", "--label", "y", "--structure", "s.json", "--folds", 3)


def samples(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    return frame.assign(y=np.where(frame["a"] + 0.3 * rng.standard_normal(n) > 0, "ill", "well"))


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    Path("s.json").write_text(SPN.to_json(), encoding="utf-8")
    return folder


def test_methods_as_in_the_library(run: Run) -> None:
    asked = ("--methods", "ℓ2-MKL", "lasso", "--scoring", "balanced_accuracy", "--seed", 4, "--prepare", "standardize")
    code, told, _ = run(*BEGIN, *asked, "--out", "t.csv", "--figure", "f.svg")
    dataset, split = Dataset("data", pd.read_csv("data.csv"), "y"), SplitSettings(0.0, 4)
    plan = Plan(3, scoring="balanced_accuracy")
    who = entrants(SPN, dataset, Choices()).among(["ℓ_2-MKL", "lasso"])
    contest = Contest.of(who, plan, dataset, Choices(), split)
    expected = replace(contest, results=tuple(compete(who, dataset, Choices(), split, plan))).summary(plan.scoring)
    found = pd.read_csv("t.csv")
    assert code == 0 and found["method"].tolist() == ["the structure", "ℓ2-MKL", "lasso"]
    compared = ["mean", "error", "adjusted", "active"]
    pd.testing.assert_frame_equal(found[compared], expected[compared], check_dtype=False)
    assert "the highest mean" in told and told.count(" ± ") > 3 and "over columns have all 3 columns" in told
    assert all(f"{name} " in told for name in found["method"]), "the same words in the file as on the screen"
    svg = Path("f.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg") and "the structure" in svg and "your drawing" not in svg


def test_an_unknown_method_is_named(run: Run) -> None:
    code, _, wrong = run(*BEGIN, "--methods", "lassoo")
    assert code == 2 and "There is no method 'lassoo'" in wrong and "'random forest'" in wrong
    code, _, wrong = run(*BEGIN, "--figure", "f.txt")
    assert code == 2 and "--figure takes a file that ends in" in wrong


def test_ctrl_c_keeps_what_is_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> object:
        tick, results = given[5], compete(*given)  # type: ignore[arg-type]
        yield next(results)
        signal.raise_signal(signal.SIGINT)
        tick("further")  # type: ignore[operator]
        raise AssertionError("not stopped")

    monkeypatch.setattr("spnmkl.cli.comparing.compete", interrupted)
    code, told, _ = run(*BEGIN, "--methods", "lasso")
    assert code == 5 and "too few to tell" in told


def test_without_a_structure_every_fold_chooses_as_fit_would(run: Run) -> None:
    code, told, progress = run(*BEGIN[:4], "--folds", 3, "--methods", "lasso", "--out", "t.csv")
    assert code == 0 and progress.count("of 3 is done.") == 3
    assert "3 folds of 60 rows" in told and "the structure" not in told
    dataset, choices, split = Dataset("data", pd.read_csv("data.csv"), "y"), Choices("auto"), SplitSettings(0.0, 0)
    spn, plan = suited_drawing(dataset, choices, split), Plan(3)
    scores, kinds = [], []
    for _, _, rows in outer_folds(spn, dataset, choices, split, plan):
        prepared = prepare(spn, dataset, choices, split, rows=rows)
        best = choose_rival(prepared.mapped, prepared.source, prepared.y_train, folds=3).best
        kinds.append(best.name)
        kernels = {leaf: prepared.kernels[leaf] for leaf in best.spn.kernels}
        learn = solve_by_evidence if best.weights == "evidence" else solve
        solution = learn(best.spn, kernels, prepared.y_train, C=best.C)
        cross = {leaf: prepared.cross_test[leaf] for leaf in best.spn.kernels}
        scores.append(np.mean(answers(solution.decision_function(cross), solution.classes) == prepared.y_test))
    found = pd.read_csv("t.csv").set_index("method")
    assert found.loc["the default", "mean"] == pytest.approx(np.mean(scores))
    for kind in set(kinds):
        assert f"{kind} in {kinds.count(kind)}" in told
