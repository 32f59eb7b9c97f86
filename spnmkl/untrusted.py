"""Arrays and JSON from files that anyone may have written: checked before they take memory, and never executed."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MOST_JSON_BYTES = 50 * 2**20
ZIP_PART, MOST_PARTS = b"PK\x01\x02", 20_000  # of a zip, whose list takes far more time and memory than its bytes
MOST_JSON_VALUES = 4_000_000


def opens_zip(file: BinaryIO) -> bool:
    """Whether a file begins as a zip; one whose list of parts would take seconds to read is refused."""
    if file.read(4) != b"PK\x03\x04":
        return False
    if sum(block.count(ZIP_PART) for block in iter(lambda: file.read(2**20), b"")) > MOST_PARTS:
        raise ValueError(f"it holds more than {MOST_PARTS:,} parts")
    return True


def read_array(data: bytes) -> np.ndarray:
    """The array of a .npy file that we wrote; anything else is a ValueError."""
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
    except Exception as error:
        raise ValueError("it has no header of an array") from error
    if dtype.kind not in "biufU":
        raise ValueError("it holds Python objects, which are never loaded since they could run code")
    # Before numpy takes the memory that the header claims.
    size = dtype.itemsize * math.prod(shape)
    if version != (1, 0) or fortran_order or size != len(data) - stream.tell():
        raise ValueError("its header does not fit its data")
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape).copy()


def parse_json(data: bytes, **how: Any) -> Any:
    """What a document holds; a ValueError where it has so many parts that these would take much more than the text."""
    if sum(map(data.count, (b",", b"[", b"{"))) > MOST_JSON_VALUES:
        raise ValueError(f"it holds more than {MOST_JSON_VALUES:,} values")
    text = data.decode("utf-8-sig")  # some editors put a mark before the text
    if "\\ud" in text.lower():  # half of a sign passes through JSON, and can be neither shown nor written
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a sign (a lone surrogate), which is no text") from None
    return json.loads(text, parse_constant=_refuse_constant, **how)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name} where a number should be")


class CheckedArrays:
    """Arrays by name, each checked for its type, shape and values when it is asked for; None in a shape is any size."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays

    def floats(
        self, name: str, *shape: int | None, at_least: float = -math.inf, finite: bool = True
    ) -> NDArray[np.float64]:
        values = self.array(name, shape, np.float64)
        if finite and not np.isfinite(values).all():
            raise ValueError(f"the array {name!r} holds NaN or infinity")
        if (values < at_least).any():
            raise ValueError(f"the array {name!r} holds values below {at_least:g}")
        return values

    def integers(self, name: str, *shape: int | None, below: int) -> NDArray[np.intp]:
        values = self.array(name, shape, np.int64)
        if values.size and not 0 <= values.min() <= values.max() < below:
            raise ValueError(f"the array {name!r} holds numbers that are not from 0 to {below - 1}")
        return values.astype(np.intp)

    def array(self, name: str, shape: tuple[int | None, ...], dtype: type) -> np.ndarray:
        """The array of that name; None in `shape` is any size."""
        if name not in self.arrays:
            raise ValueError(f"the array {name!r} is missing")
        values = self.arrays[name]
        expected = tuple(have if want is None else want for have, want in zip(values.shape, shape, strict=False))
        if values.dtype != dtype or values.shape != expected or values.ndim != len(shape):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise ValueError(
                f"the array {name!r} is {values.dtype} of shape {values.shape}, but it must be {np.dtype(dtype)} of "
                f"shape ({wanted})"
            )
        return values
