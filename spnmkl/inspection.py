"""Understanding a solution: what carries the decision, for all samples or for one, and what if it were otherwise.

The decision function is f = Σ_m f_m + b over the paths, ‖f_m‖² = g_m q_m. The *share* of a path is g_m q_m over the
total; the share of anything else (a product, a sum, a kernel, a view) is that of all paths through it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.certificate import best_intercept, kkt_residuals, quadratic_flows, relative_gap
from spnmkl.circuit import heaviest
from spnmkl.circuit.evaluate import apply_kernel, kernel_matrix, term_responses
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Circuit, Floats, lower
from spnmkl.circuit.source import KernelSource, MatrixSource, diagonals
from spnmkl.errors import KernelError, ParameterError
from spnmkl.kernels.matrices import row_blocks
from spnmkl.problem import Problem
from spnmkl.solution import Solution
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.structure import SPN
from spnmkl.structure.derivations import Derivations, Term
from spnmkl.threads import single_threaded_blas

__all__ = [
    "Carried",
    "ComplexityBound",
    "Shares",
    "WeightedPath",
    "complexity_bound",
    "decision_shares",
    "heaviest_paths",
    "node_kernel",
    "path_shares",
    "refit",
    "sample_contributions",
    "view_shares",
]

# A source is taken as it is; the matrices of a mapping are looked through for NaN each time.
Kernels = Mapping[str, ArrayLike] | KernelSource


def heaviest_paths(solution: Solution, k: int = 10) -> list[WeightedPath]:
    """The k paths of largest g, without enumeration.

    Parameters
    ----------
    solution : Solution
        What was learned.
    k : int, default=10
        How many.

    Returns
    -------
    list of WeightedPath
        Heaviest first, each with g and its share g_m/Σg; fewer where there are fewer.

    Raises
    ------
    ParameterError
        k is no whole number of at least 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier, templates
    >>> from spnmkl.inspection import heaviest_paths
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.product_of_sums({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> model = SPNMKLClassifier(spn).fit(X / X.std(axis=0), y)
    >>> [len(path.leaves) for path in heaviest_paths(model.solution_, k=2)]
    [2, 2]
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, but it is {k!r}.")
    return heaviest.heaviest_paths(solution.spn, solution.beta, k)


@dataclass(frozen=True)
class Shares:
    """Per node the share of the decision that passes through it, between 0 and 1; the root's is 1.

    Attributes
    ----------
    products, sums, kernels : dict from node to float
        The shares.

    Examples
    --------
    >>> from spnmkl.inspection import Shares
    >>> Shares(products={"p1": 1.0}, sums={"s1": 1.0}, kernels={"k1": 1.0}).kernels
    {'k1': 1.0}
    """

    products: dict[str, float]
    sums: dict[str, float]
    kernels: dict[str, float]


def decision_shares(solution: Solution, kernels: Kernels) -> Shares:
    """How much of the decision every product, sum and kernel carries.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.

    Returns
    -------
    Shares
        The share of every node.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import decision_shares
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> shares = decision_shares(solve(spn, kernels, y), kernels)
    >>> round(sum(shares.kernels.values()), 6)
    1.0
    """
    return Carried(solution, kernels).shares()


def view_shares(solution: Solution, kernels: Kernels, views: Mapping[str, Iterable[str]]) -> dict[str, float]:
    """How much of the decision passes through any kernel of a view.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    views : mapping from name to iterable of leaf ids
        Which kernels make a view.

    Returns
    -------
    dict from name to float
        The share of every view, between 0 and 1; they may add up to more where a path meets several.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import view_shares
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.product_of_sums({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> shares = view_shares(solve(spn, kernels, y), kernels, {"colour": ["k1", "k2"]})
    >>> round(shares["colour"], 6)
    1.0
    """
    carried = Carried(solution, kernels)
    return {view: carried.through(leaves) for view, leaves in views.items()}


def path_shares(solution: Solution, kernels: Kernels, paths: Sequence[WeightedPath]) -> Floats:
    """How much of the decision the given paths carry: g_m q_m / Σ g q.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    paths : sequence of WeightedPath
        As `heaviest_paths` gives them.

    Returns
    -------
    ndarray of shape (paths,)
        The share of each.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import heaviest_paths, path_shares
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> shares = path_shares(solution, kernels, heaviest_paths(solution))
    >>> round(float(shares.sum()), 6)
    1.0
    """
    return Carried(solution, kernels).by(paths)


class Carried:
    """What the paths carry, g_m q_m, known by its flows through the terms of the circuit: one pass over the kernels.

    Asking for several shares of one object computes the flows once.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import Carried
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> carried = Carried(solve(spn, kernels, y), kernels)
    >>> round(carried.through(["k1"]) + carried.through(["k2"]), 6)
    1.0
    """

    def __init__(self, solution: Solution, kernels: Kernels) -> None:
        self.spn = solution.spn
        self.problem = solution.problem(kernels)
        self.alpha = np.atleast_2d(solution.alpha)
        self.beta = self.problem.beta_array(solution.beta)
        self.circuit = self.problem.circuit.restricted(self.beta > 0)
        self._place = {v: k for k, v in enumerate(self.spn.topological_order())}

    @cached_property
    def flows(self) -> Floats:
        """Σ g_m q_m over the paths through every term, as often as they take it, an ndarray of shape (terms,)."""
        if not self.circuit.n_terms:
            return np.zeros(0)
        return 2 * quadratic_flows(self.problem, self.alpha, self.beta, self.circuit)

    @cached_property
    def total(self) -> float:
        """Σ g_m q_m over all paths."""
        return float(self.flows[self.circuit.operation_start[-2] :].sum())

    @cached_property
    def _passing(self) -> dict[str, float]:
        """Σ g_m q_m over the paths through every product, as often as they meet it."""
        passing = dict.fromkeys(self.circuit.products, 0.0)
        for t, flow in zip(self.circuit.terms, self.flows, strict=True):
            for v, _ in self.circuit.derivations.terms[t].products:
                passing[v] += flow
        return passing

    def shares(self) -> Shares:
        """The share of every node.

        Returns
        -------
        Shares
            By kind of node.
        """
        kinds = (self.spn.products, self.spn.sums, self.spn.kernels)
        return Shares(*({v: self.through([v]) for v in nodes} for nodes in kinds))

    def through(self, nodes: Iterable[str]) -> float:
        """The share of the paths that meet any of the nodes.

        Parameters
        ----------
        nodes : iterable of str
            Their ids.

        Returns
        -------
        float
            Between 0 and 1.
        """
        products = products_through(self.spn, nodes)
        if products is None:
            return 1.0
        alive = [self.beta[k] > 0 and v in products for k, v in enumerate(self.circuit.products)]
        if not any(alive) or self.total <= 0:
            return 0.0
        if most_met(self.spn, products, self._place) <= 1:
            share = sum(self._passing[v] for v in products) / self.total
        else:
            share = 1 - self._quadratic(np.where(alive, 0.0, self.beta)) / self.total
        return float(np.clip(share, 0.0, 1.0))

    def _quadratic(self, beta: Floats) -> float:
        """Σ g_m q_m with the paths of weight 0 taken out: a pass of its own."""
        circuit, A = self.circuit.restricted(beta > 0), self.alpha * self.problem.Y
        if not circuit.n_terms:
            return 0.0
        F = apply_kernel(circuit, circuit.weights(beta), self.problem.source, A, self.problem.n_threads)
        return float((F * A).sum())

    def by(self, paths: Sequence[WeightedPath]) -> Floats:
        """The share of single paths.

        Parameters
        ----------
        paths : sequence of WeightedPath
            As `heaviest_paths` gives them.

        Returns
        -------
        ndarray of shape (paths,)
            The share of each.
        """
        if not paths or self.total <= 0:
            return np.zeros(len(paths))
        g, A = np.array([path.g for path in paths]), self.alpha * self.problem.Y
        R = term_responses(_listing(paths), g, self.problem.source, A, self.problem.n_threads)
        return g * np.einsum("tcn,cn->t", R, A) / self.total


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


def most_met(spn: SPN, nodes: Collection[str], place: Mapping[str, int]) -> int:
    """The most often that one path meets any of the nodes; `place` is the topological order."""
    above, waiting = set(nodes), list(nodes)
    while waiting:
        parents = set(spn.parents(waiting.pop())) - above
        above |= parents
        waiting += parents
    met: dict[str, int] = {}
    for v in sorted(above, key=place.__getitem__, reverse=True):
        below = [met[child] for child in spn.children(v) if child in met]
        met[v] = (v in nodes) + (max(below, default=0) if spn.kind(v) == "sum" else sum(below))
    return met.get(spn.root, 0)


def _listing(paths: Sequence[WeightedPath]) -> Circuit:
    """A circuit with one term per path."""
    slots = {leaf: k for k, leaf in enumerate(dict.fromkeys(leaf for path in paths for leaf in path.leaves))}
    terms = tuple(Term({}, (), tuple((slots[leaf], 0) for leaf in path.leaves)) for path in paths)
    return lower(Derivations(tuple(slots), (terms,)), ())


@single_threaded_blas()
def sample_contributions(
    solution: Solution, cross_kernels: Mapping[str, ArrayLike], paths: Sequence[WeightedPath]
) -> Floats:
    """How much each path pushed each sample.

    f_m(x) = g_m Σ_i α_i y_i K_m(x_i, x); summed over all paths, plus the intercept, it is the decision function.

    Parameters
    ----------
    solution : Solution
        What was learned.
    cross_kernels : mapping from leaf id to array-like of shape (rows, n)
        Kernels between the samples and the n training samples, for the leaves of the paths.
    paths : sequence of WeightedPath
        As `heaviest_paths` gives them.

    Returns
    -------
    ndarray of shape (paths, rows), or (paths, rows, classes) for more than two classes
        The pushes; positive towards the second class, or towards the class.

    Raises
    ------
    KernelError
        A matrix is missing or of the wrong size.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import heaviest_paths, sample_contributions
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> sample_contributions(solution, kernels, heaviest_paths(solution)).shape
    (2, 178, 3)
    """
    A = solution.signed_alpha
    leaves = dict.fromkeys(leaf for path in paths for leaf in path.leaves)
    cross = {leaf: np.asarray(_of_leaf(cross_kernels, leaf), dtype=float) for leaf in leaves or cross_kernels}
    rows = len(next(iter(cross.values()), A[:0]))
    for leaf, K in cross.items():
        if K.shape != (rows, A.shape[1]):
            raise KernelError(
                f"The cross-kernel matrix of {leaf!r} has shape {K.shape}; expected {(rows, A.shape[1])}, new samples "
                "by training samples, with the same rows for every leaf."
            )
    pushes = np.empty((len(paths), rows, len(A)))
    for block in row_blocks(rows):
        for m, path in enumerate(paths):
            first, *others = (cross[leaf][block] for leaf in path.leaves)
            for other in others:
                first = first * other
            pushes[m, block] = path.g * (first @ A.T)
    return pushes[..., 0] if len(A) == 1 else pushes


def _of_leaf(kernels: Mapping[str, ArrayLike], leaf: str) -> ArrayLike:
    if leaf not in kernels:
        raise KernelError(
            f"Kernel {leaf!r} has no matrix; expected one for each leaf asked for, found them for "
            f"{sorted(kernels, key=str)}; add it."
        )
    return kernels[leaf]


def node_kernel(solution: Solution, kernels: Kernels, node: str) -> Floats:
    """The kernel matrix at a node.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    node : str
        Its id.

    Returns
    -------
    ndarray of shape (n, n)
        A leaf's own matrix; at a sum or a product, Σ g_m K_m over the paths through it; at the root, K(β).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import node_kernel
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> node_kernel(solve(spn, kernels, y), kernels, spn.root).shape
    (178, 178)
    """
    spn = solution.spn
    if spn.kind(node) == "kernel":
        if isinstance(kernels, Mapping):
            return np.array(_of_leaf(kernels, node), dtype=float)
        return kernels.tiles([node], slice(None), slice(None))[0].copy()
    problem = solution.problem(kernels)
    beta = problem.beta_array(solution.beta)
    circuit = problem.circuit.restricted(beta > 0)
    W, products = circuit.weights(beta), products_through(spn, [node])
    if products is None:
        return _combined(problem, circuit, W)
    if most_met(spn, products, {v: k for k, v in enumerate(spn.topological_order())}) <= 1:
        return _combined(problem, circuit, np.where(_only_through(circuit, products), W, 0.0))
    K = _combined(problem, circuit, W)
    K -= _combined(problem, circuit, circuit.weights(np.where([v in products for v in circuit.products], 0.0, beta)))
    return K


def _combined(problem: Problem, circuit: Circuit, W: Floats) -> Floats:
    out = np.zeros((problem.n, problem.n))
    return kernel_matrix(circuit, W, problem.source, out, problem.n_threads) if W.any() else out


def _only_through(circuit: Circuit, products: Collection[str]) -> NDArray[np.bool_]:
    """(terms,) those that are left of the paths through products of which no path meets two.

    An operation that can lead to one of the products is then never used but on the way to it: there only the terms
    on the way stay.
    """
    leads = np.zeros(len(circuit.leaves) + circuit.n_operations, dtype=bool)
    keep = np.ones(circuit.n_terms, dtype=bool)
    for k in range(circuit.n_operations):
        span = slice(circuit.operation_start[k], circuit.operation_start[k + 1])
        on_the_way = [
            any(v in products for v, _ in circuit.derivations.terms[circuit.terms[t]].products)
            or leads[circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]]].any()
            for t in range(span.start, span.stop)
        ]
        leads[len(circuit.leaves) + k] = any(on_the_way)
        if any(on_the_way) or k == circuit.n_operations - 1:
            keep[span] = on_the_way
    return keep


@single_threaded_blas()
def refit(solution: Solution, kernels: Kernels, beta: Mapping[str, float], tol: float = 1e-6) -> Solution:
    """The SVM at weights set by hand: what if.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    beta : mapping from product to float
        The weights to change; the others stay.
    tol : float, default=1e-6
        Relative gap of the SVM.

    Returns
    -------
    Solution
        With status "hand-set"; its gap is measured against the bound that is known.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import refit
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> without = refit(solution, kernels, {"p1": 0.0})
    >>> without.status, without.objective > solution.objective
    ('hand-set', True)
    """
    problem = solution.problem(kernels)
    weights = problem.beta_array(solution.beta | dict(beta))
    evaluator = Evaluator(problem)
    evaluator.alpha = np.atleast_2d(solution.alpha)
    point = evaluator.evaluate(weights, tol * max(solution.objective, 1e-300))
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
    value : float
        The bound.
    A : float
        (Σ_i Σ_m K_m(x_i, x_i))^½.
    regularizer : float
        R(β, w) with λ = 1 and p = 1.
    loss : float
        Σ_i C_i ℓ_i.
    n : int
        The number of samples.

    Examples
    --------
    >>> from spnmkl.inspection import ComplexityBound
    >>> ComplexityBound(value=0.5, A=2.0, regularizer=3.0, loss=1.0, n=16).value
    0.5
    """

    value: float
    A: float
    regularizer: float
    loss: float
    n: int


def complexity_bound(solution: Solution, kernels: Kernels) -> ComplexityBound:
    """Theorem 2 with its parts (formulation, eq. 24). Never compare it across C.

    Parameters
    ----------
    solution : Solution
        What was learned, for two classes.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.

    Returns
    -------
    ComplexityBound
        The bound and what it is made of.

    Raises
    ------
    ParameterError
        There are more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import complexity_bound
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> complexity_bound(solve(spn, kernels, y == 0), kernels).n
    178
    """
    if len(solution.classes) != 2:
        raise ParameterError(
            f"Theorem 2 is about two classes, but this solution has {len(solution.classes)}; pose a binary problem."
        )
    problem = solution.problem(kernels)
    circuit, beta = problem.circuit, problem.beta_array(solution.beta)
    rows = {leaf: diagonal[None] for leaf, diagonal in diagonals(problem.source, circuit.leaves).items()}
    ones = np.ones((1, problem.n))
    A = float(apply_kernel(circuit, np.ones(circuit.n_terms), MatrixSource(rows), ones)[0, 0]) ** 0.5
    signed = solution.alpha * problem.Y[0]
    f = apply_kernel(circuit, circuit.weights(beta), problem.source, signed[None], problem.n_threads)[0]
    _, loss = best_intercept(f, problem.Y[0], problem.C)
    regularizer = float(signed @ f) / 2 + float((problem.c * beta).sum())
    return ComplexityBound(2 * A / problem.n * (regularizer + loss), A, regularizer, loss, problem.n)
