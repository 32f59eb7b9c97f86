"""Path measures known only by their flows through the terms of the circuit.

The flows f_t = Σ_{m through t} w_m come from one pass over the data; the w_m themselves would need all paths. The
*independent* measure w̃ has the same flows and makes every choice of a term independently of the others. It is exact
in trees where no product multiplies several sums, and elsewhere forgets only how different choices correlate.
It serves as a model (of curvature, of where to look for a bound), never as evidence.
"""

from __future__ import annotations

import numpy as np

from spnmkl.circuit.program import Circuit, Floats


def _choice_probabilities(circuit: Circuit, flows: Floats) -> Floats:
    """f_t / Σ f over the operation of t."""
    operation = circuit.operation_of_term
    total = np.bincount(operation, weights=flows, minlength=circuit.n_operations)[operation]
    return np.divide(flows, total, out=np.zeros_like(flows), where=total > 0)


def second_moment(circuit: Circuit, flows: Floats) -> Floats:
    """Σ_m w̃_m e_m e_mᵀ, (V, V), without a path: the variances of independent choices add.

    With m_t the mean exponents below and at term t, and m̄_k their mean over operation k, it is
    Σ_t f_t m_t m_tᵀ − Σ_{k ≠ root} f_k m̄_k m̄_kᵀ (eq. 20).
    """
    X, n_leaves = circuit.X.toarray(), len(circuit.leaves)
    probability = _choice_probabilities(circuit, flows)
    mean = np.zeros((circuit.n_operations, X.shape[1]))
    for k in range(circuit.n_operations):
        for t in range(circuit.operation_start[k], circuit.operation_start[k + 1]):
            for slot in circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]]:
                if slot >= n_leaves:
                    X[t] += mean[slot - n_leaves]
            mean[k] += probability[t] * X[t]
    total = np.bincount(circuit.operation_of_term, weights=flows, minlength=circuit.n_operations)
    inner = slice(0, circuit.n_operations - 1)
    return (X.T * flows) @ X - (mean[inner].T * total[inner]) @ mean[inner]
