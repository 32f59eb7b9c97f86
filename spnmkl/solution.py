"""What came out: the weights, the SVM, and the proof, which anyone can recompute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.certificate import dual, primal, relative_gap
from spnmkl.circuit.evaluate import apply_kernel
from spnmkl.circuit.program import Circuit, Floats, compile_circuit
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.circuit.spread import spread
from spnmkl.errors import KernelError
from spnmkl.notebook import figure
from spnmkl.parameters import checked_threads
from spnmkl.problem import Problem, build_problem
from spnmkl.rounding import lower_bound
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas

__all__ = ["Certificate", "Record", "Solution"]

METHODS = {
    "newton": "second order",
    "interior": "path following",
    "paper": "Algorithm 1",
    "evidence": "evidence",
}  # and what they are called


@dataclass(frozen=True)
class Record:
    """One outer iteration of a training.

    Attributes
    ----------
    iteration : int
        Its number, from 1.
    objective : float
        P at this iteration's point.
    dual_bound : float
        The best D so far.
    gap : float
        (best P so far − D) / best P.
    beta : dict from product to float
        The weights at this point.
    pruned : tuple of str
        Products whose weight is zero.
    circuit_size : int
        Multiplications per kernel entry of the circuit evaluated.
    evaluations : int
        Kernels K(β) formed on all rows so far, each with an SVM per class; for the start a part of the rows
        and other scales of the same kernel are solved besides.
    seconds : float
        Since the start.
    method : str
        Which one made it: "newton", "interior" or "paper".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    >>> model.history_[0].iteration, model.history_[0].method
    (1, 'newton')
    """

    iteration: int
    objective: float
    dual_bound: float
    gap: float
    beta: dict[str, float]
    pruned: tuple[str, ...]
    circuit_size: int
    evaluations: int
    seconds: float
    method: str = "newton"


def stretches(history: Sequence[Record]) -> list[tuple[int, str]]:
    """Every iteration at which another method began than before, the first included, with that method."""
    before = [None, *(record.method for record in history)]
    return [(r.iteration, r.method) for r, last in zip(history, before, strict=False) if r.method != last]


def methods_text(history: Sequence[Record], names: Mapping[str, str] = METHODS) -> str:
    """Which methods made a history: "second order, then path following from iteration 5"."""
    parts = [(names.get(method, method), first) for first, method in stretches(history)]
    return ", then ".join(name if k == 0 else f"{name} from iteration {first}" for k, (name, first) in enumerate(parts))


@dataclass(frozen=True)
class Certificate:
    """Objective P ≥ optimum ≥ dual bound D, recomputed from the data.

    Attributes
    ----------
    objective : float
        P of the weights and the SVM.
    dual_bound : float
        D, below which no weights can come; −inf where none is known.
    gap : float
        (P − D)/P.

    Examples
    --------
    >>> from spnmkl import Certificate
    >>> Certificate(objective=10.0, dual_bound=9.99, gap=0.001).gap
    0.001
    """

    objective: float
    dual_bound: float
    gap: float


@dataclass(frozen=True, repr=False)
class Solution:
    """A trained combination. Holds no n×n matrix.

    Attributes
    ----------
    spn : SPN
        The structure.
    beta : dict from product to float
        The weight of every product.
    alpha : ndarray of shape (n,), or (classes, n) one-vs-rest
        The SVM's multipliers.
    intercept : float, or ndarray of shape (classes,)
        The constant b of the decision function.
    classes : ndarray of shape (classes,)
        The labels, sorted.
    objective, dual_bound, gap : float
        P, D and (P − D)/P as `certify` recomputes them; D is −inf where no bound is known.
    kkt_residual : dict from product to float
        0 at a stationary point; the solver's own where it looked at all terms there.
    status : str
        "optimal" (gap ≤ tol; with all β = 0 where C ≤ C_min), "stationary" (some p < 1, residual ≤ tol),
        "iteration_limit", "time_limit", "interrupted", "precision" (rounding allows no more; the gap says what was
        reached), "memory" (what would come next needs more than was free), "evidence" (evidence weights: never
        certified), or "hand-set" (`inspection.refit`). Files of earlier versions may hold "stalled".
    history : tuple of Record
        One record per outer iteration.
    pruned : dict from product to int
        The iteration at which its weight became zero for good.
    y : ndarray of shape (n,)
        The labels trained on.
    C : ndarray of shape (n,)
        The weight of every sample's loss.
    lam : float
        The weight of the regulariser.
    p : dict from product to float
        The exponents in use.
    tol : float
        The gap that was asked for.
    solver : str
        The solver that was asked for; "evidence" for evidence weights.
    witness_alpha, witness_beta : ndarray and dict
        What proves the dual bound (α and β̃ of formulation, section 5).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> solution.status, solution.gap <= solution.tol
    ('optimal', True)
    """

    spn: SPN
    beta: dict[str, float]
    alpha: Floats
    intercept: float | Floats
    classes: NDArray
    objective: float
    dual_bound: float
    gap: float
    kkt_residual: dict[str, float]
    status: str
    history: tuple[Record, ...]
    pruned: dict[str, int]
    y: NDArray
    C: Floats
    lam: float
    p: dict[str, float]
    tol: float
    solver: str
    witness_alpha: Floats = field(repr=False)
    witness_beta: dict[str, float] = field(repr=False)

    def _repr_html_(self) -> str:
        """The drawing with its weights and the certificate, for notebooks."""
        return figure(self)

    def __repr__(self) -> str:
        """One line: the weights, α and history are asked for by name."""
        kept = sum(weight > 0 for weight in self.beta.values())
        return (
            f"Solution({self.status}, objective={self.objective:.6g}, gap={self.gap:.2g}, "
            f"{kept} of {len(self.beta)} weights above 0, {len(self.support)} support vectors)"
        )

    @property
    def untried(self) -> bool:
        """Whether it was stopped before there was any point: then weights of zero say nothing."""
        return self.status in {"interrupted", "time_limit"} and not any(r.evaluations for r in self.history)

    @property
    def by_evidence(self) -> bool:
        """Whether the weights are evidence weights, so that no certificate is meant for them."""
        return self.solver == "evidence"

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the samples with α > 0 for some class."""
        return np.flatnonzero(np.atleast_2d(self.alpha).any(axis=0))

    @property
    def signed_alpha(self) -> Floats:
        """(classes, n) α∘y; one row for two classes."""
        codes = np.searchsorted(self.classes, self.y)
        if len(self.classes) == 2:
            return self.alpha[None] * np.where(codes == 1, 1.0, -1.0)
        return self.alpha * np.where(codes == np.arange(len(self.classes))[:, None], 1.0, -1.0)

    def certify(self, kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None) -> Certificate:
        """Recompute objective and gap from the kernels and what is stored, trusting no solver.

        Where a backend was chosen by ``joblib.parallel_config`` and kernels are computed (`fit_tiles`), its workers
        compute them: to the same bits.

        Parameters
        ----------
        kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
            The kernels it was trained with.
        n_threads : int, default=None
            Cores to use; None for all.

        Returns
        -------
        Certificate
            Both sides of the proof.

        Raises
        ------
        KernelError
            A matrix is missing or of another size.
        """
        with single_threaded_blas():
            problem = self.problem(kernels, n_threads)
            problem = replace(problem, source=spread(problem.source))
            if self.by_evidence:  # chosen by another criterion: a bound on this one would say nothing of them
                P = primal(problem, problem.beta_array(self.beta), np.atleast_2d(self.alpha)).value
                return Certificate(P, -np.inf, np.inf)
            return certificate_of(
                problem,
                problem.beta_array(self.beta),
                np.atleast_2d(self.alpha),
                np.atleast_2d(self.witness_alpha),
                problem.beta_array(self.witness_beta),
                self.tol,
            )

    def problem(self, kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None) -> Problem:
        """What was solved, over the kernels it was solved with; these were checked then, and are not again.

        Parameters
        ----------
        kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
            The kernels it was trained with.
        n_threads : int, default=None
            Cores to use; None for all.

        Returns
        -------
        Problem
            What solvers and the certificate read.

        Raises
        ------
        KernelError
            A matrix is missing or of another size.
        """
        source = source_of(self.spn.kernels, kernels, self.alpha.shape[-1], "kernel")
        if source.shape[0] != self.alpha.shape[-1]:
            raise KernelError(
                f"The kernel matrices have {source.shape[0]} rows, but the solution is over {self.alpha.shape[-1]} "
                "samples; pass the matrices it was trained with."
            )
        problem, _ = build_problem(
            self.spn, source, self.y, lam=self.lam, p=self.p, sample_weight=self.C, n_threads=n_threads
        )
        return problem

    def decision_function(
        self, cross_kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None
    ) -> Floats:
        """The decision values of new samples.

        Parameters
        ----------
        cross_kernels : mapping from leaf id to array-like of shape (rows, n), or KernelSource
            Kernels between new samples and the n training samples; pruned leaves may be left out.
        n_threads : int, default=None
            Cores to use; None for all.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            Positive for the second class; the largest is the class otherwise.

        Raises
        ------
        KernelError
            A matrix is missing, of another size, or holds NaN.
        """
        circuit, W = self.active_circuit()
        source = source_of(circuit.leaves, cross_kernels, self.alpha.shape[-1], "cross-kernel")
        A = self.signed_alpha
        if not source.shape[0]:
            return np.empty(0 if len(A) == 1 else (0, len(A)))
        F = apply_kernel(circuit, W, source, A, checked_threads(n_threads))
        F += np.atleast_1d(self.intercept)[:, None]
        return F[0] if len(F) == 1 else F.T

    def active_circuit(self) -> tuple[Circuit, Floats]:
        """The compiled structure without its pruned paths, and the weights of its terms.

        Returns
        -------
        circuit : Circuit
            What is evaluated for a prediction.
        weights : ndarray of shape (terms,)
            The weight of every term.
        """
        full = compile_circuit(self.spn)
        beta = np.array([self.beta[v] for v in full.products])
        circuit = full.restricted(beta > 0)
        return circuit, circuit.weights(beta)


def source_of(
    leaves: Sequence[str], kernels: Mapping[str, ArrayLike] | KernelSource, n: int, kind: str
) -> KernelSource:
    """Matrices with n columns for these leaves (for none, any one tells the number of rows); a source as it is."""
    if not isinstance(kernels, Mapping):
        return kernels
    for leaf in leaves:
        if leaf not in kernels:
            raise KernelError(
                f"Kernel {leaf!r} has no {kind} matrix; expected a (rows, {n}) matrix for each leaf that is not "
                f"pruned, found them for {sorted(kernels)}; add it."
            )
    matrices = {leaf: np.ascontiguousarray(kernels[leaf], dtype=float) for leaf in leaves or list(kernels)[:1]}
    if not matrices:
        raise KernelError(f"No {kind} matrix is given, so that the number of rows is unknown; pass that of any leaf.")
    rows = {K.shape[0] for K in matrices.values() if K.ndim == 2}
    for leaf, K in matrices.items():
        if K.ndim != 2 or K.shape[1] != n or len(rows) != 1:
            raise KernelError(
                f"The {kind} matrix of {leaf!r} has shape {K.shape}; expected (rows, {n}), new samples by training "
                "samples, with the same rows for every leaf."
            )
        if not np.isfinite(K).all():
            raise KernelError(f"The {kind} matrix of {leaf!r} holds NaN or infinity; fill missing values first.")
    return MatrixSource(matrices)


def certificate_of(
    problem: Problem, beta: Floats, alpha: Floats, witness_alpha: Floats, witness_beta: Floats, tol: float
) -> Certificate:
    P = primal(problem, beta, alpha).value
    D = lower_bound(problem, dual(problem, witness_alpha, witness_beta), P, tol)
    return Certificate(P, D, relative_gap(P, D))
