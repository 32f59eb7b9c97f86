"""The derivations as arrays: what the entry-wise evaluation runs on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from spnmkl.circuit.scalar import mixing, scalar_flows
from spnmkl.structure import SPN
from spnmkl.structure.derivations import Derivations, derive

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_MOST_MIXED = 4_000_000  # entries of the matrix of ∂w_l/∂W_t


@dataclass(frozen=True)
class Circuit:
    """K(β) as operations over kernel slots; operation k is Σ_t W_t Π_a slot_a over its terms t.

    Attributes
    ----------
    leaves : ids of the kernels, slots 0 … L-1; operation k has slot L+k, the last operation is the root.
    products : ids of the weights β_v, the columns of `X`.
    operation_start, term_start : terms of an operation, arguments of a term (offsets).
    arguments : slots multiplied by the terms.
    X : (terms, products) exponents, W = exp(X log β).
    terms : for a restricted circuit, which terms of the full one are left.
    derivations : what it was compiled from, term by term, to tell which paths it stands for.
    """

    leaves: tuple[str, ...]
    products: tuple[str, ...]
    operation_start: Indices
    term_start: Indices
    arguments: Indices
    X: sp.csr_array
    terms: Indices
    derivations: Derivations

    @property
    def n_terms(self) -> int:
        return len(self.terms)

    @property
    def n_operations(self) -> int:
        return len(self.operation_start) - 1

    @property
    def size(self) -> int:
        """Multiplications per kernel entry of one forward evaluation."""
        return len(self.arguments)

    @cached_property
    def derivative_size(self) -> int:
        """About as many multiplications per kernel entry as all ∂K/∂W_t take: for every argument all others."""
        return int((np.diff(self.term_start) ** 2).sum()) + self.size

    @cached_property
    def operation_of_term(self) -> Indices:
        return np.repeat(np.arange(self.n_operations), np.diff(self.operation_start))

    @cached_property
    def mixture(self) -> Circuit | None:
        """One sum over the kernels, where K is a weighted sum of them (no path multiplies two); else None."""
        n = len(self.leaves)
        if (np.diff(self.term_start) != 1).any() or n * self.n_terms > _MOST_MIXED:
            return None
        if self.n_operations == 1 and np.array_equal(self.arguments, np.arange(n)):
            return self
        each = np.arange(n + 1)
        X = sp.csr_array((n, len(self.products)))
        return Circuit(self.leaves, self.products, each[[0, -1]], each, each[:-1], X, each[:-1], self.derivations)

    def mixing(self, W: Floats) -> tuple[Floats, Floats]:
        """Of a mixture Σ_l w_l K_l: w and ∂w_l/∂W_t, (terms, leaves)."""
        return mixing(self.operation_start, self.arguments, len(self.leaves), W)

    def weights(self, beta: Floats) -> Floats:
        """W_t = Π_v β_v^{X_tv}, exactly zero where a factor is."""
        zero = beta <= 0
        logs = np.log(np.where(zero, 1.0, beta))
        W = np.exp(self.X @ logs)
        if zero.any():
            W[(self.X @ zero.astype(float)) > 0] = 0.0
        return W

    def flows(self, W: Floats) -> Floats:
        """Σ of g_m over the paths through every term, occurrences counted (all kernels replaced by 1)."""
        return scalar_flows(self.operation_start, self.term_start, self.arguments, len(self.leaves), W)

    def path_weight_total(self, beta: Floats) -> float:
        """Σ_m g_m(β)."""
        return float(self.flows(self.weights(beta))[self.operation_start[-2] :].sum())

    def total_exponents(self) -> Floats:
        """c_v = Σ_m e_mv."""
        return self.X.T @ self.flows(np.ones(self.n_terms))

    def restricted(self, alive: NDArray[np.bool_]) -> Circuit:
        """The circuit without the paths that meet a product that is not alive."""
        keep = (self.X @ (~alive).astype(float)) == 0
        n_leaves = len(self.leaves)
        nonempty = np.ones(n_leaves + self.n_operations, dtype=bool)
        for k in range(self.n_operations):
            for t in range(self.operation_start[k], self.operation_start[k + 1]):
                keep[t] &= nonempty[self.arguments[self.term_start[t] : self.term_start[t + 1]]].all()
            nonempty[n_leaves + k] = keep[self.operation_start[k] : self.operation_start[k + 1]].any()
        return self._with_terms(keep)

    def _with_terms(self, keep: NDArray[np.bool_]) -> Circuit:
        """Drop terms, then the operations that nothing reaches any more."""
        n_leaves, keep = len(self.leaves), keep.copy()
        used = np.zeros(n_leaves + self.n_operations, dtype=bool)
        used[-1] = True
        for k in range(self.n_operations - 1, -1, -1):
            span = slice(self.operation_start[k], self.operation_start[k + 1])
            keep[span] &= used[n_leaves + k]
            for t in range(span.start, span.stop):
                if keep[t]:
                    used[self.arguments[self.term_start[t] : self.term_start[t + 1]]] = True
        used[-1] = True
        slot = np.cumsum(used) - 1
        terms = np.flatnonzero(keep)
        sizes = np.diff(self.term_start)[terms]
        old = self.arguments[np.repeat(keep, np.diff(self.term_start))]
        per_operation = np.add.reduceat(np.append(keep, False).astype(int), self.operation_start[:-1])[used[n_leaves:]]
        return Circuit(
            leaves=tuple(leaf for leaf, u in zip(self.leaves, used, strict=False) if u),
            products=self.products,
            operation_start=np.concatenate([[0], np.cumsum(per_operation)]).astype(np.int64),
            term_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            arguments=slot[old].astype(np.int64),
            X=self.X[terms],
            terms=self.terms[terms],
            derivations=self.derivations,
        )


@lru_cache(maxsize=16)
def compile_circuit(spn: SPN) -> Circuit:
    """Compile a valid structure (formulation, section 4)."""
    return lower(derive(spn), spn.products)


def lower(derivations: Derivations, products: Sequence[str]) -> Circuit:
    column = {v: k for k, v in enumerate(products)}
    terms = derivations.terms
    rows = [k for k, term in enumerate(terms) for _ in term.exponents]
    columns = [column[v] for term in terms for v in term.exponents]
    values = [float(e) for term in terms for e in term.exponents.values()]
    return Circuit(
        leaves=derivations.leaves,
        products=tuple(products),
        operation_start=_offsets(len(operation) for operation in derivations.operations),
        term_start=_offsets(len(term.arguments) for term in terms),
        arguments=np.array([slot for term in terms for slot, _ in term.arguments], dtype=np.int64),
        X=sp.csr_array((values, (rows, columns)), shape=(len(terms), len(products))),
        terms=np.arange(len(terms)),
        derivations=derivations,
    )


def _offsets(sizes: Iterable[int]) -> Indices:
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.int64)
