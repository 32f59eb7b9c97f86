"""The panel of several selected nodes: what is changed there is changed in all of them, as one step."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, kernel_schema
from spnmkl.ui.pages.design.changing import Changes, field, show_refusal
from spnmkl.ui.pages.design.columns import BY_HAND, chosen_way, find_columns, views_of, way_of, ways_of
from spnmkl.ui.pages.design.parameters import A_NUMBER, words_of
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

DIFFERENT = "different"


def several_panel(work: Workspace, selected: tuple[str, ...]) -> None:
    """Change all selected nodes at once; a field is empty where they differ."""
    spn = work.drawing.spn
    kinds = Counter(spn.kind(v) for v in selected)
    st.markdown("**" + ", ".join(counted(n, kind) for kind, n in kinds.items()) + "**")
    show_refusal()
    key = _key(work, selected)
    _labels(work, selected, key)
    if products := [v for v in selected if spn.kind(v) == "product"]:
        _power(work, products, key)
    if kernels := [v for v in selected if spn.kind(v) == "kernel"]:
        _kernels(work, kernels, key)


def _key(work: Workspace, selected: tuple[str, ...]) -> str:
    """Widgets start anew with every version of the drawing and every selection."""
    chosen = hashlib.sha256("\n".join(selected).encode()).hexdigest()[:12]
    return f"several_{work.drawing.version}_{chosen}"


def _common(values: Iterable[Any]) -> Any:
    """The value that all have, or None."""
    first, *rest = values
    return first if all(value == first for value in rest) else None


def _each(nodes: Iterable[str], name: str) -> Callable[[Any], Changes]:
    """One value for all of them; none where the field was emptied."""
    return lambda value: {} if value is None else {v: {name: value} for v in nodes}


def _labels(work: Workspace, selected: tuple[str, ...], key: str) -> None:
    def change(prefix: str) -> Changes:
        return {v: {"label": f"{prefix} {k}"} for k, v in enumerate(selected, 1)} if prefix else {}

    st.text_input(
        "Label prefix",
        max_chars=190,
        placeholder="for all of them, numbered",
        help="With the prefix *pixel* they are called pixel 1, pixel 2, …",
        **field(work, f"{key}_label", "", change),
    )


def _power(work: Workspace, products: list[str], key: str) -> None:
    drawn = _common(float(work.drawing.spn.p(v)) for v in products)
    st.number_input(
        "p",
        min_value=min(0.01, drawn or 1.0),
        max_value=max(100.0, drawn or 1.0),
        value=drawn,
        step=0.25,
        placeholder=DIFFERENT,
        help="Exponent of β in the regulariser, of all selected products.",
        **field(work, f"{key}_p", drawn, _each(products, "p")),
    )


def _kernels(work: Workspace, kernels: list[str], key: str) -> None:
    specs = [work.drawing.spn.spec(v) for v in kernels]
    drawn = _common(spec.kernel for spec in specs)
    names = sorted({*kernel_names(), *(spec.kernel for spec in specs)})

    def other_kernel(kernel: str | None) -> Changes:
        return {} if kernel is None else {v: {"kernel": kernel, "params": None} for v in kernels}

    _select("Kernel", names, drawn, **field(work, f"{key}_kernel", drawn, other_kernel))
    for q in kernel_schema(drawn) if drawn in kernel_names() else ():
        _parameter(work, kernels, q, f"{key}_{q.name}")
    _columns(work, kernels, f"{key}_way")
    normalize = _common(spec.normalize for spec in specs)
    arguments = field(work, f"{key}_normalize", normalize, _each(kernels, "normalize"))
    _select("Normalisation", list(NORMALIZATIONS), normalize, **arguments)


def _select(label: str, options: list[str], drawn: str | None, **arguments: Any) -> str | None:
    at = options.index(drawn) if drawn in options else None
    chosen: str | None = st.selectbox(
        label, options, at, placeholder=DIFFERENT, format_func=lambda name: name.replace("_", " "), **arguments
    )
    return chosen


def _parameter(work: Workspace, kernels: list[str], q: Parameter, key: str) -> None:
    spn = work.drawing.spn
    given = [dict(spn.spec(v).params).get(q.name, q.default) for v in kernels]
    drawn, numbers = _common(given), all(isinstance(value, int | float) for value in given)
    number = int if q.type == "int" else float

    def change(value: Any) -> Changes:
        if value is None:
            return {}
        start = number(q.default) if isinstance(q.default, int | float) else number(1)
        new = start if value == A_NUMBER else value
        return {v: {"params": {**dict(spn.spec(v).params), q.name: new}} for v in kernels}

    if q.type in ("choice", "float_or_choice"):
        word = A_NUMBER if numbers else drawn
        _select(q.name, words_of(q, drawn), word, help=q.help, **field(work, f"{key}_word", word, change))
        if not numbers:
            return
    known = number(drawn) if isinstance(drawn, int | float) else None
    st.number_input(
        "value" if q.type == "float_or_choice" else q.name,
        min_value=None if q.minimum is None else min(number(q.minimum), known or number(q.minimum)),
        max_value=None if q.maximum is None else max(number(q.maximum), known or number(q.maximum)),
        value=known,
        format=None if q.type == "int" else "%.4g",
        placeholder=DIFFERENT,
        help=q.help,
        **field(work, key, known, change),
    )


def _columns(work: Workspace, kernels: list[str], key: str) -> None:
    spn, views = work.drawing.spn, views_of(work.dataset)
    seen = [spn.spec(v).features for v in kernels]

    def change(way: str | None) -> Changes:
        return {} if way in (None, BY_HAND) else {v: {"features": chosen_way(str(way), views)} for v in kernels}

    drawn = _common(way_of(features, views) for features in seen)
    way = _select("Columns", ways_of(views), drawn, **field(work, key, drawn, change))
    if way == BY_HAND:
        chosen = [str(name) for name in _common(seen) or ()]
        find_columns(work.dataset, chosen, field(work, f"{key}_columns", chosen, _named(kernels)))


def _named(kernels: list[str]) -> Callable[[list[str]], Changes]:
    return lambda names: {v: {"features": names} for v in kernels} if names else {}
