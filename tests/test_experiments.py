"""The experiments: the short configuration from end to end, that it resumes, and its statistics."""

import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import FIGURE_1, Case, case_of, flat
from oracles import Array, combined_kernel, objective_J, path_counts, path_kernels
from scipy import stats
from scipy.optimize import minimize
from tolerances import BOUND, COMPILED, ROUNDING, SEMIDEFINITE

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import default_rule
import experiment_beside
import experiment_methods
import experiments
from experiment_bound import chosen, correlation, error, hinge, looseness, unit_complexity
from experiment_convergence import METHODS, SETS, TARGETS, Settings, Trace, followed, reached
from experiment_data import Choice, all_sets, from_file, split_of
from experiment_known import KNOWN, LEFT, RIGHT, above, additive_truth, covariance, drawn, make, nested_truth
from experiment_methods import Structures, auc, cells, true_branches
from experiment_real import real_lines
from experiment_report import (
    against,
    against_search,
    average_ranks,
    beside_lines,
    by_default,
    comparison,
    complete,
    corrected_t_test,
    critical_difference,
    holm,
    pairwise,
    signed_rank,
)
from experiment_sparsity import cases
from experiment_store import Store
from experiment_tables import spread
from experiments import main
from peer_methods import certified

from spnmkl import solve
from spnmkl.baselines import compute_kernels
from spnmkl.search import suggest

# File → how many columns are the key of a result, and the sections that write it.
FILES = {
    "results": (4, ["accuracy"]),
    "beside": (4, ["beside"]),
    "known": (4, list(KNOWN)),
    "convergence": (2, ["convergence"]),
    "sparsity": (4, ["sparsity"]),
    "bound": (5, ["bound"]),
    "evidence": (5, ["evidence"]),
    "search": (4, ["search"]),
    "real": (2, ["real"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two views in a file, and the results of a short run on it."""
    folder = tmp_path_factory.mktemp("experiments")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(3)
    frame = pd.DataFrame(X, columns=["a__1", "a__2", "b__1", "b__2"])
    frame.assign(label=np.where(X[:, 0] * X[:, 2] > 0, "yes", "no")).to_csv(folder / "tiny.csv", index=False)
    main(arguments(folder))
    return folder


def arguments(folder: Path, *more: str) -> list[str]:
    few = ["--sets", "tiny", "--splits", "1", "--seeds", "1", "--sizes", "30"]
    return ["--short", "--data", str(folder), "--out", str(folder / "out"), *few, *more]


def test_every_method_has_a_result_and_is_reported(folder: Path) -> None:
    accuracy, known = (pd.read_csv(folder / "out" / f"{name}.csv") for name in ("results", "known"))
    assert set(accuracy["method"]) == set(experiment_methods.accuracy_methods(from_file(folder / "tiny.csv")))
    for name, structure in KNOWN.items():
        of_structure = known[known["section"] == name].set_index("method")
        assert set(of_structure.index) == set(structure.methods())
        assert of_structure["share"].dropna().index.tolist() == [structure.question]
    beside = pd.read_csv(folder / "out" / "beside.csv")
    assert set(beside["method"]) == set(experiment_beside.rivals(from_file(folder / "tiny.csv"))) >= {"late fusion"}
    table = pd.concat([accuracy, known, beside])
    assert table[["accuracy", "auc", "validation"]].stack().dropna().between(0, 1).all()
    assert (table["active"] <= table["kernels"]).all()
    assert (table["gap"].dropna() <= 1e-2).all()
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert all(name in report for name in [*table["method"], *METHODS, "Theorem 2", "--short"])
    pictures = [line.partition("](")[2].rstrip(")") for line in report.splitlines() if line.startswith("![")]
    assert len(pictures) == 9
    assert all((folder / "out" / name).read_text(encoding="utf-8").startswith("<svg") for name in pictures)


def test_the_command_noted_can_be_typed_elsewhere(folder: Path) -> None:
    given = ["--data", str(folder), "--methods", "random forest", "lasso"]
    told = experiments.as_command("experiments.py", given, folder)
    assert told == "python benchmarks/experiments.py --data FOLDER --methods 'random forest' lasso"
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "--short --data FOLDER --out" in report


@pytest.mark.parametrize("file", list(FILES))
def test_a_run_goes_on_where_it_ended(folder: Path, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last result is lost, the line before it cut: nothing else is computed again."""
    path, (depth, sections) = folder / "out" / f"{file}.csv", FILES[file]
    before = pd.read_csv(path)
    key = before.iloc[-1, :depth]
    lost = (before.iloc[:, :depth] == key).all(axis=1)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line, gone in zip(lines[1:], lost, strict=True) if not gone]
    path.write_text("".join([lines[0], *kept]) + lines[-1][:9], encoding="utf-8")
    computed = []
    add = Store.add
    monkeypatch.setattr(Store, "add", lambda self, rows: (computed.append(rows[0]), add(self, rows)))
    monkeypatch.setattr(experiments, "warm_up", lambda: None)
    monkeypatch.setattr(experiments, "write_report", lambda out: None)
    main(arguments(folder, "--sections", *sections))
    assert [[getattr(row, name) for name in key.index] for row in computed] == [key.tolist()]
    again = pd.read_csv(path)
    measured = {name for name in before if name.startswith("seconds")} | (
        {"evaluations", "step", "objective", "gap", "end"} if file == "convergence" else set()
    )
    steady = [name for name in before if name not in measured]
    pd.testing.assert_frame_equal(again[steady].drop_duplicates(), before[steady].drop_duplicates())


def test_results_of_other_settings_are_not_mixed(folder: Path) -> None:
    with pytest.raises(SystemExit, match="results of other settings"):
        main(arguments(folder, "--folds", "3"))


def test_a_report_needs_the_files_alone(folder: Path, tmp_path: Path) -> None:
    experiments.write_report(folder / "out")
    for file in [*(folder / "out").glob("*.csv"), *(folder / "out").glob("*.json")]:
        shutil.copy(file, tmp_path)
    main(["--report-only", "--out", str(tmp_path)])
    assert (tmp_path / "report.md").read_bytes() == (folder / "out" / "report.md").read_bytes()


def test_nothing_is_learned_from_test_rows(folder: Path) -> None:
    data = from_file(folder / "tiny.csv")
    split = split_of(data, 0, Choice(2, 3, 1e-2, 70))
    np.testing.assert_allclose(split.X.mean(axis=0), 0, atol=ROUNDING)
    assert np.abs(split.X_test.mean(axis=0)).max() > 1e-3
    for known in KNOWN.values():
        small, large = known.split(0, 50), known.split(0, 200)
        np.testing.assert_array_equal(small.X_test, large.X_test)
        np.testing.assert_array_equal(small.X, large.X[:50])
        assert not (set(map(tuple, large.X)) & set(map(tuple, large.X_test)))
    with pytest.raises(SystemExit, match="has 300 rows to learn from"):
        KNOWN["recovery"].split(0, 301)


def test_sets_are_found(folder: Path) -> None:
    assert list(all_sets(None)) == ["iris", "breast_cancer", "wine", "digits"]
    assert list(all_sets(folder))[-1] == "tiny"
    assert list(all_sets(folder)["tiny"]().groups) == ["a", "b"]
    data = all_sets(None)["breast_cancer"]()
    assert sorted(column for kernels in data.groups.values() for column in kernels[0].spec.features) == [*range(30)]
    with pytest.raises(SystemExit, match="no set 'absent'"):
        main(["--sets", "absent", "--out", str(folder / "other")])


def test_easy_mkl_takes_part_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """MKLpy is not installed with the tests: what it would be asked is checked, not what it answers."""
    asked = []

    def mklpy(kernels: list, y: np.ndarray, C: float, rule: object, name: str) -> np.ndarray:
        asked.append((len(kernels), set(y.tolist()), name))
        return np.arange(len(kernels), dtype=float)

    monkeypatch.setattr(experiment_methods, "mklpy", mklpy)
    monkeypatch.setattr(experiment_methods, "find_spec", lambda name: name == "MKLpy")
    assert "EasyMKL (MKLpy)" not in experiment_methods.accuracy_methods(all_sets(None)["iris"]())
    data = all_sets(None)["breast_cancer"]()
    method = experiment_methods.accuracy_methods(data)["EasyMKL (MKLpy)"]
    split = split_of(data, 0, Choice(2, 3, 1e-2, 70))
    found = method.fit(compute_kernels([method], split.X)[0], split.y, points=2, folds=2)
    assert asked == 3 * [(15, {-1.0, 1.0}, "EasyMKL")]
    assert len(found.model.active) == 14


@pytest.mark.parametrize("seed", range(3))
def test_labels_drawn_from_a_structure_are_those_of_the_sample(seed: int) -> None:
    """`make.known` writes its covariance out by hand."""
    found = drawn(make.true_structure, [*make.LEFT, *make.RIGHT], 400, seed)
    pd.testing.assert_frame_equal(found, make.known(seed))


def test_covariances_by_hand() -> None:
    X = np.random.default_rng(0).uniform(-1.7, 1.7, (30, 12))
    K = np.exp(-((X[:, None] - X[None]) ** 2)).transpose(2, 0, 1)
    columns = [f"{group}{k}" for group in "abc" for k in range(1, 5)]
    by_hand = K[0] * (K[1] + K[2]) + K[4] * (K[5] + K[6])
    np.testing.assert_allclose(covariance(nested_truth(), X, columns), by_hand, rtol=COMPILED)
    by_hand = K[0] + K[1] + K[4] + K[5]
    np.testing.assert_allclose(covariance(additive_truth(), X[:, :8], [*LEFT, *RIGHT]), by_hand, rtol=COMPILED)


def test_deep_and_flat_have_the_same_leaves() -> None:
    for known in KNOWN.values():
        methods = known.methods()
        leaves = {
            name: sorted(set(map(methods[name].candidates[0].label, methods[name].candidates[0].kernels)))
            for name in {"SimpleMKL", "composite", "product of sums", "nested groups"} & set(methods)
        }
        assert len(set(map(tuple, leaves.values()))) == 1
        assert len(leaves["SimpleMKL"]) == sum(map(len, known.groups.values()))


def test_differences_within_draws() -> None:
    rows = [("n", k, "flat", 0.5 + 0.1 * k) for k in range(3)] + [("n", k, "deep", 0.6 + 0.1 * k) for k in range(2)]
    table = pd.DataFrame([*rows, ("n", 2, "deep", 0.73)], columns=["set", "split", "method", "accuracy"])
    # 10, 10 and 3 points: 7.67, and 4.04 / √3.
    assert above(table, "flat", ["deep", "flat"]).to_dict() == {"deep": {"n": "+7.7 ± 2.3"}}


def test_true_branches() -> None:
    """The share of the first is what the others leave; all of them carry everything."""
    job = next(Structures(Choice(2, 2, 1e-2, 40), 1, (40,)).jobs("nested"))
    method, split = job.methods["which of six branches"], job.data()
    matrices, _ = compute_kernels([method], split.X, split.names)
    found = method.fit(matrices, split.y, [1.0])
    shares = [true_branches(found, matrices, k)[0] for k in range(1, 6)]
    assert shares == sorted(shares)
    single = np.diff([0.0, *shares, 1.0])
    assert sum(single) == pytest.approx(1)
    for k in range(1, 6):
        assert true_branches(found, matrices, k)[1] == float(single[:k].min() >= single[k:].max() - ROUNDING)
    (cell,) = cells(job, [method], Choice(2, 2, 1e-2, 40))
    assert 0 <= cell.share <= 1


@pytest.fixture(scope="module")
def mkl() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    kernels = np.array([np.exp(-gamma * (X[:, None, j] - X[:, j]) ** 2) for j in range(3) for gamma in (0.3, 3.0)])
    return kernels, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)


@pytest.mark.parametrize("method", list(METHODS))
def test_gaps_are_recomputed_on_one_objective(mkl: tuple[Array, Array], method: str) -> None:
    kernels, y = mkl
    C = 10.0
    exact = certified(kernels, y, C, BOUND)
    steps = followed("set", method, kernels, y, Settings(C, 1e-3, 5.0, 50), exact)
    assert [step.gap for step in steps] == pytest.approx([1 - exact.dual_bound / step.objective for step in steps])
    assert all(before.seconds < after.seconds for before, after in itertools.pairwise(steps))
    assert steps[-1].gap == min(step.gap for step in steps)
    assert -BOUND <= steps[-1].gap <= 1e-3 if method == "newton" else -BOUND <= steps[-1].gap <= 2e-2
    assert [bool(step.end) for step in steps] == [False] * (len(steps) - 1) + [True]
    total = {"SimpleMKL": sum(exact.beta.values()), "analytic": 1.0}.get(method.split()[0])
    if total is not None:  # they begin with equal weights
        leaves = {f"K{m}": K for m, K in enumerate(kernels)}
        equal = {f"P{m}": total / len(kernels) for m in range(len(kernels))}
        first = objective_J(flat(len(kernels)), leaves, y, C, 1.0, 1.0, equal)
        assert steps[0].objective == pytest.approx(first, rel=1e-6)
        assert steps[0].evaluations == 1


def test_a_trace_keeps_what_falls_much_or_below_a_target() -> None:
    trace = Trace(1.0)
    for k, gap in enumerate([0.5, 0.4, 0.3, 0.31, 0.29, 0.099, 0.098]):
        trace.note(np.full(1, gap), 1 / (1 - gap), k + 1)
    assert [point[1] for point in trace.points()] == [1, 3, 6, 7]
    assert [point[3].item() for point in trace.points()] == [0.5, 0.3, 0.099, 0.098]


def test_when_a_gap_was_reached() -> None:
    columns = ["method", "seconds", "evaluations", "gap", "end"]
    table = pd.DataFrame(
        [("a", 0.1, 1, 0.2, ""), ("a", 0.25, 4, 5e-3, ""), ("a", 1.0, 9, 2e-3, "time")], columns=columns
    )
    assert reached(table, ["a"]).loc["a"].tolist() == [*2 * ["0.25 (4)"], "–", "–", "2e-03, time, 1.00 (9)"]
    assert len(TARGETS) == 4
    assert len(SETS) == 3


def test_what_sparsity_asks_for(folder: Path) -> None:
    data = from_file(folder / "tiny.csv")
    found = cases(data.groups, ("sparse", "0.5", "1", "4/3"))
    assert [structure for structure, p in found if p == "sparse"] == ["sums and product"]
    method, settings = found["composite", "4/3"]
    assert {method.candidates[0].p(v) for v in method.candidates[0].products} == {4 / 3}
    assert settings == {}
    assert found["flat", "0.5"][1] == {"p": 0.5}
    table = pd.read_csv(folder / "out" / "sparsity.csv", dtype={"p": str}).set_index(["structure", "p"])
    above = table.xs("2", level="p")
    assert (above["active_products"] == above["products"]).all()
    row = table.loc["flat", "1"]
    split = split_of(data, 0, experiments.SHORT.sparsity.choice)
    method = found["flat", "1"][0]
    matrices, _ = compute_kernels([method], split.X)
    (spn,) = method.candidates
    again = solve(spn, {leaf: matrices[spn.label(leaf)] for leaf in spn.kernels}, split.y, C=row["C"], tol=1e-2)
    assert row["active_products"] == np.count_nonzero(list(again.beta.values()))


def largest_quadratic(case: Case, sigma: Array) -> float:
    """max σᵀK(β)σ over cᵀβ = 1, by a general solver over shares c_v β_v."""
    c = np.array(list(path_counts(case.structure).values()))
    ids = list(path_counts(case.structure))

    def negative(shares: Array) -> float:
        K = combined_kernel(case.structure, case.kernels, dict(zip(ids, shares / c, strict=True)))
        return -float(sigma @ K @ sigma)

    start = np.full(len(c), 1 / len(c))
    whole = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    return -minimize(negative, start, bounds=[(1e-12, 1)] * len(c), constraints=whole, method="SLSQP").fun


@pytest.mark.parametrize("structure", [flat(4), FIGURE_1], ids=["flat", "figure 1"])
def test_the_sampled_complexity_is_that_of_the_ball(structure: dict) -> None:
    case = case_of(structure)
    problem = solve(*case.posed).problem(case.kernels)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (3, problem.n))
    values = [largest_quadratic(case, sigma) for sigma in signs]
    if structure is not FIGURE_1:
        kernels = path_kernels(structure, case.kernels)
        assert values == pytest.approx([max(s @ K @ s for K in kernels) for s in signs], rel=1e-4)
    expected = 2 / problem.n * np.mean(np.sqrt(np.array(values) / 2))
    assert unit_complexity(problem, signs) == pytest.approx(expected, rel=5e-3)
    assert unit_complexity(problem, signs) <= expected * (1 + 1e-6)


def test_the_bound_is_above_the_complexity(folder: Path) -> None:
    table = pd.read_csv(folder / "out" / "bound.csv")
    assert (table["complexity"] < table["bound"]).all()
    by_parts = 2 * table["A"] / table["n"] * (table["regularizer"] + table["loss"])
    np.testing.assert_allclose(table["bound"], by_parts, rtol=SEMIDEFINITE)
    # C Σ ℓ and the mean hinge loss are the same but for the intercept, which the theorem takes at its best.
    assert (table["loss"] <= table["C"] * table["n"] * table["training_hinge"] * (1 + 1e-6)).all()


def test_losses_by_hand() -> None:
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, 0.5, 0.5, -3.0])
    assert hinge(y, f) == (0 + 0.5 + 1.5 + 0) / 4
    assert error(y, f) == 1 / 4


def test_what_the_least_bound_chooses() -> None:
    rows = [(0, "a", 1.0, 5.0, 0.3), (0, "b", 2.0, 4.0, 0.1), (1, "a", 9.0, 1.0, 0.2), (1, "b", 3.0, 2.0, 0.4)]
    table = pd.DataFrame(rows, columns=["seed", "structure", "bound", "complexity", "test_error"])
    table = table.assign(set="s", n=9, multiple=2.0, hinge_gap=[0.5, 0.5, 0.5, -1.5])
    told = {"least bound": "35.0", "least sampled complexity": "15.0", "best of all": "15.0", "mean of all": "25.0"}
    assert chosen(table).loc["s"].to_dict() == told
    loose = looseness(table).loc["s"]
    # Means of a: 5, 3 and 0.5; of b the hinge gap is not above 0.
    assert loose.tolist() == ["1.0", "1 of 4", "1 of 4", "1.7", "6.0", "10"]


def test_rank_correlation_within_groups() -> None:
    table = pd.DataFrame(
        {"seed": [0, 0, 0, 1, 1, 1, 2, 2], "bound": [1, 2, 3, 1, 2, 3, 1, 1], "gap": [1, 5, 6, 3, 2, 1, 0, 1]}
    )
    assert correlation(table, ["seed"], "gap") == pytest.approx(0.0)  # 1 and −1; the third group ties
    assert correlation(table[:3], ["seed"], "gap") == pytest.approx(1.0)
    assert np.isnan(correlation(table[6:], ["seed"], "gap"))


def test_auc_of_more_classes_is_the_mean_over_classes() -> None:
    y, classes = np.array(["a", "b", "c", "a"]), np.array(["a", "b", "c"])
    decision = np.array([[0.9, 0, 0], [0, 0.8, 0.3], [0.2, 0.9, 0.1], [0.1, 0, 0.2]])
    # a: (0.9, 0.1) over (0, 0.2): 3 of 4; b: 0.8 over (0, 0.9, 0): 2 of 3; c: 0.1 over (0, 0.3, 0.2): 1 of 3.
    assert auc(y, decision, classes) == pytest.approx((3 / 4 + 2 / 3 + 1 / 3) / 3)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.9]) == pytest.approx([0.04, 0.09, 0.09, 0.9])


def test_ranks_and_tests() -> None:
    rng = np.random.default_rng(0)
    means = pd.DataFrame(
        {"good": 0.9 + 0.01 * rng.uniform(size=8), "middle": np.full(8, 0.85), "bad": np.full(8, 0.85)}
    )
    ranks = average_ranks(means)
    assert ranks.to_dict() == {"good": 1.0, "middle": 2.5, "bad": 2.5}
    found = {frozenset(pair[:2]): (pair[0], pair[3]) for pair in pairwise(means)}
    assert found[frozenset({"good", "bad"})] == ("good", pytest.approx(3 * 2 / 2**8))
    assert found[frozenset({"middle", "bad"})][1] == 1.0
    told = " ".join(comparison(means, ranks))
    assert "good over middle (p = 0.023); good over bad (p = 0.023)" in told
    assert "no test can tell" in " ".join(comparison(means[:5], ranks))
    exact = stats.wilcoxon(x := rng.normal(0.3, 1, 8), method="exact").pvalue
    assert pairwise(pd.DataFrame({"x": x, "zero": np.zeros(8)}))[0][2] == pytest.approx(exact)


def test_signed_ranks_with_ties_are_those_of_all_signs() -> None:
    difference = np.array([0.1, -0.1, 0.0, 0.2, 0.3, 0.3, -0.4])
    ranks = np.array([1.5, 1.5, 3.0, 4.5, 4.5, 6.0])
    sums = np.array([ranks @ np.array(plus) for plus in itertools.product((0, 1), repeat=6)])
    low, high = (sums <= 13.5).mean(), (sums >= 13.5).mean()
    assert signed_rank(difference) == pytest.approx(2 * min(low, high))
    assert signed_rank(np.zeros(4)) == 1.0


def test_a_mean_of_fewer_splits_says_so_and_is_not_the_best() -> None:
    rows = [("s", "a", 0.5), ("s", "a", 0.6), ("s", "b", 0.4), ("s", "b", 0.4), ("s", "c", 0.9)]
    told = spread(pd.DataFrame(rows, columns=["set", "method", "accuracy"]), "accuracy", ["a", "b", "c"])
    assert told.loc["s"].tolist() == ["**55.0 ± 5.0**", "40.0 ± 0.0", "90.0 (1)"]


def split_cells(method: str, accuracies: list[float], name: str = "s") -> pd.DataFrame:
    frame = pd.DataFrame({"set": name, "split": range(len(accuracies)), "method": method, "accuracy": accuracies})
    return frame.assign(n=70, n_test=30)


def test_what_users_know_is_beside_the_default_on_the_same_splits() -> None:
    ours = by_default(split_cells("SPNMKLClassifier()", [0.6, 0.7, 0.1]))
    lines = beside_lines(split_cells("lasso", [0.5, 0.5]), ours)
    assert lines[-1] == "| s | 2 | 50.0 ± 0.0 | **65.0 ± 5.0** |", "its third split is not compared"


def test_methods_are_tested_on_the_splits_that_both_have() -> None:
    good, bad = [0.80, 0.81, 0.82, 0.80], [0.70, 0.72, 0.71]
    other = pd.concat([split_cells("lasso", bad), split_cells("lasso", good, "t")])
    default = pd.concat([split_cells("default", good), split_cells("default", good, "t")])
    found = against(pd.concat([other, default]), "default", "lasso")
    p = 2 * corrected_t_test([10, 9, 11], 30 / 70)  # of two tests the smaller, after Holm
    assert p < 0.05
    assert found == {
        "methods": "default − lasso",
        "sets": "2",
        "splits": "3 to 4",
        "mean": "+5.0",
        "least": "+0.0 (t)",
        "most": "+10.0 (s)",
        "p": 1.0,
        "better": f"s (+10.0, p = {p:.2g})",
        "worse": "none",
    }
    assert against(other, "default", "lasso") is None


def test_a_search_in_a_real_set_stands_beside_others_on_the_same_splits(folder: Path) -> None:
    said = pd.DataFrame(
        [
            ("s", 0, True, True, 0.9, 0.8, 0.7, 0.8),
            ("s", 1, True, True, 0.7, 0.8, 0.6, 0.8),
            ("t", 0, False, True, 0.5, 0.5, 0.6, 0.5),
            ("t", 1, False, False, 0.1, 0.1, 0.8, 0.7),
        ],
        columns=[
            "set",
            "split",
            "found",
            "leads",
            "search_certified",
            "search_process",
            "flat_certified",
            "flat_process",
        ],
    ).assign(n=9, seconds=2.0)
    others = [("s", 0, "default", 0.6), ("s", 1, "default", 0.7), ("s", 2, "default", 0.0), ("s", 1, "boosting", 0.9)]
    lines = real_lines(said, pd.DataFrame(others, columns=["set", "split", "method", "accuracy"]), "")
    assert "| s | 9 | 2 | 2 | 0 | 80.0 / 80.0 | 65.0 / 80.0 |  |  | 90.0 (1) | 65.0 | 2 |" in lines
    assert "| t | 9 | 2 | 0 | 1 | 65.0 / 60.0 | 70.0 / 60.0 |  |  |  |  | 2 |" in lines, "what is saved, not the first"
    assert (
        "Products said in 2 splits of 1 sets: there the drawing has +15.0 (certified) and +0.0 (process)" in lines[-3]
    )
    assert "Another sum saved in 1 splits of 1 sets: there the drawing has -10.0 (certified)" in lines[-2]
    assert lines[-1] == "- The flat sum itself saved in 1 splits of 1 sets."
    found = pd.read_csv(folder / "out" / "real.csv").iloc[0]
    split = split_of(from_file(folder / "tiny.csv"), 0, experiments.SHORT.real.settings)
    again = suggest(split.X, split.y, views={"a": [0, 1], "b": [2, 3]}, budget=6, held_out=0, subsamples=0)
    assert (found["drawing"], found["refits"], found["leads"]) == (again.best.formula, again.refits, again.leads)


def test_a_search_is_tested_against_the_flat_sum_and_others() -> None:
    good, bad = [0.80, 0.81, 0.82], [0.70, 0.72, 0.71]
    columns = {"search_certified": good, "flat_certified": bad, "search_process": bad, "flat_process": bad}
    sought = split_cells("", good).drop(columns=["method", "accuracy"]).assign(found=False, leads=True, **columns)
    others = pd.concat([split_cells("default", [*bad, 0.0]), split_cells("default", bad, "another")])
    lines = against_search(sought, others)
    p = f"{corrected_t_test([10, 9, 11], 30 / 70):.2g}"
    better = f"| 1 | 3 | +10.0 | +10.0 (s) | +10.0 (s) | 1 | s (+10.0, p = {p}) | none |"
    assert lines[-3:] == [
        f"| saved, certified − flat, certified {better}",
        f"| saved, certified − default {better}",
        "| saved, process − flat, process | 1 | 3 | +0.0 | +0.0 (s) | +0.0 (s) | 1 | none | none |",
    ]


def test_critical_difference_is_the_tabulated_one() -> None:
    # Demšar (2006), table 5: q = 2.343 for 3 classifiers and 3.164 for 10, at 5 %.
    assert critical_difference(3, 10) == pytest.approx(2.343 * np.sqrt(3 * 4 / 60), rel=1e-3)
    assert critical_difference(10, 12) == pytest.approx(3.164 * np.sqrt(10 * 11 / 72), rel=1e-3)


def test_ranks_leave_out_what_is_not_everywhere() -> None:
    rows = [("s1", "a", 0.5), ("s1", "b", 0.6), ("s1", "c", 0.7), ("s2", "a", 0.5), ("s2", "b", 0.6)]
    table = pd.DataFrame(rows, columns=["set", "method", "accuracy"]).assign(split=0)
    means = complete(table, "accuracy")
    assert list(means) == ["a", "b"]
    assert list(means.index) == ["s1", "s2"]
    more = pd.DataFrame([("s1", "a", 0.9, 1)], columns=["set", "method", "accuracy", "split"])
    pd.testing.assert_frame_equal(complete(pd.concat([table, more]), "accuracy"), means)  # no split that "b" lacks


def test_what_the_document_says_of_the_rule_of_choice_is_in_its_lines() -> None:
    found = default_rule.rules(default_rule.read(default_rule.FILE))
    taken = found.pivot(index=["set", "split"], columns="rule", values="best")
    of_rows = [rule for rule in taken if "of rows" in rule]
    means = found.groupby(["rule", "set"])["accuracy"].mean().groupby("rule").mean()
    changes = [int((taken[rule] != taken[default_rule.USUAL]).sum()) for rule in sorted(of_rows, key=len)]
    assert (len(taken), changes) == (57, [1, 4, 5])
    text = (Path(default_rule.FILE).parents[1] / "README.md").read_text(encoding="utf-8")
    assert "changes 1, 4 or 5 of these 57 choices" in text
    for rule in (default_rule.USUAL, *of_rows):
        assert f"{means[rule]:.2f}" in text, rule
