"""Algorithm 1 of the paper: alternate between the SVM at fixed β and projected gradient on β at fixed w.

For teaching and comparison. Two silences are filled: every step must decrease the objective, and a weight shrinks at
most five-fold per step, because at 0 its paths would cost ‖w_m‖²/0 = ∞ (formulation, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spnmkl.certificate import Dual, quadratic_flows, relative_gap
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.problem import Problem
from spnmkl.solvers.bound import search_dual
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.solvers.iterate import Iterate

PRUNED_FRACTION = 1e-7  # of the largest weight
_INNER_STEPS, _SMALL = 30, 1e-6  # of the gradient at fixed w; of the objective: a step that gains less is the last
_TRIALS, _SHRINK, _LONGEST = 30, 0.3, 100  # of the step length; how much shorter, and how much longer it becomes
_ARMIJO = 1e-4  # of the predicted fall: what a step must achieve
_LEAST = 0.2  # of itself: a weight after one step
_BOUND_EVERY, _BOUND_ROUNDS = 5, 4  # alternations between two bounds; witnesses for each
_SVM_SHARE, _ROUGHEST = 0.02, 0.05  # of the gap, left to the SVM's own error; a gap that counts as no more


def paper(problem: Problem, beta: Floats, tol: float) -> Iterator[Iterate]:
    """Yield after every alternation."""
    evaluator = Evaluator(problem)
    dual = Dual(-np.inf, np.zeros_like(problem.Y), np.ones(len(beta)))
    best, stationarity, iteration, step = np.inf, 1.0, 0, 1.0
    while True:
        distance = relative_gap(best, dual.value) if problem.bounded else stationarity
        point = evaluator.evaluate(beta, _SVM_SHARE * max(tol, min(distance, _ROUGHEST)) * min(best, problem.C.sum()))
        best = min(best, point.objective)
        alive = beta > 0
        circuit = evaluator.active(alive)
        D = circuit.X.T @ quadratic_flows(problem, point.alpha, beta, circuit)
        residual = np.abs(problem.regularizer_slope(beta) - D)[alive].max(initial=0.0)
        stationarity = max(float(residual), point.svm_error) / point.objective
        if problem.bounded and iteration % _BOUND_EVERY == 0:
            inner = np.where(alive, beta, dual.witness)
            found = search_dual(problem, point.alpha, inner, target=(1 - tol) * best, rounds=_BOUND_ROUNDS)
            dual = found if found.value > dual.value else dual
        yield Iterate(
            beta,
            point.alpha,
            point.intercept,
            point.objective,
            dual,
            stationarity,
            circuit.size,
            evaluator.evaluations,
            method="paper",
        )
        if not problem.bounded and stationarity <= tol:
            return
        beta, step = _beta_step(problem, circuit, point.alpha, beta, step)
        beta = _pruned(problem, beta, D)
        iteration += 1


def _beta_step(problem: Problem, circuit: Circuit, alpha: Floats, old: Floats, step: float) -> tuple[Floats, float]:
    """Projected gradient on eq. 23: at fixed w."""
    alive = old > 0

    def regularizer(beta: Floats) -> tuple[float, Floats]:
        moved = np.where(alive, old**2 / np.where(alive, beta, 1.0), 0.0)
        flows = quadratic_flows(problem, alpha, moved, circuit)  # eq. 23
        value = flows[circuit.operation_start[-2] :].sum() + problem.regularizer(beta)
        slope = problem.regularizer_slope(beta) - circuit.X.T @ flows
        return float(value), np.where(alive, slope / np.where(alive, beta, 1.0), 0.0)

    beta, (value, gradient) = old, regularizer(old)
    for _ in range(_INNER_STEPS):
        accepted = False
        for _ in range(_TRIALS):
            trial = np.maximum(beta - step * gradient, _LEAST * beta)
            trial_value, trial_gradient = regularizer(trial)
            if trial_value <= value + _ARMIJO * float(gradient @ (trial - beta)):
                accepted = True
                break
            step *= _SHRINK
        if not accepted:
            break
        moved, turned = trial - beta, trial_gradient - gradient
        bend = float(moved @ turned)
        step = min(float(moved @ moved) / bend, _LONGEST * step) if bend > 0 else 2 * step  # Barzilai–Borwein
        small = value - trial_value <= _SMALL * abs(value)
        beta, value, gradient = trial, trial_value, trial_gradient
        if small:
            break
    return beta, step


def _pruned(problem: Problem, beta: Floats, D: Floats) -> Floats:
    """Zero is absorbing here: a weight goes to zero when it is negligible and its KKT condition asks for less."""
    gone = (beta < PRUNED_FRACTION * beta.max()) & (problem.regularizer_slope(beta) >= D)
    return np.where(gone, 0.0, beta)
