"""Baselines against independent implementations: conic programs over the blocks w_m, and scikit-learn's SVC."""

import cvxpy as cp
import numpy as np
import pytest
from oracles import Array, block_norm_mkl, group_lasso_mkl, lq_norm_mkl, solve_conic
from random_structures import random_labels
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import SVC
from tolerances import DECISION, OBJECTIVE, ROUNDING, SOLVED, WEIGHTS

from spnmkl import Kernel, KernelError, ParameterError, Solution, StructureError
from spnmkl.baselines import Learned, Method, baselines, compute_kernels, widths
from spnmkl.baselines.standard import NORMS
from spnmkl.kernels import cross_kernels

GROUPS = {
    "left": [Kernel("rbf", gamma=g, features=[0, 1], label=f"left {g}") for g in (0.1, 1.0)],
    "right": [Kernel("rbf", gamma=g, features=[2, 3], label=f"right {g}") for g in (0.1, 1.0, 5.0)],
}
METHODS = baselines(GROUPS, n_features=4)
C = 2.0


def rows(n: int, classes: int = 2, seed: int = 0) -> tuple[Array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], [0.0] if classes == 2 else [-0.4, 0.4])


def small(method: Method, classes: int = 2) -> tuple[Solution, dict[str, Array], np.ndarray]:
    """A method at one C on 30 rows, with its matrices by leaf."""
    X, _ = rows(30)
    y = random_labels(np.random.default_rng(classes), 30, classes)
    kernels, _ = compute_kernels([method], X)
    model = method.fit(kernels, y, [C], tol=SOLVED).model
    assert isinstance(model, Learned)
    spn = model.solution.spn
    return model.solution, {leaf: kernels[spn.label(leaf)] for leaf in spn.kernels}, y


def block_norms(solution: Solution, kernels: dict[str, Array]) -> Array:
    """‖w_m‖ of one layer: β_m √q_m."""
    A = solution.signed_alpha
    q = [np.sum((A @ kernels[solution.spn.children(v)[0]]) * A) for v in solution.beta]
    return np.array([b * np.sqrt(q_m) for b, q_m in zip(solution.beta.values(), q, strict=True)])


@pytest.mark.parametrize("classes", [2, 3])
def test_simple_mkl(classes: int) -> None:
    solution, kernels, y = small(METHODS["SimpleMKL"], classes)
    lasso = group_lasso_mkl(kernels, y, C)
    assert solution.objective == pytest.approx(lasso.objective, rel=OBJECTIVE)
    simplex = lq_norm_mkl(kernels, y, sum(solution.beta.values()) * C, q=1)
    norms = np.array(list(simplex.norms.values()))
    np.testing.assert_allclose(block_norms(solution, kernels), norms, atol=WEIGHTS * norms.max())


@pytest.mark.parametrize(("name", "q"), NORMS.items())
def test_lq_mkl(name: str, q: float) -> None:
    solution, kernels, y = small(METHODS[f"ℓ_{name}-MKL"])
    assert solution.objective == pytest.approx(block_norm_mkl(kernels, y, C, p=q).objective, rel=OBJECTIVE)
    beta = np.array(list(solution.beta.values()))
    kloft = lq_norm_mkl(kernels, y, np.linalg.norm(beta, q) * C, q=q)
    norms = np.array(list(kloft.norms.values()))
    np.testing.assert_allclose(block_norms(solution, kernels), norms, atol=WEIGHTS * norms.max())


def test_composite_is_a_mixed_norm() -> None:
    """√2 Σ_g size_g^¼ ‖(‖w_m‖)_{m in g}‖_{4/3} + C Σ_i ℓ_i, the weights minimised away by hand."""
    solution, kernels, y = small(METHODS["composite"])
    signs, f, penalty = np.where(y == y.max(), 1.0, -1.0), cp.Variable(), 0
    position = iter(kernels.values())
    for group in GROUPS.values():
        norms = []
        for _ in group:
            values, vectors = np.linalg.eigh(next(position))
            L = vectors * np.sqrt(np.maximum(values, 0))
            w = cp.Variable(len(y))
            f, norms = f + L @ w, [*norms, cp.norm(w)]
        penalty += len(group) ** 0.25 * cp.pnorm(cp.hstack(norms), 4 / 3, max_denom=64)
    problem = cp.Problem(cp.Minimize(np.sqrt(2) * penalty + C * cp.sum(cp.pos(1 - cp.multiply(signs, f)))))
    problem.solve(solver=cp.CLARABEL)
    assert solution.objective == pytest.approx(problem.value, rel=OBJECTIVE)


@pytest.mark.parametrize("name", ["composite", "product of sums", "sums and product"])
def test_deep_structures(name: str) -> None:
    solution, kernels, y = small(METHODS[name])
    exact = solve_conic(solution.spn.to_dict(), kernels, y, C, 1.0)
    assert solution.objective == pytest.approx(exact.objective, rel=OBJECTIVE)


def one_vs_rest(K: Array, K_test: Array, y: np.ndarray, C: float) -> Array:
    """scikit-learn's decision values, a column per class."""
    svm = SVC(kernel="precomputed", C=C, tol=1e-8)
    columns = [svm.fit(K, np.where(y == c, 1, -1)).decision_function(K_test) for c in np.unique(y)]
    return columns[1] if len(columns) == 2 else np.stack(columns, axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.3, 100.0])
def test_average_kernel(classes: int, C: float) -> None:
    X, y = rows(80, classes)
    method = METHODS["average kernel"]
    kernels, fitted = compute_kernels([method], X[:60])
    cross = cross_kernels(fitted, X[60:])
    found = method.fit(kernels, y[:60], [C], tol=SOLVED)
    expected = one_vs_rest(np.mean(list(kernels.values()), axis=0), np.mean(list(cross.values()), axis=0), y[:60], C)
    np.testing.assert_allclose(found.decision_function(cross), expected, atol=DECISION)
    assert found.model.active == set(kernels)


@pytest.mark.parametrize("name", ["best kernel", "RBF-SVM"])
def test_one_kernel_and_C_are_chosen_as_scikit_learn_would(name: str) -> None:
    X, y = rows(90)
    grid = [0.1, 1.0, 10.0]
    kernels, _ = compute_kernels([METHODS[name]], X)
    found = METHODS[name].fit(kernels, y, grid, folds=3, tol=SOLVED)

    def accuracy(K: Array, C: float) -> float:
        folds = StratifiedKFold(3, shuffle=True, random_state=0).split(y, y)
        svm = SVC(kernel="precomputed", C=C, tol=1e-6)
        return np.mean([svm.fit(K[np.ix_(a, a)], y[a]).score(K[np.ix_(b, a)], y[b]) for a, b in folds])

    scores = {(label, C): accuracy(K, C) for label, K in kernels.items() for C in grid}
    assert len(kernels) == (5 if name == "best kernel" else len(widths(4)))
    assert found.validation == pytest.approx(max(scores.values()), abs=ROUNDING)
    (label,) = found.model.active
    assert scores[label, found.C] == found.validation


def test_weights_may_come_from_elsewhere() -> None:
    X, y = rows(60)
    chosen = Method("first two", METHODS["average kernel"].candidates, lambda kernels, y: np.array([1.0, 2, 0, 0, 0]))
    kernels, _ = compute_kernels([chosen], X)
    found = chosen.fit(kernels, y, [1.0], tol=SOLVED)
    assert found.model.active == {"left 0.1", "left 1.0"}
    K = kernels["left 0.1"] + 2 * kernels["left 1.0"]
    np.testing.assert_allclose(found.decision_function(kernels), one_vs_rest(K, K, y, 1.0), atol=DECISION)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_method_chooses_C_and_predicts(classes: int) -> None:
    X, y = rows(120, classes)
    names = np.array(["a", "b", "c"])[y]
    kernels, fitted = compute_kernels(METHODS.values(), X[:80])
    cross = cross_kernels(fitted, X[80:])
    for method in METHODS.values():
        found = method.fit(kernels, names[:80], points=3, folds=2, tol=1e-2)
        assert found.C in found.grid
        assert len(found.grid) == 3
        assert found.decision_function(cross).shape == ((40,) if classes == 2 else (40, 3))
        assert set(found.predict(cross)) <= set(names)
        assert found.model.active <= set(kernels)
        assert 0 < found.validation <= 1


def test_what_depends_on_groups_needs_two() -> None:
    assert set(METHODS) - set(baselines({"left": GROUPS["left"]})) == {
        "composite",
        "product of sums",
        "sums and product",
        "RBF-SVM",
    }


def test_messages() -> None:
    with pytest.raises(ParameterError, match="hold no kernel"):
        baselines({"left": []})
    with pytest.raises(StructureError, match="has none: give label="):
        baselines({"left": [Kernel("rbf")]})
    with pytest.raises(StructureError, match=r"Two kernels have the label 'left 0.1'"):
        baselines({"a": GROUPS["left"], "b": GROUPS["left"]})
    with pytest.raises(StructureError, match=r"Two kernels have the label 'left 0.1'"):
        other = baselines({"a": [Kernel("linear", label="left 0.1")]})
        compute_kernels([*METHODS.values(), *other.values()], rows(20)[0])
    with pytest.raises(KernelError, match=r"'left 0.1' has no matrix"):
        METHODS["SimpleMKL"].fit({"left 1.0": np.eye(4)}, [0, 1, 0, 1])


@pytest.mark.parametrize("name", ["average kernel", "SimpleMKL"])
def test_groups_are_held_out_together_where_C_is_chosen(name: str) -> None:
    X, y = rows(40)
    groups, method = np.arange(40) // 4, METHODS[name]
    kernels, _ = compute_kernels([method], X)
    ticks: list[None] = []
    found = method.fit(kernels, y, [0.1, 3.0], folds=2, groups=groups, tick=lambda: ticks.append(None))
    assert len(ticks) == 4
    scores = []
    for train, test in StratifiedGroupKFold(2, shuffle=True, random_state=0).split(X, y, groups):
        inside, across = ({k: K[np.ix_(part, train)] for k, K in kernels.items()} for part in (train, test))
        answers = [method.fit(inside, y[train], [value]).predict(across) for value in (0.1, 3.0)]
        scores.append([float((answer == y[test]).mean()) for answer in answers])
    assert found.validation == pytest.approx(np.mean(scores, axis=0).max())


def test_given_weights_ask_whether_to_stop_within_a_training() -> None:
    X, y = rows(40)
    method = METHODS["average kernel"]
    kernels, _ = compute_kernels([method], X)
    asked: list[int] = []
    for grid in ([100.0], [99.0, 100.0]):  # trained alone, and after a choice on folds
        before = len(asked)
        method.fit(kernels, y, grid, folds=2, tol=1e-9, stop=lambda: bool(asked.append(0)))  # type: ignore[func-returns-value]
        assert len(asked) > 2 * before
    assert asked
