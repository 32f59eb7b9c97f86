"""The smallest useful C where all p are 1 (formulation, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spnmkl.circuit.evaluate import kernel_matrix, representable
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.rounding import rounding_of_flows
from spnmkl.solvers.bound import flows_at, improved_witness
from spnmkl.solvers.svm import least_norm

_STEPS_PER_ROW, _CHEAP_STEPS = 50, 20_000  # of SMO in a round: what it lacks then, the bracket allows for
_PATIENCE, _PROGRESS = 40, 0.9  # rounds in which the bracket, as a logarithm, must narrow to so much of itself
_MOST_ROUNDS = 400  # before a bracket is left as it is
_ACCURACY = 1e-8  # of the largest force: the KKT violation that SMO may leave
_WITNESS_FLOOR, _WITNESSES = 1e-4, 4  # of the largest weight: β̃; witnesses tried in a round
_LOWER = 1e-6  # of the upper end: a witness that brings less is the last
_FLOOR = 1e-13  # of the largest weight: zero would be for ever


@dataclass(frozen=True)
class Bracket:
    """low ≤ C_min ≤ high as multiples of the problem's C; with the β and the a ∈ A0 behind them."""

    low: float
    high: float
    beta: Floats
    a: Floats


def smallest_C(problem: Problem, max_rounds: int = _MOST_ROUNDS) -> Iterator[Bracket]:
    """Ever tighter brackets of C_min (eq. 17); needs p = 1 throughout.

    V is bracketed by alternating between a and β (eq. 18). Flows that rounding alone can
    leave are none: where that is all of them, V = 0 and no C is enough.
    """
    c, X = problem.c, problem.circuit.X
    root = slice(problem.circuit.operation_start[-2], None)
    beta = np.full(len(c), 1.0 / c.sum())
    a, _ = light_side(problem.Y, problem.C)
    K = np.empty((problem.n, problem.n))
    lowest, highest = 0.0, np.inf  # of V
    best, widths = beta, list[float]()
    for _ in range(max_rounds):
        kernel_matrix(problem.circuit, problem.circuit.weights(beta), problem.source, K, problem.n_threads)
        a, floor = _least_energy(problem, K, a)
        flows_of = _flows_above_rounding(problem, a)
        flows, noise = flows_of(beta)
        D = X.T @ flows
        value = (floor - noise[root].sum()) / (c * beta).sum()  # ≤ V
        if value > lowest:
            lowest, best = value, beta
        witness = np.maximum(beta, _WITNESS_FLOOR * beta.max())
        for _ in range(_WITNESSES):
            witness_flows, _ = flows_of(witness)
            steepest = ((X.T @ witness_flows) / (witness * c)).max()  # ≥ V
            if steepest >= highest * (1 - _LOWER):
                break
            highest = steepest
            witness = improved_witness(problem, witness, witness_flows)
        low, high = ((problem.lam / V) ** 0.5 if V > 0 else np.inf for V in (highest, lowest))
        yield Bracket(low, high, best, a)
        widths.append(high / low if low < np.inf else 1.0)
        stuck = len(widths) > _PATIENCE and np.log(widths[-1]) > _PROGRESS * np.log(widths[-1 - _PATIENCE])
        if highest <= 0 or stuck or (problem.stop is not None and problem.stop()):
            return
        beta = np.sqrt(beta * D / c) if D.any() else witness  # eq. 18
        beta = beta / (c * beta).sum()
        beta = np.maximum(beta, _FLOOR * beta.max())


@np.errstate(over="ignore")
def _least_energy(problem: Problem, K: Floats, a: Floats) -> tuple[Floats, float]:
    """The a ∈ A0 of least energy ½ Σ_c (a_c∘y_c)ᵀK(a_c∘y_c), begun at the last one, and what none is below."""
    Y, s = problem.Y, problem.C
    _, lower = light_side(Y, s)
    representable(a.sum(axis=1) ** 2 * np.diagonal(K).max())  # all that follows is at most that
    a = np.array(
        [
            least_norm(K, y, low, s, start, _ACCURACY, _STEPS_PER_ROW * len(s) + _CHEAP_STEPS)
            for y, low, start in zip(Y, lower, a, strict=True)
        ]
    )
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


def light_side(Y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """A feasible a of A0 per class, and its lower bounds (a = s on the lighter side)."""
    positive = np.where(Y > 0, s, 0.0).sum(axis=1, keepdims=True)
    negative = s.sum() - positive
    light = np.where(positive <= negative, Y > 0, Y < 0)
    ratio = np.minimum(positive, negative) / np.maximum(positive, negative)
    return np.where(light, s, s * ratio), np.where(light, s, 0.0)
