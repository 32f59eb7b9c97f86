"""Shares measured on folds, in the background: where no rows were held out, or too few to tell."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from spnmkl.training.choose import FOLDS
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import Inspected
from spnmkl.ui.parts.following import REFRESHES, progress_bar, stop_button, words_of
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer
from spnmkl.wording import counted

DECIDED = 0.1  # the largest error of a view or kernel at which test rows tell enough


def offer_folds(seen: Inspected) -> None:
    """A button where folds would tell more, or how far they are."""
    run, trainer = seen.run, seen.trainer
    if trainer.failure is not None and trainer.failure.kind == "shares":
        st.error(plain(trainer.failure.message))
    if (activity := trainer.doing("shares")) and activity.task is trainer.book.task_of(run):
        wait_for_shares(trainer)
    elif wanting(run):
        st.button(
            f"Measure on {FOLDS} folds",
            key="measure_shares",
            icon=":material/balance:",
            disabled=not seen.has_data or trainer.working is not None,
            on_click=begin,
            args=(trainer, run, presence()),
            help=(
                f"Trains {FOLDS} times on the {counted(run.n_train, 'training row')}, each time without a part of "
                "them, and measures the shares on that part; the C stays the same."
                if seen.has_data
                else "Load the data of this run first."
            ),
        )


def begin(trainer: Trainer, run: Run, here: Callable[[], bool]) -> None:
    trainer.measure(run, here)


def wanting(run: Run) -> bool:
    """Whether the shares are not known, or known so roughly that more rows would help; folds are measured once."""
    shares = run.held_out
    if run.approximated is not None:
        return False  # folds would train without landmarks
    if shares is None or shares.folds > 1:
        return shares is None
    largest = max((share.error for share in (shares.views or shares.nodes).values()), default=0.0)
    return not shares.known or largest > DECIDED


@st.fragment(run_every=REFRESHES[0])
def wait_for_shares(trainer: Trainer) -> None:
    activity = trainer.doing("shares")
    if activity is None:
        st.rerun()
    progress_bar(activity.job, f"Measuring shares: {words_of(activity.job)}")
    stop_button(activity.job, key="stop_shares")
