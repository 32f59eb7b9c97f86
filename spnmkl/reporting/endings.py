"""How a training ended, in plain sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spnmkl.reporting.glossary import GLOSSARY
from spnmkl.reporting.sentences import BY_EVIDENCE, how_it_ended
from spnmkl.solution import METHODS, Solution, methods_text
from spnmkl.training.scores import Scores, share_right
from spnmkl.training.train import Run
from spnmkl.wording import counted, quoted

MOST_NAMED = 6
FAR_ABOVE = 0.15  # of the training accuracy over that of the test, to speak of it
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


def pruning(run: Run) -> str:
    """Which weights became zero, when, and what that means."""
    pruned, total = run.solution.pruned, len(run.solution.beta)
    if run.solution.untried:
        return "No weight was tried."
    if not pruned:
        return f"None of the {counted(total, 'weight')} was pruned."
    named = [f"{run.spn.names[v]} (iteration {k})" for v, k in list(pruned.items())[:MOST_NAMED]]
    more = f" and {len(pruned) - MOST_NAMED} more" if len(pruned) > MOST_NAMED else ""
    return f"{len(pruned)} of {counted(total, 'weight')} pruned: {', '.join(named)}{more}. {pruned_means(run.solution)}"


def pruned_means(solution: Solution) -> str:
    if not any(solution.beta.values()):
        return "At this C nothing is worth its weight."
    what, them = ("What it leads to", "it") if len(solution.pruned) == 1 else ("What they lead to", "them")
    proved = f"; the proof covers {them} too." if solution.status == "optimal" else ", as far as training got."
    return f"{what} adds nothing that the others do not give already{proved}"


def doubts(run: Run) -> list[str]:
    """What a proof of the weights does not tell: whether the model is of any use for new rows."""
    if not any(run.solution.beta.values()):
        return []  # then the ending says so already
    test, train = run.test_scores, run.train_scores
    (low, high), (answer, share), said = test.interval, test.majority, []
    if low <= share:
        said.append(
            f"This {'may be no better' if share <= high else 'is worse'} than guessing: always answering "
            f"{quoted(answer)} gives {share_right(share)}, and the 95 % interval of the test accuracy "
            f"{'contains' if share <= high else 'lies below'} that. {_better_C(run, 'Another C')}"
        )
    if train.accuracy - test.accuracy > FAR_ABOVE and train.accuracy > high:
        said.append(
            f"It answers training rows far better ({share_right(train.accuracy)}) than test rows "
            f"({share_right(test.accuracy)}): it may have learned them by heart. {_better_C(run, 'A smaller C')}"
        )
    return said


def _better_C(run: Run, what: str) -> str:
    """What may still help: C where it was not chosen, else what C cannot do."""
    found, C = run.cross_validation, run.settings.C
    if found is None:
        return f"{what} may help: it was not chosen by cross-validation."
    if math.isclose(found.best_C, C, rel_tol=1e-6):
        return "C was chosen by cross-validation already; more rows, or fewer and wider kernels, may help."
    return f"Cross-validation found C = {found.best_C:.3g} better than this {C:.3g}."


@dataclass(frozen=True)
class Headline:
    """One of the numbers that are looked at first: what it is, and what it means."""

    number: str
    what: str
    remark: str
    help: str


def headlines(run: Run) -> tuple[Headline, Headline, Headline]:
    """How good on rows not trained on, how near to the best weights, how much was pruned."""
    solution, scores = run.solution, run.test_scores
    pruned, total = sum(weight <= 0 for weight in solution.beta.values()), len(solution.beta)
    known = solution.gap < 1
    ends = {"optimal": "certified optimal", "stationary": "stationary, not certified", "evidence": BY_EVIDENCE}
    return (
        Headline(
            share_right(scores.accuracy),
            f"right of {counted(run.n_test, 'test row')}",
            _how_sure(scores) if scores.scored else "training was stopped before they were answered",
            "Rows that training has not seen. With other test rows it would differ: the interval (Wilson's) holds the "
            "true share in 95 of 100 such experiments. Guessing is always answering the most frequent class.",
        ),
        _evidence(solution)
        if solution.by_evidence
        else Headline(
            percent(solution.gap) if known else "none",
            "above the optimum at most" if known else "bound on the best objective",
            f"the gap; {ends.get(solution.status, 'not certified')}",
            GLOSSARY["gap"].sentence,
        ),
        Headline(
            f"{pruned} of {total}",
            "weights pruned",
            "; ".join(filter(None, ["exactly zero" if pruned else "all take part", _when(run)])),
            GLOSSARY["pruned"].sentence,
        ),
    )


def _evidence(solution: Solution) -> Headline:
    value = -solution.history[-1].objective if solution.history else -math.inf
    return Headline(f"{value:.1f}", "log evidence", BY_EVIDENCE, GLOSSARY["evidence"].sentence)


def _how_sure(scores: Scores) -> str:
    (low, high), (answer, guess) = scores.interval, scores.majority
    guessing = f"guessing {quoted(str(answer)[:24])} gives {share_right(guess)}"
    return f"95 % interval {100 * low:.0f}–{100 * high:.0f} %; {guessing}"


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
