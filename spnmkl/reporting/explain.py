"""What a training learned, as tables: its weights, paths, views and kernels, and what pushed one sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np
import pandas as pd

from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Circuit, Floats, compile_circuit
from spnmkl.data import Dataset
from spnmkl.errors import ParameterError
from spnmkl.importance import ViewImportance
from spnmkl.inspection import HeldOutShares, Share, heaviest_paths, sample_contributions
from spnmkl.reporting.sentences import OVERLAP, more_than_all
from spnmkl.selection import CrossValidation
from spnmkl.structure import SPN
from spnmkl.structure.meeting import products_through
from spnmkl.structure.text import node_text, one_line, shortened
from spnmkl.training.held_out import MOST_PATHS
from spnmkl.training.kernel_checks import kernel_issues
from spnmkl.training.prepared import Part, Prepared
from spnmkl.training.run import Run
from spnmkl.wording import counted, listed

HELD_OUT, ERROR, SPREAD = "held-out share", "standard error", "spread over folds"
NOT_KNOWN = Share(math.nan, math.nan)
NOT_MEASURED = (
    "Weights only: what carries the decision on rows that were not trained on was not measured. A heavy weight may say "
    "nothing about new rows."
)
_LONGEST = 120
_CANDIDATES = 200  # paths among which those that push a sample most are looked for


def weights_table(run: Run) -> pd.DataFrame:
    """Every product, heaviest first: id, weight (its symbol), β, p, its held-out share, and how it ended.

    Evidence weights have no p and no KKT residual: they do not minimise the objective that these belong to.
    """
    spn, solution, name = run.spn, run.solution, run.spn.names
    known = run.held_out.nodes if run.held_out else {}
    products = sorted(spn.products, key=lambda v: -solution.beta[v])
    table = pd.DataFrame(
        {
            "id": products,
            "weight": [name[v] for v in products],
            "β": [solution.beta[v] for v in products],
            "p": [solution.p[v] for v in products],
            **share_columns([known.get(v, NOT_KNOWN) for v in products]),
            "pruned at iteration": pd.array([solution.pruned.get(v) for v in products], dtype="Int64"),
            "KKT residual": [solution.kkt_residual[v] for v in products],
            "multiplies": [children_text(spn, v) for v in products],
        }
    )
    return table.drop(columns=["p", "KKT residual"]) if solution.by_evidence else table


def paths_table(run: Run, k: int = MOST_PATHS) -> tuple[pd.DataFrame, list[WeightedPath]]:
    """The k heaviest paths with what they multiply, their g and their shares; row by row, the paths themselves."""
    paths, known = heaviest_paths(run.solution, k), run.held_out.paths if run.held_out else {}
    table = pd.DataFrame(
        {
            "kernels": [path_text(run.spn, path) for path in paths],
            "g written out": [shortened(path.path.g(run.spn.names), _LONGEST) for path in paths],
            "g": [path.g for path in paths],
            "part of Σg": [path.share for path in paths],
            **share_columns([known.get(path.path, NOT_KNOWN) for path in paths]),
        }
    )
    return table, paths


def share_columns(shares: Sequence[Share]) -> dict[str, list[float]]:
    """Held-out shares as columns of a table: the share, its standard error over the rows, its spread over folds."""
    return {
        HELD_OUT: [share.share for share in shares],
        ERROR: [share.error for share in shares],
        SPREAD: [share.spread for share in shares],
    }


def ranking(run: Run) -> pd.DataFrame:
    """Views, then kernels, each from what carries most of the decision on held-out rows down, else by weight.

    Returns
    -------
    DataFrame
        kind ("view" or "kernel"), id, name, held-out share with its standard error and its spread over folds, share of
        Σg. After a cross-validation also, at the C of its grid that is nearest to the run's: "Σg ± over folds", the
        standard deviation of the part of Σg, and survival, the share of folds in which the weights left a path
        through it.
    """
    groups = {("view", view): leaves for view, leaves in run.views.items()}
    groups |= {("kernel", leaf): (leaf,) for leaf in run.spn.kernels}
    known: dict[tuple[str, str], Share] = {}
    if run.held_out is not None:
        known |= {("view", view): share for view, share in run.held_out.views.items()}
        known |= {("kernel", node): share for node, share in run.held_out.nodes.items()}
    products = [products_through(run.spn, leaves) or set() for leaves in groups.values()]
    kinds, ids = zip(*groups, strict=True)
    table = pd.DataFrame(
        {
            "kind": kinds,
            "id": ids,
            "name": [one_line(id) if kind == "view" else node_text(run.spn, id) for kind, id in groups],
            **share_columns([known.get(group, NOT_KNOWN) for group in groups]),
            "part of Σg": _weight_shares(compile_circuit(run.solution.spn), run.solution.beta, products),
        }
    )
    if run.cross_validation is not None:
        table = table.assign(**_over_folds(run, run.cross_validation, products))
    order = table.sort_values(["kind", ranked_by(table)], ascending=False, kind="stable")
    return order.reset_index(drop=True)


def ranked_by(table: pd.DataFrame) -> str:
    """What to show of a ranking: held-out shares where they are known, else weights, which say less."""
    return "part of Σg" if table[HELD_OUT].isna().all() else HELD_OUT


def column_shares(run: Run, ranked: pd.DataFrame) -> tuple[dict[str, float], str]:
    """Column → what the kernels that see it alone carry, and of what that is a share; empty where there are none."""
    kernels, by = ranked[ranked["kind"] == "kernel"].set_index("id"), ranked_by(ranked)
    found: dict[str, float] = {}
    for leaf in run.spn.kernels:
        features = run.spn.spec(leaf).features
        if features is not None and len(features) == 1 and isinstance(features[0], str):
            found[features[0]] = found.get(features[0], 0.0) + float(kernels[by][leaf])
    return found, by


def shares_sentence(found: HeldOutShares | None) -> str:
    """Which rows the shares are of, or why there are none."""
    if found is None:
        return NOT_MEASURED
    if not found.known:
        return found.why_none
    return (
        f"Held-out shares, measured on {found.rows}: how much of what tells the classes of these rows apart, while "
        "they are not trained on, comes through each; below 0, a part pulls rows to the wrong side. "
        f"{found.error_words}"
    )


def why_they_differ(run: Run, worth: ViewImportance | None) -> str:
    """Beside what views are worth and the held-out shares of a run: of which rows and C each is; empty without both."""
    held = run.held_out
    if worth is None or not worth.folds or held is None or not held.known:
        return ""
    low, high = (extreme(fold.C for fold in worth.folds) for extreme in (min, max))
    C = f"C = {low:.3g}" if low == high else f"a C of its own ({low:.3g} to {high:.3g})"
    unseen = "" if held.folds > 1 else ", which none of these trainings has seen"
    said = (
        f"Two measurements stand here. Alone, without it and drop are of other trainings: "
        f"{counted(len(worth.folds), 'fold')} of {worth.rows}, each at {C}. The shares below are of "
        f"{'trainings at the C of this run' if held.folds > 1 else 'the training of this run'}, C = "
        f"{run.settings.C:.3g}, on {held.rows}{unseen}. A drop tells whether the others could do without a view, a "
        "share what the decision uses; so the two need not agree."
    )
    apart = [view for view in worth.views if _apart(worth, held, view)]
    if apart:
        said += (
            f" Of {listed(apart)} the share on the folds and the one below differ by more than their errors: the "
            "decision depends on the rows or on C, and neither share should be taken for a property of the view."
        )
    return said


def _apart(worth: ViewImportance, held: HeldOutShares, view: str) -> bool:
    """Whether a view's share on the folds lies off the other by more than the 95 % intervals of both."""
    row = worth.table.set_index("view").loc[view]
    if view not in held.views or np.isnan(row["share_low"]):
        return False
    half = math.hypot((row["share_high"] - row["share_low"]) / 2, 1.96 * held.views[view].error)
    return bool(abs(row["share"] - held.views[view].share) > half)


def copies_sentence(run: Run, dataset: Dataset) -> str:
    """Which weights and shares mean something only together, since their kernels are nearly equal; empty: none."""
    found = kernel_issues(run.spn, dataset, run.choices, run.split)
    pairs = [issue.nodes[-2:] for issue in found if issue.code == "nearly_equal"]
    if not pairs:
        return ""
    named = [" and ".join(f"{children_text(run.spn, v)} ({run.spn.names[v]})" for v in pair) for pair in pairs]
    return (
        f"Nearly equal on the training rows: {listed(named, 3)}. Between such copies weight and share are divided "
        "arbitrarily, and either may have none: read them together."
    )


def overlap(shares: Iterable[float]) -> str:
    """Why shares add up to more than 100 %, where they do."""
    return OVERLAP if more_than_all(Share(share, 0.0) for share in shares if not math.isnan(share)) else ""


def _over_folds(run: Run, validation: CrossValidation, groups: Iterable[set[str]]) -> dict[str, Floats]:
    """How much the part of Σg varies over the folds, and in how many something is left of it."""
    at = int(np.abs(np.log(validation.C / run.settings.C)).argmin())
    groups, circuit = list(groups), compile_circuit(run.solution.spn)
    folds = [
        {v: float(beta[at, fold]) for v, beta in validation.beta.items()}
        for fold in np.flatnonzero(~np.isnan(validation.scores[at]))
    ]
    nothing = np.full(len(groups), np.nan)
    shares = [_weight_shares(circuit, beta, groups) for beta in folds]
    left = [[bool(products & _alive(circuit, beta)) for products in groups] for beta in folds]
    return {
        "Σg ± over folds": np.std(shares, axis=0, ddof=1) if len(folds) > 1 else nothing,
        "survival": np.mean(left, axis=0) if folds else nothing,
    }


def _weight_shares(circuit: Circuit, beta: Mapping[str, float], groups: Iterable[set[str]]) -> Floats:
    """The part of Σg of the paths through any product of each group."""
    weights = np.array([beta[v] for v in circuit.products])
    total = circuit.path_weight_total(weights)
    without = [
        circuit.path_weight_total(np.where([v in products for v in circuit.products], 0.0, weights))
        for products in groups
    ]
    return np.clip(1 - np.array(without) / total, 0.0, 1.0) if total > 0 else np.zeros(len(without))


def _alive(circuit: Circuit, beta: Mapping[str, float]) -> set[str]:
    """The products on paths of positive weight."""
    left = circuit.restricted(np.array([beta[v] > 0 for v in circuit.products]))
    return {v for t in left.terms for v, _ in circuit.derivations.terms[t].products}


def sample_paths(run: Run, prepared: Prepared, part: Part, position: int, k: int = 20) -> pd.DataFrame:
    """Which paths pushed one sample which way.

    Parameters
    ----------
    part : {"train", "test"}
    position : int
        Of the sample among the rows of that part, from 0.
    k : int
        How many paths to tell apart: those that push most, looked for among the heaviest.

    Returns
    -------
    DataFrame
        what (a path's kernels, or words), kind ("path", "others" for all other paths together, "intercept"), class,
        push. The pushes towards a class add up to its decision; for two classes they are those towards the second.
    """
    cross, solution = _sample_kernels(prepared, part, position), run.deciding
    paths = heaviest_paths(solution, max(k, _CANDIDATES) + 1)
    intercept = np.atleast_1d(solution.intercept)
    pushes = sample_contributions(solution, cross, paths).reshape(len(paths), len(intercept))
    first = np.argsort(-np.abs(pushes).max(axis=1), kind="stable")[:k]
    rows = [("path", path_text(run.spn, paths[m]), pushes[m]) for m in first]
    if len(first) < len(paths):
        others = solution.decision_function(cross).reshape(-1) - intercept - pushes[first].sum(axis=0)
        rows.append(("others", "all other paths", others))
    rows.append(("intercept", "intercept", intercept))
    return pd.DataFrame(
        [
            {"what": what, "kind": kind, "class": c, "push": float(push)}
            for kind, what, per_class in rows
            for c, push in zip(solution.classes[-len(intercept) :], per_class, strict=True)
        ]
    )


def _sample_kernels(prepared: Prepared, part: Part, position: int) -> dict[str, Floats]:
    """Leaf → (1, n) kernel values between a sample and the training rows."""
    if part not in ("train", "test"):
        raise ParameterError(f"The part must be 'train' or 'test', but it is {part!r}.")
    n = len(prepared.train if part == "train" else prepared.test)
    if not isinstance(position, Integral) or not 0 <= position < n:
        raise ParameterError(
            f"There are {counted(n, part + ' row')}, numbered from 0, so that {position!r} is none; choose another."
        )
    return prepared.sample(part, int(position))


def wrong_samples(run: Run) -> pd.DataFrame:
    """The samples answered wrongly, test rows first, the most confident answers first.

    Returns
    -------
    DataFrame
        row (its number in the user's table, the first being 1), part, position (in that part, from 0), true, predicted,
        margin (below 0: by how much the answer's decision exceeds that of the true class).
    """
    parts = {"test": (run.test_scores, run.test), "train": (run.train_scores, run.train)}
    tables = []
    for part, (scores, rows) in parts.items():
        wrong = np.flatnonzero(~scores.right & scores.scored)
        wrong = wrong[np.argsort(scores.margin[wrong], kind="stable")]
        tables.append(
            pd.DataFrame(
                {
                    "row": rows[wrong] + 1,
                    "part": part,
                    "position": wrong,
                    "true": scores.y[wrong],
                    "predicted": scores.predicted[wrong],
                    "margin": scores.margin[wrong],
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def children_text(spn: SPN, product: str) -> str:
    """What a product multiplies; a sum without a label by the weights below it."""
    texts = []
    for child in spn.children(product):
        text = node_text(spn, child)
        texts.append(text or "(" + " + ".join(spn.names[v] for v in spn.children(child)) + ")")
    return shortened(" ∘ ".join(texts), _LONGEST)


def path_text(spn: SPN, path: WeightedPath) -> str:
    """The kernels that a path multiplies."""
    return shortened(" ∘ ".join(node_text(spn, leaf) for leaf in path.leaves), _LONGEST)
