"""Where to begin: the smallest useful C (formulation, section 7) and a first scale of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from spnmkl.certificate import balanced, flows_at
from spnmkl.circuit.evaluate import kernel_matrix, representable, term_responses
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import EveryKth, MatrixSource, diagonals
from spnmkl.problem import Problem
from spnmkl.solvers.bound import improved_witness
from spnmkl.solvers.iterate import trivial_objective
from spnmkl.solvers.svm import SVMSolution, least_norm, solve_svm

_SAMPLE = 250
_ROUNDS, _SETTLED = 8, 0.3  # steps to a scale; a change of it, as a logarithm, that does not matter
_ROUGH_STEPS = 40  # of SMO, per row: a scale needs no more than a rough value
_COARSE_ROWS = 150  # below, the rows left out are not worth a problem of their own
_COARSE_SHARE, _COARSE_ENTRIES = 1.6, 2**26  # of the copied kernels: at most so many n×n, and at most half a gigabyte


@dataclass(frozen=True)
class Bracket:
    """low ≤ C_min ≤ high as multiples of the problem's C; with the β and the a ∈ A0 behind them."""

    low: float
    high: float
    beta: Floats
    a: Floats


def smallest_C(problem: Problem, max_rounds: int = 400) -> Iterator[Bracket]:
    """Ever tighter brackets of C_min; needs p = 1 throughout.

    V = min over a ∈ A0 of max over cᵀβ = 1 of F(β; a), by alternating between a and β. Flows that rounding alone can
    leave are none: where that is all of them, V = 0 and no C is enough.
    """
    c, X = problem.c, problem.circuit.X
    root = slice(problem.circuit.operation_start[-2], None)
    beta = np.full(len(c), 1.0 / c.sum())
    a, _ = light_side(problem.Y, problem.C)
    K = np.empty((problem.n, problem.n))
    lowest, highest = 0.0, np.inf  # of V
    best = beta
    for _ in range(max_rounds):
        kernel_matrix(problem.circuit, problem.circuit.weights(beta), problem.source, K, problem.n_threads)
        a, floor = _least_energy(problem, K, a)
        flows_of = _flows_above_rounding(problem, a)
        flows, noise = flows_of(beta)
        D = X.T @ flows
        value = (floor - noise[root].sum()) / (c * beta).sum()
        if value > lowest:
            lowest, best = value, beta
        witness = np.maximum(beta, 1e-4 * beta.max())
        for _ in range(4):
            witness_flows, _ = flows_of(witness)
            steepest = ((X.T @ witness_flows) / (witness * c)).max()
            if steepest >= highest * (1 - 1e-6):
                break
            highest = steepest
            witness = improved_witness(problem, witness, witness_flows)
        low, high = ((problem.lam / V) ** 0.5 if V > 0 else np.inf for V in (highest, lowest))
        yield Bracket(low, high, best, a)
        if highest <= 0 or (problem.stop is not None and problem.stop()):
            return
        beta = np.sqrt(beta * D / c) if D.any() else witness
        beta = beta / (c * beta).sum()
        beta = np.maximum(beta, 1e-13 * beta.max())


@np.errstate(over="ignore")
def _least_energy(problem: Problem, K: Floats, a: Floats) -> tuple[Floats, float]:
    """The a ∈ A0 of least energy ½ Σ_c (a_c∘y_c)ᵀK(a_c∘y_c), begun at the last one, and what none is below."""
    Y, s = problem.Y, problem.C
    _, lower = light_side(Y, s)
    representable(a.sum(axis=1) ** 2 * np.diagonal(K).max())  # all that follows is at most that
    a = np.array([least_norm(K, y, low, s, start, 1e-8) for y, low, start in zip(Y, lower, a, strict=True)])
    G = Y * ((a * Y) @ K)
    # The energy is convex, so above its tangent, which is least where the smallest forces take all.
    least = sum(g @ _least_along(g, low, s, own.sum()) for g, low, own in zip(G, lower, a, strict=True))
    return a, float(least - (a * G).sum() / 2)


def _least_along(g: Floats, lower: Floats, upper: Floats, total: float) -> Floats:
    """argmin gᵀa over lower ≤ a ≤ upper with the given total."""
    order = np.argsort(g)
    room = (upper - lower)[order]
    a = lower.copy()
    a[order] += np.clip(total - lower.sum() - (np.cumsum(room) - room), 0.0, room)
    return a


def _flows_above_rounding(problem: Problem, a: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
    """β ↦ its quadratic flows at a, in two parts: those that are seen, and those that rounding alone may leave."""
    flows_of, rounding_of = flows_at(problem, a), rounding_of_flows(problem, a)

    def split(beta: Floats) -> tuple[Floats, Floats]:
        flows = flows_of(beta)
        seen = flows > rounding_of(beta)
        return np.where(seen, flows, 0.0), np.where(seen, 0.0, flows)

    return split


def rounding_of_flows(problem: Problem, alpha: Floats) -> Callable[[Floats], Floats]:
    """β ↦ (terms,) what rounding may leave of the quadratic flows at α where these are zero.

    Of a kernel Σ_ij α_i |K_ij| α_j ≤ (Σ_i α_i)(Σ_i α_i K_ii), which bounds what is summed. An entry is made of some
    factors, and a quadratic form sums n numbers twice; each of these steps may round.
    """
    circuit = problem.circuit
    share = (problem.n + circuit.size) * np.finfo(float).eps
    # The diagonals make one row of a kernel, behind a zero for the row itself.
    rows = {leaf: np.append(0.0, own)[None] for leaf, own in diagonals(problem.source, circuit.leaves).items()}
    weight = np.append(1.0, (alpha.sum(axis=1, keepdims=True) * alpha).sum(axis=0))[None]

    def rounding(beta: Floats) -> Floats:
        W = circuit.weights(beta)
        return share * W * term_responses(circuit, W, MatrixSource(rows), weight)[:, 0, 0] / 2

    return rounding


def light_side(Y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """A feasible a of A0 per class, and its lower bounds (a = s on the lighter side)."""
    positive = np.where(Y > 0, s, 0.0).sum(axis=1, keepdims=True)
    negative = s.sum() - positive
    light = np.where(positive <= negative, Y > 0, Y < 0)
    ratio = np.minimum(positive, negative) / np.maximum(positive, negative)
    return np.where(light, s, s * ratio), np.where(light, s, 0.0)


def first_weights(problem: Problem, direction: Floats | None = None) -> Floats:
    """A direction (equal weights) at the scale that is best on a sample of the rows, by steps as of `Workspace`."""
    direction = np.ones(len(problem.p)) if direction is None else direction
    K, Y, C = _sample(problem, direction)
    p, alpha = float(problem.p.min()), np.zeros_like(Y)
    best, best_value = direction, np.inf
    t = 1.0 / (float(np.trace(K)) / len(K) or 1.0)
    K *= t
    for _ in range(_ROUNDS):
        fits, alpha = _rough(K, Y, C, alpha)
        value = problem.regularizer(t * direction) + sum(fit.dual for fit in fits)
        if value < best_value:
            best, best_value = t * direction, value
        F, slope = (
            sum(float(fit.alpha.sum()) - fit.dual for fit in fits),
            problem.regularizer_slope(t * direction).sum(),
        )
        change = min(max((F / slope) ** (1 / (p + 1)), 0.02), 50.0) if F > 0 else 0.1
        if abs(np.log(change)) < _SETTLED:
            break
        t *= change
        K *= change
        alpha = balanced(np.minimum(alpha / change, C), Y)
    return best


def fitting_weights(problem: Problem, share: float | None = None) -> Floats:
    """Equal weights at the smallest scale at which the SVM leaves at most this share of the trivial objective.

    By default at the scale where the objective is least among those that leave at most four fifths.
    """
    ones, best = np.ones(len(problem.p)), (np.inf, 0.0)
    K, Y, C = _sample(problem, ones)
    level = float(np.trace(K)) / len(K) or 1.0
    alpha = np.zeros_like(Y)
    for t in 10.0 ** np.arange(-3.0, 4.1, 0.5) / level:
        fits, alpha = _rough(t * K, Y, C, alpha)
        value = sum(fit.dual for fit in fits)
        if value <= (share or 0.8) * trivial_objective(problem):
            best = min(best, (value + problem.regularizer(t * ones), t))
            if share is not None:
                break
    return (best[1] or t) * ones


def _sample(problem: Problem, beta: Floats) -> tuple[Floats, Floats, Floats]:
    """K(β) on a sample of the rows, their labels, and C with the same total."""
    step = _balanced_step(problem, max(1, problem.n // _SAMPLE))
    source = problem.source if step == 1 else EveryKth(problem.source, step)
    C, Y = _sampled_labels(problem, step)
    K = kernel_matrix(problem.circuit, problem.circuit.weights(beta), source, np.empty((len(C), len(C))))
    return K, Y, C


def _rough(K: Floats, Y: Floats, C: Floats, alpha: Floats) -> tuple[list[SVMSolution], Floats]:
    gap, most = 0.01 * C.sum(), _ROUGH_STEPS * len(C)
    fits = [solve_svm(K, y, C, a, gap, most) for y, a in zip(Y, alpha, strict=True)]
    return fits, np.array([fit.alpha for fit in fits])


def coarse(problem: Problem) -> Problem | None:
    """The problem on every fourth row or fewer, whose kernels are copied; None where that is too few rows."""
    room = min(_COARSE_SHARE * problem.n**2, _COARSE_ENTRIES)
    step = _balanced_step(problem, max(4, int(np.ceil(problem.n * np.sqrt(len(problem.circuit.leaves) / room)))))
    source = EveryKth(problem.source, step)
    if source.shape[0] < _COARSE_ROWS:
        return None
    leaves = problem.circuit.leaves
    C, Y = _sampled_labels(problem, step)
    if (C <= 0).all():
        return None
    return replace(problem, source=MatrixSource(source.matrices(leaves)), Y=Y, C=C)


def _sampled_labels(problem: Problem, step: int) -> tuple[Floats, Floats]:
    """C of the sampled rows, with the same total, and their labels."""
    rows = slice(0, None, step)
    C = problem.C[rows] * (problem.C.sum() / max(problem.C[rows].sum(), 1e-300))
    return C, np.ascontiguousarray(problem.Y[:, rows])


def _balanced_step(problem: Problem, step: int) -> int:
    """Every so many rows make a sample that sees both sides of every class, in whatever order the rows come."""
    for candidate in range(step, min(2 * step + 3, problem.n)):
        signs = problem.Y[:, ::candidate] * (problem.C[::candidate] > 0)
        if (signs.max(axis=1) > 0).all() and (signs.min(axis=1) < 0).all():
            return candidate
    return step
