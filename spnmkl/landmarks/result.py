"""What came of learning weights on a sample and the SVM on all rows: numbers, and what they prove in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.problem import one_vs_rest
from spnmkl.solution import Solution
from spnmkl.wording import counted

__all__ = ["Approximation"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Approximation:
    """A classifier of all rows whose weights were learned on a sample of them.

    Attributes
    ----------
    n_rows, n_sample : int
        Training rows, and those that the weights were learned on.
    landmarks : ndarray of int
        Which of the sample's rows a new row is compared with.
    coefficients : ndarray of shape (1 or classes, landmarks)
        f(x) = Σ_j coefficients_j K(x, landmark j) + intercept, with K at `scale` times the sample's weights.
    intercept : ndarray of shape (1 or classes,)
        The constants.
    scale : float
        What the sample's weights are multiplied by, so that the objective over all rows is smallest.
    objective, loss : float
        Over all rows, at these weights and this classifier: Σ_m ‖w_m‖²/(2g_m) + λ Σ_v c_v β_v^{p_v} + Σ_i C_i ℓ_i, and
        its last term. The optimum over all rows is not above this objective; infinite where they were not seen.
    svm_gap : float
        Relative duality gap of the SVM over all rows with the approximated kernel.
    sample_gap, sample_status : float and str
        The certificate of the weights, for the problem on the sample.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, approximation="nystroem", n_components=40, sample_size=100).fit(X, y)
    >>> model.approximation_.n_rows, len(model.approximation_.landmarks)
    (178, 40)
    """

    n_rows: int
    n_sample: int
    landmarks: Rows
    coefficients: Floats
    intercept: Floats
    scale: float
    objective: float
    loss: float
    svm_gap: float
    sample_gap: float
    sample_status: str

    @property
    def finished(self) -> bool:
        """Whether all rows were seen; else the classifier is the sample's own."""
        return np.isfinite(self.objective)

    def over(self, solution: Solution) -> Solution:
        """The classifier as one over the sample's rows, for what explains decisions; no α of an SVM, nor a proof.

        Parameters
        ----------
        solution : Solution
            Of the sample.

        Returns
        -------
        Solution
            Its α∘y are the coefficients of landmarks, 0 elsewhere, so that its decisions are those of the classifier.
        """
        codes = np.searchsorted(solution.classes, solution.y)
        signs = one_vs_rest(codes, len(solution.classes))
        alpha = np.zeros(signs.shape)
        alpha[:, self.landmarks] = self.coefficients * signs[:, self.landmarks]
        binary = len(alpha) == 1
        return replace(
            solution,
            beta={v: self.scale * weight for v, weight in solution.beta.items()},
            alpha=alpha[0] if binary else alpha,
            intercept=float(self.intercept[0]) if binary else self.intercept,
        )

    @property
    def sentences(self) -> list[str]:
        """What is certified, and what is not, in words."""
        rows = f"{self.n_sample:,} of {self.n_rows:,} training rows"
        whole = self.n_sample == self.n_rows
        return [
            f"Weights: learned on {f'all {self.n_rows:,} training rows' if whole else f'a sample of {rows}'}; "
            f"{self._proof('them' if whole else 'this sample')}.",
            self._classifier(),
        ]

    def _proof(self, which: str) -> str:
        if self.sample_status == "evidence":
            return f"evidence weights for {which}, which nothing certifies"
        if not np.isfinite(self.sample_gap):
            return f"no bound is known for {which}, so that nothing is certified"
        return f"certified for {which}: no weights have an objective more than {_percent(self.sample_gap)} lower there"

    def _classifier(self) -> str:
        if not self.finished:
            return "Classifier: the sample's own, because the training was stopped before it saw the other rows."
        return (
            f"Classifier: an SVM on all {counted(self.n_rows, 'row')} that compares a row with "
            f"{counted(len(self.landmarks), 'landmark')}, solved to a gap of {_percent(self.svm_gap)} of that "
            f"approximated problem. The objective over all rows is {self.objective:.6g}, of which the loss is "
            f"{self.loss:.6g}; how far the best possible lies below it is not certified."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
