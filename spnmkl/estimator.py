"""The scikit-learn classifier: it validates, and hands over to the training's kernels and weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from spnmkl import given
from spnmkl.calibration import codes_against_rest, probabilities, refitted, relearned, scaling
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.kernels import FittedKernel, restrict_kernels
from spnmkl.kernels.rows import standardised, standardising
from spnmkl.kernels.source import apply_cross
from spnmkl.landmarks import Approximation, Part, approximate, held_out_decisions, sampled_part, warn_of_rough_svm
from spnmkl.landmarks.bound import certified
from spnmkl.memory import kernel_bytes
from spnmkl.notebook import ShownWithDrawing
from spnmkl.parameters import Power, approximating, checked_threads, gigabytes, positive, question, seed, truth, whole
from spnmkl.problem import answers
from spnmkl.rivals import Choice, choose_rival
from spnmkl.selection import cross_validate_C
from spnmkl.selection.results import UNFINISHED
from spnmkl.solution import Certificate, Record, Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.solvers.entry import check_callback
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas
from spnmkl.training.learn import learn, training_kernels, warn_of_no_choice, warn_unless_converged
from spnmkl.training.settings import SOLVER_OPTIONS, Settings

__all__ = ["SPNMKLClassifier"]

Structure = SPN | Mapping[str, Any] | str | None
Tick = Callable[[str], object] | None

_FOLDS = 5


def _predicts_probabilities(model: SPNMKLClassifier) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba needs SPNMKLClassifier(probability=True), set before fit.")
    return True


class SPNMKLClassifier(ShownWithDrawing, ClassifierMixin, BaseEstimator):
    """Support vector classifier whose kernel is a sum-product network over base kernels, with learned weights.

    Two classes, or more one-vs-rest with one shared kernel. The kernels of a structure see the columns as they are, so
    standardise columns of different units first. Without a structure the columns are standardised here, the structure
    is `given.default_structure`, and what is not set is chosen by cross-validation: C, and whether the weights are
    certified, evidence weights, or one kernel alone does; `choice_` tells what was chosen and why. Where a class has
    one row, no folds can be made: then the weights are evidence weights, and C is 1.

    Parameters
    ----------
    structure : SPN, dict, str or None, default=None
        The network; a dict or JSON text in the structure format is read. None: see `given.default_structure`.
    C : float, "cv" or None, default=None
        Weight of the loss; what one tunes. "cv": the best on 5 folds of the training rows. None: 1.0 with a structure,
        "cv" without.
    lam : float, default=1.0
        Weight of the regulariser λ Σ_v c_v β_v^{p_v}. Where all p are equal it only rescales C.
    p : float, "sparse", dict or None, default=None
        Exponents p_v: one for all products, the smallest exponent each has on its paths, by product, or None for those
        of the structure.
    solver : {"auto", "newton", "interior", "paper"}, default="auto"
        "auto" takes Newton's method and, as soon as that is slow, path following, which is at its best where kernels
        have low rank: one per column, categories, counts. "newton" and "interior" are one of them alone, "paper" is
        Algorithm 1 of the paper, slow, for teaching.
    tol : float, default=1e-3
        Relative gap (P − D)/P to reach.
    max_iter : int or None, default=None
        Outer iterations; None: 500, or 2000 for "paper".
    max_time : float or None, default=None
        Seconds for learning the weights, after which the best so far are kept, with their gap and status "time_limit";
        where C is chosen, that takes half of them at most.
    class_weight : dict, "balanced" or None, default=None
        Scales C by class.
    weights : {"certified", "evidence"} or None, default=None
        How the weights β are found: as the certified optimum together with the SVM, or as evidence weights
        (`fit_evidence`, which tells a sum from a product; not certified), at which the SVM is then solved. With
        "evidence", `lam`, `p` and `solver` mean nothing; C and `class_weight` are the SVM's alone. None: "certified"
        with a structure; without one, chosen on the folds, at the C that is set or its own best: "evidence" where it is
        better by more than the error of the difference, else "certified".
    probability : bool, default=False
        Whether to calibrate `predict_proba` in `fit`: by Platt scaling of decision values from stratified 5-fold
        cross-validation, in which weights and SVM are learned anew and only the kernels' normalisation stays as
        learned on all samples. Where `fit` was stopped or ran out of time, or with `approximation`, the weights stay as
        well. More
        than two classes share one scaling of their decision values, each class against the rest, normalised to sum 1:
        the class predicted is the most probable one. With two classes `predict` follows the sign of the decision
        function, as scikit-learn's SVC does, whether probabilities are calibrated or not, and may disagree with the
        larger probability: near a half always, and widely with `class_weight`, which moves the border but not how
        often classes came. ``model.classes_[model.predict_proba(X).argmax(axis=1)]`` answers by probability.
    approximation : "nystroem" or None, default=None
        For more rows than a kernel matrix could have. The weights are learned, and certified, on a stratified sample of
        the rows; then the SVM at these weights is solved on all rows, with a kernel that compares a row with some
        landmarks among the sample alone. `approximation_` says what is proved and what is not.
    n_components : int, default=1000
        Landmarks, with an approximation: more follow the kernel more closely, in time and memory that grow with them.
    sample_size : int, default=4000
        Rows to learn the weights on, with an approximation; never fewer than `n_components`, and where there is room
        at least 50 of a class. There λ is multiplied by the share of the rows, because ‖w‖² grows with them.
    random_state : int, RandomState or None, default=None
        Shuffles these folds, and those that C is chosen on, and draws sample and landmarks (None: always alike);
        nothing else is random.
    n_threads : int or None, default=None
        Cores to use in `fit` and prediction, None for all. Set it to 1 inside ``GridSearchCV(n_jobs=…)``.
    max_memory : float or None, default=None
        Gigabytes (10⁹ bytes) that the kernel matrices may take in `fit`, None for half of what is free. Where they
        would take more, kernels are computed from the columns whenever they are needed: the same result, later. What
        `fit` needs besides, at most three n×n matrices of 8n² bytes, comes on top.
    callback : callable or None, default=None
        Called with a `Record` after every outer iteration; returning False stops with status "interrupted".
    stop : callable or None, default=None
        Asked now and then, within an iteration too; once it is true, `fit` ends as soon as it can with the best weights
        so far and status "interrupted".

    Attributes
    ----------
    spn_ : SPN
        The structure in use.
    C_ : float
        The C in use.
    approximation_ : Approximation or None
        With an approximation: what is certified and what is not, and in `sentences` the words for it. Then `solution_`,
        `alpha_`, `history_`, `objective_`, `dual_bound_`, `gap_` and `status_` are those of the sample, whose rows are
        `rows_`, and `alpha_` has no others; `support_` are the landmarks and `dual_coef_` their coefficients.
    choice_ : Choice or None
        What was chosen by cross-validation, where no structure was given; its `sentences` say why. None after `load`.
    centre_, spread_ : ndarray of shape (n_features,), or None
        What columns are standardised by, where no structure was given.
    beta_ : dict
        Weight of every product.
    pruned_ : dict
        Products whose weight is zero → iteration at which it became so.
    objective_, dual_bound_, gap_ : float
        P, D and (P − D)/P: the optimum lies between D and P.
    status_ : str
        "optimal", "stationary", "evidence", "iteration_limit", "time_limit", "precision", "memory" or
        "interrupted", see `Solution`.
    history_ : tuple of Record
        One for each outer iteration.
    n_iter_ : int
        How many these are.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X was a data frame.
    support_ : ndarray of shape (n_support,)
        Training rows with α > 0 for some class.
    alpha_ : ndarray of shape (n,), or (n_classes, n) for more than two classes
        The SVM's multipliers, 0 for samples of weight 0.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        α∘y of the support vectors.
    intercept_ : ndarray of shape (1 or n_classes,)
        The constant of the decision function.
    kernels_ : dict
        Leaf → FittedKernel with the support vectors as references, for the leaves that no pruning has cut off.
    calibration_ : ndarray of shape (1 or n_classes, 2), or None
        Slope and offset of the probability's logit as a function of the decision value.
    rows_ : ndarray
        Training rows of positive sample weight.
    solution_ : Solution
        All of the result, over these rows.
    extra_ : dict
        What is saved along with the model; empty after `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier().fit(X, y)
    >>> model.choice_.best.score > 0.97
    True
    """

    calibration_: Floats | None
    choice_: Choice | None
    approximation_: Approximation | None
    _circuit: Circuit
    centre_: Floats | None
    spread_: Floats | None
    extra_: dict[str, Any]

    def __init__(
        self,
        structure: Structure = None,
        *,
        C: float | str | None = None,
        lam: float = 1.0,
        p: Power = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        weights: str | None = None,
        probability: bool = False,
        approximation: str | None = None,
        n_components: int = 1000,
        sample_size: int = 4000,
        random_state: int | np.random.RandomState | None = None,
        n_threads: int | None = None,
        max_memory: float | None = None,
        callback: Callable[[Record], object] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self.structure = structure
        self.C = C
        self.lam = lam
        self.p = p
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.weights = weights
        self.probability = probability
        self.approximation = approximation
        self.n_components = n_components
        self.sample_size = sample_size
        self.random_state = random_state
        self.n_threads = n_threads
        self.max_memory = max_memory
        self.callback = callback
        self.stop = stop

    @single_threaded_blas()
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the weights of the structure together with the SVM.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n, n_features)
            The training rows. Leaves may name the columns of a data frame. Sparse rows stay sparse, also in the model;
            linear, polynomial, rbf and cosine kernels can be computed from them.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), default=None
            Scales C per sample; a sample of weight 0 counts as absent.

        Returns
        -------
        SPNMKLClassifier
            Itself, fitted.

        Raises
        ------
        SPNMKLError
            The structure, its kernels, the labels or the weights do not fit.
        """
        self._check_parameters()
        counted = given.counted_rows(self, X, y, sample_weight, reset=True)
        samples, labels, weight, rows = counted.samples, counted.labels, counted.weight, counted.places
        if self.probability:
            given.check_class_sizes(labels)
        centre, spread = standardising(samples, weight) if self.structure is None else (None, None)
        samples = standardised(samples, centre, spread)
        part = self._part(labels, weight)
        spn = given.structure_for(self.structure, samples[part.rows])
        names = getattr(self, "feature_names_in_", None)
        kernels = training_kernels(spn, samples[part.rows], names, max_memory=self.max_memory)
        deadline = Deadline(self.max_time, self.stop)
        spn, settings, choice = self._chosen(spn, kernels.source, labels[part.rows], part, deadline)
        solution = learn(
            spn,
            kernels.source,
            labels[part.rows],
            replace(settings, max_time=deadline.left),
            sample_weight=part.weight,
            callback=self.callback,
            n_threads=self.n_threads,
            stop=self.stop,
        )
        self._adopt(solution, kernels.fitted, rows[part.rows], counted.n)
        self.centre_, self.spread_, self.choice_, self.C_ = centre, spread, choice, settings.C
        held_out = self._approximate(kernels.fitted, samples, labels, part, deadline) if self.approximation else None
        if self.probability and held_out is not None:
            self.calibration_ = scaling(held_out, labels, self.classes_, weight)
        elif self.probability:
            self.calibration_ = self._calibrate(kernels.source, part.weight, settings)
        warn_unless_converged(solution)
        stopped = solution.status == "interrupted" or (self.stop is not None and self.stop())
        if self.approximation_ is not None and not stopped:
            warn_of_rough_svm(self.approximation_, solution.tol)
        return self

    def _part(self, labels: NDArray, weight: Floats | None) -> Part:
        """The rows to learn the weights on, which are all without an approximation."""
        if self.approximation is None:
            return Part(np.arange(len(labels)), weight, self._settings)
        return sampled_part(labels, max(self.sample_size, self.n_components), self._seed, weight, self._settings)

    @property
    def _seed(self) -> int:
        """Of sample and landmarks."""
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))

    def _approximate(
        self, fitted: Mapping[str, FittedKernel], X: Floats, y: NDArray, part: Part, deadline: Deadline
    ) -> Floats | None:
        """The SVM on all rows at the weights of the sample; the decisions on rows held out where these are wanted."""
        found, blocks, C = approximate(
            self.solution_,
            fitted,
            X,
            y,
            self.C_ * part.whole,
            lam=self._settings.lam,
            n_components=self.n_components,
            tol=self.solution_.tol,
            max_bytes=kernel_bytes(gigabytes(self.max_memory)),
            sample=part.rows,
            seed=self._seed,
            n_threads=self._n_threads,
            stop=lambda: self.solution_.status == "interrupted" or deadline(),
        )
        self._compare_with_landmarks(found, fitted)
        if not (self.probability and blocks):
            return None
        Y = codes_against_rest(y, self.classes_)
        return held_out_decisions(blocks, Y, C, self._folds(y), self.solution_.tol, deadline)

    @single_threaded_blas()
    def certify(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, passes: int = 5, tick: Tick = None
    ) -> Certificate:
        """How far at most the exact optimum over all rows lies below a classifier by landmarks, proved.

        It takes passes over the exact kernels among all rows, which are never held: time grows with the square of the
        rows, memory does not. `max_time` and `stop` hold for it anew; the bound is the best by then. Workers of
        joblib's backend share the passes. `approximation_` keeps what comes out, for its `sentences`.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n, n_features)
            The rows that `fit` had.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Their weights.
        passes : int, default=5
            At most; each can only raise the bound. Where structures multiply sums of kernels one takes twice the time.
        tick : callable, default=None
            Called with a word on what is done now.

        Returns
        -------
        Certificate
            The objective over all rows, a lower bound on that of any weights and classifier, and the gap between. The
            bound is −∞ where none is known, or time was over before.

        Raises
        ------
        NotFittedError
            There is no such classifier, or no α of all rows: it was fitted without an approximation, or read from a
            file, or its training was stopped before it saw all rows.
        DataError
            These are other rows than those of `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from spnmkl import SPNMKLClassifier, templates
        >>> X, y = load_wine(return_X_y=True)
        >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
        >>> model = SPNMKLClassifier(spn, approximation="nystroem", n_components=40, sample_size=100)
        >>> model.fit(X / X.std(axis=0), y).certify(X / X.std(axis=0), y).gap < 0.1
        True
        """
        check_is_fitted(self)
        rows = given.counted_rows(self, X, y, sample_weight, reset=False)
        self.approximation_, proof = certified(
            self.approximation_,
            self.solution_,
            standardised(rows.samples, self.centre_, self.spread_),
            rows.labels,
            self.C_ * rows.counting(self.class_weight),
            sample=np.searchsorted(rows.places, self.rows_),
            feature_names=getattr(self, "feature_names_in_", None),
            lam=self._settings.lam,
            max_bytes=kernel_bytes(gigabytes(self.max_memory)),
            passes=whole(passes, "passes"),
            n_threads=self._n_threads,
            stop=Deadline(self.max_time, self.stop),
            tick=tick,
        )
        return proof

    def _compare_with_landmarks(self, found: Approximation, fitted: Mapping[str, FittedKernel]) -> None:
        """Predict by an approximation, whose references are fitted over the sample."""
        self._approximated_by(found)
        self.kernels_ = restrict_kernels({leaf: fitted[leaf] for leaf in self._circuit.leaves}, found.landmarks)

    def _approximated_by(self, found: Approximation) -> None:
        self.approximation_ = found
        self.beta_ = {v: found.factors[v] * weight for v, weight in self.solution_.beta.items()}
        self._term_weights = self._circuit.weights(np.array([self.beta_[v] for v in self._circuit.products]))
        self.alpha_ = self.solution_.alpha
        self.support_ = self.rows_[found.landmarks]
        self.dual_coef_, self.intercept_ = found.coefficients, found.intercept

    def _chosen(
        self, spn: SPN, source: KernelSource, y: NDArray, part: Part, deadline: Deadline
    ) -> tuple[SPN, Settings, Choice | None]:
        """The drawing and the settings, with what was not set chosen by cross-validation where that is possible."""
        settings = part.settings
        folds = min(_FOLDS, *np.unique(y, return_counts=True)[1].tolist())
        if self._given_C is not None and (self.structure is not None or self.weights is not None):
            return spn, settings, None
        if folds < 2:  # evidence needs no folds, and any C is of use to it
            by_evidence = self.structure is None and self.weights is None
            return spn, replace(settings, weights="evidence") if by_evidence else settings, None
        own: dict[str, Any] = {
            "folds": folds,
            "random_state": self.random_state if isinstance(self.random_state, int | np.integer) else 0,
            "sample_weight": part.weight,
            "class_weight": settings.class_weight,
            "n_threads": self.n_threads,
            "max_time": None if deadline.left is None else deadline.left / 2,  # the rest is for learning
            "stop": self.stop,
        }
        if self.structure is None:
            own |= {"weights": self.weights, "C": self._given_C, "lam": settings.lam, "p": settings.p}
            choice = choose_rival(spn, source, y, **own)
            if choice is None:
                self._warn_of_no_choice(settings)
                return spn, settings, None
            return choice.best.spn, replace(settings, **choice.best.options), choice
        options = settings.solver_options() | own
        del options["C"]
        found = cross_validate_C(spn, source, y, weights=settings.weights, **options)
        if not found.best_C > 0:
            self._warn_of_no_choice(settings)
            return spn, settings, None
        return spn, replace(settings, C=found.best_C), None

    def _warn_of_no_choice(self, settings: Settings) -> None:
        if self.max_time is not None and not (self.stop is not None and self.stop()):
            warn_of_no_choice(self.max_time, settings)

    @property
    def _given_C(self) -> float | None:
        """The C that is set, or None where it is to be chosen."""
        chosen = self.C == "cv" or (self.C is None and self.structure is None)
        return None if chosen else 1.0 if self.C is None else positive(self.C, "C")

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        fitted: Mapping[str, FittedKernel],
        feature_names: Sequence[str] | None = None,
        approximated: Approximation | None = None,
        **settings: Any,
    ) -> Self:
        """The classifier that `fit` gives, from what `solve` found on kernels that `fit_kernels` computed.

        Parameters
        ----------
        solution : Solution
            What `solve` gave.
        fitted : mapping from leaf to FittedKernel
            What `fit_kernels` or `fit_tiles` gave.
        feature_names : sequence of str, default=None
            Names of the columns, which prediction then checks.
        approximated : Approximation, default=None
            Where the solution is that of a sample: what `approximate` made of all rows.
        **settings : dict
            The other parameters of the classifier, as `solve` got them; no probabilities are calibrated.

        Returns
        -------
        SPNMKLClassifier
            A fitted classifier.
        """
        model = cls(solution.spn, **settings)
        model._check_parameters()
        model.n_features_in_ = next(iter(fitted.values())).X_ref.shape[1]
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        n = len(solution.y)
        model._adopt(solution, fitted, np.arange(n), n)
        if approximated is not None:
            model._compare_with_landmarks(approximated, fitted)
        return model

    def _adopt(
        self, solution: Solution, fitted: Mapping[str, FittedKernel], rows: NDArray[np.intp], n_samples: int
    ) -> None:
        self._learn(solution, rows, n_samples)
        used = {leaf: fitted[leaf] for leaf in self._circuit.leaves}
        self.kernels_ = restrict_kernels(used, solution.support)

    def _learn(self, solution: Solution, rows: NDArray[np.intp], n_samples: int) -> None:
        """Set what was learned, but for the kernels; the solution is over `rows` of the samples."""
        self.solution_ = solution
        self.spn_ = solution.spn
        self.beta_ = solution.beta
        self.pruned_ = solution.pruned
        self.objective_ = solution.objective
        self.dual_bound_ = solution.dual_bound
        self.gap_ = solution.gap
        self.status_ = solution.status
        self.history_ = solution.history
        self.n_iter_ = len(solution.history)
        self.classes_ = solution.classes
        self.rows_ = rows
        self.support_ = rows[solution.support]
        self.alpha_ = np.zeros((*solution.alpha.shape[:-1], n_samples))
        self.alpha_[..., rows] = solution.alpha
        self.dual_coef_ = np.ascontiguousarray(solution.signed_alpha[:, solution.support])
        self.intercept_ = np.atleast_1d(np.asarray(solution.intercept, dtype=float))
        self._circuit, self._term_weights = solution.active_circuit()
        self.calibration_ = None
        self.centre_ = self.spread_ = self.choice_ = self.approximation_ = None
        self.C_ = 1.0 if self._given_C is None else self._given_C
        self.extra_ = {}

    def _calibrate(self, source: KernelSource, weight: Floats | None, settings: Settings) -> Floats:
        solution, n = self.solution_, len(self.solution_.y)
        splits, F = self._folds(solution.y), None
        if solution.status not in UNFINISHED:
            options = settings.solver_options() | {"n_threads": self._n_threads, "stop": self.stop}
            F = relearned(solution, source, splits, weight, options)
        if F is None:
            K = kernel_matrix(self._circuit, self._term_weights, source, np.empty((n, n)), self._n_threads)
            F = refitted(K, solution, splits)
        return scaling(F, solution.y, solution.classes, weight)

    def _folds(self, y: NDArray) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """To calibrate probabilities on."""
        n_folds = min(_FOLDS, *np.unique(y, return_counts=True)[1].tolist())
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state).split(y, y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        """Refuse what `fit` could not use, before it looks at any data."""
        _ = self._settings, self._n_threads
        truth(self.probability, "probability")
        approximating(self.approximation)
        whole(self.n_components, "n_components")
        whole(self.sample_size, "sample_size", 2)
        seed(self.random_state)
        gigabytes(self.max_memory)
        check_callback(self.callback)
        question(self.stop)

    @property
    def _settings(self) -> Settings:
        given = {name: getattr(self, name) for name in SOLVER_OPTIONS}
        return Settings(**given | {"C": self._given_C or 1.0, "weights": self.weights or "certified"})

    @property
    def _n_threads(self) -> int:
        return checked_threads(self.n_threads)

    def decision_function(self, X: ArrayLike) -> Floats:
        """The decision values f(x).

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to judge.

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
            Positive for the second class; the largest is the class otherwise.
        """
        check_is_fitted(self)
        F = self._decisions(X)
        return F[0] if len(F) == 1 else F.T

    def _decisions(self, X: ArrayLike) -> Floats:
        given.refuse_raw(X)
        samples = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, order="C")
        samples = standardised(samples, self.centre_, self.spread_)
        F = apply_cross(self._circuit, self._term_weights, self.kernels_, samples, self.dual_coef_, self._n_threads)
        return F + self.intercept_[:, None]

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of every row, by the side of the border it lies on; of several, that of the largest decision value.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to judge.

        Returns
        -------
        ndarray of shape (n,)
            Labels as given to `fit`; of two classes not always the one of the larger probability, see `probability`.
        """
        return answers(self.decision_function(X), self.classes_)

    @available_if(_predicts_probabilities)
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the classes; needs ``probability=True``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to judge.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of `classes_`; each row sums to 1.

        Raises
        ------
        NotFittedError
            The model was fitted with ``probability=False``.
        """
        check_is_fitted(self)
        if self.calibration_ is None:
            raise NotFittedError("The model was fitted with probability=False; call fit again for predict_proba.")
        return probabilities(self._decisions(X), self.calibration_)

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file, without pickle; see `save_model`.

        Parameters
        ----------
        path : str or path
            Where to.
        extra : mapping, default=None
            Anything to keep along with it; None for `extra_`.
        """
        from spnmkl.model_file import save_model

        save_model(self, path, extra)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SPNMKLClassifier:
        """Read what `save` wrote; see `load_model`.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        SPNMKLClassifier
            It predicts as it did.

        Raises
        ------
        ModelFileError
            The file cannot be read.
        """
        from spnmkl.model_file import load_model

        return load_model(path)
