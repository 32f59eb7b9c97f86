"""Files that somebody brings: how each was read, what can be corrected, and several made one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from spnmkl.data import Joined, Joining, ReadOptions, Table, guess_options, join_files, read_file
from spnmkl.data.text_table import unique_names
from spnmkl.ui.session import boundary
from spnmkl.ui.words import plain

Read = Callable[[str, bytes, ReadOptions | None], Table]

FORMATS = ["csv", "tsv", "txt", "gz", "xlsx", "parquet", "arff", "svmlight", "libsvm", "npz", "mat"]
TABLES, JOINED = "read_tables", "joined_tables"
MOST_SKIPPED = 10_000
ROWS_SHOWN, COLUMNS_SHOWN = 5, 50
IN_A_VIEW, FOUND = "in one of the views", "found by itself"
BY_ID, BY_ORDER = "an id column", "their order"
SEPARATORS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "spaces"}


def read_files(files: Sequence[UploadedFile], read: Read = read_file, owner: object = None) -> list[Table] | None:
    """Every file as it was read, open to correction; None where one cannot be. `owner` is what `read` depends on."""
    forget_others(files)
    tables = []
    for file in files:
        with boundary():
            table = _kept(file, "guessed", None, read, owner)
            size = f"{len(table.frame):,} rows × {table.frame.shape[1]:,} columns"
            with st.expander(f"{plain(file.name[:80])}: {size}. Read wrongly?"):
                table = corrected(table, file, read, owner)
                preview(table)
            tables.append(table)
    return tables if len(tables) == len(files) else None


def forget_others(files: Sequence[UploadedFile]) -> None:
    """Let go of the tables of all files but these."""
    kept, ids = st.session_state.setdefault(TABLES, {}), {file.file_id for file in files}
    gone = [place for place in kept if place[0] not in ids]
    for place in gone:
        del kept[place]
    if gone:
        st.session_state.pop(JOINED, None)


def _kept(file: UploadedFile, which: str, options: ReadOptions | int | None, read: Read, owner: object) -> Table:
    """A file read by these options, or below so many lines; kept by this tab alone."""
    kept, place = st.session_state.setdefault(TABLES, {}), (file.file_id, which)
    if place not in kept or kept[place][0] != options or kept[place][1] is not owner:
        data = file.getvalue()
        given = guess_options(file.name, data, options) if isinstance(options, int) else options
        kept[place] = options, owner, read(file.name, data, given)
    return kept[place][2]


def corrected(table: Table, file: UploadedFile, read: Read, owner: object) -> Table:
    """The same file read by other options, if the person changes a guess."""
    fields, k = st.columns(3), file.file_id
    if "skip" in table.settings:
        skip = fields[2].number_input(
            "Lines above the table",
            0,
            MOST_SKIPPED,
            table.options.skip,
            key=f"skip_{k}",
            help="Comments or a title above the row with the names: so many lines of the file are left out.",
        )
        if skip != table.options.skip:
            table, k = _kept(file, "skipping", int(skip), read, owner), f"{k}_{skip}"
    options = table.options
    if "separator" in table.settings:
        known = list(dict.fromkeys([*SEPARATORS, options.separator]))
        at = known.index(options.separator)
        separator = fields[0].selectbox(
            "Separator", known, at, format_func=lambda s: SEPARATORS.get(s, s), key=f"sep_{k}"
        )
        options = replace(options, separator=separator)
    if "sheet" in table.settings and len(table.sheets) > 1:
        options = replace(options, sheet=fields[0].selectbox("Sheet", table.sheets, key=f"sheet_{k}"))
    if "decimal" in table.settings:
        decimal = fields[1].selectbox("Decimal sign", [".", ","], int(options.decimal == ","), key=f"dec_{k}")
        options = replace(options, decimal=decimal)
    marks, encoding = st.columns([2, 1])
    if "missing" in table.settings:
        written = marks.text_input("Marks of missing values", " ".join(filter(None, options.missing)), key=f"miss_{k}")
        given = "", *written.split()
        options = options if set(given) == set(options.missing) else replace(options, missing=given)
    if "encoding" in table.settings:
        encodings = list(dict.fromkeys([options.encoding, "utf-8", "utf-16", "cp1252", "latin-1"]))
        options = replace(options, encoding=encoding.selectbox("Encoding", encodings, key=f"enc_{k}"))
    if "header" in table.settings:
        options = replace(options, header=st.checkbox("The first row holds names", options.header, key=f"head_{k}"))
    if "transpose" in table.settings:
        turned = st.checkbox("Samples are columns: transpose", options.transpose, key=f"turn_{k}")
        options = replace(options, transpose=turned)
    return table if options == table.options else _kept(file, "corrected", options, read, owner)


def preview(table: Table) -> None:
    """The file as it is written above the table as it is read."""
    if table.beginning:
        st.caption("The file begins:")
        st.code(table.beginning, language=None, line_numbers=True, height=min(38 + 21 * table.options.skip + 126, 300))
    st.caption("Read as:")
    st.dataframe(table.frame.iloc[:ROWS_SHOWN, :COLUMNS_SHOWN], hide_index=True)
    for note in table.notes:
        st.caption(plain(note))


def choose_joining(tables: Sequence[Table]) -> Joining:
    """How several files belong together: one view each, by an id column or by row order; one may hold the labels."""
    names = unique_names(table.name for table in tables)[0]
    labels, by = st.columns(2)
    holder = labels.selectbox("Labels are", [IN_A_VIEW, *names], key="labels_in")
    how = by.radio("Rows belong together by", [BY_ID, BY_ORDER], horizontal=True, key="joined_by")
    at = names.index(holder) if holder in names else None
    if how == BY_ORDER:
        return Joining("rows", labels=at)
    shared = [name for name in tables[0].frame.columns if all(name in table.frame for table in tables[1:])]
    column = st.selectbox("Id column", [FOUND, *shared], key="joined_on") if len(shared) > 1 else FOUND
    return Joining("id", None if column == FOUND else column, at)


def joined(tables: Sequence[Table]) -> tuple[Joined, Joining]:
    """The files as one table, and how they were joined; several are joined once for each way."""
    if len(tables) == 1:
        return join_files(tables, Joining()), Joining()
    joining = choose_joining(tables)
    kept = st.session_state.get(JOINED)
    if kept is None or kept[0] != joining or [*map(id, kept[1])] != [*map(id, tables)]:
        st.session_state.pop(JOINED, None)  # free before another is made
        kept = st.session_state[JOINED] = joining, list(tables), join_files(tables, joining)
    found = kept[2]
    if len(found.report):
        st.dataframe(found.report, hide_index=True)
    for note in found.notes:
        st.caption(plain(note))
    return found, joining
