"""Reading tables, with a sentence for everything that usually goes wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path
from zlib import error as ZlibError

import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from spnmkl.errors import DataError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}


def read_table(path: str | Path, text_columns: Collection[str] = ()) -> pd.DataFrame:
    """Read a table with a header row: comma-separated (.csv) or tab-separated (.tsv, .tab), also with .gz.

    Parameters
    ----------
    path : str or Path
    text_columns : collection of str
        Columns to keep as they are written, although all their values may be numbers.
    """
    path = Path(path)
    separator = _separator(path)
    header = _header(path, separator)
    # Refuses rows longer than the header, of which pandas would take the first value for a row name.
    _parse(path, separator, header=None, nrows=2, dtype="str")
    frame = _parse(path, separator, dtype=dict.fromkeys(text_columns, "str"))
    if frame.empty:
        raise DataError(f"The table {path.name!r} has a header but no rows; add samples.")
    frame.columns = pd.Index(header)
    return frame


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
    return features, _labels(frame[label])


def drop_columns(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    for name in names:
        if name not in frame.columns:
            raise DataError(f"There is no column {name!r}; {suggestion(name, frame.columns)}.")
    rest = frame.drop(columns=list(names))
    if not rest.shape[1]:
        raise DataError(f"No column is left besides {name_some(names)}; add columns to learn from.")
    return rest


def suggestion(name: str, names: Iterable[str]) -> str:
    names = [str(other) for other in names]
    close = get_close_matches(name, names, n=1)
    return f"the closest name is {close[0]!r}" if close else f"the columns are {name_some(names)}"


def name_some(names: Collection[str], most: int = 8) -> str:
    """Names in quotes, the first few of many."""
    quoted = [repr(str(name)) for name in names]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most:,} more" if len(quoted) > most else "")


def _labels(column: pd.Series) -> NDArray:
    missing = int(column.isna().sum())
    if missing:
        raise DataError(f"The label {column.name!r} is missing in {_rows(missing)}; fill these rows or drop them.")
    if is_float_dtype(column) and not (column % 1 == 0).all():
        raise DataError(
            f"The label {column.name!r} holds fractions, such as {column[column % 1 != 0].iloc[0]:g}; "
            "classes must be text or whole numbers."
        )
    if column.nunique() == 1:
        raise DataError(f"The label {column.name!r} is {str(column.iloc[0])!r} in every row; two classes are needed.")
    if column.nunique() == len(column) > 2:
        raise DataError(
            f"The label {column.name!r} is different in each of {_rows(len(column))}; choose the column that "
            "holds the classes."
        )
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object else values


def _rows(n: int) -> str:
    return f"{n:,} row" + "s" * (n != 1)


def _separator(path: Path) -> str:
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    if suffix.lower() not in SEPARATORS:
        raise DataError(
            f"The table {path.name!r} must end in .csv (commas) or .tsv (tabs), with or without .gz; save it as one."
        )
    return SEPARATORS[suffix.lower()]


def _header(path: Path, separator: str) -> list[str]:
    """The names as written: pandas would number double ones and invent missing ones."""
    first = _parse(path, separator, header=None, nrows=1, dtype="str", keep_default_na=False)
    names = [str(name) for name in first.iloc[0]]
    if len(names) == 1:
        other = next((sign for sign in NAMES if sign in names[0]), None)
        if other is not None:
            raise DataError(
                f"The table {path.name!r} has one column only, {names[0]!r}; it must be separated by "
                f"{NAMES[separator]}s, but a {NAMES[other]} stands in its header."
            )
    for position, name in enumerate(names):
        if not name.strip():
            raise DataError(
                f"Column {position + 1} of {path.name!r} has no name; name it, or save the table without row numbers."
            )
        if name in names[:position]:
            raise DataError(f"The column name {name!r} stands twice in {path.name!r}; rename one of them.")
    return names


def _parse(path: Path, separator: str, **options: object) -> pd.DataFrame:
    try:
        return pd.read_csv(path, sep=separator, encoding="utf-8", low_memory=False, **options)
    except FileNotFoundError:
        raise DataError(f"There is no file {str(path)!r}; check its name and folder.") from None
    except pd.errors.EmptyDataError:
        raise DataError(f"The table {path.name!r} is empty; it needs a header and rows.") from None
    except UnicodeDecodeError:
        raise DataError(f"The table {path.name!r} is not encoded in UTF-8; save it as UTF-8.") from None
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"The table {path.name!r} cannot be read: {reason}; repair that line.") from None
    except (OSError, EOFError, ZlibError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"The table {path.name!r} cannot be read: {reason}.") from None
