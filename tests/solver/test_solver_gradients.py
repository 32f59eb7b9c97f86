"""Conjugate gradients in place of a factor: the same curvature, and where they are slow a factor all the same."""

import numpy as np
import pytest

from spnmkl import Kernel, solve, templates
from spnmkl.circuit.program import Floats
from spnmkl.kernels import fit_tiles
from spnmkl.problem import build_problem
from spnmkl.solvers import curvature, gradients
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.solvers.gradients import solved_by_gradients

RNG = np.random.default_rng(0)
WIDTHS = [(6.0, (0, 1, 2)), (4.0, (0, 1, 3, 4)), (2.0, (0, 1, 2, 3, 4))]  # narrow, so that K is well posed
X = RNG.normal(size=(600, 5))
y = np.sign(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=600))
SPN_ = templates.flat([Kernel("rbf", gamma=gamma, features=[*columns]) for gamma, columns in WIDTHS])
FREE = np.flatnonzero(RNG.random(600) < 0.8)
R = np.column_stack([RNG.normal(size=(len(FREE), 3)) * [1e-6, 1.0, 1e5], np.zeros(len(FREE)), np.ones(len(FREE))])


def rbf(gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=-1)).astype(np.float32)


def nothing() -> None:
    """No pause."""


@pytest.mark.parametrize("rows", [20, 400])
@pytest.mark.parametrize("gamma", [3.0, 8.0])
def test_it_solves(gamma: float, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "_ROWS", rows)
    monkeypatch.setattr(gradients, "_MOST", 60)
    K = rbf(gamma)
    before, found = K.copy(), solved_by_gradients(K, FREE, R, nothing)
    assert found is not None
    solution, gram = found
    inside = K[np.ix_(FREE, FREE)] + gradients._RIDGE * np.eye(len(FREE))
    left = np.linalg.norm(inside @ solution - R, axis=0)
    assert (left <= 1.1 * gradients._TOL * np.linalg.norm(R, axis=0)).all()
    assert not solution[:, 3].any()
    exact = R.T @ np.linalg.solve(inside, R)
    scale = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert (np.abs(gram - exact) <= 1e-3 * scale).all()  # the error of the solution, squared, and single precision's
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(K, before)


def test_where_some_rows_are_all_a_few_passes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the preconditioner leaves beside large eigenvalues is a difference that single precision does not hold."""
    passes, own = list[int](), gradients._times
    monkeypatch.setattr(gradients, "_times", lambda *given: passes.append(1) or own(*given))
    K = rbf(0.5)[:300, :300]
    half = np.linalg.cholesky(K.astype(np.float64) + 1e-4 * np.eye(300)) @ RNG.normal(size=(300, 2))
    assert solved_by_gradients(K, np.arange(300), half, nothing) is not None
    assert len(passes) <= 3


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "_BLOCK", 100)
    one, three = (solved_by_gradients(rbf(5.0), FREE, R, nothing, threads) for threads in (1, 3))
    assert one is not None and three is not None
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_would_take_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eigenvalues over six decades, of which few rows tell nothing."""
    passes, own = list[int](), gradients._times
    monkeypatch.setattr(gradients, "_times", lambda *given: passes.append(1) or own(*given))
    monkeypatch.setattr(gradients, "_ROWS", 10)
    basis = np.linalg.qr(RNG.normal(size=(600, 600)))[0]
    K = (basis * np.logspace(0, -6, 600) @ basis.T).astype(np.float32)
    assert solved_by_gradients(K, FREE, R, nothing) is None
    assert len(passes) == gradients._LOOKED_AT


def test_many_columns_are_left_to_factors() -> None:
    """A pass over K takes ten times as long with 500 of them as with 25, a factor hardly longer."""
    K, free = np.empty((8000, 1), np.float32), np.arange(8000)
    assert gradients.are_quicker(K, free, 26) and not gradients.are_quicker(K, free, 200)


def test_what_is_not_finite_is_left() -> None:
    K = rbf(3.0)
    K[FREE[::7], FREE[::7]] = np.nan
    assert solved_by_gradients(K, FREE, R, nothing) is None


def test_a_curvature_below_zero_is_lifted() -> None:
    gram = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(curvature._semidefinite(gram), 1.5 * np.ones((2, 2)), atol=1e-12)
    np.testing.assert_array_equal(curvature._semidefinite(np.eye(2)), np.eye(2))


def test_a_stop_is_heard() -> None:
    with pytest.raises(KeyboardInterrupt):
        solved_by_gradients(rbf(1.0), FREE, R, lambda: (_ for _ in ()).throw(KeyboardInterrupt))


def responses(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[int, curvature.Response], Evaluator]:
    """Of three classes; by gradients those whose number of support vectors is as asked for."""
    labels = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.7, 0.7])
    Y = np.where(labels == np.arange(3)[:, None], 1.0, -1.0)
    problem = build_problem(SPN_, fit_tiles(SPN_, X)[0], labels, C=1.0, n_threads=1)[0].in_single()
    assert problem is not None and problem.Y.tolist() == Y.tolist()
    evaluator = Evaluator(problem)
    point = evaluator.evaluate(np.full(3, 0.5), 1e-6)
    slope = evaluator.differentiate(point.alpha, point.beta, problem.circuit)
    own = iter({"gradients": [True] * 3, "factors": [False] * 3, "by turns": [False, True, False]}[kind])
    monkeypatch.setattr(curvature, "are_quicker", lambda *given: next(own))
    monkeypatch.setattr(gradients, "_TOL", 1e-5)
    monkeypatch.setattr(gradients, "_MOST", 200)
    J: Floats = slope.circuit.weights(point.beta)[:, None] * slope.circuit.X.toarray()
    return curvature.Curvature(nothing).responses(evaluator, point, slope, J, 1.0), evaluator


@pytest.mark.parametrize("kind", ["gradients", "by turns"])
def test_the_curvature_is_that_of_factors(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, evaluator = responses(kind, monkeypatch)
    expected, other = responses("factors", monkeypatch)
    assert found.keys() == expected.keys() == {0, 1, 2}
    for c, response in expected.items():
        np.testing.assert_array_equal(found[c].free, response.free)
        scale = np.abs(response.gram).max()
        np.testing.assert_allclose(found[c].gram, response.gram, atol=1e-3 * scale)
        np.testing.assert_allclose(found[c].turns, response.turns, atol=1e-2 * np.abs(response.turns).max())
    np.testing.assert_array_equal(evaluator.K, other.K)
    np.testing.assert_array_equal(evaluator.K, evaluator.K.T)


@pytest.mark.parametrize("most", [24, 0])
def test_trainings_end_at_the_same_optimum(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, tried, own = fit_tiles(SPN_, X)[0], list[bool](), curvature.solved_by_gradients
    expected = solve(SPN_, source, y, C=1.0)

    def watched(*given: object) -> object:
        found = own(*given)
        tried.append(found is not None)
        return found

    monkeypatch.setattr(gradients, "_WORTH", (0.0, 0.0))
    monkeypatch.setattr(gradients, "_MOST", most)
    monkeypatch.setattr(curvature, "solved_by_gradients", watched)
    solution = solve(SPN_, source, y, C=1.0)
    assert solution.status == "optimal" and solution.certify(source).gap <= 1e-3
    assert (
        solution.objective <= (1 + 1e-3) * expected.objective and expected.objective <= (1 + 1e-3) * solution.objective
    )
    if most:
        assert tried and all(tried)
    else:  # once for each problem: the coarse ones, and that of all rows
        assert 1 <= len(tried) <= 3 and not any(tried)
