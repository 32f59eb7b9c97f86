"""The tables of a run, against its paths listed one by one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_runs import Trained, small_structure, trained
from tolerances import ROUNDING

from spnmkl import ParameterError
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.reporting import explain
from spnmkl.reporting.explain import (
    paths_table,
    ranking,
    sample_paths,
    weights_table,
    wrong_samples,
)
from spnmkl.reporting.page import html_report
from spnmkl.selection import CrossValidation
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.paths import drawn_path
from spnmkl.training.choose import choose_C
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train


@pytest.fixture(params=[2, 3], ids=["binary", "multiclass"])
def case(request: pytest.FixtureRequest) -> Trained:
    return trained(request.param)


def test_every_weight_with_its_share(case: Trained) -> None:
    table = weights_table(case.run).set_index("id")
    solution = case.run.solution
    assert dict(table["β"]) == solution.beta
    assert table["β"].is_monotonic_decreasing
    assert dict(table["p"]) == solution.p
    assert dict(table["KKT residual"]) == solution.kkt_residual
    expected = {v: case.through(case.carried, {v}) for v in table.index}
    assert dict(table["held-out share"]) == pytest.approx(expected, abs=ROUNDING)
    assert dict(table["pruned at iteration"].dropna()) == solution.pruned


def test_what_was_pruned_and_when() -> None:
    case = trained(C=0.2)
    table = weights_table(case.run).set_index("id")
    assert dict(table["pruned at iteration"].dropna()) == case.run.solution.pruned != {}
    assert (table["held-out share"][list(case.run.solution.pruned)] == 0).all()


def test_weights_in_words() -> None:
    table = weights_table(trained().run).set_index("id")
    assert dict(table["weight"]) == {"joint": "β_joint"} | {
        f"p{i}": f"β{'₀₁₂₃₄₅₆₇₈₉'[i]}" for i in (1, 2, 3, 4, 6, 7, 8, 9)
    }
    assert table.loc["joint", "multiplies"] == "(β₁ + β₂) ∘ (β₃ + β₄)"
    assert table.loc["p1", "multiplies"] == "rbf γ=0.5 · near colours"
    assert table.loc["p7", "multiplies"] == "rbf γ=0.5 · near colours ∘ a choice"


def test_names_are_text_on_one_line() -> None:
    spn = SPN(Sum(Product(Kernel("linear"), label="a\nb"), Product(Product(Kernel("rbf"), id="p9"), id="p10")))
    assert {v: spn.names[v] for v in spn.products} == {"p1": "β[a b]", "p9": "β₉", "p10": "β₁₀"}
    assert explain.children_text(spn, "p10") == "β₉"


def test_heaviest_paths_with_their_shares(case: Trained) -> None:
    table, paths = paths_table(case.run)
    kept = case.g > 0
    assert len(table) == len(paths) == kept.sum()
    assert table["g"].is_monotonic_decreasing
    place = {path: m for m, path in enumerate(case.paths)}
    listed = [place[path.path] for path in paths]
    np.testing.assert_allclose(table["g"], case.g[listed], rtol=ROUNDING)
    np.testing.assert_allclose(table["part of Σg"], (case.g / case.g.sum())[listed], atol=ROUNDING)
    np.testing.assert_allclose(table["held-out share"], case.carried[listed], atol=ROUNDING)
    assert table["held-out share"].sum() == pytest.approx(1, abs=ROUNDING)
    assert [drawn_path(case.run.spn, path.path) for path in paths] == [
        drawn_path(case.run.spn, case.paths[m]) for m in listed
    ]


def test_paths_in_words() -> None:
    case = trained()
    table, paths = paths_table(case.run)
    texts = {path.leaves: row for path, row in zip(paths, table.itertuples(index=False), strict=True)}
    joint = texts[("near", "form")]
    assert joint[0] == "rbf γ=0.5 · near colours ∘ rbf γ=0.3 · form"
    assert joint[1] == "β_joint¹⁄² β₁¹⁄⁴ β₃¹⁄⁴"


def test_fewer_paths_than_there_are(case: Trained) -> None:
    some, paths = paths_table(case.run, k=2)
    every, _ = paths_table(case.run)
    pd.testing.assert_frame_equal(some, every[:2])
    assert len(paths) == 2


def test_ranking_of_views_and_kernels(case: Trained) -> None:
    table = ranking(case.run)
    views = {"colour": {"near", "far"}, "shape": {"form", "flat"}}
    groups = views | {leaf: {leaf} for leaf in case.run.spn.kernels}
    assert set(table["id"]) == groups.keys()
    assert list(table["kind"]) == ["view"] * 2 + ["kernel"] * 5
    for kind, part in table.groupby("kind"):
        assert part["held-out share"].is_monotonic_decreasing, kind
    for row in table.itertuples(index=False):
        decision, weight = row[3], row[6]
        assert decision == pytest.approx(case.through(case.carried, groups[row.id]), abs=ROUNDING)
        assert weight == pytest.approx(case.through(case.g / case.g.sum(), groups[row.id]), abs=ROUNDING)
    names = dict(zip(table["id"], table["name"], strict=True))
    assert (names["colour"], names["near"]) == ("colour", "rbf γ=0.5 · near colours")
    assert "survival" not in table


def folds_of(run: Run, beta: list[dict[str, float]]) -> Run:
    """The run with a cross-validation over three C; at the middle one, nearest to the run's, these weights."""
    C = run.settings.C * np.array([0.1, 1.2, 10])
    scores = np.full((3, len(beta) + 1), 0.5)
    scores[1, -1] = np.nan  # stopped before the last fold
    weights = {v: np.full(scores.shape, 7.0) for v in run.spn.products}
    for v, b in weights.items():
        b[1] = [*(fold[v] for fold in beta), np.nan]
    return replace(run, cross_validation=CrossValidation(C, scores, weights, float(C[2])))


def test_spread_and_survival_over_folds() -> None:
    case = trained()
    rng = np.random.default_rng(0)
    folds = [{v: float(rng.uniform(0.1, 2)) for v in case.run.spn.products} for _ in range(3)]
    folds[0]["joint"] = folds[1]["joint"] = folds[1]["p7"] = 0.0
    table = ranking(folds_of(case.run, folds)).set_index("id")
    groups = {"colour": {"near", "far"}, "near": {"near"}, "far": {"far"}, "everything": {"everything"}}
    for name, nodes in groups.items():
        shares = []
        for beta in folds:
            g = np.array([np.prod([beta[v] ** float(e) for v, e in m.exponents.items()]) for m in case.paths])
            shares.append(case.through(g / g.sum(), nodes))
        assert table.loc[name, "Σg ± over folds"] == pytest.approx(np.std(shares, ddof=1), abs=ROUNDING)
    survival = {"near": 2 / 3, "far": 1 / 3, "everything": 1.0, "flat": 2 / 3, "colour": 2 / 3}
    assert dict(table.loc[list(survival), "survival"]) == pytest.approx(survival)


def test_too_few_folds_have_no_spread() -> None:
    case = trained()
    one = ranking(folds_of(case.run, [case.run.solution.beta]))
    assert one["Σg ± over folds"].isna().all()
    none = ranking(folds_of(case.run, []))
    assert none["survival"].isna().all()


def test_ranking_after_a_real_cross_validation() -> None:
    case = trained()
    C = case.run.settings.C
    validation = choose_C(case.prepared, case.run.settings, folds=3, C=[C / 10, C], n_threads=1)
    table = ranking(replace(case.run, cross_validation=validation)).set_index("id")
    alive = np.mean(validation.beta["p6"][1] > 0)
    assert table.loc["everything", "survival"] == alive


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_pushes_on_a_sample_add_up_to_its_decision(case: Trained, part: str, k: int) -> None:
    solution = case.run.solution
    for position in (0, 5):
        table = sample_paths(case.run, case.prepared, part, position, k)  # type: ignore[arg-type]
        matrices = case.prepared.kernels if part == "train" else case.prepared.cross_test
        decision = solution.decision_function({leaf: K[position : position + 1] for leaf, K in matrices.items()})[0]
        found = table.groupby("class", sort=False)["push"].sum()
        assert list(found.index) == list(solution.classes[-found.size :])
        np.testing.assert_allclose(found, np.atleast_1d(decision), atol=ROUNDING * np.abs(table["push"]).max())
        expected = {2: 1, 3: 3}[len(solution.classes)]
        assert len(table) == expected * (min(k, (case.g > 0).sum()) + (k < (case.g > 0).sum()) + 1)


def test_a_path_pushes_as_its_kernel_says(case: Trained) -> None:
    table = sample_paths(case.run, case.prepared, "test", 3, 2)
    pushes = np.array([g * case.A @ K[3] for g, K in zip(case.g, case.path_kernels("test"), strict=True)])
    strongest = np.argsort(-np.abs(pushes).max(axis=1))[:2]
    shown = table[table["kind"] == "path"]["push"].to_numpy().reshape(2, -1)
    np.testing.assert_allclose(shown, pushes[strongest], atol=ROUNDING)
    intercept = table[table["kind"] == "intercept"]["push"]
    np.testing.assert_array_equal(intercept, np.atleast_1d(case.run.solution.intercept))
    others = table[table["kind"] == "others"]["push"]
    np.testing.assert_allclose(others, pushes.sum(axis=0) - pushes[strongest].sum(axis=0), atol=ROUNDING)


@pytest.mark.parametrize(
    ("part", "position", "message"),
    [
        ("all", 0, "The part must be 'train' or 'test', but it is 'all'."),
        ("test", 25, "There are 24 test rows, numbered from 0, so that 25 is none; choose another."),
        ("train", -1, "There are 57 train rows, numbered from 0, so that -1 is none; choose another."),
        ("train", "x", "There are 57 train rows, numbered from 0, so that 'x' is none; choose another."),
    ],
)
def test_samples_that_are_none(part: str, position: int, message: str) -> None:
    case = trained()
    with pytest.raises(ParameterError) as refused:
        sample_paths(case.run, case.prepared, part, position)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_wrong_samples_are_rows_of_the_users_table(case: Trained) -> None:
    run, frame = case.run, case.dataset.frame
    table = wrong_samples(run)
    assert len(table) == sum((~scores.right).sum() for scores in (run.test_scores, run.train_scores)) > 0
    assert (frame["class"].iloc[table["row"] - 1].to_numpy() == table["true"]).all()
    assert (table["true"] != table["predicted"]).all()
    assert (table["margin"] <= 0).all()
    assert list(table["part"]) == sorted(table["part"])
    for part, rows in table.groupby("part"):
        assert rows["margin"].is_monotonic_increasing
        positions = run.test if part == "test" else run.train
        np.testing.assert_array_equal(positions[rows["position"]], rows["row"] - 1)


def test_the_margin_by_hand(case: Trained) -> None:
    scores = case.run.test_scores
    for i, label in enumerate(scores.y):
        c = list(scores.classes).index(label)
        f = scores.decision[i]
        expected = (f if c else -f) if f.ndim == 0 else f[c] - max(np.delete(f, c))
        assert scores.margin[i] == expected


def test_a_run_without_any_weight() -> None:
    case = trained(C=1e-6)
    assert not any(case.run.solution.beta.values())
    assert weights_table(case.run)["held-out share"].isna().all()
    table, paths = paths_table(case.run)
    assert table.empty
    assert paths == []
    assert (ranking(case.run)["part of Σg"] == 0).all() and ranking(case.run)["held-out share"].isna().all()
    pushed = sample_paths(case.run, case.prepared, "test", 0)
    assert pushed["kind"].tolist() == ["intercept"]
    assert pushed["push"].sum() == case.run.test_scores.decision[0]


def test_the_small_structure_has_a_kernel_met_twice() -> None:
    assert max(path.leaves.count("near") for path in small_structure().paths()) == 2


def test_given_matrices_are_explained_like_computed_ones() -> None:
    case = trained()
    frame = case.dataset.frame
    X = frame.drop(columns="class").to_numpy()
    given = replace(case.dataset, matrices={"all pairs": X @ X.T + 1})
    spn = SPN(Sum(Product(Kernel("precomputed", label="all pairs", id="given")), Product(Kernel("rbf", id="rbf"))))
    prepared = prepare(spn, given, case.prepared.choices, case.prepared.split)
    run = train(prepared, case.run.settings, n_threads=1)
    assert run.model is None
    names = ranking(run).set_index("id")["name"]
    assert names["given"] == "precomputed · all pairs"
    assert paths_table(run)[0]["held-out share"].sum() == pytest.approx(1, abs=ROUNDING)
    table = sample_paths(run, prepared, "test", 4)
    assert table["push"].sum() == pytest.approx(run.test_scores.decision[4], abs=ROUNDING)


def test_kernels_that_are_nearly_equal_are_named_where_their_shares_are_read() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["copy"] = frame["a"] + 1e-3 * rng.normal(size=80)
    frame["y"] = np.where(frame["a"] > 0, "u", "v")
    spn = SPN(Sum(*(Product(Kernel("rbf", features=[name], label=name)) for name in ("a", "copy", "b"))))
    dataset = Dataset("t", frame, "y")
    prepared = prepare(spn, dataset, Choices(), SplitSettings())
    run = train(prepared, Settings())
    said = explain.copies_sentence(run, dataset)
    assert "training rows: rbf · copy (β₂) and rbf · a (β₁). Between" in said and "read them together" in said
    assert said in html_report(run, prepared, dataset)
    apart = replace(run, spn=SPN(Sum(*(Product(Kernel("rbf", features=[name])) for name in "ab"))))
    assert explain.copies_sentence(apart, dataset) == ""
