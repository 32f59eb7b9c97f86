"""Tables on disk, and the columns to learn from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from spnmkl.data.reading import Table, guess_options, read_file
from spnmkl.errors import DataError
from spnmkl.wording import counted, name_some, quoted, suggestion


def read_table(path: str | Path, text_columns: Collection[str] = (), skip: int | None = None) -> pd.DataFrame:
    """Read a table with a header row from disk, in any format of `read_file`.

    Parameters
    ----------
    path : str or Path
    text_columns : collection of str
        Columns to keep as they are written, although all their values may be numbers.
    skip : int, optional
        How many lines stand above the header; by default those that begin with #.
    """
    return load_table(path, text_columns, skip).frame


def load_table(path: str | Path, text_columns: Collection[str] = (), skip: int | None = None) -> Table:
    """As `read_table`, with the name of the file and how it was read."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no file {str(path)!r}; check its name and folder.") from None
    except OSError as error:
        raise DataError(f"The file {path.name!r} cannot be read: {error.strerror or error}.") from None
    return headed_table(path.name, data, text_columns, skip)


def headed_table(name: str, data: bytes, text_columns: Collection[str] = (), skip: int | None = None) -> Table:
    """The table of a file's bytes, whose columns are named in its first row."""
    guessed = guess_options(name, data, skip)
    options = replace(guessed, header=True, transpose=False, text=(*guessed.text, *text_columns))
    table = read_file(name, data, options)
    _refuse_made_up_names(table)
    return table


def _refuse_made_up_names(table: Table) -> None:
    for name, title in table.renamed.items():
        if title:
            raise DataError(
                f"The column name {quoted(title)} stands twice in {quoted(table.name)}; rename one of them."
            )
        raise DataError(
            f"Column {table.frame.columns.get_loc(name) + 1} of {quoted(table.name)} has no name; name it, or save the "
            "table without row numbers."
        )


def split_label(frame: pd.DataFrame, label: str, ignore: Collection[str] = ()) -> tuple[pd.DataFrame, NDArray]:
    """The feature columns and the labels of a table.

    Parameters
    ----------
    frame : DataFrame
    label : str
        The column that holds the classes.
    ignore : collection of str
        Columns to leave out.
    """
    features = drop_columns(frame, [label, *ignore])
    return features, read_labels(frame[label])


def drop_columns(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    check_columns(frame, names)
    rest = frame.drop(columns=list(names))
    if not rest.shape[1]:
        raise DataError(f"No column is left besides {name_some(names)}; add columns to learn from.")
    return rest


def check_columns(frame: pd.DataFrame, names: Collection[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise DataError(f"There is no column {quoted(name)}; {suggestion(name, frame.columns)}.")


def read_labels(column: pd.Series) -> NDArray:
    """The classes of the rows: text, whole numbers or true/false, of two kinds at least."""
    name, missing = quoted(column.name), int(column.isna().sum())
    if missing:
        rows = counted(missing, "row")
        raise DataError(f"The label {name} is missing in {rows}; fill these rows or drop them.")
    if is_float_dtype(column):
        if not (column % 1 == 0).all():
            raise DataError(
                f"The label {name} holds fractions, such as {column[column % 1 != 0].iloc[0]:g}; "
                "classes must be text or whole numbers."
            )
        column = column.astype(int)
    if column.nunique() == 1:
        raise DataError(f"The label {name} is {quoted(column.iloc[0])} in every row; two classes are needed.")
    if column.nunique() == len(column) > 2:
        raise DataError(
            f"The label {name} is different in each of {counted(len(column), 'row')}; choose the column that "
            "holds the classes."
        )
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object else values
