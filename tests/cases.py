"""Structures written in a line, and small problems posed at random."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracles import Array, Structure, product_ids
from random_structures import random_kernels, random_labels, random_structure

from spnmkl import SPN

KINDS = {"S": "sum", "P": "product", "K": "kernel"}


def drawn(edges: str, p: float | Mapping[str, float] = 1) -> Structure:
    """'S1>P1 P2, P1>K1' as a structure: the first letter of an id is its kind."""
    pairs = [(parent, child) for part in edges.split(", ") for parent, child in _pairs(part)]
    nodes: list[dict[str, Any]] = []
    for id in dict.fromkeys(node for pair in pairs for node in pair):
        node = {"id": id, "kind": KINDS[id[0]]}
        if id[0] == "P":
            node["p"] = p.get(id, 1) if isinstance(p, Mapping) else p
        elif id[0] == "K":
            node["kernel"] = "precomputed"
        nodes.append(node)
    return {"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": [list(pair) for pair in pairs]}


def _pairs(part: str) -> list[tuple[str, str]]:
    parent, children = part.split(">")
    return [(parent, child) for child in children.split()]


def flat(n_kernels: int, p: float = 1) -> Structure:
    leaves = ", ".join(f"P{i}>K{i}" for i in range(n_kernels))
    return drawn("S>" + " ".join(f"P{i}" for i in range(n_kernels)) + ", " + leaves, p)


def product_of_sums(n_sums: int, n_kernels: int) -> Structure:
    """n_kernels^n_sums paths, every sum over kernels of its own."""
    parts = ["P>" + " ".join(f"S{d}" for d in range(n_sums))]
    for d in range(n_sums):
        parts.append(f"S{d}>" + " ".join(f"P{d}.{k}" for k in range(n_kernels)))
        parts += [f"P{d}.{k}>K{d}.{k}" for k in range(n_kernels)]
    return drawn(", ".join(parts))


def exploding(n_sums: int) -> Structure:
    """A product of sums, sum d offering a kernel or a chain of d layers: every path has its own profile."""
    parts = ["P>" + " ".join(f"S{d}" for d in range(1, n_sums + 1)), "Pc1>Kc"]
    parts += [f"Pc{d}>Sc{d}, Sc{d}>Pc{d - 1}" for d in range(2, n_sums + 1)]
    parts += [f"S{d}>P{d} Pc{d}, P{d}>K{d}" for d in range(1, n_sums + 1)]
    return drawn(", ".join(parts))


FIGURE_1 = drawn(
    "S0>P8 P9, P8>S1, S1>P1 P2, P9>S2 S3, S2>P3 P4, S3>P5 P6 P7, P1>K1, P2>K2, P3>K3, P4>K4, P5>K5, P6>K6, P7>K7"
)


def beta_of(structure: Structure, rng: np.random.Generator) -> dict[str, float]:
    return {v: float(rng.uniform(0.2, 2)) for v in product_ids(structure)}


@dataclass(frozen=True)
class Case:
    """A problem small enough for the oracles; `C` and `weights` may differ between samples."""

    structure: Structure
    kernels: dict[str, Array]
    y: NDArray[np.int64]
    C: float
    lam: float
    weights: Array

    @cached_property
    def spn(self) -> SPN:
        return SPN.from_dict(self.structure)

    @property
    def posed(self) -> tuple[SPN, dict[str, Array], NDArray[np.int64]]:
        """What `solve` takes."""
        return self.spn, self.kernels, self.y

    @property
    def settings(self) -> dict[str, Any]:
        return {"C": self.C, "lam": self.lam, "sample_weight": self.weights}

    @property
    def oracle(self) -> tuple[Structure, dict[str, Array], NDArray[np.int64], Array, float]:
        """What the oracles take."""
        return self.structure, self.kernels, self.y, self.C * self.weights, self.lam


def case_of(
    structure: Structure, seed: int = 0, *, n: int = 30, classes: int = 2, C: float = 1.0, lam: float = 1.0
) -> Case:
    """Random kernels and labels for a structure."""
    rng = np.random.default_rng(seed)
    return Case(structure, random_kernels(rng, structure, n), random_labels(rng, n, classes), C, lam, np.ones(n))


def random_case(seed: int, *, n: int = 25, **options: Any) -> Case:
    """Three classes every third time, weighted samples every other time; λ and C over two orders of magnitude."""
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, shared=[0.0, 0.3, 0.6][seed % 3], aligned=seed % 5 == 4, **options)
    return Case(
        structure,
        random_kernels(rng, structure, n),
        random_labels(rng, n, 3 if seed % 3 == 1 else 2),
        float(10 ** rng.uniform(-0.5, 1.5)),
        float(10 ** rng.uniform(-1, 1)),
        rng.uniform(0.3, 3, n) if seed % 2 else np.ones(n),
    )
