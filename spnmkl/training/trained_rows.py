"""Which rows a model was trained on, kept as short digests, so that predicting them again can be told."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.columns import as_text
from spnmkl.wording import counted, quoted

MOST_ROWS = 100_000
_BYTES = 6  # one of 10¹⁴ rows has the digest of another by chance
_DIGITS = 9
Seen = NDArray[np.bool_]


def described_rows(X: NDArray[np.float64], ids: pd.Series | None) -> dict[str, Any]:
    """What is stored beside a model: digests of what its kernels see of the training rows, and of their ids."""
    if len(X) > MOST_ROWS:
        return {}
    named = ids is not None and not _counted(ids)
    return {"values": _packed(_of_values(X)), **({"ids": _packed(_of_ids(ids))} if named and ids is not None else {})}


def seen_values(stored: object, X: NDArray[np.float64]) -> Seen:
    """Which rows are equal to a training row in all columns that the model uses."""
    known = _unpacked(stored, "values")
    return np.fromiter((digest in known for digest in _of_values(X)), bool, len(X))


def seen_ids(stored: object, ids: pd.Series | None) -> Seen | None:
    """Which rows have the id of a training row; None where that says nothing, since any table may count its rows."""
    known = _unpacked(stored, "ids")
    if ids is None or not known or _counted(ids):
        return None
    return np.fromiter((digest in known for digest in _of_ids(ids)), bool, len(ids))


def trained_on_sentence(values: Seen, ids: Seen | None, id_column: str | None) -> str:
    """What to say of rows that were trained on; empty where there are none."""
    by_id = np.zeros_like(values) if ids is None else ids
    n, total = int((values | by_id).sum()), len(values)
    if not n:
        return ""
    how = []
    if values.any():
        how.append("by the values of all columns that it uses")
    if by_id.any():
        how.append(f"by {quoted(id_column)}")
    which = "All rows" if n == total > 1 else f"{n:,} of {counted(total, 'row')}"
    return (
        f"{which} {'stands' if n == 1 else 'stand'} among those that the model was trained on, {' and '.join(how)}: it "
        "has seen their labels, so that its answers to them say nothing of how good it is on new rows."
    )


def _of_values(X: NDArray[np.float64]) -> list[bytes]:
    rows = np.ascontiguousarray(np.round(X, _DIGITS) + 0.0)  # -0 is 0
    return [_digest(row.tobytes()) for row in rows]


def _of_ids(ids: pd.Series) -> list[bytes]:
    return [_digest(str(name).strip().encode()) for name in as_text(ids).astype(object)]


def _counted(ids: pd.Series) -> bool:
    """Whether ids are whole numbers one after the other, which any table may have."""
    numbers = pd.to_numeric(ids, errors="coerce").to_numpy(dtype=float)
    return bool(len(numbers)) and not np.isnan(numbers).any() and float(np.ptp(numbers)) < 2 * len(numbers)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_BYTES).digest()


def _packed(digests: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(digests)).decode()


def _unpacked(stored: object, what: str) -> frozenset[bytes]:
    """Nothing where a file has none, or something else."""
    text = stored.get(what) if isinstance(stored, Mapping) else None
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except binascii.Error:
        return frozenset()
    return frozenset(data[k : k + _BYTES] for k in range(0, len(data), _BYTES))
