"""What a training found, in words: sentences and lines for the terminal and for the app."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spnmkl import structure
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.data import Preparation, preparation_facts, preparation_lines
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import HeldOutShares, Share
from spnmkl.landmarks import Approximation
from spnmkl.measures import interval_text, value_text
from spnmkl.memory import double_bytes
from spnmkl.solution import Solution, methods_text, stretches
from spnmkl.structure import SPN
from spnmkl.training.room import memory_text
from spnmkl.training.scores import Measured
from spnmkl.wording import counted

BY_EVIDENCE = "evidence weights, not certified"
OVERLAP = (
    "Shares add up to more than 100 %, because a path that multiplies several kernels counts in full for each of them "
    "and for each of their views, also for one that adds nothing to it; what a view adds is what leaving it out costs."
)
MOST_SHARES = 20
_MORE = 1.005  # beyond rounding
_REST = 0.01  # of the decision that is in no share of a view, from which it is told


def certificate_sentence(solution: Solution) -> str:
    """How the training ended and what is proved, in plain words."""
    short = f"{solution.tol:.0e}"
    tol = short if float(short) == solution.tol else f"{solution.tol:g}"
    if solution.status == "optimal":
        zero = (
            "" if any(solution.beta.values()) else "; every weight is zero and the answer constant: choose a larger C"
        )
        return f"certified optimal: gap {solution.gap:.1e} ≤ {tol}{zero}"
    if solution.status == "stationary":
        residual = max(solution.kkt_residual.values())
        return f"stationary (KKT residual {residual:.1e}), not certified: with some p < 1 there may be better optima"
    if solution.status == "evidence":
        return f"{BY_EVIDENCE}: the labels are most probable at these, of all that were tried"
    if solution.untried:
        return (
            "not certified: stopped before the first point was found; no weight was tried, and the answer is constant"
        )
    how = how_it_ended(solution)
    if solution.by_evidence:
        return f"{BY_EVIDENCE}: {how}"
    if not math.isfinite(solution.gap):
        return f"not certified: {how}, and no bound on the optimum is known"
    if solution.gap <= solution.tol:
        return f"not certified: {how}, while its gap of {solution.gap:.1e} ≤ {tol} was being proved"
    lower = f"{min(100 * solution.gap, 100):.3g} %"
    return f"not certified: {how} at gap {solution.gap:.1e} > {tol}; the optimum is at most {lower} lower"


def how_it_ended(solution: Solution) -> str:
    """Why a training went no further, as the beginning of a sentence."""
    n = len(solution.history)
    rounds, room = f"{n} iteration{'s' * (n != 1)}", memory_text(double_bytes(len(solution.y)))
    return {
        "interrupted": f"stopped after {rounds}",
        "iteration_limit": f"ended at the limit of {rounds}",
        "time_limit": f"ended at the limit of time after {rounds}",
        "precision": "rounding allows no further progress",
        "memory": f"what would come next needs up to {room} of memory beside the kernels, more than was free",
        "stalled": "no further progress was possible",
        "hand-set": "weights set by hand",
        "evidence": BY_EVIDENCE,
    }.get(solution.status, solution.status)


def accuracy_sentence(what: str, predicted: np.ndarray, y: np.ndarray) -> str:
    classes, counts = np.unique(y, return_counts=True)
    k = counts.argmax()
    right, guessed = value_text(float(np.mean(predicted == y))), value_text(counts[k] / len(y))
    return f"{what} {right}; always answering {str(classes[k])!r} gives {guessed}"


def measure_lines(found: Sequence[Measured], said: str = "accuracy") -> list[str]:
    """Measures but for the one that the sentence above has `said`, each with its interval and what guessing gives."""
    others = [m for m in found if m.title != said]
    width = max((len(m.title) for m in others), default=0)
    lines = []
    for m in others:
        worth = [interval_text(m.interval, m.percent), f"guessing {m.guess_text}" if m.guess_text else ""]
        said = "; ".join(filter(None, worth))
        lines.append(f"  {m.title:{width}}  {m.text}" + (f" ({said})" if said else ""))
    return lines


def score_lines(stored: Any) -> list[str]:
    """The scores over folds that were saved with a model, in a line each."""
    try:
        measures = stored["measures"]
        lines = [f"on rows held out, {stored['folds_done']} folds of {stored['rows']} {stored['of']}, C {stored['C']}:"]
        for name, m in measures.items():
            if m["value"] is None:  # no fold has this one, such as an area where every fold has one class only
                continue
            interval = "" if m["low"] is None else f" ({float(m['low']):.3f} to {float(m['high']):.3f})"
            lines.append(f"  {name.replace('_', ' ')} {float(m['value']):.3f}{interval}")
        return lines
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []  # none, or of another program


def weight_lines(solution: Solution, most: int) -> list[str]:
    """The weights from the heaviest down, then what was pruned."""
    spn, name = solution.spn, solution.spn.names
    kept = sorted((v for v, weight in solution.beta.items() if weight > 0), key=lambda v: -solution.beta[v])
    width = max((len(name[v]) for v in kept[:most]), default=0)
    lines = ["weights:"]
    for v in kept[:most]:
        below = "∘".join(name.get(child, "(…)") for child in spn.children(v))
        lines.append(f"  {name[v]:{width}}  {solution.beta[v]:<9.4g}  of {_shorten(below)}")
    lines += [f"  and {len(kept) - most:,} more"] if len(kept) > most else []
    pruned = [f"{name[v]} (iteration {k})" for v, k in list(solution.pruned.items())[:most]]
    pruned += [f"and {len(solution.pruned) - most:,} more"] if len(solution.pruned) > most else []
    return [*lines, f"pruned: {', '.join(pruned) or 'none'}"]


def path_lines(spn: SPN, paths: Sequence[WeightedPath], shares: HeldOutShares | None = None) -> list[str]:
    """Share of Σg, the kernels multiplied, the held-out share where known, and how g is made of weights."""
    name, known = spn.names, shares.paths if shares is not None and shares.known else {}
    kernels = ["∘".join(name[leaf] for leaf in path.leaves) for path in paths]
    if known:
        kernels = [f"{_share(known.get(p.path)):>12}  {text}" for p, text in zip(paths, kernels, strict=True)]
    width = max(map(len, kernels), default=0)
    made = [structure.Path(path.leaves, path.layers).g(name) for path in paths]
    return [
        f"  {100 * path.share:5.1f} %  {text:{width}}  g = {g} = {path.g:.4g}"
        for path, text, g in zip(paths, kernels, made, strict=True)
    ]


def share_lines(spn: SPN, shares: HeldOutShares | None) -> list[str]:
    """What carries the decision on rows that were not trained on: views, then kernels; or why that is not known."""
    if shares is None:
        return ["held-out shares: not measured; fit with --test-share or --share-folds to measure them"]
    if not shares.known:
        return [shares.why_none]
    kernels = {spn.names[leaf]: shares.nodes[leaf] for leaf in spn.kernels}
    lines = [f"held-out shares, on {shares.rows}{', and their spread over folds' if shares.folds > 1 else ''}:"]
    width = max(len(str(share)) for share in (*shares.views.values(), *kernels.values()))
    for kind, found in (("view", shares.views), ("kernel", kernels)):
        ranked = sorted(found.items(), key=lambda entry: -entry[1].share)
        # What pulls to the wrong side, by more than its error, is news however long the list is.
        wrong = [entry for entry in ranked[MOST_SHARES:] if entry[1].share < -entry[1].error]
        between = len(ranked) - MOST_SHARES - len(wrong)
        lines += [_share_line(share, kind, name, width) for name, share in ranked[:MOST_SHARES]]
        lines += [f"  and {counted(between, kind)} more"] if between > 0 else []
        lines += [_share_line(share, kind, name, width) for name, share in wrong]
    rest = 1 - sum(share.share for share in shares.views.values())
    if shares.views and rest > _REST:
        lines.append(
            f"  {100 * rest:.0f} % are in no view's share: kernels that do not see columns of one view alone carry "
            "them, so that a view may matter whatever its own share is"
        )
    lines.append(f"  {shares.error_words}")
    return lines + ([f"  {OVERLAP}"] if more_than_all(shares.views.values()) or more_than_all(kernels.values()) else [])


def _share_line(share: Share, kind: str, name: str, width: int) -> str:
    spread = "" if math.isnan(share.spread) else f"{100 * share.spread:4.0f} %"
    return f"  {share!s:>{width}}  {spread}{'  ' * bool(spread)}{kind} {name}"


def more_than_all(shares: Iterable[Share]) -> bool:
    """Whether shares add up to more than 100 %, because paths count for several."""
    return sum(share.share for share in shares) > _MORE


def _share(share: Share | None) -> str:
    return "–" if share is None else str(share)


def inspection_lines(
    model: SPNMKLClassifier, paths: Sequence[WeightedPath], shares: HeldOutShares | None = None
) -> list[str]:
    solution, spn = model.solution_, model.solution_.spn
    measured = ", held-out share" if shares is not None and shares.known else ""
    found = model.approximation_
    references = "support vectors" if found is None else "landmarks"
    return [
        *([certificate_sentence(solution)] if found is None else found.sentences),
        f"{'' if found is None else 'on the sample: '}objective {solution.objective:.6g}, {_bound(solution)}; "
        f"C = {model.C_:g}, λ = {model.lam:g}, solver {solution.solver}{_methods(solution)}",
        f"{len(model.classes_)} classes: {', '.join(map(str, model.classes_))}; {len(model.support_)} {references}",
        f"{spn!r}, {count_text(spn.n_paths)} paths",
        spn.formula(latex=False),
        *([] if (prepared := _preparation(model)) is None else preparation_lines(prepared)),
        *score_lines(model.extra_.get("scores")),
        *weight_lines(replace(solution, beta=model.beta_), len(solution.beta)),
        *share_lines(spn, shares),
        f"heaviest paths (part of all g{measured}):" if paths else "no path is left: every weight is zero",
        *path_lines(spn, paths, shares),
    ]


def _preparation(model: SPNMKLClassifier) -> Preparation | None:
    """What `fit` did to columns; a model that was trained in Python knows of nothing."""
    stored = model.extra_.get("preparation")
    return None if stored is None else Preparation.from_dict(stored)


def _approximation(found: Approximation) -> dict[str, Any]:
    """Which rows the certificate is for, and what there is on all of them."""
    return {
        "sentences": found.sentences,
        "n_rows": found.n_rows,
        "n_sample": found.n_sample,
        "n_landmarks": len(found.landmarks),
        "objective_on_all_rows": _finite(found.objective),
        "loss_on_all_rows": _finite(found.loss),
        "svm_gap": _finite(found.svm_gap),
        "dual_bound_on_all_rows": None if found.certificate is None else _finite(found.certificate.dual_bound),
        "gap_on_all_rows": None if found.certificate is None else _finite(found.certificate.gap),
    }


def summary(
    model: SPNMKLClassifier, paths: Sequence[WeightedPath], shares: HeldOutShares | None = None
) -> dict[str, Any]:
    """What `inspection_lines` says, for programs; a number that is not finite is null."""
    solution, found = model.solution_, model.approximation_
    known = shares.paths if shares is not None else {}
    return {
        "status": solution.status,
        "certificate": certificate_sentence(solution) if found is None else found.sentences[0],
        "approximation": None if found is None else _approximation(found),
        "objective": solution.objective,
        "dual_bound": _finite(solution.dual_bound),
        "gap": _finite(solution.gap),
        "tol": solution.tol,
        "solver": solution.solver,
        "methods": [{"method": method, "from_iteration": first} for first, method in stretches(solution.history)],
        "iterations": len(solution.history),
        "classes": model.classes_.tolist(),
        "probabilities": model.calibration_ is not None,
        "preparation": None if (prepared := _preparation(model)) is None else preparation_facts(prepared),
        "scores": model.extra_.get("scores"),
        "n_support": len(model.support_),
        "formula": solution.spn.formula(latex=False),
        "beta": dict(sorted(model.beta_.items(), key=lambda item: -item[1])),
        "pruned": solution.pruned,
        "held_out": None if shares is None else _told(shares),
        "paths": [
            {
                "leaves": path.leaves,
                "exponents": {v: str(e) for v, e in path.exponents.items()},
                "g": path.g,
                "share": path.share,
                "held_out": _numbers(known[path.path]) if path.path in known else None,
            }
            for path in paths
        ],
    }


def _bound(solution: Solution) -> str:
    if solution.by_evidence and solution.history:
        return f"log evidence {-solution.history[-1].objective:.6g}"
    return f"lower bound {solution.dual_bound:.6g}"


def _told(shares: HeldOutShares) -> dict[str, Any]:
    return {
        "rows": shares.rows,
        "n": shares.n,
        "total": _finite(shares.total),
        "error": _finite(shares.error),
        "why_none": shares.why_none or None,
        "views": {view: _numbers(share) for view, share in shares.views.items()},
        "nodes": {node: _numbers(share) for node, share in shares.nodes.items()},
    }


def _numbers(share: Share) -> dict[str, float | None]:
    return {name: _finite(getattr(share, name)) for name in ("share", "error", "spread")}


def _methods(solution: Solution) -> str:
    """What the solver did, unless its name says it."""
    used = [method for _, method in stretches(solution.history)]
    return "" if used in ([], [solution.solver]) else f" ({methods_text(solution.history)})"


def _shorten(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def count_text(n: int) -> str:
    return f"{n:,}" if n < 10**15 else f"about 10^{n.bit_length() * math.log10(2):.0f}"
