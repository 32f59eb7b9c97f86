"""How many steps SMO is granted before path following takes over."""

from __future__ import annotations

from collections.abc import Callable

from spnmkl.problem import Problem
from spnmkl.solvers.svm import SVMSolution

_STEPS_PER_ROW = 25  # of SMO in one SVM; healthy ones take 1 to 7
_CHEAP_STEPS, _CHEAP_OF_SEVERAL = 10_000, 50_000  # granted however few the rows; with several classes
_SVMS, _SVMS_PER_CLASS = 3.0, 1.5  # so many times that in all; with several classes, for each
_STEPS_OF_FACTORS = 0.3  # of n²: thirty Cholesky factors of n rows, each as long as about n²/100 steps


class Struggling(Exception):
    """SMO needs more steps than it should: the problem is one for path following."""


class NoRoom(Exception):
    """What would come next needs more memory than is free."""

    def __init__(self, what: str, needed: float, free: float, advice: str = "") -> None:
        super().__init__(
            f"{what} would need about {needed / 1e9:.2g} GB of memory beside the kernels, but {free / 1e9:.2g} GB are "
            f"free; use {advice}fewer rows, or landmarks (approximation='nystroem')."
        )


class Budget:
    """SMO steps that are granted: healthy SVMs take 1 to 7 steps per row, sick ones 40 to 16,000.

    Where the rank of K is high, which makes path following dear, more are granted, once.
    """

    def __init__(self, problem: Problem, share: float = 1.0) -> None:
        classes = len(problem.Y)
        cheap = _CHEAP_STEPS if classes == 1 else _CHEAP_OF_SEVERAL
        self.per_svm = int(share * max(cheap, _STEPS_PER_ROW * problem.n))
        self.left = (_SVMS if classes == 1 else _SVMS_PER_CLASS * classes) * self.per_svm
        # Path following would factorise K on most rows some thirty times, which takes as long as so many steps.
        self.of_high_rank, self.classes = share * _STEPS_OF_FACTORS * problem.n**2 * classes, classes

    def spend(self, fits: list[SVMSolution], gap: float, high_rank: Callable[[], bool]) -> bool:
        """Whether all SVMs are solved; if not, those of a kernel of high rank are granted more steps, once."""
        self.left -= sum(fit.steps for fit in fits)
        cut = any(unfinished(fit, self.per_svm, gap) for fit in fits)
        if not cut and self.left >= 0:
            return True
        if self.of_high_rank <= self.per_svm or not high_rank():
            raise Struggling
        per_svm = int(self.of_high_rank / (_SVMS * self.classes))
        self.left, self.per_svm, self.of_high_rank = self.of_high_rank, max(self.per_svm, per_svm), 0.0
        return not cut


def unfinished(fit: SVMSolution, most: int, gap: float) -> bool:
    """Whether an SVM ended only because of its limit of steps."""
    return fit.steps >= most and fit.primal - fit.dual > gap
