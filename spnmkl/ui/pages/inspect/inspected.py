"""A run that is looked at: where its kernels come from, and what was found out about it already."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from spnmkl.charts.look import unique_names
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.data.guarded import guarded_csv
from spnmkl.reporting.explain import ERROR, HELD_OUT, SPREAD, children_text, paths_table, ranking, weights_table
from spnmkl.reporting.glossary import explained
from spnmkl.selection import CrossValidation
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.structure.text import node_text
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.training.train import with_shares
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.computed_once import kept_with_drawing

T = TypeVar("T")
MOST_RUNS = 12
MOST_FINDINGS = 24  # of one run; the largest, a kernel's picture, takes half a megabyte


@dataclass(frozen=True, eq=False)
class Inspected:
    """A run with the trainer that can compute its kernels again."""

    run: Run
    trainer: Trainer

    @property
    def has_data(self) -> bool:
        return self.run.name in self.trainer.book.tasks

    def prepared(self) -> Prepared:
        task = self.trainer.book.tasks[self.run.name]
        if self.trainer.kernels.holds(task):
            return self.trainer.prepared(task)
        with st.spinner("Computing the kernels of this run …"):
            return self.trainer.prepared(task)

    def measured(self) -> Inspected:
        """With shares on its test rows, which a run from a file of an earlier version lacks; they stay with it."""
        run = self.run
        if run.held_out is not None or not (self.has_data and run.n_test and run.test_scores.scored):
            return self
        prepared = self.prepared()
        with st.spinner("Measuring shares on the test rows …"):
            found = with_shares(run, prepared)
        self.trainer.book.revise(lambda other: found if other is run else other)
        return Inspected(found, self.trainer)

    def once(self, key: Hashable, compute: Callable[[Prepared], T]) -> T:
        """A finding that needs the kernels: computed the first time, and kept without them."""
        findings = _findings(self.run)
        found = findings.pop(key, None)
        if found is None:
            prepared = self.prepared()
            with st.spinner("Computing …"):
                found = compute(prepared)
        findings[key] = found  # the last to be forgotten
        for old in list(findings)[:-MOST_FINDINGS]:
            findings.pop(old, None)
        return found

    def learned(self) -> LearnedTables:
        return _learned(self.run)


def _findings(run: Run) -> dict[Hashable, Any]:
    return _found_of(_Same(run.solution, run.cross_validation))


@dataclass(frozen=True, eq=False)
class _Same:
    """What tables are made of; the same whatever scores or name the run gets later."""

    solution: Solution
    folds: CrossValidation | None

    def __hash__(self) -> int:
        return hash((id(self.solution), id(self.folds)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.solution is self.solution and other.folds is self.folds


@lru_cache(maxsize=MOST_RUNS)
def _found_of(learned: _Same) -> dict[Hashable, Any]:
    return {}


@dataclass(frozen=True, eq=False)
class LearnedTables:
    """The tables of what was learned."""

    weights: pd.DataFrame
    paths: pd.DataFrame
    path_list: list[WeightedPath]
    ranking: pd.DataFrame


@lru_cache(maxsize=MOST_RUNS)
def _learned(run: Run) -> LearnedTables:
    return LearnedTables(weights_table(run), *paths_table(run), ranking(run))


def known(table: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that nothing is known of."""
    return table.dropna(axis="columns", how="all") if len(table) else table


def tell_missing_data(run: Run, what: str) -> None:
    """Say what cannot be shown of a run that came without its data, and how it can."""
    st.info(
        f"{what} cannot be shown: {plain(run.name)} came without its data, {plain(run.dataset_name)}. Load them, and "
        "they can.",
        icon=":material/database_off:",
    )
    st.page_link("pages/data.py", label="Load the data", icon=":material/arrow_forward:")


@kept_with_drawing
def node_names(spn: SPN) -> dict[str, str]:
    """What to call every node in a list: a kernel what it computes, a product its weight, a sum what it adds."""
    names = {v: node_text(spn, v) or " + ".join(spn.names[child] for child in spn.children(v)) for v in spn.nodes}
    return unique_names(spn.nodes, names)


@kept_with_drawing
def weight_titles(spn: SPN) -> dict[str, str]:
    """Every weight with what it multiplies."""
    return {v: f"{spn.names[v]} · {children_text(spn, v)}" for v in spn.products}


def share_text(share: float, digits: int = 1) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.{digits}f} %"


def sentence(text: str) -> str:
    """Text that is not markup, where a number and its sign stay on one line."""
    return plain(text).replace(" %", "\u00a0%")


@contextmanager
def row() -> Iterator[None]:
    """Things on one line, from the left edge to the right."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        yield


def download(table: pd.DataFrame, run: Run, what: str) -> None:
    name = re.sub(r"[^\w-]+", "_", f"{run.name}_{what}")
    st.download_button(
        "CSV",
        guarded_csv(table),
        f"{name}.csv",
        "text/csv",
        key=f"download_{what}",
        on_click="ignore",
        icon=":material/download:",
        help="Download this table with all digits.",
        type="tertiary",
    )


SHARE_HELP = f"{explained('held-out')} Shares of nodes on one path overlap."
RESIDUAL_HELP = explained("KKT")
WEIGHT_HELP = explained("Σg", "g")
SHARE_COLUMNS = {
    HELD_OUT: st.column_config.NumberColumn("held-out share", format="percent", help=SHARE_HELP),
    ERROR: st.column_config.NumberColumn(
        "± error", format="percent", help="Its standard error over the rows, or over groups of rows."
    ),
    SPREAD: st.column_config.NumberColumn(
        "± folds",
        format="percent",
        help="The standard deviation of the shares of the folds' trainings: what another training may change.",
    ),
}
