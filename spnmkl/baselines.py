"""Well-known ways to combine kernels, one interface for all: most are presets of the engine (formulation, section 9).

A method takes matrices by the label of their kernel, so that all methods share those of one split of the data, and
chooses C, and among its candidates, by cross-validation on the rows it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import KernelError, ParameterError, StructureError
from spnmkl.fixed_weights import Matrices, Weigh, equal, machines, validated
from spnmkl.kernels import FittedKernel, fit_kernels
from spnmkl.problem import answers, check_labels, checked_source
from spnmkl.selection import cross_validate_C
from spnmkl.solution import Solution
from spnmkl.solvers import C_min, solve
from spnmkl.structure import SPN, Kernel, KernelSpec, Product, Sum, templates
from spnmkl.structure.nodes import first_double

__all__ = ["Fitted", "Learned", "Method", "Model", "baselines", "compute_kernels", "sums_and_product", "widths"]

NORMS = {"4/3": 4 / 3, "2": 2.0, "4": 4.0}
WIDTHS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
_TOL = 1e-3  # what `solve` has
_Own = Matrices | KernelSource


class Model(Protocol):
    """What training gives: decision values from cross-kernels by label, and the labels of the kernels it uses.

    Examples
    --------
    >>> from spnmkl.baselines import Model
    >>> sorted(name for name in vars(Model) if not name.startswith("_"))
    ['active', 'decision_function']
    """

    @property
    def active(self) -> frozenset[str]:
        """The labels of the kernels that are used."""
        ...

    def decision_function(self, cross: Matrices) -> Floats:
        """The decision values of new samples.

        Parameters
        ----------
        cross : mapping from label to ndarray of shape (rows, n)
            Kernels between new samples and the training samples.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            The values.
        """
        ...


@dataclass(frozen=True)
class Learned:
    """Weights that the engine learned.

    Attributes
    ----------
    solution : Solution
        What `solve` gave.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import baselines, compute_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> method = baselines({"all": [Kernel("linear", label="linear"), Kernel("rbf", label="rbf")]})["SimpleMKL"]
    >>> kernels, fitted = compute_kernels([method], X / X.std(axis=0))
    >>> method.fit(kernels, y, [1.0]).model.solution.status
    'optimal'
    """

    solution: Solution

    @property
    def active(self) -> frozenset[str]:
        """The labels of the kernels that no pruning has cut off."""
        spn = self.solution.spn
        return frozenset(map(spn.label, self.solution.active_circuit()[0].leaves))

    def decision_function(self, cross: Matrices) -> Floats:
        """The decision values of new samples.

        Parameters
        ----------
        cross : mapping from label to ndarray of shape (rows, n)
            Kernels between new samples and the training samples.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            The values.
        """
        return self.solution.decision_function(_of_leaves(self.solution.spn, cross))


@dataclass(frozen=True)
class Fitted:
    """A trained method.

    Attributes
    ----------
    model : Model
        What was trained on all rows.
    spn : SPN
        The structure that was chosen.
    classes : ndarray of shape (classes,)
        The labels, sorted.
    C : float
        The C that was chosen.
    grid : ndarray of shape (C,)
        What it was chosen from.
    validation : float
        Mean accuracy on held-out folds at this C; NaN where there was nothing to choose.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import baselines, compute_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> method = baselines({"all": [Kernel("linear", label="linear"), Kernel("rbf", label="rbf")]})["average kernel"]
    >>> kernels, fitted = compute_kernels([method], X / X.std(axis=0))
    >>> trained = method.fit(kernels, y, [0.1, 1.0, 10.0], folds=3)
    >>> trained.predict(kernels).shape
    (178,)
    """

    model: Model
    spn: SPN
    classes: NDArray
    C: float
    grid: Floats
    validation: float

    @property
    def at_end(self) -> bool:
        """Whether C is the first or the last of its values."""
        return self.C in (self.grid[0], self.grid[-1])

    @property
    def gap(self) -> float:
        """The proven one; NaN where weights were given."""
        return self.model.solution.gap if isinstance(self.model, Learned) else float("nan")

    def decision_function(self, cross: Matrices) -> Floats:
        """The decision values of new samples.

        Parameters
        ----------
        cross : mapping from label to ndarray of shape (rows, n)
            Kernels between new samples and the training samples.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            The values.
        """
        return self.model.decision_function(cross)

    def predict(self, cross: Matrices) -> NDArray:
        """The classes of new samples.

        Parameters
        ----------
        cross : mapping from label to ndarray of shape (rows, n)
            Kernels between new samples and the training samples.

        Returns
        -------
        ndarray of shape (rows,)
            Labels as given in training.
        """
        return answers(self.decision_function(cross), self.classes)


@dataclass(frozen=True)
class _Inner:
    """How the folds are made on which C is chosen."""

    folds: int
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
        groups: ArrayLike | None = None,
        random_state: int | None = 0,
        tick: Callable[[], object] | None = None,
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
        groups : array-like of shape (n,), default=None
            Which rows belong together: they are held out together.
        random_state : int or None, default=0
            Shuffles the folds, which are the same for all methods.
        tick : callable, default=None
            Called after every training on a fold; it may raise to stop.
        **settings : dict
            Passed to `solve`; of them, ``tol`` and ``stop`` also hold where weights are given.

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
        inner = _Inner(folds, groups, random_state, tick or (lambda: None))
        trials = []
        for spn in self.candidates:
            own = self._checked(spn, kernels, len(labels))
            grid = np.unique(self._grid(spn, own, labels, points, settings) if C is None else np.asarray(C, float))
            if len(grid) == len(self.candidates) == 1:  # nothing to choose
                scores = np.array([np.nan])
            else:
                scores = self._validated(spn, own, labels, grid, inner, settings)
            best = int(np.nan_to_num(scores, nan=-1.0).argmax())
            trials.append((float(scores[best]), spn, own, grid, float(grid[best])))
        score, spn, own, grid, best_C = max(trials, key=lambda trial: np.nan_to_num(trial[0], nan=-1.0))
        return Fitted(self._trained(spn, own, labels, best_C, settings), spn, np.unique(labels), best_C, grid, score)

    def _checked(self, spn: SPN, kernels: Matrices, n: int) -> _Own:
        """Matrices by leaf; those that the engine reads are checked once for all trainings."""
        own = _of_leaves(spn, kernels)
        return own if self.weigh is not None else checked_source(spn, own, n)

    def _grid(self, spn: SPN, own: _Own, y: NDArray, points: int, settings: Mapping[str, Any]) -> Floats:
        if self.weigh is not None:
            return np.logspace(-2, 3, points)
        # An SVM on K(β) at C is one on kernels of unit weight at about C·Σβ, and the weights grow with C: so these
        # ranges end earlier, where that product is as large as above. Beyond, only the time to train grows.
        if any(spn.p(v) != 1 for v in spn.products):
            return np.logspace(-2, 1.5, points)
        smallest = C_min(spn, own, y, tol=1e-2, n_threads=settings.get("n_threads"))
        return (smallest if np.isfinite(smallest) else 1.0) * np.logspace(0.1, 2.5, points)

    def _validated(
        self, spn: SPN, own: _Own, y: NDArray, grid: Floats, inner: _Inner, settings: Mapping[str, Any]
    ) -> Floats:
        """(C,) mean accuracy over the folds, which are the same for all methods."""
        folds: dict[str, Any] = {"folds": inner.folds, "groups": inner.groups, "random_state": inner.random_state}
        if isinstance(own, Mapping) and self.weigh is not None:
            passed = folds | {"stop": settings.get("stop")}
            return validated(own, y, self.weigh, grid, settings.get("tol", _TOL), inner.tick, **passed)
        return cross_validate_C(
            spn, own, y, grid.tolist(), callback=lambda point: inner.tick() or True, **folds, **settings
        ).mean

    def _trained(self, spn: SPN, own: _Own, y: NDArray, C: float, settings: Mapping[str, Any]) -> Model:
        if isinstance(own, Mapping) and self.weigh is not None:
            by_label = {spn.label(leaf): K for leaf, K in own.items()}
            tol, stop = settings.get("tol", _TOL), settings.get("stop")
            return next(machines(by_label, y, self.weigh, np.array([C]), tol, stop))
        return Learned(solve(spn, own, y, C=C, warn=False, **settings))


def baselines(groups: Mapping[str, Sequence[Kernel]], n_features: int | None = None) -> dict[str, Method]:
    """Methods over base kernels that come in groups, such as the views of the data.

    ℓ_q-norm MKL (Kloft et al. 2011) minimises ½ Σ_m ‖w_m‖²/θ_m + C Σ_i ℓ_i over ‖θ‖_q ≤ 1. Minimised over θ,
    its first term is ½ (Σ_m ‖w_m‖^r)^{2/r} with r = 2q/(q+1). One layer with exponent p, minimised over β, has a
    multiple of Σ_m ‖w_m‖^r with r = 2p/(p+1): so p = q, at another C, which is chosen anyhow. SimpleMKL is q = 1.

    Parameters
    ----------
    groups : mapping from name to sequence of Kernel
        The kernels of each group; labels must be given and differ.
    n_features : int, default=None
        For a support vector machine on all columns, standardised, with rbf kernels of several widths; None for none.

    Returns
    -------
    dict from name to Method
        Those over groups are left out where there is one group only.

    Raises
    ------
    StructureError
        A kernel has no label, or two have the same.

    Examples
    --------
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import baselines
    >>> list(baselines({"all": [Kernel("linear", label="linear"), Kernel("rbf", label="rbf")]}))
    ['average kernel', 'best kernel', 'SimpleMKL', 'ℓ_4/3-MKL', 'ℓ_2-MKL', 'ℓ_4-MKL']
    """
    kernels = _labelled(kernel for group in groups.values() for kernel in group)
    methods = [
        Method("average kernel", (templates.flat(kernels),), equal),
        Method("best kernel", tuple(templates.flat([kernel]) for kernel in kernels), equal),
        Method("SimpleMKL", (templates.flat(kernels),)),
        *(Method(f"ℓ_{name}-MKL", (templates.flat(kernels, p=q),)) for name, q in NORMS.items()),
    ]
    if len(groups) > 1:
        methods += [
            Method("composite", (templates.grouped(groups),)),
            Method("product of sums", (templates.product_of_sums(groups),)),
            Method("sums and product", (sums_and_product(groups),)),
        ]
    if n_features is not None:
        methods.append(Method("RBF-SVM", tuple(templates.flat([kernel]) for kernel in widths(n_features)), equal))
    return {method.name: method for method in methods}


def sums_and_product(groups: Mapping[str, Sequence[Kernel]]) -> SPN:
    """The groups each for itself, and the product of them all: p = 1 prunes whichever of these does not help.

    Parameters
    ----------
    groups : mapping from name to sequence of Kernel
        The kernels of each group.

    Returns
    -------
    SPN
        A sum of one branch per group and their product.

    Examples
    --------
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import sums_and_product
    >>> groups = {"a": [Kernel("rbf", features=[0], label="a")], "b": [Kernel("rbf", features=[1], label="b")]}
    >>> sums_and_product(groups).n_paths
    3
    """

    def added(kernels: Sequence[Kernel]) -> Sum:
        return Sum(*(Product(kernel.on(kernel.spec.features, kernel.node.label)) for kernel in kernels))

    single = (Product(added(kernels), label=name) for name, kernels in groups.items())
    return SPN(Sum(*single, Product(*map(added, groups.values()), label="product")))


def widths(n_features: int) -> list[Kernel]:
    """Rbf kernels on all columns, standardised; 1/n_features is a usual width.

    Parameters
    ----------
    n_features : int
        The number of columns.

    Returns
    -------
    list of Kernel
        From a sixteenth of the usual width to sixteen times.

    Examples
    --------
    >>> from spnmkl.baselines import widths
    >>> len(widths(10))
    5
    """
    return [Kernel("rbf", gamma=width / n_features, label=f"all rbf {width:g}") for width in WIDTHS]


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


def named_kernel(spec: KernelSpec, label: str) -> Kernel:
    """A new leaf that computes what another does."""
    return Kernel(spec.kernel, features=spec.features, normalize=spec.normalize, label=label, **dict(spec.params))


def _of_leaves(spn: SPN, kernels: Matrices) -> dict[str, Floats]:
    lacking = sorted({spn.label(leaf) for leaf in spn.kernels} - set(kernels))
    if lacking:
        raise KernelError(f"Kernel {lacking[0]!r} has no matrix; found those of {sorted(kernels)}; add it.")
    return {leaf: kernels[spn.label(leaf)] for leaf in spn.kernels}


def _labelled(kernels: Iterable[Kernel]) -> list[Kernel]:
    found = list(kernels)
    if not found:
        raise ParameterError("The groups hold no kernel; give each group at least one.")
    labels = [kernel.node.label for kernel in found]
    if None in labels:
        raise StructureError(f"Methods find matrices by label; {found[labels.index(None)]!r} has none: give label=.")
    if (double := first_double(label for label in labels if label is not None)) is not None:
        raise StructureError(f"Two kernels have the label {double!r}; give each base kernel its own.")
    return found
