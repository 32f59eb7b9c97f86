"""Which method runs, from where, and when another takes over.

"auto" is Newton's method with SMO inside for as long as that goes well. Where kernels have low rank, SMO crawls, and
the α it ends at is not the one that proves anything: as soon as SMO exceeds its budget of steps, a value is not finite
or the gap no longer falls, path following goes on from the best point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from spnmkl.certificate import relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import is_computed
from spnmkl.errors import ParameterError
from spnmkl.memory import available_memory, double_bytes, single_bytes
from spnmkl.problem import Problem
from spnmkl.solvers.bound import search_dual
from spnmkl.solvers.budget import Budget, NoRoom, Struggling
from spnmkl.solvers.interior import interior
from spnmkl.solvers.iterate import Iterate, trivial_iterate
from spnmkl.solvers.newton import newton
from spnmkl.solvers.nonconvex import nonconvex_iterates
from spnmkl.solvers.paper import paper
from spnmkl.solvers.path_start import Start
from spnmkl.solvers.smallest import smallest_C
from spnmkl.solvers.start import coarse, first_weights, trivial_objective

_COARSE_TOL, _COARSE_ITERATIONS = 0.1, 30  # of the problem on some rows, whose weights are a start
_COMPUTED_TOL, _COMPUTED_ITERATIONS = 3e-3, 8  # the same where kernels are computed: all rows cost most by far
_PATIENCE, _SLOW, _LOOK_BACK, _LONG = 7, 0.3, 3, 40  # Newton iterations granted; the gap must fall so in so many
_LOOK_BACK_COMPUTED, _MANY = 12, 5000  # the same for so many rows of computed kernels, of which all factors take long
_TAKEN_BACK = 3  # evaluations beyond one for every iteration, at which patience ends early
_DESCENT = 0.01  # or the objective by so much
_QUICK_ROUNDS = 3  # of the search for C_min before path following
_LONG_ROUNDS, _NARROW = 100, 0.1  # of that search for one method alone; of tol: a bracket at which it ends
_AWAKE = 1e-3  # of the largest weight: zeros of a start that a method could not bring back
_LAST_BUDGET = 5.0  # times that of the first attempt
_WARNED = 0.2  # of the budget, where Newton's method struggled before
_GUESSED_GAP = 0.1  # of a start that someone gives
_SURE_ROOM = 200_000_000  # bytes that are not asked for: control groups count cached files, too, as used
SINGLE_TOL = 1e-4  # from which on kernels that are computed may be so in single precision, until the proof


@dataclass(frozen=True)
class Begin:
    """Weights to begin with, α if there is one, and whether they were found where Newton's method struggled."""

    beta: Floats
    alpha: Floats | None = None
    struggled: bool = False


Method = Callable[[Problem, float, Begin | None], Iterator[Iterate]]


def iterates(problem: Problem, solver: str, tol: float, begin: Begin | None) -> Iterator[Iterate]:
    """The points of a solver, from a start given or found."""
    if begin is not None and not begin.beta.any():
        begin = None
    return SOLVERS[solver](problem, tol, begin)


def _paper(problem: Problem, tol: float, begin: Begin | None) -> Iterator[Iterate]:
    return _descended(problem, tol, begin, "paper")


def _newton(problem: Problem, tol: float, begin: Begin | None) -> Iterator[Iterate]:
    return _descended(problem, tol, begin, "newton")


def _interior(problem: Problem, tol: float, begin: Begin | None) -> Iterator[Iterate]:
    if not problem.convex:
        raise ParameterError("solver='interior' needs every p to be at least 1; choose 'auto' where some are below.")
    return interior(problem, tol, _given(begin))


def _auto(problem: Problem, tol: float, begin: Begin | None) -> Iterator[Iterate]:
    if not problem.convex:
        yield from _newton(problem, tol, begin)
        return
    best, gap = None, 1.0
    try:
        for best, gap in _in_two_precisions(problem, tol, begin):  # noqa: B007
            yield best
    except (Struggling, ArithmeticError):
        pass
    _ask_for_room("Path following", problem, tol, kept=best is not None)
    start = _given(begin) if best is None else Start(best.beta, best.alpha, gap)
    done = 0 if best is None else best.evaluations
    for iterate in interior(problem, tol, start):
        if best is None or iterate.objective < best.objective:
            best = iterate
        yield replace(iterate, evaluations=done + iterate.evaluations)
    # Rounding ended the path: Newton's method may still get through, within a larger budget.
    again = begin if best is None else Begin(best.beta, best.alpha)
    with suppress(Struggling, ArithmeticError):
        for iterate, _ in _while_it_goes_well(problem, tol, again, _LAST_BUDGET):
            yield replace(iterate, evaluations=done + iterate.evaluations)


SOLVERS: dict[str, Method] = {"auto": _auto, "interior": _interior, "newton": _newton, "paper": _paper}


def _given(begin: Begin | None) -> Start | None:
    return None if begin is None else Start(begin.beta, begin.alpha, _GUESSED_GAP)


def _in_two_precisions(problem: Problem, tol: float, begin: Begin | None) -> Iterator[tuple[Iterate, float]]:
    """Newton's points, from computed kernels in single precision first; in double where what these prove was doubted.

    What single precision gives proves nothing: flows are left out, so that the bound is computed anew.
    """
    rough, done = problem.in_single() if tol >= SINGLE_TOL else None, 0
    if rough is not None:
        _ask_for("K(β) of all rows", single_bytes(problem.n))  # before minutes are spent on some of them
    for iterate, gap in () if rough is None else _while_it_goes_well(rough, tol, begin):
        yield replace(iterate, dual=replace(iterate.dual, flows=None), flows=None, single=True), gap
        if gap <= tol:  # and still someone asks for more
            begin, done = Begin(iterate.beta, iterate.alpha), iterate.evaluations
            break
    if rough is None or done:
        _ask_for_room("Double precision", problem, tol, None if begin is None else begin.alpha, kept=done > 0)
        for iterate, gap in _while_it_goes_well(problem, tol, begin):
            yield replace(iterate, evaluations=done + iterate.evaluations), gap


def _ask_for_room(what: str, problem: Problem, tol: float, alpha: Floats | None = None, *, kept: bool) -> None:
    """Of K(β) and a factor of it, in double precision; by α, if there is one, on the rows that are free.

    A process that takes too much is killed, with what it has found. Where nothing is found yet, and the kernels are in
    memory already, it is tried all the same: nothing is lost, and single precision is no way out.

    Raises
    ------
    NoRoom
        They do not fit into the memory that is free.
    """
    free_rows = problem.n if alpha is None else int(((alpha > 0) & (alpha < problem.C)).sum(axis=1).max())
    needed, computed = double_bytes(problem.n, free_rows), is_computed(problem.source)
    if kept or computed:
        _ask_for(what, needed, f"a tol of {SINGLE_TOL:g} or more, " * (computed and tol < SINGLE_TOL))


def _ask_for(what: str, needed: int, advice: str = "") -> None:
    """So many bytes, if they are not few."""
    free = available_memory() if needed >= _SURE_ROOM else None
    if free is not None and needed > free:
        raise NoRoom(what, needed, free, advice)


def _while_it_goes_well(
    problem: Problem, tol: float, begin: Begin | None, granted: float = 1.0
) -> Iterator[tuple[Iterate, float]]:
    """Newton's points with their gaps; ends, or raises `Struggling`, where path following should take over."""
    budget = Budget(problem, _WARNED if begin is not None and begin.struggled else granted)
    alpha, guessed = None if begin is None else begin.alpha, np.inf
    if begin is None:
        beta, guessed = _coarse_weights(problem, Budget)
    else:
        beta = _usable_start(problem, "newton", begin.beta)
    look_back = _LOOK_BACK_COMPUTED if is_computed(problem.source) and problem.n > _MANY else _LOOK_BACK
    trivial, gaps, values = trivial_objective(problem), list[float](), list[float]()
    for iterate in newton(problem, beta, tol, alpha=alpha, budget=budget, guessed=guessed):
        if (problem.p == 1).all() and not iterate.objective < trivial:
            if (found := _below_smallest(problem, iterate, tol)) is not None:
                yield found, relative_gap(trivial, found.dual.value)
            return  # whether C is above C_min at all is a question for path following
        values.append(min([*values[-1:], iterate.objective]))
        gaps.append(relative_gap(values[-1], iterate.dual.value))
        yield iterate, gaps[-1]
        # Steps that are taken back tell of a model that does not hold, as where the SVM's α is not unique.
        patience = max(_PATIENCE, look_back + 1) if iterate.evaluations < len(gaps) + _TAKEN_BACK else look_back + 1
        if len(gaps) >= _LONG or (len(gaps) >= patience and _is_slow(gaps, values, look_back)):
            return


def _is_slow(gaps: list[float], values: list[float], look_back: int) -> bool:
    """The gap hardly falls, and not because there is still much to gain: then bounds are far off until the end."""
    descends = values[-1] < (1 - _DESCENT) * values[-1 - look_back]
    return gaps[-1] > _SLOW * gaps[-1 - look_back] and not descends


def _below_smallest(problem: Problem, iterate: Iterate, tol: float) -> Iterate | None:
    """β = 0, where that it is optimal is soon proved."""
    for bracket in smallest_C(problem, max_rounds=_QUICK_ROUNDS):
        if bracket.low >= 1:
            proof = search_dual(problem, bracket.a, bracket.beta, target=(1 - tol) * trivial_objective(problem))
            zero = trivial_iterate(problem, bracket.a, proof, iterate.evaluations + 1, iterate.method)
            return replace(zero, smallest_C=bracket.low, final=True)
        if bracket.high < 1:
            break
    return None


def _descended(problem: Problem, tol: float, begin: Begin | None, solver: str) -> Iterator[Iterate]:
    """By Newton's method or the paper's, from a start given or found."""
    method = {"newton": newton, "paper": paper}[solver]
    positive = None if begin is None else _usable_start(problem, solver, begin.beta)
    if (problem.p == 1).all():
        yield from _lasso_iterates(problem, method, tol, _first(problem, solver) if positive is None else positive)
    elif positive is not None and begin is not None and solver == "newton":
        yield from newton(problem, positive, tol, alpha=begin.alpha)
    elif positive is not None:
        yield from method(problem, positive, tol)
    elif problem.bounded:
        yield from method(problem, _first(problem, solver), tol)
    else:
        yield from nonconvex_iterates(problem, method, tol)


def _first(problem: Problem, solver: str) -> Floats:
    return _coarse_weights(problem)[0] if solver == "newton" and problem.bounded else first_weights(problem)


def _usable_start(problem: Problem, solver: str, begin: Floats) -> Floats:
    """Weights above zero; Newton's method can bring back from zero whole components that may vanish, so these stay."""
    gone = np.ones(len(problem.homogeneous), dtype=bool)
    np.logical_and.at(gone, problem.components, begin <= 0)
    stays = (gone & problem.homogeneous)[problem.components] & (problem.bounded and solver == "newton")
    return np.where((begin > 0) | stays, begin, _AWAKE * begin.max())


def _coarse_weights(problem: Problem, limited: Callable[[Problem], Budget] | None = None) -> tuple[Floats, float]:
    """Nearly optimal weights of a sample of the rows, where a step costs little; else equal ones at a good scale.

    Where kernels are computed, the sample's own start is that of a sample of it, and so on; then J there is told too.
    A sample that needs too many steps ends its own part alone there: few rows say little of whether all of them will.
    """
    small = coarse(problem)
    if small is None:
        return first_weights(problem), np.inf
    budget = None if limited is None else limited(small)
    if computed := is_computed(problem.source):
        beta, guessed = _coarse_weights(small, limited)
    else:
        beta, guessed = first_weights(small), np.inf
    value = np.inf
    tol, most = (_COMPUTED_TOL, _COMPUTED_ITERATIONS) if computed else (_COARSE_TOL, _COARSE_ITERATIONS)
    with suppress(*[Struggling] * computed):
        for k, iterate in enumerate(newton(small, beta, tol, budget=budget, guessed=guessed)):
            if iterate.objective >= trivial_objective(small) or k == most:
                break
            beta, value = iterate.beta, iterate.objective if computed else np.inf
            if relative_gap(iterate.objective, iterate.dual.value) <= tol:
                break
    return beta, value


def _lasso_iterates(
    problem: Problem, method: Callable[[Problem, Floats, float], Iterator[Iterate]], tol: float, beta: Floats
) -> Iterator[Iterate]:
    """p = 1: a start that is no better than β = 0 asks whether C exceeds C_min at all."""
    trivial = trivial_objective(problem)
    for iterate in method(problem, beta, tol):
        if iterate.objective >= trivial:
            break
        yield iterate
    else:
        return
    for bracket in smallest_C(problem, max_rounds=_LONG_ROUNDS):
        if bracket.low >= 1:
            proof = search_dual(problem, bracket.a, bracket.beta)
            zero = trivial_iterate(problem, bracket.a, proof, 1, iterate.method)
            yield replace(zero, smallest_C=bracket.low)
            break  # where rounding hides the proof, a solver may find one
        if bracket.high < 1 or bracket.high < bracket.low * (1 + _NARROW * tol):
            break
    yield from method(problem, first_weights(problem, bracket.beta), tol)
