"""What is kept of a training."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.calibration import probabilities
from spnmkl.circuit.program import Floats
from spnmkl.data import Choices, Preparation, SplitSettings
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import HeldOutShares, heaviest_paths
from spnmkl.kernels.sampling import has_width, likeness
from spnmkl.landmarks import Approximation
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.training.branches import BranchEvidence
from spnmkl.training.choosing import Choosing
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.held_out import keeping_shares
from spnmkl.training.scores import Scores
from spnmkl.training.settings import Settings
from spnmkl.wording import counted

Rows = NDArray[np.intp]
_NEARLY_LINEAR = 0.9  # mean likeness of rows from which a kernel bends no more: that of rbf at a tenth of γ = median
_MOST, _MOST_PATHS = 0.5, 50  # of the path weights


@dataclass(frozen=True)
class Searched:
    """What a search for drawings knew of the data of a run.

    Attributes
    ----------
    split : SplitSettings
        It saw the training rows of this split.
    C : float
        Which it chose for the drawing of the run, by cross-validation on these rows; NaN where it chose none.
    drew : bool
        Whether it found the drawing, too; the flat sum is there before any search.
    """

    split: SplitSettings
    C: float
    drew: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A training that was done. It holds no n×n matrix; `prepare` computes them again when they are needed.

    Attributes
    ----------
    spn : SPN
        As drawn; `solution.spn` has the same nodes over the columns that kernels see.
    model : SPNMKLClassifier or None
        For new rows, with the preparation beside it; None where a leaf is a given matrix.
    train_scores, test_scores : Scores
        Unscored where the training was stopped and they would have taken long.
    seconds : float
        Of solving, without the kernels.
    train, test : ndarray of int
        Positions of the rows in the data set's frame; where weights were learned on a sample, `train` is that sample.
    views : dict from view to leaves
    held_out : HeldOutShares or None
        What carries the decision on rows not trained on: the test rows, or folds; None where it was not measured.
    fold_scores : FoldScores or None
        Of other trainings by the same drawing and settings, on folds of the training rows.
    importance : mapping or None
        What views and columns are worth, as `spnmkl.importance` writes it.
    branches : mapping from sum to BranchEvidence
        What evidence says of the branches below it, where it was asked.
    choosing : Choosing or None
        What was chosen for it by cross-validation, where all of it can be chosen again.
    searched : Searched or None
        The search that suggested its drawing, where one did.
    positive : optional
        Of two classes the one whose rows are to be found, for sensitivity and specificity; None for the second.
    """

    name: str = "Run"
    spn: SPN
    settings: Settings
    choices: Choices
    split: SplitSettings
    dataset_name: str
    label: str
    solution: Solution
    model: SPNMKLClassifier | None
    train_scores: Scores
    test_scores: Scores
    seconds: float
    train: Rows
    test: Rows
    views: Mapping[str, tuple[str, ...]]
    preparation: Preparation
    cross_validation: CrossValidation | None = None
    path: RegularizationPath | None = None
    held_out: HeldOutShares | None = None
    fold_scores: FoldScores | None = None
    importance: Mapping[str, Any] | None = None
    branches: Mapping[str, BranchEvidence] = field(default_factory=dict)
    choosing: Choosing | None = None
    searched: Searched | None = None
    positive: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was chosen for it by cross-validation, and why; nothing where it was trained as set."""
        if self.choosing is not None:
            return self.choosing.sentences
        told = None if self.model is None else self.model.extra_.get("chosen")
        return tuple(line for line in told if isinstance(line, str)) if isinstance(told, list) else ()

    @property
    def chose_C(self) -> bool:
        """Whether its C is the one that cross-validation found best, and not one that was set by hand."""
        found, searched = self.cross_validation, self.searched
        known = [found.best_C if found else None, searched.C if searched else None]
        return bool(self.reasons) or self.settings.C in known

    @property
    def measured(self) -> FoldScores | None:
        """The scores over folds, once there are enough of them to go by."""
        return self.fold_scores if self.fold_scores is not None and self.fold_scores.enough else None

    @property
    def test_probabilities(self) -> Floats | None:
        """(test rows, classes), where decisions were calibrated on rows held out."""
        if self.model is None or self.model.calibration_ is None or not self.test_scores.scored:
            return None
        return probabilities(np.atleast_2d(self.test_scores.decision.T), self.model.calibration_)

    def with_held_out(self, shares: HeldOutShares | None) -> Run:
        """With shares measured on rows not trained on, which its model keeps too."""
        return replace(self, held_out=shares, model=keeping_shares(self.model, shares))

    def with_fold_scores(self, found: FoldScores) -> Run:
        """With scores over folds, and probabilities calibrated on the decisions they are made of."""
        return replace(self, fold_scores=found, model=calibrated(self.model, found))

    def with_branches(self, found: BranchEvidence) -> Run:
        """With what evidence says of the branches below a sum; of another training it is left as it is."""
        return replace(self, branches={**self.branches, found.node: found}) if self.solution is found.solution else self

    @property
    def used(self) -> Preparation:
        """Of the columns that the learned weights left in use."""
        return used_columns(self.solution, self.preparation)

    @cached_property
    def approximated(self) -> Approximation | None:
        """What is known of all training rows, where weights were learned on a sample of them."""
        return None if self.model is None else self.model.approximation_

    @cached_property
    def looks_closely(self) -> bool:
        """Whether kernels that decay within the reach of the rows have most of the weight.

        All others are nearly linear, such as an rbf kernel to which all rows are alike: wider ones would answer the
        same.
        """
        kernels = {} if self.model is None else self.model.kernels_
        close = {leaf for leaf, k in kernels.items() if has_width(k.spec) and likeness(k) < _NEARLY_LINEAR}
        paths = heaviest_paths(self.solution, _MOST_PATHS)
        return sum(path.share for path in paths if close & set(path.leaves)) > _MOST

    @cached_property
    def deciding(self) -> Solution:
        return deciding(self.solution, self.model)

    @property
    def n_train(self) -> int:
        """The rows that weights were learned on."""
        return len(self.train)

    @property
    def train_words(self) -> str:
        """Which rows these are: 400 training rows, or 400 sampled training rows."""
        return counted(self.n_train, f"{self.train_kind} row")

    @property
    def train_kind(self) -> str:
        return "training" if self.approximated is None else "sampled training"

    @property
    def rows_text(self) -> str:
        """How many rows it was trained on: 400, or 10,000 (weights on a sample of 400)."""
        found = self.approximated
        return f"{self.n_train:,}" if found is None else f"{found.n_rows:,} (weights on a sample of {self.n_train:,})"

    @property
    def n_test(self) -> int:
        return len(self.test)


def deciding(solution: Solution, model: SPNMKLClassifier | None) -> Solution:
    """What decides: the solution or, where it is that of a sample, the classifier of all rows over the sample."""
    found = None if model is None else model.approximation_
    return solution if found is None else found.over(solution)


def used_columns(solution: Solution, preparation: Preparation) -> Preparation:
    """The preparation of the columns that kernels on paths of positive weight see."""
    outputs, spn = preparation.outputs, solution.spn
    specs = {spn.spec(leaf) for leaf in solution.active_circuit()[0].leaves}
    features = [outputs if spec.features is None else spec.features for spec in specs if spec.kernel != "precomputed"]
    seen = {outputs[f] if isinstance(f, int) else f for group in features for f in group}
    return preparation.among(seen)


def calibrated(model: SPNMKLClassifier | None, found: FoldScores) -> SPNMKLClassifier | None:
    """A copy of the model with these scores, which predicts probabilities where every row was held out once."""
    if model is None:
        return None
    copied = copy(model)
    copied.extra_ = model.extra_ | {"scores": found.described()}
    if (scale := found.calibration()) is not None:
        copied.set_params(probability=True)
        copied.calibration_ = scale
    return copied
