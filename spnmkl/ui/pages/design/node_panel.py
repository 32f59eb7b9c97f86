"""The panel of the selected node; a kernel's form is built from its parameter schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, kernel_schema
from spnmkl.reporting.glossary import explained
from spnmkl.structure import SPN
from spnmkl.ui.parts.session import rerun
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.workspace import Workspace

_SAME = object()  # not changed by the person
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
    changes = _label(spn, v)
    if spn.kind(v) == "product":
        changes |= _power(spn, v)
    if spn.kind(v) == "kernel":
        changes |= _kernel(work, v)
    if changes:
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


def _label(spn: SPN, v: str) -> dict[str, Any]:
    shown = "" if spn.label(v) == v else spn.label(v)
    longest = max(200, len(shown))  # a file may bring a longer one, which must not be cut by looking at it
    label = st.text_input("Label", shown, max_chars=longest, placeholder=v, key=f"label_{v}_{shown}")
    return {} if label == shown else {"label": label or None}


def _power(spn: SPN, v: str) -> dict[str, Any]:
    drawn = float(spn.p(v))
    p = st.number_input(
        "p",
        min_value=min(0.01, drawn),
        max_value=max(100.0, drawn),
        value=drawn,
        step=0.25,
        key=f"p_{v}_{drawn}",
        help=explained("p", "β"),
    )
    return {} if p == drawn else {"p": p}


def _kernel(work: Workspace, v: str) -> dict[str, Any]:
    """What the person changed; what stands there otherwise stays as it is, also where no widget could have made it."""
    spec = work.drawing.spn.spec(v)
    names = sorted({*kernel_names(), spec.kernel})
    kernel = st.selectbox("Kernel", names, names.index(spec.kernel), key=_key(work, v, "kernel"))
    if kernel != spec.kernel:
        return {"kernel": kernel, "params": None}
    given = dict(spec.params)
    schema = kernel_schema(kernel) if kernel in kernel_names() else ()
    edited = {q.name: value for q in schema if (value := _parameter(work, v, q, given.get(q.name))) is not _SAME}
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
    changes: dict[str, Any] = {"params": {**given, **edited}} if edited else {}
    changes |= {} if features is _SAME else {"features": features}
    return changes | ({} if normalize == spec.normalize else {"normalize": normalize})


def _parameter(work: Workspace, v: str, q: Parameter, given: Any) -> Any:
    """One field: the new value, or _SAME."""
    current, moved = q.default if given is None else given, False
    key = _key(work, v, q.name)
    if q.type in ("choice", "float_or_choice"):
        words = [word for word in q.choices if "*" not in word or word == current]  # multiples are for baselines
        options = [*words, *(["a number"] if q.type == "float_or_choice" else [])]
        at = options.index(current) if current in options else len(options) - 1
        chosen = st.selectbox(q.name, options, at, help=q.help, key=f"{key}_word")
        moved = chosen != options[at]
        if chosen != "a number":
            return chosen if moved else _SAME
    number = int if q.type == "int" else float
    start = number(next(x for x in (current, q.default, 1) if isinstance(x, int | float)))
    value = st.number_input(
        "value" if q.type == "float_or_choice" else q.name,
        min_value=None if q.minimum is None else min(number(q.minimum), start),
        max_value=None if q.maximum is None else max(number(q.maximum), start),
        value=start,
        format=None if q.type == "int" else "%.4g",
        help=q.help,
        key=key,
    )
    return value if moved or value != start else _SAME


def _features(work: Workspace, v: str) -> Any:
    """All columns, one view, or columns chosen by hand (offered by search, however wide the table); or _SAME."""
    features, dataset = work.drawing.spn.spec(v).features, work.dataset
    views = {name: list(columns) for name, columns in dataset.feature_views.items()}
    ways = ["all columns", *(f"view {name}" for name in views), "chosen columns"]
    current = _way(features, views)
    way = st.selectbox("Columns", ways, ways.index(current), key=_key(work, v, "way"))
    if way != "chosen columns":
        chosen_view = None if way == "all columns" else list(views[way.removeprefix("view ")])
        return _SAME if way == current else chosen_view
    search = st.text_input("Find columns", key=_key(work, v, "search"), placeholder="part of a name")
    chosen = [_column(f, dataset.features) for f in features or ()]
    matches = [name for name in dataset.features if search.lower() in name.lower()][:MOST_MATCHES]
    options = list(dict.fromkeys([*chosen, *matches]))
    picked = st.multiselect("Chosen columns", options, chosen, key=_key(work, v, "columns"))
    if not picked and way != current:
        picked = options[:1]
    return _SAME if picked == chosen or not picked else picked


def _column(feature: int | str, names: Sequence[str]) -> str:
    """A column by its name, also where it is counted."""
    return names[feature] if isinstance(feature, int) and 0 <= feature < len(names) else str(feature)


def _way(features: tuple[int | str, ...] | None, views: dict[str, list[str]]) -> str:
    if features is None:
        return "all columns"
    same = next((name for name, columns in views.items() if tuple(columns) == features), None)
    return f"view {same}" if same else "chosen columns"
