"""Tables written as text: rows of cells between separators."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import PurePath

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

from spnmkl.data.options import (
    SEPARATOR_WORDS,
    ReadOptions,
    below,
    decode,
    guess_encoding,
    guess_text,
    numbered_rows,
    quoting,
)
from spnmkl.data.unpacking import CELL_BYTES, COLUMN_BYTES, TEXT_COPIES, check_need, check_shape
from spnmkl.errors import DataError
from spnmkl.wording import counted, quoted


def guess(name: str, data: bytes, skip: int | None = None) -> tuple[str, ReadOptions]:
    """The text of a table and how it is written."""
    encoding = guess_encoding(data)
    text = decode(name, data, encoding)
    return text, guess_text(text, encoding, PurePath(name).suffix.lower(), skip=skip)


def read_text(name: str, data: bytes, options: ReadOptions | None) -> tuple[str, ReadOptions]:
    """The text of a table and how it is to be read."""
    return guess(name, data) if options is None else (decode(name, data, options.encoding), options)


def parse_text(name: str, text: str, options: ReadOptions, packed: int) -> pd.DataFrame:
    """The table as it is written: its names may be empty or stand twice, and samples may be columns.

    Rows that are shorter than the first ones are filled up; the size of the file, `packed`, bounds what that takes.
    """
    whole, text = text, below(text, options.skip)
    if whole.strip() and not text.strip():
        raise DataError(
            f"Nothing of {quoted(name)} is left below the {counted(options.skip, 'line')} that are skipped; skip fewer."
        )
    try:
        beginning = list(islice(numbered_rows(text, options.separator), 2))
    except csv.Error:
        most = csv.field_size_limit()
        raise DataError(
            f"The table {quoted(name)} holds a value of more than {most:,} characters; shorten it."
        ) from None
    if not beginning:
        raise DataError(f"The table {quoted(name)} is empty; it needs a header and rows.")
    above, first = beginning[0]
    if options.header and len(beginning) == 1:
        raise DataError(f"The table {quoted(name)} has a header but no rows; add samples.")
    width = max(len(row) for _, row in beginning)
    rows = text.count("\n")
    check_shape(name, rows, width)
    check_need(name, packed, TEXT_COPIES * len(text) + (CELL_BYTES * rows + COLUMN_BYTES) * width)
    text_columns = _text_columns(first, beginning[-1][1], options)
    frame = _parse(name, text, options, above + options.header, width, text_columns)
    frame = _stripped(frame, text, options, text_columns)
    if not options.header:
        frame.columns = pd.Index([f"c{k + 1}" for k in range(width)])
        return frame
    return _titled(name, frame, first)


def _text_columns(first: list[str], second: list[str], options: ReadOptions) -> list[int]:
    """Where the columns stand that are to be kept as written; names of rows shift them."""
    if not options.header or not options.text:
        return []
    kept, shift = set(options.text), len(second) == len(first) + 1 and bool(second[-1])
    return [k + shift for k, title in enumerate(first) if title in kept]


def _titled(name: str, frame: pd.DataFrame, titles: list[str]) -> pd.DataFrame:
    extra = frame.shape[1] - len(titles)
    if extra == 1 and frame.iloc[:, -1].isna().all():
        frame, extra = frame.iloc[:, :-1], 0  # separators at the end of each row
    if extra > 1:
        raise DataError(
            f"The rows of {quoted(name)} have {frame.shape[1]:,} values, but its header has "
            f"{counted(len(titles), 'name')}; repair the header, or choose another separator."
        )
    frame.columns = pd.Index([""] * extra + titles)  # one more is the names of the rows
    return frame


def _parse(
    name: str, text: str, options: ReadOptions, skipped: int, width: int, text_columns: list[int]
) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.BytesIO(text.encode("utf-8")),
            sep=r"\s+" if options.separator == " " else options.separator,
            decimal=options.decimal,
            header=None,
            names=range(width),
            skiprows=skipped,
            na_values=list(options.missing),
            keep_default_na=False,
            skipinitialspace=True,
            quoting=quoting(text),
            low_memory=False,
            dtype=dict.fromkeys(text_columns, "str") or None,
        ).copy()  # one block instead of one per column
    except (pd.errors.ParserError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        reason = re.sub(r"(?<=line )\d+", lambda number: str(int(number[0]) + options.skip), reason)
        raise DataError(
            f"The table {quoted(name)} cannot be read: {reason}; repair that line, or choose another separator."
        ) from None


def _stripped(frame: pd.DataFrame, text: str, options: ReadOptions, text_columns: list[int]) -> pd.DataFrame:
    """Without space at the end of cells, which pandas keeps."""
    if f" {options.separator}" not in text and " \n" not in text and not text.endswith(" "):
        return frame
    for position in range(frame.shape[1]):
        values = frame.iloc[:, position]
        if is_numeric_dtype(values) or infer_dtype(values, skipna=True) != "string":
            continue
        values = values.str.strip()
        values = values.mask(values.isin(options.missing))
        numbers = None if position in text_columns else _as_numbers(values, options.decimal)
        frame.isetitem(position, values if numbers is None else numbers)
    return frame


def _as_numbers(values: pd.Series, decimal: str) -> pd.Series | None:
    """A column of text as numbers; None where a value is none."""
    try:
        return pd.to_numeric(values.str.replace(decimal, ".", regex=False))
    except (ValueError, TypeError):
        return None


def unique_names(titles: Iterable[object]) -> tuple[list[str], dict[str, str]]:
    """Names on one line each, none empty and none twice; and which were made up → what was written."""
    written = [" ".join(str(title).split()) for title in titles]
    taken, seen = set(written), set()
    numbers: Counter[str] = Counter()
    names: list[str] = []
    made: dict[str, str] = {}
    for position, title in enumerate(written):
        name = base = title or ("id" if position == 0 else f"c{position + 1}")
        while name in taken and (not title or title in seen):
            numbers[base] += 1
            name = f"{base} ({numbers[base] + 1})"
        if name != title:
            made[name] = title
        seen.add(title)
        taken.add(name)
        names.append(name)
    return names, made


def transposed(frame: pd.DataFrame, decimal: str = ".") -> pd.DataFrame:
    """Rows become columns; names of rows stand in the first column, if it is text."""
    has_names = not is_numeric_dtype(frame.iloc[:, 0])
    names = frame.iloc[:, 0].fillna("").tolist() if has_names else [f"c{k + 1}" for k in range(len(frame))]
    body = frame.iloc[:, int(has_names) :]
    turned = _turned(body, decimal)
    turned.columns = pd.Index(names)
    return pd.concat([pd.DataFrame({"id": list(body.columns)}), turned], axis=1)


def _turned(body: pd.DataFrame, decimal: str) -> pd.DataFrame:
    if all(map(is_numeric_dtype, body.dtypes)):
        return pd.DataFrame(body.to_numpy(dtype=float, na_value=np.nan).T)
    values = body.astype(object).to_numpy().T
    cells = pd.Series(values.ravel()).astype(str).str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float).reshape(values.shape)
    numeric = (~np.isnan(numbers) | pd.isna(values)).all(axis=0)
    parts = [
        pd.DataFrame(numbers[:, numeric], columns=np.flatnonzero(numeric)),
        pd.DataFrame(values[:, ~numeric], columns=np.flatnonzero(~numeric)).infer_objects(),
    ]
    return pd.concat(parts, axis=1)[range(len(numeric))]


def writing(options: ReadOptions) -> list[str]:
    """Notes on how a text table is written, where that is not the usual."""
    notes = []
    if options.separator != "," or options.decimal == ",":
        between = SEPARATOR_WORDS.get(options.separator, quoted(options.separator))
        notes.append(f"Values are separated by {between}{', with decimal commas' * (options.decimal == ',')}.")
    if options.encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"The text is encoded as {options.encoding}.")
    if not options.header:
        notes.append("There is no header, so that the columns are called c1, c2 and so on.")
    return notes
