"""A table with what its columns are for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype, is_integer_dtype, is_numeric_dtype

from spnmkl.data.absence import lacking_rows
from spnmkl.data.columns import as_text, numeric_columns
from spnmkl.data.filling import SEPARATOR, fill_kernels, fill_template, group_by_prefix
from spnmkl.data.options import ID_NAMES, LABEL_NAMES
from spnmkl.data.table import check_columns, read_labels
from spnmkl.errors import DataError
from spnmkl.structure import SPN, Kernel
from spnmkl.wording import counted, quoted

Views = Mapping[str, tuple[str, ...]]

GROUP_NAMES = ("patient", "subject", "donor", "person", "individual", "family", "batch", "group")
_MOST_CLASSES = 20
_MANY_ROWS = 20  # in fewer, whole numbers may follow one another by chance
_NEARLY = 0.9  # of the rows: so many labels of two files agree where both are the answer
_USE = "name", "label", "ignored", "views", "group", "adjust"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples as rows, and what each column is for.

    Parameters
    ----------
    name : str
    frame : DataFrame
        As `read_file` or `join_views` give it: unique names, one sample per row.
    label : str, optional
        The column that holds the classes.
    ignored : tuple of str
        Columns to leave out.
    views : mapping from str to tuple of str
        Groups of columns that belong together.
    group : str, optional
        The column that says which rows come from one patient or batch, never split between training and test.
    matrices : mapping from str to ndarray, optional
        Precomputed kernel matrices over the rows.
    adjust : tuple of str
        Columns to adjust for, such as age or batch: no kernel sees them, and what they tell of the others by a line or
        by means is taken away before training.
    """

    name: str
    frame: pd.DataFrame
    label: str | None = None
    ignored: tuple[str, ...] = ()
    views: Views = field(default_factory=dict)
    group: str | None = None
    matrices: Mapping[str, NDArray] = field(default_factory=dict)
    adjust: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in (self.label, self.group):
            if column is not None:
                check_columns(self.frame, [column])
        if self.label is not None and self.label == self.group:
            raise DataError(f"Column {quoted(self.label)} cannot be the label and the group; choose another for one.")
        check_columns(self.frame, self.ignored)
        check_columns(self.frame, self.adjust)
        if self.label in self.adjust:
            raise DataError(f"The label {quoted(self.label)} cannot be adjusted for: it is what is learned.")
        for columns in self.views.values():
            check_columns(self.frame, columns)
        for key, K in self.matrices.items():
            if K.shape != (len(self.frame),) * 2:
                raise DataError(
                    f"Matrix {quoted(key)} is {K.shape[0]:,} × {K.shape[1]:,}, but the table has "
                    f"{counted(len(self.frame), 'row')}; give matrices over the same samples."
                )

    @classmethod
    def guess(
        cls, name: str, frame: pd.DataFrame, matrices: Mapping[str, NDArray] | None = None, views: Views | None = None
    ) -> Dataset:
        """A dataset whose label, group, identifiers and views, unless these are given, are what columns look like."""
        label = guess_label(frame)
        group = guess_group(frame, label)
        left_out = [*identifiers(frame, views), *repeated_labels(frame, label)]
        ignored = tuple(c for c in dict.fromkeys(left_out) if c not in (label, group))
        ignored += tuple(row_counts(frame.drop(columns=[c for c in {*ignored, label, group} if c is not None])))
        dataset = cls(name, frame, label, ignored, views or {}, group, matrices or {})
        return dataset if views else dataset.views_by_prefix()

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns to learn from."""
        others = {self.label, self.group, *self.ignored, *self.adjust}
        return tuple(name for name in self.frame.columns if name not in others)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        return numeric_columns(self.frame[list(self.features)])

    @cached_property
    def categorical(self) -> tuple[str, ...]:
        numeric = set(self.numeric)
        return tuple(name for name in self.features if name not in numeric)

    @cached_property
    def feature_views(self) -> dict[str, tuple[str, ...]]:
        """The views without columns that are not features, and without views that are empty then."""
        usable = set(self.features)
        views = {view: tuple(c for c in columns if c in usable) for view, columns in self.views.items()}
        return {view: columns for view, columns in views.items() if columns}

    @cached_property
    def has_holes(self) -> bool:
        """Whether a value is missing in a column to learn from or to adjust for, of the rows that have a label."""
        return bool(self.labelled_table.frame[[*self.features, *self.adjust]].isna().to_numpy().any())

    @cached_property
    def y(self) -> NDArray:
        """The class of each row."""
        if self.label is None:
            raise DataError("No label is chosen; choose the column that holds the classes.")
        return read_labels(self.frame[self.label])

    @property
    def classes(self) -> NDArray:
        return np.unique(self.y)

    @property
    def n_unlabelled(self) -> int:
        return 0 if self.label is None else int(self.frame[self.label].isna().sum())

    def with_label(self, label: str | None) -> Dataset:
        """Another label, which is then neither ignored nor the group."""
        ignored, adjust = (tuple(name for name in names if name != label) for names in (self.ignored, self.adjust))
        group = None if self.group == label else self.group
        return replace(self, label=label, ignored=ignored, group=group, adjust=adjust)

    def with_group(self, group: str | None) -> Dataset:
        return replace(self, group=group, ignored=tuple(name for name in self.ignored if name != group))

    def with_ignored(self, names: Iterable[str]) -> Dataset:
        """Exactly these columns left out; the label and the group stay what they are."""
        return replace(self, ignored=tuple(name for name in names if name not in (self.label, self.group)))

    def with_adjust(self, names: Iterable[str]) -> Dataset:
        """Exactly these columns adjusted for, which are then not ignored; the label stays what it is."""
        adjust = tuple(dict.fromkeys(name for name in names if name != self.label))
        return replace(self, adjust=adjust, ignored=tuple(name for name in self.ignored if name not in adjust))

    def with_views(self, views: Mapping[str, Collection[str]]) -> Dataset:
        return replace(self, views={view: tuple(columns) for view, columns in views.items()})

    def views_by_prefix(self, separator: str = SEPARATOR) -> Dataset:
        """A view for each beginning of names before the separator; a column without one belongs to no view."""
        groups = group_by_prefix(self.features, separator)
        return self.with_views({view: columns for view, columns in groups.items() if columns != [view]})

    def same(self, other: Dataset) -> bool:
        """Whether these are the same data, used in the same way."""
        alike = all(getattr(self, name) == getattr(other, name) for name in _USE)
        return self is other or (alike and self.frame.equals(other.frame) and _same_arrays(self, other))

    def take(self, rows: NDArray) -> Dataset:
        """Some of the rows, given by position or by true/false for each."""
        rows = np.arange(len(self.frame))[rows]
        matrices = {name: K[np.ix_(rows, rows)] for name, K in self.matrices.items()}
        return replace(self, frame=self.frame.iloc[rows].reset_index(drop=True), matrices=matrices)

    def labelled(self) -> Dataset:
        """Without the rows that have no label."""
        return self if not self.n_unlabelled else self.take(self.frame[self.label].notna().to_numpy())

    @cached_property
    def labelled_table(self) -> Dataset:
        """The rows that have a label, without the matrices, which would be cut with them."""
        return replace(self, matrices={}).labelled()

    def template(self, name: str) -> SPN:
        """A template filled with the views, columns and matrices; see `fill_template`."""
        return fill_template(name, self.numeric, self.categorical, self.feature_views, tuple(self.matrices))

    def kernels(self) -> list[Kernel]:
        """A kernel for each view, or else each column, and each matrix, as the flat template has them."""
        return fill_kernels(self.numeric, self.categorical, self.feature_views, tuple(self.matrices))


def _same_arrays(one: Dataset, other: Dataset) -> bool:
    mine, theirs = one.matrices, other.matrices
    return mine.keys() == theirs.keys() and all(np.array_equal(K, theirs[name]) for name, K in mine.items())


def guess_label(frame: pd.DataFrame) -> str | None:
    """A column called label, class, target, …; else the last or first, or a column of text, if it has few values."""
    by_name = {str(name).lower(): name for name in reversed(frame.columns)}
    for name in LABEL_NAMES:
        if name in by_name and frame[by_name[name]].nunique() > 1:
            return by_name[name]
    text = [name for name, dtype in reversed(list(frame.dtypes.items())) if not is_numeric_dtype(dtype)]
    ends = [frame.columns[-1], frame.columns[0]] if frame.shape[1] else []
    return next((name for name in (*ends, *text[:_MOST_CLASSES]) if has_few_values(frame[name])), None)


def has_few_values(values: pd.Series) -> bool:
    if is_float_dtype(values) and not (values.dropna() % 1 == 0).all():
        return False
    return 2 <= values.nunique() <= min(_MOST_CLASSES, len(values) // 2)


def guess_group(frame: pd.DataFrame, label: str | None) -> str | None:
    """A column called after patients or batches, in which values repeat."""
    for name in frame.columns:
        word = str(name).lower().removesuffix("id").rstrip("_ ")
        if word in GROUP_NAMES and name != label and 3 < frame[name].nunique() < frame[name].count():
            return name
    return None


def identifiers(frame: pd.DataFrame, views: Views | None = None) -> list[str]:
    """Columns that tell rows apart, those that have their view, and nothing else; and empty ones."""
    empty, n = frame.isna().all(), len(frame)
    lacking = {c: int(rows.sum()) for v, rows in lacking_rows(frame, views or {}).items() for c in (views or {})[v]}
    return [
        name
        for name, dtype in frame.dtypes.items()
        if empty[name]
        or (_may_identify(frame, str(name), dtype) and frame[name].nunique() == n - lacking.get(name, 0) > 2)
    ]


def row_counts(features: pd.DataFrame) -> list[str]:
    """Columns that number the rows of a table that is not small, in any order, and so tell rows apart and nothing else.

    Where there are more of them than of other columns they are ranks, or all that there is to learn from.
    """
    numbers = features.select_dtypes("number")
    known = numbers.count()
    near = numbers.columns[(known >= _MANY_ROWS) & (numbers.max() - numbers.min() + 1 == known)]
    found = [c for c in near if numbers[c].nunique() == known[c] and (numbers[c].dropna() % 1 == 0).all()]
    return found if 2 * len(found) <= features.shape[1] else []


def repeated_labels(frame: pd.DataFrame, label: str | None) -> list[str]:
    """Columns of other files that are called as the label and say the same of nearly all rows: the answer once more."""
    bare = None if label is None else _bare(label)
    return [str(name) for name in frame.columns if name != label and _bare(name) == bare and _agree(frame, label, name)]


def _bare(name: object) -> str:
    return str(name).rpartition(SEPARATOR)[2]


def _agree(frame: pd.DataFrame, label: str | None, name: str) -> bool:
    both = frame[label].notna() & frame[name].notna()
    return bool((as_text(frame[label])[both] == as_text(frame[name])[both]).mean() >= _NEARLY)


def _may_identify(frame: pd.DataFrame, name: str, dtype: object) -> bool:
    """Text, or whole numbers called as ids are; a column that lacks rows holds them as fractions."""
    if not is_numeric_dtype(dtype):
        return True
    if name.lower() not in ID_NAMES and not name.lower().endswith(("_id", " id")):
        return False
    return is_integer_dtype(dtype) or bool(is_float_dtype(dtype) and (frame[name].dropna() % 1 == 0).all())
