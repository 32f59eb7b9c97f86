"""The proof of a solution, from the data alone, in the order in which one would check it by hand.

1. `primal`: P, the objective at the given β and α. No weights can be called better than a number that they cost.
2. `dual`: D, below which no weights can come, whatever α and β̃ > 0 are given. Its scaling keeps α feasible.
3. `relative_gap`: (P − D)/P.
4. `kkt_residuals`: where a gap is left; where some p < 1 leaves no bound, all that can be said.

What D may lose to rounding is counted in `rounding`, which is as much a part of the proof.

What has to be trusted: that the kernels are positive semidefinite; `Problem`, which says what is asked (eq. 3); the
circuit's passes over the kernels (`circuit.evaluate`), which tests compare with sums over listed paths; numpy, and
scipy's `brentq`, whose root need not be exact, since D is a bound at any scale that is allowed. No solver is imported:
how α, β and β̃ were found does not matter. Equations are those of docs/formulation.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from spnmkl.circuit.evaluate import apply_to_samples, in_one_pass, representable, term_quadratics
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.problem import Problem

_LEVEL = 1e-12  # of Σ C: a slope of the loss that is none, so that b has an interval to be in
_LARGEST_LOG = 700.0  # exp of more is no number
_ROOM = 1e-9  # of log s beyond the bracket of its root, for rounding
_SMALLEST = 1e-300  # what is divided by is not less
unchecked = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # we look at what comes out


@dataclass(frozen=True)
class Primal:
    """The objective at (β, w(α), b) with b from exact hinge minimisation."""

    value: float
    intercept: Floats


@unchecked
def primal(problem: Problem, beta: Floats, alpha: Floats) -> Primal:
    """P of eq. 8, summed over the classes; inf if undefined."""
    A, circuit = alpha * problem.Y, problem.circuit.restricted(beta > 0)
    if circuit.n_terms:
        F = apply_to_samples(circuit, circuit.weights(beta), problem.source, A, problem.n_threads)  # f = K(β)(α∘y)
    else:
        F = np.zeros_like(A)
    return _primal_of(problem, beta, A, F)


def _primal_of(problem: Problem, beta: Floats, A: Floats, F: Floats) -> Primal:
    fits = [best_intercept(f, y, problem.C) for f, y in zip(F, problem.Y, strict=True)]
    quadratic = representable((A * F).sum(), A, F)
    value = float(quadratic / 2 + problem.regularizer(beta) + sum(loss for _, loss in fits))
    return Primal(value if np.isfinite(value) else np.inf, np.array([b for b, _ in fits]))


def best_intercept(f: Floats, y: Floats, C: Floats) -> tuple[float, float]:
    """argmin_b Σ_i C_i max(0, 1 − y_i (f_i + b)) of eq. 8, the middle one of several, and its value.

    The loss is convex and bends at b = y_i − f_i, by C_i each; left of all of them its slope is −Σ_{y_i = 1} C_i.
    """
    breakpoints = y - f
    order = np.argsort(breakpoints)
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    rounding = _LEVEL * C.sum()
    k = min(int(np.searchsorted(slope, -rounding)), len(y) - 1)
    b = breakpoints[order[k]]
    if slope[k] <= rounding and k + 1 < len(y):
        after = k + 1 + int(np.argmax(C[order[k + 1 :]] > 0))
        b = (b + breakpoints[order[after]]) / 2
    return float(b), float((C * np.maximum(0.0, 1.0 - y * (f + b))).sum())


@dataclass(frozen=True)
class Dual:
    """A lower bound on the optimum, with what proves it: α (balanced, unscaled) and β̃.

    The flows are there where they were computed from the kernels for this bound alone: then it needs no second proof.
    """

    value: float
    alpha: Floats
    witness: Floats
    flows: Floats | None = None


def dual(problem: Problem, alpha: Floats, witness: Floats) -> Dual:
    """D of eq. 10, or of eq. 12, at given α and β̃ > 0."""
    alpha = balanced(alpha, problem.Y)
    flows = quadratic_flows(problem, alpha, witness)
    return Dual(dual_value(problem, alpha, witness, flows), alpha, witness, flows)


@unchecked
def both_sides(
    problem: Problem, beta: Floats, alpha: Floats, inner: Floats, other: Dual
) -> tuple[Primal, Dual, Floats]:
    """`primal` at β and α, `dual` at the α and β̃ of another, and `quadratic_flows` at α and `inner`.

    One pass over the kernels does for all where they are computed whenever they are needed.
    """
    active, full, A = problem.circuit.restricted(beta > 0), problem.circuit, alpha * problem.Y
    proving = balanced(other.alpha, problem.Y)
    weighed = [(full, full.weights(other.witness), proving * problem.Y)]
    if not (np.array_equal(other.alpha, alpha) and np.array_equal(other.witness, inner)):
        weighed.append((full, full.weights(inner), A))
    applied = [(active, active.weights(beta), A)] if active.n_terms else []
    products, forms = in_one_pass(problem.source, applied, weighed, problem.n_threads)
    flows = [representable(W * q / 2, W, q) for (_, W, _), q in zip(weighed, forms, strict=True)]
    value = dual_value(problem, proving, other.witness, flows[0])
    found = Dual(value, proving, other.witness, flows[0])
    return _primal_of(problem, beta, A, products[0] if applied else np.zeros_like(A)), found, flows[-1]


def balanced(alpha: Floats, Y: Floats) -> Floats:
    """α with yᵀα = 0 for every class: the heavier side is scaled down, so the bounds still hold."""
    alpha, above = np.maximum(alpha, 0.0), Y > 0
    positive, negative = ((alpha * side).sum(axis=1, keepdims=True) for side in (above, ~above))
    lighter = np.minimum(positive, negative)
    tiny = np.finfo(float).tiny  # a side without weight leaves none on the other
    return alpha * np.where(above, lighter / np.maximum(positive, tiny), lighter / np.maximum(negative, tiny))


@unchecked
def quadratic_flows(problem: Problem, alpha: Floats, beta: Floats, circuit: Circuit | None = None) -> Floats:
    """f_t of eq. 7 for every term t, of a restricted circuit if given: one pass over the kernels."""
    circuit = circuit or problem.circuit
    A, W = alpha * problem.Y, circuit.weights(beta)
    q = term_quadratics(circuit, W, problem.source, A, problem.n_threads)
    return representable(W * q / 2, W, q)


@unchecked
def dual_value(problem: Problem, alpha: Floats, witness: Floats, flows: Floats) -> float:
    """D at its best scale s, from the flows at β̃; −inf where no bound is known, or none comes out."""
    if not (problem.bounded and np.isfinite(flows).all()):
        return -np.inf
    value = _closed_form(problem, alpha, witness, flows)
    return value if np.isfinite(value) else -np.inf


def _closed_form(problem: Problem, alpha: Floats, witness: Floats, flows: Floats) -> float:
    positive = alpha > 0
    total = float(alpha.sum())
    if not positive.any():
        return 0.0
    largest = float((np.broadcast_to(problem.C, alpha.shape)[positive] / alpha[positive]).min())  # sα ≤ C
    D = problem.circuit.X.T @ flows  # β̃_v d_v, eq. 7
    price = problem.lam * problem.c
    if problem.convex:
        return _dual_convex(problem.p, price, D / witness, total, largest)
    # In τ = β^p, eq. 12.
    offset = max(0.0, flows[problem.circuit.operation_start[-2] :].sum() - (D / problem.p).sum())
    slope = D / (problem.p * witness**problem.p)
    s = min(largest, _scale_limit(slope, price))
    s = s if offset == 0 else min(s, total / (2 * offset))
    return s * total - s * s * offset


def _scale_limit(d: Floats, price: Floats) -> float:
    """The largest s with s² d_v ≤ λ c_v."""
    steepest = float((d / price).max(initial=0.0))
    return np.inf if steepest <= 0 else float(steepest**-0.5)


def _dual_convex(p: Floats, price: Floats, d: Floats, total: float, largest: float) -> float:
    """max over 0 < s ≤ largest of D(s), eq. 10, with d of eq. 9."""
    lasso, power = p == 1, (p > 1) & (d > 0)
    top = min(largest, _scale_limit(d[lasso], price[lasso]))
    if not power.any():
        return top * total
    # (1 − 1/p) s²d (s²d/(λcp))^{1/(p−1)} = a s^e with e = 2p/(p−1)
    q = p[power]
    e = 2 * q / (q - 1)
    log_a = np.log((q - 1) / q) + np.log(d[power]) + (np.log(d[power]) - np.log(price[power] * q)) / (q - 1)

    def slope(log_s: float) -> float:
        return total - float(np.exp(np.minimum(log_a + np.log(e) + (e - 1) * log_s, _LARGEST_LOG)).sum())

    # At the root of one term alone the sum is already at least `total`.
    high = float(((np.log(total) - log_a - np.log(e)) / (e - 1)).min())
    low = high - np.log(len(q) + 1.0) / float((e - 1).min()) - 1.0
    log_s = min(np.log(top), brentq(slope, low, high + _ROOM) if slope(high + _ROOM) < 0 < slope(low) else low)
    return float(np.exp(log_s) * total - np.exp(log_a + e * log_s).sum())


def relative_gap(objective: float, bound: float) -> float:
    """Eq. 11; 0 at the trivial optimum 0, and infinite where P or D is no number, or P one no kernel gives."""
    if not (np.isfinite(objective) and np.isfinite(bound)):
        return np.inf
    if objective > 0:
        return (objective - bound) / objective
    return 0.0 if objective == bound == 0 else np.inf


def kkt_residuals(
    problem: Problem, beta: Floats, alpha: Floats, witness: Floats, objective: float, flows: Floats | None = None
) -> Floats:
    """(V,) eq. 15: |β_v ∂J/∂β_v| over the objective; for a zero weight, how much its component could still gain.

    For β_v > 0 it is the relative change of the objective per relative change of β_v. Where a bound is known, zeros
    are whole components, stationary while F ≤ λ Σ c β̃^p on them: what exceeds 1 in their ratio is the residual.
    The flows at α and β, with the witness in place of zeros, are computed unless given.
    """
    zero = beta <= 0
    inner = np.where(zero, witness, beta) if problem.bounded else beta
    if flows is None:
        flows = quadratic_flows(problem, alpha, inner)
    D = problem.circuit.X.T @ flows
    slope = problem.regularizer_slope(inner)
    residual = np.abs(slope - D) / max(objective, _SMALLEST)  # eq. 5
    parts = problem.components
    gain, cost = (np.bincount(parts, weights=value / problem.p) for value in (D, slope))
    excess = np.maximum(0.0, gain / np.maximum(cost, _SMALLEST) - 1.0)
    residual[zero] = excess[parts][zero] if problem.bounded else 0.0
    return residual
