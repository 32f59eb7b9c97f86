"""Objective, dual bound, gap and KKT residuals from the data alone: no solver is imported, none is trusted.

Sections are those of docs/formulation.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from spnmkl.circuit.compensated import compensated_forms
from spnmkl.circuit.evaluate import apply_to_samples, representable, term_quadratics, term_responses
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import MatrixSource, diagonals
from spnmkl.problem import Problem

_EPS = float(np.finfo(float).eps)
_USUAL_ROUNDING = 4 * _EPS  # of all that is summed: many numbers round up as often as down
_SEEN_ROUNDING = 4.0  # times the largest difference between two orders of summation
_LEAST_ROUNDING = 1 / 16  # of the usual one: two orders may agree by luck
_NOTICED = 0.05  # of the tolerance: a loss of the bound to rounding that is worth twice the precision
_ROUNDED = 1e-9  # of the objective: a bound above it by more is not its own rounding
_unchecked = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # we look at what comes out


def best_intercept(f: Floats, y: Floats, C: Floats) -> tuple[float, float]:
    """argmin_b Σ_i C_i max(0, 1 − y_i (f_i + b)), the middle one of several, and its value."""
    breakpoints = y - f
    order = np.argsort(breakpoints)
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    rounding = 1e-12 * C.sum()
    k = min(int(np.searchsorted(slope, -rounding)), len(y) - 1)
    b = breakpoints[order[k]]
    if slope[k] <= rounding and k + 1 < len(y):
        after = k + 1 + int(np.argmax(C[order[k + 1 :]] > 0))
        b = (b + breakpoints[order[after]]) / 2
    return float(b), float((C * np.maximum(0.0, 1.0 - y * (f + b))).sum())


def balanced(alpha: Floats, Y: Floats) -> Floats:
    """α with yᵀα = 0 for every class: the heavier side is scaled down, so the bounds still hold."""
    alpha, above = np.maximum(alpha, 0.0), Y > 0
    positive, negative = ((alpha * side).sum(axis=1, keepdims=True) for side in (above, ~above))
    lighter = np.minimum(positive, negative)
    tiny = np.finfo(float).tiny  # a side without weight leaves none on the other
    return alpha * np.where(above, lighter / np.maximum(positive, tiny), lighter / np.maximum(negative, tiny))


@dataclass(frozen=True)
class Primal:
    """The objective at (β, w(α), b) with b from exact hinge minimisation."""

    value: float
    intercept: Floats


@_unchecked
def primal(problem: Problem, beta: Floats, alpha: Floats) -> Primal:
    """P of section 5: ½ Σ_m g_m q_m + λ Σ_v c_v β_v^{p_v} + Σ_i C_i ℓ_i, summed over the classes; inf if undefined."""
    A, circuit = alpha * problem.Y, problem.circuit.restricted(beta > 0)
    if circuit.n_terms:
        F = apply_to_samples(circuit, circuit.weights(beta), problem.source, A, problem.n_threads)
    else:
        F = np.zeros_like(A)
    fits = [best_intercept(f, y, problem.C) for f, y in zip(F, problem.Y, strict=True)]
    quadratic = representable((A * F).sum(), A, F)
    value = float(quadratic / 2 + problem.regularizer(beta) + sum(loss for _, loss in fits))
    return Primal(value if np.isfinite(value) else np.inf, np.array([b for b, _ in fits]))


@_unchecked
def quadratic_flows(problem: Problem, alpha: Floats, beta: Floats, circuit: Circuit | None = None) -> Floats:
    """½ Σ_{m through t} g_m(β) q_m(α) for every term t, of a restricted circuit if given: one pass over the kernels."""
    circuit = circuit or problem.circuit
    A, W = alpha * problem.Y, circuit.weights(beta)
    q = term_quadratics(circuit, W, problem.source, A, problem.n_threads)
    return representable(W * q / 2, W, q)


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
    return lambda beta: _mixed_flows(circuit, q, beta)


@_unchecked
def _mixed_flows(circuit: Circuit, q: Floats, beta: Floats) -> Floats:
    """Where K is a weighted sum of kernels: their quadratic forms, weighed."""
    W = circuit.weights(beta)
    return representable(W * (circuit.mixing(W)[1] @ q) / 2, W, q)


def _kernel_quadratics(circuit: Circuit, beta: Floats, quadratics: Floats) -> Floats | None:
    """The quadratic form of every kernel, from that of a term that has it as its argument."""
    slots, term = np.unique(circuit.arguments, return_index=True)
    term = term[slots < len(circuit.leaves)]
    outside = circuit.mixing(circuit.weights(beta))[1][term, np.arange(len(term))]
    return quadratics[term] / outside if (outside > 0).all() else None


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
    """D of section 5 at given α and β̃ > 0."""
    alpha = balanced(alpha, problem.Y)
    flows = quadratic_flows(problem, alpha, witness)
    return Dual(dual_value(problem, alpha, witness, flows), alpha, witness, flows)


def rounding_of_flows(problem: Problem, alpha: Floats, share: float | None = None) -> Callable[[Floats], Floats]:
    """β ↦ (terms,) what rounding may leave of the quadratic flows at α where these are zero.

    Of a kernel Σ_ij α_i |K_ij| α_j ≤ (Σ_i α_i)(Σ_i α_i K_ii), which bounds what is summed. An entry is made of some
    factors, and a quadratic form sums n numbers twice; each of these steps may round. Unless a `share` is given, all
    of them do, and to the same side.
    """
    circuit = problem.circuit
    share = (problem.n + circuit.size) * _EPS if share is None else share
    # The diagonals make one row of a kernel, behind a zero for the row itself.
    rows = {leaf: np.append(0.0, own)[None] for leaf, own in diagonals(problem.source, circuit.leaves).items()}
    weight = np.append(1.0, (alpha.sum(axis=1, keepdims=True) * alpha).sum(axis=0))[None]

    def rounding(beta: Floats) -> Floats:
        W = circuit.weights(beta)
        return share * W * term_responses(circuit, W, MatrixSource(rows), weight)[:, 0, 0] / 2

    return rounding


@_unchecked
def _flows_without_rounding(problem: Problem, alpha: Floats, beta: Floats, usual: Floats) -> Floats:
    """Quadratic flows that are not below the exact ones.

    Of products that is an estimate, which leaves out how entries of K are rounded themselves.
    """
    circuit, mixture, A = problem.circuit, problem.circuit.mixture, alpha * problem.Y
    if mixture is not None:
        q = compensated_forms(problem.source, mixture.leaves, A)
        return (1 + _USUAL_ROUNDING) * _mixed_flows(circuit, q, beta)
    W = circuit.weights(beta)
    by_entry = quadratic_flows(problem, alpha, beta)
    by_row = W * np.einsum("tcn,cn->t", term_responses(circuit, W, problem.source, A, problem.n_threads), A) / 2
    seen = max(np.abs(by_entry - by_row).max(), -min(by_entry.min(), by_row.min(), 0.0))
    return np.maximum(by_entry, by_row) + np.maximum(_SEEN_ROUNDING * seen, _LEAST_ROUNDING * usual)


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


@_unchecked
def dual_value(problem: Problem, alpha: Floats, witness: Floats, flows: Floats) -> float:
    """The closed form, from the flows ½ Σ g_m(β̃) q_m; −inf where no bound is known, or none comes out."""
    if not (problem.bounded and np.isfinite(flows).all()):
        return -np.inf
    value = _closed_form(problem, alpha, witness, flows)
    return value if np.isfinite(value) else -np.inf


def _closed_form(problem: Problem, alpha: Floats, witness: Floats, flows: Floats) -> float:
    positive = alpha > 0
    total = float(alpha.sum())
    if not positive.any():
        return 0.0
    largest = float((np.broadcast_to(problem.C, alpha.shape)[positive] / alpha[positive]).min())
    D = problem.circuit.X.T @ flows  # ∂F/∂log β̃
    price = problem.lam * problem.c
    if problem.convex:
        return _dual_convex(problem.p, price, D / witness, total, largest)
    # In τ = β^p: F(τ) ≤ o + Dᵀτ, o = ½ Σ_m q_m g_m (1 − Σ_v e_mv/p_v).
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
    """max over 0 < s ≤ largest, s² d_v ≤ λ c_v where p_v = 1, of s 1ᵀα − Σ_{p_v>1} conjugate(s² d_v)."""
    lasso, power = p == 1, (p > 1) & (d > 0)
    top = min(largest, _scale_limit(d[lasso], price[lasso]))
    if not power.any():
        return top * total
    # ((p−1)/p) s²d (s²d/(λcp))^{1/(p−1)} = a s^e with e = 2p/(p−1)
    q = p[power]
    e = 2 * q / (q - 1)
    log_a = np.log((q - 1) / q) + np.log(d[power]) + (np.log(d[power]) - np.log(price[power] * q)) / (q - 1)

    def slope(log_s: float) -> float:
        return total - float(np.exp(np.minimum(log_a + np.log(e) + (e - 1) * log_s, 700.0)).sum())

    # At the root of one term alone the sum is already at least `total`.
    high = float(((np.log(total) - log_a - np.log(e)) / (e - 1)).min())
    low = high - np.log(len(q) + 1.0) / float((e - 1).min()) - 1.0
    log_s = min(np.log(top), brentq(slope, low, high + 1e-9) if slope(high + 1e-9) < 0 < slope(low) else low)
    return float(np.exp(log_s) * total - np.exp(log_a + e * log_s).sum())


def kkt_residuals(
    problem: Problem, beta: Floats, alpha: Floats, witness: Floats, objective: float, flows: Floats | None = None
) -> Floats:
    """(V,) |β_v ∂J/∂β_v| over the objective; for a zero weight, how much its component could still gain.

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
    residual = np.abs(slope - D) / max(objective, 1e-300)
    parts = problem.components
    gain, cost = (np.bincount(parts, weights=value / problem.p) for value in (D, slope))
    excess = np.maximum(0.0, gain / np.maximum(cost, 1e-300) - 1.0)
    residual[zero] = excess[parts][zero] if problem.bounded else 0.0
    return residual


def relative_gap(objective: float, bound: float) -> float:
    """(P − D)/P; 0 at the trivial optimum 0, and infinite where one of them is no number, or P one no kernel gives."""
    if not (np.isfinite(objective) and np.isfinite(bound)):
        return np.inf
    if objective > 0:
        return (objective - bound) / objective
    return 0.0 if objective == bound == 0 else np.inf
