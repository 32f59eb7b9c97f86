"""The checks of a drawing: what is wrong, what cannot work on the data, and the repair of each with one click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from spnmkl.kernels import KernelIssue
from spnmkl.kernels.sampling import MOST_EXAMINED
from spnmkl.structure import SPN, Issue
from spnmkl.structure.text import short_name
from spnmkl.training.checks import all_issues
from spnmkl.training.choose_width import WidthChoice, only
from spnmkl.training.scores import share_right
from spnmkl.ui.parts.canvas import receive
from spnmkl.ui.parts.following import REFRESHES, progress_bar, stop_button, words_of
from spnmkl.ui.parts.session import presence, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.task import found_for
from spnmkl.ui.state.workspace import Workspace

MOST_ISSUES = 20
ONE_WIDTH, BY_EVIDENCE = "One width by cross-validation", "Weights by evidence"


def list_checks(work: Workspace, issues: Sequence[Issue]) -> None:
    """All findings, each with its repair, and one button for all repairs where there are several."""
    if not issues:
        st.success("The structure is valid and fits the data.", icon=":material/check_circle:")
    by_itself = len({issue.repair for issue in issues if issue.repair and not isinstance(issue, KernelIssue)})
    repairs = by_itself + sum(isinstance(issue, KernelIssue) and bool(issue.repair) for issue in issues)
    if by_itself or repairs > 1:
        st.button(f"Repair {'it' if repairs == 1 else f'all {repairs}'}", type="primary", on_click=repair_all)
    for k, issue in enumerate(issues[:MOST_ISSUES]):
        show = st.error if issue.severity == "error" else st.warning
        if isinstance(issue, KernelIssue):
            show(plain(issue.message))
            offer_repair(work, issue, k)
        else:
            show(plain(issue.message) + (f" Repair: {plain(issue.repair)}" if issue.repair else ""))
    if len(issues) > MOST_ISSUES:
        st.caption(f"and {len(issues) - MOST_ISSUES} more")
    if len(work.drawing.spn.kernels) > MOST_EXAMINED:
        st.caption(f"On the data, the first {MOST_EXAMINED} different kernels were looked at.")


def repair_all() -> None:
    work = workspace()
    receive(work.drawing)
    spn = work.drawing.spn.repaired()
    for issue in all_issues(spn, work.dataset, work.choices):
        if isinstance(issue, KernelIssue):
            spn = issue.applied(spn)
    spn = work.kernel_checks.repaired(replace(work.task, spn=spn))
    work.drawing.push(spn, "Repaired.")


def offer_repair(work: Workspace, issue: KernelIssue, k: int) -> None:
    if issue.widths:
        offer_widths(work, issue, k)
    elif issue.repair:
        words = issue.repair[:1].upper() + issue.repair[1:]
        st.button(plain(words), key=f"repair_{k}", icon=":material/build:", on_click=make_repair, args=(issue,))


def make_repair(issue: KernelIssue) -> None:
    """Of a drawing that may have been edited by the same click: only where it is still found."""
    work = workspace()
    if receive(work.drawing):
        work.path = None
    if issue in [*work.issues, *work.kernel_issues]:
        work.drawing.push(issue.applied(work.drawing.spn), f"Repaired: {issue.repair}.")


def offer_widths(work: Workspace, issue: KernelIssue, k: int) -> None:
    """One width by cross-validation, which takes a while, or weights by evidence."""
    trainer = work.trainer
    if trainer.doing("width"):
        wait_for_width()
        return
    found = found_for(trainer.width, work.task, trainer.settings)
    if found is not None and tuple(found.accuracy) == issue.widths:
        show_widths(work.drawing.spn, found, k)
        return
    row = st.container(horizontal=True, gap="small")
    busy = trainer.working is not None
    row.button(ONE_WIDTH, key=f"width_{k}", disabled=busy, on_click=begin_choosing, args=(issue, presence()))
    row.button(BY_EVIDENCE, key=f"evidence_{k}", disabled=busy, on_click=take_evidence)


def begin_choosing(issue: KernelIssue, here: Callable[[], bool]) -> None:
    work = workspace()
    work.trainer.choose_width(work.task, work.trainer.settings, issue.widths, here)


def take_evidence() -> None:
    trainer = workspace().trainer
    trainer.take_settings(replace(trainer.settings, weights="evidence"))


@st.fragment(run_every=REFRESHES[0])
def wait_for_width() -> None:
    trainer = workspace().trainer
    activity = trainer.doing("width")
    if activity is None:
        workspace().collect()
        st.rerun()
    progress_bar(activity.job, f"Comparing widths: {words_of(activity.job)}")
    stop_button(activity.job, key="stop_width")


def show_widths(spn: SPN, found: WidthChoice, k: int) -> None:
    lines = [
        f"- {plain(short_name(spn, leaf))}: {share_right(accuracy)} ± {100 * found.error[leaf]:.1f}"
        + (" ← **to be kept**" if leaf == found.best else "")
        for leaf, accuracy in found.accuracy.items()
    ]
    st.markdown(
        f"Right on held-out folds of {found.n_rows:,} training rows, with each width alone and its best C, ± standard "
        "error over folds. To be kept: the widest within one standard error of the best.\n" + "\n".join(lines)
    )
    words = f"Keep {short_name(spn, found.best)} alone"
    st.button(plain(words), key=f"keep_{k}", icon=":material/check:", on_click=keep_width, args=(found,))


def keep_width(found: WidthChoice) -> None:
    work = workspace()
    if receive(work.drawing):
        work.path = None
    spn = work.drawing.spn
    if set(found.accuracy) <= set(spn.kernels):
        work.drawing.push(only(spn, tuple(found.accuracy), found.best), "One width.")
