"""The search for a good dual bound: at fixed α, the witness β̃ > 0 that the certificate is best with (eq. 13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from spnmkl.certificate import Dual, balanced, dual_value, quadratic_flows
from spnmkl.circuit.evaluate import term_quadratics
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.scalar import scalar_flows
from spnmkl.problem import Problem
from spnmkl.rounding import mixed_flows

_FLOOR = 1e-9  # of β̃ in its component: the bound needs β̃ > 0
_WIDEST = 230.0  # of |log β̃|: 1e±100 leaves room for the kernels
_LOG_RANGE = 600.0  # of p log β̃: exp of more is no number, of less nothing
_SETTLED = 1e-6  # a change of log β̃ that ends the rounds
_MODEL_ROUNDS = 60  # on the independent measure, which take no pass over the kernels
_SEARCH_ROUNDS = 25  # each evaluated for real: a pass over the kernels, but for sums of kernels
_WORTH_A_ROUND = 0.02  # of what is missing to the target: a round that gains less is the last
_NOTHING = 1e-300  # instead of 0 under a logarithm


@njit(nogil=True, cache=True)
def _improved(  # type: ignore[no-untyped-def]
    operation_start,
    term_start,
    arguments,
    n_leaves,
    row_start,
    column,
    exponent,
    flows,
    u,
    p,
    price,
    c,
    parts,
    fixed,
    rounds,
):
    """See `improved_witness`; u = log β̃, price = λcp, X in compressed rows, `fixed` the parts that keep their size."""
    n_terms, V, n_parts = len(flows), len(u), len(fixed)
    probability, W, D = np.zeros(n_terms), np.empty(n_terms), np.empty(V)
    root = 0.0
    for k in range(len(operation_start) - 1):
        root = 0.0  # of the last operation, in the end
        for t in range(operation_start[k], operation_start[k + 1]):
            root += flows[t]
        for t in range(operation_start[k], operation_start[k + 1]):
            probability[t] = flows[t] / root if root > 0.0 else 0.0
    start, new = u.copy(), np.empty(V)
    size, now, largest = np.zeros(n_parts), np.empty(n_parts), np.empty(n_parts)
    for v in range(V):
        size[parts[v]] += c[v] * np.exp(p[v] * u[v])
    for _ in range(rounds):
        for t in range(n_terms):
            log_ratio = 0.0
            for k in range(row_start[t], row_start[t + 1]):
                log_ratio += exponent[k] * (u[column[k]] - start[column[k]])
            W[t] = probability[t] * np.exp(log_ratio)
        moved = scalar_flows(operation_start, term_start, arguments, n_leaves, W)
        D[:] = 0.0
        for t in range(n_terms):
            for k in range(row_start[t], row_start[t + 1]):
                D[column[k]] += exponent[k] * root * moved[t]
        now[:] = 0.0
        largest[:] = -np.inf
        for v in range(V):
            # eq. 13
            new[v] = np.log(max(D[v], _NOTHING) / price[v]) / p[v] if D[v] > 0.0 else u[v]
            now[parts[v]] += c[v] * np.exp(min(max(p[v] * new[v], -_LOG_RANGE), _LOG_RANGE))
        change = 0.0
        for v in range(V):
            if fixed[parts[v]]:
                new[v] -= np.log(now[parts[v]] / size[parts[v]]) / p[v]
            largest[parts[v]] = max(largest[parts[v]], new[v])
        for v in range(V):
            new[v] = max(new[v], largest[parts[v]] + np.log(_FLOOR))
            change = max(change, abs(new[v] - u[v]))
            u[v] = new[v]
        if change < _SETTLED:
            break
    return u


def improved_witness(problem: Problem, witness: Floats, flows: Floats, rounds: int = _MODEL_ROUNDS) -> Floats:
    """Eq. 13 repeated at fixed α, run on the independent measure of the flows (eq. 20).

    Homogeneous components keep their size: only their direction matters.
    """
    circuit = problem.circuit
    u = _improved(
        circuit.operation_start,
        circuit.term_start,
        circuit.arguments,
        len(circuit.leaves),
        circuit.X.indptr,
        circuit.X.indices,
        circuit.X.data,
        flows,
        np.log(witness),
        problem.p,
        problem.lam * problem.c * problem.p,
        problem.c,
        problem.components,
        problem.homogeneous,
        rounds,
    )
    return np.exp(np.clip(u, -_WIDEST, _WIDEST))


def flows_at(problem: Problem, alpha: Floats, known: tuple[Floats, Floats] | None = None) -> Callable[[Floats], Floats]:
    """β ↦ its quadratic flows at this α.

    That takes a pass each or, where K is a weighted sum of kernels, one for all β; none where some β > 0 and the
    quadratic forms ∂/∂W_t there are known.
    """
    circuit, mixture = problem.circuit, problem.circuit.mixture
    if mixture is None:
        return lambda beta: quadratic_flows(problem, alpha, beta)
    q = None if known is None else _kernel_quadratics(circuit, *known)
    if q is None:
        q = term_quadratics(mixture, np.ones(mixture.n_terms), problem.source, alpha * problem.Y, problem.n_threads)
    return lambda beta: mixed_flows(circuit, q, beta)


def _kernel_quadratics(circuit: Circuit, beta: Floats, quadratics: Floats) -> Floats | None:
    """The quadratic form of every kernel, from that of a term that has it as its argument."""
    slots, term = np.unique(circuit.arguments, return_index=True)
    term = term[slots < len(circuit.leaves)]
    outside = circuit.mixing(circuit.weights(beta))[1][term, np.arange(len(term))]
    return quadratics[term] / outside if (outside > 0).all() else None


def search_dual(
    problem: Problem, alpha: Floats, witness: Floats, *, target: float = np.inf, rounds: int = _SEARCH_ROUNDS
) -> Dual:
    """Improve β̃ until the bound reaches `target` or stops improving."""
    alpha = balanced(alpha, problem.Y)
    best, flows_of = Dual(-np.inf, alpha, witness), flows_at(problem, alpha)
    for _ in range(rounds):
        flows = flows_of(witness)
        value = dual_value(problem, alpha, witness, flows)
        stalled = np.isfinite(best.value) and value - best.value < _WORTH_A_ROUND * (
            min(target, abs(value)) - best.value
        )
        if value > best.value:
            best = Dual(value, alpha, witness, flows)
        if best.value >= target or stalled or problem.linear:
            break
        witness = improved_witness(problem, witness, flows)
    return best
