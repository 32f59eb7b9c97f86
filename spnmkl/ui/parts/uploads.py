"""Files that somebody brings: how each was read, what can be corrected, and several made one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from spnmkl.data import Joined, Joining, ReadOptions, Table, join_files
from spnmkl.data.text_table import unique_names
from spnmkl.data.unpacking import SUFFIXES
from spnmkl.errors import SPNMKLError
from spnmkl.training.bring import labels_alone
from spnmkl.ui.parts.session import boundary
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.apart import Read, check_room, guess_apart, read_apart
from spnmkl.ui.state.uploaded_files import File, Readings, UploadedFiles

FORMATS = [suffix.removeprefix(".") for suffix in SUFFIXES]
TABLES, JOINED = "read_tables", "joined_tables"
MOST_SKIPPED = 10_000
ROWS_SHOWN, COLUMNS_SHOWN = 5, 50
IN_A_VIEW, FOUND = "in one of the views", "found by itself"
BY_ID, BY_ORDER = "an id column", "their order"
SEPARATORS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "spaces"}


def read_files(
    files: Sequence[File], readings: Readings, read: Read = read_apart, owner: object = None
) -> list[Table] | None:
    """Every file as it was read, open to correction, which `readings` keeps; None where one cannot be read.

    `owner` is what `read` depends on.
    """
    forget_others(files)
    tables = []
    for file in files:
        with boundary():
            table = _kept(file, "guessed", None, read, owner)
            size = f"{len(table.frame):,} rows × {table.frame.shape[1]:,} columns"
            with st.expander(f"{plain(file.name[:80])}: {size}. Read wrongly?"):
                table = corrected(table, file, readings, read, owner)
                preview(table)
            tables.append(table)
    return tables if len(tables) == len(files) else None


def forget_others(files: Sequence[File]) -> None:
    """Let go of the tables of all files but these."""
    kept, ids = st.session_state.setdefault(TABLES, {}), {file.file_id for file in files}
    gone = [place for place in kept if place[0] not in ids]
    for place in gone:
        del kept[place]
    if gone:
        st.session_state.pop(JOINED, None)


def _kept(file: File, which: str, options: ReadOptions | None, read: Read, owner: object) -> Table:
    """A file read by these options; kept by this tab alone."""
    kept, place = st.session_state.setdefault(TABLES, {}), (file.file_id, which)
    if place not in kept or kept[place][0] != options or kept[place][1] is not owner:
        kept.pop(place, None)
        check_room(file.name, [table for _, _, table in kept.values()])
        kept[place] = options, owner, read(file.name, file.getvalue(), options)
    return kept[place][2]


def corrected(table: Table, file: File, readings: Readings, read: Read, owner: object) -> Table:
    """The same file read by other options, if the person changes a guess."""
    options, fields, id = _reading(table, file, readings), st.columns(3), file.file_id

    # Streamlit keeps what is called on a change for long: neither the table nor the file may hang on it.
    def tied(name: str, shown: object, taken: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
        key = f"{name}_{id}"

        def take() -> None:
            now, value = readings.get(id, options), taken(st.session_state[key])
            if name == "skip":
                readings[id] = value
            elif isinstance(now, ReadOptions):
                readings[id] = replace(now, **{name: value})

        show(key, shown)
        return {"key": key, "on_change": take}

    if "skip" in table.settings:
        help = "Comments or a title above the row with the names: so many lines of the file are left out."
        fields[2].number_input("Lines above the table", 0, MOST_SKIPPED, help=help, **tied("skip", options.skip, int))
    if "separator" in table.settings:
        known = list(dict.fromkeys([*SEPARATORS, table.options.separator, options.separator]))
        separator = tied("separator", options.separator)
        fields[0].selectbox("Separator", known, format_func=lambda s: SEPARATORS.get(s, s), **separator)
    if "sheet" in table.settings and len(table.sheets) > 1:
        fields[0].selectbox("Sheet", table.sheets, **tied("sheet", options.sheet))
    if "decimal" in table.settings:
        fields[1].selectbox("Decimal sign", [".", ","], **tied("decimal", options.decimal))
    marks, encoding = st.columns([2, 1])
    if "missing" in table.settings:
        written = " ".join(filter(None, options.missing))
        marks.text_input("Marks of missing values", **tied("missing", written, lambda text: ("", *text.split())))
    if "encoding" in table.settings:
        known = list(dict.fromkeys([table.options.encoding, "utf-8", "utf-16", "cp1252", "latin-1", options.encoding]))
        encoding.selectbox("Encoding", known, **tied("encoding", options.encoding))
    if "header" in table.settings:
        st.checkbox("The first row holds names", **tied("header", options.header))
    if "transpose" in table.settings:
        st.checkbox("Samples are columns: transpose", **tied("transpose", options.transpose))
    return table if options == table.options else _kept(file, "corrected", options, read, owner)


def _reading(table: Table, file: File, readings: Readings) -> ReadOptions:
    """How a file is to be read; guessed anew where another number of lines above the table was given."""
    known = readings.get(file.file_id, table.options)
    if isinstance(known, ReadOptions):
        return known
    try:
        options = guess_apart(file.name, file.getvalue(), known)
    except SPNMKLError:  # said where the file is read
        options = replace(table.options, skip=known)
    readings[file.file_id] = options
    return options


def show(key: str, value: object) -> None:
    """What a widget shows, unless it shows it already: a value must not come back while the widget is moved on."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def preview(table: Table) -> None:
    """The file as it is written above the table as it is read."""
    if table.beginning:
        st.caption("The file begins:")
        st.code(table.beginning, language=None, line_numbers=True, height=min(38 + 21 * table.options.skip + 126, 300))
    st.caption("Read as:")
    st.dataframe(table.frame.iloc[:ROWS_SHOWN, :COLUMNS_SHOWN], hide_index=True)
    for note in table.notes:
        st.caption(plain(note))


def choose_joining(tables: Sequence[Table], uploaded: UploadedFiles, joining: Joining, found: Joined | None) -> None:
    """How several files belong together: one view each, by an id column or by row order; one may hold the labels."""
    names = unique_names(table.name for table in tables)[0]
    shared = shared_columns(tables)

    def take() -> None:
        holder, how, column = (st.session_state.get(key) for key in ("labels_in", "joined_by", "joined_on"))
        at = names.index(holder) if holder in names else None
        id_column = column if how == BY_ID and column in shared else None
        uploaded.joining = Joining("id" if how == BY_ID else "rows", id_column, at)

    labels, by = st.columns(2)
    alone = None if found is None or joining.labels is not None else labels_file(found, names)
    words = {IN_A_VIEW: IN_A_VIEW if alone is None else f"in {alone}, {FOUND}"}
    show("labels_in", IN_A_VIEW if joining.labels is None else names[joining.labels])
    offered = [IN_A_VIEW, *names]
    labels.selectbox("Labels are", offered, format_func=lambda at: words.get(at, at), key="labels_in", on_change=take)
    show("joined_by", BY_ID if joining.how == "id" else BY_ORDER)
    by.radio("Rows belong together by", [BY_ID, BY_ORDER], horizontal=True, key="joined_by", on_change=take)
    if joining.how == "id" and len(shared) > 1:
        show("joined_on", joining.id_column or FOUND)
        st.selectbox("Id column", [FOUND, *shared], key="joined_on", on_change=take)


def shared_columns(tables: Sequence[Table]) -> list[str]:
    return [name for name in tables[0].frame.columns if all(name in table.frame for table in tables[1:])]


def labels_file(found: Joined, names: Sequence[str]) -> str | None:
    """The file that was taken for one of labels alone."""
    label = labels_alone(found)
    views = list(found.views.values())
    return names[views.index((label,))] if label is not None and len(views) == len(names) else None


def join_tables(tables: Sequence[Table], uploaded: UploadedFiles) -> tuple[Joined, Joining]:
    """The files as one table, and how they were joined; several are joined once for each way."""
    if len(tables) == 1:
        return join_files(tables, Joining()), Joining()
    joining = uploaded.joining
    if joining.id_column not in shared_columns(tables):
        joining = replace(joining, id_column=None)
    asked, found = st.container(), None
    try:
        found = _joined(tables, joining)
    finally:  # where they do not fit, another way can be chosen
        with asked:
            choose_joining(tables, uploaded, joining, found)
    if len(found.report):
        st.dataframe(found.report, hide_index=True)
    for note in found.notes:
        st.caption(plain(note))
    return found, joining


def _joined(tables: Sequence[Table], joining: Joining) -> Joined:
    kept = st.session_state.get(JOINED)
    if kept is None or kept[0] != joining or [*map(id, kept[1])] != [*map(id, tables)]:
        st.session_state.pop(JOINED, None)  # free before another is made
        kept = st.session_state[JOINED] = joining, list(tables), join_files(tables, joining)
    return kept[2]
