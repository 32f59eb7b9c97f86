"""The regularisation path: one training after the other, each from where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.parallel import Place, goes_elsewhere, in_order, side_by_side
from spnmkl.parameters import check_callback
from spnmkl.problem import check_labels, checked_source
from spnmkl.selection.grid import checked_grid, default_grid
from spnmkl.selection.results import UNFINISHED, PathPoint, RegularizationPath
from spnmkl.solution import Solution
from spnmkl.solvers import solve
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN

_STRETCH = 3  # values of C that are solved one from the other where stretches of a path go elsewhere
_AT_BOUND = 0.999  # of C: an α that more C might let grow


def regularization_path(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    C: Sequence[float] | None = None,
    *,
    callback: Callable[[PathPoint], object] | None = None,
    max_time: float | None = None,
    **settings: Any,
) -> RegularizationPath:
    """Solve over a grid of C, each from the solution before it.

    Where joblib's configuration sends work elsewhere, stretches of three values are solved side by side: as good, each
    to its tolerance, but not the same to the last digit.

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    C : sequence of float, default=None
        The grid; None: 12 values from just above C_min to 1000 C_min where all p are 1, else 11 from 0.01 to 1000.
    callback : callable, default=None
        Called with a `PathPoint` after every C; returning False stops and keeps what is there.
    max_time : float, default=None
        Seconds for the whole path, after which what is there is kept: every C that was done, at least the first.
    **settings : dict
        Passed to `solve`: ``lam``, ``p``, ``solver``, ``tol``, ``sample_weight``, ``class_weight``, …

    Returns
    -------
    RegularizationPath
        The solutions, smallest C first.

    Raises
    ------
    ParameterError
        The grid is empty or holds what is no positive number.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import regularization_path, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> path = regularization_path(spn, kernels, y)
    >>> len(path.C), {solution.status for solution in path.solutions}
    (12, {'optimal'})
    """
    check_callback(callback)
    deadline = Deadline(max_time, settings.pop("stop", None))
    source = checked_source(spn, kernels, len(check_labels(y)))
    grid = checked_grid(default_grid(spn, source, y, stop=deadline, **settings) if C is None else C)
    away = goes_elsewhere()
    work = _Path(spn, source, y, grid, settings, deadline.left)
    each = _STRETCH if away else len(grid)
    stretches = [range(k, min(k + each, len(grid))) for k in range(0, len(grid), each)]
    solutions: list[Solution] = []
    # A limit of time is the work's own to see, unless it waits for its turn elsewhere.
    with closing(side_by_side(_along, work, stretches, stop=deadline if away else deadline.stop)) as running:
        for k, solution in in_order((k, (k, one)) for k, one in running):
            if k > len(solutions):
                break  # what lies before was stopped
            solutions.append(solution)
            point = PathPoint(len(solutions), len(grid), grid[k], solution)
            if callback is not None and callback(point) is False:
                break
    return RegularizationPath(grid[: len(solutions)], tuple(solutions))


@dataclass(frozen=True, eq=False)
class _Path:
    """What all values of C share."""

    spn: SPN
    source: KernelSource
    y: ArrayLike
    grid: Floats
    settings: Mapping[str, Any]
    max_time: float | None


def _along(work: _Path, numbers: range, place: Place) -> Iterator[tuple[int, Solution]]:
    """Some values of C next to each other, each from the solution before it; the first of all is solved in any case."""
    deadline, last = Deadline(work.max_time, place.stop), None
    for k in numbers:
        if k and deadline():
            return
        solution = solve_next(work.spn, work.source, work.y, work.grid[k], last, work.settings, deadline)
        if k and solution.status in UNFINISHED:
            return  # no point of the path
        yield k, solution
        last = solution


def walk(n: int, settled: Callable[[int], bool]) -> Iterator[tuple[int, int | None]]:
    """An order of n values of C, smallest first, each with the one that its training starts from.

    Both ends are costly to begin at: the weights just above C_min, and α far above. So it begins at a third and goes
    up, where α grows with its bounds, then down. Once that is `settled` and stays as it is for any larger C, the
    largest comes next, and those between from above.
    """
    first = n // 3
    yield first, None
    last, above = first, list(range(first + 1, n))
    while above:
        k = above.pop(-1 if last > above[-1] or settled(last) else 0)
        yield k, last
        last = k
    for k in reversed(range(first)):
        yield k, k + 1


def below_bounds(solution: Solution) -> bool:
    """Whether all α are: then no sample is on the wrong side of its margin, and more C changes nothing."""
    return not (solution.alpha >= _AT_BOUND * solution.C)[..., solution.C > 0].any()


def carried(last: Solution, change: float, kernels: KernelSource, settings: Mapping[str, Any]) -> Solution | None:
    """The same classifier at C times `change` < 1, where it is proved to be good enough there; else None.

    It may be where no α is above the new bounds, and where it is constant, since then α shrinks with C.
    """
    C, shrunk = change * last.C, 1.0 if any(last.beta.values()) else change
    alpha = shrunk * last.alpha
    if change >= 1 or last.status != "optimal" or (alpha > C).any():
        return None
    moved = replace(last, C=C, alpha=alpha, witness_alpha=shrunk * last.witness_alpha)
    proof = moved.certify(kernels, settings["n_threads"])
    if proof.gap > last.tol:
        return None
    values: dict[str, Any] = asdict(proof)
    pruned = tuple(v for v, b in last.beta.items() if b <= 0)
    record = replace(last.history[-1], iteration=1, beta=last.beta, pruned=pruned, evaluations=0, seconds=0.0, **values)
    return replace(moved, history=(record,), pruned=dict.fromkeys(pruned, 1), **values)


def solve_next(
    spn: SPN,
    source: KernelSource,
    y: ArrayLike,
    C: float,
    last: Solution | None,
    settings: Mapping[str, Any],
    deadline: Deadline,
) -> Solution:
    # Weights that are all zero are expected at the lower end of a grid.
    return solve(spn, source, y, C=C, start=last, warn=False, max_time=deadline.left, stop=deadline.stop, **settings)
