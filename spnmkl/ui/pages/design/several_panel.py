"""The panel of several selected nodes: what is changed there is changed in all of them, as one step."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, kernel_schema
from spnmkl.structure import SPN
from spnmkl.ui.pages.design.columns import chosen_way, find_columns, views_of, way_of
from spnmkl.ui.parts.session import rerun
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.store import Workspace
from spnmkl.wording import counted

DIFFERENT = "different"
Changes = dict[str, dict[str, Any]]  # by node


def several_panel(work: Workspace, selected: tuple[str, ...]) -> None:
    """Change all selected nodes at once; a field is empty where they differ."""
    spn = work.drawing.spn
    kinds = Counter(spn.kind(v) for v in selected)
    st.markdown("**" + ", ".join(counted(n, kind) for kind, n in kinds.items()) + "**")
    key = _key(work, selected)
    changes = _labels(selected, key)
    products = [v for v in selected if spn.kind(v) == "product"]
    kernels = [v for v in selected if spn.kind(v) == "kernel"]
    if products:
        changes |= _power(spn, products, key)
    if kernels:
        changes |= _kernels(work, kernels, key)
    if changes:
        _apply(work, selected, changes)


def _key(work: Workspace, selected: tuple[str, ...]) -> str:
    """Widgets start anew with every version of the drawing and every selection."""
    chosen = hashlib.sha256("\n".join(selected).encode()).hexdigest()[:12]
    return f"several_{work.drawing.version}_{chosen}"


def _apply(work: Workspace, selected: tuple[str, ...], changes: Changes) -> None:
    spn = work.drawing.spn
    try:
        for v, change in changes.items():
            spn = spn.replace(v, **change)
    except SPNMKLError as error:
        st.error(plain(error))
        return
    if spn != work.drawing.spn:
        work.drawing.push(spn, f"Changed {counted(len(changes), 'node')}.", select=selected)
        rerun()


def _common(values: Iterable[Any]) -> Any:
    """The value that all have, or None."""
    first, *rest = values
    return first if all(value == first for value in rest) else None


def _labels(selected: tuple[str, ...], key: str) -> Changes:
    prefix = st.text_input(
        "Label prefix",
        key=f"{key}_label",
        max_chars=190,
        placeholder="for all of them, numbered",
        help="With the prefix *pixel* they are called pixel 1, pixel 2, …",
    )
    return {v: {"label": f"{prefix} {k}"} for k, v in enumerate(selected, 1)} if prefix else {}


def _power(spn: SPN, products: list[str], key: str) -> Changes:
    drawn = _common(float(spn.p(v)) for v in products)
    p = st.number_input(
        "p",
        min_value=min(0.01, drawn or 1.0),
        max_value=max(100.0, drawn or 1.0),
        value=drawn,
        step=0.25,
        placeholder=DIFFERENT,
        key=f"{key}_p",
        help="Exponent of β in the regulariser, of all selected products.",
    )
    return {} if p is None or p == drawn else {v: {"p": p} for v in products}


def _kernels(work: Workspace, kernels: list[str], key: str) -> Changes:
    specs = [work.drawing.spn.spec(v) for v in kernels]
    drawn = _common(spec.kernel for spec in specs)
    names = sorted({*kernel_names(), *(spec.kernel for spec in specs)})
    kernel = _select("Kernel", names, drawn, f"{key}_kernel")
    if kernel is not None and kernel != drawn:
        return {v: {"kernel": kernel, "params": None} for v in kernels}
    changes: Changes = {v: {} for v in kernels}
    for q in kernel_schema(drawn) if drawn in kernel_names() else ():
        value = _parameter(q, [dict(spec.params).get(q.name, q.default) for spec in specs], f"{key}_{q.name}")
        if value is not None:
            for v, spec in zip(kernels, specs, strict=True):
                changes[v]["params"] = {**dict(spec.params), **changes[v].get("params", {}), q.name: value}
    views = views_of(work.dataset)
    way = _common(way_of(spec.features, views) for spec in specs)
    columns = _columns(work, way, _common(spec.features for spec in specs), f"{key}_way")
    if columns is not None:
        for v in kernels:
            changes[v]["features"] = columns[0]
    normalize = _common(spec.normalize for spec in specs)
    chosen = _select("Normalisation", list(NORMALIZATIONS), normalize, f"{key}_normalize")
    if chosen is not None and chosen != normalize:
        for v in kernels:
            changes[v]["normalize"] = chosen
    return {v: change for v, change in changes.items() if change}


def _select(label: str, options: list[str], drawn: str | None, key: str, help: str = "") -> str | None:
    at = options.index(drawn) if drawn in options else None
    return st.selectbox(
        label,
        options,
        at,
        placeholder=DIFFERENT,
        key=key,
        help=help or None,
        format_func=lambda name: name.replace("_", " "),
    )


def _parameter(q: Parameter, given: list[Any], key: str) -> Any:
    """The new value for all, or None where nothing was chosen."""
    drawn, numbers = _common(given), all(isinstance(value, int | float) for value in given)
    if q.type in ("choice", "float_or_choice"):
        words = [word for word in q.choices if "*" not in word or word == drawn]
        options = [*words, *(["a number"] if q.type == "float_or_choice" else [])]
        at = options[-1] if numbers else drawn
        chosen = _select(q.name, options, at, f"{key}_word", q.help)
        if chosen is None:
            return None
        if chosen != "a number":
            return None if chosen == drawn else chosen
    number = int if q.type == "int" else float
    known = number(drawn) if isinstance(drawn, int | float) else None
    value = st.number_input(
        "value" if q.type == "float_or_choice" else q.name,
        min_value=None if q.minimum is None else min(number(q.minimum), known or number(q.minimum)),
        max_value=None if q.maximum is None else max(number(q.maximum), known or number(q.maximum)),
        value=known,
        format=None if q.type == "int" else "%.4g",
        placeholder=DIFFERENT,
        help=q.help,
        key=key,
    )
    return None if value == known else value


def _columns(
    work: Workspace, drawn: str | None, features: tuple[int | str, ...] | None, key: str
) -> tuple[list[str] | None] | None:
    """The columns for all, in a tuple of one; or None where nothing was chosen."""
    views = views_of(work.dataset)
    ways = ["all columns", *(f"view {name}" for name in views), "chosen columns"]
    way = _select("Columns", ways, drawn, key)
    if way is None:
        return None
    if way != "chosen columns":
        return None if way == drawn else (chosen_way(way, views),)
    chosen = [] if features is None else [str(name) for name in features]
    picked = find_columns(work.dataset, chosen, f"{key}_columns")
    return (picked,) if picked and picked != chosen else None
