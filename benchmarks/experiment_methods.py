"""Methods of `spnmkl.baselines` compared on the same splits and the same base kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from experiment_data import Choice, Data, Floats, Split, named_sets, split_of
from experiment_known import KNOWN
from experiment_store import Key, Task, key_of
from numpy.typing import NDArray
from peer_methods import Asked, mklpy
from sklearn.metrics import roc_auc_score

from spnmkl.baselines import Fitted, Learned, Method, baselines, compute_kernels
from spnmkl.inspection import decision_shares
from spnmkl.kernels import cross_kernels


@dataclass(frozen=True)
class Cell:
    """One method on one split; `share` and `heaviest` are the true branches', where the structure asks for them."""

    section: str
    set: str
    split: int
    method: str
    n: int
    n_test: int
    classes: int
    kernels: int
    active: int
    accuracy: float
    auc: float
    validation: float
    C: float
    at_end: bool
    seconds: float
    gap: float
    share: float = float("nan")
    heaviest: float = float("nan")


KEY = 4


@dataclass(frozen=True)
class Job:
    """The methods on one split, which is made when its turn comes; of `question`, the first branches are true."""

    section: str
    set: str
    split: int
    data: Callable[[], Split]
    methods: dict[str, Method]
    question: str | None = None
    n_true: int = 1

    def task(self, choice: Choice) -> Task:
        keys = {key_of(self.section, self.set, self.split, name): method for name, method in self.methods.items()}

        def compute(asked: Sequence[Key]) -> Iterator[list[Cell]]:
            for cell in cells(self, [keys[key] for key in asked], choice):
                yield [cell]

        return Task(tuple(keys), compute)


def cells(job: Job, methods: Sequence[Method], choice: Choice) -> Iterator[Cell]:
    """Some methods of a job, on kernels computed once."""
    split = job.data()
    matrices, fitted = compute_kernels(methods, split.X, split.names)
    across = cross_kernels(fitted, split.X_test)
    folds = possible_folds(choice, split.y)
    for method in methods:
        started = time.perf_counter()
        found = method.fit(matrices, split.y, points=choice.points, folds=folds, tol=choice.tol, n_threads=1)
        seconds = time.perf_counter() - started
        asked = method.name == job.question
        share, heaviest = true_branches(found, matrices, job.n_true) if asked else (np.nan, np.nan)
        yield Cell(
            job.section,
            job.set,
            job.split,
            method.name,
            len(split.y),
            len(split.y_test),
            len(found.classes),
            len(method.labels),
            len(found.model.active),
            float((found.predict(across) == split.y_test).mean()),
            auc(split.y_test, found.decision_function(across), found.classes),
            found.validation,
            found.C,
            found.at_end,
            seconds,
            found.gap,
            share,
            heaviest,
        )


def possible_folds(choice: Choice, y: NDArray) -> int:
    """No more than the rarest class has rows."""
    return min(choice.folds, int(np.unique(y, return_counts=True)[1].min()))


def auc(y: NDArray, decision: Floats, classes: NDArray) -> float:
    """Area under the ROC curve; the mean of those of each class against the rest where there are more than two."""
    if decision.ndim == 1:
        return float(roc_auc_score(y == classes[1], decision))
    return float(np.mean([roc_auc_score(y == c, column) for c, column in zip(classes, decision.T, strict=True)]))


def true_branches(found: Fitted, matrices: Mapping[str, Floats], n_true: int) -> tuple[float, float]:
    """The share of the decision that the first branches carry, and whether no other carries more than any of them."""
    assert isinstance(found.model, Learned)
    solution, spn = found.model.solution, found.spn
    shares = decision_shares(solution, {leaf: matrices[spn.label(leaf)] for leaf in spn.kernels}).products
    of_branches = [shares.get(v, 0.0) for v in spn.children(spn.root)]
    return sum(of_branches[:n_true]), float(min(of_branches[:n_true]) >= max(of_branches[n_true:]))


def accuracy_methods(data: Data) -> dict[str, Method]:
    methods = baselines(data.groups, data.X.shape[1])
    if find_spec("MKLpy") is not None and len(np.unique(data.y)) == 2:
        methods["EasyMKL (MKLpy)"] = Method("EasyMKL (MKLpy)", methods["average kernel"].candidates, easy_mkl)
    return methods


def easy_mkl(kernels: Sequence[Floats], y: NDArray) -> Floats:
    """The weights, which do not depend on C; the machine on their sum is ours."""
    return mklpy(kernels, np.where(y == np.unique(y)[-1], 1.0, -1.0), 1.0, Asked(1e-3), "EasyMKL")


@dataclass(frozen=True)
class Accuracy:
    choice: Choice
    splits: int
    sets: tuple[str, ...] | None = None  # None: all there are

    def tasks(self, folder: Path | None) -> Iterator[Task]:
        for name, load in named_sets(folder, self.sets).items():
            data = load()
            methods = accuracy_methods(data)
            for k in range(self.splits):
                job = Job("accuracy", name, k, partial(split_of, data, k, self.choice), methods)
                yield job.task(self.choice)


@dataclass(frozen=True)
class Structures:
    """Known structures; one that has more to learn is given more rows (`Known.scale`)."""

    choice: Choice
    seeds: int
    sizes: tuple[int, ...]

    def jobs(self, section: str) -> Iterator[Job]:
        known = KNOWN[section]
        methods = known.methods()
        for n in (known.scale * size for size in self.sizes):
            for seed in range(self.seeds):
                data = partial(known.split, seed, n)
                yield Job(section, f"{n} rows", seed, data, methods, known.question, known.n_true)

    def tasks(self, section: str) -> Iterator[Task]:
        return (job.task(self.choice) for job in self.jobs(section))


def warm_up() -> None:
    """Compiles, or reads what is compiled."""
    job = next(Structures(Choice(2, 2, 1e-2, 40), 1, (40,)).jobs("recovery"))
    list(cells(job, list(job.methods.values()), Choice(folds=2, points=2, tol=1e-2, most_rows=40)))
