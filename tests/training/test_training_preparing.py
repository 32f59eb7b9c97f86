"""Rows without a view and columns to adjust for through a whole training: folds, files, reports, the way back."""

import io
import json
import zipfile
from dataclasses import asdict, replace
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from three_views import VIEWS, one_kernel_a_view, three_views

from spnmkl.data import Choices, Dataset, Preparation, SplitSettings, lacking_rows
from spnmkl.errors import DataError
from spnmkl.project.project_file import load_project, save_project
from spnmkl.project.stored_run import model_bytes
from spnmkl.reporting.reproduction import reproduction_code
from spnmkl.reporting.runs_beside import numbers_text, was_trained_on
from spnmkl.study.contest import Plan, compete
from spnmkl.study.entrants import entrants
from spnmkl.training.bring import training_suggestions
from spnmkl.training.checks import all_issues
from spnmkl.training.predict import ODD, Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SPLIT = SplitSettings(0.25, 2)
CHOICES = Choices("auto", absent="mean")


def dataset() -> Dataset:
    return Dataset("cohort", three_views(), "y", views=VIEWS, adjust=("age", "batch"))


@pytest.fixture(scope="module")
def run() -> Run:
    return replace(train(prepare(one_kernel_a_view(), dataset(), CHOICES, SPLIT), Settings()), name="Run 1")


def test_test_rows_change_nothing_that_a_training_learns(run: Run) -> None:
    data = dataset()
    frame, rng = data.frame.copy(), np.random.default_rng(0)
    columns = [c for columns in VIEWS.values() for c in columns]
    frame.loc[run.test, columns] = rng.poisson(50, (len(run.test), len(columns))) + 0.5
    frame.loc[run.test, "age"] = 1e6
    other = train(prepare(one_kernel_a_view(), replace(data, frame=frame), CHOICES, SPLIT), Settings())
    assert np.array_equal(other.train, run.train) and other.preparation == run.preparation
    assert other.solution.beta == run.solution.beta
    assert not np.array_equal(other.test_scores.decision, run.test_scores.decision)


def test_every_fold_of_a_comparison_learns_its_own_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    fit = Preparation.fit.__func__  # type: ignore[attr-defined]

    def watched(cls: type, frame: pd.DataFrame, choices: Choices, rows: np.ndarray, **more: object) -> Preparation:
        seen.append(np.asarray(rows))
        found = fit(cls, frame, choices, rows, **more)
        assert found == fit(cls, frame.iloc[rows], choices, None, **more)
        return found

    monkeypatch.setattr(Preparation, "fit", classmethod(watched))
    data = dataset()
    who = entrants(one_kernel_a_view(), data, CHOICES)
    plan = Plan(3, inner=2, points=2)
    list(islice(compete(who, data, CHOICES, SPLIT, plan), len(who.methods) * 2))
    assert len(seen) >= 2 and len({len(rows) for rows in seen} - {90}) >= 1
    assert not np.array_equal(seen[0], seen[1])


def test_predictions_say_which_view_was_missing(run: Run) -> None:
    predictor = Predictor.from_file("m.spnmkl", model_bytes(run.model)) if run.model else None
    assert predictor is not None
    new = three_views(20, seed=9)
    found = predictor.predict(predictor.match(new))
    marks = found.table[ODD]
    for view, rows in lacking_rows(new, VIEWS).items():
        assert marks.str.contains(f"view {view} missing").tolist() == rows.tolist()
    assert "2 rows lack the view 'report': the average of the training rows stands for it." in found.notes
    assert found.table["prediction"].notna().all()
    # Without the column to adjust for, nothing can be said.
    with pytest.raises(DataError, match="lacks 1 column of training: 'age'"):
        predictor.predict(predictor.match(new.drop(columns="age")))


def test_a_project_brings_all_of_it_back(run: Run) -> None:
    data = dataset()
    project = load_project(save_project(run.spn, data, CHOICES, SPLIT, run.settings, [run]))
    assert project.choices == CHOICES and project.dataset is not None and project.dataset.same(data)
    (again,) = project.runs
    assert again.preparation == run.preparation and again.choices == CHOICES
    assert was_trained_on(again, data)
    changed = replace(data, frame=data.frame.assign(age=data.frame["age"] ** 2))
    assert not was_trained_on(again, changed)


def test_the_code_of_a_run_trains_it_again(run: Run, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[arg-type]
    dataset().frame.to_csv("data.csv", index=False)
    code = reproduction_code(run, dataset())
    assert "absent='mean'" in code and "adjust=('age', 'batch')" in code
    known: dict[str, object] = {}
    exec(code, known)
    assert known["run"].solution.beta == pytest.approx(run.solution.beta, rel=1e-6)  # type: ignore[attr-defined]


def test_what_was_done_to_each_view_is_told(run: Run) -> None:
    assert numbers_text(run) == "report: tf-idf, rna: log1p, lab: standardize"


def test_the_suggestion_is_that_of_the_training_rows(run: Run) -> None:
    found = training_suggestions(dataset(), CHOICES, SPLIT)
    assert {view: suggestion.step for view, suggestion in found.items()} == run.preparation.steps


def test_a_kernel_must_not_see_what_is_adjusted_for() -> None:
    spn = replace(dataset(), adjust=()).template("flat")
    (first, *_) = [issue for issue in all_issues(spn, dataset(), CHOICES) if issue.severity == "error"]
    assert "which is adjusted for, so that no kernel sees it" in first.message


def test_a_project_of_the_first_version_is_read() -> None:
    """As it was written before there was anything to adjust for."""
    data = replace(dataset(), frame=three_views(lacking=False), adjust=())
    saved = save_project(one_kernel_a_view(), data, Choices(), SPLIT, Settings())
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename == "project.json":
                document = json.loads(content)
                document["version"] = 1
                del document["data"]["adjust"], document["choices"]["views"], document["choices"]["absent"]
                content = json.dumps(document).encode()
            new.writestr(member, content)
    project = load_project(out.getvalue())
    assert project.choices == Choices() and asdict(project.data)["adjust"] == ()
    assert project.dataset is not None and project.dataset.same(data)
