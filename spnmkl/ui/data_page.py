"""The Data page: samples and uploads, what the columns are for, and what will be done to them before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.runtime.uploaded_file_manager import UploadedFile

from spnmkl.charts import class_balance_chart
from spnmkl.data import (
    SAMPLES,
    Choices,
    Dataset,
    Joined,
    ReadOptions,
    Table,
    attach_labels,
    class_balance,
    join_views,
    load_sample,
    problems,
    read_file,
    split_rows,
    summarize,
)
from spnmkl.data.text_table import unique_names
from spnmkl.errors import DataError, SPNMKLError
from spnmkl.ui.keeping import kept_with_dataset
from spnmkl.ui.project import missing_data
from spnmkl.ui.session import boundary, fragment, rerun, workspace
from spnmkl.ui.store import Workspace
from spnmkl.ui.words import plain

FORMATS = ["csv", "tsv", "txt", "gz", "xlsx", "parquet", "arff", "svmlight", "libsvm", "npz", "mat"]
MOST_SHOWN_COLUMNS = 50
TABLES = "read_tables"
MOST_OFFERED = 500
SEPARATORS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "spaces"}
NUMERIC_WORDS = {"standardize": "standardise (mean 0, deviation 1)", "as is": "leave as they are"}
MISSING_WORDS = {
    "refuse": "none are expected: refuse to train",
    "mean": "fill with the column's mean",
    "median": "fill with the column's median",
    "drop rows": "leave out the rows",
    "drop columns": "leave out the columns",
}
CATEGORICAL_WORDS = {
    "codes": "compare as they are (Hamming kernel)",
    "one-hot": "one column per category",
    "drop": "leave them out",
}


@fragment
def data_page() -> None:
    work = workspace()
    missing_data(work, here=True)
    source, columns, preparation = st.tabs(["1 · Source", "2 · Columns", "3 · Preparation"])
    with source, boundary():
        choose_source(work)
        preview(work.dataset)
    with columns, boundary():
        choose_columns(work)
    with preparation, boundary():
        choose_preparation(work)


def choose_source(work: Workspace) -> None:
    own, sample = st.columns(2, gap="large")
    with sample, st.container(border=True):
        st.markdown("**Try a sample**")
        names = list(SAMPLES)
        at = names.index(work.dataset.name) if work.dataset.name in names else 0
        name = st.selectbox("Sample", names, at, format_func=lambda n: SAMPLES[n].title, label_visibility="collapsed")
        st.markdown(SAMPLES[name].card)
        st.button("Load this sample", on_click=lambda: work.bring(load_sample(name)))
        drawing = SAMPLES[name].drawing
        if drawing is not None and st.button("Load it with a drawing to try"):
            work.bring(load_sample(name))
            work.drawing.push(drawing, "A drawing to try: press Train.", fit=True)
            st.switch_page("pages/train.py")
    with own, st.container(border=True):
        st.markdown("**Bring your own**", help="One table, or one file per view; labels may be in a file of their own.")
        files = st.file_uploader(
            "Tables or kernel matrices", type=FORMATS, accept_multiple_files=True, key="data_files"
        )
        st.caption("CSV, TSV, Excel, Parquet, ARFF, LIBSVM, also gzipped; .npz or .mat with kernel matrices.")
        forget_others(files)
        if files:
            uploaded(work, files)


def uploaded(work: Workspace, files: list[UploadedFile]) -> None:
    """Show how the files were read, let the guesses be corrected, and load the result."""
    tables: list[Table] = []
    for file in files:
        with boundary():
            table = read_once(file)
            size = f"{len(table.frame):,} rows × {table.frame.shape[1]:,} columns"
            with st.expander(f"{plain(file.name[:80])}: {size}"):
                table = corrected(table, file)
                for note in table.notes:
                    st.caption(plain(note))
            tables.append(table)
    if len(tables) < len(files) or not tables:
        return
    found = (
        joined(tables) if len(tables) > 1 else Joined(tables[0].frame, {}, pd.DataFrame(), matrices=tables[0].matrices)
    )
    if found is not None and st.button("Use these data", type="primary"):
        name = files[0].name if len(files) == 1 else f"{len(files)} files"
        dataset = Dataset.guess(name, found.frame, found.matrices)
        work.bring(dataset.with_views(found.views) if found.views else dataset)
        st.rerun()


def read_once(file: UploadedFile, options: ReadOptions | None = None) -> Table:
    """A file as it is guessed, or as it was corrected last; kept by this tab alone."""
    kept, place = st.session_state.setdefault(TABLES, {}), (file.file_id, options is None)
    if place not in kept or kept[place][0] != options:
        kept[place] = options, read_file(file.name, file.getvalue(), options)
    return kept[place][1]


def forget_others(files: Sequence[UploadedFile]) -> None:
    """Let go of the tables of all files but these."""
    kept, ids = st.session_state.setdefault(TABLES, {}), {file.file_id for file in files}
    for place in [place for place in kept if place[0] not in ids]:
        del kept[place]


def corrected(table: Table, file: UploadedFile) -> Table:
    """The same file read by other options, if the person changes a guess."""
    options, fields, k = table.options, st.columns(3), file.file_id
    if "separator" in table.settings:
        known = list(dict.fromkeys([*SEPARATORS, options.separator]))
        separator = fields[0].selectbox(
            "Separator",
            known,
            known.index(options.separator),
            format_func=lambda s: SEPARATORS.get(s, s),
            key=f"sep_{k}",
        )
        encodings = list(dict.fromkeys([options.encoding, "utf-8", "utf-16", "cp1252", "latin-1"]))
        options = replace(
            options, separator=separator, encoding=fields[2].selectbox("Encoding", encodings, key=f"enc_{k}")
        )
    if "decimal" in table.settings:
        decimal = fields[1].selectbox("Decimal sign", [".", ","], int(options.decimal == ","), key=f"dec_{k}")
        marks = st.text_input("Marks of missing values", " ".join(m for m in options.missing if m), key=f"miss_{k}")
        options = replace(options, decimal=decimal, missing=("", *marks.split()))
    if "sheet" in table.settings and len(table.sheets) > 1:
        options = replace(options, sheet=fields[0].selectbox("Sheet", table.sheets, key=f"sheet_{k}"))
    if "header" in table.settings:
        options = replace(options, header=st.checkbox("The first row holds names", options.header, key=f"head_{k}"))
    if "transpose" in table.settings:
        turned = st.checkbox("Samples are columns: transpose", options.transpose, key=f"turn_{k}")
        options = replace(options, transpose=turned)
    if set(options.missing) == set(table.options.missing):
        options = replace(options, missing=table.options.missing)
    return table if options == table.options else read_once(file, options)


def joined(tables: list[Table]) -> Joined | None:
    """Several files: one view each, joined by an id column or by row order; one may hold the labels."""
    named = dict(zip(unique_names(table.name for table in tables)[0], tables, strict=True))
    labels = named.get(st.selectbox("Labels are", ["in one of the views", *named], key="labels_in"))
    views = [table for table in tables if table is not labels]
    by_id = st.radio("Rows belong together by", ["an id column", "their order"], horizontal=True) == "an id column"
    found = (
        join_views(views, "id" if by_id else "rows")
        if len(views) > 1
        else Joined(
            views[0].frame, {views[0].view: tuple(views[0].frame.columns)}, pd.DataFrame(), matrices=views[0].matrices
        )
    )
    if labels is not None:
        labelled = attach_labels(found.frame, labels)
        found = replace(found, frame=labelled.frame, notes=(*found.notes, *labelled.notes))
    if len(found.report):
        st.dataframe(found.report, hide_index=True)
    for note in found.notes:
        st.caption(plain(note))
    return found


def preview(dataset: Dataset) -> None:
    frame = dataset.frame
    st.markdown(f"Loaded: **{plain(dataset.name[:100])}** · {len(frame):,} rows · {frame.shape[1]:,} columns")
    if dataset.matrices:
        st.caption(f"{len(dataset.matrices)} kernel matrices: {plain(', '.join(list(dataset.matrices)[:10]))}")
    shown = frame.iloc[:100, :MOST_SHOWN_COLUMNS]
    st.dataframe(shown, height=240)
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
    ignored = st.multiselect("Columns to ignore", columns, [c for c in dataset.ignored if c in columns])
    changed = dataset.with_label(label).with_group(None if group in ("none", label) else group)
    hidden = [c for c in dataset.ignored if c not in columns]
    changed = changed.with_ignored([*ignored, *hidden])
    same = (changed.label, changed.group, set(changed.ignored)) == (dataset.label, dataset.group, set(dataset.ignored))
    if not same:
        work.dataset = changed
        rerun()


def offered(dataset: Dataset) -> list[str]:
    """The columns a widget offers: all of a usual table; of a very wide one the first, the last and those in use."""
    columns = list(dataset.frame.columns)
    if len(columns) <= MOST_OFFERED:
        return columns
    used = [c for c in (dataset.label, dataset.group) if c is not None]
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
            work.dataset = found
            rerun()
        st.warning(f"No two names begin alike before {plain(mark)}; try another separator, such as \\_ or a point.")
    if dataset.views:
        st.dataframe(
            pd.DataFrame(
                {
                    "view": list(dataset.views),
                    "columns": [len(columns) for columns in dataset.views.values()],
                    "such as": [", ".join(columns[:4]) for columns in dataset.views.values()],
                }
            ),
            hide_index=True,
        )
    else:
        st.caption("No views yet: kernels see all columns, or the ones you choose.")
    with st.expander("Make a view by hand"):
        name = st.text_input("Name of the view", max_chars=60)
        part = st.text_input("Columns whose name contains", max_chars=100)
        matches = [c for c in dataset.features if part and part.lower() in c.lower()]
        st.caption(f"{len(matches):,} columns match." if part else "Type a part of the names.")
        if st.button("Add the view", disabled=not (name and matches)):
            work.dataset = dataset.with_views({**dataset.views, name: matches})
            rerun()
        gone = st.multiselect("Remove views", list(dataset.views))
        if st.button("Remove", disabled=not gone):
            work.dataset = dataset.with_views({v: c for v, c in dataset.views.items() if v not in gone})
            rerun()


def choose_preparation(work: Workspace) -> None:
    """Choices about numbers, holes and categories, said before training; everything is fitted on training rows only."""
    choices, settings = work.choices, work.split
    left, right = st.columns(2, gap="large")
    with left:
        numeric = _choice("Numeric columns", NUMERIC_WORDS, choices.numeric)
        missing = _choice("Missing values", MISSING_WORDS, choices.missing)
        categorical = _choice("Categorical columns", CATEGORICAL_WORDS, choices.categorical)
        work.choices = Choices(numeric, missing, categorical)
    with right:
        share = st.slider("Rows held out for the test", 0.1, 0.5, settings.test_share, 0.05, format="percent")
        seed = st.number_input("Seed of the split", 0, 10**6, settings.seed)
        work.split = replace(settings, test_share=share, seed=int(seed))
        try:
            # Without matrices, which would be cut with the rows.
            parts = split_rows(replace(work.dataset, matrices={}).labelled(), share, int(seed))
        except SPNMKLError as error:
            st.warning(plain(error))
        else:
            how = f", whole groups of {plain(work.dataset.group)}" if work.dataset.group else ", stratified by class"
            train, test = (usable(work, rows) for rows in (parts.train, parts.test))
            st.caption(f"{train:,} rows to train on, {test:,} to test{how}.")
    st.markdown("**What will happen before training**")
    try:
        notes = problems(work.dataset, work.choices)
    except DataError as error:
        st.error(plain(error))
        return
    for note in notes:
        st.markdown(f"- {plain(note)}")
    st.caption(
        "Means, scales, fill values and categories are taken from the training rows only and travel with the model."
    )


def usable(work: Workspace, rows: NDArray) -> int:
    """How many of these rows are left where those with missing values are not used."""
    if work.choices.missing != "drop rows":
        return len(rows)
    labelled = replace(work.dataset, matrices={}).labelled()
    return int(labelled.frame[list(labelled.features)].iloc[rows].notna().all(axis=1).sum())


def _choice(title: str, words: dict[str, str], current: str) -> Any:
    options = list(words)
    return st.radio(title, options, options.index(current), format_func=words.__getitem__)
