"""A guided experiment: labels drawn from a known structure, learned by it and by a flat sum of the same kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from spnmkl.baselines.labels import named_kernel
from spnmkl.data import SAMPLES, Choices, Dataset, Split, SplitSettings
from spnmkl.selection.folds import fold_splits
from spnmkl.structure import SPN, templates
from spnmkl.study.contest import LEVEL, Contest, Entry, Plan, Portrait, fold_entries, portraits
from spnmkl.study.contest_words import score_text
from spnmkl.study.entrants import Entrants, drawings
from spnmkl.study.fold_training import Tick
from spnmkl.training.prepared import prepare

SAMPLE = "known"
TRUE, FLAT, BRANCHES = "true structure", "flat sum", "four branches"
RIVALS = (TRUE, FLAT)
SIZES = (40, 80, 160, 320)  # rows to learn from
PLAN = Plan(folds=5, points=6)
TOTAL = len(SIZES) * (PLAN.folds * len(RIVALS) + 1) + 3


@dataclass(frozen=True, eq=False)
class Lesson:
    """What came out so far."""

    results: tuple[Entry | Portrait, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.results) >= TOTAL

    @cached_property
    def portraits(self) -> dict[str, Portrait]:
        return {r.method: r for r in self.results if isinstance(r, Portrait)}

    def at(self, size: int) -> Contest:
        """The comparison with so many rows to learn from."""
        entries = tuple(r for r in self.results if isinstance(r, Entry) and r.n_train == size)
        return Contest(PLAN, RIVALS, entries, PLAN.folds * len(RIVALS), SAMPLE, size, reference=TRUE)

    @cached_property
    def curve(self) -> pd.DataFrame:
        """rows, method, mean, error: for every number of rows that both are done with on all folds."""
        parts = [self.at(size).summary().assign(rows=size) for size in SIZES if self.at(size).complete]
        columns = ["rows", "method", "mean", "error", "folds", "adjusted", "verdict"]
        return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)

    @property
    def latest(self) -> tuple[int, dict[str, list[float]]]:
        """The number of rows that was learned from last, and each rival's accuracies on the folds done with it."""
        entries = [r for r in self.results if isinstance(r, Entry)]
        size = entries[-1].n_train if entries else SIZES[0]
        return size, {name: [e.accuracy for e in entries if e.method == name and e.n_train == size] for name in RIVALS}


def lesson_data() -> Dataset:
    return SAMPLES[SAMPLE].make()


def lesson_drawing() -> SPN:
    """Four branches, of which one made the labels."""
    drawing = SAMPLES[SAMPLE].drawing
    assert drawing is not None
    return drawing


def lesson_entrants() -> Entrants:
    """The structure that made the labels, a flat sum of its kernels, and the structure among three other branches."""
    truth, question = SAMPLES[SAMPLE].truth, lesson_drawing()
    assert truth is not None
    names = {question.spec(leaf): question.label(leaf) for leaf in question.kernels}
    stored = truth.to_dict()
    for node in stored["nodes"]:  # one name for one kernel in all three pictures, and weights by number
        if node["kind"] == "kernel":
            node["label"] = names[truth.spec(node["id"])]
        else:
            node.pop("label", None)
    true = SPN.from_dict(stored)
    leaves = [named_kernel(true.spec(v), true.label(v)) for v in true.kernels]
    return drawings({TRUE: true, FLAT: templates.flat(leaves), BRANCHES: question})


def lesson(tick: Tick | None = None, stop: Callable[[], bool] | None = None) -> Iterator[Entry | Portrait]:
    """Both rivals on the same folds with more and more rows, each time with the four branches on as many rows, so that
    their weights can be watched; then all three drawings on all rows."""
    say = tick or (lambda words: None)
    who, dataset, choices, split = lesson_entrants(), lesson_data(), Choices(numeric="as is"), SplitSettings()
    rivals, watched = {name: who.over_kernels[name] for name in RIVALS}, {BRANCHES: who.over_kernels[BRANCHES]}
    folds = list(fold_splits(dataset.y, PLAN.folds, None, 0))
    for size in SIZES:
        for fold, (train, test) in enumerate(folds):
            learned = np.random.default_rng(fold).permutation(train)[:size]
            prepared = prepare(who.pool, dataset, choices, split, say, Split(np.sort(learned), test), math.inf)
            where = f"{size} rows, fold {fold + 1} of {PLAN.folds}"
            yield from fold_entries(rivals, prepared, PLAN, (0, fold), where, say, stop)
            if fold == 0:
                yield from portraits(watched, prepared, PLAN, who.drawn, say, stop, f"{size} rows")
    everything = prepare(
        who.pool, dataset, choices, split, say, Split(np.arange(len(dataset.frame)), folds[0][1]), math.inf
    )
    yield from portraits(who.over_kernels, everything, PLAN, who.drawn, say, stop)


def accuracy_finding(lesson: Lesson) -> str:
    """How the rivals compare with as many rows as there are results for."""
    size = int(lesson.curve["rows"].max())
    table = lesson.at(size).summary().set_index("method")
    true, flat = (score_text(table.loc[name], "accuracy") for name in RIVALS)
    p, verdict = table.loc[FLAT, "adjusted"], table.loc[FLAT, "verdict"]
    sure = {
        "worse": f"That is more than chance (p-value {p:.2g}).",
        "better": f"Here the flat sum wins, by more than chance (p-value {p:.2g}).",
        "no difference shown": f"So few rows and folds do not exclude chance (p-value {p:.2g}, above {LEVEL}).",
    }
    return (
        f"With {size} rows to learn from, the true structure answers {true} of the other rows rightly, the flat sum of "
        f"the same four kernels {flat}. {sure.get(verdict, '')}"
    ).strip()


def weights_finding(portrait: Portrait) -> str:
    """Which of the branches carries the decision on the rows that it was learned from."""
    spn = portrait.spn
    branches = spn.children(spn.root)
    shares = {spn.label(v): portrait.shares.get(v, 0.0) for v in branches}
    pruned = [spn.label(v) for v in branches if not portrait.beta[v] > 0]
    if len(pruned) == len(branches):
        return f"From {portrait.rows} rows nothing is learned: every branch is pruned."
    first, *others = sorted((label for label in shares if label not in pruned), key=lambda label: -shares[label])
    said = f"The branch “{first}” has the largest share on training rows, {100 * shares[first]:.0f} %"
    said += "".join(f", “{label}” {100 * shares[label]:.0f} %" for label in others) + "."
    if pruned:
        said += f" Pruned, with a weight of exactly zero: {' and '.join(f'“{label}”' for label in pruned)}."
    return said
