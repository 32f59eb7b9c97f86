"""The Inspect page: what a run learned, how good it is, and why it may be believed."""

from __future__ import annotations

import streamlit as st

from spnmkl.reporting.endings import score_text
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.branches import branches_tab
from spnmkl.ui.pages.inspect.drawing import drawing_tab
from spnmkl.ui.pages.inspect.inspected import Inspected
from spnmkl.ui.pages.inspect.kernels import kernels_tab
from spnmkl.ui.pages.inspect.proof import proof_tab
from spnmkl.ui.pages.inspect.samples import samples_tab
from spnmkl.ui.pages.inspect.weights import matters_tab, weights_tab
from spnmkl.ui.pages.inspect.what_if import what_if_tab
from spnmkl.ui.parts.estimating import show_estimate
from spnmkl.ui.parts.results import show_headlines
from spnmkl.ui.parts.returning import offer_return
from spnmkl.ui.parts.session import fragment, heading, tabs, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer

CHOICE = "inspect_run"


@fragment
def inspect_page() -> None:
    work = workspace()
    work.collect()
    trainer = work.trainer
    between = heading("Inspect — what was learned", "pages/compare.py", "Next: compare it")
    run = trainer.book.run
    if run is None:
        nothing_yet(trainer)
        return
    with between:
        choose_run(trainer, run)
    offer_return(workspace(), run)
    show_headlines(run)
    show_estimate(workspace(), run)
    seen = Inspected(run, trainer)
    tabs(
        "inspect",
        {
            "Drawing": lambda: drawing_tab(seen),
            "Weights and paths": lambda: weights_tab(seen),
            "What matters": lambda: matters_tab(seen),
            "Branches": lambda: branches_tab(seen),
            "Kernels": lambda: kernels_tab(seen),
            "Samples": lambda: samples_tab(seen),
            "What if": lambda: what_if_tab(seen),
            "Proof": lambda: proof_tab(seen),
        },
    )


def nothing_yet(trainer: Trainer) -> None:
    with st.container(border=True, horizontal_alignment="center"):
        if trainer.training:
            said, label = "**A training is going on.** Once it has ended, what it learned is shown here.", "Watch it"
            _wait_for(trainer)
        else:
            said, label = "**Nothing is trained yet.** Train the drawing; what it learned is shown here.", "Train it"
        st.markdown(said, text_alignment="center")
        st.page_link("pages/train.py", label=label, icon=":material/arrow_forward:")


@st.fragment(run_every=1.0)
def _wait_for(trainer: Trainer) -> None:
    if not trainer.busy:
        st.rerun()


def choose_run(trainer: Trainer, run: Run) -> None:
    """Which run the pages show, where there are several."""
    titles = {r.name: title(r) for r in trainer.book.runs}
    if len(titles) == 1:
        st.markdown(f":small[{plain(title(run))}]", text_alignment="right")
        return

    def take() -> None:
        trainer.book.chosen = st.session_state[CHOICE]

    st.session_state[CHOICE] = run.name
    st.selectbox(
        "Run", list(titles), format_func=titles.__getitem__, key=CHOICE, on_change=take, label_visibility="collapsed"
    )


def title(run: Run) -> str:
    return f"{run.name} · {run.dataset_name} · C = {run.settings.C:g} · {score_text(run)}"
