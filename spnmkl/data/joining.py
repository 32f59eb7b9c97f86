"""Several tables over the same samples made one, and labels from a table of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from spnmkl.data.columns import as_text
from spnmkl.data.filling import SEPARATOR
from spnmkl.data.options import ID_NAMES
from spnmkl.data.reading import Table
from spnmkl.data.table import check_columns
from spnmkl.data.text_table import unique_names
from spnmkl.errors import DataError
from spnmkl.wording import counted, name_some, quoted

How = Literal["id", "rows"]


@dataclass(frozen=True)
class Joining:
    """How several files belong together.

    Parameters
    ----------
    how : {"id", "rows"}
    id_column : str, optional
        Its name in all files; guessed when None.
    labels : int, optional
        Which of the files holds the labels, where that is a file of its own.
    """

    how: How = "id"
    id_column: str | None = None
    labels: int | None = None


@dataclass(frozen=True, eq=False)
class Joined:
    """Tables made one.

    Attributes
    ----------
    frame : DataFrame
    views : dict
        View → its columns; columns that are the same in several tables belong to none.
    report : DataFrame
        For each table its `rows`, how many were `taken`, how many ids of other tables are `lacking`, and how many rows
        were left out: `repeated` since the id stands above already, `without id`.
    missing : dict
        View → the ids that other tables have and it lacks.
    notes : tuple of str
        The same in plain words.
    matrices : dict
        The kernel matrices of the tables.
    """

    frame: pd.DataFrame
    views: dict[str, tuple[str, ...]]
    report: pd.DataFrame
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    matrices: dict[str, NDArray] = field(default_factory=dict)


def join_files(tables: Sequence[Table], joining: Joining) -> Joined:
    """One table from the files that somebody chose: a single one as it is, several by `join_views` with labels."""
    views = [table for k, table in enumerate(tables) if k != joining.labels]
    if len(views) == 1:
        (only,) = views
        named = {only.view: tuple(only.frame.columns)} if len(tables) > 1 else {}
        found = Joined(only.frame, named, pd.DataFrame(), matrices=only.matrices)
    else:
        found = join_views(views, joining.how, joining.id_column)
        found = replace(found, notes=(*found.notes, *_prefix_note(found.frame, views)))
    if joining.labels is None:
        return found
    labelled = attach_labels(found.frame, tables[joining.labels], joining.id_column)
    return replace(found, frame=labelled.frame, notes=(*found.notes, *labelled.notes))


def join_tables(tables: Sequence[Table], joining: Joining) -> tuple[Joined, str | None]:
    """Tables as one, and the column of ids that they were joined by, or that one table is said to have."""
    found = join_files(tables, joining)
    if len(tables) == 1 and joining.id_column is not None:
        check_columns(found.frame, [joining.id_column])
        return found, joining.id_column
    by_id = len(tables) > 1 and joining.how == "id"
    return found, str(found.frame.columns[0]) if by_id else None


def _prefix_note(frame: pd.DataFrame, tables: Sequence[Table]) -> Iterator[str]:
    known = {name for table in tables for name in table.frame.columns}
    made = [name for name in frame.columns if name not in known]
    if made:
        yield (
            f"{counted(len(made), 'column')} with a name that stands in several files: called after the file too, such "
            f"as {quoted(made[0])}; give files of new rows the same names."
        )


def join_views(tables: Sequence[Table], how: How = "id", id_column: str | None = None) -> Joined:
    """One table from several, one per view.

    Parameters
    ----------
    tables : sequence of Table
    how : {"id", "rows"}
        By the values of an id column, or row by row. Every id is kept: those of the first table in its order, then
        those that only later tables have, in theirs. Where a table lacks an id, all of its columns are missing.
    id_column : str, optional
        Its name in all tables; guessed when None.
    """
    views, _ = unique_names(table.view for table in tables)
    if not tables:
        raise DataError("There is no table to join; choose at least one file.")
    if how == "rows":
        return _join_rows(tables, views)
    for table in tables:
        if table.matrices:
            raise DataError(f"The matrices in {quoted(table.name)} have no ids; join by row order.")
    frames = [table.frame for table in tables]
    columns = _id_columns(frames, [table.name for table in tables], id_column)
    ids = [_ids(frame, column) for frame, column in zip(frames, columns, strict=True)]
    return _join_ids(tables, views, ids)


def attach_labels(frame: pd.DataFrame, labels: Table, on: str | None = None) -> Joined:
    """A table with the columns of another beside it, such as labels; every row stays, also where there is no label.

    Parameters
    ----------
    frame : DataFrame
    labels : Table
    on : str, optional
        The id column of both. When None it is guessed, and a single column of the same length goes row by row.
    """
    if on is None and (labels.frame.shape[1] == 1 or not frame.shape[1]):
        _check_lengths(["the table", labels.name], [frame, labels.frame])
        return _attached(frame, labels, labels.frame, np.arange(len(frame)), ())
    mine, theirs = _id_columns([frame, labels.frame], ["the table", labels.name], on)
    wanted, known = _ids(frame, mine), _ids(labels.frame, theirs)
    first = known[known.notna() & ~known.duplicated()]
    found = pd.Index(first).get_indexer(wanted)
    if (found < 0).all():
        raise _nothing_in_common("the table", [wanted, first], ["the table", labels.name])
    positions = np.where(found < 0, -1, first.index.to_numpy()[found])
    missing = tuple(wanted[found < 0].fillna(""))
    alike = list(_nearly_equal([wanted, first], ["the table", quoted(labels.name)]))
    return _attached(frame, labels, labels.frame.drop(columns=theirs), positions, missing, alike)


def _attached(
    frame: pd.DataFrame,
    labels: Table,
    added: pd.DataFrame,
    positions: NDArray[np.intp],
    missing: tuple[str, ...],
    alike: Sequence[str] = (),
) -> Joined:
    """Row i of the table beside row positions[i] of `added`, or beside nothing where that is −1."""
    both = pd.concat([frame.reset_index(drop=True), _at(added, positions)], axis=1)
    both.columns = pd.Index(unique_names([*frame.columns, *_prefixed(added.columns, frame.columns, labels.view)])[0])
    rows, matched = len(labels.frame), len(np.unique(positions[positions >= 0]))
    report = pd.DataFrame({"table": [labels.name], "rows": rows, "taken": matched, "lacking": len(missing)})
    notes = []
    if matched < rows:
        notes.append(f"{counted(rows - matched, 'row')} of {quoted(labels.name)} not in the table: left out.")
    if missing:
        notes.append(f"{counted(len(missing), 'row')} of the table not in {quoted(labels.name)}: {name_some(missing)}.")
    notes += alike
    return Joined(both, {}, report, {labels.view: missing} if missing else {}, tuple(notes))


def _join_rows(tables: Sequence[Table], views: list[str]) -> Joined:
    frames = [table.frame.reset_index(drop=True) for table in tables]
    _check_lengths([table.name for table in tables], frames)
    here = [np.ones(len(frame), dtype=bool) for frame in frames]
    frame, columns = _beside(frames, views, here)
    n = len(frame)
    report = pd.DataFrame({"table": [table.name for table in tables], "rows": n, "taken": n})
    report[["lacking", "repeated", "without id"]] = 0
    parts = [(view, name, K) for view, table in zip(views, tables, strict=True) for name, K in table.matrices.items()]
    often = Counter(name for _, name, _ in parts)
    matrices = {name if often[name] == 1 else f"{view}{SEPARATOR}{name}": K for view, name, K in parts}
    return Joined(frame, columns, report, matrices=matrices)


def _check_lengths(names: Sequence[str], frames: Sequence[pd.DataFrame]) -> None:
    for name, frame in zip(names, frames, strict=True):
        if len(frame) != len(frames[0]):
            raise DataError(
                f"Row by row, tables need the same number of rows, but {quoted(names[0])} has {len(frames[0]):,} and "
                f"{quoted(name)} {len(frame):,}; join them by an id column."
            )


def _join_ids(tables: Sequence[Table], views: list[str], ids: list[pd.Series]) -> Joined:
    names = [table.name for table in tables]
    kept = [each[each.notna() & ~each.duplicated()] for each in ids]
    _refuse_strangers(kept, names)
    order = pd.Index(dict.fromkeys(name for each in kept for name in each), dtype=object)
    frames, here = [], []
    for table, each, column in zip(tables, kept, ids, strict=True):
        found = pd.Index(each, dtype=object).get_indexer(order)
        rows = np.where(found < 0, -1, each.index.to_numpy()[found])
        frames.append(_at(table.frame.drop(columns=str(column.name)), rows))
        here.append(found >= 0)
    frame, columns = _beside(frames, views, here)
    title = unique_names([*frame.columns, str(ids[0].name)])[0][-1]
    frame.insert(0, title, order.to_numpy())
    report = pd.DataFrame(
        {
            "table": names,
            "rows": [len(each) for each in ids],
            "taken": [len(each) for each in kept],
            "lacking": [len(order) - len(each) for each in kept],
            "repeated": [int((each.notna() & each.duplicated()).sum()) for each in ids],
            "without id": [int(each.isna().sum()) for each in ids],
        }
    )
    missing = {view: tuple(order[~rows]) for view, rows in zip(views, here, strict=True) if not rows.all()}
    notes = [*_notes(report, missing, np.all(here, axis=0)), *_nearly_equal(kept, list(map(quoted, names)))]
    return Joined(frame, columns, report, missing, tuple(notes))


def _nearly_equal(ids: Sequence[pd.Series], names: Sequence[str]) -> Iterator[str]:
    """A note on ids that differ between tables in case or leading zeros alone, unless a table has both."""
    known = [each.dropna().drop_duplicates() for each in ids]
    found = pd.DataFrame({"id": pd.concat(known), "table": np.repeat(np.arange(len(known)), list(map(len, known)))})
    found["key"] = found["id"].str.casefold().str.lstrip("0")
    apart = found.loc[found.duplicated(["key", "table"]), "key"]
    alike = found.drop_duplicates("id")
    alike = alike[alike.duplicated("key", keep=False) & ~alike["key"].isin(apart)]
    if pairs := alike["key"].nunique():
        first = alike[alike["key"] == alike["key"].iloc[0]]
        (one, other), (i, j) = first["id"].iloc[:2], first["table"].iloc[:2]
        yield (
            f"{counted(pairs, 'id')} {'differs' if pairs == 1 else 'differ'} between tables in case or "
            f"leading zeros alone, such as {quoted(one)} in {names[i]} and {quoted(other)} in {names[j]}: they count "
            "as different; where they are the same, write them alike in all files."
        )


def _at(frame: pd.DataFrame, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Row i is row rows[i] of the table, or nothing but missing values where that is −1."""
    return frame.reset_index(drop=True).reindex(rows).reset_index(drop=True)


def _notes(report: pd.DataFrame, missing: dict[str, tuple[str, ...]], everywhere: NDArray[np.bool_]) -> list[str]:
    notes, n = [], len(everywhere)
    if missing:
        first = quoted(report["table"].iloc[0])
        notes.append(
            f"{int(everywhere.sum()):,} of {counted(n, 'id')} stand in all tables. Every id has a row, in the order of "
            f"{first}, then of the tables after it."
        )
    lacking = report[report["lacking"] > 0]
    for name, ids in zip(lacking["table"], missing.values(), strict=True):
        notes.append(f"{len(ids):,} of {n:,} are not in {quoted(name)}: {name_some(ids, 3)}.")
    for row in report.to_dict("records"):
        if row["repeated"]:
            repeated = counted(row["repeated"], "row")
            notes.append(f"{repeated} of {quoted(row['table'])} with an id that stands above already: left out.")
        if row["without id"]:
            notes.append(f"{counted(row['without id'], 'row')} of {quoted(row['table'])} without an id: left out.")
    return notes


def _beside(
    frames: list[pd.DataFrame], views: list[str], here: list[NDArray[np.bool_]]
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Tables over the same rows side by side; names that clash get their view in front.

    A column of all tables is one column where they agree about the rows that they have.
    """
    often = Counter(name for frame in frames for name in frame.columns)
    everywhere = [name for name in frames[0].columns if often[name] == len(frames) > 1]
    merged = {name: _agreed([frame[name] for frame in frames], here) for name in everywhere}
    shared = {name: column for name, column in merged.items() if column is not None}
    parts = [frame.drop(columns=list(shared)) for frame in frames]
    titles = [
        [name if often[name] == 1 or len(frames) == 1 else f"{view}{SEPARATOR}{name}" for name in part.columns]
        for view, part in zip(views, parts, strict=True)
    ]
    names, _ = unique_names([*shared, *(title for group in titles for title in group)])
    whole = pd.concat([*shared.values(), *parts], axis=1)
    whole.columns = pd.Index(names)
    ends = np.cumsum([len(shared), *map(len, titles)])
    columns = {view: tuple(names[a:b]) for view, a, b in zip(views, ends[:-1], ends[1:], strict=True)}
    return whole, {view: members for view, members in columns.items() if members}


def _agreed(columns: list[pd.Series], here: list[NDArray[np.bool_]]) -> pd.Series | None:
    """Every row's value from the first table that has the row; None where another table says something else."""
    values, known = columns[0], here[0]
    for column, rows in zip(columns[1:], here[1:], strict=True):
        if not _same(values[known & rows], column[known & rows]):
            return None
        values, known = values.where(known, column), known | rows
    return values


def _same(a: pd.Series, b: pd.Series) -> bool:
    """Whether values are equal; whole numbers that a missing one made fractions stay what they are."""
    if is_numeric_dtype(a) and is_numeric_dtype(b):
        x, z = (values.to_numpy(dtype=float, na_value=np.nan) for values in (a, b))
        return np.array_equal(x, z, equal_nan=True)
    return a.isna().equals(b.isna()) and a.dropna().tolist() == b.dropna().tolist()


def _prefixed(names: Sequence[str], taken: Sequence[str], view: str) -> list[str]:
    known = set(taken)
    return [f"{view}{SEPARATOR}{name}" if name in known else name for name in names]


def _ids(frame: pd.DataFrame, column: str) -> pd.Series:
    """Ids as text, by position of the row."""
    ids = as_text(frame[column].reset_index(drop=True)).astype(object)
    return ids.map(str.strip, na_action="ignore")


def _id_columns(frames: Sequence[pd.DataFrame], names: Sequence[str], given: str | None) -> list[str]:
    if given is not None:
        for frame in frames:
            check_columns(frame, [given])
        return [given] * len(frames)
    common = [name for name in frames[0].columns if all(name in frame.columns for frame in frames[1:])]
    named = [name for name in common if name.lower() in ID_NAMES or name.lower().endswith(("_id", " id"))]
    for candidates, share in ((named, 0.5), (common, 0.9)):
        for name in candidates:
            if all(_tells_apart(frame[name], share) for frame in frames):
                return [name] * len(frames)
    firsts = [frame.columns[0] for frame in frames if frame.shape[1]]
    if len(firsts) == len(frames) and all(_tells_apart(f[c]) for f, c in zip(frames, firsts, strict=True)):
        return firsts
    raise DataError(
        f"No column of ids is shared by {name_some(names)}; give each the same id column, or join by row order."
    )


def _tells_apart(values: pd.Series, share: float = 0.9) -> bool:
    """Most values once, and no fractions: what ids look like, but for a few mistakes."""
    if pd.api.types.is_float_dtype(values) and not (values.dropna() % 1 == 0).all():
        return False
    return values.nunique() >= share * len(values) > 0


def _refuse_strangers(ids: Sequence[pd.Series], names: Sequence[str]) -> None:
    """A table of which no id stands in another one was joined by the wrong column."""
    often = Counter(each for table in ids for each in table)
    for own, name in zip(ids, names, strict=True):
        if len(ids) > 1 and all(often[each] == 1 for each in own):
            raise _nothing_in_common(quoted(name), ids, names)


def _nothing_in_common(which: str, ids: Sequence[pd.Series], names: Sequence[str]) -> DataError:
    known = [each.dropna() for each in ids]
    examples = [f"{quoted(each.iloc[0])} in {quoted(n)}" for n, each in zip(names, known, strict=True) if len(each)]
    alike = "".join(f" {note}" for note in _nearly_equal(known, list(map(quoted, names))))
    return DataError(
        f"No id of {which} stands in another table; ids are such as {', '.join(examples)}: choose another id column, "
        f"or row order.{alike}"
    )
