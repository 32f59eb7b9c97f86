"""What came of learning weights on a sample and the SVM on all rows: numbers, and what they prove in words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from spnmkl.circuit.program import Floats
from spnmkl.landmarks.estimate import Estimate
from spnmkl.measures import value_text
from spnmkl.problem import one_vs_rest
from spnmkl.solution import Certificate, Solution
from spnmkl.wording import counted

__all__ = ["Approximation", "warn_of_rough_svm"]

Rows = NDArray[np.intp]
_LAST = 1e-9  # of a digit: rounding, which is not rounded up


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
        f(x) = Σ_j coefficients_j K(x, landmark j) + intercept, with K at `factors` times the sample's weights.
    intercept : ndarray of shape (1 or classes,)
        The constants.
    factors : dict from product to float
        What the sample's weights are multiplied by, so that the objective over all rows is smaller.
    steps : int
        How often weights were moved on all rows, after the common factor that suits these best.
    objective, loss : float
        Over all rows, at these weights and this classifier: Σ_m ‖w_m‖²/(2g_m) + λ Σ_v c_v β_v^{p_v} + Σ_i C_i ℓ_i, and
        its last term. The optimum over all rows is not above this objective; infinite where they were not seen.
    svm_gap : float
        Relative duality gap of the SVM over all rows with the approximated kernel.
    sample_gap, sample_status : float and str
        The certificate of the weights, for the problem on the sample.
    right : float
        The share of all rows that is answered rightly, those trained on; NaN where it was not counted.
    estimate : Estimate or None
        Loss and accuracy on unseen rows, with intervals; None where no rows could be held out for that.
    alpha : ndarray of shape (1 or classes, n), or None
        The multipliers of the SVM on all rows, from which a lower bound can be made; None in a model read from a file.
    certificate : Certificate or None
        Of the exact problem over all rows, where `SPNMKLClassifier.certify` was asked for it: its optimum is at most
        `gap` of the objective lower.

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
    factors: Mapping[str, float]
    objective: float
    loss: float
    svm_gap: float
    sample_gap: float
    sample_status: str
    steps: int = 0
    right: float = math.nan
    estimate: Estimate | None = None
    alpha: Floats | None = field(default=None, repr=False)
    certificate: Certificate | None = None

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
            beta={v: self.factors[v] * weight for v, weight in solution.beta.items()},
            alpha=alpha[0] if binary else alpha,
            intercept=float(self.intercept[0]) if binary else self.intercept,
        )

    @property
    def sentences(self) -> list[str]:
        """What is certified, what is computed and what is estimated, in words; the first is about the certificate."""
        return [self.certified, *filter(None, [self._classifier(), self._moved(), self._unseen()])]

    @property
    def certified(self) -> str:
        """For which rows the weights are proved."""
        rows = f"{self.n_sample:,} of {self.n_rows:,} training rows"
        whole = self.n_sample == self.n_rows
        return (
            f"Weights: learned on {f'all {self.n_rows:,} training rows' if whole else f'a sample of {rows}'}; "
            f"{self._proof('them' if whole else 'this sample')}."
        )

    def _proof(self, which: str) -> str:
        if self.sample_status == "evidence":
            return f"evidence weights for {which}, which nothing certifies"
        if not np.isfinite(self.sample_gap):
            return f"no bound is known for {which}, so that nothing is certified"
        return f"certified for {which}: no weights have an objective more than {_percent(self.sample_gap)} lower there"

    def _classifier(self) -> str:
        if not self.finished:
            return "Classifier: the sample's own, because the training was stopped before it saw the other rows."
        right = "" if math.isnan(self.right) else f"; {value_text(self.right)} of these rows are answered rightly"
        return (
            f"Classifier: an SVM on all {counted(self.n_rows, 'row')} that compares a row with "
            f"{counted(len(self.landmarks), 'landmark')}, solved to a gap of {_percent(self.svm_gap)} of that "
            f"approximated problem. The objective over all rows is {self.objective:.6g}, of which the loss is "
            f"{self.loss:.6g}{right}. {self._bound()}"
        )

    def _bound(self) -> str:
        """How far at most the best possible lies below."""
        proof = self.certificate
        if proof is None:
            return "How far the best possible lies below it is not certified."
        if not np.isfinite(proof.gap):
            return "No lower bound on the best possible was found."
        return (
            f"Certified for all rows, by their exact kernels: no weights and no classifier have an objective more than "
            f"{_at_most(proof.gap)} lower (the bound is {proof.dual_bound:.6g})."
        )

    def _moved(self) -> str:
        """How the classifier's weights differ from the sample's."""
        used = [factor for factor in self.factors.values() if factor != 1.0]
        if not used or not self.finished:
            return ""
        low, high = min(used), max(used)
        by = f"{low:.3g}" if high - low <= 1e-9 * high else f"{low:.3g} to {high:.3g}"
        steps = f" in {counted(self.steps, 'step')}" if self.steps else ""
        return f"Its weights are those of the sample times {by}, moved{steps} to lower the objective over all rows."

    def _unseen(self) -> str:
        found = self.estimate
        if found is None:
            return ""
        low, high = found.loss_interval
        return (
            f"Estimated on {counted(found.n_rows, 'row')} that were held out from sample and SVM: for unseen rows the "
            f"loss would be {found.loss:.4g} (95 % interval {low:.4g}–{high:.4g}), and {value_text(found.accuracy)} of "
            f"them answered rightly (95 % interval {100 * found.accuracy_interval[0]:.1f}–"
            f"{100 * found.accuracy_interval[1]:.1f} %)."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _at_most(share: float) -> str:
    """Rounded up to two digits: what is proved is no less."""
    if share <= 0:
        return "0 %"
    unit = 10.0 ** (math.floor(math.log10(share)) - 1)
    return _percent(math.ceil(share / unit - _LAST) * unit)


def warn_of_rough_svm(found: Approximation, tol: float) -> None:
    """For a classifier's `fit`: that the SVM on all rows ended above its tolerance, or before it saw all rows."""
    if found.svm_gap <= tol:
        return
    if found.finished:
        message = (
            f"The SVM on all rows ended at a relative gap of {found.svm_gap:.2g} (tol is {tol:g}); raise tol or C."
        )
    else:
        message = (
            "The training ended before the SVM saw all rows, so that the classifier is the sample's; raise max_time."
        )
    warnings.warn(message, ConvergenceWarning, stacklevel=3)
