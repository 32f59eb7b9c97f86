"""What kind of file some bytes are, and how large they may grow. Nothing in a file is ever executed."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import PurePath
from typing import Literal

from spnmkl import untrusted
from spnmkl.errors import DataError
from spnmkl.wording import counted, quoted

Kind = Literal["text", "excel", "parquet", "arff", "svmlight", "npz", "mat"]

MAX_FILE = 200 * 2**20
MAX_UNPACKED = 500 * 2**20
MAX_COLUMNS = 100_000
MAX_CELLS = 50_000_000
MAX_LINE = 4 * 2**20
# What reading a file may take: a small file that unfolds to much is refused, one that is large itself is not.
FREE_BYTES = 200_000_000
BYTES_PER_BYTE = 20
TEXT_COPIES = 3  # of a text while it is read: as bytes, as letters, as cells
CELL_BYTES = 16  # that a number takes while a table is put together
COLUMN_BYTES = 1000  # that a column of text takes while it is parsed, however short it is

_SUFFIXES: dict[str, Kind] = {
    ".arff": "arff",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".mat": "mat",
}
_BINARY = {
    ".xlsx": "an Excel workbook",
    ".xlsm": "an Excel workbook",
    ".parquet": "a Parquet file",
    ".npz": "an .npz archive",
}
_TEXT = (".csv", ".tsv", ".txt", ".gz")
# Endings of the files that can be read. Text tables are read under any other ending too.
SUFFIXES = (*_TEXT, *_BINARY, *_SUFFIXES)
_LOOKED_AT = 10_000
_SVMLIGHT = re.compile(rb"[-+]?[\d.,eE+-]+(\s+qid:\d+)?(\s+\d+:[-+\d.eE]+)+\s*(#.*)?")


def unpack(name: str, data: bytes) -> tuple[str, Kind, bytes]:
    """The name without .gz, the kind of the file, and its bytes without gzip."""
    check_bytes(name, data)
    packed = len(data)
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(name, data)
        if data[:2] == b"\x1f\x8b":
            raise DataError(f"The file {quoted(name)} is compressed twice; unpack it once.")
        name = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    elif name.lower().endswith(".gz"):
        raise DataError(f"The file {quoted(name)} is not compressed by gzip, although it ends in .gz; rename it.")
    kind = _kind(name, data, packed)
    if kind in ("text", "arff", "svmlight"):
        _check_text(name, data, packed)
    return name, kind, data


def stem(name: str) -> str:
    """A file's name without folders and endings, to call a view by."""
    path = PurePath(re.sub(r"\.gz$", "", name, flags=re.IGNORECASE))
    return path.stem or path.name


def check_bytes(name: str, data: bytes) -> None:
    if not data.strip(b"\0 \t\r\n"):
        raise DataError(f"The file {quoted(name)} is empty; it needs a header and rows.")
    if len(data) > MAX_FILE:
        raise DataError(
            f"The file {quoted(name)} has {len(data) / 2**20:,.0f} MB; at most {MAX_FILE >> 20:,} MB can be read."
        )


def check_unpacked(name: str, size: int) -> None:
    if size > MAX_UNPACKED:
        raise DataError(f"The file {quoted(name)} unpacks to more than {MAX_UNPACKED >> 20:,} MB; make it smaller.")


def allowed_bytes(packed: int) -> int:
    """What reading a file of so many bytes may take."""
    return FREE_BYTES + BYTES_PER_BYTE * packed


def smallest_file(need: int) -> int:
    """How many bytes a file must have, at the least, so that reading it may take `need`."""
    return max(0, -((FREE_BYTES - need) // BYTES_PER_BYTE))


def check_need(name: str, packed: int, need: int) -> None:
    """Refuse a file that would take far more memory than its own size."""
    if need > allowed_bytes(packed):
        raise DataError(
            f"Reading {quoted(name)} would take more than {allowed_bytes(packed) / 1e6:,.0f} MB of memory, far more "
            "than its own size; leave out rows or columns, or save it as plain CSV."
        )


def check_table(name: str, packed: int, rows: int, columns: int) -> None:
    """Refuse a table of numbers that would not fit, or that is far larger than its file."""
    check_shape(name, rows, columns)
    check_need(name, packed, CELL_BYTES * rows * columns)


def check_shape(name: str, rows: int, columns: int) -> None:
    """Refuse what would not fit before memory is taken for it."""
    if columns > MAX_COLUMNS:
        raise DataError(
            f"The table {quoted(name)} has {counted(columns, 'column')}; at most {MAX_COLUMNS:,} can be read: leave "
            "some out."
        )
    if rows * columns > MAX_CELLS:
        raise DataError(
            f"The table {quoted(name)} has {rows:,} × {columns:,} values; at most {MAX_CELLS:,} can be read: leave "
            "out rows or columns."
        )


def check_archive(name: str, data: bytes, packed: int | None = None) -> list[str]:
    """The members of a zip archive, whose declared sizes bound what reading them can take."""
    most = untrusted.MOST_PARTS
    if data.count(untrusted.ZIP_PART) > most:
        raise DataError(f"The file {quoted(name)} holds more than {most:,} parts; at most so many can be read.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError):
        raise damaged(name) from None
    size = sum(member.file_size for member in members)
    check_unpacked(name, size)
    check_need(name, len(data) if packed is None else packed, size)
    return [member.filename for member in members]


def damaged(name: str, what: str = "the file") -> DataError:
    return DataError(f"The file {quoted(name)} is damaged or cut short; save or copy {what} again.")


def _gunzip(name: str, data: bytes) -> bytes:
    parts: list[bytes] = []
    size, packed = 0, len(data)
    most = min(MAX_UNPACKED, allowed_bytes(packed) // TEXT_COPIES)
    while data:
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            parts.append(stream.decompress(data, most + 1 - size))
        except zlib.error:
            raise damaged(name) from None
        size += len(parts[-1])
        check_unpacked(name, size)
        check_need(name, packed, TEXT_COPIES * size)
        if not stream.eof:
            raise damaged(name)
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(parts)


def _check_text(name: str, data: bytes, packed: int) -> None:
    """Refuse lines without end, and a text of more cells than a small file should hold."""
    start = 0
    while len(data) - start > MAX_LINE:
        end = max(data.rfind(mark, start, start + MAX_LINE + 1) for mark in (b"\n", b"\r"))
        if end < 0:
            raise DataError(
                f"The file {quoted(name)} has a line of more than {MAX_LINE >> 20} MB; no table that can be read has "
                "such lines: leave out columns, or save it with line ends."
            )
        start = end + 1
    cells = data.count(b"\n") + max(data.count(mark) for mark in (b",", b";", b"\t", b"|", b" "))
    check_need(name, packed, TEXT_COPIES * len(data) + CELL_BYTES * cells)


def _kind(name: str, data: bytes, packed: int) -> Kind:
    suffix = PurePath(name).suffix.lower()
    if data[:4] == b"PK\x03\x04":
        return _zip_kind(name, data, packed)
    if data[:4] == b"PAR1":
        return "parquet"
    if data[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise DataError(f"The file {quoted(name)} is in the old Excel format; save it as .xlsx.")
    if data[:8] == b"\x89HDF\r\n\x1a\n" or data[:10] == b"MATLAB 7.3":
        raise DataError(f"The file {quoted(name)} is in MATLAB's format 7.3; save it with save(..., '-v7').")
    if suffix in _BINARY:
        raise DataError(
            f"The file {quoted(name)} is not {_BINARY[suffix]}, although it ends in {suffix}; save it again."
        )
    if data[:10] == b"MATLAB 5.0":
        return "mat"
    return _SUFFIXES.get(suffix) or ("svmlight" if _SVMLIGHT.fullmatch(_first_line(data)) else "text")


def _zip_kind(name: str, data: bytes, packed: int) -> Kind:
    members = check_archive(name, data, packed)
    if "xl/workbook.xml" in members:
        return "excel"
    if members and all(member.endswith(".npy") for member in members):
        return "npz"
    raise DataError(f"The file {quoted(name)} is a zip archive; unpack it, and choose the files in it.")


def _first_line(data: bytes) -> bytes:
    """Where it is long, its beginning up to a space."""
    line = data[:_LOOKED_AT].lstrip().split(b"\n", 1)[0]
    return line.rsplit(b" ", 1)[0] if len(line) > _LOOKED_AT // 2 else line.strip()
