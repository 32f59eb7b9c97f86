"""Why the result may be believed: the certificate computed anew, KKT residuals, and Theorem 2."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from spnmkl.inspection import complexity_bound
from spnmkl.reporting.glossary import explained, worked_gap
from spnmkl.reporting.worked import worked_objective, worked_residual
from spnmkl.solution import Certificate
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import Inspected, download, tell_missing_data
from spnmkl.ui.parts.results import listed_ending
from spnmkl.ui.parts.words import plain

PARTS_HELP = (
    "Complexity of the decision function f, price of the weights β, and errors ℓ on training rows: 0 for a row beyond "
    "its margin, 1 for one on the boundary, more on the wrong side."
)


def proof_tab(seen: Inspected) -> None:
    left, right = st.columns([11, 9], gap="large")
    with left:
        show_certificate(seen)
        show_bound(seen)
    with right:
        show_residuals(seen.run)


def show_certificate(seen: Inspected) -> None:
    """Objective, lower bound and gap, as training left them and computed anew on this page."""
    run, solution = seen.run, seen.run.solution
    st.markdown("**Certificate**")
    st.markdown(listed_ending(run))
    columns = {"as trained": Certificate(solution.objective, solution.dual_bound, solution.gap)}
    if seen.has_data:
        columns["computed anew"] = seen.once("certificate", lambda prepared: solution.certify(prepared.source))
    table = pd.DataFrame(
        {
            "": ["objective P", "lower bound D", "relative gap (P − D)/P"],
            **{
                title: [_number(c.objective), _number(c.dual_bound), _number(100 * c.gap, " %")]
                for title, c in columns.items()
            },
        }
    )
    st.dataframe(table, hide_index=True)
    st.markdown(plain(worked_gap(solution)), help=explained("objective", "bound", "gap"))
    if worked := worked_objective(run):
        st.markdown(plain(worked), help=f"{PARTS_HELP}\n\n{explained('λ', 'c', 'p', 'C')}")
    st.caption(
        f"Computed anew from the kernels, the labels and the stored weights alone, without any solver{_where(run)}."
        if seen.has_data
        else f"It cannot be computed anew: {plain(run.name)} was loaded without its data."
    )
    st.markdown(lemma(run), help=explained("g", "q", "F", "bound"))


def _where(run: Run) -> str:
    return "" if run.approximated is None else f", on the {run.train_words}"


def lemma(run: Run) -> str:
    """Sections 5 and 6 of the formulation in a few sentences."""
    if run.solution.by_evidence:
        return (
            "**Why there is no proof.** Evidence weights are those at which the labels are most probable, of all that "
            "were tried: another criterion than the objective P, and not a convex one. There may be better ones."
        )
    if not math.isfinite(run.solution.dual_bound):
        return (
            "**Why there is no proof.** With some exponent p < 1 the problem is not convex and may have several "
            "optima. What is known is how nearly no small change of a weight helps: the KKT residuals."
        )
    convex = "β" if min(run.solution.p.values()) >= 1 else "the powers of β that are penalised"
    return (
        "**Why it is a proof.** The weight g of a path is a geometric mean of weights β, whose exponents add up to 1. "
        f"Hence the problem is convex in {convex} (Lemma 1), and F(β) = ½ Σ g(β) q lies below its tangent at any "
        "point. With the tangent in the place of F the dual has a closed form, D: the optimum lies between D and P. "
        "Pruned weights are part of the bound"
        + (", so that the pruning is proved with it." if run.solution.status == "optimal" else " too.")
    )


def _number(value: float, unit: str = "") -> str:
    return f"{value:.8g}{unit}" if math.isfinite(value) else "not known"


def show_residuals(run: Run) -> None:
    solution, name = run.solution, run.spn.names
    if solution.by_evidence:
        st.caption("Evidence weights do not minimise the objective: there are no KKT residuals of it to show.")
        return
    order = sorted(run.spn.products, key=lambda v: -solution.kkt_residual[v])
    table = pd.DataFrame(
        {
            "weight": [name[v] for v in order],
            "β": [solution.beta[v] for v in order],
            "KKT residual": [solution.kkt_residual[v] for v in order],
        }
    )
    st.markdown("**KKT residual of every weight**", help=explained("KKT"))
    st.dataframe(
        table,
        hide_index=True,
        height=min(420, 38 + 35 * len(table)),
        column_config={
            "β": st.column_config.NumberColumn(format="%.4g", help=explained("β")),
            "KKT residual": st.column_config.NumberColumn(format="%.1e"),
        },
    )
    bounded = math.isfinite(solution.dual_bound)
    zero = "how much its branch could still gain by coming back" if bounded else "not known here, and shown as 0"
    st.caption(
        "By how much the objective would change, relative to itself, per relative change of the weight; at an optimum "
        f"it is 0. For a weight of zero: {zero}."
    )
    if order:
        st.caption(plain(worked_residual(solution, order[0])) + ".")
    download(table, run, "residuals")


def show_bound(seen: Inspected) -> None:
    """Theorem 2 with its parts, and what it is not."""
    st.markdown("**Theorem 2: complexity**", help=f"Kₘ is the kernel of a path.\n\n{explained('λ', 'p', 'C')}")
    classes = len(seen.run.solution.classes)
    if classes != 2:
        st.caption(f"The theorem is about two classes; this run has {classes}.")
        return
    if not seen.has_data:
        tell_missing_data(seen.run, "Theorem 2's bound")
        return
    bound = seen.once("theorem 2", lambda prepared: complexity_bound(seen.run.solution, prepared.source))
    st.latex(rf"\frac{{2A}}{{N}}\,\Bigl(R + \sum_i C_i\,\ell_i\Bigr) = {bound.value:.4g}")
    st.dataframe(
        pd.DataFrame(
            [
                ("A", f"{bound.A:.4g}", "the root of Σ Kₘ(xᵢ, xᵢ) over all paths and training rows"),
                ("N", f"{bound.n:,}", "training rows"),
                ("R", f"{bound.regularizer:.4g}", "the regulariser with λ = 1 and p = 1"),
                ("Σ Cᵢ ℓᵢ", f"{bound.loss:.4g}", "the errors on training rows"),
            ],
            columns=["part", "value", "what it is"],
        ),
        hide_index=True,
    )
    st.caption(
        "It bounds the complexity of the functions whose objective is no larger. It is no guarantee of how well new "
        "rows are answered, since these functions are told apart by the labels; and it must not be compared across C, "
        "for it goes to 0 with C."
    )
