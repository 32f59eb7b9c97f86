"""This project beside others, on the same 25 kernel matrices in one run: `make bench-peers`, which prints Markdown.

Every method learns weights of the matrices and an SVM with C = 10, in a process of its own and on one thread. The unit
of time is one fit of scikit-learn's SVC on the average of the matrices, timed just before and after it. What a method
claims of itself is not used: its weights β are put into one objective, Σ_m ‖w_m‖²/(2β_m) + Σ_m β_m^p + C Σ_i ℓ_i with
p = 1 (p = 2 in the second table), multiplied by the factor that suits them best, and compared with the lower bound that
spnmkl proves at a tolerance of 1e-8: most of them minimise something else, so that their gap tells how far apart the
two are, not how well they do it. Accuracy on rows held out is that of an SVM with C on the weights as the method gave
them, and at the best factor. Memory is the peak beyond the matrices and the imported libraries. A method that fails or
exceeds the limit is shown as such; one that takes steps is stopped before it, and valued where it is.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import multiprocessing
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peer_methods import PEERS, Asked, Floats, TooLarge, certified, combined, signed_alpha
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from solver import C, kernels25

from spnmkl import templates
from spnmkl.kernels import cross_kernels, fit_kernels

PACKAGES = ("spnmkl", "numpy", "scipy", "scikit-learn", "numba", "MKLpy", "torch", "cvxopt", "cvxpy", "clarabel")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
WARM_UP_ROWS = 60
HEAD = (
    "| method | units | one unit | gap | kernels used | accuracy | accuracy, best scale | memory |\n|---|" + 7 * "---:|"
)


@dataclass(frozen=True)
class Data:
    """Kernels (25, n, n) of the training rows and (25, m, n) of test rows against them; labels ±1."""

    kernels: Floats
    y: Floats
    test_kernels: Floats
    y_test: Floats


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


@dataclass(frozen=True)
class Worth:
    """The objective at the weights times `scale`."""

    value: float
    scale: float


def worth(kernels: Floats, y: Floats, C: float, weights: Floats, p: float = 1.0) -> Worth:
    """The objective at the multiple of the weights that suits it best: it is convex in the factor.

    An SVM with C on tK is one with tC on K, its α divided by t, so that K is formed once.
    """
    trivial = Worth(2 * C * min((y > 0).sum(), (y < 0).sum()), 0.0)
    if not weights.any():
        return trivial
    K, penalty = combined(kernels, weights), float((weights**p).sum())

    def slope(log_t: float) -> float:
        """In log t."""
        a = signed_alpha(K, y, np.exp(log_t) * C, 1e-5)
        return float(p * penalty * np.exp(p * log_t) - a @ (K @ a) / (2 * np.exp(log_t)))

    def value(t: float, a: Floats) -> float:
        f = K @ a
        return float(a @ f) / (2 * t) + penalty * t**p + C * least_hinge(f, y)

    low = high = -np.log(weights.sum())
    while slope(low) > 0:
        low -= 1.5
        if low < high - 30:  # at so small a C no weight at all is best
            return trivial
    while slope(high) < 0:
        high += 1.5
    t = float(np.exp(low if low == high else brentq(slope, low, high, xtol=1e-4)))
    a = signed_alpha(K, y, t * C, 1e-7)
    return Worth(min(value(t, a), value(t, polished(K, y, t * C, a))), t)


def polished(K: Floats, y: Floats, C: float, a: Floats) -> Floats:
    """The free α once more in double precision: SVC holds K in single. (The objective is an upper bound at any α.)"""
    free = (np.abs(a) > 1e-9 * C) & (np.abs(a) < C * (1 - 1e-9))
    n, bound = free.sum(), np.where(free, 0.0, a)
    if n == 0:
        return a
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[n, :n], system[:n, n] = K[np.ix_(free, free)], 1, 1
    right = np.append(y[free] - (K @ bound)[free], -bound.sum())
    bound[free] = np.linalg.lstsq(system, right)[0][:n]  # a kernel may be singular
    return bound


def least_hinge(f: Floats, y: Floats) -> float:
    """Σ_i max(0, 1 − y_i (f_i + b)) at the best b: piecewise linear in b, so least at a kink y_i − f_i."""
    return float(np.maximum(0, 1 - y * (f + (y - f)[:, None])).sum(axis=1).min())


def accuracy(data: Data, C: float, weights: Floats) -> float:
    if not weights.any():
        return float((data.y_test == np.sign(data.y.sum())).mean())
    fitted = SVC(kernel="precomputed", C=C, cache_size=500).fit(combined(data.kernels, weights), data.y)
    return float(fitted.score(combined(data.test_kernels, weights), data.y_test))


@dataclass(frozen=True)
class Sample:
    seconds: float
    unit: float
    peak: float  # bytes, or NaN where the system does not tell
    weights: Floats


def measured(connection: Connection, name: str, set_name: str, asked: Asked, repeats: int) -> None:
    """In a process of its own: sends None when ready, a `Sample` per repeat, and at the end what went wrong or None."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives: some methods print
    warnings.simplefilter("ignore")
    try:
        data, method = SETS[set_name](), PEERS[name].method
        mean = data.kernels.mean(axis=0)
        # Imports what is needed and compiles it, or reads it from a cache.
        few = slice(WARM_UP_ROWS)
        method(data.kernels[:, few, few].copy(), data.y[few], C, replace(asked, seconds=1.0))
        connection.send(None)
        for _ in range(repeats):
            units = unit_times(mean, data.y)
            before = reset_peak()
            spent, weights = seconds(lambda: method(data.kernels, data.y, C, asked))
            if not np.isfinite(weights).all():
                raise ArithmeticError("its weights are not finite")
            most = peak() - before
            unit = median(units + unit_times(mean, data.y))
            connection.send(Sample(spent, unit, most, weights))
            if spent > asked.seconds:
                break
        connection.send(None)
    except TooLarge as error:
        connection.send(str(error))
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")


def unit_times(K: Floats, y: Floats) -> list[float]:
    return [seconds(lambda: SVC(kernel="precomputed", C=C).fit(K, y))[0] for _ in range(5)]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def reset_peak() -> float:
    """Forget the peak of this process's memory so far; returns what it holds now, without what it had given back."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
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
    process = context.Process(target=measured, args=(sending, name, set_name, asked, repeats), daemon=True)
    process.start()
    sending.close()

    def message() -> Sample | str | None:
        return receiving.recv() if receiving.poll(limit) else f"more than {limit:g} s"

    try:
        answer = message() or message()
        while answer is not None:
            yield answer
            answer = None if isinstance(answer, str) else message()
    except EOFError:
        yield "its process died"
    finally:
        process.kill()
        process.join()


def row(name: str, data: Data, answers: list[Sample | str], asked: Asked, p: float, bound: float) -> str:
    done = [sample for sample in answers if isinstance(sample, Sample)]
    failure = next((said for said in answers if isinstance(said, str)), None)
    if failure or not done:
        return f"| {name} | {' '.join(str(failure).replace('|', '/').split())[:90]} | | | | | | |"
    ratios = [sample.seconds / sample.unit for sample in done]
    given = done[-1].weights
    weights = np.maximum(given, 0)  # CKA's may be negative
    best = worth(data.kernels, data.y, C, weights, p)
    cells = [
        name,
        f"stopped at {ratios[0]:,.0f}"
        if done[-1].seconds > asked.seconds
        else f"{median(ratios):,.1f} ({min(ratios):,.1f}–{max(ratios):,.1f})",
        f"{1000 * median(sample.unit for sample in done):.1f} ms",
        f"{1 - bound / best.value:.1e}",
        f"{(given > 1e-6 * given.max()).sum()}" + (f" ({(given < 0).sum()} below 0)" if (given < 0).any() else ""),
        f"{accuracy(data, C, weights):.3f}",
        f"{accuracy(data, C, best.scale * weights):.3f}",
        f"{max(sample.peak for sample in done) / 2**20:.0f} MB",
    ]
    return f"| {' | '.join(cells)} |"


def report(set_name: str, names: list[str], options: argparse.Namespace) -> None:
    data = SETS[set_name]()
    size = data.kernels.nbytes / 2**20
    print(f"\n## {set_name}: {len(data.y)} rows, {len(data.y_test)} test rows, matrices of {size:.0f} MB in all")
    for p in sorted({PEERS[name].p for name in names}):
        exact = certified(data.kernels, data.y, C, 1e-8, p)
        print(f"\np = {p:g}: lower bound {exact.dual_bound:.8g}, proven gap {exact.gap:.1e}\n\n{HEAD}", flush=True)
        for name in (name for name in names if PEERS[name].p == p):
            for tol in options.tol if PEERS[name].tols else options.tol[:1]:
                asked = Asked(tol, sum(exact.beta.values()), 0.8 * options.limit)
                answers = list(samples(name, set_name, asked, options.repeats, options.limit))
                title = f"{name}, tol {tol:g}" if PEERS[name].tols else name
                print(row(title, data, answers, asked, p, exact.dual_bound), flush=True)


def versions(packages: tuple[str, ...]) -> str:
    def found(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"no {package}"

    return ", ".join([f"Python {platform.python_version()}", *map(found, packages)])


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", metavar="TEXT", default=[""], help="those whose name holds a TEXT")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds for one training; some stop after 0.8 of it"
    )
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by the processes that are started
    names = [name for name in PEERS if any(text.lower() in name.lower() for text in options.methods)]
    print(f"{versions(PACKAGES)}; {machine()}.\nC = {C:g}, one thread, median of {options.repeats} (least–most).")
    for set_name in options.sets:
        report(set_name, names, options)


if __name__ == "__main__":
    main()
