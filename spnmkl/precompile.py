"""Compile or load everything that a training needs, by tiny ones: `python -m spnmkl.precompile` after installation."""

from __future__ import annotations

from typing import Any

import numpy as np

from spnmkl.circuit.program import Floats
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.evidence import fit_evidence
from spnmkl.inspection import decision_parts
from spnmkl.kernels import fit_kernels, fit_tiles
from spnmkl.selection import cross_validate_C
from spnmkl.solvers import C_min, solve
from spnmkl.structure import SPN, Kernel, templates

_ROWS = 60
# Settings that between them take every part of the solvers.
_SETTINGS: tuple[dict[str, Any], ...] = (
    {"solver": "newton", "C": 10.0, "tol": 1e-6},
    {"solver": "interior", "C": 10.0},
    {"solver": "interior", "C": 0.1, "tol": 1e-6},
    {"solver": "auto", "C": 1.0, "p": 0.7},
)


def prepare() -> None:
    """Train, choose C, certify, predict and explain with every kind of structure, solver and source, on a few rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=_ROWS) > 0, 1, -1)
    kernels = [Kernel("rbf", gamma=gamma) for gamma in (0.5, 2.0, 8.0, 20.0, 50.0, 200.0)]
    groups = {"wide": kernels[:3], "narrow": kernels[3:]}
    for spn in (templates.flat(kernels), templates.grouped(groups), templates.product_of_sums(groups)):
        _train(spn, X, y)
    SPNMKLClassifier(spn, approximation="nystroem", n_threads=1).fit(X, y).predict(X)
    _compute(np.abs(X))
    three = np.arange(_ROWS) % 3
    SPNMKLClassifier(spn, probability=True, n_threads=1).fit(X, three).predict_proba(X)


def _compute(X: Floats) -> None:
    """Every kernel that has loops of its own, in both precisions."""
    spn = templates.flat([Kernel(name) for name in ("polynomial", "rbf", "laplacian", "chi2")])
    fit_kernels(spn, X)
    source, _ = fit_tiles(spn, X)
    for precision in (source, source.in_single()):
        precision.tiles(spn.kernels, slice(None), slice(None))


def _train(spn: SPN, X: Floats, y: np.ndarray) -> None:
    matrices, _ = fit_kernels(spn, X)
    for settings in _SETTINGS:
        solution = solve(spn, matrices, y, warn=False, n_threads=1, **settings)
    solution.certify(matrices, 1)
    solution.decision_function(matrices, 1)
    decision_parts(solution, matrices, y, matrices, n_threads=1)
    solve(spn, fit_tiles(spn, X)[0], np.arange(_ROWS) % 3, warn=False, n_threads=1)
    C_min(spn, matrices, y, n_threads=1)
    fit_evidence(spn, matrices, y, starts=1, max_iter=2, n_threads=1)
    cross_validate_C(spn, matrices, y, C=[1.0, 10.0], folds=2, n_threads=1)
    others = {leaf: 2.0 * K for leaf, K in matrices.items()}  # what is known to be a kernel is not looked at again
    for K in others.values():
        K.flags.writeable = False  # as those are that joblib hands to its processes
    solve(spn, others, y, warn=False, n_threads=1)


if __name__ == "__main__":
    prepare()
