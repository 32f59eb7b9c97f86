"""A method: from matrices and labels to a model, its C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.baselines.labels import named_kernel, of_leaves
from spnmkl.baselines.models import Fitted, Learned, Model
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import StructureError
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.fixed_weights import Matrices, Weigh, machines, validated
from spnmkl.kernels import FittedKernel, fit_kernels
from spnmkl.measures import scoring_name
from spnmkl.problem import check_labels, checked_source
from spnmkl.selection import cross_validate_C
from spnmkl.solvers import C_min, solve
from spnmkl.structure import SPN, KernelSpec, templates

_TOL = 1e-3  # what `solve` has
_Own = Matrices | KernelSource


@dataclass(frozen=True)
class _Inner:
    """How the folds are made on which C is chosen."""

    folds: int
    scoring: str
    groups: ArrayLike | None
    random_state: int | None
    tick: Callable[[], object]


@dataclass(frozen=True)
class Method:
    """A way to combine kernels.

    Attributes
    ----------
    name : str
        What to call it.
    candidates : tuple of SPN
        The structures of which cross-validation chooses one.
    weigh : callable or None
        For sums whose weights the engine does not learn: from the matrices, in the order of the structure's leaves,
        and the labels of the training rows.

    Examples
    --------
    >>> from spnmkl import Kernel, templates
    >>> from spnmkl.baselines import Method
    >>> spn = templates.flat([Kernel("linear", label="linear"), Kernel("rbf", label="rbf")], p=1.5)
    >>> sorted(Method("mine", (spn,)).labels)
    ['linear', 'rbf']
    """

    name: str
    candidates: tuple[SPN, ...]
    weigh: Weigh | None = None

    @property
    def labels(self) -> frozenset[str]:
        """The labels of the kernels it combines or chooses from."""
        return frozenset(spn.label(leaf) for spn in self.candidates for leaf in spn.kernels)

    def fit(
        self,
        kernels: Matrices,
        y: ArrayLike,
        C: Sequence[float] | None = None,
        *,
        points: int = 11,
        folds: int = 5,
        scoring: str = "accuracy",
        groups: ArrayLike | None = None,
        random_state: int | None = 0,
        tick: Callable[[], object] | None = None,
        scored: bool = False,
        **settings: Any,
    ) -> Fitted:
        """Choose by cross-validation, then train on all rows given.

        Parameters
        ----------
        kernels : mapping from label to ndarray of shape (n, n)
            Matrices of the training rows.
        y : array-like of shape (n,)
            Labels of any kind.
        C : sequence of float, default=None
            Values to choose from; None: so many `points` from 0.01 to 1000 where weights are given, to 30 where
            the engine learns them with p above 1, and from just above C_min to 300 C_min where p = 1.
        points : int, default=11
            How many values where none are given.
        folds : int, default=5
            How many parts are held out in turn.
        scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
            By what to choose; see `spnmkl.cross_validate_C`.
        groups : array-like of shape (n,), default=None
            Which rows belong together: they are held out together.
        random_state : int or None, default=0
            Shuffles the folds, which are the same for all methods.
        tick : callable, default=None
            Called after every training on a fold; it may raise to stop.
        scored : bool, default=False
            Whether to score on the folds also where there is nothing to choose.
        **settings : dict
            Passed to `solve`; of them, ``tol`` and ``stop`` also hold where weights are given. With
            ``weights="evidence"`` the engine learns evidence weights instead.

        Returns
        -------
        Fitted
            The method trained at the best C of the best candidate.

        Raises
        ------
        KernelError
            A matrix is missing.
        """
        labels = check_labels(y)
        inner = _Inner(folds, scoring_name(scoring), groups, random_state, tick or (lambda: None))
        trials = []
        for spn in self.candidates:
            own = self._checked(spn, kernels, len(labels))
            grid = np.unique(self._grid(spn, own, labels, points, settings) if C is None else np.asarray(C, float))
            if len(grid) == len(self.candidates) == 1 and not scored:  # nothing to choose
                mean, scores = np.array([np.nan]), np.full((1, 1), np.nan)
            else:
                mean, scores = self._validated(spn, own, labels, grid, inner, settings)
            best = int(np.nan_to_num(mean, nan=-1.0).argmax())
            trials.append((float(mean[best]), scores, spn, own, grid, float(grid[best])))
        score, scores, spn, own, grid, best_C = max(trials, key=lambda trial: np.nan_to_num(trial[0], nan=-1.0))
        model = self._trained(spn, own, labels, best_C, settings)
        return Fitted(model, spn, np.unique(labels), best_C, grid, score, scores)

    def _checked(self, spn: SPN, kernels: Matrices, n: int) -> _Own:
        """Matrices by leaf; those that the engine reads are checked once for all trainings."""
        own = of_leaves(spn, kernels)
        return own if self.weigh is not None else checked_source(spn, own, n)

    def _grid(self, spn: SPN, own: _Own, y: NDArray, points: int, settings: Mapping[str, Any]) -> Floats:
        if self.weigh is not None or settings.get("weights") == "evidence":
            return np.logspace(-2, 3, points)
        # An SVM on K(β) at C is one on kernels of unit weight at about C·Σβ, and the weights grow with C: so these
        # ranges end earlier, where that product is as large as above. Beyond, only the time to train grows.
        if any(spn.p(v) != 1 for v in spn.products):
            return np.logspace(-2, 1.5, points)
        passed = {k: settings[k] for k in ("lam", "class_weight", "n_threads") if k in settings}
        smallest = C_min(spn, own, y, tol=1e-2, **passed)
        return (smallest if np.isfinite(smallest) else 1.0) * np.logspace(0.1, 2.5, points)

    def _validated(
        self, spn: SPN, own: _Own, y: NDArray, grid: Floats, inner: _Inner, settings: Mapping[str, Any]
    ) -> tuple[Floats, Floats]:
        """(C,) mean score over the folds, which are the same for all methods; and (C, folds) on each."""
        folds: dict[str, Any] = {
            "folds": inner.folds,
            "scoring": inner.scoring,
            "groups": inner.groups,
            "random_state": inner.random_state,
        }
        if isinstance(own, Mapping) and self.weigh is not None:
            passed = folds | {"stop": settings.get("stop")}
            scores = validated(own, y, self.weigh, grid, settings.get("tol", _TOL), inner.tick, **passed)
            return scores[:, ~np.isnan(scores).all(axis=0)].mean(axis=1), scores
        found = cross_validate_C(
            spn, own, y, grid.tolist(), callback=lambda point: inner.tick() or True, **folds, **settings
        )
        return found.mean, found.scores

    def _trained(self, spn: SPN, own: _Own, y: NDArray, C: float, settings: Mapping[str, Any]) -> Model:
        if isinstance(own, Mapping) and self.weigh is not None:
            by_label = {spn.label(leaf): K for leaf, K in own.items()}
            tol, stop = settings.get("tol", _TOL), settings.get("stop")
            return next(machines(by_label, y, self.weigh, np.array([C]), tol, stop))
        if settings.get("weights") == "evidence":
            others = {name: value for name, value in settings.items() if name not in ("weights", "solver")}
            return Learned(solve_by_evidence(spn, own, y, C=C, **others))
        return Learned(solve(spn, own, y, C=C, warn=False, **settings))


def compute_kernels(
    methods: Iterable[Method], X: Floats, feature_names: Sequence[str] | None = None
) -> tuple[dict[str, Floats], dict[str, FittedKernel]]:
    """The matrices of all methods by label, each computed once.

    Parameters
    ----------
    methods : iterable of Method
        What will be trained.
    X : ndarray of shape (n, n_features)
        The training rows.
    feature_names : sequence of str, default=None
        Names of the columns, for kernels that use them.

    Returns
    -------
    matrices : dict from label to ndarray of shape (n, n)
        What `Method.fit` takes.
    fitted : dict from label to FittedKernel
        What `spnmkl.kernels.cross_kernels` takes, for new samples.

    Raises
    ------
    StructureError
        Two different kernels have the same label.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import baselines, compute_kernels
    >>> from spnmkl.kernels import cross_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> methods = baselines({"all": [Kernel("linear", label="linear"), Kernel("rbf", label="rbf")]})
    >>> matrices, fitted = compute_kernels(methods.values(), X / X.std(axis=0))
    >>> {label: K.shape for label, K in cross_kernels(fitted, X[:5] / X.std(axis=0)).items()}
    {'linear': (5, 178), 'rbf': (5, 178)}
    """
    specs: dict[str, KernelSpec] = {}
    for spn in (spn for method in methods for spn in method.candidates):
        for leaf in spn.kernels:
            if specs.setdefault(label := spn.label(leaf), spn.spec(leaf)) != spn.spec(leaf):
                raise StructureError(f"Two kernels have the label {label!r}; give each base kernel its own.")
    flat = templates.flat([named_kernel(spec, label) for label, spec in specs.items()])
    matrices, fitted = fit_kernels(flat, X, feature_names)
    return {flat.label(leaf): K for leaf, K in matrices.items()}, {flat.label(v): k for v, k in fitted.items()}
