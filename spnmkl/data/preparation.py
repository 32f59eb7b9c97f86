"""What is done to columns before kernels see them, learned from training rows only and kept as plain data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.absence import Bools, Views, apart, kept_rows, lacking_rows, refuse_missing, usable_rows
from spnmkl.data.adjusting import Adjustment
from spnmkl.data.choices import Choices, Step
from spnmkl.data.columns import number_matrix
from spnmkl.data.fitting import check_views, complete_rows, dropped_columns, fit_columns
from spnmkl.data.numbers import apply_numbers, centred, of_length_one
from spnmkl.data.prepared_columns import (
    CodedColumn,
    Column,
    DroppedColumn,
    Floats,
    NumericColumn,
    OneHotColumn,
    read_column,
    write_column,
)
from spnmkl.errors import DataError
from spnmkl.kernels.registry import find
from spnmkl.structure import SPN
from spnmkl.structure.text import leaf_name
from spnmkl.wording import counted, name_some, quoted, suggestion

if TYPE_CHECKING:
    from spnmkl.data.dataset import Dataset

VERSION = 2
BY_VIEW = {"tf-idf": of_length_one, "log-ratio": centred}  # what takes all columns of a view


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become the numbers that kernels see.

    Parameters
    ----------
    columns : tuple
        What is done to each column, in the order of training; other columns of a table are ignored.
    choices : Choices
    views : tuple of pairs
        View → its columns, each column in one view at most.
    adjustment : Adjustment
        What is taken away for the columns that are adjusted for.
    """

    columns: tuple[Column, ...]
    choices: Choices = field(default_factory=Choices)
    views: tuple[tuple[str, tuple[str, ...]], ...] = ()
    adjustment: Adjustment = field(default_factory=Adjustment)

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        choices: Choices | None = None,
        rows: Sequence[int] | NDArray | None = None,
        *,
        views: Views | None = None,
        adjust: Sequence[str] = (),
    ) -> Preparation:
        """Learn from the training rows.

        Parameters
        ----------
        frame : DataFrame
            Feature columns, and those to adjust for.
        choices : Choices, optional
        rows : array of int or bool, optional
            The training rows by position; all when None.
        views : mapping from view to columns, optional
            Columns that belong together; without any, all of them do.
        adjust : sequence of str, optional
            Columns that no kernel sees; what they tell of the others by a line or by means is taken away.
        """
        choices = choices or Choices()
        if not frame.columns.is_unique:
            double = frame.columns[frame.columns.duplicated()][0]
            raise DataError(f"The column name {quoted(double)} stands twice in the table; rename one of them.")
        others = set(adjust)
        features = [name for name in frame.columns if name not in others]
        parts = apart(views or {}, features)
        check_views(choices, views or {})
        training = frame if rows is None else frame.iloc[rows]
        dropped = dropped_columns(training[features], parts, choices)
        left = [name for name in features if name not in dropped]
        training = complete_rows(training[[*left, *adjust]], parts, choices)
        fitted = {**dropped, **fit_columns(training[left], parts, choices)}
        stored = tuple((view, columns) for view, columns in parts.items() if view)
        preparation = cls(tuple(fitted[name] for name in features), choices, stored)
        preparation._check_outputs()
        if adjust:
            preparation = preparation._adjusting(training, list(adjust))
        return preparation._with_centres(training) if choices.absent == "mean" else preparation

    @classmethod
    def of(cls, dataset: Dataset, choices: Choices, rows: Sequence[int] | NDArray | None = None) -> Preparation:
        """Learn from training rows of a data set, whose views and columns to adjust for are known."""
        used = dataset.frame[[*dataset.features, *dataset.adjust]]
        return cls.fit(used, choices, rows, views=dataset.views, adjust=dataset.adjust)

    @classmethod
    def unchanged(cls, names: Iterable[str]) -> Preparation:
        """Numeric columns as they are."""
        columns = (NumericColumn(str(name), 0.0, 1.0, None, "as is") for name in names)
        return cls(tuple(columns), Choices(numeric="as is"))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that are used, as the table calls them; those to adjust for are the last."""
        used = (column.name for column in self.columns if not isinstance(column, DroppedColumn))
        return (*used, *self.adjustment.names)

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, NumericColumn))

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, CodedColumn | OneHotColumn))

    @property
    def read_as_text(self) -> tuple[str, ...]:
        """Columns whose values are text in training, whatever they look like in another table."""
        return (*self.text, *self.adjustment.text)

    @property
    def steps(self) -> dict[str, Step]:
        """What was done to the numbers of each view; "" are the columns in none."""
        by_name = {column.name: column.step for column in self.columns if isinstance(column, NumericColumn)}
        parts = apart(dict(self.views), list(by_name))
        return {view: by_name[columns[0]] for view, columns in parts.items()}

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, DroppedColumn))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The columns that `transform` returns."""
        return tuple(chain.from_iterable(column.outputs for column in self.columns))

    def usable(self, frame: pd.DataFrame, empty: Bools | None = None) -> Bools:
        """Which rows can be transformed: all when missing values are filled, else those that have none.

        `empty` are the rows of which nothing is known, where more is known than this preparation looks at.
        """
        return usable_rows(self._select(frame), self.parts, self.choices, empty)

    def kept(self, frame: pd.DataFrame) -> Bools:
        """Which rows it was not chosen to leave out."""
        return kept_rows(self._select(frame), self.parts, self.choices)

    def lacking(self, frame: pd.DataFrame) -> dict[str, Bools]:
        """View → the rows that lack all of its columns, of views of which any row does."""
        return lacking_rows(self._select(frame), self.parts)

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of training, found by name, as float64; one row for each row given."""
        frame = self._select(frame)
        if not self.choices.fills:
            self._refuse_missing(frame)
        X = self.adjustment.taken_away(self._untouched(frame), self.outputs, frame)
        if self.choices.absent == "mean":
            known = {column.name: column for column in self.columns if column.average}
            for view, rows in lacking_rows(frame, self.parts).items():
                columns = [known[name] for name in self.parts[view] if name in known]
                where = [self._at[output] for column in columns for output in column.outputs]
                average = list(chain.from_iterable(column.average for column in columns))
                X[np.ix_(np.flatnonzero(rows), np.array(where, dtype=np.intp))] = average
        return pd.DataFrame(X, columns=pd.Index(self.outputs, dtype=object), index=frame.index)

    def _untouched(self, frame: pd.DataFrame) -> Floats:
        """What columns become before anything is taken away."""
        X = np.empty((len(frame), len(self.outputs)))
        numeric = [column for column in self.columns if isinstance(column, NumericColumn)]
        X[:, self._numeric_outputs] = apply_numbers(number_matrix(frame[[column.name for column in numeric]]), numeric)
        position = 0
        for column in self.columns:
            if isinstance(column, CodedColumn | OneHotColumn):
                X[:, position : position + len(column.outputs)] = column.transform(frame[column.name])
            position += len(column.outputs)
        for step, taken in BY_VIEW.items():
            members = [column.name for column in numeric if column.step == step]
            for together in apart(dict(self.views), members).values():
                where = [self._at[name] for name in together]
                X[:, where] = taken(X[:, where])
        return X

    def _adjusting(self, training: pd.DataFrame, adjust: list[str]) -> Preparation:
        """With what columns to adjust for say of the others; codes of text are no quantities, and stay."""
        X = pd.DataFrame(self._untouched(training), columns=pd.Index(self.outputs, dtype=object))
        by_name = {column.name: column for column in self.columns if not isinstance(column, CodedColumn)}
        lacking = lacking_rows(training, self.parts) if self.choices.absent == "mean" else {}
        parts = [
            (list(chain.from_iterable(by_name[name].outputs for name in columns if name in by_name)), view)
            for view, columns in self.parts.items()
        ]
        rows = {view: ~lack for view, lack in lacking.items()}
        everyone = np.ones(len(training), dtype=bool)
        learned = [(columns, rows.get(view, everyone)) for columns, view in parts if columns]
        return replace(self, adjustment=Adjustment.fit(training[adjust], X, learned))

    def _with_centres(self, training: pd.DataFrame) -> Preparation:
        """With the average of every prepared column over the training rows that have its view."""
        X = self.adjustment.taken_away(self._untouched(training), self.outputs, training)
        lacking = lacking_rows(training, self.parts)
        having = {name: ~lacking[view] for view, names in self.parts.items() if view in lacking for name in names}
        columns = (
            _averaged(column, X[having.get(column.name, slice(None))][:, [self._at[name] for name in column.outputs]])
            for column in self.columns
        )
        return replace(self, columns=tuple(columns))

    def among(self, outputs: Collection[str]) -> Preparation:
        """That of some of the columns it returns, and of those without which these cannot be told."""
        seen = set(outputs)
        names = {column.name for column in self.columns if not seen.isdisjoint(column.outputs)}
        steps = self.steps
        for view, members in self.parts.items():
            # The length of a row of words, its mean, and whether a row lacks a view, take all columns of the view.
            whole = steps.get(view) in BY_VIEW or (view and self.choices.absent != "as missing")
            if whole and not names.isdisjoint(members):
                names.update(members)
        columns = tuple(column for column in self.columns if column.name in names)
        left = set(chain.from_iterable(column.outputs for column in columns))
        return replace(self, columns=columns, adjustment=self.adjustment.among(left))

    def mapped(self, spn: SPN) -> SPN:
        """The structure with each leaf's columns, named or counted as in the table, replaced by what became of them."""
        outputs = {column.name: column.outputs for column in self.columns}
        if all(made == (name,) for name, made in outputs.items()):
            return spn
        stored = spn.to_dict()
        for node in stored["nodes"]:
            if node.get("features") is not None:
                names = [self._original(feature) for feature in node["features"]]
                node["features"] = list(chain.from_iterable(outputs.get(name, (name,)) for name in names))
                if names and not node["features"]:
                    raise DataError(
                        f"Leaf {quoted(spn.label(node['id']))} sees only columns that are left out: "
                        f"{name_some(names)}; choose others, or remove the leaf."
                    )
        return SPN.from_dict(stored)

    def check_structure(self, spn: SPN) -> None:
        """Refuse kernels that would take the codes of text for quantities."""
        coded = [column.name for column in self.columns if isinstance(column, CodedColumn)]
        for _, message in sees_text(spn, coded, [column.name for column in self.columns]):
            raise DataError(message)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return {
            "version": VERSION,
            "choices": self.choices.to_dict(),
            "columns": [write_column(column) for column in self.columns],
            "views": [[view, list(columns)] for view, columns in self.views],
            "adjustment": self.adjustment.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Preparation:
        try:
            if data["version"] not in (1, VERSION):
                raise ValueError(f"version {data['version']!r} is unknown")
            choices = Choices.from_dict(data["choices"])
            columns = tuple(read_column(**column) for column in data["columns"])
            if data["version"] == 1:
                return cls(tuple(_of_version_1(column, choices) for column in columns), choices)
            views = tuple((str(view), tuple(map(str, members))) for view, members in data["views"])
            return cls(columns, choices, views, Adjustment.from_dict(data["adjustment"]))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise DataError(f"The stored preparation cannot be read: {reason}.") from None

    def _select(self, frame: pd.DataFrame) -> pd.DataFrame:
        lacking = [name for name in self.names if name not in frame.columns]
        if lacking:
            raise DataError(
                f"The table lacks {counted(len(lacking), 'column')} of training: {name_some(lacking)}; "
                f"{suggestion(lacking[0], frame.columns)}."
            )
        return frame[list(self.names)]

    def _refuse_missing(self, frame: pd.DataFrame) -> None:
        advice = "fill them, or train with a choice that fills them: mean or median"
        refuse_missing(frame, advice, self.parts, self.choices)
        if self.choices.absent == "drop rows":
            for view, rows in lacking_rows(frame, self.parts).items():
                n = counted(int(rows.sum()), "row")
                raise DataError(f"The view {quoted(view)} is missing in {n}, which training left out; leave them out.")

    @cached_property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """View → its columns that are used; "" → those in none."""
        used = [column.name for column in self.columns if not isinstance(column, DroppedColumn)]
        return apart(dict(self.views), used)

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.outputs)}

    @cached_property
    def _numeric_outputs(self) -> NDArray[np.bool_]:
        kinds = [[isinstance(column, NumericColumn)] * len(column.outputs) for column in self.columns]
        return np.array(list(chain.from_iterable(kinds)), dtype=bool)

    def _original(self, feature: int | str) -> str:
        """A feature by name; a position counts the columns of the table in training."""
        return _named(feature, [column.name for column in self.columns])

    def _check_outputs(self) -> None:
        if not self.outputs:
            without = f" without {name_some(self.dropped)}; choose otherwise" if self.dropped else "; add columns"
            raise DataError(f"No column is left to learn from{without}.")
        outputs = pd.Index(self.outputs, dtype=object)
        if not outputs.is_unique:
            double = outputs[outputs.duplicated()][0]
            raise DataError(f"One-hot columns need the name {quoted(double)}, which stands in the table; rename it.")


def sees_text(spn: SPN, text: Collection[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Leaves, each with a sentence, whose kernels would take the codes of text columns for quantities."""
    for leaf in spn.kernels if text else ():
        spec = spn.spec(leaf)
        kernel = find(spec.kernel)  # an unknown one is refused elsewhere
        if kernel is not None and not kernel.categories:
            seen = None if spec.features is None else {_named(feature, names) for feature in spec.features}
            found = next((name for name in text if seen is None or name in seen), None)
            if found is not None:
                yield (
                    leaf,
                    f"Kernel {spec.kernel!r} of leaf {quoted(leaf_name(spn, leaf))} needs numbers, but it sees the "
                    f"text column {quoted(found)}; use the hamming kernel for it, or list the columns without it.",
                )


def _named(feature: int | str, names: Sequence[str]) -> str:
    return names[feature] if isinstance(feature, int) and feature < len(names) else str(feature)


def _averaged(column: Column, X: Floats) -> Column:
    """A column with the average of what became of it in training rows."""
    if isinstance(column, OneHotColumn):
        return replace(column, average=tuple(X.mean(axis=0).tolist()))
    if isinstance(column, CodedColumn):
        codes, rows = np.unique(X, return_counts=True)
        return replace(column, average=(float(codes[rows.argmax()]),))
    if isinstance(column, NumericColumn) and column.step in ("as is", "tf-idf"):  # the mean of the others is 0
        return replace(column, centre=float(X.mean()))
    return column


def _of_version_1(column: Column, choices: Choices) -> Column:
    """Which did not say of a column what was done to it."""
    if isinstance(column, NumericColumn) and choices.numeric == "as is":
        return replace(column, step="as is")
    return column
