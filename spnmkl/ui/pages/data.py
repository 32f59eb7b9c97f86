"""The Data page: samples and uploads, what the columns are for, and what will be done to them before training."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from spnmkl.charts import class_balance_chart
from spnmkl.data import (
    SAMPLES,
    Dataset,
    Joined,
    class_balance,
    load_sample,
    summarize,
    summarize_views,
)
from spnmkl.data.guarded import guarded_csv
from spnmkl.training.bring import guessed_dataset, roles_of_others
from spnmkl.ui.parts.cards import bare, open_sample, sample_drawing, sample_facts, thumbnail
from spnmkl.ui.parts.naming import rename_data
from spnmkl.ui.parts.preparing import choose_preparation, lacking_views, preparation_words
from spnmkl.ui.parts.project import missing_data
from spnmkl.ui.parts.session import boundary, fragment, heading, keeper, rerun, theme, workspace
from spnmkl.ui.parts.uploads import FORMATS, forget_others, join_tables, read_files
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_dataset
from spnmkl.ui.state.uploaded_files import MOST_KEPT_BYTES, File, UploadedFiles
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, name_some

MOST_SHOWN_COLUMNS = 50
FILES = "data_files"
PART = "data_part"
PARTS = SOURCE, COLUMNS, PREPARATION = "1 · Source", "2 · Columns", "3 · Preparation"
MOST_OFFERED = 500


@fragment
def data_page() -> None:
    work = workspace()
    heading("Data — bring the samples", "pages/design.py", "Next: draw the structure")
    missing_data(work, here=True)
    if PART not in st.session_state:
        st.session_state[PART] = part_to_finish(work)
    source, columns, preparation = st.tabs(PARTS, key=PART, on_change="rerun")
    with source, boundary():
        show_source(work, bool(source.open))
    if columns.open:
        with columns, boundary():
            choose_columns(work)
    if preparation.open:
        with preparation, boundary():
            choose_preparation(work)


def show_source(work: Workspace, is_open: bool) -> None:
    """Behind another tab only the uploader is sent, which would forget its files."""
    loaded_now = st.container()
    choose_source(work, is_open)
    if is_open:
        frame = work.dataset.frame
        loaded_now.markdown(
            f"Loaded: **{plain(work.dataset.name[:100])}** · {len(frame):,} rows · {frame.shape[1]:,} columns"
        )
        rename_data(work)
        preview(work.dataset)


def part_to_finish(work: Workspace) -> str:
    """The tab to open on: where something keeps these data from being trained on."""
    if work.missing is not None:
        return SOURCE
    return COLUMNS if work.dataset.label is None else PREPARATION if work.lacks_values else SOURCE


def choose_source(work: Workspace, is_open: bool) -> None:
    own, sample = st.columns([2, 3], gap="medium")
    if is_open:
        with sample, st.container(border=True):
            st.markdown("**Try a sample**")
            sample_cards(work)
    with own, st.container(border=True):
        st.markdown("**Bring your own**", help="One table, or one file per view; labels may be in a file of their own.")
        files = given_files(work)
        if not is_open:
            return
        if work.uploaded:
            loaded(work)
        if files is work.files.kept:
            uploaded_before(work)
        if files:
            uploaded(work, files)
        else:
            forget_others([])


def sample_cards(work: Workspace) -> None:
    """Every sample with the drawing that it opens on."""
    columns = [column for _ in range(0, len(SAMPLES), 3) for column in st.columns(3, gap="small")]
    for column, (name, sample) in zip(columns, SAMPLES.items(), strict=False):
        with column.container(border=True, height="stretch", key=f"sample_{name}", gap="xsmall"):
            title = sample.title.partition(":")[0]
            st.markdown(f"**{title}**", help=f"{sample.title}.\n\n{sample.card}")
            st.image(thumbnail(bare(sample_drawing(name)), (), theme()), width="stretch")
            st.caption(sample_facts(name))
            st.button(f"Load {title}", key=f"load_{name}", on_click=lambda name=name: work.bring(load_sample(name)))
            if sample.drawing is not None and st.button("And its drawing", key=f"draw_{name}"):
                open_sample(work, name)
                st.switch_page("pages/train.py")


def uploaded_before(work: Workspace) -> None:
    if work.files.dropped:
        st.caption(
            "The files uploaded before are no longer kept, because others needed the room: upload them again to change "
            "how they are read. The data that are loaded stay."
        )
    if work.files.kept:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(
                "**Uploaded before**",
                help="Kept for this visit, so that you can still change how it is read.",
                width="content",
            )
            st.button("Forget", on_click=work.forget_files, help="The data that are loaded stay.")


def given_files(work: Workspace) -> Sequence[File]:
    """The files in the uploader, or those that were there before the page was left."""

    def cleared() -> None:
        if not st.session_state[FILES]:
            work.files = UploadedFiles()

    files = st.file_uploader(
        "Tables or kernel matrices", type=FORMATS, accept_multiple_files=True, key=FILES, on_change=cleared
    )
    st.caption("CSV, TSV, Excel, Parquet, ARFF, LIBSVM, also gzipped; .npz or .mat with kernel matrices.")
    if files:
        work.files.keep(files)
        if not work.files.kept and not work.files.dropped:
            st.caption(
                f"More than {MOST_KEPT_BYTES // 10**6} MB are not kept with this visit: correct how they are read "
                "before you leave this page, or upload them again."
            )
        return files
    keeper().fetch_files(work)
    return work.files.kept


def uploaded(work: Workspace, files: Sequence[File]) -> None:
    """Show how the files were read and let the guesses be corrected; what they give is taken at once."""
    ending = st.container()
    tables = read_files(files, work.files.readings)
    if tables is None:
        return
    found, joining = join_tables(tables, work.files)
    read = tuple(file.file_id for file in files), (tuple(table.options for table in tables), joining)
    if read != work.files.read_last:
        work.files.read_last = read
        take(work, files, found, read)
        rerun()
    same = work.uploaded and work.arrival is not None and work.arrival.read == read
    if not (same or found.frame.equals(work.dataset.frame)):
        ending.button("Use these data", type="primary", on_click=take, args=(work, files, found, read))
    if len(files) > 1:
        st.download_button(
            "Joined table (CSV)",
            lambda: guarded_csv(found.frame),
            "joined.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )


def loaded(work: Workspace) -> None:
    """What came of the files, also when they are no longer listed, and the way back."""
    st.success(" ".join(loaded_words(work)), icon=":material/check:")
    lacking_views(work)
    if work.before is not None:
        help = f"Back to {plain(work.before.dataset.name[:60])}, with what was chosen for it."
        st.button("Undo", icon=":material/undo:", on_click=work.undo_upload, help=help)


def loaded_words(work: Workspace) -> list[str]:
    dataset = work.dataset
    label = f"The label is **{plain(dataset.label[:60])}**" if dataset.label else "**No label was found**"
    words = [f"Loaded {plain(dataset.name[:60])}.", f"{label}: see *{COLUMNS}*."]
    read = work.arrival.read if work.arrival else None
    several = read is not None and isinstance(read[0], tuple) and len(read[0]) > 1
    words += [plain(sentence) for sentence in roles_of_others(dataset, several)]
    if dataset.n_unlabelled:
        words.append(f"{counted(dataset.n_unlabelled, 'row')} without a label: left out.")
    if work.lacks_views_alone:
        words.append("**Rows lack a whole view**: before training, choose below what becomes of them.")
    elif work.lacks_values:
        words.append(f"**Values are missing**: before training, choose what to do in *{PREPARATION}*.")
    if prepared := preparation_words(work):
        words.append(f"Prepared {plain(prepared)}: see *{PREPARATION}*.")
    return words


def take(work: Workspace, files: Sequence[File], found: Joined, read: tuple[object, object]) -> None:
    name = files[0].name if len(files) == 1 else f"{len(files)} files"
    work.upload(guessed_dataset(name, found), read)


def preview(dataset: Dataset) -> None:
    frame = dataset.frame
    if dataset.matrices:
        st.caption(f"{len(dataset.matrices)} kernel matrices: {plain(', '.join(list(dataset.matrices)[:10]))}")
    shown = frame.iloc[:100, :MOST_SHOWN_COLUMNS]
    st.dataframe(shown.set_axis(range(1, len(shown) + 1)), height=240)
    if frame.shape[1] > MOST_SHOWN_COLUMNS or len(frame) > 100:
        st.caption(f"The first {len(shown)} rows and {shown.shape[1]} columns.")


def choose_columns(work: Workspace) -> None:
    dataset = work.dataset
    left, right = st.columns([2, 3], gap="large")
    with left:
        label_and_group(work)
        if dataset.label is not None:
            with boundary():
                balance = class_balance(dataset)
                if len(balance):
                    st.altair_chart(class_balance_chart(balance), width="stretch")
                else:
                    st.caption("No row has a label.")
    with right:
        choose_views(work)
    st.markdown("**Columns**")
    table = summary_of(dataset)
    st.dataframe(
        table.head(MOST_OFFERED),
        hide_index=True,
        height=280,
        placeholder="",
        column_config={"histogram": st.column_config.BarChartColumn("values", width="small")},
    )
    if len(table) > MOST_OFFERED:
        st.caption(f"The first {MOST_OFFERED} of {len(table):,} columns.")


summary_of = kept_with_dataset(summarize)


def label_and_group(work: Workspace) -> None:
    """Which column holds the classes, which one the groups, which are left out."""
    dataset, columns = work.dataset, offered(work.dataset)
    label = st.selectbox(
        "Label: the column with the classes",
        columns,
        columns.index(dataset.label) if dataset.label in columns else None,
        placeholder="choose a column",
    )
    group = st.selectbox(
        "Group, if samples belong together (patient, batch)",
        ["none", *columns],
        columns.index(dataset.group) + 1 if dataset.group in columns else 0,
        help="Whole groups go to training or to test, so that a patient never helps to predict himself.",
    )
    adjust = st.multiselect(
        "Adjust for (age, batch)",
        [c for c in columns if c != label],
        [c for c in dataset.adjust if c in columns and c != label],
        help="What these columns tell of each of the others, by a straight line or by a mean for each of few values, "
        "is learned from the training rows and taken away. No kernel sees them, so that they have no weight and no "
        "share. What is not linear stays. Where they go with the label, part of what tells the classes apart goes too.",
    )
    ignored = st.multiselect("Columns to ignore", columns, [c for c in dataset.ignored if c in columns])
    changed = dataset.with_label(label).with_group(None if group in ("none", label) else group)
    hidden = [c for c in dataset.ignored if c not in columns]
    changed = changed.with_ignored([*ignored, *hidden]).with_adjust(adjust)
    if use_of(changed) != use_of(dataset):
        work.use(changed)
        rerun()


def use_of(dataset: Dataset) -> tuple[object, ...]:
    return dataset.label, dataset.group, set(dataset.ignored), set(dataset.adjust)


def offered(dataset: Dataset) -> list[str]:
    """The columns a widget offers: all of a usual table; of a very wide one the first, the last and those in use."""
    columns = list(dataset.frame.columns)
    if len(columns) <= MOST_OFFERED:
        return columns
    used = [c for c in (dataset.label, dataset.group, *dataset.adjust) if c is not None]
    return list(dict.fromkeys([*used, *columns[: MOST_OFFERED // 2], *columns[-MOST_OFFERED // 2 :]]))


def choose_views(work: Workspace) -> None:
    st.markdown(
        "**Views**", help="Groups of columns that belong together: a source, a scale, a sensor. Templates use them."
    )
    dataset = work.dataset
    prefix, separator = st.columns([2, 1], vertical_alignment="bottom")
    mark = separator.text_input("Separator", "__", max_chars=5)
    if prefix.button("Views from the beginnings of the names", disabled=not mark):
        found = dataset.views_by_prefix(mark)
        if found.views:
            work.use(found)
            rerun()
        st.warning(f"No two names begin alike before {plain(mark)}; try another separator, such as \\_ or a point.")
    if dataset.views:
        st.dataframe(summarize_views(dataset), hide_index=True)
    else:
        st.caption("No views yet: kernels see all columns, or the ones you choose.")
    with st.expander("Make a view by hand"):
        name = st.text_input("Name of the view", max_chars=60)
        members = choose_members(dataset)
        if st.button("Add the view", disabled=not (name and members)):
            work.use(dataset.with_views({**dataset.views, name: members}))
            rerun()
        gone = st.multiselect("Remove views", list(dataset.views))
        if st.button("Remove", disabled=not gone):
            work.use(dataset.with_views({v: c for v, c in dataset.views.items() if v not in gone}))
            rerun()


def choose_members(dataset: Dataset) -> list[str]:
    """The columns of a view: by a part of their names, by hand, or both."""
    named, ticked = st.columns(2)
    part = named.text_input("Columns whose name contains", max_chars=100)
    usable = set(dataset.features)
    chosen = set(ticked.multiselect("And these columns", [c for c in offered(dataset) if c in usable]))
    members = [c for c in dataset.features if c in chosen or (part and part.lower() in c.lower())]
    if members:
        st.caption(f"{counted(len(members), 'column')}: {plain(name_some(members))}.")
    else:
        st.caption("No column has this in its name." if part else "Type a part of the names, or choose columns.")
    return members
