"""The Train page: one button and one slider, or all settings; the training live; and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from spnmkl.charts import convergence_chart, cv_chart, path_chart, stability_chart, weights_chart
from spnmkl.charts.look import MOST_COLOURED
from spnmkl.charts.selection import MOST_SHOWN
from spnmkl.data import Split
from spnmkl.measures import SCORINGS
from spnmkl.memory import available_memory, kernel_share
from spnmkl.reporting.doubts import doubts
from spnmkl.reporting.endings import effort, methods, percent, pruning, succeeded
from spnmkl.reporting.glossary import explained
from spnmkl.solution import Record
from spnmkl.structure import SPN
from spnmkl.training.choose import FOLDS
from spnmkl.training.room import Size, memory_text, refusal, size_of
from spnmkl.training.run import Run
from spnmkl.training.scores import share_right
from spnmkl.ui.parts.canvas import show_trained
from spnmkl.ui.parts.choosing import choose_or_set, left_by_stop, offer_choice
from spnmkl.ui.parts.estimating import show_estimate
from spnmkl.ui.parts.following import (
    keep_up,
    offer_scores,
    progress_bar,
    refreshing,
    scores_of,
    stop_button,
    words_of,
)
from spnmkl.ui.parts.landmarks import landmark_words, offer_landmarks
from spnmkl.ui.parts.preparing import preparation_words
from spnmkl.ui.parts.ready import ready, warn_of_kernels
from spnmkl.ui.parts.replay import show_replay
from spnmkl.ui.parts.results import listed_ending, show_headlines
from spnmkl.ui.parts.returning import offer_return
from spnmkl.ui.parts.session import boundary, heading, kept, presence, tabs, workspace
from spnmkl.ui.parts.settings import fitting, more_settings, slider_of_C, suggest_scoring, take_C
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Activity, Kind, Trainer
from spnmkl.ui.state.kernel_shelf import free_kernels, kept_bytes
from spnmkl.ui.state.task import found_for
from spnmkl.ui.state.works import SmallestC, has_C_min
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

QUICK_BYTES = 500_000_000  # kernels up to this size are computed as soon as the page is opened
SUGGESTED_C = (
    "Certified weights and this C are what Suggest set with this drawing: it chose C for these weights by "
    "cross-validation on the rows that it searched, and its scores with certified weights are at this C."
)
OPENS: dict[Kind, str] = {"choose": "Choice of C", "trace": "β against C"}  # the tab where the result stands
CHOOSE_HELP = (
    "Cross-validation on the training rows: the score for a dozen values of C, and how stable the weights are. Whole "
    "groups are held out where the data have a group column. Which score: *All settings*."
)
TRACE_HELP = f"The regularisation path: every weight β over a dozen values of C.\n\n{explained('β', 'C')}"
DOING: dict[Kind, str] = {
    "train": "Training",
    "score": "Scoring",
    "shares": "Measuring shares on folds",
    "choose": "Cross-validation",
    "trace": "Tracing the weights over C",
    "look": "Preparing",
    "compare": "Comparison with baselines",
    "lesson": "The guided experiment",
    "evidence": "Weighing branches by evidence",
    "width": "The choice of a width",
    "default": "Choosing for you",
}


def train_page() -> None:
    work = workspace()
    work.collect()
    trained = work.trainer.book.run is not None
    heading("Train — learn the weights", "pages/inspect.py", "Next: what was learned", done=trained)
    offer_return(work, work.trainer.book.run, here=True)
    parts = ready(work)
    if parts is None:
        if working := work.trainer.working:
            stop_button(working.job)
        return
    left, right = st.columns([5, 12], gap="medium")
    fits = False
    with left, boundary():
        fits = controls(work, parts)
    with right:
        refresh = refreshing(work.trainer)
        st.fragment(watch, run_every=refresh)(refresh, fits)


def controls(work: Workspace, parts: Split) -> bool:
    """What can be set and begun; whether there is room for the training."""
    trainer, dataset = work.trainer, work.dataset.labelled_table
    rows = work.usable(parts.train)
    trainer.settings = fitting(trainer.settings, work.drawing.spn, dataset.classes)
    weights = len(work.drawing.spn.products)
    st.caption(f"**{plain(dataset.name[:60])}** · {rows:,} rows to train on · {counted(weights, 'weight')}")
    if prepared := preparation_words(work):
        st.caption(f"Prepared {plain(prepared)}: see *Data*, *3 · Preparation*.")
    held = size_of(work.drawing.spn, rows, len(dataset.classes), 0, trainer.settings)
    free = available_memory()
    room = None if free is None else free + kept_bytes()
    refused = refusal(held.in_tiles, room)
    folds = size_of(work.drawing.spn, rows, len(dataset.classes), FOLDS, trainer.settings)
    crossed = refusal(folds.in_tiles if computed(held, room) else folds, room)
    if working := trainer.working:
        stop_button(working.job, width="stretch")
    else:
        begin_button(work, "train", "Train", refused is not None, icon=":material/play_arrow:", type="primary")
    if refused:
        st.error(plain(refused))
        offer_landmarks(trainer, work.drawing.spn, begin, work, "train", presence())
    else:
        st.caption(memory_words(held, room))
    if trainer.settings.approximation is not None:
        st.caption(plain(landmark_words(trainer.settings, rows)))
    warn_of_kernels(work)
    chooses = choose_or_set(work)
    if not chooses:
        set_C(work, held)
    with st.expander("All settings", icon=":material/tune:", key="all_settings"):
        more_settings(trainer, work.drawing.spn, dataset.classes, chooses)
    if not chooses:
        search(work, refused, crossed)
    labels = dataset.y[parts.train]
    suggest_scoring(trainer, dataset.classes, (dataset.classes[:, None] == labels).sum(axis=1))
    quick = refused is None and held.memory < QUICK_BYTES
    if quick and not chooses and trainer.activity is None and not error(work):
        begin_looking_ahead(work)
    return refused is None


def set_C(work: Workspace, held: Size) -> None:
    trainer = work.trainer
    searched = trainer.searched(work.drawing.spn, work.dataset)
    if searched is not None and (trainer.settings.C, trainer.settings.weights) == (searched.C, "certified"):
        st.caption(SUGGESTED_C)
    if trainer.settings.weights == "evidence":
        slider_of_C(trainer, None, "Any C is useful: evidence weights do not depend on it, only the classifier does.")
    elif not has_C_min(work.drawing.spn, trainer.settings):
        slider_of_C(trainer, None, "Any C is useful: there is a C_min only where every p is 1.")
    elif looked := looked_ahead(work):
        slider_of_C(trainer, looked.C, "")
    elif held.memory < QUICK_BYTES:
        slider_of_C(trainer, None, "Looking for C_min …")
    else:
        slider_of_C(trainer, None, "C_min is not looked for at this size. Below it every weight is zero.")


def computed(held: Size, room: int | None) -> bool:
    """Whether kernels are computed whenever they are needed, since their matrices do not fit."""
    return room is not None and held.kernels > kernel_share(room)


def memory_words(held: Size, room: int | None) -> str:
    """What a training holds in memory, and what that means where it is much."""
    if computed(held, room):
        return (
            f"Kernel matrices would take {memory_text(held.kernels)}, so that kernels are computed whenever they are "
            f"needed: the same result, later, in about {memory_text(held.in_tiles.memory)} of memory."
        )
    return f"This takes about {memory_text(held.memory)} of memory."


def error(work: Workspace) -> str | None:
    """What went wrong last, if it was with what would be trained now."""
    failure = work.trainer.failure
    ours = failure is not None and failure.kind not in ("compare", "lesson") and failure.task.same(work.task)
    return failure.message if ours and failure is not None else None


def search(work: Workspace, refused: str | None, crossed: str | None) -> None:
    """Choosing C, and how the weights depend on it."""
    trainer = work.trainer
    busy = trainer.working is not None
    cross, trace = st.columns(2)
    with cross:
        why = f"\n\n{plain(crossed)}" if crossed and not refused else ""
        begin_button(work, "choose", "Choose C", busy or crossed is not None, help=CHOOSE_HELP + why)
    with trace:
        same = trainer.settings.weights == "evidence"
        why = "\n\nEvidence weights are the same at every C." if same else ""
        begin_button(work, "trace", "β against C", busy or same or refused is not None, help=TRACE_HELP + why)
    offer_choice(work)
    found = found_for(trainer.cross_validation, work.task, trainer.settings)
    if found is not None and found.best_C != trainer.settings.C:
        st.button(
            f"Take the best C, {found.best_C:.3g}",
            icon=":material/check:",
            width="stretch",
            on_click=take_C,
            args=(trainer, found.best_C),
        )


def begin_button(work: Workspace, kind: Kind, title: str, disabled: bool, **looks: Any) -> None:
    st.button(title, width="stretch", disabled=disabled, on_click=begin, args=(work, kind, presence()), **looks)


def begin(work: Workspace, kind: Kind, here: Any) -> None:
    free = available_memory()
    if free is not None and not work.trainer.kernels.holds(work.task) and free < kept_bytes():
        free_kernels()
    if kind == "train":
        work.begin_training(here)
    else:
        work.trainer.start(kind, work.task, work.trainer.settings, here)
    if kind in OPENS:
        st.session_state["watched"] = OPENS[kind]


def begin_looking_ahead(work: Workspace) -> None:
    """Compute kernels and C_min before they are asked for, once per task and settings."""
    if not looked_ahead(work):
        work.trainer.start("look", work.task, work.trainer.settings, presence())
        st.rerun()


def looked_ahead(work: Workspace) -> SmallestC | None:
    """C_min of what would be trained now at some C, where it has been looked for."""
    return found_for(work.trainer.smallest_C, work.task, work.trainer.settings)


def watch(refresh: float | None, fits: bool) -> None:
    """What happens now, or came out last; whether it is saved too, which may fail while nothing else is drawn."""
    with kept("watch"), boundary():
        work = workspace()
        trainer = work.trainer
        keep_up(trainer, refresh)
        working = trainer.working
        if working is not None:
            progress(working)
        elif said := error(work):
            st.error(plain(said))
        elif stopped := left_by_stop(work):
            st.info(stopped)
        shown = working if trainer.training else None
        run = None if shown else current_run(work)
        if run is not None and working is None:
            outcome(run, trainer)
        elif working is None and fits and not left_by_stop(work):
            chosen = " C and the kind of weights are chosen first." if work.chooses else ""
            st.info(f"Press **Train**: the weights of the drawing are learned together with the classifier.{chosen}")
        show_parts(work, shown, run)
        if run is not None and working is None:
            follow_up(work, run)


def current_run(work: Workspace) -> Run | None:
    """The run that the pages show, if it is of this drawing and these data."""
    run = work.trainer.book.run
    task = work.trainer.book.tasks.get(run.name) if run else None
    return run if task is not None and task.same(work.task) else None


def progress(activity: Activity) -> None:
    job = activity.job
    words, doing = words_of(job), DOING[activity.kind]
    said = f"{doing if words in ('', doing.lower()) else f'{doing}: {words}'} · {job.seconds:.1f} s"
    records = list(job.records)
    if activity.kind == "train" and words.startswith("iteration"):  # what follows has gaps of its own
        said += f" · gap {percent(records[-1].gap)}" if records and records[-1].gap < 1e6 else ""
    progress_bar(job, said)


def outcome(run: Run, trainer: Trainer) -> None:
    """The end, in words."""
    show = st.success if succeeded(run) else st.warning
    show(f"**{plain(run.name)}.** {listed_ending(run)}")
    if not offer_scores(trainer, run):
        show_headlines(run)
    for doubt in doubts(run):
        st.warning(plain(doubt))
    if run.settings != trainer.settings:
        st.caption("**The settings have changed since: press Train.**")


def follow_up(work: Workspace, run: Run) -> None:
    """What else is worth knowing, below the drawing, so that this is in view."""
    train = run.train_scores
    if all(scores.scored for scores in scores_of(run).values()):
        show_estimate(work, run)
    right = f"{share_right(train.accuracy)} of {run.train_words} right · " if train.scored else ""
    st.caption(
        f"{plain(pruning(run))} {right}{effort(run)} · C = {run.settings.C:.3g}. Method: {methods(run.solution)}."
    )


def show_parts(work: Workspace, activity: Activity | None, run: Run | None) -> None:
    """The drawing and the curves, of what trains now or of the run shown."""
    records: Sequence[Record] = list(activity.job.records) if activity else run.solution.history if run else ()
    spn = activity.task.spn if activity else run.spn if run else work.drawing.spn
    if records and not set(records[-1].beta) <= set(spn.products):
        records = ()  # of a drawing that was chosen meanwhile, and takes the place of this one at the end
    beta = run.solution.beta if run else {v: records[-1].beta.get(v, 0.0) for v in spn.products} if records else None
    tol = activity.settings.tol if activity else run.settings.tol if run else None
    parts = {
        "Drawing": lambda: drawing(spn, beta, run),
        "Convergence": lambda: curves(records, tol),
        "Weights": lambda: trajectories(records, names(spn)),
        "Choice of C": lambda: choice_of_C(work),
        "β against C": lambda: weights_over_C(work),
    }
    tabs("watched", parts)


def names(spn: SPN) -> dict[str, str]:
    """What a weight is called in a legend: with the kernels it weighs, where it is not called after them."""
    found = {}
    for v in spn.products:
        leaves = [child for child in spn.children(v) if spn.kind(child) == "kernel"]
        same = [spn.label(leaf) for leaf in leaves] == [spn.label(v)]
        found[v] = " ".join([spn.names[v], *([] if same or not leaves else ["∘".join(spn.names[k] for k in leaves)])])
    return found


def drawing(spn: SPN, beta: Mapping[str, float] | None, run: Run | None) -> None:
    show_trained("spnmkl_live", spn, beta)
    if run is not None:
        show_replay(run, "spnmkl_live")
    if beta is not None:
        st.caption(
            "Larger and darker: heavier. Thicker lines: more of the path weights. Dashed: pruned.",
            help=explained("β", "g", "pruned"),
        )


def curves(records: Sequence[Record], tol: float | None) -> None:
    if not records:
        st.caption("The objective and its lower bound appear here while they close in on each other.")
        return
    st.altair_chart(convergence_chart(records, tol), width="stretch")
    if records[-1].method == "evidence":
        st.caption("The best log evidence so far of every start, one after the other.", help=explained("evidence"))
    elif math.isfinite(records[-1].dual_bound):
        st.caption(
            "The optimum lies between the curves. The gap is their relative distance, recomputed from the data.",
            help=explained("objective", "bound", "gap"),
        )
    else:
        st.caption("No bound on the optimum is known: with p below 1 the problem is not convex.")


def trajectories(records: Sequence[Record], called: Mapping[str, str]) -> None:
    if not records:
        st.caption("The weights appear here, iteration by iteration.")
        return
    st.altair_chart(weights_chart(records, called), width="stretch")
    what_lines_are(len(called), "β")


def what_lines_are(weights: int, *signs: str) -> None:
    few = "A line for every weight β, named with the kernels that it weighs."
    many = f"The {MOST_COLOURED} heaviest of {weights} weights β in colour. All of them: *Inspect*, *Weights*."
    st.caption(many if weights > MOST_COLOURED else few, help=explained(*signs))


def choice_of_C(work: Workspace) -> None:
    trainer = work.trainer
    found = found_for(trainer.cross_validation, work.task, trainer.settings)
    if found is None:
        st.caption("*Choose C* tries a dozen values on held-out folds and shows here how well each does.")
        return
    left, right = st.columns(2)
    left.altair_chart(cv_chart(found, trainer.settings.C), width="stretch")
    done, total = int(np.isfinite(found.scores).sum()), found.scores.size
    stopped = f" Stopped after {done} of {total} trainings." if done < total else ""
    measure = SCORINGS[found.scoring]
    best = f"{measure.title} {measure.text(float(np.nanmax(found.mean)))}"
    folds = found.scores.shape[1]
    said = f"{folds} folds. Best: C = {found.best_C:.3g}, {best}. Bars: one standard error.{stopped}"
    left.caption(said, help=explained("C"))
    right.altair_chart(stability_chart(found, names(work.drawing.spn)), width="stretch")
    which = (
        "Every weight" if len(found.beta) <= MOST_SHOWN else f"The {MOST_SHOWN} heaviest of {len(found.beta)} weights"
    )
    right.caption(f"{which} in each fold at the best C: close together means stable.", help=explained("β"))


def weights_over_C(work: Workspace) -> None:
    trainer = work.trainer
    found = found_for(trainer.path, work.task, trainer.settings)
    if found is None:
        st.caption("*β against C* solves for a dozen values of C and shows here how every weight comes and goes.")
        return
    looked = looked_ahead(work)
    smallest = looked.C if looked else None
    st.altair_chart(path_chart(found, names(work.drawing.spn), trainer.settings.C, smallest), width="stretch")
    what_lines_are(len(found.beta), "β", "C", "C_min")
