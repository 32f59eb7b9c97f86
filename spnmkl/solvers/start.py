"""Where to begin: the smallest useful C (formulation, section 7) and a first scale of the weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from spnmkl.certificate import flows_at, improved_witness
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import EveryKth, MatrixSource
from spnmkl.problem import Problem
from spnmkl.solvers.svm import least_norm, solve_svm

_SAMPLE = 250
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

    V = min over a ∈ A0 of max over cᵀβ = 1 of F(β; a), by alternating between a and β.
    """
    c, Y, s = problem.c, problem.Y, problem.C
    beta = np.full(len(c), 1.0 / c.sum())
    a, lower = light_side(Y, s)
    K = np.empty((problem.n, problem.n))
    lowest, highest = 0.0, np.inf  # of V
    best = beta
    for _ in range(max_rounds):
        kernel_matrix(problem.circuit, problem.circuit.weights(beta), problem.source, K, problem.n_threads)
        a = np.array([least_norm(K, y, low, s, start, 1e-8) for y, low, start in zip(Y, lower, a, strict=True)])
        flows_of = flows_at(problem, a)
        flows = flows_of(beta)
        D = np.maximum(problem.circuit.X.T @ flows, 0.0)  # a constant kernel's may round to less
        value = D.sum() / (c * beta).sum()
        if value > lowest:
            lowest, best = value, beta
        witness = np.maximum(beta, 1e-4 * beta.max())
        for _ in range(4):
            witness_flows = flows_of(witness)
            steepest = ((problem.circuit.X.T @ witness_flows) / (witness * c)).max()
            if steepest >= highest * (1 - 1e-6):
                break
            highest = steepest
            witness = improved_witness(problem, witness, witness_flows)
        low, high = ((problem.lam / V) ** 0.5 if V > 0 else np.inf for V in (highest, lowest))
        yield Bracket(low, high, best, a)
        if highest <= 0:
            return  # the kernels tell no two samples of different classes apart
        beta = np.sqrt(beta * D / c)
        beta = np.maximum(beta / (c * beta).sum(), 1e-13 * beta.max())


def light_side(Y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """A feasible a of A0 per class, and its lower bounds (a = s on the lighter side)."""
    positive = np.where(Y > 0, s, 0.0).sum(axis=1, keepdims=True)
    negative = s.sum() - positive
    light = np.where(positive <= negative, Y > 0, Y < 0)
    ratio = np.minimum(positive, negative) / np.maximum(positive, negative)
    return np.where(light, s, s * ratio), np.where(light, s, 0.0)


def first_weights(problem: Problem, direction: Floats | None = None) -> Floats:
    """A direction (equal weights) at the scale that is best on a sample of the rows."""
    trials = list(_scales(problem, np.ones(len(problem.p)) if direction is None else direction))
    return min(trials, key=lambda trial: problem.regularizer(trial[0]) + trial[1])[0]


def fitting_weights(problem: Problem, share: float | None = None) -> Floats:
    """Equal weights at the smallest scale at which the SVM leaves at most this share of the trivial objective.

    By default at the scale where the objective is least, among those that leave at most four fifths.
    """
    trials = list(_scales(problem, np.ones(len(problem.p))))
    fitted = [trial for trial in trials if trial[1] <= (share or 0.8) * trivial_objective(problem)] or trials[-1:]
    if share is not None:
        return fitted[0][0]
    return min(fitted, key=lambda trial: problem.regularizer(trial[0]) + trial[1])[0]


def _scales(problem: Problem, direction: Floats) -> Iterator[tuple[Floats, float]]:
    """Ever larger multiples of a direction with the value of their SVM, on a sample of the rows.

    K(tβ) = tK(β), so one kernel serves all scales.
    """
    step = _balanced_step(problem, max(1, problem.n // _SAMPLE))
    source = EveryKth(problem.source, step)
    C, Y = _sampled_labels(problem, step)
    K = kernel_matrix(problem.circuit, problem.circuit.weights(direction), source, np.empty((len(C), len(C))))
    level = float(np.trace(K)) / len(K) or 1.0
    alpha = np.zeros_like(Y)
    for t in 10.0 ** np.arange(-3.0, 4.1, 0.5) / level:
        fits = [solve_svm(t * K, y, C, a, 0.01 * C.sum(), 200_000) for y, a in zip(Y, alpha, strict=True)]
        alpha = np.array([fit.alpha for fit in fits])
        yield t * direction, sum(fit.dual for fit in fits)


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


def trivial_objective(problem: Problem) -> float:
    """J(0): the hinge loss of the best constant classifier, over the classes."""
    positive = np.where(problem.Y > 0, problem.C, 0.0).sum(axis=1)
    return float(2 * np.minimum(positive, problem.C.sum() - positive).sum())


def _balanced_step(problem: Problem, step: int) -> int:
    """Every so many rows make a sample that sees both sides of every class, in whatever order the rows come."""
    for candidate in range(step, min(2 * step + 3, problem.n)):
        signs = problem.Y[:, ::candidate] * (problem.C[::candidate] > 0)
        if (signs.max(axis=1) > 0).all() and (signs.min(axis=1) < 0).all():
            return candidate
    return step
