"""The memory that a training takes, counted before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from spnmkl.circuit.program import compile_circuit
from spnmkl.kernels.matrices import PSD_ROWS
from spnmkl.kernels.source import MOST_ROWS, TILE_BYTES
from spnmkl.memory import double_bytes, kernel_bytes, single_bytes
from spnmkl.selection.folds import fold_bytes, folds_at_once
from spnmkl.solvers.strategy import SINGLE_TOL
from spnmkl.structure import SPN
from spnmkl.threads import default_threads
from spnmkl.training.settings import Settings
from spnmkl.wording import counted

_ITEM, _SINGLE = 8, 4  # bytes of a number, and of one in single precision
_ROOM = 0.9  # of the free memory may be used
_SAMPLED = 4000  # rows of a sample that fits nearly everywhere
LANDMARKS = (
    "All rows can be trained by landmarks (spnmkl fit --approximation nystroem, in the app under All settings): "
    "certified weights are learned on a sample of them, and then the SVM on all; how close that comes is not certified."
)


@dataclass(frozen=True)
class Size:
    """What memory is counted from; `n` are the training rows, `matrices` the distinct base kernels that are held."""

    n: int
    matrices: int
    terms: int
    products: int
    problems: int
    folds: int
    threads: int
    at_once: int = 1  # folds, each with kernels of its own
    features: int = 0  # bytes of those of all rows, where `n` are a sample of them
    single: bool = False  # whether K(β) is first held in single precision, where kernels are computed

    @property
    def kernels(self) -> int:
        """Bytes of the kernel matrices alone."""
        return _ITEM * self.matrices * self.n**2

    @property
    def memory(self) -> int:
        """Bytes at the peak: the kernels, K(β) and a block of it to factorise, and one response per term and row.

        The kernels of test rows, a tile for each thread, come when the weights are learned; of few rows they take more.
        """
        kernels = self.matrices * self.n**2
        if self.folds:
            kernels += round(self.at_once * fold_bytes(kernels, self.folds))
        working = _ITEM * max(2 * self.at_once * self.n**2, 3 * min(self.n, PSD_ROWS) ** 2)
        if self.single and not self.matrices:
            working = single_bytes(self.n)
        responses = (self.threads + 2) * self.terms * self.problems * self.n
        dense = (2 * self.terms + 3 * self.n) * self.products
        peak = max(working + _ITEM * (responses + dense), 0 if self.folds else self._tiles)
        return _ITEM * kernels + max(peak, self.features)

    @property
    def _tiles(self) -> int:
        return self.threads * min(TILE_BYTES, _ITEM * self.matrices * min(self.n, MOST_ROWS) * self.n)

    @property
    def in_tiles(self) -> Size:
        """The same without matrices: kernels computed whenever they are needed, for one fold after the other."""
        return replace(self, matrices=0, at_once=1)

    @property
    def in_double(self) -> Size:
        """The same where single precision turns out not to be enough, which a training asks for before it takes it."""
        return replace(self, single=False)


def size_of(spn: SPN, n: int, n_classes: int, folds: int = 0, settings: Settings | None = None) -> Size:
    """What training a structure that is valid holds.

    Parameters
    ----------
    spn : SPN
    n : int
        Training rows.
    n_classes : int
    folds : int
        Those of a cross-validation over C; 0 for a single training.
    settings : Settings, optional
        Where they ask for landmarks, kernels are those of a sample; the features of all rows lie on the disk where
        they are larger than kernels may be.
    """
    circuit, features = compile_circuit(spn), 0
    if settings is not None and settings.sampled_rows is not None:
        features = int(min(_SINGLE * n * min(settings.n_components, n), kernel_bytes(None)))
        n = min(n, settings.sampled_rows)
    matrices = len({_matrix(spn, leaf) for leaf in spn.kernels})
    return Size(
        n=n,
        matrices=matrices,
        terms=circuit.n_terms,
        products=len(circuit.products),
        problems=1 if n_classes <= 2 else n_classes,
        folds=folds,
        threads=default_threads(),
        at_once=_at_once(_ITEM * matrices * n**2, folds) if folds else 1,
        features=features,
        single=settings is not None and may_be_single(settings),
    )


def may_be_single(settings: Settings) -> bool:
    """Whether certified weights over computed kernels are found in single precision first, and proved in double."""
    convex = settings.p is None or (isinstance(settings.p, (int, float)) and settings.p >= 1)
    return convex and settings.weights != "evidence" and settings.solver == "auto" and settings.tol >= SINGLE_TOL


def _at_once(kernels: int, folds: int) -> int:
    """Folds that are worked on together once these kernels are in memory."""
    room = max(0.0, kernel_bytes(None) - kernels / 2)
    return folds_at_once(default_threads(), folds, fold_bytes(kernels, folds), room)


def _matrix(spn: SPN, leaf: str) -> object:
    """Equal for leaves that share one matrix."""
    spec = spn.spec(leaf)
    return spn.label(leaf) if spec.kernel == "precomputed" else spec


def refusal(size: Size, available: int | None) -> str | None:
    """Why a training cannot start, with what would fit; None if it can."""
    if available is None or size.memory <= _ROOM * available:
        return None
    limit, kernels, rows = _ROOM * available, counted(size.matrices, "kernel"), counted(size.n, "training row")
    advice = []
    fitting = _largest(lambda n: replace(size, n=n).memory <= limit, size.n)
    if fitting > 1:
        advice.append(f"{f'with {kernels} ' * (size.matrices > 0)}{counted(fitting, 'training row')} would fit")
    few = _largest(lambda k: replace(size, matrices=k).memory <= limit, size.matrices)
    if few:
        advice.append(f"with {rows} {counted(few, 'kernel')} would fit")
    fewer = "fewer rows or fewer kernels" if size.matrices else "fewer rows"
    offer = f" {LANDMARKS}" if size.n > _SAMPLED and replace(size, n=_SAMPLED).memory <= limit else ""
    return (
        f"This needs about {memory_text(size.memory)} of memory, but {memory_text(available)} are free: use "
        f"{fewer}; {' and '.join(advice) or 'nothing of this shape would fit'}.{offer}"
    )


@dataclass(frozen=True)
class ExactRoom:
    """What the exact way holds of so many training rows, whatever the drawing, once kernels are computed in tiles."""

    n: int
    settings: Settings
    available: int | None

    @property
    def most(self) -> int:
        """Bytes of K(β) and a block of it; of evidence weights K(β) alone."""
        return double_bytes(self.n, 0 if self._by_evidence else None)

    @property
    def least(self) -> int:
        """The same in single precision, where certified weights may be found in it and proved in double."""
        return single_bytes(self.n) if may_be_single(self.settings) else self.most

    @property
    def _by_evidence(self) -> bool:
        return self.settings.weights == "evidence"

    def fits(self, needed: int) -> bool:
        return self.available is None or needed <= _ROOM * self.available

    def words(self) -> str | None:
        """That it does not fit, or may not, and which way does; None where it fits."""
        if self.available is None or self.fits(self.most):
            return None
        free, more = memory_text(self.available), memory_text(self.most)
        lacking = f", but {free} are free."
        if self.fits(self.least):
            lacking = f", and up to {more} where single precision is not enough; {free} are free."
        return (
            f"Exact training on {counted(self.n, 'row')} needs about {memory_text(self.least)} of memory beside its "
            f"kernels{lacking} {LANDMARKS}"
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
