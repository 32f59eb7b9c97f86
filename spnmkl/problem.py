"""What is solved: formulation, section 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import KernelSource


@dataclass(frozen=True)
class Problem:
    """min over β ≥ 0, w, b of Σ_m ‖w_m‖²/(2 g_m(β)) + λ Σ_v c_v β_v^{p_v} + Σ_i C_i ℓ_i.

    Attributes
    ----------
    Y : (classes, n) labels ±1; one row for two classes, one-vs-rest otherwise.
    C : (n,) C_i = C · weight_i.
    p : (V,) exponents of the regulariser.
    """

    circuit: Circuit
    source: KernelSource
    Y: Floats
    C: Floats
    lam: float
    p: Floats
    n_threads: int = 1

    @property
    def n(self) -> int:
        return len(self.C)

    @cached_property
    def c(self) -> Floats:
        """(V,) c_v = Σ_m e_mv."""
        return self.circuit.total_exponents()

    def regularizer(self, beta: Floats) -> float:
        return float(self.lam * (self.c * beta**self.p).sum())

    def regularizer_slope(self, beta: Floats) -> Floats:
        """∂R₂/∂log β_v = λ c_v p_v β_v^{p_v}."""
        return self.lam * self.c * self.p * beta**self.p

    @cached_property
    def convex(self) -> bool:
        return bool((self.p >= 1).all())

    @cached_property
    def convex_in_powers(self) -> bool:
        """Convex in τ_v = β_v^{p_v}: Σ_v e_mv/p_v ≤ 1 on every path (formulation, section 5)."""
        most = np.zeros(len(self.circuit.leaves) + self.circuit.n_operations)
        per_term = self.circuit.X @ (1.0 / self.p)
        for k, slot in enumerate(range(len(self.circuit.leaves), len(most))):
            terms = range(self.circuit.operation_start[k], self.circuit.operation_start[k + 1])
            most[slot] = max(per_term[t] + most[self._arguments(t)].sum() for t in terms)
        return bool(most[-1] <= 1 + 1e-12)

    def _arguments(self, t: int) -> NDArray[np.int64]:
        return self.circuit.arguments[self.circuit.term_start[t] : self.circuit.term_start[t + 1]]

    @cached_property
    def linear(self) -> bool:
        """K(β) is linear in β: every path has one product."""
        return bool(self.circuit.n_operations == 1 and (np.diff(self.circuit.X.indptr) == 1).all())

    @cached_property
    def components(self) -> NDArray[np.intp]:
        """(V,) the component of every product: products joined by sharing a path (formulation, section 6)."""
        column = {v: k for k, v in enumerate(self.circuit.products)}
        label = np.zeros(len(column), dtype=np.intp)
        for k, (members, _) in enumerate(self.circuit.derivations.components()):
            label[[column[v] for v in members]] = k
        return label

    def beta_dict(self, beta: Floats) -> dict[str, float]:
        return dict(zip(self.circuit.products, beta.tolist(), strict=True))

    def beta_array(self, beta: Mapping[str, float]) -> Floats:
        return np.array([beta[v] for v in self.circuit.products], dtype=float)
