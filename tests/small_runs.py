"""Small trainings to explain, and their paths listed one by one."""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pandas as pd
from oracles import Array

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.scores import unscored
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

COLOUR, SHAPE = [f"colour_{i}" for i in range(3)], [f"shape_{i}" for i in range(3)]


def small_dataset(classes: int = 2, n: int = 90, seed: int = 0) -> Dataset:
    """Classes that depend on a colour and a shape together, some wrong; every tenth row has no label."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=COLOUR + SHAPE)
    score = frame["colour_0"] * frame["shape_0"] + 0.4 * rng.normal(size=n)
    names = np.array(["dull", "bright", "odd"])[:classes]
    frame["class"] = names[pd.qcut(score, classes, labels=False)]
    frame.loc[::10, "class"] = None
    return Dataset("small", frame, "class", views={"colour": tuple(COLOUR), "shape": tuple(SHAPE)})


def small_structure() -> SPN:
    """Two products of sums over views, beside two that share a kernel with them; on one path it is met twice."""
    near = Kernel("rbf", gamma=0.5, features=COLOUR, id="near", label="near colours")
    far = Kernel("rbf", gamma=0.1, features=COLOUR, id="far")
    form, flat = Kernel("rbf", gamma=0.3, features=SHAPE, id="form"), Kernel("linear", features=SHAPE, id="flat")
    everything = Kernel("rbf", gamma="median", id="everything")
    return SPN(
        Sum(
            Product(
                Sum(Product(near, id="p1"), Product(far, id="p2")),
                Sum(Product(form, id="p3"), Product(flat, id="p4")),
                id="joint",
            ),
            Product(everything, id="p6"),
            Product(near, Sum(Product(near, id="p8"), Product(flat, id="p9"), id="choice", label="a choice"), id="p7"),
        )
    )


@dataclass(frozen=True, eq=False)
class Trained:
    dataset: Dataset
    prepared: Prepared
    run: Run

    @cached_property
    def g(self) -> Array:
        beta = self.run.solution.beta
        return np.array([np.prod([beta[v] ** float(e) for v, e in m.exponents.items()]) for m in self.paths])

    @cached_property
    def paths(self) -> list:
        return list(self.run.spn.paths())

    @cached_property
    def A(self) -> Array:
        """(classes, n) α∘y, by hand."""
        solution, y = self.run.solution, self.prepared.y_train
        positive = solution.classes[1:] if len(solution.classes) == 2 else solution.classes
        return np.atleast_2d(solution.alpha) * np.where(y == positive[:, None], 1.0, -1.0)

    def path_kernels(self, part: str = "train") -> list[Array]:
        K = self.prepared.kernels if part == "train" else self.prepared.cross_test
        return [np.prod([K[leaf] for leaf in m.leaves], axis=0) for m in self.paths]

    def learned(self, part: str = "train") -> Array:
        return sum(g * K for g, K in zip(self.g, self.path_kernels(part), strict=True))

    @cached_property
    def carried(self) -> Array:
        """(paths,) the held-out share of each: the mean of y·f_m over the test rows, f_m less its training mean."""
        classes, y = self.run.solution.classes, self.prepared.y_test
        signs = np.where(y == (classes[1:] if len(classes) == 2 else classes)[:, None], 1.0, -1.0)
        both = zip(self.g, self.path_kernels("test"), self.path_kernels(), strict=True)
        parts = [g * (K @ self.A.T - (K_train @ self.A.T).mean(axis=0)) for g, K, K_train in both]
        means = np.array([np.sum(part * signs.T) for part in parts])
        return means / means.sum()

    def nodes(self, m: int) -> set[str]:
        path = self.paths[m]
        return {*path.leaves, *(v for layer in path.layers for v in layer)}

    def through(self, values: Array, nodes: set[str]) -> float:
        return float(sum(value for m, value in enumerate(values) if self.nodes(m) & nodes))


@cache
def trained(classes: int = 2, C: float = 3.0, n: int = 90) -> Trained:
    dataset = small_dataset(classes, n)
    prepared = prepare(small_structure(), dataset, Choices(), SplitSettings(test_share=0.3, seed=1))
    return Trained(dataset, prepared, train(prepared, Settings(C=C), n_threads=1))


def without_scores(run: Run) -> Run:
    """As after a Stop, where scores would have taken long."""
    test, train = (unscored(scores.y, scores.classes) for scores in (run.test_scores, run.train_scores))
    return replace(run, test_scores=test, train_scores=train)
