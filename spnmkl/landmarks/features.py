"""Features whose inner products are the Nyström approximation of the circuit's kernel K(β), from m landmarks.

With L the landmarks, φ(x) = Tᵀ K(L, x) where T Tᵀ is the pseudo-inverse of K(L, L): between landmarks φ(x)ᵀφ(z) is
K(x, z) itself, and a decision wᵀφ(x) is Σ_j (Tw)_j K(x, L_j), for which m kernel values are enough.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.blocks import Block, dealt, over_lanes, rectangle
from spnmkl.circuit.evaluate import cross_matrix, kernel_matrix
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.errors import DataError, Stopped
from spnmkl.kernels import CrossSource, FittedKernel, TileSource
from spnmkl.parallel import Place, goes_elsewhere, side_by_side
from spnmkl.threads import single_threaded_blas

_CUT = 1e-12  # of the largest eigenvalue of K(L, L): what is below is taken for rounding
BLOCK_ROWS = 2048
_SENT_BYTES = 1e9  # of features that workers may hold together
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The circuit's kernel seen from some reference rows.

    Attributes
    ----------
    circuit, W : the compiled structure and its weights.
    fitted : leaf → kernel, with the m landmarks as its references.
    T : (m, rank) from kernel values to features.
    """

    circuit: Circuit
    W: Floats
    fitted: Mapping[str, FittedKernel]
    T: Floats

    def features(self, X: Floats) -> Singles:
        """(rows, rank) of some rows: all that a thread, a process or another machine is asked for."""
        values = np.empty((X.shape[0], len(self.T)))
        cross_matrix(self.circuit, self.W, CrossSource(self.fitted, X), values)
        return (values @ self.T).astype(np.float32)


@single_threaded_blas()
def landmarks(circuit: Circuit, W: Floats, fitted: Mapping[str, FittedKernel], n_threads: int = 1) -> Landmarks:
    """Factorise K(L, L) by its eigenvectors, without those whose eigenvalue is at most 10⁻¹² of the largest."""
    source = TileSource(fitted)
    K = kernel_matrix(circuit, W, source, np.empty(source.shape), n_threads)
    values, vectors = np.linalg.eigh(K)
    kept = values > _CUT * max(values[-1], 0.0)
    return Landmarks(circuit, W, fitted, vectors[:, kept] / np.sqrt(values[kept]))


@single_threaded_blas()
def feature_blocks(
    seen: Landmarks,
    X: Floats,
    max_bytes: float,
    n_threads: int = 1,
    stop: Callable[[], bool] | None = None,
    tick: Callable[[int, int], object] | None = None,
) -> list[Singles]:
    """The features of all rows, block by block: in memory up to `max_bytes`, beyond in a file without a name."""
    Z = _room(X.shape[0], seen.T.shape[1], max_bytes)
    blocks = rectangle(X.shape[0], BLOCK_ROWS, 1)
    if goes_elsewhere():
        _fill_elsewhere(Z, seen, X, blocks, stop, tick)
        return [Z[first:last] for first, last in blocks]

    def fill(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            if stop is not None and stop():
                raise Stopped
            Z[first:last] = seen.features(X[first:last])
            if tick is not None:
                tick(last, X.shape[0])

    over_lanes(fill, dealt(blocks, len(blocks)), n_threads)
    return [Z[first:last] for first, last in blocks]


def _fill_elsewhere(
    Z: Singles,
    seen: Landmarks,
    X: Floats,
    blocks: Sequence[Block],
    stop: Callable[[], bool] | None,
    tick: Callable[[int, int], object] | None,
) -> None:
    """By the workers of joblib's backend, some blocks at a time: what has come is held there until all of them have."""
    together, done = max(1, int(_SENT_BYTES / (Z.itemsize * BLOCK_ROWS * max(1, Z.shape[1])))), 0
    for start in range(0, len(blocks), together):
        items = [(first, X[first:last]) for first, last in blocks[start : start + together]]
        for first, found in side_by_side(_features_of, seen, items, stop=stop):
            Z[first : first + len(found)] = found
            done += len(found)
            if tick is not None:
                tick(done, len(Z))
        if stop is not None and stop():
            raise Stopped
    if done < len(Z):
        raise Stopped


def _features_of(seen: Landmarks, item: tuple[int, Floats], place: Place) -> Iterator[tuple[int, Singles]]:
    first, X = item
    yield first, seen.features(X)


def _room(n: int, rank: int, max_bytes: float) -> Singles:
    if 4 * n * rank <= max_bytes or not rank:
        return np.empty((n, rank), dtype=np.float32)
    with tempfile.TemporaryFile(prefix="spnmkl-") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, 4 * n * rank)  # a full disk is told now, not by a crash later
        except OSError as error:
            raise DataError(
                f"The features of {n:,} rows at {rank:,} landmarks take {4e-9 * n * rank:.1f} GB, but the folder "
                f"{tempfile.gettempdir()!r} has no room for them ({error.strerror}); use fewer landmarks, allow more "
                "memory, or name another folder in the environment variable TMPDIR."
            ) from None
        return np.asarray(np.memmap(file, dtype=np.float32, mode="r+", shape=(n, rank)))
