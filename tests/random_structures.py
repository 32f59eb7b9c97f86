"""Random structures, kernels and labels, small enough for the oracles."""

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from oracles import Structure

Array = NDArray[np.float64]


class _Drawing:
    """Grows top down. Only finished nodes are shared, so an edge never closes a cycle."""

    def __init__(self, rng: Generator, shared: float, aligned: bool, p_choices: tuple[float, ...]) -> None:
        self.rng, self.shared, self.aligned, self.p_choices = rng, shared, aligned, p_choices
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[list[str]] = []
        self.finished: dict[tuple[str, int], list[str]] = {}
        self.n_paths: dict[str, int] = {}

    def child(self, kind: str, depth: int, siblings: list[str]) -> None:
        """Append a node of `kind` with `depth` layers of sums below it: one already drawn, or a new one."""
        depths = [depth] if self.aligned else range(depth + 1)
        known = [node for d in depths for node in self.finished.get((kind, d), []) if node not in siblings]
        if known and self.rng.random() < self.shared:
            siblings.append(str(self.rng.choice(known)))
        else:
            siblings.append(self.grow(kind, depth))

    def grow(self, kind: str, depth: int) -> str:
        node: dict[str, Any] = {"id": f"{kind[0]}{len(self.nodes)}", "kind": kind}
        self.nodes.append(node)
        children: list[str] = []
        if kind == "kernel":
            node["kernel"] = "precomputed"
        elif kind == "sum":
            for _ in range(self.rng.integers(1, 4)):
                self.child("product", self.below(depth - 1), children)
        else:
            node["p"] = float(self.rng.choice(self.p_choices))
            self.factors(depth, children)
        self.edges += [[node["id"], child] for child in children]
        below = [self.n_paths[child] for child in children]
        self.n_paths[node["id"]] = sum(below) if kind == "sum" else prod(below)
        self.finished.setdefault((kind, depth), []).append(node["id"])
        return node["id"]

    def factors(self, depth: int, children: list[str]) -> None:
        """A product's children: mostly sums above the last layer, kernels in it, rarely a product."""
        for i in range(self.rng.choice([1, 2, 3], p=[0.45, 0.45, 0.1])):
            if self.rng.random() < 0.1:
                self.child("product", depth if i == 0 else self.below(depth), children)
            elif depth == 0 or (i > 0 and not self.aligned and self.rng.random() < 0.3):
                self.child("kernel", 0, children)
            else:
                self.child("sum", depth if i == 0 else max(1, self.below(depth)), children)

    def below(self, depth: int) -> int:
        return depth if self.aligned or self.rng.random() < 0.6 else int(self.rng.integers(0, depth + 1))


def random_structure(
    rng: Generator,
    *,
    max_depth: int = 3,
    shared: float = 0.3,
    aligned: bool = False,
    p_choices: tuple[float, ...] = (1, 1.5, 2),
    min_paths: int = 2,
    max_paths: int = 12,
) -> Structure:
    """Draw a structure of at most `max_depth` layers.

    `shared` is the chance that a node already drawn is used again (0 makes a tree). `aligned` puts every
    kernel under the same number of sums; otherwise branches end where they like.
    """
    while True:
        drawing = _Drawing(rng, shared, aligned, p_choices)
        depth = max(rng.integers(1, max_depth + 1, size=2))
        # A product root counts as lying in layer 1 already.
        if depth > 1 and rng.random() < 0.15:
            root = drawing.grow("product", depth - 1)
        else:
            root = drawing.grow("sum", depth)
        if len(drawing.nodes) <= 40 and min_paths <= drawing.n_paths[root] <= max_paths:
            return {
                "format": "spnmkl/structure",
                "version": 1,
                "nodes": drawing.nodes,
                "edges": drawing.edges,
            }


def random_kernels(rng: Generator, structure: Structure, n: int) -> dict[str, Array]:
    """A positive semidefinite matrix of unit diagonal for each leaf: full rank (rbf) or low rank (cosine)."""
    leaves = [node["id"] for node in structure["nodes"] if node["kind"] == "kernel"]
    return {leaf: _random_kernel(rng, n) for leaf in leaves}


def _random_kernel(rng: Generator, n: int) -> Array:
    X = rng.normal(size=(n, rng.integers(2, 5)))
    if rng.random() < 0.3:
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        K = X @ X.T
    else:
        squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = np.exp(-rng.uniform(0.1, 1.0) * squared)
    np.fill_diagonal(K, 1.0)
    return (K + K.T) / 2


def random_labels(rng: Generator, n: int, classes: int = 2) -> NDArray[np.int64]:
    """Every class at least twice; two classes are −1 and +1, more are 0, 1, 2, …"""
    names = np.array([-1, 1]) if classes == 2 else np.arange(classes)
    labels = np.concatenate([np.repeat(names, 2), rng.choice(names, size=n - 2 * classes)])
    return rng.permutation(labels)


def structures(**options: Any) -> st.SearchStrategy[Structure]:
    """Random structures as a hypothesis strategy; `options` are those of `random_structure`."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_structure(np.random.default_rng(seed), **options))
