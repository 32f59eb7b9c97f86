"""The drawing that data open on: no view is taken for another, in whichever order they come; and its training."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from spnmkl import Kernel, Product
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.project.stored_attempt import read_attempt, write_attempt
from spnmkl.rivals import ALONE, Choice, Rival
from spnmkl.solvers import deadline
from spnmkl.structure import SPN
from spnmkl.structure.defaults import each_alone
from spnmkl.structure.layout import unplaced
from spnmkl.structure.removal import without
from spnmkl.training import default as by_default
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import prepared_by_default, suited_drawing
from spnmkl.training.settings import Settings
from spnmkl.ui.parts.canvas import shown_there
from spnmkl.ui.state import estimate, works
from spnmkl.ui.state.activity import Activity
from spnmkl.ui.state.drawing import Drawing, placed
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kept import Keys
from spnmkl.ui.state.kept_forms import state_of, work_of
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.workspace import Workspace

SPLIT = SplitSettings(0.4, 0)


def signal_and_noise(order: list[str], n: int = 300) -> Dataset:
    """5 columns that make the labels, and 200 that do not; files of views in any order make columns in that order."""
    rng = np.random.default_rng(0)
    tables = {view: rng.normal(size=(n, columns)) for view, columns in (("signal", 5), ("noise", 200))}
    y = np.where(tables["signal"].sum(axis=1) + 0.5 * rng.normal(size=n) > 0, "case", "control")
    frames = [pd.DataFrame(tables[view]).add_prefix(f"{view}__") for view in order]
    return Dataset("t", pd.concat(frames, axis=1).assign(y=y), "y").views_by_prefix()


def test_rows_are_counted_as_the_drawing_uses_them() -> None:
    """Columns that it does not see leave out none of them."""
    frame = pd.DataFrame({"a": [np.nan, 1.0, 2.0, 3.0], "y": ["u", "v", "u", "v"]})
    dataset, over_columns = Dataset("t", frame, "y", matrices={"K": np.eye(4)}), SPN(Product(Kernel("linear")))
    work = Workspace(Drawing(SPN(Product(Kernel("precomputed", label="K")))), dataset, Choices(missing="drop rows"))
    assert work.usable(np.arange(4)) == 4 and work.usable(np.arange(4), over_columns) == 3


@pytest.mark.chooses
@pytest.mark.parametrize("order", [["signal", "noise"], ["noise", "signal"]])
def test_noise_has_no_share_whichever_view_comes_first(order: list[str]) -> None:
    """What a first press of Train gives: chosen as by the command line, with the reasons, and taken by the drawing."""
    dataset = signal_and_noise(order)
    work = Workspace(Drawing(placed(opening_structure(dataset))), dataset, split=SPLIT)
    assert work.chooses
    work.begin_training(lambda: True).job.join(120)
    work.collect()
    run = work.trainer.book.run
    assert run is not None and run.held_out is not None and run.held_out.known
    noise = run.held_out.views["noise"]
    assert abs(noise.share) <= 2 * noise.error
    chosen = work.chosen
    assert chosen is not None and work.takes(chosen) and not work.chooses
    assert work.trainer.book.tasks[run.name].same(work.task)
    found = prepared_by_default(dataset, work.choices, SPLIT, Settings())
    assert (unplaced(run.spn), run.settings) == (unplaced(found.prepared.spn), found.settings)
    assert chosen.sentences == found.sentences == tuple(run.model.extra_["chosen"])
    assert not [issue for issue in work.kernel_issues if issue.widths]
    assert run.chose_C, "as what is said of C goes by"
    seen, _ = shown_there("seen", run.spn)
    assert all(seen.position(v) is not None for v in seen.nodes), "no canvas can draw it otherwise"
    back = work_of(state_of(work, Keys(), ()), Keys(), dataset, same_tab=False)
    assert back.chosen is not None and back.chosen.sentences == chosen.sentences
    assert not [issue for issue in back.kernel_issues if issue.widths]


def kernels_of(spn: SPN) -> set[tuple[object, ...]]:
    return {(s.kernel, s.features and frozenset(s.features), s.params) for s in map(spn.spec, spn.kernels)}


def test_views_in_another_order_open_on_the_same_sum() -> None:
    one, other = (opening_structure(signal_and_noise(order)) for order in (["signal", "noise"], ["noise", "signal"]))
    assert kernels_of(one) == kernels_of(other)
    assert one.formula(latex=False).count("β") == len(one.kernels), "each kernel under a weight of its own"


@pytest.mark.parametrize("columns", [1, 40])
@pytest.mark.parametrize("kind", ["noise", "counts"])
@pytest.mark.parametrize("views", [3, 12])
@pytest.mark.chooses
def test_the_opening_drawing_is_not_warned_of_until_it_is_set_by_hand(kind: str, columns: int, views: int) -> None:
    rng = np.random.default_rng(2)
    shape = (120, columns * views)
    X = rng.normal(size=shape) if kind == "noise" else rng.poisson(np.exp(rng.normal(1.0, 1.0, size=shape)))
    frame = pd.DataFrame(X, columns=[f"v{k // columns}__c{k % columns}" for k in range(shape[1])])
    dataset = Dataset("t", frame.assign(y=np.resize(["a", "b"], 120)), "y").views_by_prefix()
    work = Workspace(Drawing(placed(opening_structure(dataset))), dataset)
    assert unplaced(work.drawing.spn) == suited_drawing(dataset, work.choices, work.split)
    assert work.kernel_issues == []
    work.by_hand = True
    assert [issue for issue in work.kernel_issues if issue.widths]


@pytest.mark.chooses
def test_views_that_say_the_same_are_told_of_in_the_opening_drawing() -> None:
    dataset = signal_and_noise(["signal", "noise"])
    copy = dataset.frame.filter(like="signal").add_prefix("copy__")
    both = Dataset("t", pd.concat([copy, dataset.frame], axis=1), "y").views_by_prefix()
    work = Workspace(Drawing(placed(opening_structure(both))), both)
    assert {"nearly_equal"} == {issue.code for issue in work.kernel_issues}


def begun(dataset: Dataset) -> Workspace:
    return Workspace(Drawing(placed(opening_structure(dataset))), dataset, split=SPLIT)


@pytest.mark.chooses
def test_a_drawing_that_was_changed_is_trained_as_set() -> None:
    work = begun(signal_and_noise(["signal", "noise"], 60))
    work.drawing.push(without(work.drawing.spn, work.drawing.spn.kernels[0]))
    assert not work.chooses
    work.begin_training(lambda: True).job.join(60)
    work.collect()
    assert work.trainer.book.run.settings == Settings() and work.chosen is None


@pytest.mark.chooses
def test_a_drawing_that_was_changed_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    work = begun(signal_and_noise(["signal", "noise"], 60))
    work.begin_training(lambda: True).job.join(60)
    mine = without(work.drawing.spn, work.drawing.spn.kernels[0])
    work.drawing.push(mine)
    work.collect()
    assert unplaced(work.drawing.spn) == unplaced(mine)
    assert work.trainer.book.run is not None and work.trainer.settings == Settings()


@pytest.mark.chooses
def test_stop_before_anything_is_chosen_leaves_all_as_it_was() -> None:
    work = begun(signal_and_noise(["signal", "noise"]))
    activity = work.begin_training(lambda: True)
    activity.job.stop()
    activity.job.join(60)
    work.collect()
    assert work.trainer.book.run is None and work.trainer.failure is None and work.chooses


@pytest.mark.chooses
def test_choosing_and_training_share_the_time_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still but for the choice, which takes 7 of 10 seconds."""
    now, given = [0.0], []
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    choose, train = works._by_default, works.train

    def slow(*args: object) -> object:
        found = choose(*args)
        now[0] += 7.0
        return found

    def noted(job: object, prepared: object, settings: Settings) -> object:
        given.append(settings.max_time)
        return train(job, prepared, settings)

    monkeypatch.setattr(works, "_by_default", slow)
    monkeypatch.setattr(works, "train", noted)
    task = begun(signal_and_noise(["signal", "noise"], 60)).task
    found = works.train_default(Job(lambda job: None), KernelShelf(), task, Settings(max_time=10.0))
    assert isinstance(found, works.ChosenRun) and given == [pytest.approx(3.0)]
    assert found.run.settings.max_time == found.run.model.max_time == 10.0, "as it was set"
    asked: list[object] = []
    monkeypatch.setattr(estimate, "resample", lambda *given, afresh, **options: asked.append(afresh) or ())
    for run in (found.run, replace(found.run, choosing=None)):  # the latter as of a file of an earlier version
        estimate.make_scores(Job(lambda job: None), None, run, task, 60.0)
    chose = asked[0]
    assert isinstance(chose, Choosing) and (chose.choices, chose.settings) == (task.choices, Settings(max_time=10.0))
    assert (chose.seconds, chose.max_time) == (7.0, 10.0) and asked[1] is True
    assert estimate.expected_seconds(found.run) == pytest.approx(5 * (7.0 + found.run.seconds))


@pytest.mark.chooses
def test_what_time_left_untried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = signal_and_noise(["signal", "noise"], 60)
    monkeypatch.setattr("spnmkl.training.default.CHOOSING_SECONDS", 1e-9)
    found = works.train_default(Job(lambda job: None), KernelShelf(), begun(dataset).task, Settings())
    assert found is not None and "No choice was made within the time." in found.chosen.sentences


def let_one_kernel_win(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(spn: SPN, *given: object, **options: object) -> Choice:
        best = Rival(ALONE, each_alone(spn)["all"], "certified", 3.5, 0.9, 0.01)
        return Choice(best, (best,), "accuracy", 5, 60, 0.5)

    monkeypatch.setattr(by_default, "choose_rival", chosen)


@pytest.mark.chooses
def test_a_training_is_kept_while_it_learns_another_drawing_than_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    let_one_kernel_win(monkeypatch)
    task, job = begun(signal_and_noise(["signal", "noise"], 60)).task, Job(lambda job: None)
    found = works.train_default(job, KernelShelf(), task, Settings())
    assert isinstance(found, works.ChosenRun) and len(found.run.spn.products) == 1 < len(task.spn.products)
    attempt = Keys().of_training(Activity("train", job, task, Settings()), refresh=True)
    back = read_attempt(attempt.key, write_attempt(attempt))
    assert back.records == found.run.solution.history and back.spn == task.spn, "it is asked for again as it was drawn"


@pytest.mark.chooses
def test_other_data_take_the_place_of_a_drawing_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    let_one_kernel_win(monkeypatch)
    first, second = signal_and_noise(["signal", "noise"], 60), signal_and_noise(["noise", "signal"], 60)
    work = begun(first)
    work.begin_training(lambda: True).job.join(60)
    work.collect()
    assert len(work.drawing.spn.products) == 1 and not work.chooses
    work.bring(second)
    assert work.as_opened and work.chooses
    work.begin_training(lambda: True).job.join(60)
    work.collect()
    mine = SPN.from_dict(work.drawing.spn.to_dict()).with_p(1.0)
    work.drawing.push(mine)
    work.bring(replace(first, name="third"))
    assert unplaced(work.drawing.spn) == unplaced(mine), "what was changed by hand stays"
