"""Path following on the barrier problem (formulation, section 11), for p ≥ 1.

    J_μ(β) = λ Σ_v c_v β_v^{p_v} − μ Σ_v log β_v + Σ_classes max over α of the softened SVM (`centring`)

is smooth and strictly convex, and at a centred pair the certificate's bound is within about (2nk + V)μ of the
objective. Every outer iteration centres α at K(β) without a pass over the kernels, takes one pass for the responses,
and a Newton step in (α, β) at a smaller μ. Steps are accepted by their slope, not by values, which are noise near the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from spnmkl.certificate import Dual, balanced, best_intercept, dual_value, relative_gap
from spnmkl.circuit.evaluate import kernel_matrix, term_responses
from spnmkl.circuit.measure import second_moment
from spnmkl.circuit.program import Floats
from spnmkl.errors import Stopped
from spnmkl.problem import Problem
from spnmkl.rounding import rounding_of_flows
from spnmkl.solvers.centring import Centre, Inside, around, centred, longest_inside, snapped
from spnmkl.solvers.factor import at_once
from spnmkl.solvers.iterate import Iterate, trivial_iterate, trivial_objective
from spnmkl.solvers.qp import bounded_qp, most_sweeps
from spnmkl.solvers.shifted import ShiftedKernel, cholesky
from spnmkl.solvers.start import better_scale, first_weights
from spnmkl.solvers.svm import solve_svm

_FIRST_MU = 0.3  # of the value, over the number of bounds
_LOW, _HIGH = -0.97, 8.0  # box of the relative step z
_TRIALS, _SHORTENED = 10, 6  # steps tried; from so many on the whole step is shortened
_ACCEPTED = 0.4  # of the predicted slope: what may be left of it at the new point
_FAST, _LARGE, _CUT = 0.07, 0.15, 0.3  # by how much μ falls: after a step taken at once, a large one, one cut once
_LAST_MU = 0.25  # of the tolerance times the value, over the number of bounds
_BEHIND = 0.05  # of the gap: μ below that is ahead of what is proven
_PATIENCE, _PROGRESS = 20, 0.9  # iterations in which the gap must fall to so much of itself
_MOST_STUCK = 5
_FITTING_STEPS = 5  # of SMO, per row


def interior(problem: Problem, tol: float, start: Start | None = None) -> Iterator[Iterate]:
    """Follow the central path, yielding every outer iteration; ends where rounding allows no progress."""
    try:
        yield from _Path(problem, tol).run(start)
    except (ArithmeticError, np.linalg.LinAlgError):
        return


@dataclass(frozen=True)
class Start:
    """A point near the optimum: weights, α if it is known, and about the relative gap."""

    beta: Floats
    alpha: Floats | None
    gap: float


@dataclass
class _Point:
    """A centred pair and what one pass over the kernels tells there."""

    beta: Floats
    alpha: Floats  # (classes, all n), yᵀα = 0
    kernel: ShiftedKernel
    centres: list[Centre]
    W: Floats
    R: Floats
    flows: Floats
    D: Floats  # β ∂F/∂β


@dataclass
class _Model:
    """The quadratic model of J_μ in z, and what tells α's part of the step."""

    mu: float
    H: Floats
    rhs: Floats
    responses: list[tuple[Floats, Floats, float]]  # per class (K+D)⁻¹R, (K+D)⁻¹r, yᵀα


class _Path:
    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.live: NDArray[np.intp] | slice = slice(None) if (problem.C > 0).all() else np.flatnonzero(problem.C > 0)
        self.C, Y = problem.C[self.live], problem.Y[:, self.live]
        # A class whose samples all have weight 0 costs nothing: its α is 0.
        self.classes = np.flatnonzero((Y.max(axis=1) > 0) & (Y.min(axis=1) < 0))
        self.Y = np.ascontiguousarray(Y[self.classes])
        self.n_bounds = 2 * self.Y.size + len(problem.p)
        self.X = problem.circuit.X.toarray()
        self.K = np.empty((problem.n, problem.n))
        self.evaluations = 0
        self.best, self.proved = np.inf, Dual(-np.inf, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        V = len(problem.p)
        self.low, self.high, self.nu = np.full(V, _LOW), np.full(V, _HIGH), np.zeros(V)
        self.fall, self.stuck, self.floored = 0.2, 0, 0

    def run(self, start: Start | None) -> Iterator[Iterate]:
        point, mu = self.first(start)
        self.nu[:] = mu
        gaps: list[float] = []
        while True:
            iterate = self.iterate(point)
            gaps.append(relative_gap(self.best, self.proved.value))
            yield self.simplified(point, iterate, mu) if gaps[-1] <= self.tol else iterate
            if len(gaps) > _PATIENCE + 5 and gaps[-1] > _PROGRESS * gaps[-_PATIENCE]:
                return
            model = self.model(point, self.next_mu(mu))
            mu = model.mu
            taken = self.step(point, model)
            if taken is None:
                return
            point = taken

    def first(self, start: Start | None) -> tuple[_Point, float]:
        if start is None:
            return self.first_of_equal_weights()
        beta = self.lifted(start)
        mu = min(_FIRST_MU, 0.5 * start.gap) * trivial_objective(self.problem) / self.n_bounds
        kernel = self.kernel_at(beta, mu)
        begin: list[Inside | None] = [None] * len(self.Y)
        if start.alpha is None:
            begin = list(self.centred(kernel, mu, begin, 0.05))
            inside = np.array([c.a for c in begin if c is not None])
        else:
            inside = balanced(start.alpha, self.problem.Y)[self.classes][:, self.live]
        value = min(self.value(beta, kernel, inside)[0], trivial_objective(self.problem))
        mu = min(_FIRST_MU, 0.5 * start.gap) * value / self.n_bounds
        if start.alpha is not None:
            begin = [around(kernel, y, self.C, mu, a) for y, a in zip(self.Y, inside, strict=True)]
        return self.point(beta, kernel, self.centred(kernel, mu, begin, 0.05)), mu

    def first_of_equal_weights(self) -> tuple[_Point, float]:
        """At a scale found on some rows by rough SVMs, which the centre on all rows then corrects."""
        trivial = trivial_objective(self.problem)
        beta, mu = first_weights(self.problem), _FIRST_MU * trivial / self.n_bounds
        kernel = self.kernel_at(beta, mu)
        beta, centres = self.rescaled(beta, kernel, self.centred(kernel, mu, [None] * len(self.Y), 0.05), mu)
        value = self.objective(beta, centres)[0]
        if value < 0.5 * trivial:
            mu = _FIRST_MU * value / self.n_bounds
            centres = self.centred(kernel, mu, list(centres), 0.05)
        return self.point(beta, kernel, centres), mu

    def lifted(self, start: Start) -> Floats:
        """Its weights, those of zero about where the path has them: at β_v = μ/(λ c_v − d_v)."""
        problem = self.problem
        top = float(start.beta.max()) or 1.0 / float(problem.c.sum())
        level = 2 * start.gap * problem.regularizer(start.beta) / (problem.lam * problem.c * self.n_bounds)
        return np.maximum(start.beta, np.clip(level, 1e-8 * top, 1e-2 * top))

    def value(self, beta: Floats, kernel: ShiftedKernel, alpha: Floats) -> tuple[float, Floats]:
        """The objective at (β, α), and the intercepts."""
        A = alpha * self.Y
        F = kernel.times(A.T).T
        fits = [best_intercept(f, y, self.C) for f, y in zip(F, self.Y, strict=True)]
        value = float((A * F).sum()) / 2 + self.problem.regularizer(beta) + sum(loss for _, loss in fits)
        return value, self.of_all_classes([b for b, _ in fits])

    def kernel_at(self, beta: Floats, mu: float) -> ShiftedKernel:
        return ShiftedKernel(self.matrix_at(beta), self.problem.pause, self.noise(mu))

    def matrix_at(self, beta: Floats) -> Floats:
        """K(β) on the rows that count."""
        circuit = self.problem.circuit
        self.evaluations += 1
        K = kernel_matrix(circuit, circuit.weights(beta), self.problem.source, self.K, self.problem.n_threads)
        if not np.isfinite(K.trace()):
            raise FloatingPointError("K")
        return K if isinstance(self.live, slice) else K[np.ix_(self.live, self.live)]

    def noise(self, mu: float) -> float:
        """What a factor of K may leave out: far below the barrier's own curvature, which is at least 8μ/C²."""
        return 0.1 * 8 * mu / (float(self.C.max()) ** 2 * len(self.C))

    def centred(self, kernel: ShiftedKernel, mu: float, begin: list[Inside | None], tol: float) -> list[Centre]:
        """Every class's centre, with decrements of tol μ√n."""
        allowed = tol * mu * len(self.C) ** 0.5
        return [centred(kernel, y, self.C, mu, c, allowed) for y, c in zip(self.Y, begin, strict=True)]

    def rescaled(
        self, beta: Floats, kernel: ShiftedKernel, centres: list[Centre], mu: float
    ) -> tuple[Floats, list[Centre]]:
        """K(tβ) = tK(β): a better scale takes no pass."""
        p = self.problem.p
        for _ in range(3 if (p == p[0]).all() else 0):
            F = 0.5 * sum(float((c.a * y) @ c.f) for c, y in zip(centres, self.Y, strict=True))
            t = better_scale(F, float(self.problem.regularizer_slope(beta).sum()), float(p[0]))
            if 0.5 < t < 2.0:
                break
            beta = t * beta
            kernel.scale(t)
            centres = self.centred(kernel, mu, [None if max(t, 1 / t) > 4 else c for c in centres], 0.05)
        return beta, centres

    def point(self, beta: Floats, kernel: ShiftedKernel, centres: list[Centre]) -> _Point:
        problem, circuit = self.problem, self.problem.circuit
        alpha = balanced(self.on_all_rows(np.array([c.a for c in centres])), problem.Y)
        A, W = alpha * problem.Y, circuit.weights(beta)
        R = term_responses(circuit, W, problem.source, A, problem.n_threads)
        flows = W * np.einsum("tcn,cn->t", R, A) / 2
        if not np.isfinite(flows).all():
            raise FloatingPointError("responses")
        return _Point(beta, alpha, kernel, centres, W, R, flows, self.X.T @ flows)

    def objective(self, beta: Floats, centres: list[Centre]) -> tuple[float, Floats]:
        """At the centres, where f is at hand; and the intercepts."""
        fits = [best_intercept(c.f, y, self.C) for c, y in zip(centres, self.Y, strict=True)]
        quadratic = sum(float((c.a * y) @ c.f) for c, y in zip(centres, self.Y, strict=True))
        value = quadratic / 2 + self.problem.regularizer(beta) + sum(loss for _, loss in fits)
        return value, self.of_all_classes([b for b, _ in fits])

    def iterate(self, point: _Point) -> Iterate:
        """The point with its certificate, which takes no pass."""
        problem = self.problem
        objective, intercept = self.objective(point.beta, point.centres)
        bound = dual_value(problem, point.alpha, point.beta, point.flows)
        if bound > self.proved.value:
            self.proved = Dual(bound, point.alpha, point.beta, point.flows)
        self.best = min(self.best, objective, trivial_objective(problem))
        residual = np.abs(problem.regularizer_slope(point.beta) - point.D).max() / objective
        return Iterate(
            point.beta,
            point.alpha,
            intercept,
            objective,
            self.proved,
            float(residual),
            problem.circuit.size,
            self.evaluations,
            witness=point.beta,
            flows=point.flows,
            method="interior",
        )

    def simplified(self, point: _Point, iterate: Iterate, mu: float) -> Iterate:
        """As good to the tolerance, at the bounds where the path leads to them: weights of zero, α of 0 and C."""
        if trivial_objective(self.problem) <= iterate.objective:
            trivial = trivial_iterate(self.problem, point.alpha, self.proved, self.evaluations, "interior")
            return replace(trivial, smallest_C=self.multiple_of_C(point), final=True)
        simpler = self.with_bounds(iterate, point.kernel, point.centres) or iterate
        try:
            return self.pruned(point, iterate, mu) or simpler
        except (FloatingPointError, Stopped):
            return simpler

    def pruned(self, point: _Point, iterate: Iterate, mu: float) -> Iterate | None:
        for vanishing in self.vanishing(point):
            beta = np.where(vanishing, 0.0, point.beta)
            kernel = self.kernel_at(beta, mu)  # in the memory of the point's own
            smaller = replace(iterate, beta=beta, circuit_size=self.problem.circuit.restricted(beta > 0).size)
            found = self.with_bounds(smaller, kernel, self.centred(kernel, mu, list(point.centres), 0.05))
            if found is not None:
                return found
        return None

    def with_bounds(self, iterate: Iterate, kernel: ShiftedKernel, centres: list[Centre]) -> Iterate | None:
        """With α at its bounds, or as it is, where that is good to the tolerance."""
        # SMO keeps yᵀα = 0 to rounding; scaled for it once more, α = C would no longer be at its bound.
        for alpha in (self.at_bounds(kernel, centres), balanced(np.array([c.a for c in centres]), self.Y)):
            objective, intercept = self.value(iterate.beta, kernel, alpha)
            if relative_gap(objective, self.proved.value) <= self.tol:
                return replace(
                    iterate,
                    alpha=self.on_all_rows(alpha),
                    intercept=intercept,
                    objective=objective,
                    evaluations=self.evaluations,
                    witness=None,
                    flows=None,
                    final=True,
                )
        return None

    def at_bounds(self, kernel: ShiftedKernel, centres: list[Centre]) -> Floats:
        """α with entries of 0 and C, fitted again by a few steps of SMO."""
        gap, steps = 0.1 * self.tol * self.best / len(centres), _FITTING_STEPS * len(self.C)
        begin = [snapped(c, y, self.C) for c, y in zip(centres, self.Y, strict=True)]
        stop = self.problem.stop
        fits = [solve_svm(kernel.K, y, self.C, a, gap, steps, stop) for a, y in zip(begin, self.Y, strict=True)]
        return np.array([fit.alpha for fit in fits])

    def on_all_rows(self, alpha: Floats) -> Floats:
        full = np.zeros_like(self.problem.Y)
        full[np.ix_(self.classes, np.arange(self.problem.n)[self.live])] = alpha
        return full

    def of_all_classes(self, intercepts: Sequence[float]) -> Floats:
        problem, nothing = self.problem, np.zeros(self.problem.n)
        full = np.array([best_intercept(nothing, y, problem.C)[0] for y in problem.Y])
        full[self.classes] = intercepts
        return full

    def vanishing(self, point: _Point) -> Iterator[NDArray[np.bool_]]:
        """Weights that should be zero: of components with a share below what they lack to pay for themselves."""
        problem, parts = self.problem, self.problem.components
        cost, gain = (
            np.bincount(parts, weights=x / problem.p) for x in (problem.regularizer_slope(point.beta), point.D)
        )
        gone = problem.homogeneous & (cost < (1.0 - gain / cost) * cost.sum()) & (cost < 0.5 * cost.max())
        if gone.any():
            yield gone[parts]
            small = gone & (cost < 1e-3 * cost.sum())
            if small.any() and (small != gone).any():
                yield small[parts]

    def multiple_of_C(self, point: _Point) -> float | None:
        """C_min as a multiple of C, about and from below, where β = 0 is optimal (formulation, section 7)."""
        problem = self.problem
        to_light_side = trivial_objective(problem) / float(point.alpha.sum())
        flows = np.where(point.flows > rounding_of_flows(problem, point.alpha)(point.beta), point.flows, 0.0)
        D = problem.circuit.X.T @ flows
        steepest = float((D / (point.beta * problem.lam * problem.c)).max()) * to_light_side**2
        return None if (problem.p != 1).any() else max(1.0, steepest**-0.5) if steepest > 0 else np.inf

    def next_mu(self, mu: float) -> float:
        """Smaller by what the last step earned; not below what the tolerance, nor far below what the gap asks for."""
        last = _LAST_MU * self.tol * self.best / self.n_bounds
        if mu <= last * 1.0001:
            self.floored += 1
            last *= 0.2 ** (self.floored // 4)
        reduced = max(last, self.fall * mu) if mu > last else last
        open_gap = self.best - max(self.proved.value, 0.0)  # D ≥ 0: α = 0 proves that
        per_bound = _BEHIND * max(open_gap, 0.0) / self.n_bounds
        return max(reduced, per_bound if mu < 0.1 * per_bound else min(mu, per_bound))

    def model(self, point: _Point, mu: float) -> _Model:
        problem = self.problem
        regularizer = problem.regularizer_slope(point.beta)
        H = np.diag(regularizer * (problem.p - 1) + point.D + self.nu)
        H -= second_moment(problem.circuit, point.flows)
        rhs = mu + point.D - regularizer
        J = point.W[:, None] * self.X  # ∂W_t/∂z_v
        responses = []
        for k, (c, y) in enumerate(zip(point.centres, self.Y, strict=True)):
            R = point.R[:, self.classes[k], self.live].T @ J  # (n, V)
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

    def step(self, point: _Point, model: _Model) -> _Point | None:
        """The point after a step in a box per weight; what overshoots has its own bound cut by a secant."""
        problem, mu, new, accepted = self.problem, model.mu, None, False
        for trial in range(_TRIALS):
            z = bounded_step(model.H, model.rhs, self.low, self.high)
            if trial >= _SHORTENED:
                z *= 0.3 ** (trial - _SHORTENED + 1)
            predicted = float(model.rhs @ z)
            beta = point.beta * (1 + z)
            kernel = self.kernel_at(beta, mu)
            allowed = max(0.02, 1e-3 * abs(predicted) / (len(self.Y) * mu * len(self.C) ** 0.5))
            try:
                centres = self.centred(kernel, mu, self.predicted(point, model, z), allowed)
                new = self.point(beta, kernel, centres)
            except FloatingPointError:
                self.low, self.high = 0.3 * self.low, 0.3 * self.high
                continue
            # By convexity J(new) − J(old) is at most the slope at the new point; the barrier's part is exact.
            slope = (problem.regularizer_slope(beta) - new.D) / (1 + z)
            rise = slope * z - mu * np.log1p(z)
            accepted = float(rise.sum()) <= _ACCEPTED * abs(predicted) + 1e-3 * mu
            if accepted:
                break
            self.cut_box(model.rhs, z, slope, rise)
        self.stuck = 0 if accepted else self.stuck + 1
        self.nu = np.clip((mu - self.nu * z) * (1 + z) if accepted else np.full_like(z, mu), mu / 10, mu * 10)
        self.low = np.maximum((1 + self.low) ** 2, 1 + _LOW) - 1
        self.high = np.minimum(3 * self.high, _HIGH)
        large = _FAST if np.abs(z).max() < 1.0 else _LARGE
        self.fall = large if trial == 0 else _CUT if trial == 1 else 1.0
        return None if self.stuck > _MOST_STUCK else new

    def cut_box(self, rhs: Floats, z: Floats, slope: Floats, rise: Floats) -> None:
        overshot = rise > 0.02 * float(rise.sum())
        secant = np.where(rhs * z > 0, np.abs(rhs) / (np.abs(rhs) + np.abs(slope) + 1e-300), 0.3)
        cut = z * np.clip(secant, 0.15, 0.7)
        self.low = np.where(overshot & (z < 0), np.maximum(self.low, cut), self.low)
        self.high = np.where(overshot & (z > 0), np.minimum(self.high, cut), self.high)

    def predicted(self, point: _Point, model: _Model, z: Floats) -> list[Inside | None]:
        """Where the step in β takes α, to first order, kept inside the box."""
        found: list[Inside | None] = []
        for c, y, (MR, Mr, balance) in zip(point.centres, self.Y, model.responses, strict=True):
            v = Mr - MR @ z
            db = (float(v.sum()) + balance) / c.total
            da = (v - c.one * db) * y
            dlo = model.mu / c.a - c.lo - c.lo / c.a * da
            dhi = model.mu / c.u - c.hi + c.hi / c.u * da
            length = min(1.0, 0.9 * longest_inside(c, da, dlo, dhi))
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


def bounded_step(H: Floats, rhs: Floats, low: Floats, high: Floats) -> Floats:
    """min ½ zᵀHz − rhsᵀz over low ≤ z ≤ high: Newton's where that is inside, else by coordinate descent."""
    z = _solve_definite(H, rhs)
    if (z >= low).all() and (z <= high).all():
        return z
    return bounded_qp(np.ascontiguousarray((H + H.T) / 2), -rhs, low, high, most_sweeps(len(rhs)))


def _solve_definite(H: Floats, rhs: Floats) -> Floats:
    d = np.sqrt(np.maximum(H.diagonal(), 1e-300))
    scaled = H / np.outer(d, d)
    try:
        L = cholesky(lambda: np.array(scaled, order="F"), at_once)
        z = lapack.dpotrs(L, rhs / d, lower=1)[0] / d
        if np.isfinite(z).all() and rhs @ z > 0:
            return z
    except FloatingPointError:
        pass
    w, U = np.linalg.eigh((scaled + scaled.T) / 2)
    w = np.maximum(w, 1e-10 * max(float(w.max()), 1e-300))
    with np.errstate(over="ignore", invalid="ignore"):
        z = (U @ ((U.T @ (rhs / d)) / w)) / d
    return np.where(np.isfinite(z), z, 0.0)
