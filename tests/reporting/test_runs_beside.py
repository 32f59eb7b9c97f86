"""Runs beside each other: the numbers are those of the runs, and what differs is found."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from small_runs import small_dataset, small_structure, trained, without_scores

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.charts.comparison import intervals_chart
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.reporting.endings import headlines
from spnmkl.reporting.explain import wrong_samples
from spnmkl.reporting.runs_beside import (
    agreement,
    only_here,
    runs_table,
    same_test,
    scores_table,
    settings_table,
    was_trained_on,
    weights_beside,
)
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.scores import share_right
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SPLIT = SplitSettings(test_share=0.3, seed=1)


@cache
def other() -> Run:
    """The same data, another C and one kernel more."""
    spn = small_structure().to_dict()
    spn["nodes"] += [{"id": "new", "kind": "kernel", "kernel": "linear"}, {"id": "p20", "kind": "product", "p": 1.0}]
    spn["edges"] += [[small_structure().root, "p20"], ["p20", "new"]]
    prepared = prepare(SPN.from_dict(spn), small_dataset(), Choices(), SPLIT)
    return replace(train(prepared, Settings(C=0.5, tol=1e-2)), name="Other")


def runs() -> list[Run]:
    return [replace(trained().run, name="First"), other()]


def test_the_table_tells_what_the_runs_hold() -> None:
    table = runs_table(runs())
    for row, run in zip(table.to_dict("records"), runs(), strict=True):
        assert row["run"] == run.name
        assert (row["C"], row["gap"], row["seconds"]) == (run.settings.C, run.solution.gap, run.seconds)
        assert row["test"] == share_right(np.mean(run.test_scores.predicted == run.test_scores.y))
        zero = sum(weight == 0 for weight in run.solution.beta.values())
        assert row["pruned"] == f"{zero} of {len(run.spn.products)}"
        assert row["ended"] == "certified optimal"
    assert table["structure"].tolist() == ["5 kernels, 9 weights", "6 kernels, 10 weights"]


def test_the_table_has_the_measure_that_the_run_is_headed_with() -> None:
    run = trained().run
    run = replace(run, settings=replace(run.settings, scoring="balanced_accuracy"))
    (row,) = runs_table([run]).to_dict("records")
    assert row["test"] == f"balanced accuracy {headlines(run)[0].number}"
    assert row["training"].startswith("balanced accuracy ")


def test_a_run_that_learned_nothing_or_was_stopped_says_so() -> None:
    run = trained().run
    zero = replace(run.solution, beta=dict.fromkeys(run.solution.beta, 0.0))
    stopped = replace(run.solution, status="interrupted", gap=np.inf)
    late, rough = (replace(run.solution, status=status) for status in ("time_limit", "precision"))
    table = runs_table([replace(run, solution=solution) for solution in (zero, stopped, late, rough)])
    assert table["ended"].tolist() == [
        "certified, all weights zero",
        "stopped",
        "at the limit of time",
        "at the limit of precision",
    ]
    assert table["gap"].isna().tolist() == [False, True, False, False]


def test_settings_show_what_differs() -> None:
    table = settings_table(runs())
    assert set(table.index) == {"C", "tolerance", "structure"}
    assert table.loc["C"].tolist() == ["3", "0.5"]
    assert len(settings_table(runs(), everything=True)) > 10
    assert not len(settings_table(runs()[:1]))
    moved = replace(runs()[0], name="Moved", spn=_moved(runs()[0].spn))
    assert not len(settings_table([runs()[0], moved])), "a node's place is no setting"


def _moved(spn: SPN) -> SPN:
    stored = spn.to_dict()
    stored["nodes"] = [{**node, "x": 1.0, "y": 2.0} for node in stored["nodes"]]
    return SPN.from_dict(stored)


def test_drawings_of_equal_size_are_told_apart() -> None:
    first = runs()[0]
    p = first.spn.products[0]
    changed = replace(first, name="Changed", spn=first.spn.with_p({p: 1.5}))
    assert settings_table([first, changed]).loc["structure"].tolist() == [
        "A: 5 kernels, 9 weights",
        "B: 5 kernels, 9 weights",
    ]


def test_weights_stand_beside_each_other() -> None:
    table = weights_beside(runs())
    assert len(table) == 10
    first, second = "β of First", "β of Other"
    by_weight = table.set_index("weight")
    for v, weight in trained().run.solution.beta.items():
        symbol = f"β{v[1:]}".translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")) if v != "joint" else "β_joint"
        assert by_weight.loc[symbol, first] == weight
        assert by_weight.loc[symbol, second] == other().solution.beta[v]
    assert np.isnan(by_weight.loc["β₂₀", first])
    largest = table[[first, second]].max(axis=1)
    assert largest.is_monotonic_decreasing


def test_weights_of_one_name_over_other_kernels_are_others() -> None:
    one = SPN(Sum(Product(Kernel("rbf", id="a"), id="p1"), Product(Kernel("linear", id="b"), id="p2")))
    two = SPN(Sum(Product(Kernel("cosine", id="a"), id="p1"), Product(Kernel("linear", id="b"), id="p2")))
    made = [
        replace(train(prepare(spn, small_dataset(), Choices(), SPLIT), Settings()), name=name)
        for name, spn in (("one", one), ("two", two))
    ]
    table = weights_beside(made)
    assert sorted(table["weight"]) == ["β₁", "β₁", "β₂"]
    assert table.notna().all(axis=1).sum() == 1


def test_what_only_one_drawing_has() -> None:
    first, second = small_structure(), other().spn
    assert only_here(first, [second]) == frozenset()
    assert only_here(second, [first]) == {"new", "p20"}
    stored = first.to_dict()
    stored["edges"].append(["p6", "flat"])
    rewired = SPN.from_dict(stored)
    assert only_here(rewired, [first]) == {"p6", "flat"}, "both ends of the edge"
    assert only_here(first, [rewired]) == frozenset()
    changed = first.with_p({"p1": 2.0})
    assert only_here(first, [changed]) == only_here(changed, [first]) == {"p1"}
    assert only_here(_moved(first), [first]) == frozenset()


def test_scores_with_their_intervals() -> None:
    table = scores_table(runs())
    for row, run in zip(table.to_dict("records"), runs(), strict=True):
        right = run.test_scores.predicted == run.test_scores.y
        interval = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        assert row["majority"] == pd.Series(run.test_scores.y).value_counts(normalize=True).max()
        assert row["rows"] == run.n_test
    three = scores_table([trained(classes=3).run])
    assert 0 < three.loc[0, "AUC"] <= 1
    assert intervals_chart(table).to_dict()["height"] > 0


def test_two_runs_on_the_same_rows() -> None:
    a, b = runs()
    assert same_test(a, b)
    assert not same_test(a, replace(b, test=b.test + 1))
    right = [run.test_scores.predicted == run.test_scores.y for run in (a, b)]
    counts = pd.crosstab(*right).reindex(index=[False, True], columns=[False, True], fill_value=0)
    words = agreement(a, b)
    assert f"both are right on {counts.loc[True, True]} and both wrong on {counts.loc[False, False]}" in words
    assert f"only First is right on {counts.loc[True, False]}, only Other on {counts.loc[False, True]}" in words


def test_a_run_that_was_not_scored_is_not_compared() -> None:
    a, b = replace(trained().run, name="First"), without_scores(other())
    assert agreement(a, b) == "The answers cannot be compared: Other is not scored, since its training was stopped."
    assert (runs_table([a, b])[["training", "test"]] == "not scored").to_numpy().tolist() == [[False] * 2, [True] * 2]
    table = scores_table([a, b])
    assert table["95 % interval"].tolist()[1] == "not scored" and np.isnan(table["AUC"][1])
    assert not len(wrong_samples(b))


def _changed(dataset: Dataset) -> dict[str, Dataset]:
    frame = dataset.frame
    labels, values = frame.copy(), frame.copy()
    at = labels.index[labels["class"] == "dull"][:3]
    labels.loc[at, "class"] = "bright"
    values.loc[5, "shape_1"] += 1.0
    values.loc[6, "shape_1"] += 1.0
    return {
        "labels": replace(dataset, frame=labels),
        "values": replace(dataset, frame=values),
        "fewer rows": replace(dataset, frame=frame.iloc[:-1]),
        "fewer columns": dataset.with_ignored(["shape_2"]),
        "other label": replace(dataset, label="colour_1"),
        "no label": replace(dataset, label=None),
        "group": replace(dataset, frame=frame.assign(g=np.arange(len(frame)) // 3), group="g"),
        "other order": replace(dataset, frame=frame.iloc[::-1]),
        "no rows": replace(dataset, frame=frame.assign(**{"class": None})),
    }


def test_the_data_of_a_run_are_known_again() -> None:
    run, dataset = trained().run, small_dataset()
    assert was_trained_on(run, dataset)
    assert was_trained_on(run, replace(dataset, name="renamed"))
    rounded = dataset.frame.copy()
    rounded[["colour_0"]] = rounded[["colour_0"]].to_numpy() * (1 + 1e-15)
    assert was_trained_on(run, replace(dataset, frame=rounded))


@pytest.mark.parametrize("what", _changed(small_dataset()))
def test_other_data_are_not_taken_for_those_of_a_run(what: str) -> None:
    assert not was_trained_on(trained().run, _changed(small_dataset())[what])


def test_rows_that_were_left_out_are_left_out_again() -> None:
    dataset = small_dataset()
    gaps = dataset.frame.copy()
    gaps.loc[gaps.index[3:9], "shape_0"] = np.nan
    dataset = replace(dataset, frame=gaps)
    run = train(prepare(small_structure(), dataset, Choices(missing="drop rows"), SPLIT), Settings())
    assert was_trained_on(run, dataset)


def test_given_matrices_are_needed_by_name() -> None:
    dataset = small_dataset()
    X = dataset.frame[["colour_0", "shape_0"]].to_numpy()
    dataset = replace(dataset, matrices={"both": X @ X.T})
    spn = SPN(Sum(Product(Kernel("precomputed", label="both"))))
    run = train(prepare(spn, dataset, Choices(), SPLIT), Settings())
    assert was_trained_on(run, dataset)
    assert not was_trained_on(run, replace(dataset, matrices={}))


def test_ids_do_not_tell_drawings_apart() -> None:
    """The same drawing under other ids is the same; the root of another drawing is a root too."""
    first = small_structure()
    stored = first.to_dict()
    for node in stored["nodes"]:
        node["id"] += "_new"
    stored["edges"] = [[f"{a}_new", f"{b}_new"] for a, b in stored["edges"]]
    renamed = SPN.from_dict(stored)
    assert only_here(first, [renamed]) == only_here(renamed, [first]) == frozenset()
    one, two = Kernel("linear", id="a"), Kernel("cosine", id="b")
    small = SPN(Sum(Product(one, id="p"), id="top"))
    large = SPN(Sum(Product(one, id="q"), Product(two, id="r"), id="root"))
    assert only_here(large, [small]) == {"r", "b"}
    assert only_here(small, [large]) == frozenset()


def test_solvers_are_called_as_on_the_page_train() -> None:
    assert runs_table(runs())["solver"].tolist() == ["automatic"] * 2
    table = settings_table(runs(), everything=True)
    assert table.loc["solver"].tolist() == ["automatic"] * 2
    assert table.loc["most time"].tolist() == ["any"] * 2
    timed = replace(runs()[0], settings=Settings(max_time=90))
    assert settings_table([timed], everything=True).loc["most time"].tolist() == ["90 s"]
