"""What a method gives: a model, and how it was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.typing import NDArray

from spnmkl.baselines.labels import of_leaves
from spnmkl.circuit.program import Floats
from spnmkl.fixed_weights import Matrices
from spnmkl.problem import answers
from spnmkl.solution import Solution
from spnmkl.structure import SPN


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
        return self.solution.decision_function(of_leaves(self.solution.spn, cross))


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
    scores : ndarray of shape (C, folds)
        On every fold, over the grid.

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
    scores: Floats

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
