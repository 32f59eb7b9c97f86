"""Understanding a solution: what carries the decision, for all samples or for one, and what if it were otherwise.

The decision function is f = Σ_m f_m + b over the paths, ‖f_m‖² = g_m q_m. The *share* of a path is g_m q_m over the
total; the share of anything else (a product, a sum, a kernel, a view) is that of all paths through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.certificate import best_intercept, kkt_residuals, relative_gap
from spnmkl.circuit import heaviest
from spnmkl.circuit.evaluate import apply_kernel, kernel_matrix
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.errors import ParameterError
from spnmkl.problem import Problem
from spnmkl.solution import Solution
from spnmkl.solvers.workspace import Workspace
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas

Kernels = Mapping[str, ArrayLike]


def heaviest_paths(solution: Solution, k: int = 10) -> list[WeightedPath]:
    """The k paths of largest g, without enumeration, each with g and its share g_m/Σg."""
    if not isinstance(k, int) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, but it is {k!r}.")
    circuit = compile_circuit(solution.spn)
    return heaviest.heaviest_paths(circuit, np.array([solution.beta[v] for v in circuit.products]), k)


@dataclass(frozen=True)
class Shares:
    """Per node the share of the decision that passes through it, between 0 and 1; the root's is 1."""

    products: dict[str, float]
    sums: dict[str, float]
    kernels: dict[str, float]


def decision_shares(solution: Solution, kernels: Kernels) -> Shares:
    """How much of the decision every product, sum and kernel carries."""
    carried = _Carried(solution, kernels)
    spn = solution.spn
    return Shares(
        {v: carried.through([v]) for v in spn.products},
        {v: carried.through([v]) for v in spn.sums},
        {v: carried.through([v]) for v in spn.kernels},
    )


def view_shares(solution: Solution, kernels: Kernels, views: Mapping[str, Iterable[str]]) -> dict[str, float]:
    """How much of the decision passes through any kernel of a view (view → leaf ids)."""
    carried = _Carried(solution, kernels)
    return {view: carried.through(leaves) for view, leaves in views.items()}


class _Carried:
    """½ Σ g_m q_m with the paths through some nodes taken out."""

    def __init__(self, solution: Solution, kernels: Kernels) -> None:
        self.solution = solution
        self.problem = solution.problem(kernels)
        self.A = np.atleast_2d(solution.alpha) * self.problem.Y
        self.beta = self.problem.beta_array(solution.beta)
        self.total = self.quadratic(self.beta)
        self.known: dict[frozenset[str], float] = {}

    def quadratic(self, beta: Floats) -> float:
        circuit = self.problem.circuit.restricted(beta > 0)
        if not circuit.n_terms:
            return 0.0
        F = apply_kernel(circuit, circuit.weights(beta), self.problem.source, self.A, self.problem.n_threads)
        return float((F * self.A).sum())

    def through(self, nodes: Iterable[str]) -> float:
        blocked = products_through(self.solution.spn, nodes)
        if blocked is None:
            return 1.0
        positive = frozenset(v for v in blocked if self.solution.beta[v] > 0)
        if not positive or self.total <= 0:
            return 0.0
        if positive not in self.known:
            rest = np.where([v in positive for v in self.problem.circuit.products], 0.0, self.beta)
            self.known[positive] = float(np.clip(1 - self.quadratic(rest) / self.total, 0.0, 1.0))
        return self.known[positive]


def products_through(spn: SPN, nodes: Iterable[str]) -> set[str] | None:
    """Products such that a path meets one of them just when it meets one of the nodes; None: every path does.

    A path that takes a product takes all of its children, so for a sum or a kernel these are its parents.
    """
    products: set[str] = set()
    for node in nodes:
        if spn.kind(node) == "product":
            products.add(node)
        elif node == spn.root:
            return None
        else:
            products.update(spn.parents(node))
    return products


def path_shares(solution: Solution, kernels: Kernels, paths: Sequence[WeightedPath]) -> Floats:
    """g_m q_m / Σ g q for the given paths."""
    carried = _Carried(solution, kernels)
    if carried.total <= 0:
        return np.zeros(len(paths))
    values = [path.g * float(((carried.A @ _path_kernel(path, kernels)) * carried.A).sum()) for path in paths]
    return np.array(values) / carried.total


def sample_contributions(solution: Solution, cross_kernels: Kernels, paths: Sequence[WeightedPath]) -> Floats:
    """How much each path pushed each sample: (paths, rows), or (paths, rows, classes) for more than two classes.

    f_m(x) = g_m Σ_i α_i y_i K_m(x_i, x); summed over all paths, plus the intercept, it is the decision function.
    """
    A = solution.signed_alpha
    if not paths:
        rows = np.shape(next(iter(cross_kernels.values())))[0]
        return np.zeros((0, rows) if len(A) == 1 else (0, rows, len(A)))
    pushes = np.array([path.g * (_path_kernel(path, cross_kernels) @ A.T) for path in paths])
    return pushes[..., 0] if len(A) == 1 else pushes


def _path_kernel(path: WeightedPath, kernels: Kernels) -> Floats:
    product = np.array(kernels[path.leaves[0]], dtype=float)
    for leaf in path.leaves[1:]:
        product *= kernels[leaf]
    return product


def node_kernel(solution: Solution, kernels: Kernels, node: str) -> Floats:
    """(n, n): a leaf's own matrix; at a sum or a product, Σ g_m K_m over the paths through it; at the root, K(β)."""
    spn = solution.spn
    if spn.kind(node) == "kernel":
        return np.array(kernels[node], dtype=float)
    problem = solution.problem(kernels)
    beta = problem.beta_array(solution.beta)
    K = _combined(problem, beta)
    blocked = products_through(spn, [node])
    if blocked is not None:
        K -= _combined(problem, np.where([v in blocked for v in problem.circuit.products], 0.0, beta))
    return K


def _combined(problem: Problem, beta: Floats) -> Floats:
    circuit, out = problem.circuit, np.empty((problem.n, problem.n))
    return kernel_matrix(circuit, circuit.weights(beta), problem.source, out, problem.n_threads)


@single_threaded_blas()
def refit(solution: Solution, kernels: Kernels, beta: Mapping[str, float], tol: float = 1e-6) -> Solution:
    """The SVM at weights set by hand: what if. The gap is measured against the known bound; status "hand-set"."""
    problem = solution.problem(kernels)
    weights = problem.beta_array(solution.beta | dict(beta))
    work = Workspace(problem)
    work.alpha = np.atleast_2d(solution.alpha)
    point = work.evaluate(weights, tol * max(solution.objective, 1e-300))
    witness = problem.beta_array(solution.witness_beta)
    residual = kkt_residuals(problem, weights, point.alpha, witness, point.objective)
    binary = len(point.alpha) == 1
    return replace(
        solution,
        beta=problem.beta_dict(weights),
        alpha=point.alpha[0] if binary else point.alpha,
        intercept=float(point.intercept[0]) if binary else point.intercept,
        objective=point.objective,
        gap=relative_gap(point.objective, solution.dual_bound),
        kkt_residual=problem.beta_dict(residual),
        status="hand-set",
        pruned={},
    )


@dataclass(frozen=True)
class ComplexityBound:
    """Theorem 2: (2A/N) (R + C Σ ℓ), the complexity of the ball {R ≤ objective}. Not a generalisation guarantee.

    Attributes
    ----------
    value : the bound.
    A : (Σ_i Σ_m K_m(x_i, x_i))^½.
    regularizer : R(β, w) with λ = 1 and p = 1.
    loss : Σ_i C_i ℓ_i.
    """

    value: float
    A: float
    regularizer: float
    loss: float
    n: int


def complexity_bound(solution: Solution, kernels: Kernels) -> ComplexityBound:
    """Theorem 2 with its parts (formulation, section 10); for two classes. Never compare it across C."""
    if len(solution.classes) != 2:
        raise ParameterError(
            f"Theorem 2 is about two classes, but this solution has {len(solution.classes)}; pose a binary problem."
        )
    problem = solution.problem(kernels)
    circuit, beta = problem.circuit, problem.beta_array(solution.beta)
    diagonals = {leaf: np.diagonal(np.asarray(kernels[leaf], dtype=float))[None] for leaf in circuit.leaves}
    ones = np.ones((1, problem.n))
    A = float(apply_kernel(circuit, np.ones(circuit.n_terms), MatrixSource(diagonals), ones)[0, 0]) ** 0.5
    signed = solution.alpha * problem.Y[0]
    f = apply_kernel(circuit, circuit.weights(beta), problem.source, signed[None], problem.n_threads)[0]
    _, loss = best_intercept(f, problem.Y[0], problem.C)
    regularizer = float(signed @ f) / 2 + float((problem.c * beta).sum())
    return ComplexityBound(2 * A / problem.n * (regularizer + loss), A, regularizer, loss, problem.n)
