"""This project beside others, on the same 25 kernel matrices in one run: `make bench-peers`, which prints Markdown.

Every method learns weights of the matrices and an SVM with C = 10, in a process of its own and on one thread. The unit
of time is one fit of scikit-learn's SVC on the average of the matrices, timed just before. What a method claims of
itself is not used: its weights β are put into one objective, Σ_m ‖w_m‖²/(2β_m) + Σ_m β_m^p + C Σ_i ℓ_i with p = 1
(p = 2 in the second table), multiplied by the factor that suits them best, and compared with the lower bound that
spnmkl proves at a tolerance of 1e-8. Memory is the peak beyond the matrices and the imported libraries.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from solver import C, kernels25

from spnmkl import Kernel, Solution, solve, templates
from spnmkl.kernels import cross_kernels, fit_kernels

Floats = NDArray[np.float64]
PACKAGES = ("spnmkl", "numpy", "scipy", "scikit-learn", "numba", "MKLpy", "torch", "cvxopt", "cvxpy", "clarabel")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
WARM_UP_ROWS = 60
CONIC_ROWS = 500  # beyond, an interior-point method takes hours and tens of GB
HEAD = "| method | units | gap | kernels used | accuracy | accuracy, best scale | memory |\n|---|---:|---:|---:|---:|---:|---:|"


@dataclass(frozen=True)
class Data:
    """Kernels (25, n, n) of the training rows and (25, m, n) of the test rows; labels ±1."""

    kernels: Floats
    y: Floats
    test_kernels: Floats
    y_test: Floats


@dataclass(frozen=True)
class Asked:
    """What a method may know beside the data: the gap to reach, and Σ_m β_m at the optimum."""

    tol: float
    total: float


Method = Callable[[Floats, Floats, float, Asked], Floats]


# The data.


def breast_cancer() -> Data:
    data = load_breast_cancer()
    return with_kernels(data.data, data.target)


def synthetic() -> Data:
    return with_kernels(*make_classification(2000, 30, n_informative=10, flip_y=0.1, random_state=0))


def with_kernels(X: Floats, labels: NDArray) -> Data:
    """Seven tenths of the rows are trained on; scales are learned from them."""
    X, X_test, y, y_test = train_test_split(X, np.where(labels == 1, 1.0, -1.0), train_size=0.7, random_state=0)
    scaler = StandardScaler().fit(X)
    kernels, fitted = fit_kernels(templates.flat(kernels25(X.shape[1])), scaler.transform(X))
    tests = cross_kernels(fitted, scaler.transform(X_test))
    return Data(np.stack(list(kernels.values())), y, np.stack(list(tests.values())), y_test)


SETS: dict[str, Callable[[], Data]] = {"breast cancer": breast_cancer, "synthetic": synthetic}


# The methods: each returns weights that suit an SVM with this C.


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
    """With its own defaults; a method that takes steps gets MKLpy's rule for when to end them."""
    import torch
    from MKLpy import algorithms
    from MKLpy.scheduler import ReduceOnWorsening

    scheduled = {"scheduler": ReduceOnWorsening()} if steps else {}
    method = getattr(algorithms, name)(learner=SVC(kernel="precomputed", C=C), **scheduled)
    method.fit([torch.from_numpy(K) for K in kernels], torch.from_numpy(y))
    return np.asarray(method.solution.weights, dtype=float)


def conic(kernels: Floats, y: Floats, C: float, asked: Asked) -> Floats:
    """max 1ᵀα with ½ (α∘y)ᵀ K_m (α∘y) ≤ 1 for every kernel, the dual of the whole problem; β are its multipliers."""
    import cvxpy as cp

    if len(y) > CONIC_ROWS:
        raise NotImplementedError(f"not tried above {CONIC_ROWS} rows")
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
    beta, before = np.full(len(kernels), asked.total / len(kernels)), np.inf
    while True:
        value, norms = svm(kernels, y, C, beta)
        value += (beta**p).sum()
        if value >= before * (1 - asked.tol / 10):
            return beta
        beta, before = (beta**2 * norms / (2 * p)) ** (1 / (p + 1)), value


def simple_mkl(kernels: Floats, y: Floats, C: float, asked: Asked) -> Floats:
    """Reduced gradient over the simplex, as Rakotomamonjy et al. (2008), until the duality gap is reached.

    On the simplex, C times Σ_m β_m makes their problem ours, so that sum is told.
    """
    C = C * asked.total
    d = np.full(len(kernels), 1 / len(kernels))
    value, norms = svm(kernels, y, C, d)
    while norms.max() - norms @ d > 2 * asked.tol * value:
        direction = descent(d, -norms / 2)
        d, direction, value = longest_steps(kernels, y, C, d, direction, value)
        step = line_search(kernels, y, C, d, direction)
        d = np.maximum(d + step * direction, 0)
        value, norms = svm(kernels, y, C, d)
        if step == 0:
            break
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
    kernels: Floats, y: Floats, C: float, d: Floats, direction: Floats, value: float
) -> tuple[Floats, Floats, float]:
    """Go on until a weight is zero, and again without it, as long as the objective falls."""
    largest = d.argmax()
    while (direction < 0).any():
        ahead, shorter = d + longest(d, direction) * direction, direction.copy()
        first = np.argmin(np.where(direction < 0, ahead, np.inf))
        ahead[first] = 0
        shorter[largest] += direction[first]
        shorter[first] = 0
        new = svm(kernels, y, C, ahead)[0]
        if new >= value or first == largest:
            break
        d, direction, value = ahead, shorter, new
    return d, direction, value


def longest(d: Floats, direction: Floats) -> float:
    return float((-d[direction < 0] / direction[direction < 0]).min())


def line_search(kernels: Floats, y: Floats, C: float, d: Floats, direction: Floats) -> float:
    if not (direction < 0).any():
        return 0.0
    most = longest(d, direction)
    return float(
        minimize_scalar(
            lambda step: svm(kernels, y, C, np.maximum(d + step * direction, 0))[0],
            bounds=(0, most),
            method="bounded",
            options={"xatol": 1e-2 * most},
        ).x
    )


def svm(kernels: Floats, y: Floats, C: float, weights: Floats) -> tuple[float, Floats]:
    """The SVM's dual value at these weights, and (α∘y)ᵀ K_m (α∘y) of every kernel."""
    a = signed_alpha(combined(kernels, weights), y, C, 1e-4)
    rows = np.flatnonzero(a)
    norms = np.array([a[rows] @ (K[rows] @ a) for K in kernels])
    return float(np.abs(a).sum() - norms @ weights / 2), norms


@dataclass(frozen=True)
class Peer:
    method: Method
    p: float = 1.0
    tols: bool = False  # whether it takes every tolerance asked for, or only the first


OURS, TOLD = "(our transcription)", "(our transcription, told Σβ)"
PEERS: dict[str, Peer] = {
    "spnmkl": Peer(spnmkl, tols=True),
    "average + SVC": Peer(average),
    **{f"MKLpy {name}": Peer(partial(mklpy, name=name)) for name in ("AverageMKL", "EasyMKL", "FHeuristic", "CKA", "PWMK")},
    **{f"MKLpy {name}": Peer(partial(mklpy, name=name, steps=True)) for name in ("GRAM", "MEMO", "RMKL")},
    "CVXPY + Clarabel": Peer(conic),
    f"SimpleMKL {TOLD}": Peer(simple_mkl),
    f"analytic updates {OURS}": Peer(analytic),
    "spnmkl, p = 2": Peer(partial(spnmkl, p=2.0), p=2.0, tols=True),
    f"analytic updates, p = 2 {OURS}": Peer(partial(analytic, p=2.0), p=2.0),
}


# What their weights are worth.


def combined(kernels: Floats, weights: Floats) -> Floats:
    return np.tensordot(weights, kernels, axes=1)


def signed_alpha(K: Floats, y: Floats, C: float, tol: float) -> Floats:
    fitted = SVC(kernel="precomputed", C=C, tol=tol, cache_size=500).fit(K, y)
    a = np.zeros(len(y))
    a[fitted.support_] = fitted.dual_coef_[0]
    return a


@dataclass(frozen=True)
class Worth:
    """The objective of weights `scale`·β, an upper bound on its least value at this scale, and what it rests on."""

    value: float
    scale: float


def worth(kernels: Floats, y: Floats, C: float, weights: Floats, p: float = 1.0) -> Worth:
    """The objective at the multiple of the weights that suits it best: it is convex in the factor.

    An SVM with C on tK is one with tC on K, its α divided by t, so that K is formed once.
    """
    if not weights.any():
        return Worth(2 * C * min((y > 0).sum(), (y < 0).sum()), 0.0)
    K, penalty = combined(kernels, weights), float((weights**p).sum())

    def evaluated(log_t: float, tol: float) -> tuple[float, float]:
        """The objective, and its slope in log t."""
        t = np.exp(log_t)
        a = signed_alpha(K, y, t * C, tol)
        f = K @ a
        norm = float(a @ f) / t
        return norm / 2 + penalty * t**p + C * least_hinge(f, y), p * penalty * t**p - norm / 2

    def slope(log_t: float) -> float:
        return evaluated(log_t, 1e-5)[1]

    low = high = -np.log(weights.sum())
    while slope(low) > 0:
        low -= 1.5
    while slope(high) < 0:
        high += 1.5
    log_t = low if low == high else brentq(slope, low, high, xtol=1e-4)
    return Worth(evaluated(log_t, 1e-7)[0], float(np.exp(log_t)))


def least_hinge(f: Floats, y: Floats) -> float:
    """Σ_i max(0, 1 − y_i (f_i + b)) at the best b: piecewise linear in b, so least at a kink y_i − f_i."""
    return float(np.maximum(0, 1 - y * (f + (y - f)[:, None])).sum(axis=1).min())


def accuracy(data: Data, C: float, weights: Floats) -> float:
    if not weights.any():
        return float(max((data.y_test > 0).mean(), (data.y_test < 0).mean()))
    fitted = SVC(kernel="precomputed", C=C, cache_size=500).fit(combined(data.kernels, weights), data.y)
    return float(fitted.score(combined(data.test_kernels, weights), data.y_test))


# The measurement.


@dataclass(frozen=True)
class Sample:
    seconds: float
    unit: float
    peak: float  # bytes, or NaN where the system does not tell
    weights: Floats


def measured(connection: Connection, name: str, set_name: str, asked: Asked, repeats: int) -> None:
    """In a process of its own: sends a `Sample` per repeat, or a sentence that says what went wrong."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives: some methods print
    warnings.simplefilter("ignore")
    try:
        data, method = SETS[set_name](), PEERS[name].method
        mean = data.kernels.mean(axis=0)
        # Imports what is needed and compiles it, or reads it from a cache.
        method(data.kernels[:, :WARM_UP_ROWS, :WARM_UP_ROWS].copy(), data.y[:WARM_UP_ROWS], C, asked)
        for _ in range(repeats):
            unit = median(seconds(lambda: SVC(kernel="precomputed", C=C).fit(mean, data.y))[0] for _ in range(3))
            before = reset_peak()
            spent, weights = seconds(lambda: method(data.kernels, data.y, C, asked))
            if not np.isfinite(weights).all():
                raise ArithmeticError("its weights are not finite")
            connection.send(Sample(spent, unit, peak() - before, weights))
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def reset_peak() -> float:
    """Forget the peak of this process's memory so far; returns what it holds now."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _memory("VmRSS")


def peak() -> float:
    return _memory("VmHWM")


def _memory(field: str) -> float:
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        return next(1024.0 * int(line.split()[1]) for line in file if line.startswith(field))
    return float("nan")


def samples(name: str, set_name: str, asked: Asked, repeats: int, limit: float) -> Iterator[Sample | str]:
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(sending, name, set_name, asked, repeats))
    process.start()
    sending.close()
    try:
        for _ in range(repeats):
            if not receiving.poll(limit):
                yield f"more than {limit:g} s"
                return
            message = receiving.recv()
            yield message
            if isinstance(message, str):
                return
    except EOFError:
        yield "its process died"
    finally:
        process.kill()
        process.join()


def row(name: str, data: Data, answers: list[Sample | str], p: float, bound: float) -> str:
    done = [sample for sample in answers if isinstance(sample, Sample)]
    failure = next((said for said in answers if isinstance(said, str)), None)
    if not done or failure:
        return f"| {name} | {' '.join((failure or 'nothing').split())[:90]} | | | | | |"
    ratios = [sample.seconds / sample.unit for sample in done]
    given = done[-1].weights
    weights = np.maximum(given, 0)  # CKA's may be negative
    best = worth(data.kernels, data.y, C, weights, p)
    used = f"{(given > 1e-6 * given.max()).sum()}" + (f" ({(given < 0).sum()} below 0)" if (given < 0).any() else "")
    return (
        f"| {name} | {median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f}) | {1 - bound / best.value:.1e} | {used} | "
        f"{accuracy(data, C, weights):.3f} | {accuracy(data, C, best.scale * weights):.3f} | "
        f"{max(sample.peak for sample in done) / 2**20:.0f} MB |"
    )


def report(set_name: str, names: list[str], options: argparse.Namespace) -> None:
    data = SETS[set_name]()
    size = data.kernels.nbytes / 2**20
    print(f"\n## {set_name}: {len(data.y)} rows, {len(data.y_test)} test rows, matrices of {size:.0f} MB in all")
    for p in sorted({PEERS[name].p for name in names}):
        exact = certified(data.kernels, data.y, C, 1e-8, p)
        print(f"\np = {p:g}: lower bound {exact.dual_bound:.8g}, proven gap {exact.gap:.1e}\n\n{HEAD}", flush=True)
        for name in (name for name in names if PEERS[name].p == p):
            for tol in options.tol if PEERS[name].tols else options.tol[:1]:
                asked = Asked(tol, sum(exact.beta.values()))
                answers = list(samples(name, set_name, asked, options.repeats, options.limit))
                title = f"{name}, tol {tol:g}" if PEERS[name].tols else name
                print(row(title, data, answers, p, exact.dual_bound), flush=True)


def versions() -> str:
    def found(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"no {package}"

    return ", ".join([f"Python {platform.python_version()}", *map(found, PACKAGES)])


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.machine()}, {os.cpu_count()} cores of which one is used, {memory:.0f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", metavar="TEXT", default=[""], help="those whose name holds a TEXT")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one training")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the processes that are started
    names = [name for name in PEERS if any(text.lower() in name.lower() for text in options.methods)]
    print(f"{versions()}; {machine()}.\nC = {C:g}, median of {options.repeats} (least–most).")
    for set_name in options.sets:
        report(set_name, names, options)


if __name__ == "__main__":
    main()
