"""What evidence says: the weights, what every part of the drawing carries, and what it would cost to remove it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.evaluate import apply_kernel, apply_to_samples, term_quadratics
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import ParameterError
from spnmkl.evidence.search import Fit, Search
from spnmkl.parameters import checked_threads
from spnmkl.problem import answers
from spnmkl.solution import Record, source_of
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.meeting import most_met, products_through
from spnmkl.structure.nodes import describe
from spnmkl.threads import single_threaded_blas


@dataclass(frozen=True, repr=False, eq=False)
class EvidenceSolution:
    """Evidence weights: a maximum of the log evidence, found from several starts; none of it is certified.

    Of all weights that give the same kernel these are the cheapest (formulation, section 13). The exponents p of a
    drawing mean nothing here: evidence charges for what a kernel can fit, not for the size of its weights.

    Attributes
    ----------
    spn : SPN
        The structure.
    beta : dict from product to float
        The weight of every product.
    log_evidence : float
        Laplace's approximation of log p(y | β, c), summed over the classes one against the rest.
    constant : float
        c, the prior variance of the constant.
    history : tuple of Record
        Every step, of all starts; `Record.objective` is minus the log evidence.
    status : str
        "converged", "iteration_limit", "time_limit" or "interrupted".
    rows : ndarray of int
        The rows it was computed on.
    classes : ndarray of shape (classes,)
        The labels, sorted.
    a : ndarray of shape (1 or classes, n)
        What rows weigh in the decision; 0 for rows that were not used.
    fit : Fit
        The kernels among the rows used and the point found, from which `delta` goes on.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import fit_evidence, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> found = fit_evidence(spn, kernels, y)
    >>> found.delta("k1") > found.delta("k2") > 5
    True
    """

    spn: SPN
    beta: dict[str, float]
    log_evidence: float
    constant: float
    history: tuple[Record, ...]
    status: str
    rows: NDArray[np.intp]
    classes: NDArray
    a: Floats
    fit: Fit

    def __repr__(self) -> str:
        """One line: weights and history are asked for by name."""
        kept = sum(weight > 0 for weight in self.beta.values())
        return (
            f"EvidenceSolution(log evidence {self.log_evidence:.2f} on {len(self.rows)} rows, {kept} of "
            f"{len(self.beta)} weights above 0, {self.status}, not certified)"
        )

    def decision_function(
        self, cross_kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None
    ) -> Floats:
        """The mean of the Gaussian process at new samples: the log odds, before its own uncertainty is averaged over.

        Parameters
        ----------
        cross_kernels : mapping from leaf id to array-like of shape (rows, n), or KernelSource
            Kernels between new samples and all n training samples; leaves without weight may be left out.
        n_threads : int, default=None
            Cores to use; None for all.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            Positive for the second class; the largest is the class otherwise.

        Raises
        ------
        KernelError
            A matrix is missing, of another size, or holds NaN.
        """
        circuit, W = self._active()
        source = source_of(circuit.leaves, cross_kernels, self.a.shape[1], "cross-kernel")
        F = np.zeros((len(self.a), source.shape[0]))
        if circuit.n_terms and source.shape[0]:
            F = apply_kernel(circuit, W, source, self.a, checked_threads(n_threads))
        F += self.constant * self.a.sum(axis=1)[:, None]
        return F[0] if len(F) == 1 else F.T

    def predict(self, cross_kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None) -> NDArray:
        """The class of new samples.

        Parameters
        ----------
        cross_kernels : mapping from leaf id to array-like of shape (rows, n), or KernelSource
            As for `decision_function`.
        n_threads : int, default=None
            Cores to use; None for all.

        Returns
        -------
        ndarray of shape (rows,)
            Labels as given.
        """
        return answers(self.decision_function(cross_kernels, n_threads), self.classes)

    @cached_property
    def shares(self) -> dict[str, float]:
        """Of every node the part of aᵀKa on paths through it (eq. 40), on the rows used; without the constant."""
        place = {v: k for k, v in enumerate(self.spn.topological_order())}
        return {v: self._share(v, place) for v in self.spn.nodes}

    def _share(self, node: str, place: Mapping[str, int]) -> float:
        products = products_through(self.spn, [node])
        if self._total <= 0:
            return 0.0
        if products is None:
            return 1.0
        if most_met(self.spn, products, place) <= 1:
            share = sum(self._passing[v] for v in products) / self._total
        else:
            share = 1 - self._quadratic(self.fit.point.beta * ~self._among(products)) / self._total
        return float(np.clip(share, 0.0, 1.0))

    @cached_property
    def _flows(self) -> tuple[Circuit, Floats]:
        circuit, W = self._active()
        if not circuit.n_terms:
            return circuit, np.zeros(0)
        with single_threaded_blas():
            return circuit, W * term_quadratics(
                circuit, W, self.fit.search.source, self.fit.point.a, self.fit.search.n_threads
            )

    @cached_property
    def _total(self) -> float:
        circuit, flows = self._flows
        return float(flows[circuit.operation_start[-2] :].sum())

    @cached_property
    def _passing(self) -> dict[str, float]:
        circuit, flows = self._flows
        passing = dict.fromkeys(circuit.products, 0.0)
        for t, flow in zip(circuit.terms, flows, strict=True):
            for v, _ in circuit.derivations.terms[t].products:
                passing[v] += flow
        return passing

    def _quadratic(self, beta: Floats) -> float:
        circuit, a = self.fit.search.circuit.restricted(beta > 0), self.fit.point.a
        if not circuit.n_terms:
            return 0.0
        F = apply_to_samples(circuit, circuit.weights(beta), self.fit.search.source, a, self.fit.search.n_threads)
        return float((F * a).sum())

    def delta(self, node: str, stop: Callable[[], bool] | None = None) -> float:
        """What removing a node costs in log evidence, after the rest was fitted again from where it is (eq. 40).

        Parameters
        ----------
        node : str
            A product, sum or kernel; all paths through it are taken out.
        stop : callable, default=None
            Asked now and then; once it is true `Stopped` is raised.

        Returns
        -------
        float
            Log evidence with it minus without it: above about 5 the labels need it, near 0 they do not. Below 0 by
            more than rounding, the search had missed a better point.

        Raises
        ------
        ParameterError
            The drawing has no such node.
        Stopped
            `stop` was true.
        """
        if node not in self.spn.nodes:
            raise ParameterError(f"The structure has no node {describe(node)}; its nodes are {list(self.spn.nodes)}.")
        if node not in self._deltas:
            self._deltas[node] = self._removed(node, stop)
        return self._deltas[node]

    def _removed(self, node: str, stop: Callable[[], bool] | None) -> float:
        products = products_through(self.spn, [node])
        removed = self._among(self.spn.products if products is None else products)
        if not (removed & (self.fit.point.beta > 0)).any():
            return 0.0
        whole = self.fit.search
        given = self.spn, whole.circuit, whole.source, whole.Y, whole.counts, whole.n_threads
        search = Search(*given, Deadline(None, stop))
        with single_threaded_blas(), np.errstate(all="ignore"):
            return self.log_evidence - search.without(self.fit.point, removed).value

    @cached_property
    def _deltas(self) -> dict[str, float]:
        return {}

    def _among(self, products: Collection[str]) -> NDArray[np.bool_]:
        return np.array([v in products for v in self.fit.search.circuit.products])

    def _active(self) -> tuple[Circuit, Floats]:
        beta = self.fit.point.beta
        circuit = self.fit.search.circuit.restricted(beta > 0)
        return circuit, circuit.weights(beta)
