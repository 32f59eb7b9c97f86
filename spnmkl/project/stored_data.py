"""A data set as a Parquet table, an archive of matrices, and what its columns are for; and back."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data import Dataset, formats, is_numeric, unpacking
from spnmkl.data.text_table import unique_names
from spnmkl.errors import DataError
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.checked_values import text
from spnmkl.wording import counted, name_some, quoted

TABLE = "data.parquet"


@dataclass(frozen=True)
class DataUse:
    """Which data a project is about, and what their columns are for."""

    name: str
    n_rows: int
    columns: tuple[str, ...]
    matrices: tuple[str, ...]
    label: str | None
    ignored: tuple[str, ...]
    views: Mapping[str, tuple[str, ...]]
    group: str | None
    adjust: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Dataset) -> DataUse:
        return cls(
            dataset.name,
            len(dataset.frame),
            tuple(map(str, dataset.frame.columns)),
            tuple(dataset.matrices),
            dataset.label,
            tuple(dataset.ignored),
            {view: tuple(columns) for view, columns in dataset.views.items()},
            dataset.group,
            tuple(dataset.adjust),
        )

    @property
    def missing_sentence(self) -> str:
        """What to bring where the data are not in the file."""
        parts = [counted(self.n_rows, "row"), counted(len(self.columns), "column")]
        matrices = f" and the kernel matrices {name_some(self.matrices)}" if self.matrices else ""
        return (
            f"The data {quoted(self.name)} ({' and '.join(parts)}{matrices}) are not in the project; load them on the "
            "page Data to train again or to look into a run."
        )

    def applied(self, dataset: Dataset) -> Dataset:
        """The same use of the columns of data that were brought; refused where a column or matrix is missing."""
        lacking = [name for name in self.columns if name not in dataset.frame.columns]
        lacking += [name for name in self.matrices if name not in dataset.matrices]
        if lacking or len(dataset.frame) != self.n_rows:
            found = f"lack {name_some(lacking)}" if lacking else f"have {counted(len(dataset.frame), 'row')}"
            raise DataError(
                f"The project is about {quoted(self.name)} with {counted(self.n_rows, 'row')}, but these data {found}; "
                "load the table the project was made with."
            )
        return replace(
            dataset,
            label=self.label,
            ignored=self.ignored,
            views=dict(self.views),
            group=self.group,
            adjust=self.adjust,
        )


def table_bytes(dataset: Dataset) -> bytes:
    """The table as Parquet."""
    table = io.BytesIO()
    try:
        dataset.frame.reset_index(drop=True).to_parquet(table)
    except Exception as error:  # whatever a column of mixed values may cause
        raise DataError(
            f"The table {quoted(dataset.name)} cannot be saved ({str(error).splitlines()[0][:200]}); save the "
            "project without its data."
        ) from None
    return table.getvalue()


def table_need(frame: pd.DataFrame) -> int:
    """What reading the table takes, as its reader counts it."""
    texts = (frame[name].value_counts() for name in frame if not is_numeric(frame[name]))
    letters = sum(len(str(value).encode()) * int(n) for counts in texts for value, n in counts.items())
    return max(unpacking.CELL_BYTES * frame.size, letters)


def check_table(data: bytes, packed: int) -> None:
    """Refuse a table that a file of so many bytes should not hold."""
    formats.check_parquet(TABLE, data, packed)


def read_table(data: bytes, use: DataUse, packed: int | None) -> pd.DataFrame:
    """The rows of a data set; a ValueError where they are not those that its use tells of.

    `packed` is the size of the file that they came in, None where we wrote it ourselves.
    """
    frame, _ = formats.read_parquet(TABLE, data, packed)
    names = list(frame.columns) if packed is None else unique_names(frame.columns)[0]
    if tuple(names) != use.columns or len(frame) != use.n_rows:
        raise ValueError("its columns or rows are not those of the project")
    return frame


def write_matrices(writer: Writer, dataset: Dataset, folder: str = "") -> None:
    for k, K in enumerate(dataset.matrices.values()):
        writer.array(f"{folder}{k}.npy", K, np.float64)


def read_matrices(reader: Reader, use: DataUse, folder: str = "") -> dict[str, NDArray]:
    return {name: reader.floats(f"{folder}{k}.npy", use.n_rows, use.n_rows) for k, name in enumerate(use.matrices)}


def dataset_of(use: DataUse, frame: pd.DataFrame, matrices: Mapping[str, NDArray]) -> Dataset:
    """The data in this use of their columns; `frame` is left out where there are none."""
    frame = frame if use.columns else pd.DataFrame(index=pd.RangeIndex(use.n_rows))
    return Dataset(use.name, frame, use.label, use.ignored, use.views, use.group, matrices, use.adjust)


def read_use(stored: Mapping[str, Any]) -> DataUse:
    n_rows = stored["n_rows"]
    if type(n_rows) is not int or not 0 <= n_rows <= unpacking.MAX_CELLS:
        raise ValueError("n_rows is not a number of rows")
    return DataUse(
        name=text(stored["name"]),
        n_rows=n_rows,
        columns=_texts(stored["columns"]),
        matrices=_texts(stored["matrices"]),
        label=None if stored["label"] is None else text(stored["label"]),
        ignored=_texts(stored["ignored"]),
        views={text(view): _texts(columns) for view, columns in stored["views"].items()},
        group=None if stored["group"] is None else text(stored["group"]),
        adjust=_texts(stored.get("adjust", [])),
    )


def _texts(stored: object) -> tuple[str, ...]:
    if not isinstance(stored, list) or len(set(map(text, stored))) < len(stored):
        raise ValueError("a list of different texts was expected")
    return tuple(stored)
