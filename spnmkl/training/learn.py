"""From rows to weights: the kernels of a structure, as matrices or in tiles, and what is learned over them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.kernels import FittedKernel, fit_source
from spnmkl.kernels.joined import joined
from spnmkl.memory import double_bytes, kernel_bytes
from spnmkl.parameters import gigabytes
from spnmkl.solution import Record, Solution
from spnmkl.solvers import solve
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas
from spnmkl.training.settings import Settings


@dataclass(frozen=True, eq=False)
class TrainingKernels:
    """The kernels between training rows.

    Attributes
    ----------
    source : KernelSource
        What solvers take.
    fitted : dict from leaf to FittedKernel
        For new rows; without leaves that are given matrices.
    """

    source: KernelSource
    fitted: Mapping[str, FittedKernel] = field(default_factory=dict)

    @property
    def in_memory(self) -> bool:
        """Whether they are matrices, and not computed whenever they are needed."""
        return isinstance(self.source, MatrixSource)


@single_threaded_blas()
def training_kernels(
    spn: SPN,
    X: np.ndarray,
    feature_names: Sequence[str] | None = None,
    *,
    max_memory: float | None = None,
    leaves: Iterable[str] | None = None,
    given: Mapping[str, Floats] | None = None,
    tick: Callable[[int, int], object] | None = None,
) -> TrainingKernels:
    """Kernels to train on: matrices where these fit, else computed in tiles whenever they are needed.

    Parameters
    ----------
    spn : SPN
    X : ndarray of shape (n, n_features)
    feature_names : sequence of str, optional
    max_memory : float, optional
        Gigabytes (10⁹ bytes) that matrices may take, by default half of what is free.
    leaves : iterable of str, optional
        Those to compute, by default all.
    given : mapping from leaf to ndarray of shape (n, n), optional
        Checked matrices of the others, which count as well.
    tick : callable, optional
        Called with how many kernels are done, and how many there will be; it may raise to stop.
    """
    matrices = dict(given or {})
    computed = list(spn.kernels if leaves is None else leaves)
    if not computed:
        return TrainingKernels(MatrixSource(matrices))
    room = kernel_bytes(gigabytes(max_memory)) - sum({id(K): K.nbytes for K in matrices.values()}.values())
    source, fitted = fit_source(spn, X, feature_names, max_bytes=room, leaves=computed, tick=tick)
    return TrainingKernels(joined(source, matrices), fitted)


def learn(
    spn: SPN,
    source: KernelSource,
    y: ArrayLike,
    settings: Settings,
    *,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    warn: bool = True,
) -> Solution:
    """The weights and the SVM: certified, see `spnmkl.solve`, or at evidence weights."""
    options = settings.solver_options() | {
        "sample_weight": sample_weight,
        "callback": callback,
        "n_threads": n_threads,
        "stop": stop,
    }
    if settings.weights == "evidence":
        del options["solver"]
        return solve_by_evidence(spn, source, y, **options)
    return solve(spn, source, y, **options, warn=warn)


def warn_of_no_choice(max_time: float, settings: Settings) -> None:
    """For a classifier's `fit`, from the method that chooses: what was taken since there was no time to choose."""
    taken = f"{settings.weights} weights at C={settings.C:g} were taken"
    message = f"Half of max_time={max_time:g} ended before anything was chosen, so that {taken}; raise max_time."
    warnings.warn(message, ConvergenceWarning, stacklevel=6)


def warn_unless_converged(solution: Solution) -> None:
    """For a classifier's `fit`: whoever called it is told in one sentence what was not reached."""
    reached = f"a relative gap of {solution.gap:.2g} (tol is {solution.tol:g})"
    if solution.status == "iteration_limit":
        message = f"The solver stopped at max_iter={len(solution.history)} with {reached}; raise max_iter or tol."
    elif solution.status == "time_limit" and solution.untried:
        message = "max_time ended before any weight was tried, so that the classifier is constant; raise max_time."
    elif solution.status == "time_limit":
        message = f"The solver stopped at max_time with {reached}; raise max_time or tol."
    elif solution.status == "precision":
        message = f"Rounding keeps the solver from improving on {reached}; raise tol, or rescale the columns."
    elif solution.status == "memory":
        needed = f"up to {double_bytes(len(solution.y)) / 1e9:.2g} GB of memory beside the kernels, more than was free"
        message = f"The solver stopped with {reached}: to go on takes {needed}; use fewer rows or an approximation."
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
