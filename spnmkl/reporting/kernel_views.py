"""Kernels to look at: matrices sorted by class, and the samples in the plane of the learned kernel."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from spnmkl.circuit.evaluate import apply_kernel
from spnmkl.circuit.program import Floats
from spnmkl.errors import ParameterError
from spnmkl.inspection import node_kernel
from spnmkl.kernels.matrices import alignment
from spnmkl.reporting.worked import likeness
from spnmkl.solution import Solution
from spnmkl.threads import default_threads, single_threaded_blas
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.training.scores import Scores

_SMALL = 100  # rows up to which all eigenvectors cost nothing
_ROUNDING = 1e-12
_RESTARTS = 100


@dataclass(frozen=True, eq=False)
class KernelImage:
    """A kernel over the training rows, sorted by class and averaged into cells.

    Attributes
    ----------
    cells : ndarray of shape (cells, cells)
        No cell mixes classes.
    boundaries : tuple of int
        Where each class ends, in cells; the last is their number.
    classes : tuple
    alignment : float
        Centred alignment with the labels, 1 for the ideal kernel.
    within, between : float
        The mean over pairs of rows of one class, and of different classes.
    """

    cells: Floats
    boundaries: tuple[int, ...]
    classes: tuple[object, ...]
    alignment: float
    within: float
    between: float


@single_threaded_blas()
def kernel_image(run: Run, prepared: Prepared, node: str, most: int = 300) -> KernelImage:
    """The kernel of any node, at most `most` cells wide: a leaf's own, else Σ g_m K_m over the paths through it."""
    classes, codes = np.unique(prepared.y_train, return_inverse=True)
    if not isinstance(most, Integral) or most < len(classes):
        raise ParameterError(
            f"most must be a whole number of at least {len(classes)}, a cell for every class, but it is {most!r}."
        )
    K = node_kernel(run.solution, prepared.source, node)
    means, per_class = _cells(codes, int(most))
    within, between = likeness(K, codes)
    return KernelImage(
        cells=means @ (means @ K).T,  # K is symmetric
        boundaries=tuple(np.cumsum(per_class).tolist()),
        classes=tuple(classes.tolist()),
        alignment=alignment(K, prepared.y_train),
        within=within,
        between=between,
    )


def _cells(codes: NDArray[np.intp], most: int) -> tuple[csr_array, NDArray[np.intp]]:
    """(cells, n) that takes the mean over the rows of every cell, and how many cells each class has."""
    n, sizes = len(codes), np.bincount(codes)
    # One each, and of the others as many as its size asks for: never more than it has rows, nor more than `most`.
    cells = sizes if n <= most else 1 + (most - len(sizes)) * sizes // n
    of_row = np.concatenate(
        [
            first + np.arange(size) * count // size
            for first, size, count in zip(np.cumsum(cells) - cells, sizes, cells, strict=True)
        ]
    )
    weight = 1.0 / np.bincount(of_row)[of_row]
    return csr_array((weight, (of_row, np.argsort(codes, kind="stable"))), shape=(int(cells.sum()), n)), cells


@single_threaded_blas()
def projection(run: Run, prepared: Prepared) -> pd.DataFrame:
    """The two leading principal components of the learned kernel, fitted on training rows and applied to test rows.

    Returns
    -------
    DataFrame
        x, y, class, predicted, decision (for more than two classes that of the answer), part ("train" or "test"),
        right, row (its number in the user's table, the first being 1).
    """
    solution = run.solution
    K = node_kernel(solution, prepared.source, solution.spn.root)
    values, vectors = leading_components(K)
    root = np.sqrt(values)
    # The centred k(x) times a vector v orthogonal to 1 is (k(x) − mean k) · v.
    A = np.divide(vectors, root, out=np.zeros_like(vectors), where=root > 0)
    test = _applied(solution, prepared, A) - K.mean(axis=0) @ A
    parts = (("train", vectors * root, run.train_scores, run.train), ("test", test, run.test_scores, run.test))
    return pd.concat([_placed(*part) for part in parts], ignore_index=True)


def _applied(solution: Solution, prepared: Prepared, A: Floats) -> Floats:
    """(test rows, 2) K(β) between test and training rows, times A, without forming it."""
    circuit, W = solution.active_circuit()
    return apply_kernel(circuit, W, prepared.test_source, np.ascontiguousarray(A.T), default_threads()).T


def _placed(part: str, places: Floats, scores: Scores, rows: NDArray[np.intp]) -> pd.DataFrame:
    decision = scores.decision if scores.decision.ndim == 1 else scores.decision.max(axis=1)
    return pd.DataFrame(
        {
            "x": places[:, 0],
            "y": places[:, 1],
            "class": scores.y,
            "predicted": scores.predicted,
            "decision": decision,
            "part": part,
            "right": scores.right,
            "row": rows + 1,
        }
    )


def leading_components(K: Floats) -> tuple[Floats, Floats]:
    """The two largest eigenvalues of HKH, where H centres, and (n, 2) eigenvectors; zeros for want of a direction."""
    n = len(K)
    if np.trace(K) - K.sum() / n <= _ROUNDING * np.trace(K):
        return np.zeros(2), np.zeros((n, 2))
    values, vectors = _all_components(K) if n <= _SMALL else _few_components(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > _ROUNDING * values[0], values, 0.0)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])  # always the same picture
    return values, vectors * signs * (values > 0)


def _few_components(K: Floats) -> tuple[Floats, Floats]:
    def centred(v: Floats) -> Floats:
        Kv = K @ (v - v.mean())
        return Kv - Kv.mean()

    start = np.random.default_rng(0).normal(size=len(K))
    operator = LinearOperator(K.shape, matvec=centred, dtype=float)
    try:
        return eigsh(operator, k=2, v0=start, tol=1e-9, maxiter=_RESTARTS)
    except ArpackNoConvergence:
        return _all_components(K)


def _all_components(K: Floats) -> tuple[Floats, Floats]:
    means = K.mean(axis=0)
    return eigh(K - means - means[:, None] + means.mean(), subset_by_index=[len(K) - 2, len(K) - 1])
