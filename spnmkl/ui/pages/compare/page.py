"""The Compare page: the drawing against well-known ways to combine its kernels, and methods over columns, on the same
folds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import streamlit as st

from spnmkl.data import Split
from spnmkl.measures import SCORINGS
from spnmkl.memory import available_memory
from spnmkl.reporting.doubts import found_by_search
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest import Contest, Entry, Plan, fitting_plan, planned
from spnmkl.study.contest_words import ROUNDS, TEST_HELP, WHAT, about, tuned_words
from spnmkl.study.entrants import OWN, Drawn, Entrants, entrants, titled
from spnmkl.training.room import refusal, size_of
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.compare.results import scores, structures
from spnmkl.ui.parts.following import keep_up, progress_bar, refreshing, start_or_stop, stop_button, words_of
from spnmkl.ui.parts.guided import guided_experiment
from spnmkl.ui.parts.ready import ready
from spnmkl.ui.parts.session import boundary, heading, presence, tabs, workspace
from spnmkl.ui.parts.settings import fitting
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Activity
from spnmkl.ui.state.kernel_shelf import free_kernels, kept_bytes
from spnmkl.ui.state.task import Finding
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

START = "Train the baselines on this data"
PLAN = Plan()


def compare_page() -> None:
    work = workspace()
    heading("Compare — against the baselines", "pages/predict.py", "Next: predict new rows")
    work.collect()
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
    everyone = all_entrants(work)
    who = taking_part(work, everyone)
    left, right = st.columns([5, 12], gap="medium")
    with left, boundary():
        controls(work, parts, who, everyone)
    with right:
        st.fragment(watch, run_every=refresh)(refresh, who)


def usable_settings(work: Workspace) -> Settings:
    return fitting(work.trainer.settings, work.drawing.spn, work.dataset.labelled_table.classes)


def all_entrants(work: Workspace) -> Entrants:
    """The drawing as training would have it, the runs that were chosen, and every method that these data allow."""
    found = entrants(own_drawing(work), work.dataset, work.choices, others=chosen_runs(work))
    return replace(found, remarks=(*found.remarks, *flattered(work)))


def flattered(work: Workspace) -> list[str]:
    """Which drawings were chosen, or found, on rows that folds hold out."""
    return [*_chosen_before(work), *_searched_before(work)]


def _searched_before(work: Workspace) -> list[str]:
    """Drawings that Suggest found; the flat sum was there before it."""
    drawn = {OWN: work.drawing.spn} | {run: other.spn for run, other in chosen_runs(work).items()}
    known = {name: work.trainer.searched(spn, work.dataset) for name, spn in drawn.items()}
    found = [name for name, searched in known.items() if searched is not None and searched.drew]
    return [found_by_search(found)] if found else []


def _chosen_before(work: Workspace) -> list[str]:
    chosen = work.chosen
    names = [OWN] if chosen is not None and work.takes(chosen) and not work.chooses else []
    names += [run.name for run in work.trainer.book.runs if run.name in chosen_runs(work) and run.reasons]
    if not names:
        return []
    which = " and ".join(names)
    return [
        f"{which[:1].upper()}{which[1:]}: chosen by cross-validation on all of these rows. Only C is chosen anew in "
        "each fold here, so that the score is a little too good beside the others; Train has one with all chosen anew."
    ]


def taking_part(work: Workspace, everyone: Entrants) -> Entrants:
    return everyone.among([name for name in everyone.methods if name not in work.comparing.left_out])


def own_drawing(work: Workspace, settings: Settings | None = None) -> Drawn:
    """As a training would have it, with these settings or those there are; where that chooses, every fold does."""
    how = Drawn.by_default if work.chooses else Drawn.of
    return how(work.drawing.spn, settings or usable_settings(work))


def chosen_runs(work: Workspace) -> dict[str, Drawn]:
    """The runs that were chosen to take part."""
    return {name: drawn for name, drawn in other_runs(work).items() if name in work.comparing.runs}


def other_runs(work: Workspace) -> dict[str, Drawn]:
    """Run → its structure and settings, for runs on these data of which nothing that is there already is the same."""
    own = own_drawing(work)
    seen, found = [(unplaced(own.spn), own.options)], {}
    for run in work.trainer.book.runs:
        task = work.trainer.book.tasks.get(run.name)
        drawn = Drawn.of(run.spn, run.settings)
        bare = unplaced(drawn.spn), drawn.options
        if task is not None and task.dataset is work.dataset and task.choices == work.choices and bare not in seen:
            seen.append(bare)
            found[run.name] = drawn
    return found


def controls(work: Workspace, parts: Split, who: Entrants, everyone: Entrants) -> None:
    trainer, dataset, chosen = work.trainer, work.dataset.labelled_table, work.comparing
    rows = work.usable(parts.train, who.pool)
    st.caption(f"**{plain(dataset.name[:60])}** · {rows:,} training rows · {len(who.methods)} methods")
    asked = replace(PLAN, repeats=chosen.repeats, scoring=trainer.settings.scoring)
    plan = fitting_plan(asked, who.pool, work.dataset, work.choices, work.split)
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
        st.caption(
            f"{planned(who, plan)} trainings, each with its choice of settings; how long they take is told as they go."
        )
    if trainer.settings.approximation is not None:
        st.caption("Everybody is trained exactly here, on folds of all training rows, and not by landmarks.")
    how_often(work, plan)
    choose_methods(work, everyone, plan)
    choose_runs(work)
    explanation(everyone, plan, rows)


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


def choose_methods(work: Workspace, everyone: Entrants, plan: Plan) -> None:
    """A check box for every method beside the drawings."""
    beside = [name for name in everyone.methods if name not in everyone.drawn]
    columns = set(everyone.over_columns)
    groups = {
        "Over the kernels of your drawing": [name for name in beside if name not in columns],
        "Over columns, from scikit-learn": [name for name in beside if name in columns],
    }

    def take(name: str) -> None:
        work.comparing.left_out ^= {name}

    with st.expander("Methods that take part", icon=":material/checklist:"):  # a title that changed would close it
        for title, names in groups.items():  # one below the other: side by side, names would be cut
            st.caption(title)
            for name in names:
                key = f"compare_with_{name}"
                st.session_state[key] = name not in work.comparing.left_out
                st.checkbox(
                    titled(name),
                    key=key,
                    on_change=take,
                    args=(name,),
                    help=f"{WHAT[name]}. Chosen on folds: {tuned_words(name, plan.points)}.",
                )


def choose_runs(work: Workspace) -> None:
    offered = list(other_runs(work))
    if not offered:
        return

    def take() -> None:
        work.comparing.runs = tuple(st.session_state["compare_runs"])

    st.session_state["compare_runs"] = [name for name in work.comparing.runs if name in offered]
    st.multiselect(
        "Runs that take part",
        offered,
        key="compare_runs",
        on_change=take,
        placeholder="none",
        help="Runs on these data with another drawing or other settings, evidence weights among them. Each is trained "
        "anew on every fold as it was, but for C, which is chosen there.",
    )


def explanation(who: Entrants, plan: Plan, rows: int) -> None:
    with st.expander("How it is compared", icon=":material/help:"):
        st.markdown(
            f"**Rows.** The {rows:,} training rows. The test rows stay unseen, so that what you choose here can still "
            f"be tested on them.\n\n**Folds.** {plan.folds}, stratified, the same for all methods; whole groups are "
            f"held out where the data have a group column. Each method chooses its settings, such as C, by "
            f"{SCORINGS[plan.scoring].title} on {plan.inner} folds within the training part, where columns are "
            "scaled and kernels fitted, too; the numbers of values tried are of comparable size. Your drawing and runs "
            "have the exponents, the kind of weights, λ and the class weights of the page Train; other methods have "
            f"none.\n\n**Kernels and columns.** The baselines combine the base kernels of your drawing. "
            f"{plain(' '.join(who.remarks))}\n\n**Differences.** {TEST_HELP}"
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
        "the usual ways to combine its kernels, and beside what people use on such columns?"
    )
    st.dataframe(
        pd.DataFrame(
            {
                "method": list(map(titled, who.methods)),
                "what it is": [what_words(who, method) for method in who.methods],
                "what it chooses on folds": [tuned_words(method, PLAN.points) for method in who.methods],
            }
        ),
        hide_index=True,
        height="content",
        column_config={
            "method": st.column_config.TextColumn(width=120),
            "what it is": st.column_config.TextColumn(width=390),
        },
    )
    for remark in who.remarks:
        st.caption(plain(remark))


def what_words(who: Entrants, method: str) -> str:
    """What a method is; a drawing with the kind of its weights, where these are not the usual ones."""
    said = WHAT.get(method, "the drawing and the settings of this run")
    return said + (", by evidence" if who.options.get(method, {}).get("weights") == "evidence" else "")


def of_these(work: Workspace, known: Finding[Contest]) -> bool:
    """Whether what was compared is what would be now."""
    contest, own = known.value, own_drawing(work)
    now = [own.spn, *(drawn.spn for drawn in chosen_runs(work).values())]
    chose = [bool(r.setting) for r in contest.results if isinstance(r, Entry) and r.method == contest.reference]
    return (
        [*map(unplaced, now)] == [*map(unplaced, contest.drawn.values())]
        and own.options == own_drawing(work, known.settings).options
        and chose in ([], [work.chooses] * len(chose))
        and (work.missing is not None or contest.methods == tuple(taking_part(work, all_entrants(work)).methods))
    )


def outcome(work: Workspace, known: Finding[Contest]) -> None:
    """What is shown, and how far it can be trusted."""
    contest = known.value
    if not known.task.same(work.task):
        st.warning(
            f"The drawing, the data or their preparation have changed since: these results are of "
            f"{plain(contest.dataset_name)} as it was. Press **{START}** to compare anew."
        )
    elif not of_these(work, known):
        st.warning(
            "Settings, or the methods that take part, have changed since: these results are of what was chosen then. "
            f"Press **{START}** to compare anew."
        )
    else:
        for said in flattered(work):
            st.caption(plain(said))
    if not contest.complete:
        st.warning(
            f"Stopped after {len(contest.results)} of {contest.total} trainings; "
            + (
                f"shown is what all methods finished: {counted(contest.n_shared, 'fold')}."
                if contest.n_shared
                else "no fold was finished by all methods."
            )
        )
