"""The trained drawing, to be played again, and the numbers of a chosen node."""

from __future__ import annotations

import streamlit as st

from spnmkl.export.flows import lost, path_flows
from spnmkl.export.themes import THEMES, mixed
from spnmkl.reporting.endings import pruning, succeeded
from spnmkl.reporting.explain import children_text
from spnmkl.reporting.glossary import GLOSSARY, explained
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import (
    RESIDUAL_HELP,
    SHARE_HELP,
    WEIGHT_HELP,
    Inspected,
    node_names,
    share_text,
)
from spnmkl.ui.parts.pyvis_view import offer_pyvis, show_drawing, shows_pyvis
from spnmkl.ui.parts.replay import show_replay
from spnmkl.ui.parts.results import listed_ending
from spnmkl.ui.parts.session import theme
from spnmkl.ui.parts.words import plain

CANVAS = "inspect_drawing"


def drawing_tab(seen: Inspected) -> None:
    run = seen.run
    left, right = st.columns([13, 6], gap="medium")
    with left:
        selected, on_canvas = show_drawing(CANVAS, run), not shows_pyvis(CANVAS)
        if on_canvas:
            show_replay(run, CANVAS)
        legend(run)
        offer_pyvis(CANVAS, run)
    with right:
        verdict(run)
        if selected:
            with st.container(border=True, gap="xsmall"):
                node_numbers(seen, selected[0])
        st.markdown(plain(pruning(run)))
        if on_canvas and not selected:
            st.caption("Click a node to see its numbers; hover over nodes and edges for the most important.")


def legend(run: Run) -> None:
    colours = THEMES[theme()]
    largest = max(run.solution.beta.values(), default=0.0)
    dots = "".join(
        _dot(8 + 14 * share**0.5, mixed(colours.light, colours.heavy, share), colours.border["product"])
        for share in (0.0, 0.3, 1.0)
    )
    lines = "".join(
        f'<span style="display:inline-block;width:16px;height:{width}px;background:{colours.line}"></span>'
        for width in (1, 3, 5)
    )
    flowing = "edges: part of the path weights Σg"
    if run.held_out is not None and run.held_out.known:
        flowing = "edges: held-out share (played again: Σg)"
    parts = (
        (dots, f"products: weight β, 0 to {largest:.3g}", ("β",)),
        (lines, flowing, ("held-out", "Σg") if "held-out" in flowing else ("Σg",)),
        (_dot(14, "transparent", colours.faded), "dashed: pruned, takes no part", ("pruned",)),
    )
    st.html(
        '<div style="display:flex;flex-wrap:wrap;gap:2px 22px;font-size:13px">'
        + "".join(
            f'<span style="display:inline-flex;align-items:center;gap:5px" title="{_sentences(signs)}">{a}'
            f'<span style="opacity:.8">{b}</span></span>'
            for a, b, signs in parts
        )
        + "</div>"
    )


def _sentences(signs: tuple[str, ...]) -> str:
    return " ".join(f"{GLOSSARY[sign].title}: {GLOSSARY[sign].sentence}" for sign in signs)


def _dot(size: float, fill: str, border: str) -> str:
    return (
        f'<span style="display:inline-block;width:{size:.0f}px;height:{size:.0f}px;border-radius:50%;'
        f'background:{fill};border:1.4px solid {border};box-sizing:border-box"></span>'
    )


def verdict(run: Run) -> None:
    show = st.success if succeeded(run) else st.warning
    show(listed_ending(run))


def node_numbers(seen: Inspected, node: str) -> None:
    """The numbers of a node, under its name."""
    run, kind = seen.run, seen.run.spn.kind(node)
    st.markdown(f"**{plain(node_names(run.spn)[node])}** · {kind} {plain(node)}")
    if kind == "product":
        weight_numbers(run, node)
    if run.held_out is not None and run.held_out.known:
        st.markdown(f"held-out share **{run.held_out.nodes[node]}** on {run.held_out.rows}", help=SHARE_HELP)
    st.caption(plain(fate(run, node)))


def weight_numbers(run: Run, node: str) -> None:
    solution, spn = run.solution, run.spn
    st.markdown(f"multiplies {plain(children_text(spn, node))}")
    st.markdown(f"weight β **{solution.beta[node]:.4g}**", help=explained("β"))
    part = path_flows(spn, solution.beta).get(node, float("nan"))
    st.markdown(f"part of the path weights **{share_text(part)}**", help=WEIGHT_HELP)
    if not solution.by_evidence:
        st.markdown(f"exponent p **{solution.p[node]:g}**", help=explained("p"))
        st.markdown(f"KKT residual **{solution.kkt_residual[node]:.1e}**", help=RESIDUAL_HELP)


def fate(run: Run, node: str) -> str:
    """What became of a node, and what that means."""
    solution = run.solution
    if node not in lost(run.spn, solution.beta):
        return "Takes part in the decision."
    if run.spn.kind(node) != "product" or solution.beta[node] > 0:
        return "Takes no part: every path through it meets a weight that is zero."
    when = f" at iteration {solution.pruned[node]}" if node in solution.pruned else ""
    proved = " That is proved with the optimum, not an accident of the search." if solution.status == "optimal" else ""
    return f"Pruned{when}: its weight is zero, so that no path through it takes part in the decision.{proved}"
