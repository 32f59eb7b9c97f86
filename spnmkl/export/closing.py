"""Which groups of a drawing to close, so that its text can be read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from math import inf

from spnmkl.export.scene import extent
from spnmkl.structure import SPN
from spnmkl.structure.groups import Group, find_groups
from spnmkl.structure.layout import unplaced

_PATIENCE = 4  # groups that do not fit in, after which no other is tried
_MOST_AT_ONCE = 400  # nodes that are worth asking whether all of them fit


def fitting(spn: SPN, width: float, height: float, text_px: float = 11, opened: Iterable[str] = ()) -> frozenset[str]:
    """Which groups to close, so that the text of a drawing that is fitted into so many pixels can be read.

    Parameters
    ----------
    spn : SPN
        Any drawing; it is arranged anew with the answer.
    width, height : float
        What there is.
    text_px : float, default=11
        The least height of a text.
    opened : iterable of str, default=()
        Groups to keep open, with those that hold them.

    Returns
    -------
    frozenset of str
        Ids of groups; all that can be closed where even that is not enough.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import fitting, scene
    >>> views = {f"view {j}": [f"column {j}, {k}" for k in range(16)] for j in range(4)}
    >>> spn = templates.grouped(views)
    >>> closed = fitting(spn, 1000, 600)
    >>> [group.text for group in scene(spn, closed=closed).groups.values() if group.closed]
    ['16 × rbf · view 1', '16 × rbf · view 2', '16 × rbf · view 3']
    """
    bare = unplaced(spn)

    def fits(closed: frozenset[str]) -> bool:
        return extent(bare, closed).text_px(width, height) >= text_px

    groups = find_groups(spn)
    wanted = {entry for group in groups if group.id in set(opened) for entry in group.entries}
    kept = {group.id for group in groups if wanted.intersection(group.members) or wanted.intersection(group.entries)}
    closed = frozenset(group.id for group in groups) - kept
    if not closed or (len(spn.nodes) <= _MOST_AT_ONCE and fits(frozenset())):
        return frozenset()
    if not fits(closed):
        return closed
    return _opened_while(fits, closed, [group for group in groups if group.id in closed])


def making_room(
    spn: SPN, closed: frozenset[str], opened: str, width: float, height: float, text_px: float = 11
) -> frozenset[str]:
    """These groups without one that is opened; where the text would be too small then, with others that are closed."""
    wished = closed - {opened}
    if extent(unplaced(spn), wished).text_px(width, height) >= text_px:
        return wished
    fitted = fitting(spn, width, height, text_px, [opened])
    return wished | fitted


def _opened_while(
    fits: Callable[[frozenset[str]], bool], closed: frozenset[str], groups: list[Group]
) -> frozenset[str]:
    """What stays closed when one group after the other is opened as long as all fits.

    The more is open, the larger the drawing: how many of the first can be opened is found by doubling and bisection.
    After the first that cannot, no larger one is tried.
    """

    def too_many(k: int) -> bool:
        return k > len(groups) or not fits(closed - {group.id for group in groups[:k]})

    top = 1
    while not too_many(top):
        top *= 2
    first = bisect_left(range(top), 1, lo=top // 2 + 1, key=too_many) - 1
    closed -= {group.id for group in groups[:first]}
    least, failed = inf, 0
    for group in groups[first:]:
        if len(group.members) <= least and failed < _PATIENCE:
            wider = closed - {group.id}
            if fits(wider):
                closed = wider
            else:
                least, failed = len(group.members), failed + 1
    return closed
