"""What if the weights were others."""

from __future__ import annotations

from collections.abc import Mapping

from spnmkl.inspection import refit
from spnmkl.solution import Solution
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.training.scores import Scores, score

_TOLERANCE = 1e-5  # of the SVM: less than the objective is shown with


def what_if(run: Run, prepared: Prepared, beta: Mapping[str, float]) -> tuple[Solution, Scores, Scores]:
    """The SVM at weights set by hand, with its scores on test and training rows.

    Parameters
    ----------
    beta : mapping from product to weight
        Those that are moved; the others stay as learned. With none moved it is the run itself; of one by landmarks,
        the SVM of its sample.
    """
    learned = run.solution
    same = learned.beta | dict(beta) == learned.beta
    if same and run.approximated is None:
        return learned, run.test_scores, run.train_scores
    solution = learned if same else refit(learned, prepared.source, beta, _TOLERANCE)
    test, train = solution.decision_function(prepared.test_source), solution.decision_function(prepared.source)
    return solution, score(prepared.y_test, test, learned.classes), score(prepared.y_train, train, learned.classes)
