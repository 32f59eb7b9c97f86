"""The Start page: what to do in the first minute, each with one click to something that moves."""

from __future__ import annotations

import streamlit as st

from spnmkl.data import SAMPLES
from spnmkl.errors import SPNMKLError
from spnmkl.reporting.glossary import explained
from spnmkl.structure.layout import unplaced
from spnmkl.study.lesson import TRUE, lesson_entrants
from spnmkl.training.checks import errors
from spnmkl.ui.parts.cards import bare, open_sample, picture_on_card, sample_drawing, sample_facts, thumbnail
from spnmkl.ui.parts.guided import guided_experiment
from spnmkl.ui.parts.session import boundary, heading, keeper, owner, presence, switch_project, theme, workspace
from spnmkl.ui.parts.uploads import FORMATS
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.uploaded_files import MOST_KEPT_BYTES
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

GUIDED = "start_guided"
FILES = "start_files"
SAMPLE = "start_sample"


def start_page() -> None:
    work = workspace()
    work.collect()
    if st.session_state.get(GUIDED, work.trainer.doing("lesson") is not None):
        if heading("Start — a guided experiment", "pages/design.py", "Next: draw your own").button(
            "Back", icon=":material/arrow_back:", key="start_back"
        ):
            st.session_state[GUIDED] = False
            st.rerun()
        guided_experiment(work)
        return
    heading("Start — draw how your data combine, and learn the best weights", "pages/design.py", "Next: draw")
    st.markdown(
        "A kernel tells how alike two samples are, seen through some columns. You draw how kernels are added and "
        "multiplied; training finds the weights that no others can beat, proves it, and shows which parts are not "
        "needed.",
        help=explained("kernel", "∘", "β"),
    )
    guided, sample, own = st.columns(3, gap="medium")
    with guided, st.container(border=True, height="stretch", key="card_guided"), boundary():
        guided_card(work)
    with sample, st.container(border=True, height="stretch", key="card_sample"), boundary():
        sample_card(work)
    with own, st.container(border=True, height="stretch", key="card_own"), boundary():
        own_card(work)
    go_on(work)


def guided_card(work: Workspace) -> None:
    """Half a minute in which weights and scores appear as trainings end."""
    st.markdown("##### See it learn")
    picture_on_card(thumbnail(bare(lesson_entrants().drawn[TRUE]), (), theme()))
    st.markdown(
        "Labels made by a structure that we know. Does training find it? Watch the weights and the scores appear, in "
        "about half a minute."
    )
    busy = work.trainer.working is not None and work.trainer.doing("lesson") is None
    if st.button(
        "Run the guided experiment", type="primary", icon=":material/play_arrow:", width="stretch", disabled=busy
    ):
        st.session_state[GUIDED] = True
        if work.trainer.lesson is None and work.trainer.working is None:
            work.trainer.teach(work.task, work.trainer.settings, presence())
        st.rerun()


def sample_card(work: Workspace) -> None:
    """A sample with a drawing, in training after one click."""
    st.markdown("##### Try a sample")
    name = st.session_state.get(SAMPLE, next(iter(SAMPLES)))
    picture_on_card(thumbnail(bare(sample_drawing(name)), (), theme()))
    st.selectbox(
        "Sample",
        list(SAMPLES),
        format_func=lambda name: SAMPLES[name].title.partition(":")[0],
        key=SAMPLE,
        label_visibility="collapsed",
    )
    st.markdown(f":small[{sample_facts(name)}]")
    busy = work.trainer.working is not None
    if st.button("Load it and train", icon=":material/play_arrow:", width="stretch", disabled=busy, key="try_sample"):
        open_sample(work, name)
        if not work.lacks_values and not errors(work.issues):
            work.begin_training(presence())
        st.switch_page("pages/train.py")


def own_card(work: Workspace) -> None:
    """Files given here are read on the Data page, which says how."""
    st.markdown("##### Bring your own data")
    files = st.file_uploader("Tables, or one file per view", type=FORMATS, accept_multiple_files=True, key=FILES)
    st.markdown(
        "CSV, TSV, Excel, Parquet, ARFF or LIBSVM, one sample per row, with a column for the class. You get a drawing "
        "over its columns. Nothing leaves this machine."
    )
    if files:
        work.files.keep(files)
        if work.files.kept:
            st.switch_page("pages/data.py")
        st.warning(
            f"Files above {MOST_KEPT_BYTES // 1_000_000} MB together are not carried from page to page: "
            "upload them on the page Data."
        )
    if st.button("How the columns are used", icon=":material/table:", width="stretch"):
        st.switch_page("pages/data.py")


def go_on(work: Workspace) -> None:
    """What was begun before."""
    runs, dataset = work.trainer.book.runs, work.dataset
    drawn = unplaced(work.drawing.spn) != unplaced(opening_structure(dataset))
    if not runs and not drawn:
        last_project()
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="go_on"):
        st.markdown(
            f"**Go on where you were**: {plain(dataset.name[:60])}, a drawing of "
            f"{counted(len(work.drawing.spn.kernels), 'kernel')}, {counted(len(runs), 'run')}.",
            width="content",
        )
        st.page_link("pages/design.py", label="The drawing", icon=":material/account_tree:")
        if runs:
            st.page_link("pages/inspect.py", label="What was learned", icon=":material/insights:")


def last_project() -> None:
    """What was worked on last, in a tab that has nothing of its own yet."""
    try:
        found = keeper().disk().catalog.projects(owner=owner())
    except SPNMKLError:  # said where projects are listed
        return
    for info in found[:1]:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="go_on"):
            data = f", {plain(info.dataset_name[:60])}" * (info.dataset_name not in ("", info.name))
            words = f"**Go on with your last project**: {plain(info.name)}{data}, {counted(info.n_runs, 'run')}."
            st.markdown(words, width="content")
            if st.button("Open it", icon=":material/folder_open:", key="open_last"):
                switch_project(info.id)
                st.switch_page("pages/design.py")
            st.page_link("pages/projects.py", label="All projects", icon=":material/folder:")
