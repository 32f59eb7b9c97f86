"""Kernels computed tile by tile while solving give what matrices in memory give."""

import itertools
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracles import Array
from tolerances import ROUNDING, SOLVED, WEIGHTS

from spnmkl import Kernel, SPNMKLError, solve, templates
from spnmkl.certificate import Dual, balanced, both_sides, dual, kkt_residuals, primal, quadratic_flows
from spnmkl.circuit.evaluate import term_quadratics, term_responses
from spnmkl.circuit.program import compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.kernels import NORMALIZATIONS, CrossSource, TileSource, fit_kernels, fit_tiles, tiles
from spnmkl.problem import Problem, build_problem
from spnmkl.solvers import evaluator, follow, strategy
from spnmkl.solvers.budget import Struggling
from spnmkl.solvers.iterate import Iterate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 6))
y = np.sign(X[:, 0] * X[:, 1] + 0.2 * RNG.normal(size=700))
FEW = 420  # more entries than one thread is given
GROUPS = {
    str(gamma): [Kernel("rbf", gamma=gamma, normalize=how) for how in NORMALIZATIONS]
    for gamma in (1.0, "scale", "median")
} | {"inner products": [Kernel("linear", normalize="centred"), Kernel("polynomial", normalize="unit_variance")]}
STRUCTURES = {
    "one layer": templates.flat([kernel for group in GROUPS.values() for kernel in group]),
    "product of sums": templates.product_of_sums(GROUPS),
}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", STRUCTURES)
def test_tiles_equal_matrices(name: str, n_threads: int) -> None:
    spn, samples, labels = STRUCTURES[name], X[:FEW], y[:FEW]
    matrices, _ = fit_kernels(spn, samples)
    held = solve(spn, matrices, labels, C=3.0, tol=SOLVED, n_threads=n_threads)
    tiled = solve(spn, fit_tiles(spn, samples)[0], labels, C=3.0, tol=SOLVED, n_threads=n_threads)
    assert tiled.status == held.status == "optimal"
    assert tiled.objective == pytest.approx(held.objective, rel=2 * SOLVED)
    assert tiled.certify(matrices).gap == pytest.approx(tiled.gap, abs=ROUNDING)
    largest = max(held.beta.values())
    assert tiled.beta == pytest.approx(held.beta, rel=WEIGHTS, abs=WEIGHTS * largest)


def test_cross_kernels_with_the_training_rows_serve_too() -> None:
    spn, samples, labels = STRUCTURES["product of sums"], X[:FEW], y[:FEW]
    matrices, fitted = fit_kernels(spn, samples)
    tiled = solve(spn, CrossSource(fitted, samples), labels, C=3.0)
    assert tiled.status == "optimal" and tiled.certify(matrices).gap == pytest.approx(tiled.gap, abs=ROUNDING)
    assert tiled.objective == pytest.approx(solve(spn, matrices, labels, C=3.0).objective, rel=1e-3)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", STRUCTURES)
def test_derivatives_compute_only_the_rows_that_count(
    name: str, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spn, rng = STRUCTURES[name], np.random.default_rng(1)
    circuit, matrices, source = compile_circuit(spn), fit_kernels(spn, X)[0], fit_tiles(spn, X)[0]
    A = rng.normal(size=(2, len(X))) * (rng.random(len(X)) < 0.3)
    W, rows, entries = rng.random(circuit.n_terms), A.any(axis=0), []
    expected = term_responses(circuit, W, MatrixSource(matrices), A)[..., rows]
    give = TileSource.tiles

    def counted(self: TileSource, *asked: Any) -> list[Array]:
        found = give(self, *asked)
        entries.append(found[0].size)
        return found

    monkeypatch.setattr(TileSource, "tiles", counted)
    scale = np.abs(expected).max()
    found = term_responses(circuit, W, source, A, n_threads)
    np.testing.assert_allclose(found[..., rows], expected, atol=ROUNDING * scale)
    assert sum(entries) <= rows.sum() ** 2
    quadratics = term_quadratics(circuit, W, source, A, n_threads)
    np.testing.assert_allclose(quadratics, np.einsum("tcn,cn->t", found, A), rtol=1e-8, atol=ROUNDING * scale)


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_kernel_matrix_is_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_TILE_BYTES", 2**20)
    spn = STRUCTURES[name]
    solve(spn, fit_tiles(spn, X[:60])[0], y[:60])  # compile
    tracemalloc.start()
    try:
        solution = solve(spn, fit_tiles(spn, X)[0], y, C=3.0, n_threads=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.status == "optimal"
    assert peak <= 3.5 * 8 * len(X) ** 2


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("labels", [y, np.digitize(X[:, 0], [-0.5, 0.5])], ids=["two classes", "three classes"])
def test_both_sides_of_the_proof_in_one_pass(name: str, labels: Array) -> None:
    """As each of them alone, for any α, β and β̃; sums of sums and zero weights too."""
    spn, rng = STRUCTURES[name], np.random.default_rng(0)
    problem, _ = build_problem(spn, fit_tiles(spn, X[:FEW])[0], labels[:FEW], n_threads=2)
    beta, witness = rng.random(len(problem.p)), rng.random(len(problem.p)) + 0.1
    beta[: 3 * problem.linear] = 0.0
    alpha, other = rng.random((2, *problem.Y.shape)) * (rng.random((2, *problem.Y.shape)) < 0.6)
    inner = np.where(beta > 0, beta, witness)
    for proving, with_beta in ((other, witness), (alpha, inner)):
        P, D, flows = both_sides(problem, beta, alpha, inner, Dual(0.0, proving, with_beta))
        alone = dual(problem, proving, with_beta)
        assert P.value == pytest.approx(primal(problem, beta, alpha).value, rel=ROUNDING)
        assert D.value == pytest.approx(alone.value, rel=ROUNDING)
        np.testing.assert_allclose(D.alpha, alone.alpha, rtol=ROUNDING)
        expected = quadratic_flows(problem, alpha if proving is other else balanced(alpha, problem.Y), inner)
        np.testing.assert_allclose(flows, expected, rtol=1e-8, atol=ROUNDING * expected.max())


@pytest.mark.parametrize("name", STRUCTURES)
def test_K_takes_half_of_the_memory_until_the_proof(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is that of doubles, rounded."""
    spn, formed = STRUCTURES[name], list[tuple[Any, ...]]()
    form = evaluator.kernel_matrix

    def remembered(circuit: Any, W: Array, source: Any, out: Array, n_threads: int) -> Array:
        formed.append((form(circuit, W, source, out, n_threads).copy(), circuit, W, source))
        return out

    monkeypatch.setattr(evaluator, "kernel_matrix", remembered)
    assert solve(spn, fit_tiles(spn, X[:FEW])[0], y[:FEW], C=3.0).status == "optimal"
    assert {(len(K), K.dtype.name) for K, *_ in formed} == {(FEW // 2, "float32"), (FEW, "float32")}
    for K, circuit, W, source in formed:
        exact = form(circuit, W, source, np.empty(K.shape), 1)
        np.testing.assert_allclose(K, exact, rtol=1e-6)


def test_what_was_stopped_has_a_bound_by_some_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_QUICK", 0)
    monkeypatch.setattr(follow, "_AFTER_STOP", 60.0)
    spn, samples, labels = STRUCTURES["one layer"], X[:FEW], y[:FEW]
    bounds = []
    for entries in (0, 40**2, 400**2):
        monkeypatch.setattr(follow, "_COMPUTED_ENTRIES", (entries * len(spn.kernels),))
        found = solve(spn, fit_tiles(spn, samples)[0], labels, C=3.0, callback=lambda record: False)
        proof = found.certify(fit_kernels(spn, samples)[0])
        assert found.status == "interrupted"
        assert found.dual_bound == pytest.approx(proof.dual_bound, rel=ROUNDING)
        bounds.append(found.dual_bound)
    assert 0 < bounds[0] < bounds[1] < bounds[2] <= found.objective


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_what_was_stopped_at_once_looks_for_no_bound(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_QUICK", 0)
    monkeypatch.setattr(follow, "dual", lambda *_: pytest.fail("no row counts yet, or nothing bounds it"))
    spn = STRUCTURES["one layer"]
    found = solve(spn, fit_tiles(spn, X[:FEW])[0], y[:FEW], C=3.0, p=p, stop=lambda: True)
    assert found.status == "interrupted"


def test_few_rows_that_need_many_steps_do_not_end_newton_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = strategy.newton
    sizes = []

    def newton(problem: Problem, *given: Any, **options: Any) -> Iterator[Iterate]:
        sizes.append(problem.n)
        if problem.n < len(X):
            raise Struggling
        return asked(problem, *given, **options)

    monkeypatch.setattr(strategy, "newton", newton)
    spn = STRUCTURES["one layer"]
    found = solve(spn, fit_tiles(spn, X)[0], y, C=3.0)
    assert found.status == "optimal" and {record.method for record in found.history} == {"newton"}
    assert min(sizes) < len(X) == max(sizes)


def test_where_not_even_single_precision_has_room_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    spn, begun = STRUCTURES["one layer"], []
    monkeypatch.setattr(strategy, "_SURE_ROOM", 0)
    monkeypatch.setattr(strategy, "available_memory", lambda: 4 * FEW**2 - 1)
    monkeypatch.setattr(strategy, "newton", lambda *given, **options: begun.append(given))
    with pytest.raises(SPNMKLError, match=r"^K\(β\) of all rows would need about .* fewer rows, or landmarks"):
        solve(spn, fit_tiles(spn, X[:FEW])[0], y[:FEW], C=3.0)
    assert not begun


@pytest.mark.parametrize("many", [FEW - 1, FEW])
def test_bounds_that_come_late_do_not_end_newton_where_rows_are_many(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path following would factorise all rows some thirty times."""
    gaps = iter([0.22, 0.17, 0.169, 0.169, 0.169, 0.169, 0.146, 0.117, 0.063, 0.016, 0.001])
    spn = STRUCTURES["one layer"]
    problem = build_problem(spn, fit_tiles(spn, X[:FEW])[0], y[:FEW], C=3.0)[0]
    beta, alpha = np.ones(len(problem.c)), np.zeros_like(problem.Y)

    def newton(problem: Problem, *given: Any, **options: Any) -> Iterator[Iterate]:
        for evaluations, gap in enumerate(gaps, 1):
            bound = Dual(1.0 - gap, alpha, beta)
            yield Iterate(beta, alpha, np.zeros(1), 1.0, bound, 0.0, 1, evaluations)

    monkeypatch.setattr(strategy, "newton", newton)
    monkeypatch.setattr(strategy, "_MANY", many)
    found = [gap for _, gap in strategy._while_it_goes_well(problem, 1e-3, strategy.Begin(beta))]
    assert found[-1] == pytest.approx(0.001 if many < FEW else 0.146)


@pytest.mark.parametrize("error", [0.0, 0.05])
@pytest.mark.parametrize("name", STRUCTURES)
def test_what_single_precision_finds_is_proved_in_double(
    name: str, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is so wrong that what it finds is not optimal: then doubles go on."""
    spn, samples, labels = STRUCTURES[name], X[:FEW], y[:FEW]
    matrices, _ = fit_kernels(spn, samples)
    give, precisions = TileSource.tiles, set()

    def worse(self: TileSource, *asked: Any) -> list[Array]:
        precisions.add(self.single)
        return [(1 + error * self.single * np.tanh(tile)) * tile for tile in give(self, *asked)]

    monkeypatch.setattr(TileSource, "tiles", worse)
    found = solve(spn, fit_tiles(spn, samples)[0], labels, C=3.0)
    assert found.status == "optimal" and precisions == {True, False}
    assert found.certify(matrices).gap == pytest.approx(found.gap, abs=ROUNDING)
    best = solve(spn, matrices, labels, C=3.0, tol=SOLVED)
    assert found.dual_bound <= best.objective and best.dual_bound <= found.objective
    precisions.clear()
    solve(spn, fit_tiles(spn, samples)[0], labels, C=3.0, tol=SOLVED)
    assert precisions == {False}


def test_where_double_precision_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What single precision found is kept, with its true gap; where it is no use, nothing begins."""
    spn, samples, labels = STRUCTURES["one layer"], X[:FEW], y[:FEW]
    source, give = fit_tiles(spn, samples)[0], TileSource.tiles
    monkeypatch.setattr(strategy, "_SURE_ROOM", 0)
    monkeypatch.setattr(strategy, "available_memory", lambda: 8 * FEW**2)
    assert solve(spn, source, labels, C=3.0).status == "optimal"
    with pytest.raises(SPNMKLError, match=r"about 0\.0028 GB .* 0\.0014 GB are free; use a tol of 0\.0001 or more"):
        solve(spn, source, labels, C=3.0, tol=SOLVED)

    def worse(self: TileSource, *asked: Any) -> list[Array]:
        return [(1 + 0.05 * self.single * np.tanh(tile)) * tile for tile in give(self, *asked)]

    monkeypatch.setattr(TileSource, "tiles", worse)
    found = solve(spn, source, labels, C=3.0)
    assert found.status == "memory" and found.tol < found.gap < 1
    assert found.gap == pytest.approx(found.certify(fit_kernels(spn, samples)[0]).gap, abs=ROUNDING)
    assert not ((found.alpha > 0) & (found.alpha < found.C)).all()  # and of rows that are free alone a factor is made
    monkeypatch.setattr(strategy, "available_memory", lambda: 16 * FEW**2 - 1)
    assert solve(spn, source, labels, C=3.0).status == "optimal"
    monkeypatch.setattr(strategy, "_SURE_ROOM", 16 * FEW**2 + 1)
    monkeypatch.setattr(strategy, "available_memory", lambda: pytest.fail("so little is there"))
    assert solve(spn, source, labels, C=3.0, tol=SOLVED).status == "optimal"


@pytest.mark.parametrize("first", [0, 2])
def test_matrices_are_tried_whatever_is_free(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until there is a point to lose: then path following, which needs more than Newton's method, is not begun."""
    asked, own = list[int](), strategy._while_it_goes_well

    def little() -> int:
        asked.append(1)
        return 1

    def struggling(*given: Any, **options: Any) -> Iterator[tuple[Iterate, float]]:
        yield from itertools.islice(own(*given, **options), first)
        raise Struggling

    spn, samples, labels = STRUCTURES["one layer"], X[:FEW], y[:FEW]
    matrices = fit_kernels(spn, samples)[0]
    monkeypatch.setattr(strategy, "_SURE_ROOM", 0)
    monkeypatch.setattr(strategy, "available_memory", little)
    assert solve(spn, matrices, labels, C=3.0).status == "optimal" and not asked
    monkeypatch.setattr(strategy, "_while_it_goes_well", struggling)
    found = solve(spn, matrices, labels, C=3.0)
    assert found.status == ("memory" if first else "optimal") and len(asked) == (first > 0)
    assert found.gap == pytest.approx(found.certify(matrices).gap, abs=ROUNDING)


@pytest.mark.parametrize("iterations", [1, 10])
def test_what_is_told_comes_from_doubles_however_it_ended(iterations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objective, bound, residuals and intercept, of a training that was stopped too."""
    spn, samples, labels = STRUCTURES["one layer"], X[:FEW], y[:FEW]
    matrices, _ = fit_kernels(spn, samples)
    give, heard = TileSource.tiles, list[object]()

    def worse(self: TileSource, *asked: Any) -> list[Array]:
        return [(1 + 1e-4 * self.single * np.tanh(tile)) * tile for tile in give(self, *asked)]

    monkeypatch.setattr(TileSource, "tiles", worse)
    source = fit_tiles(spn, samples)[0]
    found = solve(spn, source, labels, C=3.0, callback=lambda record: heard.append(record) or len(heard) < iterations)
    assert found.status == ("interrupted" if iterations == 1 else "optimal")
    proof, problem = found.certify(matrices), found.problem(matrices)
    assert (found.objective, found.dual_bound) == pytest.approx((proof.objective, proof.dual_bound), rel=ROUNDING)
    beta, alpha = problem.beta_array(found.beta), np.atleast_2d(found.alpha)
    witness = problem.beta_array(found.witness_beta)
    residual = problem.beta_dict(kkt_residuals(problem, beta, alpha, witness, proof.objective))
    positive = [v for v, weight in found.beta.items() if weight > 0]
    assert [found.kkt_residual[v] for v in positive] == pytest.approx([residual[v] for v in positive], abs=ROUNDING)
    assert found.intercept == pytest.approx(primal(problem, beta, alpha).intercept[0], abs=WEIGHTS)


def test_a_bound_of_single_precision_is_not_told_where_proving_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spn, samples, labels = STRUCTURES["one layer"], X[:FEW], y[:FEW]
    give = TileSource.tiles

    def smaller(self: TileSource, *asked: Any) -> list[Array]:
        return [(1 - 0.1 * self.single) * tile for tile in give(self, *asked)]  # whose bounds are too high

    monkeypatch.setattr(TileSource, "tiles", smaller)
    monkeypatch.setattr(follow, "_QUICK", 0)
    found = solve(spn, fit_tiles(spn, samples)[0], labels, C=3.0, callback=lambda record: False)
    assert found.status == "interrupted" and found.history[-1].dual_bound > 0
    assert found.dual_bound <= (1 + ROUNDING) * found.certify(fit_kernels(spn, samples)[0]).dual_bound
