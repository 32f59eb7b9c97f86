"""A job in the background as pages show it: how it goes, its Stop, and when to look again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from spnmkl.training.run import Run
from spnmkl.training.scores import Scores
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Kind, Trainer
from spnmkl.ui.state.jobs import Job

REFRESHES = (1.0, 2.5)  # seconds between two looks at an activity: a young one, an old one
OLD_SECONDS = 3.0


def refreshing(trainer: Trainer) -> float | None:
    """Seconds between two looks; fewer looks at what takes long, since drawing takes from the solver's cores."""
    if trainer.activity is None or not trainer.busy:
        return None
    return REFRESHES[trainer.activity.job.seconds > OLD_SECONDS]


def keep_up(trainer: Trainer, refresh: float | None) -> None:
    """Draw the whole page anew where an activity ended, perhaps while it was drawn, or is looked at too often."""
    ended = trainer.activity is not None and not trainer.busy
    if ended or refreshing(trainer) != refresh:
        st.rerun()


def start_or_stop(
    trainer: Trainer, kind: Kind, title: str, begin: Callable[..., Any], *given: Any, **looks: Any
) -> None:
    """One button that begins an activity and then stops it; nothing begins while another goes on."""
    if activity := trainer.doing(kind):
        stop_button(activity.job, key=f"stop_{kind}", width=looks.get("width", "content"))
        return
    looks["disabled"] = looks.get("disabled", False) or trainer.working is not None
    st.button(title, icon=":material/play_arrow:", type="primary", on_click=begin, args=given, **looks)


def stop_button(job: Job[Any], **looks: Any) -> None:
    st.button("Stop", icon=":material/stop_circle:", type="primary", on_click=job.stop, **looks)


def words_of(job: Job[Any]) -> str:
    return job.waits_for if job.state == "waiting" else job.words


def progress_bar(job: Job[Any], said: str) -> None:
    """A bar where it is known how far the work has come, else the words alone."""
    if job.total or not job.records:
        st.progress(job.done / job.total if job.total else 0.0, progress_words(job, said))
    else:
        st.caption(progress_words(job, said))


def progress_words(job: Job[Any], said: str) -> str:
    """As Markdown: names of runs and kernels are in it."""
    return plain(said) + (" · stopping" if job.stopping else "")


def offer_scores(trainer: Trainer, run: Run) -> bool:
    """Where a run lacks scores because its training was stopped: so much, and a button; whether that is so."""
    lacking = [scores.sentence(part) for part, scores in scores_of(run).items() if not scores.scored]
    if not lacking:
        return False
    st.info(f"{plain('; '.join(lacking))}. The weights and what is proved of them are kept.")
    if trainer.doing("score"):
        wait_for_scores(trainer)
        return True
    known = run.name in trainer.book.tasks
    st.button(
        "Score these weights",
        icon=":material/fact_check:",
        disabled=not known or trainer.working is not None,
        on_click=begin_scoring,
        args=(trainer, run, presence()),
        help=None if known else "Load the data of this run first.",
    )
    return True


@st.fragment(run_every=REFRESHES[0])
def wait_for_scores(trainer: Trainer) -> None:
    activity = trainer.doing("score")
    if activity is None:
        st.rerun()
    st.caption(f"Scoring: {words_of(activity.job)}")
    stop_button(activity.job, key="stop_score")


def begin_scoring(trainer: Trainer, run: Run, here: Callable[[], bool]) -> None:
    trainer.score(run, here)


def scores_of(run: Run) -> dict[str, Scores]:
    return {"test": run.test_scores, "training": run.train_scores}
