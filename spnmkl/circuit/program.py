"""The derivations as arrays: what the entry-wise evaluation runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from spnmkl.circuit.scalar import mixing, scalar_flows
from spnmkl.structure import SPN
from spnmkl.structure.derivations import derive
from spnmkl.structure.terms import Derivations

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_MOST_MIXED = 4_000_000  # entries of the matrix of ∂w_l/∂W_t
_RESTRICTIONS_KEPT = 4  # a solver asks for the same ones again
_PATH_SUMS_KEPT = 16  # one for each p that is tried on a drawing


class Exponents(sp.csr_array):
    """(terms, products), sparse; its transpose, which derivatives ask for all the time, is made once."""

    @cached_property
    def T(self) -> sp.csc_array:
        return self.transpose()


@dataclass(frozen=True)
class Circuit:
    """K(β) as operations over kernel slots (eq. 6); operation k is Σ_t W_t Π_a slot_a over its terms t.

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
    def root_kernels(self) -> tuple[Indices, Indices]:
        """Terms of the root that are plain kernels, and these kernels."""
        terms = np.arange(self.operation_start[-2], self.operation_start[-1])
        terms = terms[np.diff(self.term_start)[terms] == 1]
        slots = self.arguments[self.term_start[terms]]
        return terms[slots < len(self.leaves)], slots[slots < len(self.leaves)]

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
        X = Exponents((n, len(self.products)))
        return Circuit(self.leaves, self.products, each[[0, -1]], each, each[:-1], X, each[:-1], self.derivations)

    def mixing(self, W: Floats) -> tuple[Floats, Floats]:
        """Of a mixture Σ_l w_l K_l: w and ∂w_l/∂W_t, (terms, leaves)."""
        if self.mixture is self:
            return W, np.eye(self.n_terms)
        return mixing(self.operation_start, self.arguments, len(self.leaves), W)

    def weights(self, beta: Floats) -> Floats:
        """W_t = Π_v β_v^{X_tv} of eq. 6, exactly zero where a factor is."""
        zero = beta <= 0
        logs = np.log(np.where(zero, 1.0, beta))
        W = np.exp(self.X @ logs)
        if zero.any():
            W[(self.X @ zero.astype(float)) > 0] = 0.0
        return W

    def flows(self, W: Floats) -> Floats:
        """Σ of g_m (eq. 1) over the paths through every term, occurrences counted (all kernels replaced by 1)."""
        return scalar_flows(self.operation_start, self.term_start, self.arguments, len(self.leaves), W)

    def path_weight_total(self, beta: Floats) -> float:
        """Σ_m g_m(β)."""
        return float(self.flows(self.weights(beta))[self.operation_start[-2] :].sum())

    def total_exponents(self) -> Floats:
        """c_v = Σ_m e_mv, eq. 2."""
        return self.X.T @ self.flows(np.ones(self.n_terms))

    @cached_property
    def components(self) -> Indices:
        """(V,) the component of every product: products joined by sharing a path (formulation, section 6)."""
        column = {v: k for k, v in enumerate(self.products)}
        label = np.zeros(len(column), dtype=np.intp)
        for k, (members, _) in enumerate(self.derivations.components()):
            label[[column[v] for v in members]] = k
        return label

    @cached_property
    def smallest_exponents(self) -> Floats:
        """(V,) min_m e_mv over the paths through v."""
        least = self.derivations.smallest_exponents()
        return np.array([float(least[v]) for v in self.products])

    def path_sums(self, p: Floats) -> tuple[Floats, Floats]:
        """(components,) the least and the largest Σ_v e_mv/p_v (eq. 16) over the paths of every component."""
        key, known = p.tobytes(), self._path_sums
        found = known.get(key)
        if found is None:  # other threads may do the same meanwhile
            if len(known) >= _PATH_SUMS_KEPT:
                known.clear()
            found = known[key] = self._extreme_sums(p)
        return found

    @cached_property
    def _path_sums(self) -> dict[bytes, tuple[Floats, Floats]]:
        return {}

    def _extreme_sums(self, p: Floats) -> tuple[Floats, Floats]:
        least, most = (self._sums(p, choose) for choose in (np.min, np.max))
        root = slice(self.operation_start[-2], None)
        part = self.components[self.X[root].argmax(axis=1).ravel()] if self.n_terms else np.zeros(0, int)
        low, high = np.full(self.components.max() + 1, np.inf), np.full(self.components.max() + 1, -np.inf)
        np.minimum.at(low, part, least[root])
        np.maximum.at(high, part, most[root])
        return low, high

    def _sums(self, p: Floats, choose: Callable[[Floats], float]) -> Floats:
        """(terms,) the smallest or largest Σ_v e_mv/p_v over the derivations of every term."""
        n_leaves = len(self.leaves)
        per_slot = np.zeros(n_leaves + self.n_operations)
        per_term = self.X @ (1.0 / p)
        for k in range(self.n_operations):
            span = slice(self.operation_start[k], self.operation_start[k + 1])
            for t in range(span.start, span.stop):
                per_term[t] += per_slot[self.arguments[self.term_start[t] : self.term_start[t + 1]]].sum()
            per_slot[n_leaves + k] = choose(per_term[span])
        return per_term

    def restricted(self, alive: NDArray[np.bool_]) -> Circuit:
        """The circuit without the paths that meet a product that is not alive; itself where none does."""
        key, known = alive.tobytes(), self._restrictions
        circuit = known.get(key)
        if circuit is None:
            if len(known) >= _RESTRICTIONS_KEPT:
                known.clear()
            circuit = known[key] = self._with_terms(self._surviving(alive))
        return circuit

    @cached_property
    def _restrictions(self) -> dict[bytes, Circuit]:
        return {}

    @cached_property
    def _factors(self) -> list[list[int]]:
        """The arguments of every term, as plain numbers: reading these one by one is what arrays are slow at."""
        arguments, start = self.arguments.tolist(), self.term_start.tolist()
        return [arguments[a:b] for a, b in pairwise(start)]

    @cached_property
    def _spans(self) -> list[range]:
        """The terms of every operation."""
        return [range(a, b) for a, b in pairwise(self.operation_start.tolist())]

    def _surviving(self, alive: NDArray[np.bool_]) -> list[bool]:
        """Which terms meet living products only, there and below."""
        keep = ((self.X @ (~alive).astype(float)) == 0).tolist()
        nonempty = [True] * len(self.leaves)
        for span in self._spans:
            for t in span:
                keep[t] = keep[t] and all(nonempty[slot] for slot in self._factors[t])
            nonempty.append(any(keep[t] for t in span))
        return keep

    def _with_terms(self, keep: list[bool]) -> Circuit:
        """Drop terms, then the operations that nothing reaches any more."""
        if all(keep):
            return self
        n_leaves = len(self.leaves)
        used = [False] * (n_leaves + self.n_operations)
        used[-1] = True
        terms: list[int] = []
        sizes: list[int] = []
        for k in range(self.n_operations - 1, -1, -1):
            left = [t for t in self._spans[k] if keep[t]] if used[n_leaves + k] else []
            for t in left:
                for slot in self._factors[t]:
                    used[slot] = True
            if used[n_leaves + k]:
                terms[:0] = left
                sizes.insert(0, len(left))
        slot = (np.cumsum(used) - 1).tolist()
        return Circuit(
            leaves=tuple(leaf for leaf, u in zip(self.leaves, used, strict=False) if u),
            products=self.products,
            operation_start=_offsets(sizes),
            term_start=_offsets(len(self._factors[t]) for t in terms),
            arguments=np.array([slot[a] for t in terms for a in self._factors[t]], dtype=np.int64),
            X=Exponents(self.X[terms]),
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
        X=Exponents((values, (rows, columns)), shape=(len(terms), len(products))),
        terms=np.arange(len(terms)),
        derivations=derivations,
    )


def _offsets(sizes: Iterable[int]) -> Indices:
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.int64)
