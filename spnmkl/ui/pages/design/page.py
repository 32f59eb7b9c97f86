"""The Design page: the canvas, and beside it the selected node, the checks, the paths and the formula."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.errors import SPNMKLError
from spnmkl.export.picture import to_svg
from spnmkl.inspection import heaviest_paths
from spnmkl.reporting.glossary import explained, worked_g
from spnmkl.reporting.sentences import count_text
from spnmkl.structure import SPN, Issue, Path
from spnmkl.structure.formula import symbols
from spnmkl.structure.layout import unplaced
from spnmkl.structure.sparsity import Prunable, prunable
from spnmkl.training.checks import errors
from spnmkl.training.kernel_checks import with_kernel_issues
from spnmkl.ui.pages.design.checks import MOST_ISSUES, list_checks
from spnmkl.ui.pages.design.node_panel import node_panel
from spnmkl.ui.parts.canvas import receive, show_canvas
from spnmkl.ui.parts.remapping import offer_redraw
from spnmkl.ui.parts.session import fragment, rerun, tabs, theme, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_drawing
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, listed, name_some

MOST_PATHS = 100
MOST_NAMED = 24
MOST_EXPANDED = 60


@fragment
def workbench() -> None:
    """Canvas and panel in one fragment: an edit redraws both and nothing else."""
    work = workspace()
    if receive(work.drawing):
        work.path = None
    spn = work.drawing.spn
    issues = with_kernel_issues(work.issues, work.kernel_issues)
    left, right = st.columns([13, 5], gap="small")
    with left:
        faulty = faulty_nodes(spn, issues)
        said, wrong = facts(spn, issues), bool(errors(issues))
        selected = show_canvas(work.drawing, faulty=faulty, path=work.path, facts=said, wrong=wrong)
    with right.container(key="inspector"):
        offer_redraw(work)
        tabs(
            "beside",
            {
                "Node": lambda: node_panel(work, selected),
                "Checks": lambda: show_checks(work, issues),
                "Paths": lambda: show_paths(work, issues),
                "Formula": lambda: show_formula(spn, issues),
            },
        )
    if work.expanded:
        show_expanded(spn, issues)


def faulty_nodes(spn: SPN, issues: list[Issue]) -> set[str]:
    """The nodes to mark; of several roots all but the one with most below it: they are to be connected."""
    several = next((issue.nodes for issue in issues if issue.code == "several_roots"), ())
    largest = max(several, key=lambda root: len(_below(spn, root)), default=None)
    return {v for issue in errors(issues) for v in issue.nodes if issue.nodes != several or v != largest}


def _below(spn: SPN, root: str) -> set[str]:
    found = {root: None}
    for v in (order := [root]):
        order += (new := [child for child in spn.children(v) if child not in found])
        found |= dict.fromkeys(new)
    return set(found)


def facts(spn: SPN, issues: list[Issue]) -> str:
    """Paths, layers, weights and kernels in one line, or what keeps the drawing from being trained."""
    if wrong := errors(issues):
        more = f" And {len(wrong) - 1} more, see Checks." if len(wrong) > 1 else ""
        return f"Not trainable yet: {wrong[0].message}{more}"
    numbers = {
        "path": count_text(spn.n_paths),
        "layer": f"{spn.n_layers:,}",
        "weight": f"{len(spn.products):,}",
        "kernel": f"{len(spn.kernels):,}",
    }
    said = [f"{number} {name}" + "s" * (number != "1") for name, number in numbers.items()]
    return " · ".join(said + [f"{counted(len(issues), 'warning')}, see Checks"] * bool(issues))


def show_checks(work: Workspace, issues: list[Issue]) -> None:
    spn = work.drawing.spn
    list_checks(work, issues)
    unused = [] if work.foreign else unused_columns(spn, work.dataset.features)
    if unused:
        verb = "takes" if len(unused) == 1 else "take"
        st.info(f"{counted(len(unused), 'column')} {verb} no part: {plain(name_some(unused))}.")
    if not errors(issues):
        show_prunable(spn)


def unused_columns(spn: SPN, columns: Sequence[str]) -> list[str]:
    """The columns of the data that no kernel looks at."""
    used: set[int | str] = set()
    for spec in (spn.spec(v) for v in spn.kernels):
        if spec.kernel != "precomputed":
            used.update(range(len(columns)) if spec.features is None else spec.features)
    return [name for k, name in enumerate(columns) if k not in used and name not in used]


def show_prunable(spn: SPN) -> None:
    st.markdown(
        "**What can be pruned**",
        help="Whether a weight can become exactly zero depends on its exponent p and on the paths through it, not on "
        "the data alone. Set p in the Node tab.",
    )
    verdicts = verdicts_of(spn)
    if isinstance(verdicts, str):
        st.info(plain(verdicts))
        return
    alike: dict[str, list[str]] = {}
    for v, verdict in verdicts.items():
        alike.setdefault(verdict.reason.removeprefix(spn.names[v]), []).append(spn.names[v])
    for said, weights in list(alike.items())[:MOST_ISSUES]:
        each = "Each of " if len(weights) > 1 else ""
        st.markdown(f"- {each}**{plain(listed(weights, MOST_NAMED))}**{plain(said)}")
    if len(alike) > MOST_ISSUES:
        st.caption(f"and {len(alike) - MOST_ISSUES} more such groups")


@lru_cache(maxsize=64)
def verdicts_of(spn: SPN) -> dict[str, Prunable] | str:
    try:
        return prunable(spn)
    except SPNMKLError as error:
        return str(error)


def show_paths(work: Workspace, issues: list[Issue]) -> None:
    """The list, with the chosen path's weight, and the switch to the path-dependent view."""
    spn = work.drawing.spn
    if errors(issues):
        st.info("Paths appear here once the structure is valid.")
        return
    weighed = heaviest_of(work)
    if weighed and st.toggle(f"Heaviest first, by {plain(weighed[0])}", key="heaviest_first"):
        paths = [path.path for path in weighed[1]]
        listed = "heaviest"
        values = {"weight g": [path.g for path in weighed[1]]}
    else:
        paths, listed, values = list(spn.paths(MOST_PATHS)), "first", {}
    some = "" if len(paths) == spn.n_paths else f"The {listed} {len(paths)} of {count_text(spn.n_paths)}. "
    st.caption(f"{some}Choose a row to see the path on the canvas, in violet.")
    table = st.dataframe(
        pd.DataFrame(
            {
                "kernels": ["∘".join(spn.names[leaf] for leaf in path.leaves) for path in paths],
                **values,
                "g": [path.g(spn.names) for path in paths],
            }
        ),
        hide_index=True,
        height=240,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [paths.index(work.path)] if work.path in paths else []}},
        key=f"paths_{hash(spn)}_{listed}",
        column_config={
            "kernels": st.column_config.TextColumn(help=explained("∘")),
            "g": st.column_config.TextColumn(help=explained("g")),
            "weight g": st.column_config.NumberColumn(format="%.4g", help=explained("g")),
        },
    )
    rows = table.selection.rows
    chosen = paths[rows[0]] if rows else None
    if chosen != work.path:
        work.path = chosen
        rerun()
    if chosen is not None:
        st.latex(f"g = {latex_g(chosen, spn)}")
        if weighed and (known := next((path for path in weighed[1] if path.path == chosen), None)):
            st.markdown(plain(worked_g(spn, known, weighed[2])), help=explained("g", "β"))
    expanded = st.toggle(
        "Path-dependent view",
        work.expanded,
        help=f"{explained('path-dependent view')} It is drawn below the canvas.",
    )
    if expanded != work.expanded:
        work.expanded = expanded
        rerun()


def heaviest_of(work: Workspace) -> tuple[str, list[WeightedPath], dict[str, float]] | None:
    """The heaviest paths by the run that the pages show, where that is of this very structure, and its weights."""
    run = work.trainer.book.run
    if run is None or unplaced(run.spn) != unplaced(work.drawing.spn):
        return None
    return run.name, heaviest_paths(run.solution, MOST_PATHS), run.solution.beta


def show_expanded(spn: SPN, issues: list[Issue]) -> None:
    """Across the page, because it is as wide as there are paths."""
    with st.container(border=True, key="expanded"):
        st.markdown("**Path-dependent view**")
        if errors(issues):
            st.info("It appears here once the structure is valid.")
        elif spn.n_paths > MOST_EXPANDED:
            st.info(f"Shown for up to {MOST_EXPANDED} paths; this structure has {count_text(spn.n_paths)}.")
        else:
            st.image(expanded_picture(spn, theme()), width="content")


@kept_with_drawing
def expanded_picture(spn: SPN, theme: str) -> str:
    return to_svg(spn.expanded(), theme=theme)


def latex_g(path: Path, spn: SPN) -> str:
    names = symbols(spn, latex=True)
    return r"\,".join(
        names[v] + ("" if e == 1 else rf"^{{{e.numerator}/{e.denominator}}}") for v, e in path.exponents.items()
    )


def show_formula(spn: SPN, issues: list[Issue]) -> None:
    if errors(issues):
        st.info("The formula appears here once the structure is valid.")
        return
    st.latex(spn.formula(latex=True))
    st.caption(
        "The drawing with its raw weights β. What is learned is K(β) = Σ g K over the paths, in which each weight has "
        "the exponent of its layer; see the Paths tab.",
        help=explained("K(β)", "g", "∘"),
    )
