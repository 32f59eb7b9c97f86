"""A search in a loaded table: the kernels that suit its columns, and the rows that its scores are of."""

from __future__ import annotations

from spnmkl.data import Choices, Dataset, Preparation, SplitSettings
from spnmkl.errors import DataError
from spnmkl.search.entry import Callback, Settings, searched
from spnmkl.search.leaves import ALL, MOST_COLUMNS, MOST_LEAVES, WIDE, Leaves
from spnmkl.search.result import Suggestions
from spnmkl.search.rows import TableRows, held_out
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import Kernel
from spnmkl.structure.templates import RBF
from spnmkl.training.prepared import labelled_parts

LINEAR, EQUAL = Kernel("linear"), Kernel("hamming")
OTHERS = "others"


def suggest_in(
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    deadline: Deadline,
    callback: Callback = None,
    *,
    share: float = 0.25,
) -> Suggestions:
    """Search in the training rows and score on the test rows; without a split, on a share of the rows kept away.

    Test rows are never trained on, whereas rows kept away are, fold by fold (`scores.scored`).
    """
    leaves = table_leaves(dataset, choices, split)
    rows = TableRows(dataset, choices, split, leaves.flat)
    if len(rows.test):
        return searched(rows, leaves, rows.train, rows.test, settings, deadline, callback)
    seen, kept = held_out(rows, rows.train, share, settings.random_state)
    return searched(rows, leaves, seen, kept, settings, deadline, callback, learn=True)


def table_leaves(dataset: Dataset, choices: Choices, split: SplitSettings) -> Leaves:
    """A kernel per column where these are few, else per view: rbf and linear for numbers, Hamming for text.

    Every given matrix is a view by itself.
    """
    preparation = Preparation.of(dataset, choices, labelled_parts(dataset, split)[0].train)
    numbers, text = list(preparation.numeric), list(preparation.text)
    views = _views(dataset, [*numbers, *text])
    kernels: list[Kernel] = []
    placed: dict[str, tuple[int, ...]] = {}
    for view, columns in views.items():
        own = _of_view(
            view, [c for c in columns if c in numbers], [c for c in columns if c in text], len(numbers + text)
        )
        if len(views) == 1 and len(numbers + text) > MOST_COLUMNS and numbers:
            wide = [one.on(numbers, f"{view} {_title(one)}") for one in WIDE]
            own = [*wide, *(kernel for kernel in own if kernel.spec.kernel == "hamming")]
        placed[view] = tuple(range(len(kernels), len(kernels) + len(own)))
        kernels += own
    for name in dataset.matrices:
        placed[name] = (len(kernels),)
        kernels.append(Kernel("precomputed", label=name))
    if not kernels:
        raise DataError("There is no column to search with; keep at least one.")
    if len(kernels) > MOST_LEAVES:
        raise DataError(
            f"A search builds with at most {MOST_LEAVES} kernels, but these data would give {len(kernels)}; put "
            "columns together in fewer views."
        )
    return Leaves(tuple(kernels), placed)


def _views(dataset: Dataset, columns: list[str]) -> dict[str, list[str]]:
    used = set(columns)
    views = {view: [c for c in own if c in used] for view, own in dataset.feature_views.items()}
    views = {view: own for view, own in views.items() if own}
    rest = used.difference(*views.values())
    others = [c for c in columns if c in rest]
    if not views:
        return {ALL: others} if others else {}
    name = OTHERS
    while name in views:
        name = f"all {name}"
    return {**views, **({name: others} if others else {})}


def _of_view(view: str, numbers: list[str], text: list[str], columns: int) -> list[Kernel]:
    if columns <= MOST_COLUMNS:
        return [*(RBF.on([c], c) for c in numbers), *(EQUAL.on([c], c) for c in text)]
    found = [RBF.on(numbers, view), LINEAR.on(numbers, f"{view} linear")] if numbers else []
    return [*found, *([EQUAL.on(text, f"{view} text" if numbers else view)] if text else [])]


def _title(kernel: Kernel) -> str:
    width = dict(kernel.spec.params).get("gamma")
    return kernel.spec.kernel if width in (None, "median") else f"{kernel.spec.kernel} {width}"
