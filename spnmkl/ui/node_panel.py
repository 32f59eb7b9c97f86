"""The panel of the selected node; a kernel's form is built from its parameter schema."""

from __future__ import annotations

from typing import Any

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, kernel_schema
from spnmkl.structure import SPN
from spnmkl.ui.session import rerun
from spnmkl.ui.store import Workspace
from spnmkl.ui.words import plain

MOST_MATCHES = 200  # columns offered at a time, whatever the table's width
KIND_WORDS = {
    "sum": "Adds its children.",
    "product": "Multiplies its children entry by entry, times a learned weight β ≥ 0.",
    "kernel": "How alike two samples are, seen through some columns.",
}


def node_panel(work: Workspace, selected: tuple[str, ...]) -> None:
    """Edit the one selected node, or say how to select one."""
    spn = work.drawing.spn
    if len(selected) != 1:
        hint = f"{len(selected)} nodes are selected." if selected else "Select a node to see and change it."
        st.info(hint, icon=":material/ads_click:")
        st.markdown(
            "The drawing says how sources are combined into one classifier. A **box** is a kernel: how alike two "
            "samples are in some columns. **×** multiplies what is below it, with a weight β; **+** adds. *Train* "
            "learns the weights and shows what can go.\n"
            "- **S**, **P**, **K** add a sum, product or kernel below the selected node\n"
            "- drag in **Connect** mode from parent to child\n"
            "- arrow keys walk, **Shift** and drag selects an area, **Del** deletes, **Ctrl+Z** undoes"
        )
        return
    (v,) = selected
    st.markdown(f"**{spn.kind(v).capitalize()}** {plain(v)}", help=KIND_WORDS[spn.kind(v)])
    changes: dict[str, Any] = {"label": _label(spn, v)}
    if spn.kind(v) == "product":
        changes["p"] = _power(spn, v)
    if spn.kind(v) == "kernel":
        changes |= _kernel(work, v)
    _apply(work, v, changes)


def _apply(work: Workspace, v: str, changes: dict[str, Any]) -> None:
    """Push the node as the widgets now have it, if that differs; the drawing is untouched where it cannot be."""
    spn = work.drawing.spn
    try:
        changed = spn.replace(v, **changes)
    except SPNMKLError as error:
        st.error(plain(error))
        return
    if changed != spn:
        work.drawing.push(changed, f"Changed {v}.", select=[v])
        rerun()


def _key(work: Workspace, v: str, what: str) -> str:
    """Widgets start anew with every revision, so that undo and the canvas show in them."""
    return f"node_{work.drawing.revision}_{v}_{what}"


def _label(spn: SPN, v: str) -> str | None:
    shown = "" if spn.label(v) == v else spn.label(v)
    longest = max(200, len(shown))  # a file may bring a longer one, which must not be cut by looking at it
    return st.text_input("Label", shown, max_chars=longest, placeholder=v, key=f"label_{v}_{shown}") or None


def _power(spn: SPN, v: str) -> float:
    return st.number_input(
        "p",
        min_value=0.01,
        max_value=100.0,
        value=float(spn.p(v)),
        step=0.25,
        key=f"p_{v}_{spn.p(v)}",
        help="Exponent of β in the regulariser. 1: whole branches can be pruned. Above 1: nothing is pruned. Below 1: "
        "sparser, but no longer certified.",
    )


def _kernel(work: Workspace, v: str) -> dict[str, Any]:
    spec = work.drawing.spn.spec(v)
    names = sorted({*kernel_names(), spec.kernel})
    kernel = st.selectbox("Kernel", names, names.index(spec.kernel), key=_key(work, v, "kernel"))
    given = dict(spec.params) if kernel == spec.kernel else {}
    schema = kernel_schema(kernel) if kernel in kernel_names() else ()
    params = {q.name: value for q in schema if (value := _parameter(work, v, q, given.get(q.name))) is not None}
    features = _features(work, v)
    normalizations = list(dict.fromkeys([*NORMALIZATIONS, spec.normalize]))
    normalize = st.selectbox(
        "Normalisation",
        normalizations,
        normalizations.index(spec.normalize),
        format_func=lambda name: name.replace("_", " "),
        help="\n\n".join(f"**{name.replace('_', ' ')}**: {text}" for name, text in NORMALIZATIONS.items()),
        key=_key(work, v, "normalize"),
    )
    return {"kernel": kernel, "params": params or None, "features": features, "normalize": normalize}


def _parameter(work: Workspace, v: str, q: Parameter, given: Any) -> Any:
    """One field; None while it stands at its default and was never set."""
    current = q.default if given is None else given
    key = _key(work, v, q.name)
    if q.type in ("choice", "float_or_choice"):
        options = [*q.choices, *(["a number"] if q.type == "float_or_choice" else [])]
        at = options.index(current) if current in options else len(options) - 1
        chosen = st.selectbox(q.name, options, at, help=q.help, key=f"{key}_word")
        if chosen != "a number":
            return None if given is None and chosen == q.default else chosen
        current = current if not isinstance(current, str) else 1.0
    number = int if q.type == "int" else float
    value = st.number_input(
        "value" if q.type == "float_or_choice" else q.name,
        min_value=None if q.minimum is None else number(q.minimum),
        max_value=None if q.maximum is None else number(q.maximum),
        value=number(current),
        format=None if q.type == "int" else "%.4g",
        help=q.help,
        key=key,
    )
    return None if given is None and value == q.default else value


def _features(work: Workspace, v: str) -> list[int | str] | None:
    """All columns, one view, or columns chosen by hand (offered by search, however wide the table)."""
    features, dataset = work.drawing.spn.spec(v).features, work.dataset
    views = {name: list(columns) for name, columns in dataset.views.items()}
    ways = ["all columns", *(f"view {name}" for name in views), "chosen columns"]
    current = _way(features, views)
    way = st.selectbox("Columns", ways, ways.index(current), key=_key(work, v, "way"))
    if way == "all columns":
        return None
    if way != "chosen columns":
        return list(views[way.removeprefix("view ")])
    search = st.text_input("Find columns", key=_key(work, v, "search"), placeholder="part of a name")
    chosen = [str(f) for f in features or ()]
    matches = [name for name in dataset.features if search.lower() in name.lower()][:MOST_MATCHES]
    options = list(dict.fromkeys([*chosen, *matches]))
    picked = st.multiselect("Chosen columns", options, chosen, key=_key(work, v, "columns"))
    return [*picked] or [*(features or options[:1])] or None


def _way(features: tuple[int | str, ...] | None, views: dict[str, list[str]]) -> str:
    if features is None:
        return "all columns"
    same = next((name for name, columns in views.items() if tuple(columns) == features), None)
    return f"view {same}" if same else "chosen columns"
