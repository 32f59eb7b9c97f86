"""Which values of C are worth a try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import ParameterError
from spnmkl.problem import powers
from spnmkl.solvers import C_min
from spnmkl.solvers.deadline import Stop
from spnmkl.structure import SPN

WIDE = np.logspace(-2, 3, 11)  # where no C_min tells where to begin


def default_grid(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    share: float = 1.0,
    stop: Stop | None = None,
    **settings: Any,
) -> Floats:
    """The values of C that a path or a cross-validation takes where none are given.

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    share : float, default=1.0
        For trainings on this share of the rows, whose C_min is about as much larger.
    stop : callable, default=None
        Asked while C_min is sought.
    **settings : dict
        Those of `solve` that C_min depends on.

    Returns
    -------
    ndarray of shape (C,)
        The grid, smallest first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import fit_kernels
    >>> from spnmkl.selection import default_grid
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]}, p=2)
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> [float(C) for C in default_grid(spn, kernels, y)[[0, -1]]]
    [0.01, 1000.0]
    """
    if (powers(spn, compile_circuit(spn), settings.get("p")) != 1).any():
        return WIDE
    passed = {k: settings[k] for k in ("lam", "p", "sample_weight", "class_weight", "n_threads") if k in settings}
    # The bracket's lower end comes close early, and the grid begins a quarter above it.
    smallest = C_min(spn, kernels, y, tol=0.1, stop=stop, **passed)
    return (smallest / share if 0 < smallest < np.inf else 1.0) * np.logspace(0.1, 3, 12)


def checked_grid(C: Iterable[float]) -> Floats:
    grid = np.unique(np.asarray(list(C), dtype=float))
    if len(grid) == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise ParameterError(
            "C must hold at least one number, all finite and above 0; choose for example [0.1, 1, 10]."
        )
    return grid
