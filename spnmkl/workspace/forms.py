"""How parts of a project become rows and files, each in the form that project files have; and back."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from dataclasses import asdict
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from spnmkl.data import Dataset
from spnmkl.errors import DataError
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.stored_data import (
    DataUse,
    dataset_of,
    read_matrices,
    read_table,
    read_use,
    table_bytes,
    write_matrices,
)
from spnmkl.project.stored_run import read_run, write_run
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.untrusted import MOST_JSON_BYTES, parse_json
from spnmkl.wording import quoted
from spnmkl.workspace.files import FileStore

Row = dict[str, Any]
_RUN = "run"


def dumped(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def drawing_row(spn: SPN) -> Row:
    """A drawing by its digest; order and places are part of it."""
    text = dumped(spn.to_dict()).encode()
    return {"digest": hashlib.sha256(text).hexdigest(), "body": zlib.compress(text)}


def read_drawing(body: bytes) -> SPN:
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(body, MOST_JSON_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"a drawing is larger than {MOST_JSON_BYTES >> 20} MB")
    return SPN.from_dict(parse_json(text))


class DataForms:
    """Data sets as rows and files; one that was written is not written again."""

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._known: WeakKeyDictionary[Dataset, Row] = WeakKeyDictionary()

    def row(self, dataset: Dataset) -> Row:
        """Its files are on disk when this returns; a DataError where the data have no such form."""
        row = self._known.get(dataset)
        if row is None or not all(map(self._files.has, named(row))):
            row = self._known[dataset] = self._written(dataset)
        return row

    def _written(self, dataset: Dataset) -> Row:
        use = DataUse.of(dataset)
        shared = next((row for other, row in self._known.items() if _same_values(other, dataset)), None)
        if shared is not None and all(map(self._files.has, named(shared))):
            table, matrices = shared["table_file"], shared["matrices_file"]
        else:
            table = self._files.put(table_bytes(dataset), ".parquet") if use.columns else None
            matrices = self._files.put(_packed_matrices(dataset), ".npz") if use.matrices else None
        document = dumped(asdict(use))
        digest = hashlib.sha256("\n".join((document, str(table), str(matrices))).encode()).hexdigest()
        return {
            "id": digest,
            "name": use.name,
            "rows": use.n_rows,
            "columns": len(use.columns),
            "document": document,
            "table_file": table,
            "matrices_file": matrices,
        }


class DataReader:
    """Data sets from rows; those of the same table share it, as they did when they were written."""

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._frames: dict[str, pd.DataFrame] = {}
        self._matrices: dict[str, dict[str, NDArray]] = {}
        self._known: dict[str, Dataset] = {}

    def dataset(self, row: Row) -> Dataset:
        if row["id"] not in self._known:
            self._known[row["id"]] = self._read(row)
        return self._known[row["id"]]

    def _read(self, row: Row) -> Dataset:
        try:
            use = read_use(parse_json(row["document"].encode()))
            return dataset_of(use, self._frame(row["table_file"], use), self._given(row["matrices_file"], use))
        except (ValueError, KeyError, TypeError, MemoryError) as error:
            raise damaged(f"the data {quoted(row['name'])}", error) from None

    def _frame(self, name: str | None, use: DataUse) -> pd.DataFrame:
        if name is None:
            return pd.DataFrame()
        if name not in self._frames:
            self._frames[name] = read_table(self._files.read(name), use, packed=None)
        return self._frames[name]

    def _given(self, name: str | None, use: DataUse) -> dict[str, NDArray]:
        if name is None:
            return {}
        if name not in self._matrices:
            self._matrices[name] = read_matrices(Reader(name, self._files.read(name), own=True), use)
        return self._matrices[name]


def damaged(what: str, error: Exception) -> DataError:
    reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
    reason = "there is not enough memory" if isinstance(error, MemoryError) else reason
    return DataError(f"In the workspace {what} cannot be read ({reason.rstrip('.')[:300]}).")


def add(connection: Connection, table: Table, row: Row) -> None:
    """A row unless it is there."""
    ours = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(ours(table).values(**row).on_conflict_do_nothing())


def named(row: Row) -> list[str]:
    """The files that a row of a data set names."""
    return [row[name] for name in ("table_file", "matrices_file") if row[name] is not None]


def run_bytes(run: Run) -> bytes:
    writer = Writer()
    write_run(writer, _RUN, run)
    return writer.finished()


def run_of(data: bytes, name: str) -> Run:
    reader = Reader(name, data, own=True)
    run = read_run(reader, _RUN)
    reader.check_all_read()
    return run


def run_summary(run: Run) -> dict[str, Any]:
    """What a list tells of a run."""
    solution = run.solution
    return {
        "status": solution.status,
        "C": run.settings.C,
        "gap": float(solution.gap) if math.isfinite(solution.gap) else None,
        "test": float(run.test_scores.accuracy) if run.test_scores.scored and len(run.test) else None,
    }


def _packed_matrices(dataset: Dataset) -> bytes:
    writer = Writer()
    write_matrices(writer, dataset)
    return writer.finished()


def _same_values(one: Dataset, other: Dataset) -> bool:
    """Whether only the use of the columns differs."""
    matrices = [*zip(one.matrices.items(), other.matrices.items(), strict=False)]
    same = all(a[0] == b[0] and a[1] is b[1] for a, b in matrices)
    return one.frame is other.frame and same and len(one.matrices) == len(other.matrices)
