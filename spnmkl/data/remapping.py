"""A drawing that was made for other data: which columns it lacks, and the same drawing over columns that there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from spnmkl.data.dataset import Dataset
from spnmkl.structure import SPN
from spnmkl.wording import counted

ALIKE = "the columns with the most similar names"
_MOST_COMPARED = 200_000  # pairs of names; of more only those that differ in signs and capitals are found


@dataclass(frozen=True)
class Lacking:
    """Columns that kernels of a drawing see together, some of which the data do not have."""

    name: str
    columns: tuple[str, ...]
    leaves: tuple[str, ...]


def lacking(spn: SPN, columns: Collection[str]) -> list[Lacking]:
    """What a drawing sees and the data lack: each group of columns once, whatever kernels are over it."""
    known, seen = set(columns), dict[tuple[str, ...], list[str]]()
    for leaf in spn.kernels:
        features = spn.spec(leaf).features or ()
        names = tuple(name for name in features if isinstance(name, str))
        if len(names) == len(features) and not known.issuperset(names):
            seen.setdefault(names, []).append(leaf)
    return [Lacking(_name(spn, names, leaves), names, tuple(leaves)) for names, leaves in seen.items()]


def _name(spn: SPN, columns: tuple[str, ...], leaves: Sequence[str]) -> str:
    """The column where it is one, else the shortest label of its kernels, which is the view as a rule."""
    if len(columns) == 1:
        return columns[0]
    labels = sorted((spn.label(leaf) for leaf in leaves if spn.label(leaf) != leaf), key=len)
    return labels[0] if labels else counted(len(columns), "column")


def choices(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """What can be taken instead: the views and the columns of the data, by the words for them."""
    views = {f"view {view}: {counted(len(c), 'column')}": c for view, c in dataset.feature_views.items()}
    return views | {column: (column,) for column in dataset.features}


def guessed(parts: Sequence[Lacking], dataset: Dataset) -> list[str | None]:
    """For each what to take instead, by its name: a column, the columns of like names, a view, or nothing."""
    near = similar({c for part in parts for c in part.columns}, dataset.features)
    views = dict(zip(dataset.feature_views, choices(dataset), strict=False))  # the views stand first
    found: list[str | None] = []
    for part in parts:
        view = similar([part.name], list(views)).get(part.name)
        if len(part.columns) == 1:
            found.append(near.get(part.name))
        elif len({near[column] for column in part.columns if column in near}) == len(part.columns):
            found.append(ALIKE)
        else:
            found.append(None if view is None else views[view])
    return found


def similar(names: Collection[str], known: Sequence[str]) -> dict[str, str]:
    """To every name itself where it is known, else the one most similar of those that are known, where one is."""
    bare = Counter(map(_bare, known))
    exact = {_bare(name): name for name in known if bare[_bare(name)] == 1}  # of several, none is the one meant
    same = set(known).intersection(names)
    found = {name: name for name in same} | {
        name: exact[_bare(name)] for name in names if name not in same and _bare(name) in exact
    }
    if len(names) * len(known) <= _MOST_COMPARED:
        for name in (name for name in names if name not in found and _bare(name) not in bare):
            if close := get_close_matches(_bare(name), list(exact), n=1):
                found[name] = exact[close[0]]
    return found


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.lower()).strip() or name


def remapped(spn: SPN, parts: Sequence[Lacking], taken: Sequence[str | None], dataset: Dataset) -> SPN:
    """The drawing over what was chosen for each part; labels follow where they begin with the old name."""
    offered = choices(dataset)
    near = similar({c for part in parts for c in part.columns}, dataset.features)
    described = spn.to_dict()
    nodes = {node["id"]: node for node in described["nodes"]}
    for part, choice in zip(parts, taken, strict=True):
        for leaf in part.leaves:
            columns = _columns(part, choice, offered, near)
            if columns:
                nodes[leaf]["features"] = list(columns)
                _relabel(nodes[leaf], part, choice, columns, dataset)
    return SPN.from_dict(described)


def _columns(
    part: Lacking, choice: str | None, offered: Mapping[str, tuple[str, ...]], near: Mapping[str, str]
) -> tuple[str, ...]:
    if choice == ALIKE:
        return tuple(dict.fromkeys(near[column] for column in part.columns if column in near))
    return offered.get(choice or "", ())


def _relabel(
    node: dict[str, object], part: Lacking, choice: str | None, columns: tuple[str, ...], dataset: Dataset
) -> None:
    label = str(node.get("label", ""))
    names = [columns[0]] if len(columns) == 1 else [v for v, c in dataset.feature_views.items() if c == columns]
    if names and label.startswith(part.name) and (choice != ALIKE or len(part.columns) == 1):
        node["label"] = names[0] + label.removeprefix(part.name)
