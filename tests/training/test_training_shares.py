"""Held-out shares of a training: on its test rows, on folds, kept in project and model files."""

from dataclasses import replace

import numpy as np
import pytest
from noisy_table import SETTINGS, SPLIT, noisy_dataset, noisy_run, noisy_structure
from small_runs import trained

from spnmkl import ModelFileError
from spnmkl.data import Choices, SplitSettings
from spnmkl.errors import Stopped
from spnmkl.inspection import HeldOutShares
from spnmkl.model_file import load_model, save_model
from spnmkl.project.project_file import load_project, save_project
from spnmkl.training.held_out import STORED, shares_on_folds, stored_shares
from spnmkl.training.prepared import prepare
from spnmkl.training.train import learn_weights, measured_on_folds, score_run, train


def same(one: HeldOutShares | None, other: HeldOutShares | None) -> bool:
    return one is not None and other is not None and one.to_dict() == other.to_dict()


def test_a_training_measures_them_on_its_test_rows() -> None:
    for classes in (2, 3):
        run = trained(classes).run
        assert run.held_out is not None and run.held_out.rows == f"{run.n_test} test rows"
        assert run.held_out.nodes.keys() == set(run.spn.nodes) and run.held_out.views.keys() == run.views.keys()


def test_folds_tell_as_they_go_and_leave_the_run_as_it_was() -> None:
    dataset, _, run = noisy_run()
    before, told = run.held_out, list[tuple[str, int, int]]()
    found = measured_on_folds(run, dataset, tick=lambda *step: told.append(step), n_threads=1)
    assert found.held_out.rows == "5 folds of 168 training rows" and found.held_out.n == 168
    assert told[0][1:] == (0, 5) and told[-1] == ("done", 5, 5)
    assert "fold 3 of 5, training" in [step[0] for step in told]
    assert run.held_out is before and same(stored_shares(run.model, "m"), before)
    assert same(stored_shares(found.model, "m"), found.held_out)
    with pytest.raises(Stopped):
        measured_on_folds(run, dataset, stop=lambda: True, n_threads=1)


def test_without_test_rows_only_folds_can_tell() -> None:
    """Whole groups are held out together."""
    dataset, no_test = noisy_dataset(120), SplitSettings(0.0)
    grouped = replace(dataset, frame=dataset.frame.assign(patient=np.arange(120) // 4), group="patient")
    prepared = prepare(noisy_structure(), grouped, Choices(), no_test)
    learned = learn_weights(prepared, SETTINGS, n_threads=1)
    assert learned.held_out(prepared) is None
    shares = shares_on_folds(
        learned.solution, prepared.spn, grouped, Choices(), no_test, SETTINGS, prepared.train, folds=3, n_threads=1
    )
    assert (shares.rows, shares.n, shares.folds) == ("3 folds of 120 rows", 120, 3)


def test_they_are_kept_in_project_and_model_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    dataset, _, run = noisy_run()
    data = save_project(run.spn, dataset, run.choices, SPLIT, SETTINGS, [run], with_data=False)
    (opened,) = load_project(data).runs
    assert same(opened.held_out, run.held_out)
    save_model(run.model, tmp_path / "m.spnmkl")
    assert same(stored_shares(load_model(tmp_path / "m.spnmkl"), "m.spnmkl"), run.held_out)


def test_given_matrices_have_them_too() -> None:
    """Without a model, the project keeps them."""
    case = trained()
    X = case.dataset.frame.drop(columns="class").to_numpy()
    spn = type(case.run.spn).from_dict(
        noisy_structure().to_dict()
        | {
            "nodes": [
                {"id": "s1", "kind": "sum"},
                {"id": "p1", "kind": "product"},
                {"id": "p2", "kind": "product"},
                {"id": "k1", "kind": "kernel", "kernel": "precomputed", "label": "given"},
                {"id": "k2", "kind": "kernel", "kernel": "rbf"},
            ]
        }
    )
    given = replace(case.dataset, matrices={"given": X @ X.T + 1})
    run = train(prepare(spn, given, Choices(), SplitSettings(0.3, 1)), case.run.settings, n_threads=1)
    assert run.model is None and run.held_out is not None
    data = save_project(spn, given, run.choices, run.split, run.settings, [run], with_data=False)
    assert same(load_project(data).runs[0].held_out, run.held_out)


@pytest.mark.parametrize("damage", [{"nodes": {}}, {"total": "much"}, {"paths": [[1]]}, {"nodes": {"k1": [1, 2, "x"]}}])
def test_damaged_shares_are_refused(damage: dict[str, object]) -> None:
    _, _, run = noisy_run()
    broken = replace(run).model
    kept = broken.extra_
    try:
        broken.extra_ = kept | {STORED: kept[STORED] | damage}
        with pytest.raises(ModelFileError, match=r"^The model file 'm' is damaged: .*; save the model again\.$"):
            stored_shares(broken, "m")
    finally:
        broken.extra_ = kept


def test_what_a_stop_left_out_is_measured_with_the_scores() -> None:
    _, prepared, run = noisy_run()
    later = score_run(replace(run, held_out=None), prepared, n_threads=1)
    assert same(later.held_out, run.held_out)
