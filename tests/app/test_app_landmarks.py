"""Landmarks in the app: offered where the exact way does not fit, trained in the background, told wherever a run is."""

from dataclasses import replace

import numpy as np
import pytest
from app_pages import bring, fine, labelled, opened, texts, work
from streamlit.testing.v1 import AppTest

from spnmkl.data import Choices, SplitSettings, load_sample
from spnmkl.project.project_file import load_project, save_project
from spnmkl.reporting.explain import sample_paths, wrong_samples
from spnmkl.reporting.page import html_report
from spnmkl.reporting.reproduction import reproduction_code
from spnmkl.reporting.runs_beside import runs_table, settings_table, was_trained_on
from spnmkl.structure.templates import flat
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.room import refusal, size_of
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.pages import train as train_page

DATA = load_sample("breast_cancer")
SPN = DATA.template("flat")
SETTINGS = Settings(C=0.5, approximation="nystroem", n_components=30, sample_size=80)


def finish(at: AppTest) -> AppTest:
    while (activity := work(at).trainer.activity) is not None:
        assert activity.job.join(60)
        at.run()
    return at


@pytest.fixture(scope="module")
def prepared():
    return prepare(SPN, DATA, Choices(), SplitSettings(), sampled_rows=SETTINGS.sampled_rows)


@pytest.fixture(scope="module")
def run(prepared):
    return train(prepared, SETTINGS, n_threads=1)


def test_they_are_offered_where_the_exact_way_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened("train")
    finish(bring(at, DATA, SPN))
    room = size_of(SPN, 427, 2, 0, Settings()).in_tiles.memory
    monkeypatch.setattr(train_page, "available_memory", lambda: room)
    monkeypatch.setattr(train_page, "kept_bytes", lambda: 0)
    at.run()
    assert "but" in at.error[0].value and labelled(at.button, "Train").disabled
    small = replace(Settings(), n_components=30, sample_size=80)
    work(at).trainer.settings = small
    at.run()
    assert "Press **Train**" not in texts(at)
    labelled(at.button, "Train all rows by landmarks").click().run()
    assert work(at).trainer.settings == replace(small, approximation="nystroem")
    finish(fine(at))
    assert "a sample of 80 of 427 rows and certified for it" in texts(at) and "not certified" in texts(at)
    assert not labelled(at.button, "Train").disabled
    (trained,) = work(at).trainer.book.runs
    assert trained.approximated.n_rows == 427 and trained.n_train == 80
    said = texts(at)
    for words in ("certified for this sample", "Estimated on", "on the sample; certified optimal there"):
        assert words in said
    assert "Certified optimal to" not in said and "Score it over folds" not in said
    for page in ("inspect", "runs", "compare"):
        fine(at.switch_page(f"pages/{page}.py").run())
        for name in ("Samples", "What if", "Proof") if page == "inspect" else ():
            at.session_state["inspect"] = name
            fine(at.run())


def test_as_a_choice_under_all_settings() -> None:
    at = opened("train")
    finish(bring(at, DATA, SPN))
    labelled(at.selectbox, "Rows").select("nystroem").run()
    labelled(at.number_input, "Landmarks").set_value(40).run()
    labelled(at.number_input, "Rows of the sample").set_value(90).run()
    fine(finish(at))
    assert work(at).trainer.settings.way == "40 landmarks, weights on a sample of 90 rows at most"
    assert work(at).task.sampled_rows == 90
    labelled(at.selectbox, "Rows").select("exact").run()
    assert work(at).trainer.settings.approximation is None


def test_what_pushed_a_row_adds_up_to_the_decision_on_it(run, prepared) -> None:
    for part, scores in (("test", run.test_scores), ("train", run.train_scores)):
        for row in (0, 5):
            pushes = sample_paths(run, prepared, part, row)
            assert pushes["push"].sum() == pytest.approx(scores.decision[row], abs=1e-6)
    wrong = wrong_samples(run)
    assert set(wrong["row"] - 1) <= {*run.train, *run.test}
    labels = DATA.labelled_table.y
    assert list(wrong["true"]) == list(labels[wrong["row"] - 1])


def test_files_tell_it_and_come_back(run, prepared) -> None:
    saved = save_project(run.spn, DATA, run.choices, run.split, run.settings, [run], with_data=False)
    (again,) = load_project(saved).runs
    assert again.approximated.sentences == run.approximated.sentences and again.settings == SETTINGS
    np.testing.assert_array_equal(again.test_scores.decision, run.test_scores.decision)
    assert was_trained_on(again, DATA)
    assert not was_trained_on(replace(again, split=SplitSettings(seed=9)), DATA)
    page = html_report(run, prepared, DATA)
    for words in ("certified for this sample", "427 (weights on a sample of 80)", "30 landmarks"):
        assert words in page
    assert "Certified optimal to" not in page
    assert "sampled_rows=80" in reproduction_code(run, DATA)
    exact = replace(run, name="other", settings=Settings())
    assert list(settings_table([run, exact]).loc["way"]) == [SETTINGS.way, "exact, all rows at once"]
    assert runs_table([run])["ended"].item() == "certified optimal, on a sample"
    predictor = Predictor.of_run(again)
    table = predictor.predict(predictor.match(DATA.frame.iloc[run.test])).table
    assert list(table["prediction"]) == list(run.test_scores.predicted)


def test_memory_is_that_of_the_sample_and_of_the_features() -> None:
    spn = flat({"a": [0, 1], "b": [2]})
    exact, sampled = size_of(spn, 100_000, 2), size_of(spn, 100_000, 2, 0, Settings(approximation="nystroem"))
    assert refusal(exact.in_tiles, 20_000_000_000) is not None
    assert refusal(sampled, 20_000_000_000) is None
    assert sampled.n == 4000 and sampled.features == 4 * 100_000 * 1000
