"""Plain values of a document that anybody may have written: each is what it should be, or is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_TEXTS = 600  # more than there are runs to take part in a comparison
MOST_LETTERS = 2000


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text was expected, found {type(value).__name__}")
    return value


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


def texts(stored: object) -> tuple[str, ...]:
    if not isinstance(stored, list) or len(stored) > MOST_TEXTS:
        raise ValueError(f"a list of up to {MOST_TEXTS} texts was expected")
    return tuple(text(value)[:MOST_LETTERS] for value in stored)


def count(value: object, most: int = 10**9) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"a whole number from 0 to {most:,} was expected")
    return value


def number(value: object) -> float:
    """Finite; what is missing is NaN."""
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError("a number was expected")
    return float(value)  # type: ignore[arg-type]
