"""How a training ended, in plain sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spnmkl.measures import interval_text
from spnmkl.reporting.glossary import GLOSSARY
from spnmkl.reporting.sentences import BY_EVIDENCE, how_it_ended
from spnmkl.solution import METHODS, Solution, methods_text
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.run import Run
from spnmkl.training.scores import Measured, Scores
from spnmkl.wording import counted, quoted

MOST_NAMED = 6
PRUNED_BY_EVIDENCE = (
    "A weight that became exactly zero: every path through it is out. Nothing of it is proved, and it is so at every C."
)
SOLVER_NAMES = {"auto": "automatic", **METHODS}


def ending(solution: Solution) -> str:
    """What is proved, as a person would say it."""
    gap = percent(solution.gap)
    if solution.status == "optimal" and not any(solution.beta.values()):
        return "Certified optimal, and every weight is zero: at this C it pays to learn nothing. Choose a larger C."
    if solution.status == "optimal":
        return f"Certified optimal to {gap}: no weights at all can reach an objective lower by more than that."
    if solution.status == "stationary":
        return (
            "Stationary, not certified: with p below 1 the problem is not convex, and there may be better weights. "
            f"The optimality conditions hold to {max(solution.kkt_residual.values()):.1e}."
        )
    if solution.status == "evidence":
        return (
            "Evidence weights, not certified: of all that were tried the labels are most probable at these, with what "
            "kernels can fit charged for. Better ones may exist."
        )
    if solution.untried:
        return "Stopped before the first point was found: no weight was tried, and every answer is the same."
    words = how_it_ended(solution)
    how = words[:1].upper() + words[1:]
    if solution.by_evidence:
        return f"{how}; the best evidence weights so far are kept, not certified."
    if not math.isfinite(solution.gap):
        return f"{how}; nothing is known of how far the optimum is."
    return f"{how}; the best weights so far are kept, and the optimum is at most {gap} lower."


def run_ending(run: Run) -> list[str]:
    """What is proved of a run; of one by landmarks also what is computed and what is estimated, a sentence each."""
    found = run.approximated
    if found is None or run.solution.untried or not any(run.solution.beta.values()):
        return [ending(run.solution)]
    words = how_it_ended(run.solution)
    how = "" if run.solution.status in ("optimal", "evidence") else f"{words[:1].upper()}{words[1:]}. "
    return [how + found.certified, *found.sentences[1:]]


def succeeded(run: Run) -> bool:
    """Whether all that was to be proved is, and something was learned."""
    found = run.approximated
    done = run.solution.status == "optimal" and any(run.solution.beta.values())
    return done and (found is None or found.svm_gap <= run.settings.tol)


def pruning(run: Run) -> str:
    """Which weights became zero, when, and what that means."""
    pruned, total = run.solution.pruned, len(run.solution.beta)
    if run.solution.untried:
        return "No weight was tried."
    if not pruned:
        return f"None of the {counted(total, 'weight')} was pruned."
    named = [f"{run.spn.names[v]} (iteration {k})" for v, k in list(pruned.items())[:MOST_NAMED]]
    more = f" and {len(pruned) - MOST_NAMED} more" if len(pruned) > MOST_NAMED else ""
    means = pruned_means(run.solution, f"{run.train_kind} rows")
    return f"{len(pruned)} of {counted(total, 'weight')} pruned: {', '.join(named)}{more}. {means}"


def pruned_means(solution: Solution, rows: str = "training rows") -> str:
    """What it means that weights are zero, on these rows."""
    nothing = not any(solution.beta.values())
    if nothing and not solution.by_evidence:
        return "At this C nothing is worth its weight."
    what, it = ("What it leads to", "it") if len(solution.pruned) == 1 else ("What they lead to", "they")
    if solution.by_evidence:
        beside = "by any of the weights" if nothing else "beside the others"
        adds = f"{what} does not make the labels of the {rows} more probable {beside} (not proved)"
    else:
        proved = "this is proved" if solution.status == "optimal" else "as far as training got"
        adds = f"{what} adds nothing on the {rows} at this C that the others do not give already ({proved})"
    return (
        f"{adds}. Whether {it} would help on new rows is another question, which only rows that were not trained on "
        "can answer."
    )


@dataclass(frozen=True)
class Headline:
    """One of the numbers that are looked at first: what it is, and what it means."""

    number: str
    what: str
    remark: str
    help: str


def headlines(run: Run) -> tuple[Headline, Headline, Headline]:
    """How good on rows not trained on, how near to the best weights, how much was pruned."""
    solution = run.solution
    pruned, total = sum(weight <= 0 for weight in solution.beta.values()), len(solution.beta)
    known = solution.gap < 1
    ends = {"optimal": "certified optimal", "stationary": "stationary, not certified", "evidence": BY_EVIDENCE}
    return (
        _over_folds(run, run.measured) if run.measured is not None else _on_one_split(run),
        _evidence(solution)
        if solution.by_evidence
        else Headline(
            percent(solution.gap) if known else "none",
            "above the optimum at most" if known else "bound on the best objective",
            f"the gap{_of_sample(run)}; {ends.get(solution.status, 'not certified')}{_of_sample(run, ' there')}",
            GLOSSARY["gap"].sentence,
        ),
        Headline(
            f"{pruned} of {total}",
            "weights pruned",
            "; ".join(filter(None, ["exactly zero" if pruned else "all take part", _when(run)])),
            PRUNED_BY_EVIDENCE if solution.by_evidence else GLOSSARY["pruned"].sentence,
        ),
    )


def _of_sample(run: Run, words: str = " on the sample") -> str:
    return "" if run.approximated is None else words


def _evidence(solution: Solution) -> Headline:
    value = -solution.history[-1].objective if solution.history else -math.inf
    return Headline(f"{value:.1f}", "log evidence", BY_EVIDENCE, GLOSSARY["evidence"].sentence)


def _on_one_split(run: Run) -> Headline:
    scores, scoring = run.test_scores, run.settings.scoring
    found, rows = scores.measured(scoring), counted(run.n_test, "test row")
    return Headline(
        found.text,
        f"right of {rows}" if scoring == "accuracy" else f"{found.title}, {rows}",
        f"{_how_sure(found, scores)}; one split" if scores.scored else "training was stopped before they were answered",
        "Rows that training has not seen. With others it would differ: the interval holds the true value in 95 of 100 "
        f"such experiments. {GUESSING} Scores over folds, which do not depend on one split, take its place once "
        "they are made.",
    )


GUESSING = (
    "Guessing is always answering the most frequent class; by balanced accuracy and the area under the ROC curve, any "
    "answer that does not look at the row."
)


def _over_folds(run: Run, folds: FoldScores) -> Headline:
    found, test = folds.measured(), run.test_scores.measured(folds.scoring)
    alone = f"; the {counted(run.n_test, 'test row')} alone: {test.text}" if run.test_scores.scored else ""
    times = f", {folds.n_rounds} times" if folds.n_rounds > 1 else ""
    which = counted(folds.n_folds, "fold") + times if folds.n_rounds else f"{folds.n_done} of {folds.n_folds} folds"
    return Headline(
        found.text,
        "right, cross-validated" if folds.scoring == "accuracy" else f"{found.title}, cross-validated",
        f"{_how_sure(found, run.train_scores)}; {which}{alone}",
        f"Mean over {folds.how}. Each fold is answered by a training that has not seen it; the interval (corrected "
        f"resampled t) allows for trainings that share rows. {GUESSING} {beside_compare(folds)}",
    )


def beside_compare(folds: FoldScores) -> str:
    """Why Compare has the same score for the drawing, or another."""
    if folds.afresh:
        return (
            "Compare uses the same folds and chooses in each of them too, but by three inner folds and with the "
            "preparation that the columns suggest, so that its score for this drawing may differ."
        )
    if folds.chosen:
        return "Compare uses the same folds, and in its first rounds has the same scores for this drawing."
    return (
        "Compare uses the same folds but chooses C anew in each training part, so that its score for this drawing may "
        "differ."
    )


def score_text(run: Run) -> str:
    """How good a run is, in two or three words."""
    if run.measured is None:
        found, where = run.test_scores.measured(run.settings.scoring), "on test"
    else:
        found, where = run.measured.measured(), "over folds"
    kind = "" if run.settings.scoring == "accuracy" else f"{found.title} "
    return f"{kind}{found.text} {where}" if run.measured is not None or run.test_scores.scored else "not scored"


def _how_sure(found: Measured, scores: Scores) -> str:
    answer = f" {quoted(str(scores.majority[0])[:24])}" if found.title == "accuracy" else ""
    guessing = f"guessing{answer} gives {found.guess_text}"
    return "; ".join(filter(None, [interval_text(found.interval, found.percent), guessing]))


def _when(run: Run) -> str:
    return f"the last at iteration {max(run.solution.pruned.values())}" if run.solution.pruned else ""


def effort(run: Run) -> str:
    history = run.solution.history
    evaluations = history[-1].evaluations if history else 0
    return f"{run.seconds:.3g} s, {counted(len(history), 'iteration')}, {counted(evaluations, 'evaluation')}"


def methods(solution: Solution) -> str:
    """Which methods learned the weights, as a part of a sentence; empty where no training is stored."""
    return methods_text(solution.history)


def percent(share: float) -> str:
    """Two digits that count: 0.031 %."""
    return f"{100 * share:.2g} %" if share >= 1e-6 else "0.0001 %"
