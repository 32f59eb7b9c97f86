"""New rows through a trained model: columns found by name, then classes and scores, piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data import Preparation, Table, guess_options, read_file
from spnmkl.data.columns import as_text
from spnmkl.data.options import ID_NAMES, ReadOptions
from spnmkl.data.words import counted, name_some, quoted
from spnmkl.errors import DataError, ModelFileError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.model_file import load_model
from spnmkl.runs.scores import Scores, score
from spnmkl.runs.training import Run

PIECE_ROWS = 2_000
MOST_IDS = 3
TRUE, RIGHT = "true label", "right"
Tick = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model with what it needs to read rows as they stand in a table.

    Attributes
    ----------
    name : str
        Of the run, or of the file.
    model : SPNMKLClassifier
    preparation : Preparation
    label : str or None
        The column that held the classes in training, where that is known.
    """

    name: str
    model: SPNMKLClassifier
    preparation: Preparation
    label: str | None = None

    @classmethod
    def of_run(cls, run: Run) -> Predictor | None:
        """None where the kernels are given matrices, which know nothing of new rows."""
        return None if run.model is None else cls(run.name, run.model, run.preparation, run.label)

    @classmethod
    def from_file(cls, name: str, data: bytes) -> Predictor:
        """What `save_model` wrote; anything else is refused in one sentence."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / _file_name(name)
            file.write_bytes(data)
            model = load_model(file)
        label = model.extra_.get("label")
        return cls(name, model, stored_preparation(model, name), label if isinstance(label, str) else None)

    @property
    def score_names(self) -> list[str]:
        """As `spnmkl predict --scores` calls them."""
        classes = self.model.classes_
        return ["score"] if len(classes) == 2 else [f"score_{c}" for c in classes]

    def read(self, name: str, data: bytes, options: ReadOptions | None = None) -> Table:
        """A table of new rows: text columns of training stay text, and the way to read it that finds more columns."""
        guessed = options or guess_options(name, data)
        table = self._read(name, data, guessed)
        if options is None and (guessed.transpose or not guessed.header) and self.match(table.frame).lacking:
            plain = self._read(name, data, replace(guessed, header=True, transpose=False))
            if len(self.match(plain.frame).lacking) < len(self.match(table.frame).lacking):
                return plain
        return table

    def _read(self, name: str, data: bytes, options: ReadOptions) -> Table:
        text = tuple(dict.fromkeys([*options.text, *self.preparation.text]))
        return read_file(name, data, replace(options, text=text))

    def match(self, frame: pd.DataFrame, accept: bool = False) -> Match:
        """Find the columns of training by name.

        Parameters
        ----------
        frame : DataFrame
        accept : bool
            Whether to take a column whose name differs in case, spaces or signs only.
        """
        needed, here = set(self.preparation.names), set(frame.columns)
        lacking = [name for name in self.preparation.names if name not in here]
        others = [name for name in frame.columns if name not in needed and name != self.label]
        label = [] if self.label is None or self.label in here else [self.label]
        alike = _alike([*lacking, *label], others)
        if accept and alike:
            return self.match(frame.rename(columns={found: name for name, found in alike.items()}))
        taken = set(alike.values())
        others = [name for name in others if name not in taken]
        ids = list(islice((name for name in others if _identifies(frame[name])), MOST_IDS))
        ignored = [name for name in others if name not in ids]
        return Match(frame, tuple(lacking), alike, tuple(ignored), tuple(ids))

    def predict(self, match: Match, tick: Tick | None = None) -> Predictions:
        """The class and the scores of every row.

        Parameters
        ----------
        match : Match
        tick : callable, optional
            Called with the rows done and all; it may raise to stop.
        """
        match.check()
        frame = match.frame
        decision, usable = self._decisions(frame, tick or (lambda done, total: None))
        values, classes = decision[usable], self.model.classes_
        predicted = classes[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
        columns: dict[str, Any] = {"row": np.arange(1, len(frame) + 1)} | {name: frame[name] for name in match.ids}
        columns["prediction"] = predicted if usable.all() else _spread(predicted, usable)
        columns |= dict(zip(self.score_names, decision.reshape(len(decision), -1).T, strict=True))
        notes, scores = [_without_values(frame, self.preparation, usable)], None
        if self.label in frame.columns:
            truth = as_text(frame[self.label])
            codes = pd.Index([str(c) for c in classes]).get_indexer(truth.astype(object))
            columns[TRUE] = truth
            notes.append(_foreign(truth[(codes < 0) & truth.notna()]))
            rows = (codes >= 0) & usable
            if rows.any():
                scores = score(classes[codes[rows]], decision[rows], classes)
                columns[RIGHT] = _spread(scores.right, rows)
        table = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
        return Predictions(table, scores, _balance(predicted, classes), tuple(filter(None, notes)))

    def _decisions(self, frame: pd.DataFrame, tick: Tick) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Decision values, NaN where a row has missing values that training does not fill; and the other rows."""
        frame = frame[list(self.preparation.names)].copy(deep=False)
        for name in self.preparation.text:
            # Before the rows are cut: whether a number has a decimal point depends on the whole column.
            frame[name] = as_text(frame[name])
        n, usable = len(frame), self.preparation.usable(frame)
        decision = np.full((n, len(self.score_names)), np.nan)
        for start in range(0, n, PIECE_ROWS):
            tick(start, n)
            rows = start + np.flatnonzero(usable[start : start + PIECE_ROWS])
            if len(rows):
                X = self.preparation.transform(frame.iloc[rows])
                decision[rows] = self.model.decision_function(X).reshape(len(rows), -1)
        tick(n, n)
        return decision[:, 0] if decision.shape[1] == 1 else decision, usable


@dataclass(frozen=True, eq=False)
class Match:
    """Which columns of a table a model uses.

    Attributes
    ----------
    frame : DataFrame
    lacking : tuple of str
        Columns of training that are not there.
    alike : dict
        Of these, or the label → a column that differs in case, spaces or signs only.
    ignored : tuple of str
        Columns that the model does not know.
    ids : tuple of str
        Columns that tell the rows apart, kept beside the predictions.
    """

    frame: pd.DataFrame
    lacking: tuple[str, ...]
    alike: Mapping[str, str]
    ignored: tuple[str, ...]
    ids: tuple[str, ...]

    @property
    def lacking_sentence(self) -> str:
        columns = f"The table lacks {counted(len(self.lacking), 'column')} of training: {name_some(self.lacking)}"
        if self.alike:
            name, found = next(iter(self.alike.items()))
            also = f", and {len(self.alike) - 1:,} more that differ as little" if len(self.alike) > 1 else ""
            return f"{columns}; it has {quoted(found)}, which may be {quoted(name)}{also}."
        others = f"it has {name_some((*self.ids, *self.ignored))}" if self.ids or self.ignored else "it has no other"
        return f"{columns}; {others}. Columns are found by name: rename them in the file."

    def check(self) -> None:
        if self.lacking:
            raise DataError(self.lacking_sentence)
        if not len(self.frame):
            raise DataError("The table has no row; give one row or more to predict.")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of new rows.

    Attributes
    ----------
    table : DataFrame
        Row by row: its number, what identifies it, prediction, scores, and the true label if it is there.
    scores : Scores or None
        Against the true labels, where there are any.
    balance : DataFrame
        `class`, `rows` and `share` of every answer.
    notes : tuple of str
        Rows that were left out, and why.
    """

    table: pd.DataFrame
    scores: Scores | None
    balance: pd.DataFrame
    notes: tuple[str, ...]


def stored_preparation(model: SPNMKLClassifier, name: str) -> Preparation:
    """What was saved with the model; without it, the columns as they are."""
    names = getattr(model, "feature_names_in_", None)
    stored = model.extra_.get("preparation")
    if stored is None:
        if names is None:
            raise DataError(
                f"The model {quoted(name)} was trained on columns without names, so that none can be found in a "
                "table; load it in Python with load_model instead."
            )
        return Preparation.unchanged(names)
    preparation = Preparation.from_dict(stored)
    if names is None or preparation.outputs != tuple(names):
        raise ModelFileError(f"The model file {quoted(name)} is damaged: its columns do not fit; save the model again.")
    return preparation


def _file_name(name: str) -> str:
    """A name that is safe in a folder of our own, and still tells which file a message is about."""
    safe = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name[-60:])
    return safe if safe.strip(". ") else "model.spnmkl"


def _bare(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _alike(lacking: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Names that differ in case, spaces or signs only, where that is clear."""
    lacking, others = list(lacking), list(others)
    wanted, given = Counter(map(_bare, lacking)), Counter(map(_bare, others))
    found = {_bare(name): name for name in others}
    return {name: found[bare] for name in lacking if (bare := _bare(name)) and wanted[bare] == given[bare] == 1}


def _identifies(values: pd.Series) -> bool:
    name = str(values.name).lower()
    if name in ID_NAMES or name.endswith(("_id", " id")):
        return True
    return not pd.api.types.is_numeric_dtype(values) and len(values) > 2 and values.nunique() == len(values)


def _spread(values: NDArray, where: NDArray[np.bool_]) -> NDArray:
    spread = np.full(len(where), None, dtype=object)
    spread[where] = values
    return spread


def _balance(predicted: NDArray, classes: NDArray) -> pd.DataFrame:
    rows = (predicted == classes[:, None]).sum(axis=1)
    return pd.DataFrame({"class": classes.astype(str), "rows": rows, "share": rows / max(len(predicted), 1)})


def _foreign(labels: pd.Series) -> str:
    if not len(labels):
        return ""
    rows = counted(len(labels), "row")
    return f"{rows} of a class that training did not have, such as {quoted(labels.iloc[0])}: not counted."


def _without_values(frame: pd.DataFrame, preparation: Preparation, usable: NDArray[np.bool_]) -> str:
    if usable.all():
        return ""
    holes = frame.loc[~usable, list(preparation.names)].isna().any()
    columns = name_some(holes.index[holes])
    rows = counted(int((~usable).sum()), "row")
    return f"{rows} without a prediction, for missing values in {columns}; a model trained to fill them would answer."
