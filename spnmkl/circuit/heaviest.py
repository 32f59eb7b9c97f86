"""The k heaviest paths: best derivations over the circuit, never a full listing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np

from spnmkl.circuit.program import Circuit, lower
from spnmkl.structure import SPN, Path
from spnmkl.structure.derivations import derive
from spnmkl.structure.nodes import FreshIds


@dataclass(frozen=True)
class WeightedPath:
    """A path with its weight.

    Attributes
    ----------
    path : Path
        The path as `SPN.paths` lists it, in the order in which its nodes are visited.
    g : float
        Π_v β_v^{e_mv}.
    share : float
        g / Σ g over all paths.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> from spnmkl.inspection import heaviest_paths
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    >>> path = heaviest_paths(model.solution_, k=1)[0]
    >>> 0 < float(path.share) <= 1, len(path.leaves)
    (True, 1)
    """

    path: Path
    g: float
    share: float

    @property
    def leaves(self) -> tuple[str, ...]:
        """The kernels it multiplies, with multiplicity."""
        return self.path.leaves

    @property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The products of every layer, with multiplicity."""
        return self.path.layers

    @property
    def exponents(self) -> Mapping[str, Fraction]:
        """e_mv of every product on it."""
        return self.path.exponents


@dataclass(frozen=True)
class _Partial:
    """A derivation of one slot: its weight, the term chosen there, and the derivations of the term's arguments."""

    weight: float
    term: int
    below: tuple[_Partial, ...]


def heaviest_paths(spn: SPN, beta: Mapping[str, float], k: int) -> list[WeightedPath]:
    """The k paths of largest g, heaviest first; paths with g = 0 are left out."""
    circuit, marks = _marked(spn)
    weights = np.array([beta[v] for v in circuit.products])
    W = circuit.weights(weights)
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
    total = circuit.path_weight_total(weights)
    return [
        WeightedPath(_path(circuit, partial, marks), partial.weight, partial.weight / total) for partial in best[-1]
    ]


@lru_cache(maxsize=4)
def _marked(spn: SPN) -> tuple[Circuit, frozenset[str]]:
    """The circuit of the drawing with one more leaf, a mark, as the first child of every product; the marks.

    A term lists its products and its arguments, but not in which order a path visits the ones and the others. The
    marks are arguments that stand where the products do.
    """
    drawing, fresh = spn.to_dict(), FreshIds(spn.nodes)
    marks = {v: fresh.next("mark") for v in spn.products}
    drawing["nodes"] += [{"id": mark, "kind": "kernel", "kernel": "precomputed"} for mark in marks.values()]
    drawing["edges"] = [list(edge) for edge in marks.items()] + drawing["edges"]
    return lower(derive(SPN.from_dict(drawing)), spn.products), frozenset(marks.values())


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


def _path(circuit: Circuit, partial: _Partial, marks: frozenset[str]) -> Path:
    leaves: list[str] = []
    layers: dict[int, list[str]] = {}
    stack: list[tuple[_Partial | str, int]] = [(partial, 0)]
    while stack:
        item, layer = stack.pop()
        if isinstance(item, _Partial):
            stack.extend(reversed(list(_visited(circuit, item, layer, marks))))
        elif layer:
            layers.setdefault(layer, []).append(item)
        else:
            leaves.append(item)
    return Path(tuple(leaves), tuple(tuple(layers[layer]) for layer in sorted(layers)))


def _visited(
    circuit: Circuit, partial: _Partial, above: int, marks: frozenset[str]
) -> Iterator[tuple[_Partial | str, int]]:
    """What the chosen term visits, in order: a product in its layer, a kernel in none, a derivation below so many."""
    term = circuit.derivations.terms[partial.term]
    products = iter(term.products)
    for (slot, below), inner in zip(term.arguments, partial.below, strict=True):
        if inner.term >= 0:
            yield inner, above + below
        elif (leaf := circuit.derivations.leaves[slot]) in marks:
            v, layer = next(products)
            yield v, above + layer
        else:
            yield leaf, 0
