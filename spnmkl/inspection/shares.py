"""What carries the decision: the heaviest paths, and the share of paths, nodes and views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.certificate import quadratic_flows
from spnmkl.circuit import heaviest
from spnmkl.circuit.evaluate import apply_kernel, term_responses
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Circuit, Floats, lower
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import ParameterError
from spnmkl.solution import Solution
from spnmkl.structure import Path
from spnmkl.structure.meeting import most_met, products_through
from spnmkl.structure.terms import Derivations, Term

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
    """Per node its share on training rows, between 0 and 1; the root's is 1.

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
    """How much every product, sum and kernel carries of the decision on the rows it was learned from.

    What was learned by heart counts here; `spnmkl.importance.held_out_shares` measures on other rows.

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
    """How much of the decision on the rows it was learned from passes through any kernel of a view.

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
    """How much of the decision on the rows it was learned from the given paths carry: g_m q_m / Σ g q.

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
        R = term_responses(listing(paths), g, self.problem.source, A, self.problem.n_threads)
        return g * np.einsum("tcn,cn->t", R, A) / self.total


def listing(paths: Sequence[WeightedPath | Path]) -> Circuit:
    """A circuit with one term per path."""
    slots = {leaf: k for k, leaf in enumerate(dict.fromkeys(leaf for path in paths for leaf in path.leaves))}
    terms = tuple(Term({}, (), tuple((slots[leaf], 0) for leaf in path.leaves)) for path in paths)
    return lower(Derivations(tuple(slots), (terms,)), ())
