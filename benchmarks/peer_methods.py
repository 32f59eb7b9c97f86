"""What is compared in `peers.py`: each method takes kernels (M, n, n), labels ±1 and C, and returns M weights that suit
an SVM with this C.

Two are written here after their papers, because no package of them can be installed: they say so in their names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

from spnmkl import Kernel, Solution, solve, templates

Floats = NDArray[np.float64]
CONIC_ROWS = 500  # 398 rows took 40 s and 0.5 GB; dense factorisations grow with the cube of the rows


def unwatched(weights: Floats, value: float) -> None: ...


@dataclass(frozen=True)
class Asked:
    """What a method may know beside the data: the gap to reach, Σ_m β_m at the optimum, and when to give up.

    `watch` is told the weights and the value of every SVM of the methods that are written here.
    """

    tol: float
    total: float = 1.0
    seconds: float = np.inf
    watch: Callable[[Floats, float], object] = unwatched


Method = Callable[[Floats, Floats, float, Asked], Floats]


def combined(kernels: Floats, weights: Floats) -> Floats:
    return np.tensordot(weights, kernels, axes=1)


def signed_alpha(K: Floats, y: Floats, C: float, tol: float) -> Floats:
    fitted = SVC(kernel="precomputed", C=C, tol=tol, cache_size=500).fit(K, y)
    a = np.zeros(len(y))
    a[fitted.support_] = fitted.dual_coef_[0]
    return a


def certified(kernels: Floats, y: Floats, C: float, tol: float, p: float = 1.0) -> Solution:
    spn = templates.flat([Kernel("precomputed", label=f"K{m}") for m in range(len(kernels))], p=p)
    return solve(spn, dict(zip(spn.kernels, kernels, strict=True)), y, C=C, tol=tol, n_threads=1)


def spnmkl(kernels: Floats, y: Floats, C: float, asked: Asked, p: float = 1.0) -> Floats:
    return np.array(list(certified(kernels, y, C, asked.tol, p).beta.values()))


def average(kernels: Floats, y: Floats, C: float, asked: Asked) -> Floats:
    weights = np.full(len(kernels), 1 / len(kernels))
    SVC(kernel="precomputed", C=C).fit(combined(kernels, weights), y)
    return weights


def mklpy(kernels: Floats, y: Floats, C: float, asked: Asked, name: str, steps: bool = False) -> Floats:
    """With its own defaults; a method that takes steps gets MKLpy's rule for when to end them, and a deadline."""
    algorithms, scheduler, torch = map(import_module, ("MKLpy.algorithms", "MKLpy.scheduler", "torch"))
    ending = {"scheduler": scheduler.ReduceOnWorsening(), "callbacks": [Deadline(asked.seconds)]} if steps else {}
    method = getattr(algorithms, name)(learner=SVC(kernel="precomputed", C=C), **ending)
    method.fit([torch.from_numpy(K) for K in kernels], torch.from_numpy(y))
    return np.asarray(method.solution.weights, dtype=float)


class Deadline:
    """A callback of MKLpy that takes a late method for converged."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds
        self.model: Any = None

    def register(self, model: Any) -> None:
        self.model = model

    def on_step_begin(self, step: int) -> None:
        self.model.convergence |= time.perf_counter() > self.end

    def on_step_end(self, step: int) -> None: ...

    def on_train_begin(self) -> None: ...

    def on_train_end(self) -> None: ...


class TooLarge(Exception):
    """A method is not asked at all."""


def conic(kernels: Floats, y: Floats, C: float, asked: Asked) -> Floats:
    """max 1ᵀα with ½ (α∘y)ᵀ K_m (α∘y) ≤ 1 for every kernel, the dual of the whole problem; β are its multipliers."""
    import cvxpy as cp

    if len(y) > CONIC_ROWS:
        raise TooLarge(f"not tried above {CONIC_ROWS} rows")
    a = cp.Variable(len(y))
    cones = [cp.norm(factor(K).T @ a) <= np.sqrt(2) for K in kernels]
    box = [cp.multiply(y, a) >= 0, cp.multiply(y, a) <= C, cp.sum(a) == 0]
    cp.Problem(cp.Maximize(y @ a), cones + box).solve(solver=cp.CLARABEL)
    return np.array([float(cone.dual_value) for cone in cones]) / np.sqrt(2)


def factor(K: Floats) -> Floats:
    """L with L Lᵀ = K, but for rounding."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def analytic(kernels: Floats, y: Floats, C: float, asked: Asked, p: float = 1.0) -> Floats:
    """Alternation of an SVM and the best weights for its w, as Kloft et al. (2011), until the objective rests."""
    beta, before, end = np.full(len(kernels), 1 / len(kernels)), np.inf, time.perf_counter() + asked.seconds
    while True:
        value, a = svm(kernels, y, C, beta, asked)
        value += (beta**p).sum()
        if value >= before * (1 - asked.tol / 100) or time.perf_counter() > end:
            return beta
        beta, before = (beta**2 * norms(kernels, a) / (2 * p)) ** (1 / (p + 1)), value


def simple_mkl(kernels: Floats, y: Floats, C: float, asked: Asked) -> Floats:
    """Reduced gradient over the simplex, as Rakotomamonjy et al. (2008), until their duality gap is reached.

    On the simplex, C times Σ_m β_m makes their problem ours, so that sum is told.
    """

    def objective(d: Floats) -> float:
        return svm(kernels, y, C * asked.total, d, asked)[0]

    d, end = np.full(len(kernels), 1 / len(kernels)), time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        value, a = svm(kernels, y, C * asked.total, d, asked)
        q = norms(kernels, a)
        if q.max() - q @ d <= 2 * asked.tol * value:
            break
        d, direction = longest_steps(objective, d, descent(d, -q / 2), value)
        d = np.maximum(d + line_search(objective, d, direction) * direction, 0)
    return d * asked.total


def descent(d: Floats, gradient: Floats) -> Floats:
    """Minus the reduced gradient: the largest weight balances the others, zero weights do not become negative."""
    largest = d.argmax()
    direction = gradient[largest] - gradient
    direction[(d <= 0) & (direction < 0)] = 0
    direction[largest] = 0
    direction[largest] = -direction.sum()
    return direction


def longest_steps(
    objective: Callable[[Floats], float], d: Floats, direction: Floats, value: float
) -> tuple[Floats, Floats]:
    """Go on until a weight is zero, and again without it, as long as the objective falls."""
    largest = d.argmax()
    while (direction < 0).any():
        first, step = longest(d, direction)
        ahead, rest = np.maximum(d + step * direction, 0), direction.copy()
        ahead[first] = rest[first] = 0
        rest[largest] += direction[first]
        before, value = value, objective(ahead)
        if value >= before or first == largest:
            break
        d, direction = ahead, rest
    return d, direction


def longest(d: Floats, direction: Floats) -> tuple[int, float]:
    """The weight that is zero first on the way, and the step to there."""
    falling = np.flatnonzero(direction < 0)
    steps = -d[falling] / direction[falling]
    return int(falling[steps.argmin()]), float(steps.min())


def line_search(objective: Callable[[Floats], float], d: Floats, direction: Floats) -> float:
    if not (direction < 0).any():
        return 0.0
    _, most = longest(d, direction)
    found = minimize_scalar(
        lambda step: objective(np.maximum(d + step * direction, 0)),
        bounds=(0, most),
        method="bounded",
        options={"xatol": 1e-2 * most},
    )
    return float(found.x)


def svm(kernels: Floats, y: Floats, C: float, weights: Floats, asked: Asked) -> tuple[float, Floats]:
    """The SVM's dual value at these weights, and α∘y; solved more closely than the weights have to be."""
    K = combined(kernels, weights)
    a = signed_alpha(K, y, C, asked.tol / 10)
    value = float(np.abs(a).sum() - a @ (K @ a) / 2)
    asked.watch(weights, value)
    return value, a


def norms(kernels: Floats, a: Floats) -> Floats:
    """(α∘y)ᵀ K_m (α∘y) of every kernel."""
    return np.array([a @ (K @ a) for K in kernels])


@dataclass(frozen=True)
class Peer:
    method: Method
    p: float = 1.0
    tols: bool = False  # whether it takes every tolerance asked for, or only the first


OURS, TOLD = "(our transcription)", "(our transcription, told Σβ)"
PEERS: dict[str, Peer] = {
    "spnmkl": Peer(spnmkl, tols=True),
    "average + SVC": Peer(average),
    **{
        f"MKLpy {name}": Peer(partial(mklpy, name=name))
        for name in ("AverageMKL", "EasyMKL", "FHeuristic", "CKA", "PWMK")
    },
    **{f"MKLpy {name}": Peer(partial(mklpy, name=name, steps=True)) for name in ("GRAM", "MEMO", "RMKL")},
    "CVXPY + Clarabel": Peer(conic),
    f"SimpleMKL {TOLD}": Peer(simple_mkl),
    f"analytic updates {OURS}": Peer(analytic),
    "spnmkl, p = 2": Peer(partial(spnmkl, p=2.0), p=2.0, tols=True),
    f"analytic updates, p = 2 {OURS}": Peer(partial(analytic, p=2.0), p=2.0),
}
