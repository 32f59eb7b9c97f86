"""Above the canvas: templates, the table editor, import and export, each in a dialog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError, StructureError
from spnmkl.export.code import to_python
from spnmkl.export.html import to_html
from spnmkl.export.picture import to_pdf, to_png, to_svg
from spnmkl.export.tikz import to_tikz
from spnmkl.structure import SPN
from spnmkl.structure.layout import arranged, unplaced
from spnmkl.structure.templates import TEMPLATES, Template
from spnmkl.structure.text import short_name
from spnmkl.ui.pages.design.suggesting import suggest_structure
from spnmkl.ui.parts.canvas import receive, selection
from spnmkl.ui.parts.cards import template_picture
from spnmkl.ui.parts.session import close_dialog, dialog, heading, open_dialog, opened_dialog, theme, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_dataset, kept_with_drawing
from spnmkl.ui.state.drawing import check_size
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

MOST_IMPORT_BYTES = 5_000_000
_TAKEN = "structure_taken"
IN_A_ROW = 5
EMPTY = SPN.from_dict({"format": "spnmkl/structure", "version": 1, "nodes": [], "edges": []})


def exchange() -> None:
    """The title and the buttons above the canvas. What they open is computed then, and not with every edit."""
    work = workspace()
    if receive(work.drawing):  # an edit that came with the click
        work.path = None
    with heading("Design — draw the combination", "pages/train.py", "Next: train"):
        for name, (icon, _) in DIALOGS.items():
            st.button(name, icon=icon, key=f"open_{name}", on_click=open_dialog, args=(name,))
    shown = opened_dialog()
    if shown in DIALOGS:
        DIALOGS[shown][1](work)


@dialog("Open, save, share")
def open_and_save(work: Workspace) -> None:
    import_structure(work)
    export_structure(work.drawing.spn)


@kept_with_dataset
def template_over_data(dataset: Dataset, name: str) -> SPN:
    """A template over the loaded data's views, columns and matrices."""
    spn = dataset.template(name)
    check_size(spn)
    return arranged(spn)


@dialog("Start from a template")
def choose_template(work: Workspace) -> None:
    spn, selected = work.drawing.spn, selection(work.drawing)
    leaf = selected[0] if len(selected) == 1 and spn.kind(selected[0]) == "kernel" else None
    st.caption(
        f"Filled from **{counted(len(work.dataset.views), 'view')}** and "
        f"**{counted(len(work.dataset.features), 'column')}** of the loaded "
        "data. *Use* replaces the drawing (Ctrl+Z brings it back); *Embed* puts the template in the place of the "
        "kernel that is selected on the canvas."
    )
    columns = [c for _ in range(0, len(TEMPLATES) + 1, IN_A_ROW) for c in st.columns(IN_A_ROW, gap="small")]
    with columns[0].container(border=True, height="stretch", key="template_empty"):
        empty_card(work)
    for column, template in zip(columns[1:], TEMPLATES.values(), strict=False):
        with column.container(border=True, height="stretch", key=f"template_{template.name}"):
            template_card(work, template, leaf)


def empty_card(work: Workspace) -> None:
    st.markdown("**Empty**")
    st.markdown(":small[Nothing is drawn yet: press **S**, **P** or **K** to add a sum, a product or a kernel.]")
    if st.button("Use", key="use_empty", type="primary"):
        work.drawing.push(EMPTY, "Empty.", fit=True)
        leave(work)


def template_card(work: Workspace, template: Template, leaf: str | None) -> None:
    """Its shape, what it would be over the loaded data, and the buttons to take it."""
    st.markdown(f"**{template.title}**", help=template.description)
    st.image(template_picture(template.name, theme()), width="stretch")
    try:
        filled = template_over_data(work.dataset, template.name)
    except SPNMKLError as error:
        st.caption(plain(error))
        return
    st.caption(
        f"Over these data {counted(len(filled.kernels), 'kernel')}, {counted(len(filled.products), 'weight')}"
        f"{same_as(work.dataset, template.name)}."
    )
    row = st.container(horizontal=True, gap="small")
    if row.button("Use", key=f"use_{template.name}", type="primary"):
        work.drawing.push(unplaced(filled), f"{template.title}.", fit=True)
        leave(work)
    spn = work.drawing.spn
    where = f"In the place of {plain(short_name(spn, leaf))}." if leaf else "Select one kernel on the canvas first."
    if row.button("Embed", key=f"embed_{template.name}", disabled=leaf is None, help=where) and leaf:
        work.drawing.push(unplaced(spn.embed(leaf, filled)), f"Embedded in {short_name(spn, leaf)}.", fit=True)
        leave(work)


def same_as(dataset: Dataset, name: str) -> str:
    """Where a template comes to the same as one before it over these data, which of them."""
    before = list(TEMPLATES)[: list(TEMPLATES).index(name)]
    filled = unlabelled(template_over_data(dataset, name))
    for other in before:
        try:
            if unlabelled(template_over_data(dataset, other)) == filled:
                return f", the same as *{TEMPLATES[other].title}*"
        except SPNMKLError:
            continue
    return ""


@kept_with_drawing
def unlabelled(spn: SPN) -> SPN:
    described = unplaced(spn).to_dict()
    nodes = [{key: value for key, value in node.items() if key != "label"} for node in described["nodes"]]
    return SPN.from_dict({**described, "nodes": nodes})


def leave(work: Workspace) -> NoReturn:
    """Close the dialog and show the new drawing."""
    work.path = None
    close_dialog()
    st.rerun()


@dialog("The drawing as tables")
def edit_table(work: Workspace) -> None:
    """The drawing as two tables: the same as the canvas, without a mouse."""
    spn, revision = work.drawing.spn, f"{work.drawing.revision}_{work.drawing.version}"
    described = spn.to_dict()
    st.caption(
        "Edit, add or delete rows, then apply. Kinds are sum, product and kernel; an edge leads from parent to child."
    )
    left, right = st.columns([3, 2])
    columns = ["id", "kind", "label", "p", "kernel"]
    nodes = left.data_editor(
        pd.DataFrame([{key: node.get(key) for key in columns} for node in described["nodes"]], columns=columns),
        num_rows="dynamic",
        hide_index=True,
        placeholder="",
        key=f"nodes_{revision}",
        column_config={
            "kind": st.column_config.SelectboxColumn(options=["sum", "product", "kernel"], required=True),
            "p": st.column_config.NumberColumn(min_value=0.01, help="of products only"),
        },
    )
    edges = right.data_editor(
        pd.DataFrame(described["edges"], columns=["parent", "child"]),
        num_rows="dynamic",
        hide_index=True,
        key=f"edges_{revision}",
    )
    if st.button("Apply the tables"):
        work.drawing.push(structure_from_tables(spn, nodes, edges), "Applied the tables.")
        leave(work)


def structure_from_tables(spn: SPN, nodes: pd.DataFrame, edges: pd.DataFrame) -> SPN:
    """What the tables say; a row is known by its index, which the editor keeps, so that an id can be changed."""
    drawn = spn.to_dict()
    known: dict[Any, dict[str, Any]] = dict(enumerate(drawn["nodes"]))
    described: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for index, row in nodes.to_dict("index").items():
        given = {key: value for key, value in row.items() if not pd.isna(value) and value != ""}
        if not given:
            continue
        kind = given.get("kind")
        allowed = {"id", "kind", "label"} | ({"p"} if kind == "product" else {"kernel"} if kind == "kernel" else set())
        before = known.get(index, {})
        if before and "id" in given:
            renamed[before["id"]] = str(given["id"])
        kept = before if before.get("kind") == kind and before.get("kernel") == given.get("kernel") else {}
        place: dict[str, Any] = {key: before[key] for key in ("x", "y") if key in before}
        described.append({**place, **kept, **{key: value for key, value in given.items() if key in allowed}})
        if "label" not in given:
            described[-1].pop("label", None)
    pairs = _pairs(edges, dict(enumerate(drawn["edges"])), renamed)
    return SPN.from_dict({"format": "spnmkl/structure", "version": 1, "nodes": described, "edges": pairs})


def _pairs(edges: pd.DataFrame, known: dict[Any, list[str]], renamed: dict[str, str]) -> list[list[str]]:
    """Ends that were left alone follow a node to its new id."""
    pairs = []
    for index, *ends in edges.itertuples():
        if not pd.isna(ends).any():
            same = zip(map(str, ends), known.get(index, ("", "")), strict=True)
            pairs.append([renamed.get(end, end) if end == before else end for end, before in same])
    return pairs


def import_structure(work: Workspace) -> None:
    given = st.file_uploader(
        "Open a structure file (JSON)", type=["json"], key="structure_file", max_upload_size=MOST_IMPORT_BYTES // 10**6
    )
    if given is None or given.file_id == st.session_state.get(_TAKEN):  # the browser may still hold the last one
        return
    if given.size > MOST_IMPORT_BYTES:
        raise StructureError(f"{given.name} is larger than {MOST_IMPORT_BYTES // 10**6} MB; a structure file is not.")
    spn = SPN.from_json(given.getvalue())
    check_size(spn)
    work.drawing.push(spn, "Opened the file.", fit=True)
    st.session_state[_TAKEN] = given.file_id
    leave(work)


def export_structure(spn: SPN) -> None:
    st.caption("Take the drawing with you")
    json_file, page, vector, raster, print_file, paper = (column for _ in range(2) for column in st.columns(3))
    json_file.download_button("Structure (JSON)", spn.to_json(indent=1), "structure.json", "application/json")
    page.download_button("Web page (offline)", lambda: to_html(spn), "structure.html", "text/html")
    vector.download_button("Picture (SVG)", lambda: to_svg(spn), "structure.svg", "image/svg+xml")
    raster.download_button("Picture (PNG)", lambda: to_png(spn), "structure.png", "image/png")
    print_file.download_button("Picture (PDF)", lambda: to_pdf(spn), "structure.pdf", "application/pdf")
    paper.download_button("For LaTeX (TikZ)", lambda: to_tikz(spn), "structure.tex", "text/x-tex")
    with st.expander("Copy as Python"):
        st.code(to_python(spn), language="python")


DIALOGS: dict[str, tuple[str, Callable[[Workspace], None]]] = {
    "Suggest": (":material/lightbulb:", suggest_structure),
    "Templates": (":material/dashboard:", choose_template),
    "Table": (":material/table_rows:", edit_table),
    "Open, save": (":material/folder_open:", open_and_save),
}
