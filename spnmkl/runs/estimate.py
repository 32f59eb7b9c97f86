"""What a training will take: memory and time, counted before it starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import log10, sqrt

import numpy as np

from spnmkl.circuit.evaluate import kernel_matrix, term_responses
from spnmkl.circuit.program import Circuit, compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.data.words import counted
from spnmkl.kernels.matrices import PSD_ROWS
from spnmkl.memory import kernel_bytes
from spnmkl.problem import powers
from spnmkl.runs.contest import Plan
from spnmkl.runs.entrants import Entrants
from spnmkl.selection import fold_bytes, folds_at_once
from spnmkl.solvers.drive import DEFAULT_ITERATIONS
from spnmkl.solvers.svm import solve_svm
from spnmkl.structure import SPN, Kernel, templates
from spnmkl.threads import default_threads, single_threaded_blas
from spnmkl.training.settings import Settings

_ITEM = 8  # bytes of a number
_ROOM = 0.9  # of the free memory may be used
_GRID = 12  # values of C in a cross-validation
_KERNEL_OPERATIONS = 25  # per entry of a base kernel: its distance or inner product, its exponential, its checks
_BLAS = 0.1  # time of one operation of a factorisation, as a share of one of the circuit's
# Evaluations, one kernel and SVM each; where p < 1 several starts are compared; Algorithm 1 looks for steps in each.
_SECOND_ORDER = (2, 12)
_EVALUATIONS = dict.fromkeys(("auto", "newton", "interior"), _SECOND_ORDER) | {
    "paper": (100, 10 * DEFAULT_ITERATIONS["paper"])
}
_STARTS = 10
_STEPS = (0.3, 20.0)  # of an SVM per row
_FREE = (0.1, 1.0)  # share of the rows that are free support vectors
_SOLVE = 0.01  # seconds that learning weights takes on a few rows
_SCALES, _SAMPLE = 15, 500  # SVMs on a sample of the rows that find the scale to start from


@dataclass(frozen=True)
class Size:
    """What memory and time are counted from; `n` are the training rows, `matrices` the distinct base kernels."""

    n: int
    matrices: int
    terms: int
    multiplications: int
    products: int
    problems: int
    folds: int
    threads: int
    at_once: int = 1  # folds, each with kernels of its own

    @property
    def memory(self) -> int:
        """Bytes at the peak: the kernels, K(β) and a block of it to factorise, and one response per term and row."""
        kernels = self.matrices * self.n**2
        if self.folds:
            kernels += round(self.at_once * fold_bytes(kernels, self.folds))
        working = max(2 * self.at_once * self.n**2, 3 * min(self.n, PSD_ROWS) ** 2)
        responses = (self.threads + 2) * self.terms * self.problems * self.n
        dense = (2 * self.terms + 3 * self.n) * self.products
        return _ITEM * (kernels + working + responses + dense)

    @property
    def kernel_operations(self) -> float:
        """To compute the base kernels, and to factorise a sample of each, which shows whether it is one."""
        return self.matrices * (_KERNEL_OPERATIONS * self.n**2 + _BLAS * min(self.n, PSD_ROWS) ** 3 / 3)

    @property
    def kernel_seconds(self) -> float:
        return self.kernel_operations * _rates().operation

    @property
    def circuit_operations(self) -> float:
        """Of one evaluation: K(β) forward, and backward the response of every term, on half of the entries."""
        return (4 * self.multiplications + 2 * self.terms * self.problems) * self.n**2 / 2

    def seconds(self, evaluations: float, steps: float, free: float, threads: int) -> float:
        rates = _rates()
        factorisation = _BLAS * self.problems * (free * self.n) ** 3 / 3
        together = max(1, min(threads, self.folds))
        circuit = (self.circuit_operations / (threads // together) + factorisation) * rates.operation
        svm = self.problems * steps * rates.svm_entry
        start = _SCALES * svm * min(self.n, _SAMPLE) ** 2
        solves = self.folds * _GRID if self.folds else 1
        once = circuit + svm * self.n**2
        return self.kernel_seconds + start + solves * evaluations * once / together


@dataclass(frozen=True)
class Estimate:
    """Memory at the peak, and seconds at the least and at the most that is likely."""

    memory_bytes: int
    seconds: tuple[float, float]
    words: str
    size: Size


def estimate(spn: SPN, n: int, n_classes: int, settings: Settings, folds: int = 0) -> Estimate:
    """What training a structure will take.

    Parameters
    ----------
    spn : SPN
        One that is valid.
    n : int
        Training rows.
    n_classes : int
    settings : Settings
    folds : int
        Those of a cross-validation over C; 0 for a single training.
    """
    circuit = compile_circuit(spn)
    size = _size(spn, circuit, n, n_classes, folds)
    low, high = _evaluations(spn, circuit, settings)
    most = np.inf if settings.max_time is None else size.kernel_seconds + settings.max_time
    seconds = (
        min(most, size.seconds(low, _STEPS[0], _FREE[0], size.threads)),
        min(most, size.seconds(high, _STEPS[1], _FREE[1], 1)),
    )
    return Estimate(size.memory, seconds, f"about {memory_text(size.memory)} of memory and {time_text(*seconds)}", size)


def _size(spn: SPN, circuit: Circuit, n: int, n_classes: int, folds: int) -> Size:
    matrices = len({_matrix(spn, leaf) for leaf in spn.kernels})
    return Size(
        n=n,
        matrices=matrices,
        terms=circuit.n_terms,
        multiplications=circuit.size,
        products=len(circuit.products),
        problems=1 if n_classes <= 2 else n_classes,
        folds=folds,
        threads=default_threads(),
        at_once=_at_once(_ITEM * matrices * n**2, folds) if folds else 1,
    )


def _at_once(kernels: int, folds: int) -> int:
    """Folds that are worked on together once these kernels are in memory."""
    room = max(0.0, kernel_bytes(None) - kernels / 2)
    return folds_at_once(default_threads(), folds, fold_bytes(kernels, folds), room)


def _matrix(spn: SPN, leaf: str) -> object:
    """Equal for leaves that share one matrix."""
    spec = spn.spec(leaf)
    return spn.label(leaf) if spec.kernel == "precomputed" else spec


def _evaluations(spn: SPN, circuit: Circuit, settings: Settings) -> tuple[float, float]:
    low, high = _EVALUATIONS[settings.solver]
    finer = max(0.0, np.log10(1e-3 / settings.tol))
    starts = _STARTS if (powers(spn, circuit, settings.p) < 1).any() else 1
    least, most = low + finer, (high + 5 * finer) * starts
    if settings.max_iter is not None:
        least, most = min(least, settings.max_iter), min(most, 10.0 * settings.max_iter)
    return least, most


@dataclass(frozen=True)
class _Rates:
    """Seconds on this machine, on one thread."""

    operation: float
    svm_entry: float


@cache
def _rates() -> _Rates:
    """Measured once, on a problem small enough to take milliseconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(256, 4))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    circuit = compile_circuit(templates.product_of_sums({"A": [Kernel("rbf")] * 2, "B": [Kernel("linear")] * 2}))
    source, W = MatrixSource(dict.fromkeys(circuit.leaves, K)), np.ones(circuit.n_terms)
    y = np.where(rng.random(len(K)) < 0.5, 1.0, -1.0)
    out = np.empty_like(K)
    size = Size(len(K), 1, circuit.n_terms, circuit.size, 1, 1, 0, 1)

    def circuit_once() -> None:
        kernel_matrix(circuit, W, source, out)
        term_responses(circuit, W, source, y[None])

    def svm_once() -> int:
        return solve_svm(K, y, np.full(len(K), 100.0), np.zeros(len(K)), 1.0).steps

    with single_threaded_blas():
        operation = _fastest(circuit_once) / size.circuit_operations
        svm = _fastest(svm_once) / (max(svm_once(), 1) * len(K))
    return _Rates(operation, svm)


def _fastest(work: Callable[[], object]) -> float:
    """Of a few runs; the first may compile."""
    work()
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def refusal(estimate: Estimate, available: int | None) -> str | None:
    """Why a training cannot start, with what would fit; None if it can."""
    if available is None or estimate.memory_bytes <= _ROOM * available:
        return None
    size, limit = estimate.size, _ROOM * available
    advice = []
    rows = _largest(lambda n: replace(size, n=n).memory <= limit, size.n)
    if rows > 1:
        advice.append(f"with {counted(size.matrices, 'kernel')} {counted(rows, 'training row')} would fit")
    kernels = _largest(lambda k: replace(size, matrices=k).memory <= limit, size.matrices)
    if kernels:
        advice.append(f"with {counted(size.n, 'training row')} {counted(kernels, 'kernel')} would fit")
    return (
        f"This needs about {memory_text(estimate.memory_bytes)} of memory, but {memory_text(available)} are free: use "
        f"fewer rows or fewer kernels; {' and '.join(advice) or 'nothing of this shape would fit'}."
    )


def _largest(fits: Callable[[int], bool], high: int) -> int:
    """The largest number below `high` that fits, 0 if none does."""
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def memory_text(n_bytes: float) -> str:
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 999.5 or unit == "GB":
            break
    return f"{n_bytes:.1f} {unit}" if n_bytes < 9.95 else f"{n_bytes:,.0f} {unit}"


def time_text(low: float, high: float) -> str:
    """Both ends in one unit, that of the longer."""
    if high < 1:
        return "less than a second"
    unit, seconds = next((u, s) for u, s in (("h", 3600), ("min", 60), ("s", 1)) if high >= 2 * s or s == 1)
    first, last = round(low / seconds), round(high / seconds)
    return f"{first:,} to {last:,} {unit}" if 0 < first < last else f"up to {last:,} {unit}"


def contest_estimate(who: Entrants, plan: Plan, n: int, n_classes: int) -> Estimate:
    """What a comparison will take: its kernels, and every method with its choice of C on every fold and on all rows.

    Its words name one time out of a range of more than a factor of ten, which comes close on the samples.
    """
    settings = Settings(tol=plan.tol)
    held = estimate(who.pool, n, n_classes, settings, plan.inner)
    inside = max(2, n - n // plan.folds)
    fits = plan.folds * plan.repeats + 1
    each = [
        estimate(spn, inside, n_classes, settings, plan.inner).seconds
        for method in who.methods.values()
        for spn in method.candidates
    ]
    low, high = (fits * plan.points / _GRID * sum(ends) for ends in zip(*each, strict=True))
    learned = sum(method.weigh is None for method in who.methods.values())
    least = learned * fits * plan.inner * plan.points * _SOLVE
    return Estimate(held.memory_bytes, (low + least, high + least), about(least + sqrt(low * high) / 2), held.size)


def about(seconds: float) -> str:
    """One digit that counts."""
    if seconds < 5:
        return "a few seconds"
    unit, length = next((u, s) for u, s in (("h", 3600), ("min", 60), ("s", 1)) if seconds >= 2 * s or s == 1)
    digits = -int(log10(max(seconds / length, 1)))
    return f"about {round(seconds / length, digits):,.0f} {unit}"
