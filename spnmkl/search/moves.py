"""What could be added to a drawing: products of leaves, views and branches, and which of them evidence asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spnmkl.circuit.program import Floats
from spnmkl.evidence.laplace import laplace, score_test
from spnmkl.search.branches import Branch, Weighed, Weights, equal
from spnmkl.search.fits import Fitted, Ground, Workplace
from spnmkl.threads import single_threaded_blas

NOTICED = 2.0  # standard deviations: a candidate below is not refitted
EXAMINED = 24  # candidates of a kind whose z is computed; the slope by its size has put them in order
REFITTED: Mapping[str, int] = {"leaf": 1, "pair": 2, "block": 2, "longer": 1}  # candidates of a kind that are refitted
MOST_FACTORS = 3
MOST_VIEWS = 6  # with products of every two of them as a start: 15, and a weight for every kernel of both in each
ENTERS = np.log(0.5)  # the log weight that a new branch begins with
POWERS = ("rbf", "laplacian", "chi2")  # kernels whose square is another width of the same, and no interaction


@dataclass(frozen=True)
class Pool:
    """What a search may use: the views, as leaves; and the leaves whose own square says nothing new."""

    views: tuple[tuple[int, ...], ...]
    n_leaves: int
    own_powers: frozenset[int]


@dataclass(frozen=True, eq=False)
class Atom:
    """Something to multiply: its factors, and its kernel with the scale of a single leaf."""

    factors: Branch
    K: Floats
    kind: str


@dataclass(frozen=True, eq=False)
class Candidate:
    kind: str
    branch: Weighed
    z: float


def atoms(ground: Ground, pool: Pool, present: Sequence[Branch]) -> Iterator[Atom]:
    """Leaves, sums of views and those in the drawing, and the branches of it that can become longer."""
    for leaf in range(pool.n_leaves):
        yield Atom(((leaf,),), ground.K[leaf], "leaf")
    sums = dict.fromkeys([*pool.views, *(factor for branch in present for factor in branch)])
    for added in sums:
        if len(added) > 1:
            yield Atom((added,), _kernel(ground, (added,)), "view")
    for branch in present:
        if 1 < len(branch) < MOST_FACTORS:
            yield Atom(branch, _kernel(ground, branch), "branch")


def _kernel(ground: Ground, branch: Branch) -> Floats:
    """All weights of a factor equal, and adding up to 1."""
    found = np.ones_like(ground.K[0])
    for factor in branch:
        found *= sum(ground.K[leaf] for leaf in factor) / len(factor)
    return found


@single_threaded_blas()
def candidates(ground: Ground, pool: Pool, fitted: Fitted) -> list[Candidate]:
    """Of every kind those that are to be refitted, by the score test at the present weights, best first.

    One matrix G has the slope of the log evidence for all of them: of products of two, ⟨G, K_i ∘ K_j⟩ is a product of
    matrices. The z of those that are steepest for their size decides.
    """
    K = _whole(ground, fitted)
    G = laplace(K, ground.Y, fitted.a).G
    found = list(atoms(ground, pool, fitted.branches))
    chosen = _steepest(ground, pool, found, G, set(fitted.branches))
    z = score_test(K, ground.Y, fitted.a, (_kernel(ground, branch) for _, branch in chosen))
    z /= np.sqrt(ground.excess)
    asked = [
        Candidate(kind, equal(branch, ENTERS), float(value))
        for (kind, branch), value in zip(chosen, z, strict=True)
        if value > NOTICED
    ]
    asked.sort(key=lambda candidate: (-candidate.z, candidate.branch.factors))
    return [candidate for kind, most in REFITTED.items() for candidate in _of(asked, kind)[:most]]


def _whole(ground: Ground, fitted: Fitted) -> Floats:
    n = ground.Y.shape[1]
    return Workplace(ground, fitted.weights).kernel(fitted) if fitted.weights else np.full((n, n), fitted.constant)


def _of(asked: Sequence[Candidate], kind: str) -> list[Candidate]:
    return [candidate for candidate in asked if candidate.kind == kind]


def _steepest(
    ground: Ground, pool: Pool, found: Sequence[Atom], G: Floats, present: set[Branch]
) -> list[tuple[str, Branch]]:
    """Of every kind the candidates with the largest ⟨G, K⟩ / ‖K − mean K‖, each branch once."""
    flat = np.array([atom.K.ravel() for atom in found])
    slopes = (flat * G.ravel()) @ flat.T
    means, squares = flat @ flat.T / flat.shape[1], np.square(flat) @ np.square(flat).T / flat.shape[1]
    steepness = slopes / np.sqrt(np.maximum(squares - means**2, 1e-300))
    by_kind: dict[str, dict[Branch, float]] = {kind: {} for kind in REFITTED}
    for i, one in enumerate(found):
        if one.kind == "leaf" and one.factors not in present:
            own = flat[i]
            by_kind["leaf"][one.factors] = float(G.ravel() @ own / max(own.std(), 1e-300))
        for j in range(i, len(found)):
            kind, branch = _multiplied(pool, one, found[j])
            if branch is not None and branch not in present:
                known = by_kind[kind].get(branch, -np.inf)
                by_kind[kind][branch] = max(known, float(steepness[i, j]))
    chosen = []
    for kind, of_kind in by_kind.items():
        order = sorted(of_kind, key=lambda branch: (-of_kind[branch], branch))
        chosen += [(kind, branch) for branch in order[:EXAMINED] if of_kind[branch] > 0]
    return chosen


def _multiplied(pool: Pool, one: Atom, other: Atom) -> tuple[str, Branch | None]:
    """The kind of a product, and its factors; None where it says nothing new, or is too long."""
    factors = [*one.factors, *other.factors]
    if len(factors) > MOST_FACTORS:
        return "longer", None
    if {one.kind, other.kind} == {"leaf", "view"}:
        leaf, view = (one, other) if one.kind == "leaf" else (other, one)
        (alone,) = leaf.factors[0]
        rest = tuple(k for k in view.factors[0] if k != alone or alone not in pool.own_powers)
        factors = [leaf.factors[0], rest]
    branch = equal(factors, 0.0).factors
    alone_twice = {factor for factor in branch if len(factor) == 1 and branch.count(factor) > 1}
    if not all(branch) or any(leaf in pool.own_powers for (leaf,) in alone_twice):
        return "pair", None
    if "branch" in (one.kind, other.kind):
        return "longer", branch
    return ("pair" if all(len(factor) == 1 for factor in branch) else "block"), branch


def product_of_views(pool: Pool) -> Branch | None:
    """Far from any sum, and from the product of two: of all views, where these are three."""
    return equal(pool.views, 0.0).factors if 2 < len(pool.views) <= MOST_FACTORS else None


def templates(pool: Pool) -> Iterator[tuple[Branch, ...]]:
    """What is added to a sum at once: the product of all views; those of every two; of each view with itself."""
    views = pool.views
    if not 1 < len(views) <= MOST_VIEWS:
        return
    if len(views) <= MOST_FACTORS:
        yield (equal(views, 0.0).factors,)
    if len(views) > 2:
        yield tuple(equal(pair, 0.0).factors for pair in combinations(views, 2))
    wide = [view for view in views if len(view) > 1]
    if wide:
        yield tuple(equal((view, view), 0.0).factors for view in wide)


@single_threaded_blas()
def asked_for(ground: Ground, fitted: Fitted, template: Sequence[Branch]) -> bool:
    """Whether the score test asks for all branches of a template together."""
    together = np.sum([_kernel(ground, branch) for branch in template], axis=0)
    (z,) = score_test(_whole(ground, fitted), ground.Y, fitted.a, [together])
    return bool(z > NOTICED * np.sqrt(ground.excess))


def with_template(fitted: Fitted, template: Sequence[Branch]) -> Weights:
    """They share what a new branch begins with."""
    scale = float(ENTERS - np.log(len(template)))
    return (*fitted.weights, *(equal(branch, scale) for branch in template))


def flat(pool: Pool) -> Weights:
    """One branch per leaf."""
    scale = float(np.log(4.0 / pool.n_leaves))  # K's mean diagonal is 4, as `fit_evidence` begins
    return tuple(equal([(leaf,)], scale) for leaf in range(pool.n_leaves))


def grown(fitted: Fitted, branch: Weighed) -> Weights:
    return (*fitted.weights, branch)
