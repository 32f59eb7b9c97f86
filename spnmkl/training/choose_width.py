"""One of several widths of a kernel, chosen by cross-validation where certified weights cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import StructureError
from spnmkl.kernels.matrices import spread_rows
from spnmkl.selection import PathPoint
from spnmkl.structure import SPN
from spnmkl.structure.removal import without
from spnmkl.training.choose import choose_C
from spnmkl.training.prepared import Rows, labelled_parts, prepare
from spnmkl.training.settings import Settings

MOST_ROWS = 1000
GRID = tuple(10.0**k for k in range(-1, 4))  # of C, each width has its own best
_ROUGH = 1e-2  # tolerance of trainings that are compared on held-out rows alone

Progress = Callable[[int, int, str], object]  # done, of how many, what is done


@dataclass(frozen=True)
class WidthChoice:
    """How accurate a drawing is on held-out folds with each of several widths alone.

    Attributes
    ----------
    accuracy, error : mapping from leaf to float
        At the best C of the leaf, and the standard error of that over the folds.
    n_rows : int
        The training rows that the folds were made of.
    """

    accuracy: Mapping[str, float]
    error: Mapping[str, float]
    n_rows: int

    @property
    def best(self) -> str:
        """Of those within one standard error of the most accurate the one that was named first, the widest."""
        most = max(self.accuracy, key=self.accuracy.__getitem__)
        least = self.accuracy[most] - self.error[most]
        return next(leaf for leaf, accuracy in self.accuracy.items() if accuracy >= least)


def choose_width(
    spn: SPN,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    leaves: Sequence[str],
    settings: Settings | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> WidthChoice | None:
    """Train the drawing with each of some leaves alone, on folds of the training rows; None where it was stopped.

    At most 1,000 of the training rows take part, of every class its share. The test rows stay unseen.

    Parameters
    ----------
    spn : SPN
    dataset : Dataset
    choices : Choices
    split : SplitSettings
    leaves : sequence of str
        Of one kernel in several widths, the widest first, as `KernelIssue.widths` has them.
    settings : Settings, optional
        Of a training; C is chosen.
    progress : callable, optional
        Called with how many trainings are done, of how many, and the leaf.
    stop : callable, optional
        Asked again and again; True ends it.
    """
    settings = replace(settings or Settings(), tol=_ROUGH)
    say, stopped = progress or (lambda done, total, words: None), stop or (lambda: False)
    parts, y = labelled_parts(dataset, split)
    rows = Split(_share_of_each(parts.train, y), parts.train[:0])
    accuracy, error = {}, {}
    for k, leaf in enumerate(leaves):
        alone, words = only(spn, leaves, leaf), spn.label(leaf)
        say(k, len(leaves), words)
        if stopped():
            return None
        prepared = prepare(alone, dataset, choices, split, rows=rows)

        def following(point: PathPoint, k: int = k, words: str = words) -> bool:
            say(k * point.total + point.done, len(leaves) * point.total, words)
            return not stopped()

        found = choose_C(prepared, _fitting(settings, alone), callback=following, C=GRID, stop=stopped)
        if stopped() or not np.isfinite(found.scores).all():
            return None
        best = int(np.argmax(found.mean))
        accuracy[leaf] = float(found.mean[best])
        error[leaf] = float(found.scores[best].std(ddof=1) / np.sqrt(found.scores.shape[1]))
    return WidthChoice(accuracy, error, len(rows.train))


def only(spn: SPN, leaves: Sequence[str], kept: str) -> SPN:
    """The drawing with one of several leaves; the others are taken away."""
    for leaf in leaves:
        if leaf != kept:
            left = without(spn, leaf)
            if left is None:
                raise StructureError(f"Nothing would be left of the drawing without {spn.label(leaf)!r}.")
            spn = left
    return spn


def _fitting(settings: Settings, spn: SPN) -> Settings:
    """Without exponents of products that are gone."""
    if not isinstance(settings.p, Mapping):
        return settings
    return replace(settings, p={v: p for v, p in settings.p.items() if v in spn.products})


def _share_of_each(rows: Rows, y: NDArray) -> Rows:
    """At most `MOST_ROWS`, of every class its share and at least two, in their order."""
    share = min(1.0, MOST_ROWS / len(rows))
    of_class = [rows[y[rows] == name] for name in np.unique(y[rows])]
    return np.sort(np.concatenate([own[spread_rows(len(own), max(2, round(share * len(own))))] for own in of_class]))
