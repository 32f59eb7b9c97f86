"""Slow, simple answers to compare the library with: everything here follows from the definitions alone.

Structures are plain dicts in the JSON format; kernels map a leaf id to its (n, n) matrix; labels are an (n,)
array, or a (problems, n) array of ±1 with one row per inner SVM; C is one number or one C_i per sample. The
library itself is never imported.
"""

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from math import prod
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

Structure = dict[str, Any]
Array = NDArray[np.float64]
Kernels = Mapping[str, Array]
PChoice = float | Mapping[str, float] | None


@dataclass(frozen=True)
class PathOracle:
    """One induced tree: the leaves it reaches (with multiplicity) and the exponent of each product on it."""

    leaves: tuple[str, ...]
    exponents: dict[str, Fraction]


@dataclass(frozen=True)
class ConicResult:
    objective: float
    beta: dict[str, float]
    decision: Array  # (problems, n), on the training rows
    intercept: Array  # (problems,)


@dataclass(frozen=True)
class BlockResult:
    objective: float
    norms: dict[str, float]  # ‖w_m‖, all problems together


# An induced tree while it is built: the leaves reached, and (layer, product) of each product occurrence.
_Tree = tuple[tuple[str, ...], tuple[tuple[int, str], ...]]


def enumerate_paths(structure: Structure) -> list[PathOracle]:
    kind = {node["id"]: node["kind"] for node in structure["nodes"]}
    children: dict[str, list[str]] = {node: [] for node in kind}
    for parent, child in structure["edges"]:
        children[parent].append(child)

    def trees(node: str, sums_above: int) -> list[_Tree]:
        if kind[node] == "kernel":
            return [((node,), ())]
        below = [trees(child, sums_above + (kind[node] == "sum")) for child in children[node]]
        if kind[node] == "sum":
            return list(chain.from_iterable(below))
        return [_joined((sums_above, node), chosen) for chosen in product(*below)]

    (root,) = set(kind) - {child for _, child in structure["edges"]}
    return [_path(tree) for tree in trees(root, 1 if kind[root] == "product" else 0)]


def _joined(occurrence: tuple[int, str], chosen: tuple[_Tree, ...]) -> _Tree:
    leaves = chain.from_iterable(leaves for leaves, _ in chosen)
    occurrences = chain.from_iterable(occurrences for _, occurrences in chosen)
    return tuple(leaves), (occurrence, *occurrences)


def _path(tree: _Tree) -> PathOracle:
    leaves, occurrences = tree
    per_layer = Counter(layer for layer, _ in occurrences)
    exponents: dict[str, Fraction] = {}
    for layer, node in occurrences:
        exponents[node] = exponents.get(node, Fraction(0)) + Fraction(1, len(per_layer) * per_layer[layer])
    return PathOracle(tuple(sorted(leaves)), exponents)


def product_ids(structure: Structure) -> list[str]:
    return [node["id"] for node in structure["nodes"] if node["kind"] == "product"]


def path_matrix(structure: Structure) -> tuple[Array, list[str], list[tuple[str, ...]]]:
    """Return E (paths × products), the product ids of its columns, and the leaves of each path."""
    paths, products = enumerate_paths(structure), product_ids(structure)
    E = np.array([[float(path.exponents.get(v, 0)) for v in products] for path in paths])
    return E, products, [path.leaves for path in paths]


def path_counts(structure: Structure) -> dict[str, float]:
    """c_v = Σ_m e_mv of every product."""
    E, products, _ = path_matrix(structure)
    return dict(zip(products, E.sum(axis=0).tolist(), strict=True))


def path_kernels(structure: Structure, kernels: Kernels) -> list[Array]:
    return [np.prod([kernels[leaf] for leaf in path.leaves], axis=0) for path in enumerate_paths(structure)]


def path_weights(structure: Structure, beta: Mapping[str, float]) -> Array:
    """g_m(β) of every path, in the order of `enumerate_paths`."""
    return np.array(
        [prod(beta[v] ** float(e) for v, e in path.exponents.items()) for path in enumerate_paths(structure)]
    )


def combined_kernel(structure: Structure, kernels: Kernels, beta: Mapping[str, float]) -> Array:
    """K(β) = Σ_m g_m K_m."""
    return sum(g * K for g, K in zip(path_weights(structure, beta), path_kernels(structure, kernels), strict=True))


def sign_rows(labels: ArrayLike) -> Array:
    """±1 rows, one per inner SVM: one for two labels (+1 the larger), else each label against the rest."""
    labels = np.asarray(labels)
    if labels.ndim == 2:
        return labels.astype(float)
    classes = np.unique(labels)
    positive = classes[1:] if len(classes) == 2 else classes
    return np.where(labels == positive[:, None], 1.0, -1.0)


def node_p(structure: Structure, p: PChoice = None) -> dict[str, float]:
    """The p of every product: the structure's own, one value for all, or as given."""
    own = {node["id"]: float(node.get("p", 1)) for node in structure["nodes"] if node["kind"] == "product"}
    if p is None:
        return own
    return {v: float(p[v]) if isinstance(p, Mapping) else float(p) for v in own}


def solve_svms(K: Array, Y: ArrayLike, C: ArrayLike) -> tuple[Array, float]:
    """α (problems, n) of the inner SVMs and the sum of their dual values, proved by their duality gap."""
    signs, bound = _columns(Y, C)
    alpha = cp.Variable(signs.shape, nonneg=True)
    norms = cp.sum_squares(_factor(K).T @ cp.multiply(signs, alpha))
    balance = cp.sum(cp.multiply(signs, alpha), axis=0) == 0
    _solve(cp.Problem(cp.Maximize(cp.sum(alpha) - norms / 2), [alpha <= bound, balance]))

    a = signs * np.clip(np.asarray(alpha.value), 0, bound)
    f, norm = K @ a, np.sum(a * (K @ a))
    # The hinge loss is piecewise linear in the intercept, so it is least at a kink, y_i − f_i.
    shifted = f[:, None] + (signs - f)  # (samples, kinks, problems)
    losses = bound[:, None] * np.maximum(0, 1 - signs[:, None] * shifted)
    primal, dual = norm / 2 + losses.sum(axis=0).min(axis=0).sum(), np.abs(a).sum() - norm / 2
    if primal - dual > 1e-9 * primal:
        raise ArithmeticError(f"the inner SVMs stopped between {dual} and {primal}")
    return np.abs(a).T, float(dual)


def objective_J(
    structure: Structure,
    kernels: Kernels,
    y: ArrayLike,
    C: ArrayLike,
    lam: float,
    p: PChoice,
    beta: Mapping[str, float],
) -> float:
    """J(β): the penalty, and the inner SVMs solved at K(β)."""
    powers = node_p(structure, p)
    penalty = lam * sum(c * beta[v] ** powers[v] for v, c in path_counts(structure).items())
    K = combined_kernel(structure, kernels, beta)
    return penalty + solve_svms(K, y, C)[1]


def gradient_J(
    structure: Structure,
    kernels: Kernels,
    y: ArrayLike,
    C: ArrayLike,
    lam: float,
    p: PChoice,
    beta: Mapping[str, float],
    step: float = 1e-5,
) -> dict[str, float]:
    """∂J/∂β_v by central differences, `step` relative to each β_v > 0."""

    def shifted(v: str, h: float) -> float:
        return objective_J(structure, kernels, y, C, lam, p, {**beta, v: beta[v] + h})

    return {
        v: (shifted(v, step * beta[v]) - shifted(v, -step * beta[v])) / (2 * step * beta[v])
        for v in product_ids(structure)
    }


def solve_conic(
    structure: Structure, kernels: Kernels, Y: ArrayLike, C: ArrayLike, lam: float, p: PChoice = None
) -> ConicResult:
    """Solve the whole problem jointly in w, b and β as one conic program (every p ≥ 1).

    The objective returned is J at the β found, so it is attained; it must agree with the program's own value.
    """
    signs, bound = _columns(Y, C)
    paths, powers, c = enumerate_paths(structure), node_p(structure, p), path_counts(structure)
    value, unit = _scales(signs, bound, lam, powers, len(paths))

    # β = unit·x and w = √(value·unit)·W, so that what the solver sees is of order one.
    x = {v: cp.Variable(nonneg=True) for v in powers}
    b = cp.Variable(signs.shape[1])
    energy = cp.Variable(len(paths))
    f = cp.outer(np.ones(len(signs)), b)
    constraints = []
    for m, (path, K) in enumerate(zip(paths, path_kernels(structure, kernels), strict=True)):
        L = _factor(K)
        W = cp.Variable((L.shape[1], signs.shape[1]))
        f = f + np.sqrt(value * unit) * L @ W
        g = _geo_mean([x[v] for v in path.exponents], path)
        constraints.append(cp.quad_over_lin(W, g) <= 2 * energy[m])
    penalty = sum(lam * c[v] * unit ** powers[v] / value * cp.power(x[v], powers[v]) for v in x)
    program = cp.Problem(cp.Minimize(cp.sum(energy) + penalty + _hinge(signs, bound / value, f)), constraints)
    _solve(program)

    beta = {v: unit * max(0.0, _number(x[v])) for v in x}
    attained = objective_J(structure, kernels, Y, C, lam, p, beta)
    if abs(program.value * value - attained) > 1e-7 * attained:
        raise ArithmeticError(f"the conic program says {program.value * value}, but J at its β is {attained}")
    return ConicResult(attained, beta, np.asarray(f.value).T, np.asarray(b.value))


def solve_conic_dual(
    structure: Structure, kernels: Kernels, Y: ArrayLike, C: ArrayLike, lam: float, p: PChoice = None
) -> float:
    """Solve the dual of the whole problem, a lower bound on J; less accurate than `solve_conic` (about 1e-7).

    It maximises 1ᵀα − Σ_v h_v(d_v), with h_v the conjugate of λ c_v β^p on β ≥ 0 and d the slopes of any
    linear function above ½ Σ_m g_m(β) q_m.
    """
    signs, bound = _columns(Y, C)
    powers, c = node_p(structure, p), path_counts(structure)
    alpha = cp.Variable(signs.shape, nonneg=True)
    d, constraints = _majorant(structure, kernels, cp.multiply(signs, alpha))
    constraints += [alpha <= bound, cp.sum(cp.multiply(signs, alpha), axis=0) == 0]
    objective = cp.sum(alpha)
    for v, power in powers.items():
        if power == 1:
            constraints.append(d[v] <= lam * c[v])
        else:
            factor = (1 - 1 / power) * (lam * c[v] * power) ** (-1 / (power - 1))
            objective -= factor * cp.power(d[v], power / (power - 1))
    program = cp.Problem(cp.Maximize(objective), constraints)
    _solve(program)
    return float(program.value)


def smallest_C(structure: Structure, kernels: Kernels, Y: ArrayLike, lam: float, weights: ArrayLike = 1.0) -> float:
    """C_min = √(λ/V), for p = 1 everywhere: at or below it β = 0 is optimal."""
    signs, weight = _columns(Y, weights)
    c = path_counts(structure)
    lighter, heavier = _sides(signs, weight)
    total = (weight * lighter).sum(axis=0)
    scale = total.max()  # V is quadratic in the weights
    a = cp.Variable(signs.shape, nonneg=True)
    d, constraints = _majorant(structure, kernels, cp.multiply(signs, a))
    constraints += [
        a <= weight / scale,
        a[lighter] == weight[lighter] / scale,
        cp.sum(cp.multiply(heavier, a), axis=0) == total / scale,
    ]
    V = cp.Variable()
    program = cp.Problem(cp.Minimize(V), constraints + [d[v] <= V * c[v] for v in c])
    _solve(program)
    return float(np.sqrt(lam / _number(V)) / scale)


def group_lasso_mkl(kernels: Kernels, y: ArrayLike, C: ArrayLike, lam: float = 1.0) -> BlockResult:
    """min √(2λ) Σ_m ‖w_m‖ + Σ_i C_i ℓ_i: one layer with p = 1, its β minimised away."""
    signs, bound = _columns(y, C)
    W, f = _blocks(kernels, signs)
    program = cp.Problem(cp.Minimize(np.sqrt(2 * lam) * sum(cp.norm(W[m], "fro") for m in W) + _hinge(signs, bound, f)))
    return _block_result(program, W)


def block_norm_mkl(kernels: Kernels, y: ArrayLike, C: ArrayLike, lam: float = 1.0, p: float = 2.0) -> BlockResult:
    """min λ(p+1) Σ_m (‖w_m‖²/(2λp))^{p/(p+1)} + Σ_i C_i ℓ_i: one layer, one p, its β minimised away."""
    signs, bound = _columns(y, C)
    W, f = _blocks(kernels, signs)
    factor = lam * (p + 1) * (2 * lam * p) ** (-p / (p + 1))
    norms = sum(cp.power(cp.norm(W[m], "fro"), 2 * p / (p + 1)) for m in W)
    program = cp.Problem(cp.Minimize(factor * norms + _hinge(signs, bound, f)))
    return _block_result(program, W)


def lq_norm_mkl(kernels: Kernels, y: ArrayLike, C: ArrayLike, q: float = 2) -> BlockResult:
    """min ½ Σ_m ‖w_m‖²/θ_m + Σ_i C_i ℓ_i over ‖θ‖_q ≤ 1: Kloft et al., and SimpleMKL with q = 1."""
    signs, bound = _columns(y, C)
    W, f = _blocks(kernels, signs)
    theta = cp.Variable(len(W), nonneg=True)
    energy = sum(cp.quad_over_lin(W[m], theta[i]) for i, m in enumerate(W)) / 2
    program = cp.Problem(cp.Minimize(energy + _hinge(signs, bound, f)), [cp.pnorm(theta, q) <= 1])
    return _block_result(program, W)


def _columns(Y: ArrayLike, C: ArrayLike) -> tuple[Array, Array]:
    """±1 labels and the bounds C_i, both (n, problems)."""
    signs = sign_rows(Y).T
    return signs, np.broadcast_to(np.asarray(C, float).reshape(-1, 1), signs.shape)


def _sides(signs: Array, weight: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the side of lighter total weight in each problem, and of the other side."""
    positive_is_lighter = (signs * weight).sum(axis=0) <= 0
    lighter = (signs > 0) == positive_is_lighter
    return lighter, ~lighter


def _scales(signs: Array, bound: Array, lam: float, powers: Mapping[str, float], n_paths: int) -> tuple[float, float]:
    """The objective at β = 0, and a β whose penalty is about as large."""
    lighter, _ = _sides(signs, bound)
    value = 2 * bound[lighter].sum()
    return value, (value / (lam * n_paths)) ** (len(powers) / sum(powers.values()))


def _factor(K: Array) -> Array:
    """L with L Lᵀ = K and as many columns as K has rank (all of them for K = 0)."""
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0)
    keep = values >= 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def _geo_mean(terms: list[cp.Expression], path: PathOracle) -> cp.Expression:
    # The second-order-cone form is exact for rational exponents; Clarabel often fails on the power-cone form.
    return cp.geo_mean(cp.hstack(terms), list(path.exponents.values()), approx=True)


def _hinge(signs: Array, bound: Array, f: cp.Expression) -> cp.Expression:
    return cp.sum(cp.multiply(bound, cp.pos(1 - cp.multiply(signs, f))))


def _majorant(
    structure: Structure, kernels: Kernels, a: cp.Expression
) -> tuple[dict[str, cp.Expression], list[cp.Constraint]]:
    """Slopes d with ½ Σ_m g_m(β) q_m(a) ≤ dᵀβ for every β ≥ 0.

    Each path may have its own slopes μ: by weighted AM-GM, h·g_m(β) ≤ μᵀβ for every β exactly when
    h ≤ Π_v (μ_v/e_v)^{e_v}.
    """
    d: dict[str, cp.Expression] = dict.fromkeys(product_ids(structure), cp.Constant(0))
    constraints = []
    for path, K in zip(enumerate_paths(structure), path_kernels(structure, kernels), strict=True):
        mu = {v: cp.Variable(nonneg=True) for v in path.exponents}
        largest = _geo_mean([mu[v] / float(e) for v, e in path.exponents.items()], path)
        constraints.append(cp.sum_squares(_factor(K).T @ a) / 2 <= largest)
        d = {v: slope + mu.get(v, 0) for v, slope in d.items()}
    return d, constraints


def _blocks(kernels: Kernels, signs: Array) -> tuple[dict[str, cp.Variable], cp.Expression]:
    factors = {m: _factor(K) for m, K in kernels.items()}
    W = {m: cp.Variable((L.shape[1], signs.shape[1])) for m, L in factors.items()}
    b = cp.Variable(signs.shape[1])
    return W, cp.outer(np.ones(len(signs)), b) + sum(factors[m] @ W[m] for m in W)


def _block_result(program: cp.Problem, W: Mapping[str, cp.Variable]) -> BlockResult:
    _solve(program)
    return BlockResult(float(program.value), {m: _number(cp.norm(W[m], "fro")) for m in W})


def _solve(program: cp.Problem) -> None:
    with warnings.catch_warnings():
        # The tolerances ask for all that double precision gives, so "inaccurate" is a usual ending.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        warnings.filterwarnings("ignore", message="(geo_mean|power|pnorm).*is being approximated")
        # On some processors rounding ends the most exact attempt before it is done.
        for tol in (1e-12, 1e-10, 1e-9):
            try:
                program.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
                return
            except cp.SolverError:
                continue
        program.solve(solver=cp.SCS, eps=1e-9, max_iters=1_000_000)


def _number(expression: cp.Expression) -> float:
    return float(np.asarray(expression.value))
