"""What a training costs in operations, so that no later change makes it slow unnoticed: counts, never seconds.

The bounds are about a third above what is needed now. Who lowers the counts lowers the bounds.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from spnmkl import Kernel, solve, templates
from spnmkl.circuit.source import MatrixSource
from spnmkl.kernels import fit_kernels
from spnmkl.problem import build_problem
from spnmkl.solvers import evaluator, newton_step, shifted, start
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.solvers.newton_step import Stepper, bent_slope

N, C = 700, 10.0
WIDTHS = [Kernel("rbf", gamma=float(g)) for g in np.logspace(-3, 0, 6)]
POWERS = [Kernel("polynomial", degree=d, gamma=0.1) for d in (1, 2, 3)]
GROUPS = [Kernel("rbf", gamma=0.5, features=[2 * k, 2 * k + 1]) for k in range(6)]
NAMED = {"widths": WIDTHS, "powers": POWERS, "groups": GROUPS}
STRUCTURES = {
    "one layer": templates.flat([*WIDTHS, *POWERS, *GROUPS]),
    "two layers": templates.grouped(NAMED),
    "product of sums": templates.product_of_sums(NAMED),
}
# Evaluations; how often all kernels were read; SMO steps as a multiple of those of one SVC on the average kernel.
MOST = {
    ("one layer", 1e-3): (7, 12, 4.5),
    ("two layers", 1e-3): (7, 16, 4.5),
    ("product of sums", 1e-3): (4, 19, 3.5),
    ("one layer", 1e-6): (11, 16, 5.5),
    ("two layers", 1e-6): (11, 23, 7.5),
    ("product of sums", 1e-6): (8, 24, 5.0),
}


class Counting(MatrixSource):
    """Counts the entries that were asked for."""

    def __init__(self, matrices: dict[str, np.ndarray]) -> None:
        super().__init__(matrices)
        self.entries = 0

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[np.ndarray]:
        found = super().tiles(leaves, rows, columns)
        self.entries += sum(tile.size for tile in found)
        return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "tol"), MOST)
def test_operations(name: str, tol: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(N, 12, n_informative=6, n_redundant=2, flip_y=0.1, random_state=seed)
    spn = STRUCTURES[name]
    matrices, _ = fit_kernels(spn, (X - X.mean(axis=0)) / X.std(axis=0))
    steps = []
    for module in (start, evaluator):
        solver = module.solve_svm

        def counted(K, *args, solver=solver, **settings):  # type: ignore[no-untyped-def]
            fit = solver(K, *args, **settings)
            steps.append(fit.steps * len(K) / N)  # a step reads two rows
            return fit

        monkeypatch.setattr(module, "solve_svm", counted)
    source = Counting(matrices)
    solution = solve(spn, source, y, C=C, tol=tol, n_threads=1)
    unit = SVC(kernel="precomputed", C=C).fit(sum(matrices.values()) / len(matrices), y)
    evaluations, passes, smo = MOST[name, tol]
    assert solution.status == "optimal"
    assert solution.history[-1].evaluations <= evaluations
    assert source.entries <= passes * len(matrices) * N**2
    assert sum(steps) <= smo * unit.n_iter_[0]


@pytest.mark.parametrize("classes", [2, 3])
def test_where_no_sample_is_at_its_bound_a_larger_C_takes_one_evaluation(classes: int) -> None:
    """The same α and β are optimal there, to the tolerance that they were."""
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.0, random_state=0)
    spn = templates.flat([Kernel("rbf", gamma=g) for g in (0.1, 1.0)])
    kernels, _ = fit_kernels(spn, X)
    first = solve(spn, kernels, y, C=1e4)
    assert first.alpha.max() < 0.9 * 1e4
    again = solve(spn, kernels, y, C=3e4, start=first)
    assert again.status == "optimal"
    assert again.history[-1].evaluations == 1


def test_a_weight_that_shrinks_is_taken_to_its_optimum() -> None:
    """Where its pull is 1/(a + bβ)² of what it costs, which is 3: a tangent goes too far."""
    for a, b in ((0.5, 1.0), (0.05, 1.5), (0.9, 0.4)):
        D = 3.0 / (a + b) ** 2
        curvature = 2 * b * D / (a + b)
        gradient = np.array([3.0 - D])
        z = -bent_slope(gradient, np.array([D]))[0] / curvature
        assert a + b * (1 + z) == pytest.approx(1)
        assert a + b * (1 - gradient[0] / curvature) < 0.99


@pytest.mark.parametrize("gammas", [(0.5, 5.0), (0.1, 3.0)])
def test_a_weight_that_is_far_too_small_is_back_in_a_few_steps(gammas: tuple[float, float]) -> None:
    """As one that was pruned on fewer rows; five times as large in each step, it took six more evaluations."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.sign(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=200))
    spn = templates.flat([Kernel("rbf", gamma=gamma) for gamma in gammas])
    kernels = fit_kernels(spn, X)[0]
    weights = solve(spn, kernels, y, C=3.0).beta
    lightest = min(weights, key=weights.__getitem__)
    again = solve(spn, kernels, y, C=3.0, solver="newton", start={**weights, lightest: 1e-8 * weights[lightest]})
    assert again.status == "optimal" and again.history[-1].evaluations <= 10


def test_the_slope_of_other_weights_is_as_it_is() -> None:
    gradient, D = np.array([-2.0, 0.0, 4.0]), np.array([5.0, 1.0, 0.0])
    np.testing.assert_array_equal(bent_slope(gradient, D), gradient)


@pytest.mark.parametrize(("level", "times"), [(1e-3, 1), (10.0, 1), (3.0, 2)])
def test_a_model_is_minimised_again_only_where_it_is_bent(
    level: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where all weights grow, nor where those that shrink shall vanish."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    spn = templates.flat([Kernel("rbf", gamma=g) for g in (0.1, 1.0, 10.0)])
    problem, _ = build_problem(spn, fit_kernels(spn, X)[0], X[:, 0] * X[:, 1] > 0)
    evaluator, stepper = Evaluator(problem), Stepper(problem, np.ones(3, dtype=bool))
    point = evaluator.evaluate(np.full(3, level), 1e-6)
    slope = evaluator.differentiate(point.alpha, point.beta, problem.circuit)
    asked, own = list[int](), newton_step.bounded_qp
    monkeypatch.setattr(newton_step, "bounded_qp", lambda *given: asked.append(1) or own(*given))
    stepper.step(point, slope, evaluator, 1.0)
    assert len(asked) == times


@pytest.mark.parametrize("C", [300.0, 3000.0])
def test_path_following_begins_where_the_steps_of_smo_ended(C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel, labels that tell little, a large C: what SMO reached is no optimum, but far better than nothing."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 8))
    X[:, 0] += 0.3 * y
    spn = templates.flat([Kernel("rbf", gamma=1 / 16)])
    matrices, _ = fit_kernels(spn, X)
    factors = []
    honest = shifted.ShiftedKernel.shifted
    monkeypatch.setattr(shifted.ShiftedKernel, "shifted", lambda self, D: factors.append(D) or honest(self, D))
    found = {name: (solve(spn, matrices, y, C=C, p=2.0, solver=name), len(factors)) for name in ("auto", "interior")}
    (auto, by_auto), (alone, by_both) = found["auto"], found["interior"]
    assert auto.history[0].method == "newton" and auto.status == alone.status == "optimal"
    assert auto.objective == pytest.approx(alone.objective, rel=2e-3)
    assert by_auto <= 0.6 * (by_both - by_auto)
