"""Results of experiments in files: what stands there is done, so that a run can be interrupted and continued."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

Key = tuple[str, ...]
Row = Any  # an instance of the dataclass that the store is of


def key_of(*parts: object) -> Key:
    """As it is read from a file."""
    return tuple(map(str, parts))


@dataclass(frozen=True)
class Task:
    """Results that share their preparation; `compute` yields the rows of each key asked for, in turn."""

    keys: tuple[Key, ...]
    compute: Callable[[Sequence[Key]], Iterator[list[Row]]]


class Store:
    """A table; the first `depth` columns of a row are the key of the result that it belongs to."""

    def __init__(self, path: Path, row: type, depth: int) -> None:
        self.path, self.depth = path, depth
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_lines([[field.name for field in fields(row)]]), encoding="utf-8")
        whole = path.read_text(encoding="utf-8")
        if not whole.endswith("\n"):  # interrupted in the middle of a line
            path.write_text(whole[: whole.rfind("\n") + 1], encoding="utf-8")
        with path.open(newline="", encoding="utf-8") as file:
            self.done = {tuple(row[:depth]) for row in list(csv.reader(file))[1:]}

    def lacking(self, task: Task) -> list[Key]:
        return [key for key in task.keys if key not in self.done]

    def add(self, rows: Sequence[Row]) -> None:
        """All rows of a result, or none of them."""
        values = [list(astuple(row)) for row in rows]
        beside = self.path.with_suffix(".tmp")
        beside.write_text(self.path.read_text(encoding="utf-8") + _lines(values), encoding="utf-8")
        beside.replace(self.path)
        self.done |= {key_of(*row[: self.depth]) for row in values}


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read(path: Path, text: Sequence[str] = ()) -> pd.DataFrame:
    """The table, or an empty one; some columns are text even where they look like numbers."""
    return pd.read_csv(path, dtype=dict.fromkeys(text, str)) if path.exists() else pd.DataFrame()


def settle(path: Path, settings: Mapping[str, object]) -> None:
    """Note how the results beside it are computed; results of other settings do not belong there."""
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != settings:
        raise SystemExit(f"{path.parent} holds results of other settings ({path.name}); choose another --out.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings) + "\n", encoding="utf-8")


class Progress:
    """A line that is written over in a terminal, and one per result elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.started = total, 0, time.perf_counter()

    def step(self, told: str) -> None:
        self.done += 1
        spent = time.perf_counter() - self.started
        filled = 20 * self.done // self.total
        left = spent * (self.total - self.done) / self.done
        line = f"[{'#' * filled:20}] {self.done}/{self.total}, {spent:.0f} s, about {left:.0f} s left; {told}"
        last = self.done == self.total or not sys.stderr.isatty()
        print(f"\r{line:<110}", end="\n" if last else "", file=sys.stderr, flush=True)


def fill(store: Store, tasks: Iterable[Task]) -> None:
    """Compute what the store lacks, and keep each result as soon as it is known."""
    pending = [(task, left) for task in tasks if (left := store.lacking(task))]
    progress = Progress(sum(len(left) for _, left in pending))
    for task, left in pending:
        for key, rows in zip(left, task.compute(left), strict=True):
            store.add(rows)
            progress.step(", ".join(key))
