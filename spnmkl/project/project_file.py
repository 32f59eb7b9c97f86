"""A whole project in one file: the drawing, what columns are for, settings, runs, and the data if wanted."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spnmkl.data import Choices, Dataset, SplitSettings, read_file, unpacking
from spnmkl.errors import DataError
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.stored_run import read_choices, read_run, read_split, text, write_run
from spnmkl.structure import SPN
from spnmkl.training.settings import Settings
from spnmkl.training.train import Run
from spnmkl.wording import counted, name_some, quoted

FORMAT = "spnmkl/project"
VERSION = 2  # 1 had neither columns to adjust for nor a preparation for each view
MOST_RUNS = 500
_DOCUMENT = "project.json"
_TABLE = "data.parquet"


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


@dataclass(frozen=True, eq=False)
class Project:
    """Everything a visit works on; `dataset` is None where the data were not saved along."""

    spn: SPN
    data: DataUse
    choices: Choices
    split: SplitSettings
    settings: Settings
    runs: tuple[Run, ...] = ()
    dataset: Dataset | None = None


def save_project(
    spn: SPN,
    dataset: Dataset | DataUse,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    runs: Sequence[Run] = (),
    with_data: bool = True,
) -> bytes:
    """One zip that `load_project` opens again.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid yet.
    dataset : Dataset, or DataUse for a project that was opened without its data
    choices : Choices
    split : SplitSettings
    settings : Settings
    runs : sequence of Run
        Each with its model; one over given matrices has none, but its weights, certificate and scores are kept.
    with_data : bool
        Whether the table and the matrices go along. The models hold their support vectors either way.
    """
    use = DataUse.of(dataset) if isinstance(dataset, Dataset) else dataset
    kept = dataset if isinstance(dataset, Dataset) and with_data else None
    writer = Writer()
    writer.json(
        _DOCUMENT,
        {
            "format": FORMAT,
            "version": VERSION,
            "structure": spn.to_dict(),
            "data": asdict(use),
            "with_data": kept is not None,
            "choices": choices.to_dict(),
            "split": asdict(split),
            "settings": settings.to_dict(),
            "runs": len(runs),
        },
    )
    if kept is not None:
        _write_data(writer, kept)
    for k, run in enumerate(runs):
        write_run(writer, f"runs/{k}", run)
    data = writer.finished()
    if len(data) > unpacking.MAX_FILE:
        raise DataError(
            f"The project would have {len(data) / 2**20:,.0f} MB, but at most {unpacking.MAX_FILE >> 20} MB can be "
            "opened again; leave out the data, or some runs."
        )
    return data


def load_project(data: bytes, name: str = "project.zip") -> Project:
    """Open what `save_project` wrote; refused in one sentence where anything in it is not as it should be.

    Parameters
    ----------
    data : bytes
    name : str
        The file's name, for messages.
    """
    reader = Reader(name, data)
    if _DOCUMENT not in reader:
        raise reader.foreign()
    document = reader.json(_DOCUMENT)
    if document.get("format") != FORMAT:
        raise reader.foreign()
    if type(document.get("version")) is not int or not 1 <= document["version"] <= VERSION:
        raise DataError(
            f"The project file {quoted(name)} has version {str(document.get('version'))[:20]!r}, but this release "
            f"reads versions 1 to {VERSION}; open it with the release that saved it."
        )
    with reader.part(_DOCUMENT):
        use = _read_use(document["data"])
        project = Project(
            spn=SPN.from_dict(document["structure"]),
            data=use,
            choices=read_choices(document["choices"]),
            split=read_split(document["split"]),
            settings=Settings.from_dict(document["settings"]),
        )
        n_runs, with_data = document["runs"], document["with_data"]
        if type(n_runs) is not int or not 0 <= n_runs <= MOST_RUNS or type(with_data) is not bool:
            raise ValueError(f"runs must be a number up to {MOST_RUNS}, with_data true or false")
    dataset = _read_data(reader, use) if with_data else None
    runs = tuple(read_run(reader, f"runs/{k}") for k in range(n_runs))
    reader.check_all_read()
    return replace(project, dataset=dataset, runs=runs)


def _write_data(writer: Writer, dataset: Dataset) -> None:
    if dataset.frame.shape[1]:
        table = io.BytesIO()
        try:
            dataset.frame.reset_index(drop=True).to_parquet(table)
        except Exception as error:  # whatever a column of mixed values may cause
            raise DataError(
                f"The table {quoted(dataset.name)} cannot be saved ({str(error).splitlines()[0][:200]}); save the "
                "project without its data."
            ) from None
        writer.data(_TABLE, table.getvalue())
    for k, K in enumerate(dataset.matrices.values()):
        writer.array(f"matrices/{k}.npy", K, np.float64)


def _read_data(reader: Reader, use: DataUse) -> Dataset:
    frame = pd.DataFrame(index=pd.RangeIndex(use.n_rows))
    if use.columns:
        table = reader.data(_TABLE)
        with reader.part(_TABLE):
            frame = read_file(_TABLE, table).frame
            if tuple(frame.columns) != use.columns or len(frame) != use.n_rows:
                raise ValueError("its columns or rows are not those of the project")
    matrices = {name: reader.floats(f"matrices/{k}.npy", use.n_rows, use.n_rows) for k, name in enumerate(use.matrices)}
    with reader.part(_DOCUMENT):
        return Dataset(use.name, frame, use.label, use.ignored, use.views, use.group, matrices, use.adjust)


def _read_use(stored: Mapping[str, Any]) -> DataUse:
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
