"""Where to begin: a first scale of the weights, and the problem on some of the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spnmkl.certificate import balanced
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import EveryKth, KernelSource, MatrixSource, is_computed
from spnmkl.problem import Problem
from spnmkl.solvers.iterate import trivial_objective
from spnmkl.solvers.svm import SVMSolution, solve_svm

_SAMPLE = 250  # rows, or a little more, on which a first scale is found
_ROUNDS, _SETTLED = 8, 0.3  # steps to a scale; a change of it, as a logarithm, that does not matter
_ROUGH_STEPS = 40  # of SMO, per row: a scale needs no more than a rough value
_ROUGH = 0.01  # of Σ C: the error of these SVMs
_NO_MARGIN = 0.1  # the change of a scale at which the SVM gives the weights nothing to do
_LEAST_CHANGE, _MOST_CHANGE = 0.02, 50.0  # of a scale at once
_FITS = 0.8  # of the trivial objective: an SVM that leaves less fits
_SCALES = (-3.0, 4.1, 0.5)  # powers of ten, over the mean of the diagonal: scales that are tried for p < 1
_NOTHING = 1e-300  # instead of 0 as a divisor
_COARSE_STEP = 4  # every so many rows at least make the coarse problem
_COMPUTED_STEP = 2  # the same where kernels are computed, and the coarse problem has a coarse one itself
_COARSE_ROWS = 150  # below, the rows left out are not worth a problem of their own
_COARSE_SHARE, _COARSE_ENTRIES = 1.6, 2**26  # of the copied kernels: at most so many n×n, and at most half a gigabyte


def first_weights(problem: Problem, direction: Floats | None = None) -> Floats:
    """A direction (equal weights) at the scale that is best on a sample of the rows, by steps as of `Evaluator`."""
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
        change = better_scale(F, slope, p)
        if abs(np.log(change)) < _SETTLED:
            break
        t *= change
        K *= change
        alpha = balanced(np.minimum(alpha / change, C), Y)
    return best


def better_scale(F: float, slope: float, p: float) -> float:
    """The t of eq. 22, within bounds, at which tβ is best for the present w; slope = p R₂."""
    if not (F > 0 and slope > 0):
        return _NO_MARGIN if F <= 0 else 1.0
    best = (np.log(F) - np.log(slope)) / (p + 1)  # eq. 22
    return float(np.exp(np.clip(best, np.log(_LEAST_CHANGE), np.log(_MOST_CHANGE))))


def fitting_weights(problem: Problem, share: float | None = None) -> Floats:
    """Equal weights at the smallest scale at which the SVM leaves at most this share of the trivial objective.

    By default at the scale where the objective is least among those that leave at most four fifths.
    """
    ones, best = np.ones(len(problem.p)), (np.inf, 0.0)
    K, Y, C = _sample(problem, ones)
    level = float(np.trace(K)) / len(K) or 1.0
    alpha = np.zeros_like(Y)
    for t in 10.0 ** np.arange(*_SCALES) / level:
        fits, alpha = _rough(t * K, Y, C, alpha)
        value = sum(fit.dual for fit in fits)
        if value <= (share or _FITS) * trivial_objective(problem):
            best = min(best, (value + problem.regularizer(t * ones), t))
            if share is not None:
                break
    return (best[1] or t) * ones


def _sample(problem: Problem, beta: Floats) -> tuple[Floats, Floats, Floats]:
    """K(β) on a sample of the rows, their labels, and C with the same total."""
    step = balanced_step(problem.Y, problem.C, max(1, problem.n // _SAMPLE)) or max(1, problem.n // _SAMPLE)
    source = problem.source if step == 1 else EveryKth(problem.source, step)
    C, Y = _sampled_labels(problem, step)
    K = kernel_matrix(problem.circuit, problem.circuit.weights(beta), source, np.empty((len(C), len(C))))
    return K, Y, C


def _rough(K: Floats, Y: Floats, C: Floats, alpha: Floats) -> tuple[list[SVMSolution], Floats]:
    gap, most = _ROUGH * C.sum(), _ROUGH_STEPS * len(C)
    fits = [solve_svm(K, y, C, a, gap, most) for y, a in zip(Y, alpha, strict=True)]
    return fits, np.array([fit.alpha for fit in fits])


def coarse(problem: Problem) -> Problem | None:
    """The problem on every fourth row or fewer, whose kernels are copied; None if too few.

    Where kernels are computed there is nothing to copy: on every second row.
    """
    if is_computed(problem.source):
        least = _COMPUTED_STEP
    else:
        room = min(_COARSE_SHARE * problem.n**2, _COARSE_ENTRIES)
        least = max(_COARSE_STEP, int(np.ceil(problem.n * np.sqrt(len(problem.circuit.leaves) / room))))
    step = balanced_step(problem.Y, problem.C, least)
    if step == 0 or -(-problem.n // step) < _COARSE_ROWS:
        return None
    C, Y = _sampled_labels(problem, step)
    if (C <= 0).all():
        return None
    return replace(problem, source=_sampled_source(problem, step), Y=Y, C=C)


def _sampled_source(problem: Problem, step: int) -> KernelSource:
    if is_computed(problem.source):
        return problem.source.among(np.arange(0, problem.n, step))
    return MatrixSource(EveryKth(problem.source, step).matrices(problem.circuit.leaves))


def _sampled_labels(problem: Problem, step: int) -> tuple[Floats, Floats]:
    """C of the sampled rows, with the same total, and their labels."""
    rows = slice(0, None, step)
    C = problem.C[rows] * (problem.C.sum() / max(problem.C[rows].sum(), _NOTHING))
    return C, np.ascontiguousarray(problem.Y[:, rows])


def balanced_step(Y: Floats, C: Floats, step: int) -> int:
    """Every so many rows make a sample that sees both sides of every class, whatever their order; 0 if none do."""
    for candidate in range(step, min(2 * step + 3, len(C))):
        signs = Y[:, ::candidate] * (C[::candidate] > 0)
        if (signs.max(axis=1) > 0).all() and (signs.min(axis=1) < 0).all():
            return candidate
    return 0
