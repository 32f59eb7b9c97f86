"""Branches beside each other: what each weighs, carries on rows not trained on, and is worth by evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from spnmkl.export.flows import path_flows
from spnmkl.inspection import Share
from spnmkl.reporting.explain import NOT_KNOWN, children_text, share_columns
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.training.branches import NEEDED, NOT_NEEDED, BranchEvidence
from spnmkl.training.run import Run
from spnmkl.wording import counted, number_text

MOST_PAIRS = 3
EVIDENCE_SHARE = "evidence: share on training rows"
CANNOT_TELL = (
    "Certified weights are the best for this drawing and C. They cannot tell whether a sum or a product made the "
    "labels: a product fits any labels with less effort than a sum, and nothing charges it for that."
)


def branches_table(
    run: Run, node: str, found: BranchEvidence | None = None, held_out: Mapping[str, Share] | None = None
) -> pd.DataFrame:
    """One row per branch below a sum, heaviest first; NaN where something is not known.

    Parameters
    ----------
    run : Run
    node : str
        The sum.
    found : BranchEvidence, optional
    held_out : mapping from product to Share, optional
        The share of every branch in the decision on rows that were not trained on.
    """
    spn, flows = run.spn, path_flows(run.spn, run.solution.beta)
    held, shares, deltas = held_out or {}, found.shares if found else {}, found.deltas if found else {}
    branches = spn.children(node)
    table = pd.DataFrame(
        {
            "branch": [branch_name(spn, v) for v in branches],
            "multiplies": [children_text(spn, v) for v in branches],
            "β": [run.solution.beta[v] for v in branches],
            "share of Σg": [flows.get(v, math.nan) for v in branches],
            **share_columns([held.get(v, NOT_KNOWN) for v in branches]),
            "evidence share": [shares.get(v, math.nan) for v in branches],
            "Δ evidence": [deltas.get(v, math.nan) for v in branches],
        }
    )
    if (table["branch"] == table["multiplies"]).all():
        del table["multiplies"]
    return table.sort_values("share of Σg", ascending=False, kind="stable", ignore_index=True)


def branch_name(spn: SPN, v: str) -> str:
    """As it was called, or else what it multiplies."""
    return children_text(spn, v) if spn.label(v) == v else spn.label(v)


def sum_name(spn: SPN, node: str) -> str:
    """A sum as it is called, and where it stands."""
    title = spn.names.get(node) or spn.label(node)
    above = [children_text(spn, v) for v in spn.parents(node)]
    return f"{title}, the root" if node == spn.root else f"{title} in {above[0]}" if above else title


def rivals(spn: SPN, node: str) -> list[tuple[str, str]]:
    """Branches below a sum of which one only adds kernels and the other multiplies some, over columns in common."""
    branches = spn.children(node)
    adding = [v for v in branches if not _multiplies(spn, v)]
    return [(v, w) for v in adding for w in branches if w not in adding and _columns(spn, v) & _columns(spn, w)]


def _below(spn: SPN, v: str) -> set[str]:
    """A node and all that it leads to."""
    found, waiting = {v}, [v]
    while waiting:
        new = set(spn.children(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def _multiplies(spn: SPN, v: str) -> bool:
    return any(spn.kind(u) == "product" and len(spn.children(u)) > 1 for u in _below(spn, v))


def _columns(spn: SPN, v: str) -> set[object]:
    """What the kernels below see; a kernel of all columns, or a given matrix, is known by its name."""
    seen: set[object] = set()
    for leaf in _below(spn, v):
        if spn.kind(leaf) == "kernel":
            spec = spn.spec(leaf)
            seen |= set(spec.features or [spn.label(leaf) if spec.kernel == "precomputed" else "all columns"])
    return seen


def rival_sentences(run: Run, node: str, found: BranchEvidence | None = None) -> list[str]:
    """Where a sum and a product compete: what certified weights cannot tell, and of every pair what evidence says."""
    pairs = rivals(run.spn, node)
    said = [] if run.solution.by_evidence or not pairs else [CANNOT_TELL]
    for added, product in pairs[:MOST_PAIRS]:
        names = branch_name(run.spn, added), branch_name(run.spn, product)
        several = sum(run.spn.kind(v) == "kernel" for v in _below(run.spn, added)) > 1
        how = "adds them up" if several else "uses one of them alone"
        words = f"Two branches have kernels of the same columns: {names[0]} {how}, {names[1]} multiplies them."
        if found is not None and {added, product} <= found.deltas.keys():
            words += f" {_verdict(names, found.deltas[added], found.deltas[product], found)}"
        said.append(words)
    left = len(pairs) - MOST_PAIRS
    return [*said, f"And {counted(left, 'more pair')} of such branches."] if left > 0 else said


def _verdict(names: tuple[str, str], of_sum: float, of_product: float, found: BranchEvidence) -> str:
    deltas = " and ".join(number_text(delta, ".1f") for delta in (of_sum, of_product))
    beside = f"(Δ {deltas}, on {counted(found.rows, 'training row')})"
    if of_sum >= NEEDED and of_product >= NEEDED:
        return f"Evidence: the labels need both {beside}."
    if of_sum >= NEEDED and of_product <= NOT_NEEDED:
        return f"Evidence: the labels need {names[0]}, and not the product {beside}."
    if of_product >= NEEDED and of_sum <= NOT_NEEDED:
        return f"Evidence: the labels need the product, {names[1]}, and not {names[0]} {beside}."
    if max(of_sum, of_product) <= NOT_NEEDED:
        return f"Evidence: the labels do not need {names[0]}, nor {names[1]}, if only that one is removed {beside}."
    return f"Evidence leaves it open {beside}: more rows may decide."


def evidence_words(found: BranchEvidence, solution: Solution) -> str:
    """What was computed, and on which rows."""
    sample = "" if found.rows == found.of_rows else f", a sample of {found.of_rows:,}"
    missing = " Stopped before all branches were removed." if len(found.deltas) < len(found.shares) else ""
    own = "" if solution.by_evidence else " The weights of this run are others: the certified ones."
    evidence = f"Log evidence {number_text(found.log_evidence, '.1f')} on {counted(found.rows, 'training row')}{sample}"
    return (
        f"{evidence}, by weights of its own that are not certified.{own}{missing} Each branch is removed alone: of two "
        "that say nearly the same, neither is missed."
    )
