"""The k heaviest paths: best derivations over the circuit, never a full listing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from spnmkl.circuit.program import Circuit, Floats


@dataclass(frozen=True)
class WeightedPath:
    """A path with its weight.

    Attributes
    ----------
    leaves : the kernels it multiplies, with multiplicity.
    layers : the products of every layer, with multiplicity.
    exponents : e_mv of every product on it.
    g : Π_v β_v^{e_mv}.
    share : g / Σ g over all paths.
    """

    leaves: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]
    exponents: dict[str, Fraction]
    g: float
    share: float


@dataclass(frozen=True)
class _Partial:
    """A derivation of one slot: its weight, the term chosen there, and the derivations of the term's arguments."""

    weight: float
    term: int
    below: tuple[_Partial, ...]


def heaviest_paths(circuit: Circuit, beta: Floats, k: int) -> list[WeightedPath]:
    """The k paths of largest g, heaviest first; paths with g = 0 are left out."""
    W = circuit.weights(beta)
    best: list[list[_Partial]] = [[_Partial(1.0, -1, ())] for _ in circuit.leaves]
    for o in range(circuit.n_operations):
        streams = [
            _scaled(
                W[t],
                t,
                [best[slot] for slot in circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]]],
            )
            for t in range(circuit.operation_start[o], circuit.operation_start[o + 1])
            if W[t] > 0
        ]
        best.append(list(islice(heapq.merge(*streams, key=lambda partial: -partial.weight), k)))
    total = circuit.path_weight_total(beta)
    return [_path(circuit, partial, total) for partial in best[-1]]


def _scaled(w: float, t: int, arguments: list[list[_Partial]]) -> Iterator[_Partial]:
    """The derivations of one term, heaviest first: the best of each argument, then ever lighter neighbours."""
    if not all(arguments):
        return
    first = (0,) * len(arguments)

    def weight(choice: tuple[int, ...]) -> float:
        value = w
        for options, i in zip(arguments, choice, strict=True):
            value *= options[i].weight
        return value

    frontier, seen = [(-weight(first), first)], {first}
    while frontier:
        negative, choice = heapq.heappop(frontier)
        yield _Partial(-negative, t, tuple(options[i] for options, i in zip(arguments, choice, strict=True)))
        for a, options in enumerate(arguments):
            nearby = (*choice[:a], choice[a] + 1, *choice[a + 1 :])
            if nearby[a] < len(options) and nearby not in seen:
                seen.add(nearby)
                heapq.heappush(frontier, (-weight(nearby), nearby))


def _path(circuit: Circuit, partial: _Partial, total: float) -> WeightedPath:
    leaves: list[str] = []
    layers: dict[int, list[str]] = {}
    exponents: dict[str, Fraction] = {}
    stack = [(partial, 0)]
    while stack:
        node, depth = stack.pop()
        term = circuit.derivations.terms[circuit.terms[node.term]]
        for v, e in term.exponents.items():
            exponents[v] = exponents.get(v, Fraction(0)) + e
        for v, layer in term.products:
            layers.setdefault(depth + layer, []).append(v)
        deeper = []
        for (slot, below), inner in zip(term.arguments, node.below, strict=True):
            if inner.term < 0:
                leaves.append(circuit.derivations.leaves[slot])
            else:
                deeper.append((inner, depth + below))
        stack.extend(reversed(deeper))
    ordered = tuple(tuple(sorted(layers[layer])) for layer in sorted(layers))
    share = partial.weight / total if total > 0 else 0.0
    return WeightedPath(tuple(leaves), ordered, exponents, partial.weight, share)
