"""The weights of largest evidence: L-BFGS on their logarithms from several starts, and what can be left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from spnmkl.circuit.evaluate import kernel_matrix, term_contractions
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import KernelSource, diagonals
from spnmkl.errors import Stopped
from spnmkl.evidence.laplace import Laplace, laplace
from spnmkl.evidence.scales import Directions, cheapest, same_kernel, unit_scales
from spnmkl.solution import Record
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN

Alive = NDArray[np.bool_]
Callback = Callable[[Record], object] | None
LOWEST, LARGEST = -12.0, 5.0  # of a log factor of a path; of log β, both where paths have the scale 1 (eq. 39)
_FIRST_SCALE = 4.0  # of K's mean diagonal: labels are as good as certain at twice its root
_SPREAD = 1.0  # of the log factors of further starts
_SHORT = 12  # steps from every start before the best one goes on
_FTOL, _GTOL = 1e-7, 1e-4  # L-BFGS ends at a relative gain, or a slope, below
_LIGHT, _FREE = 1e-3, 0.01  # a share of K's trace, and a loss of log evidence, at which weights are set to 0
_REFIT = 60  # steps after something was taken out


@dataclass(frozen=True)
class Point:
    """Weights (0 for what is taken out), the constant, the log evidence there, and a of every class."""

    beta: Floats
    constant: float
    value: float
    a: Floats


class Search:
    """The evidence of a circuit's weights on some rows, and the way to its largest.

    Attributes
    ----------
    history : every step of L-BFGS, of all starts.
    """

    def __init__(
        self,
        spn: SPN,
        circuit: Circuit,
        source: KernelSource,
        Y: Floats,
        counts: Floats | None = None,
        n_threads: int = 1,
        deadline: Deadline | None = None,
        callback: Callback = None,
    ) -> None:
        self.spn, self.circuit, self.source, self.Y, self.counts = spn, circuit, source, Y, counts
        self.n_threads, self.deadline, self.callback = n_threads, deadline, callback
        self.K = np.empty((Y.shape[1], Y.shape[1]))
        self.prices, self.least = circuit.total_exponents(), circuit.smallest_exponents
        diagonal = diagonals(source, circuit.leaves)
        means = [float(np.average(diagonal[leaf], weights=counts)) for leaf in circuit.leaves]
        scales = np.array([mean if mean > 0 else 1.0 for mean in means])
        self.unit = unit_scales(circuit, scales)
        self.history: list[Record] = []
        self.evaluations, self.started = 0, time.perf_counter()
        self.best: Point | None = None  # of the climb at hand
        self._free: dict[bytes, Sequence[Directions]] = {}

    def first(self) -> Point:
        """All paths equal below every sum, K's mean diagonal about `_FIRST_SCALE`."""
        below = {v: len(self.spn.children(s)) for s in self.spn.sums for v in self.spn.children(s)}
        theta = self.least * np.log(_FIRST_SCALE) - np.log([below.get(v, 1) for v in self.circuit.products])
        return self._unseen(self._weights(theta, np.ones(len(theta), dtype=bool)))

    def begun(self, beta: Floats) -> Point:
        """A start from weights that were found elsewhere, such as for a drawing with more in it."""
        return self._unseen(self._filled(beta))

    def shaken(self, point: Point, rng: np.random.Generator) -> Point:
        """Another start; which product moves how far depends on its name, not on its place."""
        order = np.argsort(np.argsort(self.circuit.products))
        theta = self._theta(point.beta) + _SPREAD * rng.normal(size=len(order))[order]
        return self._unseen(self._weights(theta, point.beta > 0))

    def of_factors(self, factors: Floats, constant: float, a: Floats) -> Point:
        """A start from elsewhere: the log factor that every product gives to its paths (eq. 39), c, and a near by."""
        return Point(self._weights(factors, np.ones(len(factors), dtype=bool)), constant, -np.inf, a)

    def factors(self, point: Point) -> Floats:
        """The log factors of a point, as `of_factors` takes them; −∞ for what is taken out."""
        return np.where(point.beta > 0, self._theta(point.beta), -np.inf)

    def _unseen(self, beta: Floats) -> Point:
        return Point(beta, 1.0, -np.inf, np.zeros_like(self.Y))

    def climb(self, point: Point, steps: int) -> tuple[Point, bool]:
        """The best point of L-BFGS from one, and whether it converged; raises `Stopped` where it is to end."""
        alive, self.best = point.beta > 0, None if point.value == -np.inf else point
        x = np.append(self._theta(point.beta)[alive], np.log(point.constant))
        bounds = [(LOWEST, LARGEST * e) for e in self.least[alive]] + [(LOWEST, LARGEST)]

        def loss(x: Floats) -> tuple[float, Floats]:
            beta, constant = self._weights(x[:-1], alive), float(np.exp(x[-1]))
            found, slope = self.evaluate(beta, constant, point.a if self.best is None else self.best.a)
            if self.best is None or found.log_evidence > self.best.value:
                self.best = Point(beta, constant, found.log_evidence, found.a)
            return -found.log_evidence, -np.append((slope[:-1] / self.least)[alive], slope[-1])

        options = {"maxiter": steps, "ftol": _FTOL, "gtol": _GTOL, "maxcor": 20}
        low, high = np.array(bounds).T
        ended = minimize(
            loss, np.clip(x, low, high), jac=True, method="L-BFGS-B", bounds=bounds, options=options,
            callback=lambda x: self.tell(),
        )  # fmt: skip
        assert self.best is not None
        return self.best, ended.nit < steps

    def evaluate(self, beta: Floats, constant: float, start: Floats) -> tuple[Laplace, Floats]:
        """The evidence at these weights, and its slope in all log β and log c (eq. 36)."""
        self._pause()
        circuit = self.circuit.restricted(beta > 0)
        W, self.evaluations = circuit.weights(beta), self.evaluations + 1
        if circuit.n_terms:
            kernel_matrix(circuit, W, self.source, self.K, self.n_threads)
            self.K += constant
        else:
            self.K[:] = constant
        found = laplace(self.K, self.Y, start, self.counts, self.n_threads, self._pause)
        slope = np.zeros(len(beta))
        if circuit.n_terms:
            slope = circuit.X.T @ (W * term_contractions(circuit, W, self.source, found.G, self.n_threads))
        return found, np.append(slope, constant * found.G.sum())

    def thinned(self, point: Point) -> Point:
        """Without the light weights that nothing is lost without: all of them, or the lightest half, and so on."""
        share = self._shares(point.beta)
        light = np.flatnonzero((share < _LIGHT) & (point.beta > 0))
        light = light[np.argsort(share[light], kind="stable")]
        while len(light):
            beta = point.beta.copy()
            beta[light] = 0.0
            beta[~self._met(beta)] = 0.0
            found, _ = self.evaluate(beta, point.constant, point.a)
            if beta.any() and found.log_evidence >= point.value - _FREE:
                return Point(beta, point.constant, found.log_evidence, found.a)
            light = light[: len(light) // 2]
        return point

    def without(self, point: Point, removed: Alive) -> Point:
        """The best of what is left when products are taken out, from the weights that it has."""
        beta = np.where(removed, 0.0, self._filled(point.beta))
        beta[~self._met(beta)] = 0.0
        return self.climb(replace(point, beta=beta, value=-np.inf), _REFIT)[0]

    def _filled(self, beta: Floats) -> Floats:
        """What had been set to 0 may be needed now: it begins with a tenth of its part in the first start."""
        return np.where(beta > 0, beta, self.first().beta * 0.1 ** (1 / self.least))

    def canonical(self, beta: Floats) -> Floats:
        """The same kernel by the cheapest weights, eq. 38."""
        key = (beta > 0).tobytes()
        if key not in self._free:
            self._free = {key: list(same_kernel(self.circuit.restricted(beta > 0)))}
        return cheapest(beta, self.prices, self._free[key])

    def _met(self, beta: Floats) -> Alive:
        """Products that stand on a path whose weights are all above 0."""
        return (abs(self.circuit.restricted(beta > 0).X).sum(axis=0) > 0).ravel()

    def _shares(self, beta: Floats) -> Floats:
        """(V,) about the part of K's trace on paths through every product: of paths brought to the scale 1."""
        circuit = self.circuit.restricted(beta > 0)
        flows = circuit.flows(circuit.weights(beta * np.exp(-self.unit)))
        through = (circuit.X > 0).astype(float).T @ flows
        return through / max(flows[circuit.operation_start[-2] :].sum(), 1e-300)

    def _theta(self, beta: Floats) -> Floats:
        return self.least * (np.log(np.where(beta > 0, beta, 1.0)) - self.unit)

    def _weights(self, theta: Floats, alive: Alive) -> Floats:
        beta = np.zeros(len(alive))
        beta[alive] = np.exp(self.unit[alive] + theta / self.least[alive])
        return beta

    def _pause(self) -> None:
        if self.deadline is not None and self.deadline():
            raise Stopped

    def tell(self) -> None:
        """Of the best point of the climb at hand; raises `Stopped` where the callback has enough."""
        if self.best is None:
            return
        weights = self.canonical(self.best.beta).tolist()
        record = Record(
            iteration=len(self.history) + 1,
            objective=-self.best.value,
            dual_bound=-np.inf,
            gap=np.inf,
            beta=dict(zip(self.circuit.products, weights, strict=True)),
            pruned=tuple(v for v, weight in zip(self.circuit.products, weights, strict=True) if weight == 0),
            circuit_size=self.circuit.restricted(self.best.beta > 0).size,
            evaluations=self.evaluations,
            seconds=time.perf_counter() - self.started,
            method="evidence",
        )
        self.history.append(record)
        if self.callback is not None and self.callback(record) is False:
            raise Stopped


@dataclass(frozen=True, eq=False)
class Fit:
    """A search over the kernels among some rows, and the point that it found."""

    search: Search
    point: Point


def best_point(
    search: Search, starts: int, rng: np.random.Generator, steps: int, given: Floats | None = None
) -> tuple[Point, str]:
    """From several starts a few steps each, from the best of them to the end; and how that went.

    The first is that of `given` weights, where there are any; then come equal ones, and shaken ones. One weight alone
    has one top, wherever it begins.
    """
    first = search.first()
    starts = starts if len(first.beta) > 1 else 1
    known = [first] if given is None else [search.begun(given), first]
    best = known[0]
    try:
        for k in range(starts):
            begin = known[k] if k < len(known) else search.shaken(first, rng)
            found, settled = search.climb(begin, _SHORT if starts > 1 else steps)
            best = max(best, found, key=lambda point: point.value)
        if starts > 1:
            best, settled = search.climb(best, steps)
        best = search.thinned(best)
        best, _ = search.climb(best, steps)
        search.tell()
    except Stopped:
        seen = [point for point in (best, search.best) if point is not None]
        return max(seen, key=lambda point: point.value), "stopped"
    return best, "converged" if settled else "iteration_limit"
