"""Files that are not plain text tables, each read by the library made for it."""

from __future__ import annotations

import csv
import io
import struct
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_complex_dtype, is_numeric_dtype
from sklearn.datasets import load_svmlight_file

from spnmkl.data import arff, unpacking
from spnmkl.data.options import decode, guess_encoding
from spnmkl.data.unpacking import check_need, check_table, check_unpacked, damaged
from spnmkl.data.workbook import Workbook
from spnmkl.errors import DataError
from spnmkl.wording import counted, listed, name_some, quoted

_BATCH_ROWS = 2**16
Arrays = dict[str, NDArray]


def read_excel(name: str, data: bytes, sheet: str | None, packed: int) -> tuple[str, str, tuple[str, ...], list[str]]:
    """One sheet as comma-separated text, its name, the names of all sheets, and notes on what it lacks."""
    _library("openpyxl", name)
    book = Workbook(name, data, packed)
    if sheet is not None and sheet not in book.sheets:
        raise DataError(f"{quoted(name)} has no sheet {quoted(sheet)}; its sheets are {name_some(book.sheets)}.")
    for title in book.sheets if sheet is None else [sheet]:
        if rows := book.rows(title):
            return _as_csv(rows), title, tuple(book.sheets), list(_unsaved(book.unsaved, rows[0]))
    raise DataError(f"The workbook {quoted(name)} has no cells in it; fill in a header and rows.")


def _unsaved(cells: Mapping[int, int], first: list[object]) -> Iterator[str]:
    """A note on formulas without a result, with columns by their letter and what stands in the first row."""
    letter = import_module("openpyxl.utils").get_column_letter
    if total := sum(cells.values()):
        titles = {k: f" {quoted(first[k - 1])}" for k in cells if k <= len(first) and isinstance(first[k - 1], str)}
        where = listed([f"{letter(k)}{titles.get(k, '')} ({n:,})" for k, n in sorted(cells.items())], 6)
        yield (
            f"{counted(total, 'cell')} with a formula whose result is not saved in the file, in column {where}: "
            "counted as missing. Open the workbook once in a spreadsheet program and save it: then it has the results."
        )


def _as_csv(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_parquet(name: str, data: bytes, packed: int | None) -> tuple[pd.DataFrame, list[str]]:
    """The table, and notes on what was left out; `packed` is the size of the file, None where we wrote it ourselves."""
    pq = _library("pyarrow.parquet", name)
    try:
        if packed is not None:
            check_parquet(name, data, packed)
        file = pq.ParquetFile(io.BytesIO(data))
        nested = _nested(file)
        columns = [column for column in file.schema_arrow.names if column not in nested]
        frame = file.read(columns if nested else None).to_pandas()
    except (DataError, MemoryError):
        raise
    except Exception:
        raise damaged(name) from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    return _plain(frame.copy(), sorted(nested))


def check_parquet(name: str, data: bytes, packed: int) -> None:
    """Bound what the columns take once decoded: a value that stands in many rows is stored once."""
    pq = _library("pyarrow.parquet", name)
    file = pq.ParquetFile(io.BytesIO(data))
    metadata, nested = file.metadata, _nested(file)
    check_table(name, packed, metadata.num_rows, metadata.num_columns)
    check_unpacked(name, sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups)))
    leaves = [file.schema.column(k) for k in range(metadata.num_columns)]
    check_unpacked(name, metadata.num_rows * sum(max(8, leaf.length) for leaf in leaves))
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"]
    size = 0
    # As codes of different values, of which the lengths are added up; never decoded.
    coded = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts)
    whole = set(file.schema_arrow.names) - nested
    for batch in coded.iter_batches(_BATCH_ROWS, columns=[text for text in texts if text in whole]):
        size += sum(_decoded_bytes(column) for column in batch.columns)
        check_unpacked(name, size)
        check_need(name, packed, size)


def _nested(file: Any) -> set[str]:
    return {field.name for field in file.schema_arrow if field.type.num_fields}


def _decoded_bytes(column: Any) -> int:
    compute = import_module("pyarrow.compute")
    return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _plain(frame: pd.DataFrame, unread: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Numbers, true/false and text only, and notes on what was left out."""
    others = [k for k, kind in enumerate(frame.dtypes) if not is_numeric_dtype(kind) or is_complex_dtype(kind)]
    plain = {k: _plain_column(frame.iloc[:, k]) for k in others}
    for k, values in plain.items():
        if values is not None:
            frame.isetitem(k, values)
    left_out = [k for k, values in plain.items() if values is None]
    names = [*unread, *(str(frame.columns[k]) for k in left_out)]
    notes = [f"Columns that hold neither numbers nor text were left out: {name_some(names)}."] if names else []
    return frame.iloc[:, np.setdiff1d(np.arange(frame.shape[1]), left_out)], notes


def _plain_column(values: pd.Series) -> pd.Series | None:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _plain_column(values.astype(values.cat.categories.dtype))
    kind = infer_dtype(values, skipna=True)
    if kind in ("decimal", "integer", "floating", "mixed-integer-float"):
        return values.astype(float)
    if kind in ("datetime64", "datetime", "date", "time"):
        return values.astype(str).mask(values.isna())
    return values if kind in ("string", "boolean", "empty") else None


def read_arff(name: str, data: bytes, packed: int) -> pd.DataFrame:
    return arff.read_arff(name, decode(name, data, guess_encoding(data)), packed)


def read_svmlight(name: str, data: bytes, packed: int) -> pd.DataFrame:
    """A column "label" and columns f1, f2, …"""
    try:
        X, y = load_svmlight_file(io.BytesIO(data))
    except (ValueError, OverflowError, TypeError) as error:
        raise DataError(
            f"The file {quoted(name)} cannot be read as LIBSVM text: {str(error).rstrip('.')}; each line must read "
            "'label index:value index:value ...'."
        ) from None
    check_table(name, packed, *X.shape)
    frame = pd.DataFrame(X.toarray(), columns=[f"f{k + 1}" for k in range(X.shape[1])])
    frame.insert(0, "label", y.astype(np.int64) if (y % 1 == 0).all() else y)
    return frame


def read_npz(name: str, data: bytes) -> Arrays:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive}
    except Exception as error:  # whatever a malformed archive or array may cause
        if "pickle" in str(error):
            raise DataError(
                f"The file {quoted(name)} holds Python objects, which are never loaded since they could run code; "
                "save arrays of numbers or text."
            ) from None
        raise damaged(name) from None
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise damaged(name)
    return arrays


def read_mat(name: str, data: bytes) -> Arrays:
    from scipy.io import loadmat, whosmat

    try:
        _check_mat(name, data)
        contents = whosmat(io.BytesIO(data))
        cells = sum(int(np.prod(shape, dtype=object)) for _, shape, _ in contents)
        check_unpacked(name, 8 * cells)
        numeric = [key for key, _, kind in contents if kind in _MATLAB_NUMBERS]
        arrays = loadmat(io.BytesIO(data), variable_names=numeric) if numeric else {}
        return {key: arrays[key] for key in numeric}
    except (DataError, MemoryError):
        raise
    except Exception:
        raise damaged(name) from None


_MATLAB_NUMBERS = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_MATRIX, _COMPRESSED = 14, 15
_PARTS = {*range(1, 8), 9, 12, 13}  # types of the parts of a variable of numbers
_UTF8 = 16  # of a name
_NUMBERS, _OPAQUE, _COMPLEX = range(6, 16), 17, 1 << 11  # classes of variables, and a flag


def _check_mat(name: str, data: bytes) -> None:
    """Before a MATLAB 5 file is read, bound what its compressed parts unpack to, and know the types of all parts."""
    if 0 in data[:4]:  # by which SciPy knows a MATLAB 4 file, whatever the words at the beginning are
        return
    tag = struct.Struct("<II" if data[126:128] == b"IM" else ">II")
    size, position = 0, 128
    while position + tag.size <= len(data):
        kind, length = tag.unpack_from(data, position)
        if kind == _COMPRESSED:
            part = data[position + 8 : position + 8 + length]
            unpacked = zlib.decompressobj().decompress(part, unpacking.MAX_UNPACKED + 1)
            size += len(unpacked)
            check_unpacked(name, size)
            _check_variable(name, unpacked, 0, tag)
            del unpacked  # before the next one is
        elif kind == _MATRIX:
            _check_variable(name, data, position, tag)
        position += 8 + length


def _check_variable(name: str, data: bytes, position: int, tag: struct.Struct) -> None:
    """Refuse a variable with a part that holds no numbers, whose type SciPy would look up where its list has nothing.

    Its parts follow each other as SciPy reads them, whatever the length of the variable: flags, shape, name and, of
    numbers, the real and perhaps the imaginary ones.
    """
    flags, _ = tag.unpack_from(data, position + 16)
    is_number = flags & 0xFF in _NUMBERS
    n_parts = 0 if flags & 0xFF == _OPAQUE else 2 + is_number + (is_number and bool(flags & _COMPLEX))
    position += 24
    for part in range(n_parts):
        kind, length = tag.unpack_from(data, position)
        if kind >> 16:  # up to four bytes stand in the tag itself
            kind, length = kind & 0xFFFF, 0
        if kind not in _PARTS and not (part == 1 and kind == _UTF8):
            raise damaged(name)
        position += 8 + (length + 7) // 8 * 8


def kernel_matrices(name: str, arrays: Arrays) -> tuple[Arrays, pd.DataFrame, list[str]]:
    """Square matrices, the columns that go with their rows, and notes on what was left out."""
    matrices = {key: K for key, K in arrays.items() if _is_matrix(K)}
    sizes = {key: len(K) for key, K in matrices.items()}
    if not sizes:
        raise DataError(
            f"The file {quoted(name)} holds no square matrix of numbers; save kernel matrices of n × n, each under "
            "its name."
        )
    check_unpacked(name, sum(8 * K.size for K in matrices.values()))
    first, n = next(iter(sizes.items()))
    for key, size in sizes.items():
        if size != n:
            raise DataError(
                f"The matrices in {quoted(name)} are of different sizes: {quoted(first)} is {n:,} × {n:,}, "
                f"{quoted(key)} is {size:,} × {size:,}; save matrices over the same samples."
            )
    columns = {key: np.ravel(a) for key, a in arrays.items() if key not in matrices and _is_column(a, n)}
    left_out = [key for key in arrays if key not in matrices and key not in columns]
    notes = [f"Arrays that are no {n:,} × {n:,} matrix were left out: {name_some(left_out)}."] if left_out else []
    return (
        {key: np.ascontiguousarray(K, dtype=np.float64) for key, K in matrices.items()},
        pd.DataFrame(columns, index=pd.RangeIndex(n)),
        notes,
    )


def _is_matrix(array: NDArray) -> bool:
    square = array.ndim == 2 and array.shape[0] == array.shape[1] > 1
    return square and array.dtype.kind in "fiub"


def _is_column(array: NDArray, n: int) -> bool:
    return array.size == n == max(array.shape, default=0) and array.dtype.kind in "fiubU"


def _library(module: str, name: str, package: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = package or module.partition(".")[0]
        raise DataError(f"Reading {quoted(name)} needs {package}; install it with pip install {package}.") from None
