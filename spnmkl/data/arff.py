"""ARFF text, read line by line: nothing in it is tried twice, and its size is known before memory is taken for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd

from spnmkl.data.unpacking import check_need, check_shape
from spnmkl.errors import DataError
from spnmkl.wording import counted, quoted

_NUMBERS = ("numeric", "real", "integer")
_TEXTS = ("string", "date")
_BLOCK_ROWS = 10_000
_CELL_BYTES, _TEXT_BYTES = 16, 64  # that a number and a text take while the table is put together
# Possessive: what one of them has taken is never given back.
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)
_BARE_NAME = re.compile(r"[^\s{}%]++")
_CELL = re.compile(r"[^,\t]*+")
_VALUE = re.compile(r"[^,}\t]*+")
_INDEX = re.compile(r"\d{1,9}+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class _Attribute:
    """A column; `values` are those that a nominal one may have."""

    name: str
    kind: str
    values: dict[str, str] | None = None

    @property
    def usual(self) -> object:
        """What a sparse row means where it says nothing."""
        return next(iter(self.values)) if self.values else 0


class _Malformed(Exception):
    """What is wrong in a line, and where that is not the last one read, in which."""

    @property
    def line(self) -> int:
        return self.args[1] if len(self.args) > 1 else 0


class _Lines(Iterator[tuple[int, str]]):
    """Those that say something, with their numbers; cut from the text one at a time."""

    def __init__(self, text: str) -> None:
        self.text, self.number, self._start = text, 0, 0

    def __next__(self) -> tuple[int, str]:
        while self._start <= len(self.text):
            end = self.text.find("\n", self._start)
            end = len(self.text) if end < 0 else end
            line = self.text[self._start : end].strip()
            self._start, self.number = end + 1, self.number + 1
            if line and line[0] != "%":
                return self.number, line
        raise StopIteration


def read_arff(name: str, text: str, packed: int) -> pd.DataFrame:
    """The table of an ARFF file, whose text came in so many bytes; values that are "?" are missing."""
    lines = _Lines(text.rstrip())
    try:
        attributes = _attributes(name, lines)
        first = next(lines, None)
        if first is None:
            raise DataError(f"The table {quoted(name)} has a header but no rows; add samples.")
        sparse, rows = first[1].startswith("{"), lines.text.count("\n") + 2 - first[0]
        _check(name, lines.text, packed, rows, attributes, sparse=sparse)
        columns = (_fill_sparse if sparse else _fill_dense)(chain([first], lines), attributes, rows)
    except _Malformed as wrong:
        raise DataError(
            f"The file {quoted(name)} cannot be read as ARFF: line {wrong.line or lines.number:,} {wrong.args[0]}; "
            "repair it."
        ) from None
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index([attribute.name for attribute in attributes])
    return frame


def _attributes(name: str, lines: _Lines) -> list[_Attribute]:
    """What is declared above @data."""
    attributes: list[_Attribute] = []
    for _, line in lines:
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@attribute":
            attributes.append(_attribute(line[len(keyword) :].strip()))
            check_shape(name, 1, len(attributes))
        elif keyword == "@data" and not attributes:
            raise _Malformed("begins the data, but no @attribute stands above it")
        elif keyword == "@data":
            return attributes
        elif keyword != "@relation":
            raise _Malformed(f"is {quoted(line[:40])}, where @attribute or @data was expected")
    raise _Malformed("is the last, and there is no @data")


def _check(name: str, text: str, packed: int, rows: int, attributes: Sequence[_Attribute], *, sparse: bool) -> None:
    """Refuse what would not fit; dense rows are not more than their commas and tabs can separate."""
    width = len(attributes)
    if not sparse and width > 1:
        rows = min(rows, (text.count(",") + text.count("\t")) // (width - 1) + 1)
    check_shape(name, rows, width)
    texts = sum(attribute.kind in _TEXTS for attribute in attributes)
    cells = rows * ((width - texts) * _CELL_BYTES + texts * (_CELL_BYTES if sparse else _TEXT_BYTES))
    check_need(name, packed, 2 * len(text) + cells)


def _attribute(text: str) -> _Attribute:
    name, at = _word(text, 0, _BARE_NAME)
    kind = text[at:].strip()
    if not name or not kind:
        raise _Malformed("needs a name and a type after @attribute")
    if kind.startswith("{"):
        return _Attribute(name, "nominal", _nominal_values(kind))
    word = kind.split("%", 1)[0].split(None, 1)[0].lower() if kind[0] != "%" else ""
    if word not in _NUMBERS and word not in _TEXTS:
        raise _Malformed(f"gives {quoted(name)} the type {quoted(kind[:40])}, which is none of numeric, string, {{…}}")
    return _Attribute(name, word)


def _nominal_values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    at = 1
    while True:
        value, at = _word(text, at, _VALUE)
        values[value] = value
        at = _after_space(text, at)
        if text[at : at + 1] == "}":
            break
        if text[at : at + 1] not in (",", "\t"):
            raise _Malformed("opens a list of values with {, but does not close it with }")
        at += 1
    rest = text[at + 1 :].strip()
    if rest and rest[0] != "%":
        raise _Malformed(f"has {quoted(rest[:40])} behind its list of values")
    return values


def _word(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    """A name or value from here on, quoted or not, and where it ends."""
    at = _after_space(text, at)
    if text[at : at + 1] in ("'", '"'):
        found = _QUOTED.match(text, at)
        if found is None:
            raise _Malformed("opens a quotation mark and does not close it")
        return _unescaped(found[0][1:-1]), found.end()
    found = bare.match(text, at)
    return (found[0].strip(), found.end()) if found else ("", at)


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _LETTERS.get(found[1], found[1]), text) if "\\" in text else text


def _fill_dense(
    lines: Iterator[tuple[int, str]], attributes: Sequence[_Attribute], rows: int
) -> list[np.ndarray | list[Any]]:
    columns: list[list[Any]] = [[] for _ in attributes]
    while block := list(islice(lines, _BLOCK_ROWS)):
        cells = [_cells(line, number, len(attributes)) for number, line in block]
        for k, (attribute, column) in enumerate(zip(attributes, columns, strict=True)):
            convert = _converter(attribute)
            try:
                column += [convert(row[k]) for row in cells]
            except _Malformed:
                places = [number for number, _ in block]
                raise _at_first(convert, zip(places, (row[k] for row in cells), strict=True)) from None
    return [_column(attribute, column) for attribute, column in zip(attributes, columns, strict=True)]


def _cells(line: str, number: int, width: int) -> list[str | None]:
    """The values of a row; None for those that are missing."""
    if line[0] == "{":
        raise _Malformed("is sparse, but the rows above it are not", number)
    if "'" in line or '"' in line or "%" in line or "\\" in line:
        cells = _careful_cells(line, number)
    else:
        cells = [None if cell == "?" else cell for cell in map(str.strip, _split(line))]
    if len(cells) != width:
        raise _Malformed(f"has {counted(len(cells), 'value')}, but there are {counted(width, 'attribute')}", number)
    return cells


def _split(line: str) -> list[str]:
    return line.split(",") if "\t" not in line else line.replace("\t", ",").split(",")


def _careful_cells(line: str, number: int) -> list[str | None]:
    cells: list[str | None] = []
    at = 0
    try:
        while True:
            start = _after_space(line, at)
            marked = line[start : start + 1] in ("'", '"')
            value, at = _word(line, at, _CELL)
            cells.append(None if value == "?" and not marked else value)
            at = _after_space(line, at)
            if at >= len(line) or line[at] == "%":
                return cells
            if line[at] not in ",\t":
                raise _Malformed(f"has {quoted(line[at : at + 20])} behind a quoted value")
            at += 1
    except _Malformed as wrong:
        raise _Malformed(wrong.args[0], number) from None


def _fill_sparse(
    lines: Iterator[tuple[int, str]], attributes: Sequence[_Attribute], rows: int
) -> list[np.ndarray | list[Any]]:
    converters = [_converter(attribute) for attribute in attributes]
    columns: list[Any] = [
        np.zeros(rows) if attribute.kind in _NUMBERS else [attribute.usual] * rows for attribute in attributes
    ]
    n = 0
    for number, line in lines:
        try:
            for k, value in _entries(line, len(attributes)):
                columns[k][n] = converters[k](value)
        except _Malformed as wrong:
            raise _Malformed(wrong.args[0], number) from None
        n += 1
    return [_column(attribute, column[:n]) for attribute, column in zip(attributes, columns, strict=True)]


def _entries(line: str, width: int) -> Iterator[tuple[int, str | None]]:
    """Positions and values of a sparse row, {0 1.5, 3 'a b'}."""
    if line[0] != "{":
        raise _Malformed("is not sparse, but the rows above it are")
    at = _after_space(line, 1)
    while line[at : at + 1] != "}":
        found = _INDEX.match(line, at)
        if found is None or int(found[0]) >= width:
            raise _Malformed(f"is no sparse row of {counted(width, 'attribute')}, such as {{0 1.5, 1 2}}")
        start = _after_space(line, found.end())
        marked = line[start : start + 1] in ("'", '"')
        value, at = _word(line, found.end(), _VALUE)
        yield int(found[0]), None if value == "?" and not marked else value
        at = _after_space(line, at)
        if line[at : at + 1] == ",":
            at = _after_space(line, at + 1)
        elif line[at : at + 1] != "}":
            raise _Malformed("opens a sparse row with {, but does not close it with }")


def _converter(attribute: _Attribute) -> Callable[[str | None], Any]:
    """From what is written to a value; None where nothing is."""
    if attribute.values is not None:
        known = attribute.values

        def nominal(cell: str | None) -> str | None:
            if cell is not None and cell not in known:
                raise _Malformed(f"has {quoted(cell[:40])}, which is no value of {quoted(attribute.name)}")
            return None if cell is None else known[cell]  # one text for all rows

        return nominal
    if attribute.kind not in _NUMBERS:
        return lambda cell: cell

    def number(cell: str | None) -> float:
        try:
            if cell is None:
                return np.nan
            if "_" not in cell:
                return float(cell)
        except ValueError:
            pass
        raise _Malformed(f"has {quoted((cell or '')[:40])} in {quoted(attribute.name)}, which is a column of numbers")

    return number


def _at_first(convert: Callable[[str | None], Any], cells: Iterable[tuple[int, str | None]]) -> _Malformed:
    """What is wrong with the first of these that cannot be converted, with its line."""
    for number, cell in cells:
        try:
            convert(cell)
        except _Malformed as wrong:
            return _Malformed(wrong.args[0], number)
    raise AssertionError("every value can be converted")


def _column(attribute: _Attribute, values: Any) -> np.ndarray | list[Any]:
    if attribute.kind not in _NUMBERS:
        return values
    column = np.asarray(values, dtype=np.float64)
    whole = attribute.kind == "integer" and bool((np.abs(column) < 2**53).all())
    return column.astype(np.int64) if whole else column
