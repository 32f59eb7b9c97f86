"""Branch by branch: weight, share on rows not trained on, and what evidence says, on request."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from spnmkl.reporting.branches import EVIDENCE_SHARE, branches_table, evidence_words, rival_sentences, sum_name
from spnmkl.reporting.explain import shares_sentence
from spnmkl.reporting.glossary import explained
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import (
    SHARE_COLUMNS,
    WEIGHT_HELP,
    Inspected,
    download,
    row,
    sentence,
    tell_missing_data,
)
from spnmkl.ui.parts.following import REFRESHES, progress_bar, start_or_stop, words_of
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Kind, Trainer

KIND: Kind = "evidence"


def branches_tab(seen: Inspected) -> None:
    run, trainer = seen.run, seen.trainer
    sums = [v for v in run.spn.topological_order() if run.spn.kind(v) == "sum" and len(run.spn.children(v)) > 1]
    if not sums:
        st.info("The drawing has no sum of several branches, so that there is nothing to choose between.")
        return
    with row():
        node = st.selectbox("Branches of", sums, format_func=lambda v: sum_name(run.spn, v), key="inspect_branches_of")
        if seen.has_data:
            start_or_stop(trainer, KIND, "Weigh by evidence", begin, trainer, run, node, presence())
    follow(trainer)
    found = run.branches.get(node)
    held = seen.measured().run.held_out
    table = branches_table(run, node, found, held.nodes if held else None)
    show_table(table)
    with row():
        st.caption(plain(evidence_words(found, run.solution) if found else "Δ evidence is not computed yet."))
        download(table, run, "branches")
    if said := rival_sentences(run, node, found):
        st.info("\n\n".join(map(sentence, said)), icon=":material/balance:")
    if held:
        st.caption(plain(shares_sentence(held)))
    if not seen.has_data:
        tell_missing_data(run, "Δ evidence")
    elif trainer.failure is not None and trainer.failure.kind == KIND:
        st.error(plain(trainer.failure.message))


def show_table(table: pd.DataFrame) -> None:
    st.dataframe(
        table.dropna(axis="columns", how="all"),
        hide_index=True,
        height=min(420, 38 + 35 * len(table)),
        column_config={
            "β": st.column_config.NumberColumn(format="%.4g", help=explained("β")),
            "share of Σg": st.column_config.NumberColumn("of Σg", format="percent", help=WEIGHT_HELP),
            **SHARE_COLUMNS,
            "evidence share": st.column_config.NumberColumn(
                EVIDENCE_SHARE,
                format="percent",
                help="Of the decision of the Gaussian process with evidence weights, on the training rows.",
            ),
            "Δ evidence": st.column_config.NumberColumn(format="%.1f", help=explained("Δ evidence", "evidence")),
        },
    )


def begin(trainer: Trainer, run: Run, node: str, here: Callable[[], bool]) -> None:
    trainer.weigh(run, node, here)


def follow(trainer: Trainer) -> None:
    """How it goes, looked at now and then while it runs."""
    if trainer.doing(KIND):
        _follow(trainer)


@st.fragment(run_every=REFRESHES[0])
def _follow(trainer: Trainer) -> None:
    activity = trainer.doing(KIND)
    if activity is None:
        st.rerun()
    progress_bar(activity.job, f"{words_of(activity.job)} · {activity.job.seconds:.0f} s")
