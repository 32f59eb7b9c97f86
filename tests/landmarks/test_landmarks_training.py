"""Landmarks in a training on a loaded table, and on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tolerances import ROUNDING

from spnmkl import KernelError, Product, Sum
from spnmkl.cli.commands import main
from spnmkl.data import Choices, SplitSettings, load_sample
from spnmkl.model_file import load_model
from spnmkl.selection import cross_validate_C
from spnmkl.structure import SPN, Kernel
from spnmkl.training.choose import choose_C
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights, train

SPLIT = SplitSettings(0.3, 7)
SETTINGS = Settings(C=0.5, approximation="nystroem", n_components=30, sample_size=80)


@pytest.fixture(scope="module")
def prepared():
    dataset = load_sample("breast_cancer")
    spn = dataset.template("flat")
    return prepare(spn, dataset, Choices(), SPLIT, sampled_rows=SETTINGS.sampled_rows)


def test_a_run_learns_on_the_sample_and_answers_by_all_rows(prepared):
    run = train(prepared, SETTINGS, n_threads=1)
    assert run.model is not None and prepared.whole is not None
    found = run.model.approximation_
    assert (found.n_rows, found.n_sample, len(found.landmarks)) == (len(prepared.whole.y), prepared.n, 30)
    assert run.n_train == 80 and found.n_rows == 569 - len(prepared.y_test)
    np.testing.assert_array_equal(run.train_scores.decision, run.model.decision_function(prepared.X_train))
    assert run.solution.lam == pytest.approx(80 / found.n_rows)
    assert run.solution.certify(prepared.source).gap == pytest.approx(run.solution.gap)
    # The classifier over the sample's rows, which explanations are made of, decides as the model does.
    same = found.over(run.solution).decision_function(prepared.test_source)
    np.testing.assert_allclose(run.test_scores.decision, same, atol=1e3 * ROUNDING)
    assert run.held_out is not None and run.test_scores.accuracy > 0.9
    decided = run.model.decision_function(prepared.whole.X)
    loss = np.maximum(0, 1 - np.where(prepared.whole.y == run.solution.classes[1], 1, -1) * decided)
    assert found.right == pytest.approx(run.model.score(prepared.whole.X, prepared.whole.y))
    assert found.loss == pytest.approx(0.5 * loss.sum(), rel=1e-4)


def test_C_is_chosen_on_the_sample_by_the_lambda_that_it_is_trained_with(prepared):
    found = choose_C(prepared, SETTINGS, C=[0.5], folds=2, n_threads=1)
    lam, weight = 80 / len(prepared.whole.y), prepared.whole.sample.weight
    own = {"lam": lam, "sample_weight": weight, "folds": 2, "random_state": SPLIT.seed, "n_threads": 1}
    plain = cross_validate_C(prepared.mapped, prepared.source, prepared.y_train, [0.5], **own)
    np.testing.assert_allclose(found.scores, plain.scores)


def test_a_stopped_training_keeps_the_samples_own_classifier(prepared):
    trained = learn_weights(prepared, SETTINGS, callback=lambda record: False, n_threads=1)
    assert trained.model is not None and not trained.model.approximation_.finished
    assert trained.test_scores(prepared).accuracy > 0.5


def test_given_matrices_are_refused():
    dataset = load_sample("breast_cancer")
    spn = SPN(Sum(Product(Kernel("precomputed", label="mine"))))
    with pytest.raises(KernelError, match="Landmarks need kernels over columns, but 'mine' are given matrices"):
        prepare(spn, dataset, Choices(), SPLIT, sampled_rows=50)


def test_the_command_line_says_what_is_certified(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)), columns=list("abc"))
    frame["y"] = np.where(frame["a"] + frame["b"] ** 2 > 0.8, "yes", "no")
    frame.to_csv("data.csv", index=False)
    fit = ["fit", "data.csv", "--label", "y", "--out", "m.spnmkl", "--structure", "flat", "--threads", "1"]
    by_landmarks = ["--approximation", "nystroem", "--components", "20", "--sample-rows", "60"]
    assert main([*fit, *by_landmarks, "--test-share", "0.25", "--probabilities"]) == 0
    said = capsys.readouterr().out
    assert "learned on a sample of 60 of 180 training rows; certified for this sample" in said
    assert "is not certified" in said and "optimal" not in said
    assert {len(kernel.X_ref) for kernel in load_model("m.spnmkl").kernels_.values()} == {20}
    assert main(["inspect", "m.spnmkl"]) == 0
    told = capsys.readouterr().out
    assert "20 landmarks" in told and "certified for this sample" in told and "optimal" not in told
    assert main(["inspect", "m.spnmkl", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["approximation"]["n_rows"] == 180 and "optimal" not in facts["certificate"]
    assert main(["predict", "m.spnmkl", "data.csv", "--probabilities", "--out", "answers.csv"]) == 0
    # All rows that it was trained on are known to it, not the sample's alone.
    assert "180 of 240 rows stand among those that the model was trained on" in capsys.readouterr().err
    answers = pd.read_csv("answers.csv")
    assert np.mean(answers["prediction"] == frame["y"]) > 0.85
    # Without a drawing C and the kind of weights are chosen on the sample.
    assert main([*fit[:6], "--threads", "1", *by_landmarks]) == 0
    chosen = capsys.readouterr().out
    assert "folds of 60 training rows" in chosen and "a sample of 60 of 240 training rows" in chosen
    assert main([*fit, *by_landmarks, "--nested", "2x1"]) == 2
    assert "--nested trains on folds of all rows" in capsys.readouterr().err


def test_the_command_line_certifies_all_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)), columns=list("abc"))
    frame["y"] = np.where(frame["a"] + frame["b"] ** 2 > 0.8, "yes", "no")
    frame.to_csv("data.csv", index=False)
    fit = ["fit", "data.csv", "--label", "y", "--structure", "flat", "--threads", "1", "--class-weight", "balanced"]
    by_landmarks = ["--approximation", "nystroem", "--components", "50", "--sample-rows", "100"]
    assert main([*fit, *by_landmarks, "--certify", "2", "--out", "m.spnmkl", "--progress"]) == 0
    said = capsys.readouterr()
    assert "Certified for all rows, by their exact kernels: no weights and no classifier have" in said.out
    assert "certificate, pass 1 of 2: kernels among" in said.err
    assert main(["inspect", "m.spnmkl", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["approximation"]
    assert main([*fit, "--out", "exact.spnmkl"]) == 0
    exact = load_model("exact.spnmkl")
    assert facts["dual_bound_on_all_rows"] <= exact.objective_ * (1 + ROUNDING)
    assert exact.dual_bound_ <= facts["objective_on_all_rows"] * (1 + ROUNDING)
    assert facts["gap_on_all_rows"] == pytest.approx(
        1 - facts["dual_bound_on_all_rows"] / facts["objective_on_all_rows"], rel=1e-4
    )
    capsys.readouterr()
    assert main([*fit, *by_landmarks, "--certify", "--max-time", "1e-6", "--out", "m.spnmkl"]) in (0, 6)
    assert "Certified for all rows" not in capsys.readouterr().out
    assert main([*fit, "--certify", "--out", "m.spnmkl"]) == 2
    assert "--certify is for --approximation nystroem" in capsys.readouterr().err


def test_what_cannot_fit_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    frame.assign(y=np.where(frame["a"] > 0, "u", "v")).to_csv("t.csv", index=False)
    for name in ("prepare", "by_default"):
        monkeypatch.setattr(f"spnmkl.cli.commands.{name}", computed)
    monkeypatch.setattr("spnmkl.cli.landmarks.available_memory", lambda: 150_000)
    asked = ["fit", "t.csv", "--label", "y", "--out", "m.spnmkl"]
    for more in ([], ["--structure", "flat"]):
        assert main([*asked, *more]) == 2
        said = capsys.readouterr().err
        assert "200 rows needs about 160 kB of memory beside its kernels, but 150 kB are free" in said
        assert "--approximation nystroem" in said
    with pytest.raises(AssertionError, match="computed"):  # half of the rows have room
        main([*asked, "--test-share", "0.5"])
