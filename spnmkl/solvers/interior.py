"""Path following on the barrier problem (formulation, section 11), for p ≥ 1.

J_μ (eq. 25) is smooth and strictly convex, and at a centred pair the certificate's bound is within about (2nk + V)μ of
the objective (eq. 27). Every outer iteration centres α at K(β) without a pass over the kernels, takes one pass for the
responses, and a Newton step in (α, β) at a smaller μ. Steps are accepted by their slope, not by values, which are noise
near the end. The handbook (docs/handbook.md) tells the steps in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spnmkl.certificate import Dual, dual_value, relative_gap
from spnmkl.circuit.measure import second_moment
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.barrier import Barrier, PathPoint
from spnmkl.solvers.centring import Inside, longest_inside
from spnmkl.solvers.iterate import Iterate, trivial_objective
from spnmkl.solvers.path_end import Ending
from spnmkl.solvers.path_start import Start, first_point
from spnmkl.solvers.qp import bounded_step
from spnmkl.solvers.shifted import ShiftedKernel

_LOW, _HIGH = -0.97, 8.0  # box of the relative step z
_HIGHER = 3  # times: how fast the box opens again after it was cut; its lower end by a square root of what is left
_TRIALS, _SHORTENED, _SHORTER = 10, 6, 0.3  # steps tried; from so many on the whole step is shortened, by so much each
_SMALLER_BOX = 0.3  # of itself: the box after a centre was not found
_ACCEPTED = 0.4  # of the predicted slope: what may be left of it at the new point
_SLACK = 1e-3  # of μ: a slope that is none
_CENTRED, _CENTRED_SHARE = 0.02, 1e-3  # of μ√n: the decrement of a centre; or of the predicted slope, if that is more
_OVERSHOT = 0.02  # of the whole rise: a weight with more has its own bound cut
_SECANT, _NO_SECANT = (0.15, 0.7), 0.3  # of its step: where the bound is cut to; and where slopes have one sign
_STAY_INSIDE = 0.9  # of the way to a bound of α
_MULTIPLIERS = 10  # a multiplier of β ≥ 0 is within this factor of μ
_FIRST_FALL = 0.2  # by how much μ falls at first
_FAST, _LARGE, _CUT = 0.07, 0.15, 0.3  # and later: after a step taken at once, a large one, one cut once
_SMALL_STEP = 1.0  # of |z|: below, a step is not large
_LAST_MU, _LOWER, _LOWER_EVERY = 0.25, 0.2, 4  # of tol P/N: where μ ends; falls so after so many iterations there
_ARRIVED = 1.0001  # times the last μ: μ is there
_BEHIND, _FAR_AHEAD = 0.05, 0.1  # of the gap over N: μ below is ahead of what is proved; of that: far ahead
_PATIENCE, _AT_FIRST, _PROGRESS = 20, 5, 0.9  # iterations in which the gap must fall to so much; more at first
_NOTHING = 1e-300  # instead of 0 as a divisor
_MOST_STUCK = 5  # steps in a row that none was accepted of


def interior(problem: Problem, tol: float, start: Start | None = None) -> Iterator[Iterate]:
    """Follow the central path, yielding every outer iteration; ends where rounding allows no progress."""
    try:
        yield from _Path(problem, tol).run(start)
    except (ArithmeticError, np.linalg.LinAlgError):
        return


@dataclass
class _Model:
    """The quadratic model of J_μ in z (eq. 29), and what tells α's part of the step."""

    mu: float
    H: Floats
    rhs: Floats
    responses: list[tuple[Floats, Floats, float]]  # per class (K+D)⁻¹R, (K+D)⁻¹r, yᵀα


class _Box:
    """Where a step may lead, weight by weight: what overshoots has its own bound cut, which opens again later."""

    def __init__(self, size: int) -> None:
        self.low, self.high = np.full(size, _LOW), np.full(size, _HIGH)

    def step(self, model: _Model, trial: int) -> Floats:
        z = bounded_step(model.H, model.rhs, self.low, self.high)
        if trial >= _SHORTENED:
            z *= _SHORTER ** (trial - _SHORTENED + 1)
        return z

    def shrink(self) -> None:
        self.low, self.high = _SMALLER_BOX * self.low, _SMALLER_BOX * self.high

    def cut(self, rhs: Floats, z: Floats, slope: Floats, rise: Floats) -> None:
        """By a secant, of the slopes at both ends of the step."""
        overshot = rise > _OVERSHOT * float(rise.sum())
        secant = np.where(rhs * z > 0, np.abs(rhs) / (np.abs(rhs) + np.abs(slope) + _NOTHING), _NO_SECANT)
        cut = z * np.clip(secant, *_SECANT)
        self.low = np.where(overshot & (z < 0), np.maximum(self.low, cut), self.low)
        self.high = np.where(overshot & (z > 0), np.minimum(self.high, cut), self.high)

    def reopen(self) -> None:
        self.low = np.maximum((1 + self.low) ** 2, 1 + _LOW) - 1
        self.high = np.minimum(_HIGHER * self.high, _HIGH)


class _Path:
    """The loop: prove, model, step, at an ever smaller μ.

    Attributes
    ----------
    barrier : the problem, its kernels and centres.
    ending : simplifies a point that is good enough.
    best, proved : the least objective and the best bound so far.
    box : of the next step.
    nu : (V,) multipliers of β ≥ 0, times β.
    fall : by how much μ falls next.
    stuck, floored : steps in a row without an accepted one; iterations at the last μ.
    """

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.barrier = Barrier(problem)
        self.ending = Ending(self.barrier, tol)
        V = len(problem.p)
        self.best, self.proved = np.inf, Dual(-np.inf, np.zeros_like(problem.Y), np.ones(V))
        self.box, self.nu = _Box(V), np.zeros(V)
        self.fall, self.stuck, self.floored = _FIRST_FALL, 0, 0

    def run(self, start: Start | None) -> Iterator[Iterate]:
        point, mu = first_point(self.barrier, start)
        self.nu[:] = mu
        gaps: list[float] = []
        while True:
            iterate = self.iterate(point)
            gaps.append(relative_gap(self.best, self.proved.value))
            yield self.ending.simplified(point, iterate, mu, self.best) if gaps[-1] <= self.tol else iterate
            if len(gaps) > _PATIENCE + _AT_FIRST and gaps[-1] > _PROGRESS * gaps[-_PATIENCE]:
                return
            model = self.model(point, self.next_mu(mu))
            mu = model.mu
            taken = self.step(point, model)
            if taken is None:
                return
            point = taken

    def iterate(self, point: PathPoint) -> Iterate:
        """The point with its certificate, which takes no pass."""
        problem = self.problem
        objective, intercept = self.barrier.objective(point.beta, point.centres)
        bound = dual_value(problem, point.alpha, point.beta, point.flows)
        if bound > self.proved.value:
            self.proved = Dual(bound, point.alpha, point.beta, point.flows)
        self.best = min(self.best, objective, trivial_objective(problem))
        residual = np.abs(problem.regularizer_slope(point.beta) - point.D).max() / objective  # eq. 15
        return Iterate(
            point.beta,
            point.alpha,
            intercept,
            objective,
            self.proved,
            float(residual),
            problem.circuit.size,
            self.barrier.evaluations,
            witness=point.beta,
            flows=point.flows,
            method="interior",
        )

    def next_mu(self, mu: float) -> float:
        """Smaller by what the last step earned; not below what the tolerance, nor far below what the gap asks for."""
        last = _LAST_MU * self.tol * self.best / self.barrier.n_bounds
        if mu <= last * _ARRIVED:
            self.floored += 1
            last *= _LOWER ** (self.floored // _LOWER_EVERY)
        reduced = max(last, self.fall * mu) if mu > last else last
        open_gap = self.best - max(self.proved.value, 0.0)  # D ≥ 0: α = 0 proves that
        per_bound = _BEHIND * max(open_gap, 0.0) / self.barrier.n_bounds
        return max(reduced, per_bound if mu < _FAR_AHEAD * per_bound else min(mu, per_bound))

    def model(self, point: PathPoint, mu: float) -> _Model:
        """Eq. 29, and the right side of its Newton equation; α is eliminated by eq. 28."""
        problem, barrier = self.problem, self.barrier
        regularizer = problem.regularizer_slope(point.beta)
        H = np.diag(regularizer * (problem.p - 1) + point.D + self.nu)
        H -= second_moment(problem.circuit, point.flows)
        rhs = mu + point.D - regularizer
        J = point.W[:, None] * barrier.X  # ∂W_t/∂z_v
        responses = []
        for k, (c, y) in enumerate(zip(point.centres, barrier.Y, strict=True)):
            R = point.R[:, barrier.classes[k], barrier.live].T @ J  # (n, V)
            r = y - c.f - c.b + y * (mu / c.a - mu / c.u)
            assert c.inverse is not None
            Z = c.inverse(np.asfortranarray(np.column_stack([R, r])))
            c.inverse = None  # as large as K, and not needed again
            MR, Mr = Z[:, :-1], Z[:, -1]
            balance, m = float(c.a @ y), c.one @ R
            S = R.T @ MR
            H += (S + S.T) / 2 - np.outer(m, m) / c.total
            rhs += R.T @ Mr - m * ((Mr.sum() + balance) / c.total)
            responses.append((MR, Mr, balance))
        return _Model(mu, H, rhs, responses)

    def step(self, point: PathPoint, model: _Model) -> PathPoint | None:
        """The point after a step in the box; the last one tried where none is accepted, and None too often in a row."""
        problem, mu, new, accepted = self.problem, model.mu, None, False
        for trial in range(_TRIALS):
            z = self.box.step(model, trial)
            predicted = float(model.rhs @ z)
            kernel = self.barrier.kernel_at(point.beta * (1 + z), mu)
            try:
                new = self.moved(point, kernel, model, z, predicted)
            except FloatingPointError:
                self.box.shrink()
                continue
            # Eq. 30: by convexity J(new) − J(old) is at most the slope at the new point; the barrier's part is exact.
            slope = (problem.regularizer_slope(new.beta) - new.D) / (1 + z)
            rise = slope * z - mu * np.log1p(z)
            accepted = float(rise.sum()) <= _ACCEPTED * abs(predicted) + _SLACK * mu
            if accepted:
                break
            self.box.cut(model.rhs, z, slope, rise)
        self.learn(mu, z, trial, accepted)
        return None if self.stuck > _MOST_STUCK else new

    def moved(self, point: PathPoint, kernel: ShiftedKernel, model: _Model, z: Floats, predicted: float) -> PathPoint:
        barrier, mu = self.barrier, model.mu
        enough = _CENTRED_SHARE * abs(predicted) / (len(barrier.Y) * mu * len(barrier.C) ** 0.5)
        centres = barrier.centred(kernel, mu, self.predicted(point, model, z), max(_CENTRED, enough))
        return barrier.point(point.beta * (1 + z), kernel, centres)

    def learn(self, mu: float, z: Floats, trial: int, accepted: bool) -> None:
        """What the last step says about the next: multipliers, box, and how fast μ may fall."""
        self.stuck = 0 if accepted else self.stuck + 1
        nu = (mu - self.nu * z) * (1 + z) if accepted else np.full_like(z, mu)
        self.nu = np.clip(nu, mu / _MULTIPLIERS, mu * _MULTIPLIERS)
        self.box.reopen()
        large = _FAST if np.abs(z).max() < _SMALL_STEP else _LARGE
        self.fall = large if trial == 0 else _CUT if trial == 1 else 1.0

    def predicted(self, point: PathPoint, model: _Model, z: Floats) -> list[Inside | None]:
        """Where the step in β takes α, to first order (eq. 28), kept inside the box."""
        found: list[Inside | None] = []
        for c, y, (MR, Mr, balance) in zip(point.centres, self.barrier.Y, model.responses, strict=True):
            v = Mr - MR @ z
            db = (float(v.sum()) + balance) / c.total
            da = (v - c.one * db) * y
            dlo = model.mu / c.a - c.lo - c.lo / c.a * da
            dhi = model.mu / c.u - c.hi + c.hi / c.u * da
            length = min(1.0, _STAY_INSIDE * longest_inside(c, da, dlo, dhi))
            found.append(
                Inside(
                    c.a + length * da,
                    c.u - length * da,
                    c.lo + length * dlo,
                    c.hi + length * dhi,
                    c.b + length * db,
                )
            )
        return found
