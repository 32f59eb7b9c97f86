"""The Compare page: the drawing against well-known ways to combine its kernels, on the same folds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import streamlit as st

from spnmkl.data import Split
from spnmkl.measures import SCORINGS
from spnmkl.memory import available_memory
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest import Contest, Plan, fitting_plan, planned
from spnmkl.study.contest_words import ROUNDS, TEST_HELP, WHAT, about, titled
from spnmkl.study.entrants import Entrants, entrants, with_powers
from spnmkl.training.room import refusal, size_of
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.compare.results import scores, structures
from spnmkl.ui.parts.following import keep_up, progress_bar, refreshing, start_or_stop, stop_button, words_of
from spnmkl.ui.parts.guided import guided_experiment
from spnmkl.ui.parts.ready import ready
from spnmkl.ui.parts.session import boundary, heading, presence, tabs, workspace
from spnmkl.ui.parts.settings import fitting
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Activity, Trainer
from spnmkl.ui.state.kernel_shelf import free_kernels, kept_bytes
from spnmkl.ui.state.task import Finding
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

START = "Train the baselines on this data"
PLAN = Plan()


def compare_page() -> None:
    work = workspace()
    heading("Compare — against the baselines", "pages/predict.py", "Next: predict new rows")
    work.trainer.collect()
    tabs(
        "compare_part",
        {
            "Scores": lambda: scores_tab(work),
            "Structures side by side": lambda: structures_tab(work),
            "Guided experiment": lambda: guided_experiment(work),
        },
    )


def scores_tab(work: Workspace) -> None:
    refresh = refreshing(work.trainer)
    parts = ready(work)
    if parts is None:
        if working := work.trainer.doing("compare"):
            stop_button(working.job)
        st.fragment(watch, run_every=refresh)(refresh, None)
        return
    work.trainer.settings = usable_settings(work)
    who = entrants(work.drawing.spn, work.dataset, work.choices, work.trainer.settings.p, chosen_runs(work))
    left, right = st.columns([5, 12], gap="medium")
    with left, boundary():
        controls(work, parts, who)
    with right:
        st.fragment(watch, run_every=refresh)(refresh, who)


def usable_settings(work: Workspace) -> Settings:
    return fitting(work.trainer.settings, work.drawing.spn, work.dataset.labelled_table.classes)


def chosen_runs(work: Workspace) -> dict[str, SPN]:
    """The structures of the runs that were chosen to take part."""
    return {name: spn for name, spn in other_structures(work).items() if name in work.comparing.runs}


def other_structures(work: Workspace) -> dict[str, SPN]:
    """Run → its structure, for runs on these data whose structure is none that is there already."""
    seen, found = {unplaced(work.drawing.spn)}, {}
    for run in work.trainer.book.runs:
        task = work.trainer.book.tasks.get(run.name)
        bare = unplaced(run.spn)
        if task is not None and task.dataset is work.dataset and task.choices == work.choices and bare not in seen:
            seen.add(bare)
            found[run.name] = with_powers(run.spn, run.settings.p)
    return found


def controls(work: Workspace, parts: Split, who: Entrants) -> None:
    trainer, dataset, chosen = work.trainer, work.dataset.labelled_table, work.comparing
    rows = work.usable(parts.train)
    st.caption(f"**{plain(dataset.name[:60])}** · {rows:,} training rows · {len(who.methods)} methods")
    asked = replace(PLAN, repeats=chosen.repeats, scoring=trainer.settings.scoring)
    plan = fitting_plan(asked, work.dataset, work.split)
    free = available_memory()
    held = size_of(who.pool, rows, len(dataset.classes), plan.inner)
    refused = refusal(held, None if free is None else free + kept_bytes())
    working = trainer.working
    given = work, who, plan, presence()
    start_or_stop(trainer, "compare", START, begin, *given, width="stretch", disabled=refused is not None)
    if refused:
        st.error(plain(refused))
    elif working is not None and working.kind != "compare":
        st.caption("Something else is being trained; this can start once it has ended.")
        st.page_link("pages/train.py", label="Watch it", icon=":material/arrow_forward:")
    elif working is None:
        st.caption(f"{planned(who, plan)} trainings, each with its choice of C; how long they take is told as they go.")
    how_often(work, plan)
    choose_runs(work)
    explanation(who, plan, rows, trainer)


def begin(work: Workspace, who: Entrants, plan: Plan, here: Callable[[], bool]) -> None:
    free = available_memory()
    if free is not None and free < kept_bytes():
        free_kernels()
    work.trainer.compare(work.task, work.trainer.settings, who, plan, here)


def how_often(work: Workspace, plan: Plan) -> None:
    def take() -> None:
        work.comparing.repeats = st.session_state["compare_repeats"] or 1

    st.session_state["compare_repeats"] = work.comparing.repeats
    st.segmented_control(
        f"Rounds of {plan.folds} folds",
        list(ROUNDS),
        key="compare_repeats",
        on_change=take,
        required=True,
        help="Each round draws other folds. More rounds take as many times as long, and tell smaller differences.",
    )


def choose_runs(work: Workspace) -> None:
    offered = list(other_structures(work))
    if not offered:
        return

    def take() -> None:
        work.comparing.runs = tuple(st.session_state["compare_runs"])

    st.session_state["compare_runs"] = [name for name in work.comparing.runs if name in offered]
    st.multiselect(
        "Structures of runs that take part",
        offered,
        key="compare_runs",
        on_change=take,
        placeholder="none",
        help="Other structures that were trained on these data in this visit.",
    )


def explanation(who: Entrants, plan: Plan, rows: int, trainer: Trainer) -> None:
    with st.expander("How it is compared", icon=":material/help:"):
        unused = {"class weights": trainer.settings.class_weight is not None, "λ": trainer.settings.lam != 1}
        named = ", ".join(name for name, given in unused.items() if given)
        ignored = f" Of the settings on the page Train these are not used here: {named}." if named else ""
        st.markdown(
            f"**Rows.** The {rows:,} training rows. The test rows stay unseen, so that what you choose here can still "
            f"be tested on them.\n\n**Folds.** {plan.folds}, stratified, the same for all methods; whole groups are "
            f"held out where the data have a group column. Each method chooses its C, of {plan.points} values, by "
            f"{SCORINGS[plan.scoring].title} on {plan.inner} folds within the training part, where columns are "
            f"scaled and kernels fitted, too.{ignored}\n\n**Kernels.** The baselines combine the base kernels of "
            f"your drawing. {plain(' '.join(who.remarks))}\n\n**Differences.** {TEST_HELP}"
        )


def watch(refresh: float | None, who: Entrants | None) -> None:
    """What comes out now, or came out last."""
    with boundary():
        work = workspace()
        _, contest = watched(work, refresh)
        if contest is not None:
            scores(work, contest)
        elif who is not None:
            before(who)


def structures_tab(work: Workspace) -> None:
    refresh = refreshing(work.trainer)
    st.fragment(watch_structures, run_every=refresh)(refresh)


def watch_structures(refresh: float | None) -> None:
    with boundary():
        working, contest = watched(workspace(), refresh)
        if contest is not None or working:
            structures(contest, working)
        else:
            st.info(
                "The drawing and the baselines stand here side by side with their weights, once they are trained: "
                f"press **{START}** under *Scores*."
            )


def watched(work: Workspace, refresh: float | None) -> tuple[bool, Contest | None]:
    """Whether a comparison is going on, and what there is of it, or of the last one; says how it goes or ended."""
    trainer = work.trainer
    keep_up(trainer, refresh)
    if working := trainer.doing("compare"):
        progress(working)
        found = working.so_far
        return True, found if isinstance(found, Contest) and found.results else None
    if trainer.failure and trainer.failure.kind == "compare":
        st.error(plain(trainer.failure.message))
    if trainer.contest is None:
        return False, None
    outcome(work, trainer.contest)
    return False, trainer.contest.value


def progress(activity: Activity) -> None:
    job, contest = activity.job, activity.so_far
    assert isinstance(contest, Contest)
    words = words_of(job)
    left = contest.seconds_left(job.seconds)
    done = f"{len(contest.results)} of {contest.total} trainings"
    said = f"{contest.dataset_name[:60]}: {words} · {done} · {job.seconds:.0f} s"
    said += f" · {about(left)} left" if math.isfinite(left) and not job.stopping else ""
    progress_bar(job, said)


def before(who: Entrants) -> None:
    """What will be compared."""
    st.info(
        f"One click trains {len(who.methods)} methods on the same folds of your data: how good is your drawing beside "
        "the usual ways to combine its kernels?"
    )
    what = [WHAT.get(method, "the structure of this run") for method in who.methods]
    table = pd.DataFrame({"method": list(map(titled, who.methods)), "what it is": what})
    st.dataframe(
        table, hide_index=True, height="content", column_config={"method": st.column_config.TextColumn(width=160)}
    )
    for remark in who.remarks:
        st.caption(plain(remark))


def of_these(work: Workspace, contest: Contest) -> bool:
    """Whether the structures that were compared are those that would be now."""
    own = with_powers(work.drawing.spn, usable_settings(work).p)
    return [*map(unplaced, (own, *chosen_runs(work).values()))] == [*map(unplaced, contest.drawn.values())]


def outcome(work: Workspace, known: Finding[Contest]) -> None:
    """What is shown, and how far it can be trusted."""
    contest = known.value
    if not known.task.same(work.task):
        st.warning(
            f"The drawing, the data or their preparation have changed since: these results are of "
            f"{plain(contest.dataset_name)} as it was. Press **{START}** to compare anew."
        )
    elif not of_these(work, contest):
        st.warning(
            "Exponents, or the runs that take part, have changed since: these results are of what was chosen then. "
            f"Press **{START}** to compare anew."
        )
    if not contest.complete:
        st.warning(
            f"Stopped after {len(contest.results)} of {contest.total} trainings; "
            + (
                f"shown is what all methods finished: {counted(contest.n_shared, 'fold')}."
                if contest.n_shared
                else "no fold was finished by all methods."
            )
        )
