"""Arrays and JSON from files that anyone may have written: checked before they take memory, and never executed."""

from __future__ import annotations

import io
import json
import math
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy

MOST_JSON_BYTES = 50 * 2**20
MOST_JSON_VALUES = 4_000_000


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


def parse_json(text: bytes, **how: Any) -> Any:
    """What a document holds; a ValueError where it has so many parts that these would take much more than the text."""
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_JSON_VALUES:
        raise ValueError(f"it holds more than {MOST_JSON_VALUES:,} values")
    return json.loads(text, parse_constant=_refuse_constant, **how)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name} where a number should be")
