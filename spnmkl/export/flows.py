"""What the learned weights leave of a drawing, and how much flows through each product."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from spnmkl.circuit.program import compile_circuit
from spnmkl.errors import StructureError
from spnmkl.structure import SPN


def lost(spn: SPN, beta: Mapping[str, float]) -> set[str]:
    """The nodes that no path of positive weight meets."""
    # A product dies with any child, a sum with its last.
    alive = {v: len(spn.children(v)) if spn.kind(v) == "sum" else 1 for v in spn.nodes}
    dead = [v for v in spn.products if v in beta and not beta[v] > 0]
    gone = set(dead)
    for v in dead:
        for parent in spn.parents(v):
            alive[parent] -= 1
            if alive[parent] <= 0 and parent not in gone:
                gone.add(parent)
                dead.append(parent)
    reached = {root: None for root in spn.roots if root not in gone}
    for v in (queue := list(reached)):
        new = [child for child in spn.children(v) if child not in gone and child not in reached]
        reached |= dict.fromkeys(new)
        queue += new
    return set(spn.nodes) - set(reached)


def path_flows(spn: SPN, beta: Mapping[str, float]) -> dict[str, float]:
    """Per product the weight of the paths through it, as a part of the weight of all; empty where none is known."""
    try:
        spn.check()
        circuit = compile_circuit(spn)
    except StructureError:
        return {}
    if not all(v in beta and isfinite(beta[v]) and beta[v] >= 0 for v in circuit.products):
        return {}
    flows = circuit.flows(circuit.weights(np.array([beta[v] for v in circuit.products])))
    total = flows[circuit.operation_start[-2] :].sum()
    # A path that meets a product in two places is counted twice, hence the bound.
    through = np.minimum((circuit.X > 0).T @ flows / total, 1.0) if total > 0 else np.zeros(len(circuit.products))
    return dict(zip(circuit.products, through.tolist(), strict=True))


def parts_of_largest(spn: SPN, beta: Mapping[str, float]) -> dict[str, float]:
    """Every weight as a part of the largest."""
    known = {v: beta[v] for v in spn.products if v in beta and isfinite(beta[v])}
    largest = max(known.values(), default=0.0)
    return {v: max(0.0, weight) / largest if largest > 0 else 0.0 for v, weight in known.items()}
