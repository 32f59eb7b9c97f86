"""What kind of file some bytes are, and how large they may grow. Nothing in a file is ever executed."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import PurePath
from typing import Literal

from spnmkl.errors import DataError
from spnmkl.wording import counted, quoted

Kind = Literal["text", "excel", "parquet", "arff", "svmlight", "npz", "mat"]

MAX_FILE = 200 * 2**20
MAX_UNPACKED = 500 * 2**20
MAX_COLUMNS = 100_000
MAX_CELLS = 50_000_000

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
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(name, data)
        if data[:2] == b"\x1f\x8b":
            raise DataError(f"The file {quoted(name)} is compressed twice; unpack it once.")
        name = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    elif name.lower().endswith(".gz"):
        raise DataError(f"The file {quoted(name)} is not compressed by gzip, although it ends in .gz; rename it.")
    return name, _kind(name, data), data


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


def check_archive(name: str, data: bytes) -> list[str]:
    """The members of a zip archive, whose declared sizes bound what reading them can take."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError):
        raise damaged(name) from None
    check_unpacked(name, sum(member.file_size for member in members))
    return [member.filename for member in members]


def damaged(name: str, what: str = "the file") -> DataError:
    return DataError(f"The file {quoted(name)} is damaged or cut short; save or copy {what} again.")


def _gunzip(name: str, data: bytes) -> bytes:
    parts: list[bytes] = []
    size = 0
    while data:
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            parts.append(stream.decompress(data, MAX_UNPACKED + 1 - size))
        except zlib.error:
            raise damaged(name) from None
        size += len(parts[-1])
        check_unpacked(name, size)
        if not stream.eof:
            raise damaged(name)
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(parts)


def _kind(name: str, data: bytes) -> Kind:
    suffix = PurePath(name).suffix.lower()
    if data[:4] == b"PK\x03\x04":
        return _zip_kind(name, data)
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


def _zip_kind(name: str, data: bytes) -> Kind:
    members = check_archive(name, data)
    if "xl/workbook.xml" in members:
        return "excel"
    if members and all(member.endswith(".npy") for member in members):
        return "npz"
    raise DataError(f"The file {quoted(name)} is a zip archive; unpack it, and choose the files in it.")


def _first_line(data: bytes) -> bytes:
    """Where it is long, its beginning up to a space."""
    line = data[:_LOOKED_AT].lstrip().split(b"\n", 1)[0]
    return line.rsplit(b" ", 1)[0] if len(line) > _LOOKED_AT // 2 else line.strip()
