"""A whole project in one file: the drawing, what columns are for, settings, runs, a comparison, searches; the data if
wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pandas as pd

from spnmkl.data import Choices, Dataset, SplitSettings, unpacking
from spnmkl.errors import DataError
from spnmkl.measures import scoring_name
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.checked_values import count, text, texts
from spnmkl.project.stored_contest import MOST_ROUNDS, Compared, read_comparison, write_comparison
from spnmkl.project.stored_data import (
    TABLE,
    DataUse,
    dataset_of,
    read_matrices,
    read_table,
    read_use,
    table_bytes,
    write_matrices,
)
from spnmkl.project.stored_finding import SEARCHES, Found, read_found, write_found
from spnmkl.project.stored_run import read_choices, read_run, read_split, write_run
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.wording import quoted

FORMAT = "spnmkl/project"
VERSION = 4  # 1 had neither columns to adjust for nor a preparation for each view, 2 no comparison, 3 no searches
MOST_RUNS = 500
_DOCUMENT = "project.json"
_MATRICES = "matrices/"


@dataclass(frozen=True)
class Pages:
    """What was chosen on pages, without which what they show would seem to be of other choices.

    Attributes
    ----------
    by_hand : bool
        Whether C and the kind of weights are to be as set.
    shown : str or None
        The run that pages show; None for the last.
    repeats, runs, measure, left_out
        How often folds of a comparison are drawn, which runs take part in it, by what it is shown, and which methods
        do not take part; None where nothing was chosen.
    """

    by_hand: bool = True
    shown: str | None = None
    repeats: int = 1
    runs: tuple[str, ...] = ()
    measure: str | None = None
    left_out: tuple[str, ...] | None = None


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
    compared: Compared | None = None
    searches: Mapping[str, Found] = field(default_factory=dict)
    pages: Pages = field(default_factory=Pages)


def save_project(
    spn: SPN,
    dataset: Dataset | DataUse,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    runs: Sequence[Run] = (),
    with_data: bool = True,
    compared: Compared | None = None,
    searches: Mapping[str, Found] | None = None,
    pages: Pages | None = None,
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
    compared : Compared, optional
        The last comparison of methods.
    searches : mapping of str to Found, optional
        What the last search of a kind found: for C ("folds", "path") or for a drawing ("suggested").
    pages : Pages, optional
        What was chosen on pages.
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
            "comparison": compared is not None,
            "searches": sorted(searches or {}),
            "pages": None if pages is None else asdict(pages),
        },
    )
    for kind, found in (searches or {}).items():
        writer.data(_search(kind), write_found(found))
    if compared is not None:
        write_comparison(writer, compared)
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
        use = read_use(document["data"])
        project = Project(
            spn=SPN.from_dict(document["structure"]),
            data=use,
            choices=read_choices(document["choices"]),
            split=read_split(document["split"]),
            settings=Settings.from_dict(document["settings"]),
            pages=_read_pages(document.get("pages")),
        )
        n_runs, with_data = document["runs"], document["with_data"]
        if type(n_runs) is not int or not 0 <= n_runs <= MOST_RUNS or type(with_data) is not bool:
            raise ValueError(f"runs must be a number up to {MOST_RUNS}, with_data true or false")
        with_comparison = document["comparison"] if document["version"] > 2 else False
        if type(with_comparison) is not bool:
            raise ValueError("comparison must be true or false")
        kinds = document["searches"] if document["version"] > 3 else []
        if not isinstance(kinds, list) or not set(kinds) <= set(SEARCHES) or len(set(kinds)) < len(kinds):
            raise ValueError(f"searches must be some of {', '.join(SEARCHES)}")
    dataset = _read_data(reader, use) if with_data else None
    runs = tuple(read_run(reader, f"runs/{k}") for k in range(n_runs))
    compared = read_comparison(reader) if with_comparison else None
    searches = {kind: _read_search(reader, kind) for kind in kinds}
    reader.check_all_read()
    return replace(project, dataset=dataset, runs=runs, compared=compared, searches=searches)


def _read_pages(stored: Mapping[str, Any] | None) -> Pages:
    """As at first in files of earlier releases."""
    if stored is None:
        return Pages()
    if type(stored["by_hand"]) is not bool:
        raise ValueError("by_hand must be true or false")
    return Pages(
        by_hand=stored["by_hand"],
        shown=None if stored["shown"] is None else text(stored["shown"]),
        repeats=max(1, count(stored["repeats"], MOST_ROUNDS)),
        runs=texts(stored["runs"]),
        measure=None if stored["measure"] is None else scoring_name(stored["measure"]),
        left_out=None if stored["left_out"] is None else texts(stored["left_out"]),
    )


def _search(kind: str) -> str:
    return f"searches/{kind}.zip"


def _read_search(reader: Reader, kind: str) -> Found:
    member = _search(kind)
    data = reader.data(member)
    with reader.part(member):
        found = read_found(data, member)
        if not isinstance(found.value, SEARCHES[kind]):
            raise ValueError("it is a search of another kind")
        return found


def _write_data(writer: Writer, dataset: Dataset) -> None:
    if dataset.frame.shape[1]:
        writer.data(TABLE, table_bytes(dataset))
    write_matrices(writer, dataset, _MATRICES)


def _read_data(reader: Reader, use: DataUse) -> Dataset:
    frame = pd.DataFrame()
    if use.columns:
        table = reader.data(TABLE)
        with reader.part(TABLE):
            frame = read_table(table, use)
    matrices = read_matrices(reader, use, _MATRICES)
    with reader.part(_DOCUMENT):
        return dataset_of(use, frame, matrices)
