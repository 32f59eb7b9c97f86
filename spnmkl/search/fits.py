"""A drawing fitted by evidence from the weights of another, and what can be taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.optimize import minimize_scalar

from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.errors import Stopped
from spnmkl.evidence.laplace import laplace
from spnmkl.evidence.search import LARGEST, LOWEST, Point, Search
from spnmkl.search.branches import (
    Branch,
    Weighed,
    Weights,
    branches,
    drawn,
    free_weights,
    joined,
    merged,
    product_names,
    without_leaves,
)
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import Kernel
from spnmkl.threads import single_threaded_blas

STEPS = 20  # of L-BFGS after a branch came: from weights near by, the rest of the gain is below what decides
AGAIN = 12  # after something was taken out
CHECKED = 12  # leaves up to which the price was checked on labels that say nothing
PRICE = 1.5  # of log evidence for every free weight: without one, more branches are never worse
TRIED = 2  # parts that are taken out with a refit, once nothing can be taken out without
SAME = 0.05  # of the criterion: as much as rounding and steps not taken; then fewer branches are better
NEAR = 4.0  # prices that a part may seem to be worth and still be tried: others may take over what it did


@dataclass(frozen=True, eq=False)
class Ground:
    """What drawings are fitted to: the kernels of all leaves, labels of ±1, (classes, n), and the price of a weight."""

    K: tuple[Floats, ...]
    Y: Floats

    @property
    def excess(self) -> float:
        """By how much log evidence varies more than if its classes were independent, see `docs/searching.md`.

        Of k > 2 processes, each of one class against the rest, two have a correlation of −1/(k − 1), and the squares
        that evidence consists of one of 1/(k − 1)²: their sum's variance is k/(k − 1) times that of independent ones.
        """
        classes = len(self.Y)
        return classes / (classes - 1) if classes > 1 else 1.0

    @property
    def price(self) -> float:
        """Of a free weight: whoever chooses among more leaves finds more by chance, by the log of how many."""
        return (PRICE + max(0.0, float(np.log(len(self.K) / CHECKED)))) * self.excess


@dataclass(frozen=True, eq=False)
class Fitted:
    """Evidence weights of some branches: c, a of every class (`evidence.laplace`), the log evidence, and its cost."""

    weights: Weights
    constant: float
    a: Floats
    value: float
    refits: int = 1

    @property
    def branches(self) -> tuple[Branch, ...]:
        return branches(self.weights)

    @property
    def free(self) -> int:
        return sum(map(free_weights, self.branches))

    def criterion(self, ground: Ground) -> float:
        return self.value - ground.price * self.free


@single_threaded_blas()
def constant_alone(ground: Ground) -> Fitted:
    """No kernel: as many of each class as there are, and nothing else."""
    n = ground.Y.shape[1]
    a = np.zeros_like(ground.Y)
    found = minimize_scalar(
        lambda log: -laplace(np.full((n, n), np.exp(log)), ground.Y, a).log_evidence,
        bounds=(LOWEST, LARGEST),
        method="bounded",
    )
    constant = float(np.exp(found.x))
    best = laplace(np.full((n, n), constant), ground.Y, a)
    return Fitted((), constant, best.a, best.log_evidence)


@single_threaded_blas()
def fit(
    ground: Ground,
    weights: Weights,
    constant: float,
    a: Floats,
    steps: int = STEPS,
    stop: Callable[[], bool] | None = None,
) -> Fitted:
    """Evidence weights from those given; raises `Stopped` where it is to end."""
    return Workplace(ground, merged(weights), stop).climb(constant, a, steps)


class Workplace:
    """The circuit of some branches over the kernels, and the way between its weights and theirs."""

    def __init__(self, ground: Ground, weights: Weights, stop: Callable[[], bool] | None = None) -> None:
        self.ground, self.weights = ground, weights
        used = sorted({leaf for branch in branches(weights) for factor in branch for leaf in factor})
        # What a leaf computes does not matter here; its column tells whose matrix it takes, also where it comes twice.
        leaves = {leaf: Kernel("linear", features=[leaf]) for leaf in used}
        spn = drawn(branches(weights), leaves)
        circuit = compile_circuit(spn)
        source = MatrixSource({leaf: ground.K[int(spn.spec(leaf).features[0])] for leaf in spn.kernels})  # type: ignore[index]
        deadline = None if stop is None else Deadline(None, stop)
        self.search = Search(spn, circuit, source, ground.Y, deadline=deadline)
        number = {product: k for k, product in enumerate(circuit.products)}
        self.products = product_names(branches(weights))
        self.place = {place: number[product] for place, product in self.products.items()}

    def climb(self, constant: float, a: Floats, steps: int) -> Fitted:
        factors = np.zeros(len(self.place))
        for name, value in self._named():
            factors[self.place[name]] = max(value, LOWEST)
        with np.errstate(all="ignore"):
            point, _ = self.search.climb(self.search.of_factors(factors, constant, a), steps)
        return self._fitted(point)

    def value_without(self, fitted: Fitted, gone: Sequence[str]) -> float:
        """The log evidence with some products taken out and all other weights as they are."""
        beta = self._beta(fitted)
        beta[[self.place[name] for name in gone]] = 0.0
        with np.errstate(all="ignore"):
            return self.search.evaluate(beta, fitted.constant, fitted.a)[0].log_evidence

    def kernel(self, fitted: Fitted) -> Floats:
        """K(β) + c, (n, n)."""
        with np.errstate(all="ignore"):
            self.search.evaluate(self._beta(fitted), fitted.constant, fitted.a)
        return self.search.K

    def active(self, fitted: Fitted) -> dict[str, float]:
        """The weights as `fit_evidence` gives them, those above 0."""
        beta = self.search.canonical(self._beta(fitted))
        return {self.products[name]: float(beta[k]) for name, k in self.place.items() if beta[k] > 0}

    def _beta(self, fitted: Fitted) -> Floats:
        factors = np.zeros(len(self.place))
        for name, value in self._named():
            factors[self.place[name]] = value
        return self.search.of_factors(factors, fitted.constant, fitted.a).beta.copy()

    def _named(self) -> Iterator[tuple[str, float]]:
        for b, branch in enumerate(self.weights):
            yield f"b{b}", branch.scale
            for j, logs in enumerate(branch.logs):
                if len(logs) > 1:
                    yield from ((f"b{b}f{j}l{k}", value) for k, value in enumerate(logs))

    def _fitted(self, point: Point) -> Fitted:
        found = self.search.factors(point)
        value = {name: float(found[k]) for name, k in self.place.items()}
        learned = (
            Weighed(
                branch.factors,
                tuple(
                    tuple(value[f"b{b}f{j}l{k}"] for k in range(len(factor))) if len(factor) > 1 else (0.0,)
                    for j, factor in enumerate(branch.factors)
                ),
                value[f"b{b}"],
            )
            for b, branch in enumerate(self.weights)
        )
        return Fitted(merged(learned), point.constant, point.a, point.value)


@dataclass(frozen=True)
class Part:
    """What can be taken out: a branch, or a place (factor, place in it) of one; how many free weights go with it."""

    branch: int
    place: tuple[int, int] | None
    free: int

    @property
    def product(self) -> str:
        return f"b{self.branch}" if self.place is None else f"b{self.branch}f{self.place[0]}l{self.place[1]}"


def parts(weights: Weights) -> Iterator[Part]:
    for b, branch in enumerate(weights):
        if len(weights) > 1:
            yield Part(b, None, free_weights(branch.factors))
        for j, factor in enumerate(branch.factors):
            if len(factor) > 1:
                yield from (Part(b, (j, k), 1) for k in range(len(factor)))


def without(weights: Weights, gone: Sequence[Part]) -> Weights:
    whole = {part.branch for part in gone if part.place is None}
    left = []
    for b, branch in enumerate(weights):
        kept = None if b in whole else without_leaves(branch, (p.place for p in gone if p.branch == b and p.place))
        left += [] if kept is None else [kept]
    return merged(left)


@single_threaded_blas()
def pruned(ground: Ground, fitted: Fitted, budget: int, stop: Callable[[], bool] | None = None) -> Fitted:
    """Without the parts that are not worth their price; its `refits` are those taken, at most the budget.

    First all parts at once that evidence loses less than their price without, other weights as they are, or the
    lighter half of them, and so on; then the few that others might take over, by a refit each.
    """
    best, refits = fitted, 0
    try:
        while refits < budget and len(list(parts(best.weights))):
            tried = next_prunings(ground, best, stop)
            for left in islice(tried, budget - refits):
                found = fit(ground, left, best.constant, best.a, AGAIN, stop)
                refits += 1
                fewer = len(found.branches) < len(best.branches)
                if found.criterion(ground) > best.criterion(ground) - SAME * fewer:
                    best = found
                    break
            else:
                break
    except Stopped:
        pass
    return Fitted(best.weights, best.constant, best.a, best.value, fitted.refits + refits)


def next_prunings(ground: Ground, best: Fitted, stop: Callable[[], bool] | None) -> Iterator[Weights]:
    """What to try in turn: all that goes unnoticed together; two branches as one; a part that may be taken over."""
    room = Workplace(ground, best.weights, stop)
    gains = {part: _gain(ground, room, best, [part]) for part in parts(best.weights)}
    order = sorted(gains, key=lambda part: (-gains[part], part.product))
    light = [part for part in order if gains[part] > 0]
    while light:
        left = without(best.weights, light)
        if left and (len(light) == 1 or _gain(ground, room, best, light) > 0):
            yield left
            break
        light = light[: len(light) // 2]
    yield from islice(joined(best.weights), TRIED)
    near = [part for part in order if gains[part] > -NEAR * ground.price * part.free]
    yield from (without(best.weights, [part]) for part in near[:TRIED])


def _gain(ground: Ground, room: Workplace, best: Fitted, gone: Sequence[Part]) -> float:
    lost = best.value - room.value_without(best, [part.product for part in gone])
    left = without(best.weights, gone)
    return ground.price * (best.free - sum(map(free_weights, branches(left)))) - lost
