"""What is said of evidence weights: in the terminal, in reports, in project files and charts, never "optimal"."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from small_runs import small_dataset, small_structure

from spnmkl.charts import convergence_chart, to_svg
from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import ParameterError
from spnmkl.project.project_file import load_project, save_project
from spnmkl.reporting.doubts import doubts
from spnmkl.reporting.endings import ending, headlines, pruning
from spnmkl.reporting.page import html_report
from spnmkl.reporting.reproduction import reproduction_code
from spnmkl.reporting.runs_beside import ending_text, runs_table, settings_table
from spnmkl.reporting.what_if import what_if
from spnmkl.study.contest import Plan, outer_folds
from spnmkl.study.nested import resample
from spnmkl.training.choose import choose_C, trace_C
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SETTINGS = Settings(weights="evidence")
SAID = "evidence weights, not certified"


@cache
def trained() -> tuple[Dataset, Prepared, Run]:
    dataset = small_dataset(3)
    prepared = prepare(small_structure(), dataset, Choices(), SplitSettings())
    return dataset, prepared, train(prepared, SETTINGS)


def test_the_words_about_a_run() -> None:
    _, _, run = trained()
    assert ending(run.solution).startswith("Evidence weights, not certified")
    number = headlines(run)[1]
    assert (number.what, number.remark) == ("log evidence", SAID)
    assert float(number.number) == pytest.approx(-run.solution.history[-1].objective, abs=0.05)
    assert ending_text(run) == runs_table([run])["ended"][0] == SAID
    assert settings_table([run], everything=True).loc["weights"].item() == "evidence"
    assert "at this C" not in " ".join([*(number.help for number in headlines(run)), pruning(run)])
    assert "proof" not in pruning(run) and "optimal" not in " ".join([*doubts(run), pruning(run)])


def test_the_report_says_it_and_nothing_of_a_proof() -> None:
    dataset, prepared, run = trained()
    page = html_report(run, prepared, dataset)
    assert "Evidence weights, not certified" in page and "Log evidence" in page
    for word in ("ertified optimal", "nan", "Relative gap", "Lower bound D", "KKT residual</t", "upper bound on the"):
        assert word not in page
    assert "weights='evidence'" in reproduction_code(run, dataset)


def test_a_project_keeps_it() -> None:
    dataset, _, run = trained()
    saved = save_project(small_structure(), dataset, Choices(), SplitSettings(), SETTINGS, (run,))
    again = load_project(saved).runs[0]
    assert again.settings == SETTINGS and again.solution.status == "evidence"
    assert again.solution.beta == run.solution.beta and again.solution.history == run.solution.history


def test_weights_set_by_hand_start_from_it() -> None:
    _, prepared, run = trained()
    heaviest = max(run.solution.beta, key=run.solution.beta.__getitem__)
    changed, _, _ = what_if(run, prepared, {heaviest: 0.0})
    assert changed.status == "hand-set" and changed.beta[heaviest] == 0


def test_C_is_chosen_and_no_path_over_it_is_drawn() -> None:
    _, prepared, _ = trained()
    found = choose_C(prepared, SETTINGS, folds=2, C=[0.1, 1.0])
    assert np.isfinite(found.scores).all()
    for values in found.beta.values():
        np.testing.assert_array_equal(values[0], values[1])
    with pytest.raises(ParameterError, match="do not depend on C"):
        trace_C(prepared, SETTINGS)


def test_the_chart_shows_the_log_evidence_alone() -> None:
    _, _, run = trained()
    drawn = to_svg(convergence_chart(run.solution.history, 1e-3))
    assert "log evidence" in drawn and "relative gap" not in drawn


def test_the_command_line_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, model = tmp_path / "data.csv", tmp_path / "m.spnmkl"
    small_dataset().frame.dropna().to_csv(file, index=False)
    given = ["fit", str(file), "--label", "class", "--out", str(model), "--weights", "evidence", "--C", "cv"]
    assert main([*given, "--progress"]) == 0
    said = capsys.readouterr()
    assert SAID in said.out and "optimal" not in said.out
    assert "log evidence" in said.err and "gap" not in said.err
    assert main(["inspect", str(model)]) == 0
    shown = capsys.readouterr().out
    assert SAID in shown and "log evidence" in shown and "optimal" not in shown and "inf" not in shown
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "evidence"


def test_nested_folds_train_evidence_weights_too() -> None:
    """As a classifier does that is trained on the rows of each fold, at the same C."""
    dataset, _, _ = trained()
    plan = Plan(repeats=1, folds=2, tol=1e-6)
    *_, found = resample(small_structure(), dataset, Choices(), SplitSettings(), SETTINGS, chosen=False, plan=plan)
    folds = list(outer_folds(small_structure(), dataset, Choices(), SplitSettings(), plan))
    for _, fold, rows in folds:
        alone = train(prepare(small_structure(), dataset, Choices(), SplitSettings(), rows=rows), SETTINGS)
        places = np.searchsorted(found.rows, rows.test)
        np.testing.assert_allclose(found.decision[0, places], alone.test_scores.decision, atol=0.02)
        assert (found.fold[0, places] == fold).all()
