"""The guided experiment: labels from a known structure, learned by it and by a flat sum, and what the weights show."""

from __future__ import annotations

import streamlit as st

from spnmkl.charts.comparison import learning_chart
from spnmkl.reporting.glossary import explained
from spnmkl.study.lesson import (
    BRANCHES,
    FLAT,
    RIVALS,
    SIZES,
    TRUE,
    Lesson,
    accuracy_finding,
    lesson_data,
    lesson_drawing,
    lesson_entrants,
    weights_finding,
)
from spnmkl.ui.parts.following import keep_up, progress_bar, refreshing, start_or_stop, words_of
from spnmkl.ui.parts.runs_beside import gallery, picture
from spnmkl.ui.parts.session import boundary, presence, theme, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

START = "Run the experiment"


def guided_experiment(work: Workspace) -> None:
    refresh = refreshing(work.trainer)
    st.fragment(experiment, run_every=refresh)(refresh)


def experiment(refresh: float | None) -> None:
    with boundary():
        work = workspace()
        trainer = work.trainer
        keep_up(trainer, refresh)
        working = trainer.doing("lesson")
        running, found = working is not None, working.so_far if working else trainer.lesson
        lesson = found if isinstance(found, Lesson) and found.results else None
        left, right = st.columns([5, 9], gap="large")
        with left:
            question(work)
        with right:
            progress(trainer)
            if lesson is not None:
                accuracy(lesson, running)
                if running or BRANCHES in lesson.portraits:
                    branches(work, lesson, running)
            elif not running:
                st.info(
                    "Does it help to know the structure, and can the weights tell which structure is the right one? "
                    f"Press **{START}** to see."
                )
                drawn = lesson_entrants().drawn
                gallery({name: (picture(drawn[name], (), frozenset(), theme()), "") for name in RIVALS}, "drawn", 2)
        if lesson is not None:
            rivals(lesson)


def question(work: Workspace) -> None:
    drawn = lesson_entrants().drawn
    st.markdown(
        "**1 · Labels whose structure is known**\n\nThe sample has 400 rows and two views of four columns, u and v. "
        "Its labels were drawn from one structure, which multiplies two sums:",
        help=explained("kernel", "β", "∘"),
    )
    st.container(key="formula_true").latex(drawn[TRUE].formula())
    st.markdown("So columns of *both* views matter *together*; four of the eight columns are noise.")
    st.markdown(
        "**2 · Two rivals over the same four kernels**\n\nThe true structure, and the flat sum of classical multiple "
        "kernel learning, which weighs the kernels but cannot multiply them:"
    )
    st.container(key="formula_flat").latex(drawn[FLAT].formula())
    st.markdown(
        f"Both learn from {', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} rows, and answer rows they never saw."
    )
    trainer = work.trainer
    start_or_stop(trainer, "lesson", START, trainer.teach, work.task, trainer.settings, presence())
    working = trainer.working
    if working is None:
        st.caption("About half a minute. Your data and your drawing stay as they are.")
    elif working.kind != "lesson":
        st.caption("Something else is being trained; this can start once it has ended.")


def progress(trainer: Trainer) -> None:
    if working := trainer.doing("lesson"):
        job = working.job
        progress_bar(job, f"{words_of(job)} · {job.seconds:.0f} s")
    elif trainer.failure and trainer.failure.kind == "lesson":
        st.error(plain(trainer.failure.message))


def accuracy(lesson: Lesson, running: bool) -> None:
    if not running and not lesson.complete:
        st.warning("Stopped before the end; shown is what was done.")
    st.markdown("**3 · Structure against none**")
    if running or not len(lesson.curve):
        so_far(lesson)
    if not len(lesson.curve):
        return
    st.altair_chart(learning_chart(lesson.curve), width="stretch")
    st.markdown(plain(accuracy_finding(lesson)))
    st.caption(
        "Mean over 5 folds ± one standard error, corrected for overlap. Same kernels, same rows, C chosen in the same "
        "way: only the structure differs. A sum adds what each column says alone; that two columns matter together is "
        "lost on it."
    )


def so_far(lesson: Lesson) -> None:
    """The rivals on the folds that are done with the present number of rows."""
    size, shares = lesson.latest
    for place, name in zip(st.columns(len(RIVALS)), RIVALS, strict=True):
        mean = sum(shares[name]) / len(shares[name]) if shares[name] else None
        words = f"{name}, {size} rows, {counted(len(shares[name]), 'fold')} done"
        place.metric(words, "–" if mean is None else f"{100 * mean:.1f} %", border=True)


def branches(work: Workspace, lesson: Lesson, running: bool) -> None:
    """The drawing whose weights are learned anew with every number of rows."""
    st.markdown("**4 · And if nobody had told us the structure?**")
    found = lesson.portraits.get(BRANCHES)
    if found is None:
        st.caption("The true branch beside one of noise and two that only add. Its weights appear here in a moment.")
        spn = lesson_drawing()
        gallery({BRANCHES: (picture(spn, (), frozenset(), theme()), "weights not learned yet")}, "branches", 1)
        return
    st.caption("The true branch beside one of noise and two that only add. Larger and darker: heavier. Dashed: pruned.")
    gallery({BRANCHES: (_picture(lesson, BRANCHES), f"learned from {found.rows} rows")}, "branches", 1)
    st.markdown(plain(weights_finding(found)))
    if not running and set(RIVALS) <= set(lesson.portraits):
        st.markdown("So the weights can be read: training found the branch that made the labels.")
        open_it(work)


def rivals(lesson: Lesson) -> None:
    if set(RIVALS) <= set(lesson.portraits):
        st.markdown("**The rivals' weights**")
        gallery({name: (_picture(lesson, name), "") for name in RIVALS}, "rival", 2)
        st.caption("Trained on all rows. Both keep all four kernels: none of them is noise.")


def _picture(lesson: Lesson, name: str) -> str:
    portrait = lesson.portraits[name]
    return picture(portrait.spn, tuple(portrait.beta.items()), frozenset(), theme())


def open_it(work: Workspace) -> None:
    st.markdown("**5 · Go on yourself**")
    with st.popover("Open this in Design", icon=":material/account_tree:"):
        st.markdown("The sample and the four branches take the place of your data and your drawing; runs are kept.")
        if st.button("Replace them", type="primary", key="open_lesson"):
            work.bring(lesson_data())
            work.drawing.push(lesson_drawing(), "The four branches: press Train.", fit=True)
            st.switch_page("pages/design.py")
