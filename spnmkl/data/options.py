"""How a table is written: guessed from a look at it, shown, and open to correction."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from typing import Literal

from spnmkl.errors import DataError
from spnmkl.wording import quoted

Row = list[str]

# fmt: off
MISSING = ("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A", "?", "-", ".")
LABEL_NAMES = ("label", "labels", "class", "classes", "target", "y", "outcome", "diagnosis", "subtype", "species",
               "response", "category")
ID_NAMES = ("id", "ids", "sample", "samples", "sample_id", "sampleid", "sample id", "index", "row", "case", "case_id",
            "name", "barcode", "accession")
SAMPLE_WORDS = ("s", "sample", "patient", "pat", "subject", "subj", "case", "control", "donor", "individual", "gsm",
                "tcga", "tumor", "tumour", "normal")
# fmt: on
SEPARATOR_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
# A comma comes late: in a table with decimal commas it stands in every row too.
_PREFERRED = ("\t", ";", "|", ",", " ")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAMPLE_CHARACTERS, _SAMPLE_LINES, _SAMPLE_ROWS, _LAST_ROWS = 1_000_000, 3, 100, 5
_MOST_COMMENTS = 1000
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_PLUS_CELL = re.compile(r'(?m)(?:^|[,;\t| ])"?\+"?(?=[,;\t| \r\n]|$)')


@dataclass(frozen=True)
class ReadOptions:
    """How a table is written.

    Parameters
    ----------
    separator : str
        One character; a space stands for any run of spaces and tabs.
    decimal : str
        "." or ",".
    encoding : str
    header : bool
        Whether the first row holds the names of the columns.
    missing : tuple of str
        What stands for a missing value; "" is an empty cell.
    transpose : bool
        Whether samples are columns and features are rows.
    sheet : str or None
        The sheet of a workbook; None for the first that is not empty.
    text : tuple of str
        Columns to keep as they are written, although all their values may be numbers.
    skip : int
        Lines above the table that are no part of it, such as comments.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    missing: tuple[str, ...] = MISSING
    transpose: bool = False
    sheet: str | None = None
    text: tuple[str, ...] = ()
    skip: int = 0

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise DataError(f"The separator must be one character such as , or ;, but it is {quoted(self.separator)}.")
        if self.decimal not in (".", ",") or self.decimal == self.separator == ".":
            raise DataError(f"The decimal sign must be a point or a comma, but it is {quoted(self.decimal)}.")
        try:
            codecs.lookup(self.encoding)
        except (LookupError, ValueError):
            raise DataError(f"There is no encoding {quoted(self.encoding)}; try utf-8, utf-16 or cp1252.") from None
        if self.skip < 0:
            raise DataError(f"The number of lines to skip must be 0 or more, but it is {self.skip}.")


def decode(name: str, data: bytes, encoding: str) -> str:
    """The text of a file without its byte order mark, lines ending in a line feed."""
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"The table {quoted(name)} is not encoded in {encoding}: byte {error.start + 1:,} does not fit; choose "
            "another encoding."
        ) from None
    except (UnicodeError, LookupError):
        raise DataError(f"The table {quoted(name)} is not encoded in {encoding}; choose another encoding.") from None
    if "\0" in text:
        raise DataError(f"The file {quoted(name)} holds NUL characters, so it is no text table; save it as CSV.")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def guess_encoding(data: bytes) -> str:
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return encoding
    beginning = data[:1000]
    if beginning.count(0) > len(beginning) // 3:
        return "utf-16-le" if beginning[1::2].count(0) > beginning[::2].count(0) else "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        try:
            data.decode(encoding)
            return encoding
        except UnicodeDecodeError:
            pass
    return "latin-1"


def guess_text(
    text: str, encoding: str = "utf-8", suffix: str = "", separator: str | None = None, skip: int | None = None
) -> ReadOptions:
    """How a text table is written, from its first rows and its last."""
    if skip is None:
        skip = _comment_lines(text)
        skip += _title_lines(below(text, skip))
    text = below(text, skip)
    separator = separator or _guess_separator(text, "\t" if suffix in (".tsv", ".tab") else ",")
    rows = sample_rows(text, separator)
    decimal = _guess_decimal(rows[1:] or rows, separator)
    header = _guess_header(rows, decimal)
    marks = tuple(mark for mark in MISSING if mark != "-" or not _PLUS_CELL.search(text))
    transpose = header and len(rows) > 1 and _guess_transposed(rows, _last_rows(text, separator), decimal)
    codes = _guess_codes(rows) if header and len(rows) > 1 and not transpose else ()
    return ReadOptions(separator, decimal, encoding, header, marks, transpose, text=codes, skip=skip)


def below(text: str, lines: int) -> str:
    """The text without its first lines."""
    return text[_end_of_line(text, lines) :] if lines else text


def _comment_lines(text: str) -> int:
    """How many lines above begin with #; the last of them may be the header, as in #id,x,y."""
    lines = text[:_SAMPLE_CHARACTERS].split("\n", _MOST_COMMENTS + 1)
    comments = list(takewhile(lambda line: line.startswith("#") or not line.strip(), lines[:-1]))
    while comments and not comments[-1].strip():
        comments.pop()
    if not comments:
        return 0
    last, under = comments[-1], next((line for line in lines[len(comments) :] if line.strip()), "")
    cells = chain.from_iterable(under.split(s) for s in _PREFERRED[:-1] if last.count(s) == under.count(s) > 0)
    return len(comments) - any(is_number(cell.strip()) for cell in cells)


def _title_lines(text: str) -> int:
    """How many lines above a header are too short to be one."""
    for separator in _PREFERRED[:-1]:
        rows = sample_rows(text, separator)
        width, _ = _usual_width(rows)
        titles = len(list(takewhile(lambda row, least=width - 1: len(row) < least, rows)))  # type: ignore[misc]
        if width > 1 and not titles:
            return 0
        table = rows[titles:]
        if titles and len(table) > 1 and {*map(len, table)} == {width} and not any(map(is_number, table[0])):
            return next(islice(numbered_rows(text, separator), titles, None))[0]
    return 0


def sample_rows(text: str, separator: str) -> list[Row]:
    """The first rows that are not blank, as cells without the space around them."""
    sample = text[: max(_SAMPLE_CHARACTERS, _end_of_line(text, _SAMPLE_LINES))]
    rows = list(islice(read_rows(sample, separator), _SAMPLE_ROWS + 1))
    whole = len(sample) == len(text) or len(rows) > _SAMPLE_ROWS
    return rows[:_SAMPLE_ROWS] if whole or len(rows) == 1 else rows[:-1]


def _end_of_line(text: str, number: int) -> int:
    end = -1
    for _ in range(number):
        end = text.find("\n", end + 1)
        if end < 0:
            return len(text)
    return end + 1


def read_rows(text: str, separator: str) -> Iterator[Row]:
    """The rows that are not blank, up to one that cannot be read."""
    try:
        yield from (row for _, row in numbered_rows(text, separator))
    except csv.Error:
        return


def numbered_rows(text: str, separator: str) -> Iterator[tuple[int, Row]]:
    """Rows that are not blank, and how many rows stand above each."""
    lines: Iterable[str] = io.StringIO(text)
    if separator == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    for number, row in enumerate(csv.reader(lines, delimiter=separator, skipinitialspace=True, quoting=quoting(text))):
        cells = [cell.strip() for cell in row]
        if any(cells) or len(cells) > 1:
            yield number, cells


def quoting(text: str) -> Literal[0, 3]:
    """How quotation marks are meant: one in a header that no other closes is a letter of a name."""
    first = text.find('"')
    if first < 0 or text.count('"') % 2 == 0:
        return csv.QUOTE_MINIMAL
    begin = re.search(r"\S", text)
    assert begin is not None
    end = text.find("\n", begin.start())
    return csv.QUOTE_NONE if first < end and text.find('"', end) < 0 else csv.QUOTE_MINIMAL


def is_number(cell: str, decimal: str = ".") -> bool:
    return _NUMBER.fullmatch(cell.replace(decimal, ".") if decimal != "." else cell) is not None


def _guess_separator(text: str, default: str) -> str:
    found: dict[str, tuple[float, int]] = {}
    for separator in _PREFERRED:
        rows = sample_rows(text, separator)
        width, share = _usual_width(rows)
        if width < 2 or (separator == " " and not _mostly_numbers(rows[1:] or rows)):
            continue
        # Where row names stand without a title, the header is shorter by one.
        if share == 1 and len(rows[0]) in (width, width - 1):
            return separator
        found[separator] = (share, width)
    if default in found or not found:
        return default
    return max(found, key=found.__getitem__)


def _usual_width(rows: list[Row]) -> tuple[int, float]:
    """The most common number of cells below the first row, and how common it is."""
    widths = Counter(map(len, rows[1:] or rows))
    if not widths:
        return 0, 0.0
    width, count = widths.most_common(1)[0]
    return width, count / widths.total()


def _mostly_numbers(rows: list[Row]) -> bool:
    cells = list(chain.from_iterable(rows))
    return 2 * sum(map(is_number, cells)) >= len(cells)


def _guess_decimal(rows: list[Row], separator: str) -> str:
    commas = [cell for cell in chain.from_iterable(rows) if _WITH_COMMA.fullmatch(cell)]
    points = sum("." in cell and is_number(cell) for cell in chain.from_iterable(rows))
    thousands = separator == "," and all(_THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if len(commas) > points and not thousands else "."


def _guess_header(rows: list[Row], decimal: str) -> bool:
    if len(rows) < 2:
        return True
    first, below = rows[0], rows[1:]
    words = {cell.lower() for cell in first}
    if not words.isdisjoint(LABEL_NAMES) or not words.isdisjoint(ID_NAMES):
        return True
    numbers = [cell for cell in first if is_number(cell, decimal)]
    if numbers:
        # Columns without names are often numbered, from 0 or 1.
        counting = [str(k) for k in range(len(numbers) + 1)]
        return len(numbers) > 2 and numbers in (counting[:-1], counting[1:])
    columns = list(zip(*(row for row in below if len(row) == len(first)), strict=True))
    if any(is_number(cell, decimal) for column in columns for cell in column):
        return True
    # All text: names are not values.
    repeated = any(name in column for name, column in zip(first, columns, strict=False))
    return not repeated and len(words) == len(first)


def _guess_transposed(rows: list[Row], last: list[Row], decimal: str) -> bool:
    """Whether features are rows: one is called a label, or the columns are called like samples."""
    titles, names = rows[0][1:], [row[0].lower() for row in rows[1:]]
    if len(titles) < 2 or len(set(names)) < max(len(names), 3) or any(is_number(name, decimal) for name in names):
        return False
    if not {title.lower() for title in rows[0]}.isdisjoint(LABEL_NAMES):
        return False
    labels = set(LABEL_NAMES) - {"y"}
    features = [row[1:] for row in rows[1:] if row[0].lower() not in labels]
    if not all(is_number(cell, decimal) or cell in MISSING for cell in chain.from_iterable(features)):
        return False
    stems = {re.split(r"[\W\d_]", title.lower(), maxsplit=1)[0] for title in titles}
    return stems <= set(SAMPLE_WORDS) or not labels.isdisjoint([*names, *(row[0].lower() for row in last)])


def _guess_codes(rows: list[Row]) -> tuple[str, ...]:
    """Columns of numbers such as 007, all different and of one length: identifiers, whose zeros count."""
    columns = zip(rows[0], *(row for row in rows[1:] if len(row) == len(rows[0])), strict=True)
    return tuple(title for title, *cells in columns if _are_codes([cell for cell in cells if cell not in MISSING]))


def _are_codes(cells: list[str]) -> bool:
    if not any(cell.startswith("0") for cell in cells) or not all(map(str.isdecimal, cells)):
        return False
    return len(set(cells)) == len(cells) > 1 and {len(cell) for cell in cells} == {max(len(cells[0]), 3)}


def _last_rows(text: str, separator: str) -> list[Row]:
    lines = text[-_SAMPLE_CHARACTERS:].rstrip().rsplit("\n", _LAST_ROWS)
    return list(read_rows("\n".join(lines[1:]), separator))
