"""The Inspect page without a browser: every tab, against the library and against sums over listed paths."""

import base64
import gc
import json
import weakref
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from app_pages import fine, labelled, opened, texts, with_a_product, work
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.svm import SVC
from small_runs import without_scores
from streamlit.proto.Metric_pb2 import Metric as MetricProto
from streamlit.testing.v1 import AppTest

from spnmkl import SPNMKLClassifier
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.export.themes import THEMES
from spnmkl.inspection import Share, complexity_bound
from spnmkl.kernels.matrices import alignment
from spnmkl.reporting.explain import column_shares, ranking
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.training.held_out import stored_shares
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.drawing import placed
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.task import Task

# What each tab says of any run.
SAYS = {
    "Drawing": "Click a node to see its numbers",
    "Weights and paths": "Choose a row to see the path in violet",
    "What matters": "how much of what tells the classes of these rows apart",
    "Branches": "Δ evidence is not computed yet",
    "Kernels": "Alignment with the labels",
    "Samples": "Map of the samples",
    "What if": "Move one",
    "Proof": "Why it is a proof",
}
TABS = tuple(SAYS)


@cache
def trained(sample: str = "breast_cancer", settings: Settings | None = None) -> tuple[Task, Prepared, Run]:
    """Views and a product of two of them on a sample, trained once for all tests."""
    dataset = load_sample(sample)
    return training(placed(with_a_product(dataset)), dataset, settings or Settings())


def training(spn: SPN, dataset: Dataset, settings: Settings) -> tuple[Task, Prepared, Run]:
    task = Task(spn, dataset, Choices(), SplitSettings())
    prepared = prepare(task.spn, dataset, task.choices, task.split)
    return task, prepared, replace(train(prepared, settings), name="Run 1")


def shown(task: Task | None, run: Run, prepared: Prepared | None = None, tab: str = "Drawing") -> AppTest:
    """The page of a run, as if it had been trained in this visit."""
    at = opened("inspect")
    trainer = work(at).trainer
    trainer.book.runs = [run]
    if task is not None:
        trainer.book.tasks[run.name] = task
        trainer.kernels.kept = None if prepared is None else (task, prepared)
    return fine(show(at, tab))


def show(at: AppTest, tab: str) -> AppTest:
    at.session_state["inspect"] = tab
    return at.run()


def usual(tab: str) -> AppTest:
    task, prepared, run = trained()
    return shown(task, run, prepared, tab)


def drawing(at: AppTest, key: str) -> dict[str, Any]:
    """What a canvas was sent."""
    (found,) = [element for element in at.get("bidi_component") if element.proto.id.endswith(key)]
    return json.loads(found.proto.json)


def charts(at: AppTest) -> int:
    return len(at.get("vega_lite_chart"))


def path_contributions(run: Run, prepared: Prepared, spn: SPN, alpha: Any) -> dict[tuple[str, ...], float]:
    """Leaves → Σ y·f over the test rows of every listed path, f less its training mean, without a circuit."""
    train, test = (np.where(y == run.solution.classes[1], 1.0, -1.0) for y in (prepared.y_train, prepared.y_test))
    found = {}
    for path in spn.paths():
        K, new = (
            np.prod([source[v] for v in path.leaves], axis=0) for source in (prepared.kernels, prepared.cross_test)
        )
        g = np.prod([run.solution.beta[v] ** float(e) for v, e in path.exponents.items()])
        found[path.leaves] = float(g * (test @ (new @ (alpha * train) - (K @ (alpha * train)).mean())))
    return found


def test_without_a_run_the_page_leads_to_train() -> None:
    at = opened("inspect")
    assert "Nothing is trained yet" in texts(at)
    assert "train" in [link.proto.page for link in at.get("page_link")]
    assert not at.get("bidi_component")[1:]


def test_a_training_that_has_ended_is_collected() -> None:
    at = opened("inspect")
    here = work(at)
    assert here.trainer.start("train", here.task, Settings(), lambda: True).job.join(60)
    fine(at.run())
    assert [run.name for run in here.trainer.book.runs] == ["Run 1"]
    assert "Certified optimal" in texts(at)


@pytest.mark.parametrize("sample", ["breast_cancer", "wine"])
def test_every_tab_is_drawn(sample: str) -> None:
    task, prepared, run = trained(sample)
    at = shown(task, run, prepared)
    for tab in TABS:
        assert SAYS[tab] in texts(fine(show(at, tab)))


def test_a_run_without_its_data_shows_what_it_can() -> None:
    task, _, run = trained()
    at = shown(None, run)
    assert "Certified optimal" in texts(at)
    at.session_state["inspect_drawing"] = {"selection": ["p4"]}
    assert f"held-out share **{run.held_out.nodes['p4']}** on {run.held_out.rows}" in texts(fine(at.run()))
    for tab in TABS[1:]:
        needs = tab != "Weights and paths"  # for which the shares kept with the run suffice
        assert ("came without its data" in texts(fine(show(at, tab)))) == needs
        assert ("data" in [link.proto.page for link in at.get("page_link")]) == needs, tab
    weights = show(at, "Weights and paths").dataframe[0].value
    assert weights["part of Σg"].sum() == pytest.approx(1.0)
    assert len(weights) == task.spn.n_paths - 1


def test_without_shares_weights_are_shown_as_weights() -> None:
    """Of an earlier version, without its data."""
    _, _, run = trained()
    at = shown(None, replace(run, held_out=None))
    at.session_state["inspect_drawing"] = {"selection": ["p4"]}
    assert "held-out share" not in texts(fine(at.run()))
    paths = show(at, "Weights and paths").dataframe[0].value
    assert "held-out share" not in paths and paths["part of Σg"].sum() == pytest.approx(1.0)
    assert "Weights only" in texts(at)
    views = fine(show(at, "What matters")).dataframe[0].value
    assert "Weights only" in texts(at) and "held-out share" not in views
    assert labelled(at.button, "Measure on 5 folds").disabled


def test_the_numbers_are_the_library_s() -> None:
    task, prepared, run = trained()
    model = SPNMKLClassifier(task.spn).fit(prepared.X_train, prepared.y_train)
    at = usual("Drawing")
    looks = drawing(at, "inspect_drawing")["looks"]["nodes"]
    assert {v: looks[v]["value"] for v in task.spn.products} == {v: f"{b:.3g}" for v, b in model.beta_.items()}
    assert f"Certified optimal to {100 * model.gap_:.2g}" in at.success[0].value
    accuracy = np.mean(model.predict(prepared.X_test) == prepared.y_test)
    assert f"**{100 * accuracy:.1f} %** right of {len(prepared.test)} test rows" in texts(at)

    show(at, "Weights and paths")
    paths = at.dataframe[0].value
    carries = path_contributions(run, prepared, task.spn, model.solution_.alpha)
    expected = sorted((value / sum(carries.values()) for value in carries.values() if value), reverse=True)
    assert sorted(paths["held-out share"], reverse=True) == pytest.approx(expected, abs=1e-7)
    at.session_state["inspect_table"] = "Weights"
    weights = at.run().dataframe[0].value
    assert dict(zip(weights["id"], weights["β"], strict=True)) == pytest.approx(model.beta_, rel=1e-9)
    share = weights.set_index("id")["held-out share"]
    through_p4 = sum(value for leaves, value in carries.items() if len(leaves) == 2)
    assert share["p4"] == pytest.approx(through_p4 / sum(carries.values()), abs=1e-7)

    show(at, "Proof")
    certificate = at.dataframe[0].value
    assert list(certificate.columns[1:]) == ["as trained", "computed anew"]
    assert (certificate["as trained"] == certificate["computed anew"]).all()
    assert certificate["computed anew"][2] == f"{100 * model.gap_:.8g} %"


def test_all_iterations_are_sent_for_the_replay() -> None:
    at = usual("Drawing")
    _, _, run = trained()
    sent = drawing(at, "inspect_drawing_replay")
    assert sent["canvas"] == "inspect_drawing" and len(sent["words"]) == len(run.solution.history) + 1
    shown = [text["text"] for text in drawing(at, "inspect_drawing")["looks"]["nodes"]["p1"]["texts"]]
    at_value = shown.index("0")
    values = {tuple(path): values for path, values in sent["columns"]}["nodes", "p1", "texts", at_value, "text"]
    assert values == [f"{beta['p1']:.3g}" for beta in (*(r.beta for r in run.solution.history), run.solution.beta)]
    assert "pruned" in drawing(at, "inspect_drawing")["looks"]["nodes"]["p1"]["title"]


def test_the_drawing_has_the_places_of_the_design() -> None:
    task, _, _ = trained()
    nodes = drawing(usual("Drawing"), "inspect_drawing")["looks"]["nodes"]
    assert {v: (n["x"], n["y"]) for v, n in nodes.items()} == {v: task.spn.position(v) for v in task.spn.nodes}


def test_a_chosen_node_tells_its_numbers() -> None:
    at = usual("Drawing")
    _, _, run = trained()
    at.session_state["inspect_drawing"] = {"selection": ["p1"]}
    fine(at.run())
    assert f"Pruned at iteration {run.solution.pruned['p1']}" in texts(at)
    at.session_state["inspect_drawing"] = {"selection": ["p4"]}
    said = texts(at.run())
    assert f"weight β **{run.solution.beta['p4']:.4g}**" in said
    assert f"KKT residual **{run.solution.kkt_residual['p4']:.1e}**" in said
    at.session_state["inspect_drawing"] = {"selection": ["s2"]}
    share_of_branch = next(line for line in texts(at.run()).splitlines() if "held-out share" in line)
    assert share_of_branch in said  # all that p4 carries goes through each of its sums
    at.session_state["inspect_drawing"] = {"selection": ["k1", "nonsense"]}
    assert "every path through it meets a weight that is zero" in texts(fine(at.run()))


def on_path(at: AppTest) -> set[str]:
    return {v for v, look in drawing(at, "inspect_paths")["looks"]["nodes"].items() if look["chosen"]}


def test_a_chosen_path_is_marked() -> None:
    at = usual("Weights and paths")
    assert not on_path(at)
    kernels = list(at.dataframe[0].value["kernels"])
    row = kernels.index("rbf γ=median · mean ∘ linear · worst")
    at.session_state["inspect_paths_of_Run 1"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    assert on_path(fine(at.run())) == {"s1", "p4", "s2", "p5", "k4", "s3", "p8", "k7"}


def test_a_path_and_its_weights_are_shown_with_pyvis() -> None:
    at = usual("Weights and paths")
    row = list(at.dataframe[0].value["kernels"]).index("rbf γ=median · mean ∘ linear · worst")
    at.session_state["inspect_paths_of_Run 1"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    labelled(at.toggle, "Show it with pyvis").set_value(True).run()
    (frame,) = fine(at).get("iframe")
    page = base64.b64decode(frame.proto.src.partition(",")[2]).decode()
    _, _, run = trained()
    assert "vis.Network" in page and f"{run.solution.beta['p4']:.3g}" in page
    assert THEMES["light"].chosen in page, "the path stands out"


def test_a_run_of_an_earlier_version_gets_its_shares_from_its_data() -> None:
    task, prepared, run = trained()
    at = shown(task, replace(run, held_out=None), prepared, "What matters")
    found = work(at).trainer.book.runs[0].held_out
    assert found is not None and found.to_dict() == run.held_out.to_dict()
    assert f"measured on {found.rows}" in texts(at)


def test_what_matters_ranks_by_held_out_shares() -> None:
    at = usual("What matters")
    views = at.dataframe[0].value.set_index("name")
    assert views["held-out share"].is_monotonic_decreasing and (views["standard error"] > 0).all()
    assert charts(at) == 2
    assert "Measure on 5 folds" not in [button.label for button in at.button], "these test rows tell enough"


def test_shares_are_measured_on_folds_on_request() -> None:
    task, prepared, run = trained()
    roughly = {v: Share(s.share, 0.2) for v, s in run.held_out.views.items()}
    at = shown(task, replace(run, held_out=replace(run.held_out, views=roughly)), prepared, "What matters")
    labelled(at.button, "Measure on 5 folds").click().run()
    trainer = work(at).trainer
    activity = trainer.activity
    assert activity is None or activity.job.join(120)
    fine(at.run())
    shares = trainer.book.runs[0].held_out
    assert shares.folds == 5 and shares.n == run.n_train and shares.rows == f"5 folds of {run.n_train} training rows"
    assert f"measured on {shares.rows}" in texts(at)
    assert "Measure on 5 folds" not in [button.label for button in at.button]
    kept = stored_shares(trainer.book.runs[0].model, "model")
    assert kept is not None and kept.to_dict() == shares.to_dict()


def test_what_matters_says_that_one_kernel_tells_nothing_of_views() -> None:
    spn = placed(SPN(Sum(Product(Kernel("rbf", label="all")))))
    task, prepared, run = training(spn, load_sample("breast_cancer"), Settings())
    said = texts(shown(task, run, prepared, "What matters"))
    assert "tells nothing about the columns or views in it" in said
    assert "“Measure what each view is worth”, above" in said
    assert "single kernel" not in texts(usual("What matters"))


def test_what_matters_tells_of_kernels_that_belong_to_no_view() -> None:
    dataset = load_sample("breast_cancer")
    columns = list(dataset.views["mean"])
    spn = placed(SPN(Sum(Product(Kernel("rbf", label="all")), Product(Kernel("rbf", features=columns, label="mean")))))
    task, prepared, run = training(spn, dataset, Settings())
    said = texts(shown(task, run, prepared, "What matters"))
    assert "In no view's share, because they do not see columns of one view alone: rbf · all" in said
    assert "In no view's share" not in texts(usual("What matters"))


def test_kernels_are_shown_by_name_with_their_alignment() -> None:
    at = usual("Kernels")
    task, prepared, _ = trained()
    box = labelled(at.selectbox, "Kernel")
    assert box.options[0] == "the learned kernel K(β)"
    assert "kernel · linear · worst" in box.options
    box.select("k7").run()
    expected = alignment(prepared.kernels["k7"], prepared.y_train)
    assert f"Alignment with the labels **{expected:.3f}**" in texts(fine(at))
    table = at.dataframe[0].value.set_index("kernel")
    assert table["alignment"]["linear · worst"] == pytest.approx(expected)
    for option in ("p4", "s2", "k1"):
        fine(labelled(at.selectbox, "Kernel").select(option).run())
    assert len(table) == len(task.spn.kernels) + 1


@pytest.mark.parametrize("sample", ["breast_cancer", "wine"])
def test_the_samples_tab_counts_right(sample: str) -> None:
    task, prepared, run = trained(sample)
    at = shown(task, run, prepared, "Samples")
    at.session_state["inspect_part"] = "train"
    fine(at.run())
    decision = run.solution.decision_function(prepared.source)
    wrong = int(np.sum(run.train_scores.predicted != prepared.y_train))
    assert f"Wrong answers: {wrong} of {len(prepared.train)}" in texts(at)
    if decision.ndim == 1:
        auc = roc_auc_score(prepared.y_train == run.solution.classes[1], decision)
        table = at.table[0].value.set_index("measure")["training rows"]
        assert table["area under the ROC curve"].startswith(f"{auc:.3f} (")
        at.session_state["inspect_report_True"] = "ROC curve"
        assert f"Area under the curve {auc:.3f}" in texts(fine(at.run()))
    at.session_state[f"inspect_report_{decision.ndim == 1}"] = "Per class"
    report = fine(at.run()).dataframe[0].value
    counts = confusion_matrix(prepared.y_train, run.train_scores.predicted)
    assert list(report["recall"]) == pytest.approx(np.diagonal(counts) / counts.sum(axis=1))
    assert ("area under ROC" in report) == (decision.ndim == 2)


def test_a_wrong_answer_is_explained_when_it_is_chosen() -> None:
    at = usual("Samples")
    _, prepared, run = trained()
    (wrong,) = [table.value for table in at.dataframe if "row" in table.value]
    assert set(wrong["row"] - 1) == set(prepared.test[run.test_scores.predicted != prepared.y_test])
    number = int(wrong["row"].iloc[1])
    labelled(at.number_input, "Row of the table").set_value(number).run()
    decision = run.test_scores.decision[list(prepared.test).index(number - 1)]
    assert f"add up to the decision, {decision:+.3f}".replace("-", "−") in texts(fine(at))
    assert ": wrong." in texts(at)
    labelled(at.number_input, "Row of the table").set_value(10**6).run()
    assert "took no part" in texts(fine(at))


def test_pushes_of_many_classes_are_told_apart() -> None:
    task, prepared, run = trained("wine")
    at = shown(task, run, prepared, "Samples")
    towards = labelled(at.selectbox, "Pushes towards")
    row = int(labelled(at.number_input, "Row of the table").value) - 1
    other = next(k for k, c in enumerate(run.solution.classes) if c != towards.value)
    towards.select_index(other).run()
    (position,) = np.flatnonzero(prepared.test == row)
    said = f"add up to the decision, {run.test_scores.decision[position, other]:+.3f}"
    assert said.replace("-", "−") in texts(fine(at))


def test_moving_a_weight_and_going_back() -> None:
    _, prepared, run = trained()
    at = usual("What if")
    assert at.metric[0].value == f"{run.solution.objective:.5g}"
    assert not at.metric[0].delta
    heaviest = max(run.solution.beta, key=lambda v: run.solution.beta[v])
    labelled(at.number_input, "β typed").set_value(0.25).run()
    assert labelled(fine(at).slider, "β").value == 0.25
    assert drawing(at, "inspect_what_if")["looks"]["nodes"][heaviest]["value"] == "0.25"
    objective, accuracy = solved_by_scikit_learn(prepared, run.solution.beta | {heaviest: 0.25})
    assert float(at.metric[0].value) == pytest.approx(objective, rel=2e-4)
    assert at.metric[0].delta == f"{100 * (objective / run.solution.objective - 1):+.2f} %"
    assert at.metric[1].value == f"{100 * accuracy:.1f} %"
    learned = run.solution.beta[heaviest]
    labelled(at.number_input, "β typed").set_value(learned * (1 + 1e-5)).run()
    assert at.metric[0].delta == "the same, within the proven gap"
    assert at.metric[0].proto.color == MetricProto.MetricColor.GRAY
    labelled(at.number_input, "β typed").set_value(0.25).run()
    labelled(at.selectbox, "Weight").select("p4").run()
    slider = labelled(at.slider, "β")
    assert slider.max == pytest.approx(3 * run.solution.beta[heaviest])
    slider.set_value(slider.max).run()
    assert "2 weights moved" in texts(fine(at))
    labelled(at.button, "Back to the learned weights").click().run()
    assert at.metric[0].value == f"{run.solution.objective:.5g}"
    assert labelled(at.button, "Back to the learned weights").disabled


def solved_by_scikit_learn(prepared: Prepared, beta: dict[str, float]) -> tuple[float, float]:
    """The objective at given weights with C = λ = p = 1, and the accuracy on the test rows; paths are listed."""
    K, across, price = 0.0, 0.0, 0.0
    for path in prepared.spn.paths():
        g = np.prod([beta[v] ** float(e) for v, e in path.exponents.items()])
        K = K + g * np.prod([prepared.kernels[leaf] for leaf in path.leaves], axis=0)
        across = across + g * np.prod([prepared.cross_test[leaf] for leaf in path.leaves], axis=0)
        price += sum(float(e) * beta[v] for v, e in path.exponents.items())
    svm = SVC(C=1.0, kernel="precomputed", tol=1e-6).fit(K, prepared.y_train)
    signed = svm.dual_coef_[0]
    inner = np.abs(signed).sum() - signed @ K[np.ix_(svm.support_, svm.support_)] @ signed / 2
    return float(price + inner), float(np.mean(svm.predict(across) == prepared.y_test))


def test_theorem_2_is_for_two_classes() -> None:
    _, prepared, run = trained()
    bound = complexity_bound(run.solution, prepared.source)
    at = usual("Proof")
    assert f"= {bound.value:.4g}\n" in at.latex[0].value
    assert "no guarantee" in texts(at)
    task, prepared, run = trained("wine")
    assert "this run has 3" in texts(shown(task, run, prepared, "Proof"))


def test_runs_are_chosen_at_the_top() -> None:
    task, prepared, run = trained()
    other_task, _, other = trained("wine")
    at = shown(task, run, prepared)
    trainer = work(at).trainer
    trainer.book.runs.append(replace(other, name="<b>Run</b> *2*"))
    trainer.book.tasks["<b>Run</b> *2*"] = other_task
    assert labelled(fine(at.run()).selectbox, "Run").value == "<b>Run</b> *2*"  # the last one
    labelled(at.selectbox, "Run").select("Run 1").run()
    assert trainer.book.chosen == "Run 1"
    assert f"of {len(run.test)} test rows" in texts(fine(at))
    for tab in TABS:
        fine(show(at, tab))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(C=1e-4), "every weight is zero"),
        (Settings(p=0.5), "Stationary, not certified"),
        (Settings(max_iter=1), "Ended at the limit of 1 iteration"),
    ],
    ids=["nothing left", "no bound", "stopped early"],
)
def test_other_endings(settings: Settings, said: str) -> None:
    task, prepared, run = trained("wine", settings)
    at = shown(task, run, prepared)
    assert said in at.warning[0].value
    for tab in TABS:
        fine(show(at, tab))
    if not np.isfinite(run.solution.dual_bound):
        assert "Why there is no proof" in texts(at)


def test_given_matrices_are_inspected_too() -> None:
    dataset = load_sample("wine")
    X = dataset.frame[list(dataset.features)].to_numpy(dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    given = {"one <i>": X[:, :5] @ X[:, :5].T, "two": X @ X.T}
    spn = placed(SPN(Sum(*(Product(Kernel("precomputed", label=name)) for name in given))))
    task, prepared, run = training(spn, replace(dataset, matrices=given), Settings())
    assert run.model is None
    at = shown(task, run, prepared)
    for tab in TABS:
        fine(show(at, tab))


def test_what_is_kept_of_a_run_holds_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = load_sample("wine")
    task, prepared, run = training(placed(opening_structure(dataset)), dataset, Settings())
    at = shown(task, run, prepared)
    for tab in TABS:
        fine(show(at, tab))
    kernels = [weakref.ref(K) for K in prepared.kernels.values()]
    work(at).trainer.kernels.kept = None
    del prepared
    gc.collect()
    assert not any(kernel() is not None for kernel in kernels)
    monkeypatch.delattr(KernelShelf, "prepared")  # so that computing anything anew would fail
    for tab in TABS:
        fine(show(at, tab))


def test_the_id_of_a_sample_is_shown() -> None:
    data = load_sample("breast_cancer")
    frame = data.frame.assign(remark="none", code=[f"C{k:03}" for k in range(len(data.frame))])
    dataset = Dataset("coded", frame, data.label, ("remark", "code"), data.views)
    task, prepared, run = training(placed(opening_structure(dataset)), dataset, Settings())
    at = fine(shown(task, run, prepared, "Samples"))
    (wrong,) = [table.value for table in at.dataframe if "predicted" in table.value]
    assert wrong["code "].tolist() == [f"C{row - 1:03}" for row in wrong["row"]]
    assert f"code **C{labelled(at.number_input, 'Row of the table').value - 1:03}**. A test row" in texts(at)


@pytest.mark.parametrize("tab", TABS)
def test_a_run_that_was_not_scored_shows_no_score(tab: str) -> None:
    task, _, run = trained()
    at = opened("inspect")
    trainer = work(at).trainer
    trainer.book.runs, trainer.book.tasks = [replace(without_scores(run), name="Run 1")], {"Run 1": task}
    at.session_state["inspect"] = tab
    fine(at.run())
    assert "nan" not in texts(at)
    if tab == "Samples":
        assert plain("not scored: stopped") in at.info[0].value and labelled(at.button, "Score these weights")
        labelled(at.button, "Score these weights").click().run()
        activity = trainer.activity
        assert activity is None or activity.job.join(60)
        fine(at.run())
        assert trainer.book.runs[0].test_scores.scored and "Map of the samples" in texts(at)


def test_columns_that_are_pixels_are_shown_as_an_image() -> None:
    digits = load_sample("digits")
    some = digits.take(np.arange(150))
    task, prepared, run = training(placed(templates.flat(digits.features)), some, Settings())
    assert "The columns as an image" in texts(shown(task, run, prepared, "What matters"))
    ranks = ranking(run)
    shares, by = column_shares(run, ranks)
    assert by == "held-out share" and len(shares) == 64 and sum(shares.values()) == pytest.approx(1, abs=1e-6)
    assert "The columns as an image" not in texts(usual("What matters"))
