"""What rounding may hide in a bound, counted against it (formulation, section 5): the last part of the proof."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spnmkl.certificate import Dual, dual_value, quadratic_flows, unchecked
from spnmkl.circuit.compensated import compensated_forms
from spnmkl.circuit.evaluate import representable, term_responses
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import MatrixSource, diagonals
from spnmkl.problem import Problem

_EPS = float(np.finfo(float).eps)
_USUAL_ROUNDING = 4 * _EPS  # of all that is summed: many numbers round up as often as down
_SEEN_ROUNDING = 4.0  # times the largest difference between two orders of summation
_LEAST_ROUNDING = 1 / 16  # of the usual one: two orders may agree by luck
_NOTICED = 0.05  # of the tolerance: a loss of the bound to rounding that is worth twice the precision
_ROUNDED = 1e-9  # of the objective: a bound above it by more is not its own rounding


def lower_bound(problem: Problem, found: Dual, objective: float, tol: float) -> float:
    """D with what rounding may hide in its flows counted against it: what a user is told.

    Where that would matter beside `tol`, it is looked at closely: the flows of sums of kernels are computed as if in
    twice the precision; those of products in two orders of summation, whose difference tells how much rounding there
    is. A D above the objective is kept only if no rounding can explain it.
    """
    alpha, witness, flows = found.alpha, found.witness, found.flows
    if flows is None or not (np.isfinite(found.value) and alpha.any()):
        return found.value
    usual = rounding_of_flows(problem, alpha, _USUAL_ROUNDING)(witness)
    bound = dual_value(problem, alpha, witness, flows + usual)
    if bound < (1 - _NOTICED * tol) * found.value:
        flows = _flows_without_rounding(problem, alpha, witness, usual)
        bound = max(bound, dual_value(problem, alpha, witness, flows))
    if bound > objective * (1 + _ROUNDED):
        least = dual_value(problem, alpha, witness, flows + rounding_of_flows(problem, alpha)(witness))
        bound = min(bound, max(least, 0.0))
    return bound


def rounding_of_flows(problem: Problem, alpha: Floats, share: float | None = None) -> Callable[[Floats], Floats]:
    """β ↦ (terms,) what rounding may leave of the quadratic flows at α where these are zero.

    Eq. 14 bounds what is summed. An entry is made of some factors, and a quadratic form sums n numbers twice; each of
    these steps may round. Unless a `share` is given, all of them do, and to the same side.
    """
    circuit = problem.circuit
    share = (problem.n + circuit.size) * _EPS if share is None else share
    # The diagonals make one row of a kernel, behind a zero for the row itself.
    rows = {leaf: np.append(0.0, own)[None] for leaf, own in diagonals(problem.source, circuit.leaves).items()}
    weight = np.append(1.0, (alpha.sum(axis=1, keepdims=True) * alpha).sum(axis=0))[None]  # (Σα) α_i, eq. 14

    def rounding(beta: Floats) -> Floats:
        W = circuit.weights(beta)
        return share * W * term_responses(circuit, W, MatrixSource(rows), weight)[:, 0, 0] / 2

    return rounding


@unchecked
def _flows_without_rounding(problem: Problem, alpha: Floats, beta: Floats, usual: Floats) -> Floats:
    """Quadratic flows that are not below the exact ones.

    Of products that is an estimate, which leaves out how entries of K are rounded themselves.
    """
    circuit, mixture, A = problem.circuit, problem.circuit.mixture, alpha * problem.Y
    if mixture is not None:
        q = compensated_forms(problem.source, mixture.leaves, A)
        return (1 + _USUAL_ROUNDING) * mixed_flows(circuit, q, beta)
    W = circuit.weights(beta)
    by_entry = quadratic_flows(problem, alpha, beta)
    by_row = W * np.einsum("tcn,cn->t", term_responses(circuit, W, problem.source, A, problem.n_threads), A) / 2
    seen = max(np.abs(by_entry - by_row).max(), -min(by_entry.min(), by_row.min(), 0.0))
    return np.maximum(by_entry, by_row) + np.maximum(_SEEN_ROUNDING * seen, _LEAST_ROUNDING * usual)


@unchecked
def mixed_flows(circuit: Circuit, q: Floats, beta: Floats) -> Floats:
    """Eq. 7 where K is a weighted sum of kernels: their quadratic forms q, weighed."""
    W = circuit.weights(beta)
    return representable(W * (circuit.mixing(W)[1] @ q) / 2, W, q)
