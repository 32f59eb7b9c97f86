"""The panel of the selected node; a kernel's form is built from its parameter schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, kernel_schema
from spnmkl.reporting.glossary import explained
from spnmkl.structure.text import node_text
from spnmkl.ui.pages.design.changing import field, show_refusal
from spnmkl.ui.pages.design.columns import BY_HAND, chosen_way, find_columns, views_of, way_of, ways_of
from spnmkl.ui.pages.design.parameters import A_NUMBER, words_of
from spnmkl.ui.pages.design.several_panel import several_panel
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.workspace import Workspace

KIND_WORDS = {
    "sum": "Adds its children.",
    "product": "Multiplies its children entry by entry, times a learned weight β ≥ 0.",
    "kernel": "How alike two samples are, seen through some columns.",
}


def node_panel(work: Workspace, selected: tuple[str, ...]) -> None:
    """Edit the selected node or nodes, or say how to select one."""
    spn = work.drawing.spn
    if len(selected) > 1:
        several_panel(work, selected)
        return
    if not selected:
        st.info("Select a node to see and change it.", icon=":material/ads_click:")
        st.markdown(
            "The drawing says how sources are combined into one classifier. A **box** is a kernel: how alike two "
            "samples are in some columns. **×** multiplies what is right of it, with a weight β; **+** adds. *Train* "
            "learns the weights and shows what can go.\n"
            "- **S**, **P**, **K** add a sum, product or kernel to the selected node\n"
            "- pull the blue **+** of a node to another one, or click it\n"
            "- drag views and columns from the list *Columns*\n"
            "- double-click renames, **Ctrl+F** finds, **?** shows all keys"
        )
        return
    (v,) = selected
    st.markdown(f"**{spn.kind(v).capitalize()}** {plain(node_text(spn, v) or v)}", help=KIND_WORDS[spn.kind(v)])
    show_refusal()
    _label(work, v)
    if spn.kind(v) == "product":
        _power(work, v)
    if spn.kind(v) == "kernel":
        _kernel(work, v)


def _key(work: Workspace, v: str, what: str) -> str:
    """Widgets start anew when the node changes, so that undo and the canvas show in them."""
    return f"node_{hash(work.drawing.spn.spec(v))}_{v}_{what}"


def _label(work: Workspace, v: str) -> None:
    spn = work.drawing.spn
    shown = "" if spn.label(v) == v else spn.label(v)
    st.text_input(
        "Label",
        shown,
        max_chars=max(200, len(shown)),  # a file may bring a longer one, which must not be cut by looking at it
        placeholder=v,
        **field(work, f"label_{v}_{shown}", shown, lambda label: {v: {"label": label or None}}),
    )


def _power(work: Workspace, v: str) -> None:
    drawn = float(work.drawing.spn.p(v))
    st.number_input(
        "p",
        min_value=min(0.01, drawn),
        max_value=max(100.0, drawn),
        value=drawn,
        step=0.25,
        help=explained("p", "β"),
        **field(work, f"p_{v}_{drawn}", drawn, lambda p: {v: {"p": p}}),
    )


def _kernel(work: Workspace, v: str) -> None:
    """What stands there and no widget could have made stays as it is."""
    spec = work.drawing.spn.spec(v)
    names = sorted({*kernel_names(), spec.kernel})
    st.selectbox(
        "Kernel",
        names,
        names.index(spec.kernel),
        **field(work, _key(work, v, "kernel"), spec.kernel, lambda kernel: {v: {"kernel": kernel, "params": None}}),
    )
    for q in kernel_schema(spec.kernel) if spec.kernel in kernel_names() else ():
        _parameter(work, v, q)
    _features(work, v)
    normalizations = list(dict.fromkeys([*NORMALIZATIONS, spec.normalize]))
    st.selectbox(
        "Normalisation",
        normalizations,
        normalizations.index(spec.normalize),
        format_func=lambda name: name.replace("_", " "),
        help="\n\n".join(f"**{name.replace('_', ' ')}**: {text}" for name, text in NORMALIZATIONS.items()),
        **field(work, _key(work, v, "normalize"), spec.normalize, lambda name: {v: {"normalize": name}}),
    )


def _parameter(work: Workspace, v: str, q: Parameter) -> None:
    """One field, or two where a word or a number may stand."""
    given = dict(work.drawing.spn.spec(v).params)
    current, key = given.get(q.name, q.default), _key(work, v, q.name)
    number = int if q.type == "int" else float
    start = number(next(x for x in (current, q.default, 1) if isinstance(x, int | float)))

    def change(value: Any) -> dict[str, dict[str, Any]]:
        return {v: {"params": {**given, q.name: start if value == A_NUMBER else value}}}

    if q.type in ("choice", "float_or_choice"):
        options = words_of(q, current)
        at = options.index(current) if current in options else len(options) - 1
        st.selectbox(q.name, options, at, help=q.help, **field(work, f"{key}_word", options[at], change))
        if options[at] != A_NUMBER:
            return
    st.number_input(
        "value" if q.type == "float_or_choice" else q.name,
        min_value=None if q.minimum is None else min(number(q.minimum), start),
        max_value=None if q.maximum is None else max(number(q.maximum), start),
        value=start,
        format=None if q.type == "int" else "%.4g",
        help=q.help,
        **field(work, key, start, change),
    )


def _features(work: Workspace, v: str) -> None:
    """All columns, one view, or columns chosen by hand."""
    features, dataset = work.drawing.spn.spec(v).features, work.dataset
    views = views_of(dataset)
    chosen = [_column(f, dataset.features) for f in features or ()]

    def change(way: str) -> dict[str, dict[str, Any]]:
        by_hand = chosen or list(dataset.features[:1])
        return {v: {"features": by_hand if way == BY_HAND else chosen_way(way, views)}}

    ways = ways_of(views)
    drawn = way_of(features, views)
    way = st.selectbox("Columns", ways, ways.index(drawn), **field(work, _key(work, v, "way"), drawn, change))
    if way == BY_HAND:
        key = _key(work, v, "columns")
        find_columns(
            dataset, chosen, field(work, key, chosen, lambda picked: {v: {"features": picked}} if picked else {})
        )


def _column(feature: int | str, names: Sequence[str]) -> str:
    """A column by its name, also where it is counted."""
    return names[feature] if isinstance(feature, int) and 0 <= feature < len(names) else str(feature)
