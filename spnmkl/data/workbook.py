"""Excel workbooks: the values of a sheet, in one bounded pass over the XML of the parts that hold them.

As openpyxl reads them, whose rules for numbers that stand for dates these are; no formula is computed.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn
from xml.parsers import expat

from spnmkl.data.unpacking import check_table, check_unpacked, damaged
from spnmkl.errors import DataError
from spnmkl.wording import quoted

MAX_CELLS = 2_000_000
ELEMENTS_PER_CELL = 4  # of the XML
LETTER_BYTES = 4  # that a letter takes while text is put together and parsed
_PIECE_BYTES = 2**16
_TOKEN_BYTES = 2**18  # of one tag or remark: the parser begins anew at it with every piece
_CELL_TAGS = (b"<c ", b"<c>", b"<c/")  # without a prefix, as programs write them
_LETTERS = re.compile(r"[A-Za-z]{1,3}")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main "
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships "
_ROW, _CELL, _VALUE, _TEXT, _INLINE, _SOUND, _FORMULA = (
    _MAIN + tag for tag in ("row", "c", "v", "t", "is", "rPh", "f")
)
Attributes = dict[str, str]
Begin = Callable[[str, Attributes], None]


def _ignored(*_: object) -> None: ...


def _check_encoding(version: str, encoding: str | None, alone: int) -> None:
    """Workbooks are in UTF-8 or UTF-16; elsewhere a tag may begin with another letter, and could not be counted."""
    if encoding is not None and encoding.upper() not in ("UTF-8", "UTF-16", "US-ASCII", "ISO-8859-1"):
        raise ValueError(encoding)


class Workbook:
    """A workbook whose sheets can be read one by one.

    Parameters
    ----------
    name : str
        The file's, for what is said of it.
    data : bytes
    packed : int, optional
        Bytes of the file as it came, where that is smaller.

    Attributes
    ----------
    sheets : by title, the part that holds the sheet.
    unsaved : by column, from 1, the cells of the sheet read last with a formula whose result is not in the file.
    """

    def __init__(self, name: str, data: bytes, packed: int | None = None) -> None:
        self._packed = len(data) if packed is None else packed
        self._name, self._elements, self._cells, self._cell_tags = name, 0, 0, 0
        self.unsaved: Counter[int] = Counter()
        with self._whole():
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            if any(member.header_offset < 0 for member in self._archive.infolist()):
                raise damaged(name, "the workbook")
            main = next(iter(self._related("").get("officeDocument", {}).values()), "xl/workbook.xml")
            related = self._related(main)
            self.sheets, base_1904 = self._sheets(main, related.get("worksheet", {}))
            self._dates = _Dates(base_1904)
            for part in related.get("styles", {}).values():
                self._parse(part, self._dates.begin)
            self._texts = [text for part in related.get("sharedStrings", {}).values() for text in self._shared(part)]

    def rows(self, title: str) -> list[list[object]]:
        """The rows of a sheet that are not empty, all of one length."""
        with self._whole():
            sheet = _Sheet(self._texts, self._dates, self._count_row)
            self._parse(self.sheets[title], sheet.begin, sheet.end, sheet.pieces.append)
        self.unsaved = sheet.unsaved
        width = max((len(row) for row in sheet.rows), default=0)
        check_table(self._name, self._packed, len(sheet.rows), width)
        return [row + [None] * (width - len(row)) for row in sheet.rows]

    def _count_row(self, width: int, letters: int) -> None:
        self._cells += 1 + width
        check_unpacked(self._name, LETTER_BYTES * letters)  # cells may share one long text
        if self._cells > MAX_CELLS:
            raise self._too_many()

    def _too_many(self) -> DataError:
        return DataError(f"The workbook {quoted(self._name)} has more than {MAX_CELLS:,} cells; save the sheet as CSV.")

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except (DataError, MemoryError):
            raise
        except Exception:  # whatever a malformed workbook may cause
            raise damaged(self._name, "the workbook") from None

    def _declared(self, *_: object) -> NoReturn:
        raise DataError(
            f"The workbook {quoted(self._name)} declares entities, which may unfold without bound and which no "
            "spreadsheet needs; save it again with a spreadsheet program, or as CSV."
        )

    def _parse(
        self, member: str, begin: Begin, end: Callable[[str], None] = _ignored, text: Callable[[str], None] = _ignored
    ) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.XmlDeclHandler, parser.StartDoctypeDeclHandler = _check_encoding, self._declared
        parser.StartElementHandler = begin
        if end is not _ignored:
            parser.EndElementHandler, parser.CharacterDataHandler = end, text
        self._check_tags(member)
        given = 0
        for piece in self._pieces(member):
            given += len(piece)
            parser.Parse(piece)
            if given - parser.CurrentByteIndex > _TOKEN_BYTES:
                raise damaged(self._name, "the workbook")
        parser.Parse(b"", True)

    def _check_tags(self, member: str) -> None:
        """Refuse what is too large before it is parsed: to count its tags takes a small part of the time."""
        for piece in self._pieces(member):
            self._elements += piece.count(b"<") - piece.count(b"</")  # at least as many as there are
            self._cell_tags += sum(map(piece.count, _CELL_TAGS))
            if self._elements > ELEMENTS_PER_CELL * MAX_CELLS or self._cell_tags > MAX_CELLS:
                raise self._too_many()

    def _pieces(self, member: str) -> Iterator[bytes]:
        with self._archive.open(member) as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    def _related(self, of: str) -> dict[str, dict[str, str]]:
        """By kind and id, the parts that a part names, or the whole file, and that are there."""
        found: dict[str, dict[str, str]] = {}
        here = set(self._archive.namelist())
        folder, name = posixpath.split(of)

        def begin(tag: str, attributes: Attributes) -> None:
            part = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", ""))).lstrip("/")
            if part in here:
                kind = attributes.get("Type", "").rpartition("/")[2]
                found.setdefault(kind, {})[attributes.get("Id", "")] = part

        self._parse(posixpath.join(folder, "_rels", f"{name}.rels"), begin)
        return found

    def _sheets(self, main: str, parts: dict[str, str]) -> tuple[dict[str, str], bool]:
        """The parts of the sheets by title, and whether days are counted from 1904."""
        found: dict[str, str] = {}
        base_1904 = False

        def begin(tag: str, attributes: Attributes) -> None:
            nonlocal base_1904
            if tag == _MAIN + "workbookPr":
                base_1904 = attributes.get("date1904") in ("1", "true")
            elif tag == _MAIN + "sheet" and (part := parts.get(attributes.get(_RELATIONS + "id", ""))):
                found[attributes["name"]] = part

        self._parse(main, begin)
        return found, base_1904

    def _shared(self, part: str) -> list[str]:
        """The texts that cells name by number."""
        found: list[str] = []
        text: list[str] = []
        pieces: list[str] = []
        sounds = 0  # how a text is spoken stands beside it in some scripts, and is no part of it

        def begin(tag: str, attributes: Attributes) -> None:
            nonlocal sounds
            if tag == _MAIN + "si":
                text.clear()
            sounds += tag == _SOUND
            pieces.clear()

        def end(tag: str) -> None:
            nonlocal sounds
            sounds -= tag == _SOUND
            if tag == _TEXT and not sounds:
                text.extend(pieces)
            elif tag == _MAIN + "si":
                found.append("".join(text).replace("x005F_", ""))

        self._parse(part, begin, end, pieces.append)
        return found


class _Dates:
    """Which styles show a number as a date, a time or a duration, and what that is."""

    def __init__(self, base_1904: bool) -> None:
        numbers, times = import_module("openpyxl.styles.numbers"), import_module("openpyxl.utils.datetime")
        self._numbers, self._times = numbers, times
        self._base = times.MAC_EPOCH if base_1904 else times.WINDOWS_EPOCH
        self._formats: dict[str, str] = {}
        self._in_cells, self._styles = False, 0
        self.durations: dict[int, bool] = {}  # by style, whether it is one; styles of plain numbers are not there

    def begin(self, tag: str, attributes: Attributes) -> None:
        if tag == _MAIN + "numFmt":
            self._formats[attributes["numFmtId"]] = attributes["formatCode"]
        elif tag in (_MAIN + "cellXfs", _MAIN + "cellStyleXfs"):
            self._in_cells = tag == _MAIN + "cellXfs"
        elif tag == _MAIN + "xf" and self._in_cells:
            number = attributes.get("numFmtId", "0")
            shown = self._formats.get(number) or self._numbers.BUILTIN_FORMATS.get(int(number), "General")
            if self._numbers.is_date_format(shown):
                self.durations[self._styles] = self._numbers.is_timedelta_format(shown)
            self._styles += 1

    def of_number(self, number: float, style: int) -> object:
        try:
            return self._times.from_excel(number, self._base, timedelta=self.durations[style])
        except (OverflowError, ValueError):
            return "#VALUE!"

    def of_text(self, text: str) -> object:
        return self._times.from_ISO8601(text)


class _Sheet:
    """Takes the elements of a sheet as they come; `count` is told the width of every row, and the letters so far."""

    def __init__(self, texts: list[str], dates: _Dates, count: Callable[[int, int], None]) -> None:
        self.rows: list[list[object]] = []
        self.pieces: list[str] = []
        self.unsaved: Counter[int] = Counter()
        self._texts, self._dates, self._count = texts, dates, count
        self._columns: dict[str, int] = {}
        self._row: list[object] = []
        self._cell: Attributes = {}
        self._formula = False
        self._value: str | None = None
        self._inline: list[str] | None = None
        self._column = self._width = self._letters = self._sounds = 0

    def begin(self, tag: str, attributes: Attributes) -> None:
        if tag == _CELL:
            self._cell, self._value, self._inline, self._formula = attributes, None, None, False
        elif tag == _ROW:
            self._row, self._column, self._width = [], 0, 0
        elif tag == _INLINE:
            self._inline = []
        elif tag == _SOUND:
            self._sounds += 1
        elif tag == _FORMULA:
            self._formula = True
        self.pieces.clear()

    def end(self, tag: str) -> None:
        if tag == _CELL:
            self._put()
        elif tag == _VALUE:
            self._value = "".join(self.pieces) or None
        elif tag == _TEXT and self._inline is not None and not self._sounds:
            self._inline += self.pieces
        elif tag == _SOUND:
            self._sounds -= 1
        elif tag == _ROW:
            self._count(self._width, self._letters)
            if self._row:
                self.rows.append(self._row)

    def _put(self) -> None:
        place = self._cell.get("r")
        self._column = column = self._column + 1 if place is None else self._at(place)
        value = self._read(self._cell.get("t", "n"))
        if value is not None:
            row = self._row
            if len(row) < column:
                row.extend([None] * (column - len(row)))
            row[column - 1] = value
        elif self._formula and self._cell.get("t") != "str":  # of which an empty text may be the result
            self.unsaved[column] += 1
        if column > self._width:
            self._width = column
            if column > MAX_CELLS:  # of cells without a place
                self._count(column, self._letters)

    def _at(self, place: str) -> int:
        """The number of a column, from A1, B1, …, AA1."""
        letters = place.rstrip("0123456789")
        found = self._columns.get(letters)
        if found is None:
            if not _LETTERS.fullmatch(letters) or letters == place:
                raise ValueError(place)
            found = 0
            for letter in letters.upper():
                found = 26 * found + ord(letter) - 64
            self._columns[letters] = found
        return found

    def _read(self, kind: str) -> object:
        text: Any = self._value
        if kind == "inlineStr":
            text = None if self._inline is None else "".join(self._inline)
        elif kind == "s" and text is not None:
            text = self._texts[int(text)]
        if text is None:
            return None
        self._letters += len(text)
        if kind == "n":
            number = float(text) if "." in text or "E" in text or "e" in text else int(text)
            style = int(self._cell.get("s", 0))
            return self._dates.of_number(number, style) if style in self._dates.durations else number
        if kind == "b":
            return bool(int(text))
        return self._dates.of_text(text) if kind == "d" else text
