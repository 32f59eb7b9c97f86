"""From a drawing and loaded data to what a solver needs: kernels over the training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.data import Choices, Dataset, Preparation, Split, SplitSettings, apart, identifiers, kept_rows, split_rows
from spnmkl.errors import DataError, KernelError
from spnmkl.kernels import CrossSource, FittedKernel, check_matrix, cross_kernels
from spnmkl.kernels.joined import joined
from spnmkl.landmarks import Sample, stratified
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas
from spnmkl.training.checks import refuse_not_features
from spnmkl.training.learn import TrainingKernels, training_kernels
from spnmkl.wording import counted, name_some, quoted

Tick = Callable[[str], object]
Rows = NDArray[np.intp]
Part = Literal["train", "test"]
NO_VIEW = "in no view"


@dataclass(frozen=True, eq=False)
class Whole:
    """All training rows, those that belong together, and which are a sample to learn weights on."""

    X: pd.DataFrame
    y: NDArray
    groups: Rows | None
    sample: Sample


@dataclass(frozen=True, eq=False)
class Prepared:
    """A structure with everything that training it on a data set needs.

    Attributes
    ----------
    spn : SPN
        As drawn.
    mapped : SPN
        The same nodes over the columns that kernels see, which one-hot encoding renames.
    split : SplitSettings
    preparation : Preparation
        Learned from the training rows.
    X_train, X_test : DataFrame
        What the kernels see; without columns where all leaves are given matrices.
    y_train, y_test : ndarray
    train, test : ndarray of int
        Positions of the rows in the data set's frame.
    groups, test_groups : ndarray of int, or None
        Which training rows belong together, and which test rows.
    trained_on : TrainingKernels
        Matrices, or kernels computed whenever they are needed.
    matrices_test : dict from leaf to ndarray of shape (test rows, n)
        For leaves that are given matrices.
    views : dict from view to leaves
        The leaves whose columns all lie in that view, or in none.
    view_columns : dict from view to columns
    id_column : str or None
        What tells the rows apart, where the data have such a column.
    dataset_name, label : str
    max_memory : float or None
        Gigabytes that kernel matrices were allowed to take.
    ids : Series or None
        Of the training rows, where there is an `id_column`.
    whole : Whole or None
        All training rows, where those above are a sample that weights are learned on.
    """

    spn: SPN
    mapped: SPN
    split: SplitSettings
    preparation: Preparation
    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: NDArray
    y_test: NDArray
    train: Rows
    test: Rows
    groups: Rows | None
    test_groups: Rows | None
    trained_on: TrainingKernels
    matrices_test: Mapping[str, Floats]
    views: Mapping[str, tuple[str, ...]]
    view_columns: Mapping[str, tuple[str, ...]]
    id_column: str | None
    dataset_name: str
    label: str
    max_memory: float | None = None
    ids: pd.Series | None = None
    whole: Whole | None = None

    @property
    def y(self) -> NDArray:
        """The labels to learn from."""
        return self.y_train

    @property
    def n(self) -> int:
        """How many rows there are to train on."""
        return len(self.train)

    @property
    def choices(self) -> Choices:
        return self.preparation.choices

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that kernels see."""
        return self.preparation.outputs

    @cached_property
    def classes(self) -> NDArray:
        return np.unique(self.y_train)

    @property
    def source(self) -> KernelSource:
        """The training kernels as solvers take them, which were checked when they were made."""
        return self.trained_on.source

    @property
    def fitted(self) -> Mapping[str, FittedKernel]:
        """Of the leaves that are no given matrices."""
        return self.trained_on.fitted

    @property
    def kernels(self) -> dict[str, Floats]:
        """Leaf → (n, n) matrix, where these are in memory; leaves of equal specification share one array."""
        if isinstance(self.source, MatrixSource):
            return {leaf: self.source.matrices[leaf] for leaf in self.spn.kernels}
        raise KernelError(
            f"The kernel matrices over {counted(self.n, 'row')} are too large for the memory; use fewer rows."
        )

    @cached_property
    def cross_test(self) -> dict[str, Floats]:
        """Leaf → (test rows, n) kernel values."""
        return self._cross(self.X_test) | dict(self.matrices_test)

    @property
    def test_source(self) -> KernelSource:
        """The kernels between test and training rows: matrices that are kept, or tiles, as those of training are."""
        if self.trained_on.in_memory:
            return MatrixSource(self.cross_test)
        return self.test_tiles

    @property
    def test_tiles(self) -> KernelSource:
        """The same, nothing kept: for a single pass over the kernels that the weights left."""
        given = dict(self.matrices_test)
        return joined(CrossSource(self.fitted, self.X_test.to_numpy()), given) if self.fitted else MatrixSource(given)

    @property
    def nbytes(self) -> int:
        """Of the matrices held."""
        held = {id(K): K.nbytes for K in self.matrices_test.values()}
        if self.trained_on.in_memory:
            held |= {id(K): K.nbytes for K in self.kernels.values()}
        if "cross_test" in vars(self):
            held |= {id(K): K.nbytes for K in self.cross_test.values()}
        return sum(held.values())

    def described(self) -> dict[str, Any]:
        """What is stored beside a model, so that it can read rows as they stand in a table."""
        return {
            "preparation": self.preparation.to_dict(),
            "label": self.label,
            "id": self.id_column,
            "views": [[view, list(columns)] for view, columns in self.view_columns.items()],
        }

    def identified(self, dataset: Dataset, column: str | None) -> Prepared:
        """With a column of the data that tells the rows apart."""
        ids = None if column is None else dataset.frame[column].iloc[self.train]
        return replace(self, id_column=column, ids=ids)

    def sample(self, part: Part, position: int) -> dict[str, Floats]:
        """Leaf → (1, n) kernel values between a training or test row and the training rows."""
        source, row = self.source if part == "train" else self.test_source, slice(position, position + 1)
        return dict(zip(self.spn.kernels, source.tiles(list(self.spn.kernels), row, slice(None)), strict=True))

    def cross(self, rows: pd.DataFrame) -> dict[str, Floats]:
        """Leaf → (rows, n) kernel values between new rows, as they stand in a table, and the training rows."""
        given = [self.spn.label(leaf) for leaf in self.spn.kernels if leaf not in self.fitted]
        if given:
            raise KernelError(
                f"New rows have no kernel values for the given matrices {name_some(given)}; use kernels over columns "
                "to predict new rows."
            )
        return self._cross(self.preparation.transform(rows))

    @single_threaded_blas()
    def _cross(self, X: pd.DataFrame) -> dict[str, Floats]:
        return cross_kernels(self.fitted, X.to_numpy()) if self.fitted else {}


def prepare(
    spn: SPN,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    tick: Tick | None = None,
    rows: Split | None = None,
    max_memory: float | None = None,
    sampled_rows: int | None = None,
) -> Prepared:
    """Split the rows, learn the preparation and compute the kernels, from the training rows alone.

    Parameters
    ----------
    spn : SPN
        A leaf of kernel "precomputed" takes the data set's matrix of the leaf's label, as it is.
    dataset : Dataset
        Rows without a label are left out.
    choices : Choices
    split : SplitSettings
        Rows that these choices cannot use are left out of both parts.
    tick : callable, optional
        Called with a word on what is done now; it may raise to stop.
    rows : Split, optional
        By position in the frame, each with a label, in the place of the split.
    max_memory : float, optional
        Gigabytes (10⁹ bytes) that kernel matrices may take, by default half of what is free. Where they would take
        more, kernels are computed from the columns whenever they are needed: the same result, later.
    sampled_rows : int, optional
        Kernels between a stratified sample of so many training rows; `whole` then has them all.
    """
    say = tick or (lambda words: None)
    say("preparing the columns")
    parts, y, preparation = prepared_columns(spn, dataset, choices, split, rows)
    mapped = preparation.mapped(spn)
    X_train, X_test = (preparation.transform(dataset.frame.iloc[rows]) for rows in (parts.train, parts.test))
    whole = None
    if sampled_rows is not None:
        _refuse_given(spn)
        sample = stratified(y[parts.train], sampled_rows, np.random.default_rng(split.seed))
        whole = Whole(X_train, y[parts.train], _groups(dataset, parts.train), sample)
        X_train, parts = X_train.iloc[sample.rows], Split(parts.train[sample.rows], parts.test)
    given, across = _given_matrices(spn, dataset, parts, say)
    kernels = training_kernels(
        mapped,
        X_train.to_numpy(),
        tuple(X_train.columns),
        max_memory=max_memory,
        leaves=_computed(spn),
        given=given,
        tick=lambda done, total: say(f"kernels {done} of {total}"),
    )
    return Prepared(
        spn=spn,
        mapped=mapped,
        split=split,
        preparation=preparation,
        X_train=X_train,
        X_test=X_test,
        y_train=y[parts.train],
        y_test=y[parts.test],
        train=parts.train,
        test=parts.test,
        groups=_groups(dataset, parts.train),
        test_groups=_groups(dataset, parts.test),
        trained_on=kernels,
        matrices_test=across,
        views=leaves_by_view(spn, dataset),
        view_columns=dataset.feature_views,
        id_column=None,
        dataset_name=dataset.name,
        label=str(dataset.label),
        max_memory=max_memory,
        whole=whole,
    ).identified(dataset, id_column(dataset))


def prepared_columns(
    spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings, rows: Split | None = None
) -> tuple[Split, NDArray, Preparation]:
    """What comes before any kernel: the rows, the class of every row, and the columns as training learns them.

    Parameters as of `prepare`; what does not fit together is refused.
    """
    spn.check()
    refuse_not_features(spn, dataset)
    parts, y = labelled_parts(dataset, split) if rows is None else (rows, labelled_rows(dataset)[1])
    if not _computed(spn):
        return parts, y, Preparation((), choices)
    preparation = Preparation.of(dataset, choices, parts.train)
    preparation.check_structure(spn)
    return _usable(parts, y, preparation, dataset.frame), y, preparation


def _refuse_given(spn: SPN) -> None:
    given = [spn.label(leaf) for leaf in spn.kernels if spn.spec(leaf).kernel == "precomputed"]
    if given:
        raise KernelError(
            f"Landmarks need kernels over columns, but {name_some(given)} are given matrices; train without an "
            "approximation, or use kernels over columns."
        )


def _groups(dataset: Dataset, rows: Rows) -> Rows | None:
    return None if dataset.group is None else pd.factorize(dataset.frame[dataset.group])[0][rows]


def _computed(spn: SPN) -> list[str]:
    """The leaves that are no given matrices."""
    return [leaf for leaf in spn.kernels if spn.spec(leaf).kernel != "precomputed"]


def labelled_parts(dataset: Dataset, split: SplitSettings) -> tuple[Split, NDArray]:
    """Training and test rows by their position in the frame, and the class of every row of the frame (or none)."""
    rows, y = labelled_rows(dataset)
    if not split.test_share:
        return Split(rows, rows[:0]), y
    parts = split_rows(dataset.labelled_table, split.test_share, split.seed)
    return Split(rows[parts.train], rows[parts.test]), y


def kept(dataset: Dataset, choices: Choices) -> NDArray[np.bool_]:
    """Which rows of the frame these choices do not leave out."""
    columns = dataset.numeric if choices.categorical == "drop" else dataset.features
    return kept_rows(dataset.frame[[*columns, *dataset.adjust]], apart(dataset.views, columns), choices)


def rows_used(spn: SPN, dataset: Dataset, choices: Choices) -> NDArray[np.bool_]:
    """The same for a drawing: where all of its leaves are given matrices, none is left out for its columns."""
    given = spn.kernels and not _computed(spn)
    return np.ones(len(dataset.frame), dtype=bool) if given else kept(dataset, choices)


def labelled_rows(dataset: Dataset) -> tuple[Rows, NDArray]:
    """The rows that have a label, by position in the frame, and the class of every row of the frame (or none)."""
    y = dataset.labelled_table.y
    if not dataset.n_unlabelled:
        return np.arange(len(dataset.frame)), y
    rows = np.flatnonzero(dataset.frame[dataset.label].notna())
    everywhere = np.empty(len(dataset.frame), dtype=y.dtype)
    everywhere[rows] = y
    return rows, everywhere


def _usable(parts: Split, y: NDArray, preparation: Preparation, frame: pd.DataFrame) -> Split:
    """Without the rows that it was chosen to leave out, and those of which nothing is known."""
    usable = preparation.kept(frame)
    kept = Split(parts.train[usable[parts.train]], parts.test[usable[parts.test]])
    lost = np.setdiff1d(y[parts.train], y[kept.train])
    if len(lost) or len(parts.test) > len(kept.test) == 0:
        what = f"training row of class {quoted(lost[0])}" if len(lost) else "test row"
        raise DataError(f"No {what} is without a missing value; fill missing values instead of leaving out rows.")
    return kept


def _given_matrices(spn: SPN, dataset: Dataset, parts: Split, say: Tick) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Training and test blocks of the matrices that leaves are named after, each cut once."""
    named = {leaf: spn.label(leaf) for leaf in spn.kernels if spn.spec(leaf).kernel == "precomputed"}
    names = list(dict.fromkeys(named.values()))
    for name in names:
        if name not in dataset.matrices:
            there = f"there is only {name_some(list(dataset.matrices))}" if dataset.matrices else "there is none"
            raise KernelError(
                f"Leaf {quoted(name)} needs a kernel matrix of that name in the data, but {there}; load the matrix, "
                "or name the leaf after it."
            )
    inside: dict[str, Floats] = {}
    across: dict[str, Floats] = {}
    for k, name in enumerate(names, 1):
        say(f"matrices {k} of {len(names)}")
        K = np.asarray(dataset.matrices[name])
        inside[name] = check_matrix(K[np.ix_(parts.train, parts.train)], name)
        across[name] = K[np.ix_(parts.test, parts.train)].astype(float, copy=False)
    return {leaf: inside[name] for leaf, name in named.items()}, {leaf: across[name] for leaf, name in named.items()}


def leaves_by_view(spn: SPN, dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """View → the leaves that see columns of that view only; those that see columns of none come last."""
    columns = {leaf: _columns(spn, leaf, dataset) for leaf in spn.kernels}
    groups = {view: set(members) for view, members in dataset.feature_views.items()}
    if groups:
        groups.setdefault(NO_VIEW, set(dataset.features).difference(*groups.values()))
    views = {
        view: tuple(leaf for leaf, seen in columns.items() if seen and seen <= members)
        for view, members in groups.items()
    }
    return {view: leaves for view, leaves in views.items() if leaves}


def id_column(dataset: Dataset) -> str | None:
    """The first column that was left out because it only tells rows apart."""
    left_out = dataset.frame[[name for name in dataset.ignored if name in dataset.frame]]
    return next((name for name in identifiers(left_out) if left_out[name].notna().any()), None)


def _columns(spn: SPN, leaf: str, dataset: Dataset) -> set[str]:
    spec = spn.spec(leaf)
    if spec.kernel == "precomputed":
        return set()
    if spec.features is None:
        return set(dataset.features)
    known = dataset.features
    return {known[f] if isinstance(f, int) and f < len(known) else str(f) for f in spec.features}
