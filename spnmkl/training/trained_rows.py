"""Which rows a model was trained on, kept as short digests, so that predicting them again can be told.

Digests hide nothing from who tries: a model that says "this row was trained on" says so to everybody who has it. They
are salted with what the training rows are, so that no table of digests made before fits a file, nor files each other,
and those of ids take many rounds, so that trying all ids there could be takes long.
"""

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
_ROUNDS = 100, 2_000  # of the digest of one id, the more the fewer ids there are
_ALL_ROUNDS = 1_000_000  # of all ids of a model; about half a second
_MOST_TRIED = 20 * _ALL_ROUNDS  # of all ids of new rows
_SALT = hashlib.blake2b.SALT_SIZE
Seen = NDArray[np.bool_]


def described_rows(X: NDArray[np.float64], ids: pd.Series | None) -> dict[str, Any]:
    """What is stored beside a model: digests of what its kernels see of the training rows, and of their ids."""
    if len(X) > MOST_ROWS:
        return {}
    salt = hashlib.blake2b(np.ascontiguousarray(X).tobytes(), digest_size=_SALT).digest()
    stored = {"salt": base64.b64encode(salt).decode(), "values": _packed(_of_values(X, salt))}
    if ids is None or _counted(ids):
        return stored
    rounds = int(np.clip(_ALL_ROUNDS // max(1, len(ids)), *_ROUNDS))
    return stored | {"rounds": rounds, "ids": _packed(_of_ids(ids, salt, rounds))}


def seen_values(stored: object, X: NDArray[np.float64]) -> Seen:
    """Which rows are equal to a training row in all columns that the model uses."""
    known = _unpacked(stored, "values")
    if not known:
        return np.zeros(len(X), dtype=bool)
    return np.fromiter((digest in known for digest in _of_values(X, _salt(stored))), bool, len(X))


def seen_ids(stored: object, ids: pd.Series | None) -> Seen | None:
    """Which rows have the id of a training row; None where that says nothing, since any table may count its rows."""
    known = _unpacked(stored, "ids")
    if ids is None or not known or _counted(ids):
        return None
    rounds = _rounds(stored)
    tried = ids if rounds == 0 else ids.iloc[: _MOST_TRIED // rounds]  # of the others, values tell alone
    seen = np.zeros(len(ids), dtype=bool)
    seen[: len(tried)] = [digest in known for digest in _of_ids(tried, _salt(stored), rounds)]
    return seen


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


def _of_values(X: NDArray[np.float64], salt: bytes) -> list[bytes]:
    rows = np.ascontiguousarray(np.round(X, _DIGITS) + 0.0)  # -0 is 0
    return [_digest(row.tobytes(), salt) for row in rows]


def _of_ids(ids: pd.Series, salt: bytes, rounds: int) -> list[bytes]:
    """Of files before there were rounds, 0, as of values."""
    names = [str(name).strip().encode() for name in as_text(ids).astype(object)]
    if not rounds:
        return [_digest(name, salt) for name in names]
    return [hashlib.pbkdf2_hmac("sha256", name, salt, rounds, _BYTES) for name in names]


def _counted(ids: pd.Series) -> bool:
    """Whether ids are whole numbers one after the other, which any table may have."""
    numbers = pd.to_numeric(ids, errors="coerce").to_numpy(dtype=float)
    return bool(len(numbers)) and not np.isnan(numbers).any() and float(np.ptp(numbers)) < 2 * len(numbers)


def _digest(data: bytes, salt: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_BYTES, salt=salt).digest()


def _salt(stored: object) -> bytes:
    """Of a file; none in those of earlier versions."""
    return _decoded(stored, "salt")[:_SALT]


def _rounds(stored: object) -> int:
    """Of a file, which may say anything."""
    rounds = stored.get("rounds", 0) if isinstance(stored, Mapping) else 0
    return min(rounds, _ROUNDS[1]) if type(rounds) is int and rounds > 0 else 0


def _packed(digests: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(digests)).decode()


def _unpacked(stored: object, what: str) -> frozenset[bytes]:
    data = _decoded(stored, what)
    return frozenset(data[k : k + _BYTES] for k in range(0, len(data), _BYTES))


def _decoded(stored: object, what: str) -> bytes:
    """Nothing where a file has none, or something else."""
    text = stored.get(what) if isinstance(stored, Mapping) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""
