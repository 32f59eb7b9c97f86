"""A training whose weights come from a sample of its rows: by which settings, and the SVM on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from spnmkl.calibration import codes_against_rest
from spnmkl.circuit.program import Floats
from spnmkl.errors import Stopped
from spnmkl.kernels import restrict_kernels
from spnmkl.landmarks import Approximation, Part, approximate, held_out_decisions, part_of
from spnmkl.landmarks.bound import certified
from spnmkl.landmarks.features import feature_blocks, landmarks
from spnmkl.memory import kernel_bytes
from spnmkl.parameters import checked_threads, gigabytes
from spnmkl.solution import Solution
from spnmkl.training.prepared import Prepared, Rows, Tick
from spnmkl.training.settings import Settings


def learning_part(prepared: Prepared, settings: Settings) -> Part:
    """The rows that weights are learned on, and by which settings: on a sample λ is less."""
    if prepared.whole is None:
        return Part(np.arange(prepared.n), None, settings)
    return part_of(prepared.whole.sample, prepared.whole.y, None, settings)


def on_all_rows(
    prepared: Prepared,
    settings: Settings,
    solution: Solution,
    part: Part,
    n_threads: int | None,
    stop: Callable[[], bool],
    tick: Tick | None,
) -> Approximation | None:
    """The SVM on all rows at the weights of the sample; None where these were all rows."""
    whole = prepared.whole
    if whole is None:
        return None
    return approximate(
        solution,
        prepared.fitted,
        whole.X.to_numpy(),
        whole.y,
        settings.C * part.whole,
        lam=settings.lam,
        n_components=settings.n_components,
        tol=settings.tol,
        max_bytes=kernel_bytes(gigabytes(prepared.max_memory)),
        sample=None if whole.groups is not None else whole.sample.rows,
        seed=prepared.split.seed,
        n_threads=checked_threads(n_threads),
        stop=lambda: solution.status == "interrupted" or stop(),
        tick=tick,
    )[0]


def certified_on_all_rows(
    prepared: Prepared,
    settings: Settings,
    solution: Solution,
    found: Approximation | None,
    passes: int,
    n_threads: int | None,
    stop: Callable[[], bool],
    tick: Tick | None,
) -> Approximation | None:
    """What was found with its certificate for all rows; as it is where it never saw them."""
    whole = prepared.whole
    if whole is None or found is None or found.alpha is None:
        return found
    return certified(
        found,
        solution,
        whole.X.to_numpy(),
        whole.y,
        settings.C * learning_part(prepared, settings).whole,
        sample=whole.sample.rows,
        feature_names=tuple(whole.X.columns),
        lam=settings.lam,
        max_bytes=kernel_bytes(gigabytes(prepared.max_memory)),
        passes=passes,
        n_threads=checked_threads(n_threads),
        stop=stop,
        tick=tick,
    )[0]


def refitted_by_landmarks(
    prepared: Prepared,
    settings: Settings,
    solution: Solution,
    found: Approximation,
    splits: Iterable[tuple[Rows, Rows]],
    n_threads: int | None,
    stop: Callable[[], bool] | None,
) -> Floats | None:
    """(1 or classes, n) decisions on all rows of SVMs at the same weights that have not seen them; None if stopped."""
    whole = prepared.whole
    if whole is None or not found.finished:
        return None
    circuit, W = found.over(solution).active_circuit()
    used = {leaf: prepared.fitted[leaf] for leaf in circuit.leaves}
    Y, threads = codes_against_rest(whole.y, solution.classes), checked_threads(n_threads)
    if not used:
        return np.zeros(Y.shape)
    try:
        seen = landmarks(circuit, W, restrict_kernels(used, found.landmarks), threads)
        blocks = feature_blocks(seen, whole.X.to_numpy(), kernel_bytes(gigabytes(prepared.max_memory)), threads, stop)
    except Stopped:
        return None
    C = settings.C * learning_part(prepared, settings).whole
    return held_out_decisions(blocks, Y, C, splits, settings.tol, stop)
