"""New rows through a trained model: columns found by name, then classes and scores, piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.calibration import probabilities
from spnmkl.data import Preparation, Table, guess_options, read_file
from spnmkl.data.absence import empty_rows
from spnmkl.data.columns import as_text
from spnmkl.data.options import ID_NAMES, ReadOptions
from spnmkl.data.preparation import CodedColumn, OneHotColumn
from spnmkl.errors import DataError, ModelFileError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.model_file import load_model
from spnmkl.problem import answers
from spnmkl.training.run import Run, used_columns
from spnmkl.training.scores import Scores, score
from spnmkl.training.trained_rows import Seen, seen_ids, seen_values, trained_on_sentence
from spnmkl.wording import counted, listed, name_some, quoted

PIECE_ROWS = 2_000
MOST_IDS = 3
TRUE, RIGHT, ODD = "true label", "right", "filled or unknown"
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
            return cls.of_model(name, load_model(file))

    @classmethod
    def of_model(cls, name: str, model: SPNMKLClassifier) -> Predictor:
        """With what was stored beside the model."""
        label = model.extra_.get("label")
        return cls(name, model, stored_preparation(model, name), label if isinstance(label, str) else None)

    @cached_property
    def needed(self) -> Preparation:
        """Of the columns that the model uses; those that only pruned kernels saw may be absent."""
        return used_columns(self.model.solution_, self.preparation)

    @property
    def views(self) -> dict[str, tuple[str, ...]]:
        """View → its columns, where the model was stored with them."""
        try:
            return {str(view): tuple(map(str, columns)) for view, columns in self.model.extra_.get("views") or ()}
        except (TypeError, ValueError):
            return {}

    @property
    def score_names(self) -> list[str]:
        """As `spnmkl predict --scores` calls them."""
        classes = self.model.classes_
        return ["score"] if len(classes) == 2 else [f"score_{c}" for c in classes]

    @property
    def probability_names(self) -> list[str]:
        """As `spnmkl predict --probabilities` calls them; none where the model has no probabilities."""
        return [] if self.model.calibration_ is None else [f"probability_{c}" for c in self.model.classes_]

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
        text = tuple(dict.fromkeys([*options.text, *self.preparation.read_as_text]))
        return read_file(name, data, replace(options, text=text))

    def match(self, frame: pd.DataFrame, accept: bool = False, id_column: str | None = None) -> Match:
        """Find the columns of training by name, and those that tell the rows apart.

        Parameters
        ----------
        frame : DataFrame
        accept : bool
            Whether to take a column whose name differs in case, spaces or signs only.
        id_column : str, optional
            What tells the rows apart, where somebody said so; else as in training, or as columns look.
        """
        needed, here = set(self.needed.names), set(frame.columns)
        lacking = [name for name in self.needed.names if name not in here]
        others = [name for name in frame.columns if name not in needed and name != self.label]
        label = [] if self.label is None or self.label in here else [self.label]
        alike = _alike([*lacking, *label], others)
        if accept and alike:
            return self.match(frame.rename(columns={found: name for name, found in alike.items()}), id_column=id_column)
        absent = self._lacking_views(lacking, alike)
        if absent and self.needed.choices.absent == "mean" and not needed.isdisjoint(here):
            # A view of which no column is there is one that every row lacks.
            gone = dict.fromkeys(chain.from_iterable(absent.values()))
            return self.match(frame.reindex(columns=[*frame.columns, *gone]), id_column=id_column)
        taken = set(alike.values())
        others = [name for name in others if name not in taken]
        known = [name for name in (id_column, self.model.extra_.get("id")) if name in others]
        found = (name for name in others if _identifies(frame[name]))
        ids = list(islice(dict.fromkeys(chain(known, found)), MOST_IDS))
        ignored = [name for name in others if name not in ids]
        return Match(frame, tuple(lacking), alike, tuple(ignored), tuple(ids), absent)

    def _lacking_views(self, lacking: Iterable[str], alike: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The views of which no column is there that is needed."""
        gone, needed = set(lacking) - set(alike), set(self.needed.names)
        views = {view: tuple(c for c in columns if c in needed) for view, columns in self.views.items()}
        return {view: columns for view, columns in views.items() if columns and gone.issuperset(columns)}

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
        decision, usable, seen = self._decisions(frame, tick or (lambda done, total: None))
        values, classes = decision[usable], self.model.classes_
        predicted = answers(values, classes)
        columns: dict[str, Any] = {"row": _row_numbers(frame)} | {name: frame[name] for name in match.ids}
        columns["prediction"] = predicted if usable.all() else _spread(predicted, usable)
        F = decision.reshape(len(decision), -1).T
        columns |= dict(zip(self.score_names, F, strict=True))
        against = ""
        if self.model.calibration_ is not None:
            P = probabilities(F, self.model.calibration_)
            columns |= dict(zip(self.probability_names, P.T, strict=True))
            against = _against(int((classes[P[usable].argmax(axis=1)] != predicted).sum()), len(predicted), self.model)
        marks, notes = self.odd_values(frame)
        if notes:
            columns[ODD] = marks
        notes.append(_without_values(frame, self.needed, usable, self._empty(frame)))
        notes.append(self._trained_on(match, seen))
        scores = None
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
        return Predictions(table, scores, _balance(predicted, classes), tuple(filter(None, notes)), against)

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the model's kernels see of new rows; 0 in the columns that none of them looks at."""
        return self.needed.transform(frame).reindex(columns=pd.Index(self.preparation.outputs), fill_value=0.0)

    def odd_values(self, frame: pd.DataFrame) -> tuple[NDArray[np.object_], list[str]]:
        """Values that are filled, or that training did not have: a mark for each row, and a sentence for each kind."""
        marks, unknown = np.full(len(frame), "", dtype=object), {}
        n_filled, filled, strange = 0, np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
        lacking, notes = self._without_views(frame)
        for view, rows in lacking.items():
            marks[rows] += f"; view {view} missing"
        home = {name: rows for view, rows in lacking.items() for name in self.needed.parts[view]}
        for name, categories in self._known_values():
            missing = frame[name].isna().to_numpy()
            single = missing & ~home[name] if name in home else missing
            if self.needed.choices.fills and single.any():
                marks[single] += f"; {name} filled"
                n_filled, filled = n_filled + int(single.sum()), filled | single
            if categories is not None:
                words = as_text(frame[name])
                foreign = ~words.isin(categories).to_numpy() & ~missing
                if foreign.any():
                    marks[foreign] += f"; {name} unknown"
                    unknown[name], strange = words[foreign].unique().tolist(), strange | foreign
        notes += [_filled_sentence(n_filled, int(filled.sum()))] if n_filled else []
        notes += [_unknown_sentence(unknown, int(strange.sum()))] if unknown else []
        return np.array([mark[2:] for mark in marks], dtype=object), notes

    def _known_values(self) -> Iterator[tuple[str, Sequence[str] | None]]:
        """Every column that is needed, with the texts that training had in it; None where it holds numbers."""
        for column in self.needed.columns:
            yield column.name, column.categories if isinstance(column, CodedColumn | OneHotColumn) else None
        for covariate in self.needed.adjustment.covariates:
            yield covariate.name, tuple(map(str, covariate.values)) if covariate.kind == "texts" else None

    def _without_views(self, frame: pd.DataFrame) -> tuple[dict[str, NDArray[np.bool_]], list[str]]:
        """View → the rows that lack all of it and are answered all the same, with a sentence for each."""
        choices, parts = self.needed.choices, self.needed.parts
        if choices.absent != "mean" and not choices.fills:
            return {}, []
        # One column that is filled is called by its own name.
        named = {v: rows for v, rows in self.needed.lacking(frame).items() if choices.absent == "mean" or parts[v][1:]}
        how = "the average of the training rows stands for it" if choices.absent == "mean" else "its columns are filled"
        counts = {view: (int(rows.sum()), "lacks" if rows.sum() == 1 else "lack") for view, rows in named.items()}
        return named, [f"{counted(n, 'row')} {verb} the view {quoted(v)}: {how}." for v, (n, verb) in counts.items()]

    def _empty(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows of which nothing is known of what training knew, views without weight included."""
        return empty_rows(frame, self.preparation.parts)

    def _trained_on(self, match: Match, seen: Seen) -> str:
        """What to say where rows were trained on: by what the model sees of them, or by their ids."""
        column = self.model.extra_.get("id")
        ids = match.frame[column] if column in match.ids else None
        return trained_on_sentence(seen, seen_ids(self.model.extra_.get("trained_on"), ids), column)

    def _decisions(self, frame: pd.DataFrame, tick: Tick) -> tuple[NDArray[np.float64], Seen, Seen]:
        """Decision values, NaN where a row has missing values that training does not fill; the other rows; and those
        of them that were trained on.
        """
        empty, frame = self._empty(frame), frame[list(self.needed.names)].copy(deep=False)
        for name in self.needed.read_as_text:
            # Before the rows are cut: whether a number has a decimal point depends on the whole column.
            frame[name] = as_text(frame[name])
        n, usable = len(frame), self.needed.usable(frame, empty)
        decision = np.full((n, len(self.score_names)), np.nan)
        seen, used = np.zeros(n, dtype=bool), list(self.needed.outputs)
        for start in range(0, n, PIECE_ROWS):
            tick(start, n)
            rows = start + np.flatnonzero(usable[start : start + PIECE_ROWS])
            if len(rows):
                X = self.transform(frame.iloc[rows])
                decision[rows] = self.model.decision_function(X).reshape(len(rows), -1)
                seen[rows] = seen_values(self.model.extra_.get("trained_on"), X[used].to_numpy())
        tick(n, n)
        return decision[:, 0] if decision.shape[1] == 1 else decision, usable, seen


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
    views : dict
        Views of which all columns are lacking → these.
    """

    frame: pd.DataFrame
    lacking: tuple[str, ...]
    alike: Mapping[str, str]
    ignored: tuple[str, ...]
    ids: tuple[str, ...]
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def lacking_sentence(self) -> str:
        absent = [f"No file gives the view {quoted(v)} (columns {name_some(names)})" for v, names in self.views.items()]
        given = {name for names in self.views.values() for name in names}
        others = [name for name in self.lacking if name not in given]
        if absent and not others:
            return f"{'. '.join(absent)}. Bring it too, or one table with all columns."
        return " ".join([*(f"{sentence}." for sentence in absent), self._columns_sentence(others)])

    def _columns_sentence(self, lacking: Sequence[str]) -> str:
        columns = f"The table lacks {counted(len(lacking), 'column')} of training: {name_some(lacking)}"
        if self.alike:
            name, found = next(iter(self.alike.items()))
            also = f", and {len(self.alike) - 1:,} more that differ as little" if len(self.alike) > 1 else ""
            return f"{columns}; it has {quoted(found)}, which may be {quoted(name)}{also}."
        if self.ignored:
            return f"{columns}; it has {name_some(self.ignored)}. Columns are found by name: rename them in the file."
        return f"{columns}; it has no other that could be meant. Columns are found by name: add what is lacking."

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
        Row by row: its number in the table from 1, what identifies it, prediction, scores, which values were filled or
        unknown if any were, and the true label if it is there.
    scores : Scores or None
        Against the true labels, where there are any.
    balance : DataFrame
        `class`, `rows` and `share` of every answer.
    notes : tuple of str
        Values that were filled or unknown; rows that were left out, and why.
    against : str
        In how many rows the answer is not the class of the larger probability, and why; empty where in none.
    """

    table: pd.DataFrame
    scores: Scores | None
    balance: pd.DataFrame
    notes: tuple[str, ...]
    against: str = ""


def _against(n: int, of: int, model: SPNMKLClassifier) -> str:
    if not n:
        return ""
    weighed = "" if model.class_weight is None else ", for which classes were weighed"
    return (
        f"In {n:,} of {counted(of, 'row')} the answer is not the class of the larger probability: answers follow the "
        f"side of the border{weighed}, probabilities how often classes came in training."
    )


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


def _row_numbers(frame: pd.DataFrame) -> NDArray:
    """From 1, as in the file without its header; rows taken from a larger table keep their numbers there."""
    counts = pd.api.types.is_integer_dtype(frame.index.dtype)
    return np.asarray(frame.index if counts else range(len(frame))) + 1


def _spread(values: NDArray, where: NDArray[np.bool_]) -> NDArray:
    spread = np.full(len(where), None, dtype=object)
    spread[where] = values
    return spread


def _balance(predicted: NDArray, classes: NDArray) -> pd.DataFrame:
    rows = (predicted == classes[:, None]).sum(axis=1)
    return pd.DataFrame({"class": classes.astype(str), "rows": rows, "share": rows / max(len(predicted), 1)})


def _filled_sentence(values: int, rows: int) -> str:
    return f"{counted(values, 'value')} {'was' if values == 1 else 'were'} filled in {counted(rows, 'row')}."


def _unknown_sentence(unknown: Mapping[str, Sequence[str]], rows: int) -> str:
    found = [f"{quoted(name)}: {name_some(values, 3)}" for name, values in unknown.items()]
    verb = "is" if sum(map(len, unknown.values())) == 1 else "are"
    return f"{listed(found, 5)} {verb} unknown, since training did not have such values; {counted(rows, 'row')}."


def _foreign(labels: pd.Series) -> str:
    if not len(labels):
        return ""
    rows = counted(len(labels), "row")
    return f"{rows} of a class that training did not have, such as {quoted(labels.iloc[0])}: not counted."


def _without_values(
    frame: pd.DataFrame, preparation: Preparation, usable: NDArray[np.bool_], empty: NDArray[np.bool_]
) -> str:
    missing = frame.loc[~usable, list(preparation.names)].isna()
    nothing, said = empty[~usable], []
    if nothing.any():
        said.append(f"{counted(int(nothing.sum()), 'row')} without a prediction, for want of any value.")
    if not nothing.all():
        holes, rows = missing[~nothing].any(), counted(int((~nothing).sum()), "row")
        columns = name_some(holes.index[holes])
        said.append(
            f"{rows} without a prediction, for missing values in {columns}; a model trained to fill them would answer."
        )
    return " ".join(said)
