"""A zip of JSON documents and plain arrays, and how to read one that anybody may have made.

Nothing in it is executed, nothing is unpacked to a file of a name that it chooses, and all sizes are known to be
bounded before memory is taken for them. What cannot be read is named in one sentence.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spnmkl.data import unpacking
from spnmkl.errors import DataError
from spnmkl.untrusted import MOST_JSON_BYTES, parse_json, read_array
from spnmkl.wording import quoted

Shape = int | None
FILLING = "filling"  # a part that says nothing, and makes a file as large as what it unfolds to asks for


class Writer:
    """Collects the parts of an archive."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._archive = zipfile.ZipFile(self._buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=4)

    def data(self, member: str, data: bytes) -> None:
        self._archive.writestr(member, data)

    def json(self, member: str, document: dict[str, Any]) -> None:
        self.data(member, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode())

    def array(self, member: str, values: Any, dtype: type | None = None) -> None:
        with self._archive.open(member, "w", force_zip64=True) as file:
            npy.write_array(file, np.ascontiguousarray(values, dtype=dtype), version=(1, 0), allow_pickle=False)

    def fill(self, need: int) -> None:
        """Make it so large that it may be opened again, which takes `need` bytes, or as many as its parts unpack to.

        Small files that unfold to much are refused wherever they come from. What packs better than that is no such
        file, and shows it by its size.
        """
        unpacked = sum(part.file_size for part in self._archive.infolist())
        lacking = unpacking.smallest_file(max(need, unpacked)) - self._buffer.tell()
        if lacking > 0:  # a tenth more, since the filling is unpacked too
            self._archive.writestr(FILLING, bytes(lacking + lacking // 10), zipfile.ZIP_STORED)

    def finished(self) -> bytes:
        self._archive.close()
        return self._buffer.getvalue()


class Reader:
    """The parts of an archive of which nothing is trusted.

    Parameters
    ----------
    name : str
        What messages call it.
    data : bytes
    own : bool
        Whether it is known that we wrote it: then it may unfold to as much as there was to write.
    """

    def __init__(self, name: str, data: bytes, own: bool = False) -> None:
        self.name, self.own, self.packed = name, own, len(data)
        if not own:
            unpacking.check_bytes(name, data)
            if data[:4] != b"PK\x03\x04":
                raise self.foreign()
            unpacking.check_archive(name, data)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError):
            raise self.damaged("it is cut short or overwritten") from None
        members = self._archive.namelist()
        self._members = set(members)
        if len(self._members) < len(members):
            raise self.damaged("it holds two parts of one name")
        self._read: set[str] = set()

    def foreign(self) -> DataError:
        return DataError(f"The file {quoted(self.name)} is not a project of spnmkl; choose a file saved as a project.")

    def damaged(self, reason: str) -> DataError:
        return DataError(
            f"The project file {quoted(self.name)} is damaged: {reason}; save the project again. Nothing was changed."
        )

    def part(self, member: str) -> _Part:
        """Whatever goes wrong inside is said of this part."""
        return _Part(self, member)

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def data(self, member: str) -> bytes:
        with self.part(member):
            if member not in self._members:
                raise ValueError("it is missing")
            self._read.add(member)
            try:
                with self._archive.open(member) as file:
                    # Not all at once: a part may unpack to more than it declares.
                    return file.read(self._archive.getinfo(member).file_size + 1)
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
                raise ValueError("it is cut short, encrypted or overwritten") from error

    def json(self, member: str) -> dict[str, Any]:
        with self.part(member):
            if not self.own and member in self and self._archive.getinfo(member).file_size > MOST_JSON_BYTES:
                raise ValueError(f"it is larger than {MOST_JSON_BYTES >> 20} MB")
            document = parse_json(self.data(member))
            if not isinstance(document, dict):
                raise ValueError("it is not a JSON object")
            return document

    def array(self, member: str, dtype: type | None, *shape: Shape) -> NDArray[Any]:
        """An array of that type (None: numbers or text) and shape, in which None is any size."""
        with self.part(member):
            values = read_array(self.data(member))
            expected = tuple(have if want is None else want for have, want in zip(values.shape, shape, strict=False))
            fits = dtype is None or values.dtype == dtype
            if not fits or values.ndim != len(shape) or values.shape != expected:
                wanted = ", ".join("any" if size is None else str(size) for size in shape)
                kind = "any type" if dtype is None else dtype.__name__
                raise ValueError(f"it is {values.dtype} of shape {values.shape}, not {kind} of shape ({wanted})")
            return values

    def floats(self, member: str, *shape: Shape, at_least: float = -math.inf) -> NDArray[np.float64]:
        """Finite numbers."""
        values = self.array(member, np.float64, *shape)
        with self.part(member):
            if not np.isfinite(values).all() or (values < at_least).any():
                raise ValueError("it holds numbers that are not finite or out of range")
        return values

    def rows(self, member: str) -> NDArray[np.intp]:
        """Positions in ascending order."""
        values = self.array(member, np.int64, None)
        with self.part(member):
            if (np.diff(values) <= 0).any() or (values < 0).any():
                raise ValueError("its positions are not in ascending order from 0")
        return values.astype(np.intp)

    def codes(self, member: str, n: int, below: int) -> NDArray[np.intp]:
        values = self.array(member, np.int64, n)
        with self.part(member):
            if ((values < 0) | (values >= below)).any():
                raise ValueError(f"it holds numbers that are not from 0 to {below - 1}")
        return values.astype(np.intp)

    def check_all_read(self) -> None:
        """A part that nobody asked for was not written by us."""
        others = sorted(self._members - self._read - {FILLING})
        if others:
            raise self.damaged(f"it holds {quoted(others[0])}, which no project has")


class _Named(DataError):
    """Says already which part is wrong."""


class _Part:
    def __init__(self, reader: Reader, member: str) -> None:
        self._reader, self._member = reader, member

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, MemoryError):
            raise DataError(f"There is not enough memory to open {quoted(self._reader.name)}.") from None
        # Whatever a malformed file may cause.
        if isinstance(error, Exception) and not isinstance(error, _Named):
            reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
            wrong = f"{quoted(self._member)} cannot be read ({reason.rstrip('.')[:300]})"
            raise _Named(str(self._reader.damaged(wrong))) from None
