"""Which components of the weights are looked at, pruned and seeded anew (formulation, section 6).

With p = 1 weights vanish by whole components. Newton's steps, relative to the weights, neither reach zero there nor
come back from it: both are tried here, each by its own evaluation of J.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Circuit, Floats
from spnmkl.problem import Problem
from spnmkl.solvers.evaluator import Point

_PATIENCE = 4  # iterations between two looks at the pruned part
_CHEAP = 4  # so much more work than without the pruned part is always worth a look at it
_COLLAPSED = 0.05  # share of λ cᵀβ below which pruning a whole component is tried
_FADED = 1e-3  # share below which growing back step by step would take too long: it is seeded anew
_LATER = 0.2  # the share falls to so much of itself after a pruning in vain, or a seeding
_DOUBT, _MOST_DOUBT = 2, 0.9  # times the root of the gap, as which α moves: a component must lose so clearly
_GAINS = 1e-7  # what a component gains beyond its cost is more than rounding
_SEED, _SEED_SHRINK, _SEEDINGS = 1e-2, 0.2, 6  # of cᵀβ: the first size of a seed, its fall, and how many are tried
_EXACTLY = 1e-12  # what e_mv and p_v may differ by in rounding

Evaluate = Callable[[Floats], Point]


@dataclass(frozen=True)
class Verdict:
    """A component, and the direction to seed it with; None: prune it."""

    part: NDArray[np.bool_]
    direction: Floats | None


class Pruning:
    """What is known about components between iterations.

    Attributes
    ----------
    alone : (V,) weights that can be zero alone; these Newton's own steps take to zero and back.
    limits : (components,) the share of λ cᵀβ below which a component is tried at zero.
    since_look : iterations since the pruned part was looked at.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.alone = vanishes_alone(problem)
        self.limits = np.full(problem.components.max() + 1, _COLLAPSED)
        self.since_look = _PATIENCE  # zeros of the start are looked at once

    def wants_look(self, beta: Floats, active: Circuit, near: bool) -> bool:
        """Whether the pruned part is worth a look now: near the end, where it costs little, and now and then."""
        cheap = self.problem.circuit.size <= _CHEAP * active.size
        if (beta > 0).all() or not (near or cheap or self.since_look >= _PATIENCE):
            self.since_look += 1
            return False
        self.since_look = 0
        return True

    def verdicts(self, beta: Floats, witness: Floats, flows: Floats, gap: float) -> list[Verdict]:
        """Collapsed components that vanish as a whole: at fixed α, can they pay for themselves (eq. 15)?"""
        problem = self.problem
        found: list[Verdict] = []
        D, slope = problem.circuit.X.T @ flows, problem.regularizer_slope(witness)
        gain, cost = D / problem.p, slope / problem.p
        weight = problem.regularizer_slope(beta) / problem.p
        doubt = min(_MOST_DOUBT, _DOUBT * max(0.0, gap) ** 0.5)
        for k in np.flatnonzero(problem.homogeneous):
            part = problem.components == k
            if weight[part].sum() > self.limits[k] * weight.sum() or self.alone[part].all():
                continue
            if gain[part].sum() > (1 + _GAINS) * cost[part].sum():
                if weight[part].sum() < _FADED * weight.sum():
                    found.append(Verdict(part, witness))
            elif (D[part] < (1 - doubt) * slope[part]).all() and (beta[part] > 0).any():
                found.append(Verdict(part, None))
        return found

    def carried_out(self, point: Point, verdicts: list[Verdict], evaluate: Evaluate) -> Point | None:
        """Prune all that should go at once, seed one by one; each only where that lowers J. None: nothing did."""
        result = self._pruned(point, verdicts, evaluate)
        for verdict in verdicts:
            if verdict.direction is not None:
                result = self._seeded(result or point, verdict.part, verdict.direction, evaluate) or result
        return result

    def _pruned(self, point: Point, verdicts: list[Verdict], evaluate: Evaluate) -> Point | None:
        gone = np.any([v.part for v in verdicts if v.direction is None] or [np.zeros_like(self.alone)], axis=0)
        if not gone.any():
            return None
        trial = evaluate(np.where(gone, 0.0, point.beta))
        if trial.value <= point.value + point.svm_error:
            return trial
        self.limits[self.problem.components[gone]] *= _LATER  # too early: not again before it has shrunk further
        return None

    def _seeded(self, base: Point, part: NDArray[np.bool_], direction: Floats, evaluate: Evaluate) -> Point | None:
        c = self.problem.c
        share = direction[part] / (c[part] * direction[part]).sum()
        size = _SEED * ((c * base.beta).sum() or 1.0)
        for _ in range(_SEEDINGS):
            beta = base.beta.copy()
            beta[part] = size * share
            if (c * beta)[part].sum() <= (c * base.beta)[part].sum():
                return None
            trial = evaluate(beta)
            if trial.value < base.value:
                self.limits[self.problem.components[part]] *= _LATER  # or it might be pruned and seeded for ever
                return trial
            size *= _SEED_SHRINK
        return None


def vanishes_alone(problem: Problem) -> NDArray[np.bool_]:
    """Eq. 16 for one weight at zero: e_mv ≥ p_v on every path through v."""
    return problem.circuit.smallest_exponents >= problem.p - _EXACTLY
