"""The drawing without its paths: a small program whose expansion is exactly the set of paths.

A path's exponents depend on its profile (N_{m,1}, …, N_{m,N_m}) (formulation, section 4). Each product state
(node, partial profile, exponents left) is therefore built once, and a path is one *derivation*: at every operation
choose one term, then follow all of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING

from spnmkl.errors import StructureError
from spnmkl.structure.terms import ONE, Derivations, Term

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

Profile = tuple[int, ...]
Exponents = tuple[Fraction, ...]

MAX_PROFILES = 1_000  # of a node; beyond, paths are listed if they are few
MAX_TERMS = 200_000  # of the program
MAX_LISTED_PATHS = 5_000  # where there are too many profiles
MAX_PROFILE_ENTRIES = 5_000_000  # of all nodes together, in a deep structure


def derive(spn: SPN) -> Derivations:
    """Build the derivations of a valid SPN, or refuse with the reason when they would be too many."""
    children = {v: spn.children(v) for v in spn.topological_order()}
    order = tuple(children)
    slots = {leaf: k for k, leaf in enumerate(spn.kernels)}
    profiles = _profiles(spn, order)
    if profiles is None:
        operations = _listed(spn, slots)
    else:
        states = _states(spn, order, profiles)
        operations = _build(spn, order, profiles, states, slots)
    return Derivations(tuple(slots), _flattened(operations, len(slots)))


def _sum_of(left: Profile, right: Profile) -> Profile:
    if len(left) < len(right):
        left, right = right, left
    return tuple(a + b for a, b in zip(left, right, strict=False)) + left[len(right) :]


def _difference(left: Profile, right: Profile) -> Profile | None:
    """left − right without trailing zeros; None when some entry would be negative."""
    if len(right) > len(left):
        return None
    rest = [a - b for a, b in zip(left, right, strict=False)] + list(left[len(right) :])
    if any(entry < 0 for entry in rest):
        return None
    while rest and rest[-1] == 0:
        rest.pop()
    return tuple(rest)


def _seen_by_product(spn: SPN, child: str, profile: Profile) -> Profile:
    """A child's profile counted from its parent product's layer: a sum starts one layer further down."""
    return (0, *profile) if spn.kind(child) == "sum" and profile else profile


def _minkowski(left: set[Profile], right: Iterable[Profile]) -> set[Profile]:
    return {_sum_of(a, b) for b in right for a in left}


def _suffixes(spn: SPN, v: str, profiles: Mapping[str, set[Profile]]) -> list[set[Profile]]:
    """Entry j: the joint profiles of the children j, j+1, … of product v (the first is cut short when too many)."""
    sets: list[set[Profile]] = [{()}]
    for child in reversed(spn.children(v)):
        sets.append(_minkowski(sets[-1], (_seen_by_product(spn, child, t) for t in profiles[child])))
        if len(sets[-1]) > MAX_PROFILES:
            break
    return sets[::-1]


def _profiles(spn: SPN, order: tuple[str, ...]) -> dict[str, set[Profile]] | None:
    """Partial profiles per node, counted from the node's own layer (a sum's: from its children's).

    None: more profiles than we compile, yet few enough paths to list.
    """
    profiles: dict[str, set[Profile]] = {}
    entries = 0
    for v in reversed(order):
        if spn.kind(v) == "kernel":
            profiles[v] = {()}
        elif spn.kind(v) == "sum":
            profiles[v] = set().union(*(profiles[child] for child in spn.children(v)))
        else:
            profiles[v] = {_sum_of((1,), t) for t in _suffixes(spn, v, profiles)[0]}
        if len(profiles[v]) > MAX_PROFILES:
            if spn.n_paths <= MAX_LISTED_PATHS:
                return None
            raise StructureError(_explosion(spn, profiles))
        entries += sum(len(t) for t in profiles[v])
        if entries > MAX_PROFILE_ENTRIES:
            raise StructureError(
                f"The structure is {spn.n_layers} layers deep, which needs more than {MAX_PROFILE_ENTRIES:,} profile "
                "entries to compile; draw it with fewer layers."
            )
    return profiles


def _explosion(spn: SPN, profiles: Mapping[str, set[Profile]]) -> str:
    uneven = [
        s
        for s in spn.sums
        if all(c in profiles for c in spn.children(s)) and len({frozenset(profiles[c]) for c in spn.children(s)}) > 1
    ]
    names = ", ".join(repr(spn.label(s)) for s in uneven[:5]) + (" and others" if len(uneven) > 5 else "")
    return (
        f"The structure has more than {MAX_PROFILES:,} path profiles over {_count(spn.n_paths)} paths, too many to "
        f"compile, because the children of the sums {names} differ in their layers; give the children of each of these "
        "sums the same number of layers, and of products per layer."
    )


def _count(n: int) -> str:
    return f"{n:,}" if n < 10**12 else f"about 10^{round(log10(n))}"


State = tuple[Profile, Exponents]


def _root_states(profiles: Iterable[Profile]) -> list[State]:
    """Every profile with the exponents 1/(N_m N_{m,l}) of its layers (eq. 1)."""
    return [(rho, tuple(Fraction(1, len(rho) * count) for count in rho)) for rho in sorted(profiles)]


def _splits(
    spn: SPN, v: str, j: int, rest: Profile, joint: list[set[Profile]], profiles: Mapping[str, set[Profile]]
) -> Iterator[tuple[Profile, Profile]]:
    """Ways to give child j of product v a profile and leave a feasible rest to the children after it."""
    child = spn.children(v)[j]
    for t in sorted(profiles[child]):
        after = _difference(rest, _seen_by_product(spn, child, t))
        if after is not None and after in joint[j + 1]:
            yield t, after


def _child_state(spn: SPN, child: str, t: Profile, x: Exponents) -> State:
    start = 1 if spn.kind(child) == "sum" else 0
    return t, x[start : start + len(t)]


def _states(spn: SPN, order: tuple[str, ...], profiles: Mapping[str, set[Profile]]) -> dict[str, dict[State, None]]:
    """The states in which every node is needed by some root profile, parents first."""
    states: dict[str, dict[State, None]] = {v: {} for v in order}
    states[order[0]] = dict.fromkeys(_root_states(profiles[order[0]]))
    total = 0
    for v in order:
        total += len(states[v])
        if total > MAX_TERMS:
            raise StructureError(
                f"The compiled structure would have more than {MAX_TERMS:,} terms; use fewer nodes, or branches of "
                "equal depth."
            )
        if spn.kind(v) == "sum":
            for t, x in states[v]:
                for child in spn.children(v):
                    if t in profiles[child]:
                        states[child][(t, x)] = None
        elif spn.kind(v) == "product":
            joint = _suffixes(spn, v, profiles)
            for t, x in states[v]:
                rests = {_difference(t, (1,)) or ()}
                for j, child in enumerate(spn.children(v)):
                    after: set[Profile] = set()
                    for rest in rests:
                        for t_child, left in _splits(spn, v, j, rest, joint, profiles):
                            states[child][_child_state(spn, child, t_child, x)] = None
                            after.add(left)
                    rests = after
    return states


def _build(
    spn: SPN,
    order: tuple[str, ...],
    profiles: Mapping[str, set[Profile]],
    states: Mapping[str, Mapping[State, None]],
    slots: Mapping[str, int],
) -> list[tuple[Term, ...]]:
    """Operations bottom-up; every state of a node becomes one factor (a term that its parents multiply in)."""
    operations: list[tuple[Term, ...]] = []
    factors: dict[tuple[str, State], Term] = {}
    n_terms = 0

    def as_factor(terms: list[Term]) -> Term:
        nonlocal n_terms
        n_terms += len(terms)
        if n_terms > MAX_TERMS:
            raise StructureError(
                f"The compiled structure would have more than {MAX_TERMS:,} terms; use fewer nodes, or branches of "
                "equal depth."
            )
        if len(terms) == 1:
            return terms[0]
        operations.append(tuple(terms))
        return Term({}, (), ((len(slots) + len(operations) - 1, 0),))

    def product_factor(v: str, state: State, joint: list[set[Profile]]) -> Term:
        t, x = state
        # Suffix states (j, rest) are built from the last child back to the first.
        needed: list[set[Profile]] = [{_difference(t, (1,)) or ()}]
        for j in range(len(spn.children(v))):
            needed.append({left for rest in needed[j] for _, left in _splits(spn, v, j, rest, joint, profiles)})
        after: dict[Profile, Term] = {(): ONE}
        for j in range(len(spn.children(v)) - 1, -1, -1):
            child = spn.children(v)[j]
            shift = 1 if spn.kind(child) == "sum" else 0
            here: dict[Profile, Term] = {}
            for rest in sorted(needed[j]):
                here[rest] = as_factor(
                    [
                        ONE.times(factors[child, _child_state(spn, child, t_child, x)], shift).times(after[left])
                        for t_child, left in _splits(spn, v, j, rest, joint, profiles)
                    ]
                )
            after = here
        (below,) = after.values()
        return Term({v: x[0]}, ((v, 1),), ()).times(below)

    for v in reversed(order):
        kind = spn.kind(v)
        joint = _suffixes(spn, v, profiles) if kind == "product" else []
        for state in states[v]:
            if kind == "kernel":
                factors[v, state] = Term({}, (), ((slots[v], 0),))
            elif kind == "product":
                factors[v, state] = product_factor(v, state, joint)
            else:
                terms = [factors[child, state] for child in spn.children(v) if state in states[child]]
                factors[v, state] = as_factor(terms)
    operations.append(tuple(factors[order[0], state] for state in states[order[0]]))
    return operations


def _listed(spn: SPN, slots: Mapping[str, int]) -> list[tuple[Term, ...]]:
    terms = []
    for path in spn.paths():
        products = tuple((v, layer) for layer, members in enumerate(path.layers, 1) for v in members)
        terms.append(Term(path.exponents, products, tuple((slots[leaf], 0) for leaf in path.leaves)))
    return [tuple(terms)]


def _flattened(operations: list[tuple[Term, ...]], n_leaves: int) -> tuple[tuple[Term, ...], ...]:
    """Splice an operation that is the only argument of one single term into that term's operation."""
    uses = [0] * len(operations)
    for terms in operations:
        for term in terms:
            for slot, _ in term.arguments:
                if slot >= n_leaves:
                    uses[slot - n_leaves] += 1
    flat: list[tuple[Term, ...]] = []
    for terms in operations:
        spliced: list[Term] = []
        for term in terms:
            (slot, depth), *more = term.arguments
            if slot >= n_leaves and not more and uses[slot - n_leaves] == 1:
                outer = Term(term.exponents, term.products, ())
                spliced += [outer.times(inner, depth) for inner in flat[slot - n_leaves]]
                uses[slot - n_leaves] = 0
            else:
                spliced.append(term)
        flat.append(tuple(spliced))
    return _renumbered(flat, uses, n_leaves)


def _renumbered(operations: list[tuple[Term, ...]], uses: list[int], n_leaves: int) -> tuple[tuple[Term, ...], ...]:
    new_slot = list(range(n_leaves))
    kept: list[tuple[Term, ...]] = []
    for k, terms in enumerate(operations):
        new_slot.append(n_leaves + len(kept))
        if uses[k] or k == len(operations) - 1:
            kept.append(
                tuple(
                    Term(t.exponents, t.products, tuple((new_slot[slot], depth) for slot, depth in t.arguments))
                    for t in terms
                )
            )
    return tuple(kept)
