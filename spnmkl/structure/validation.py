"""What is wrong with a drawing, in plain words, and which repairs have only one sensible form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from spnmkl.structure.text import called, name_nodes, short_name

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

MAX_NODES = 20_000


@dataclass(frozen=True)
class Issue:
    """One finding of `SPN.validate`.

    Attributes
    ----------
    code : str
        Stable name of the finding.
    severity : {"error", "warning"}
        A structure with an error cannot be learned.
    nodes : tuple of str
        The nodes concerned.
    message : str
        What is wrong, in a sentence.
    repair : str or None
        What `SPN.repaired` would do about it.

    Examples
    --------
    >>> from spnmkl import SPN, Kernel, Sum
    >>> issue = SPN(Sum(Kernel("rbf"))).validate()[0]
    >>> issue.severity, issue.code
    ('error', 'sum_child')
    """

    code: str
    severity: Literal["error", "warning"]
    nodes: tuple[str, ...]
    message: str
    repair: str | None = None


def _error(code: str, nodes: Iterable[str], message: str, repair: str | None = None) -> Issue:
    return Issue(code, "error", tuple(nodes), message, repair)


def find_issues(spn: SPN) -> list[Issue]:
    """Every error and warning, the most fundamental first. Repairs are offered where they leave a valid drawing."""
    if not spn.nodes:
        return [_error("empty", (), "The structure is empty; draw at least one product over one kernel.")]
    checks = (_size, _cycle, _roots, _unreachable, _childless, _kernel_children, _sum_children, _p, _features)
    issues = [issue for check in checks for issue in check(spn)]
    larger = len(spn.nodes) + len(issues) + len(spn.roots) + 1
    if any(issue.repair is None for issue in issues) or larger > MAX_NODES:
        issues = [replace(issue, repair=None) for issue in issues]
    return issues + [issue for check in (_single, _chained, _twins) for issue in check(spn)]


def _size(spn: SPN) -> Iterator[Issue]:
    if len(spn.nodes) > MAX_NODES:
        message = f"The structure has {len(spn.nodes):,} nodes; at most {MAX_NODES:,} are allowed."
        yield _error("too_many_nodes", (), message)


def _cycle(spn: SPN) -> Iterator[Issue]:
    order = set(spn._sorted)
    left = next((i for i in spn.nodes if i not in order), None)
    if left is None:
        return
    # Every node that the topological order leaves out has a parent that it leaves out too.
    place: dict[str, int] = {}
    walk: list[str] = []
    while left not in place:
        place[left] = len(walk)
        walk.append(left)
        left = next(parent for parent in spn.parents(left) if parent not in order)
    backwards = walk[place[left] :]
    first = backwards.index(next(i for i in spn.nodes if place.get(i, -1) >= place[left]))
    cycle = backwards[first::-1] + backwards[:first:-1]
    yield _error(
        "cycle",
        cycle,
        f"There is a cycle, {name_nodes(spn, [*cycle, cycle[0]], ' → ')}; remove one of its edges."
        if len(cycle) > 1
        else f"{_opening(called(spn, cycle[0]))} is its own child; remove that edge.",
    )


def _roots(spn: SPN) -> Iterator[Issue]:
    roots = spn.roots
    if not roots:
        yield _error("no_root", (), "The structure has no root: every node has a parent; one must have none.")
    elif len(roots) > 1:
        yield _error(
            "several_roots",
            roots,
            f"The structure has {len(roots):,} roots, {name_nodes(spn, roots)}; only one node may have no parent.",
            _joining(spn),
        )
    elif spn.kind(roots[0]) == "kernel":
        yield _error(
            "root_is_kernel",
            roots,
            f"The root is {called(spn, roots[0])}; the root must be a sum or a product.",
            f"put a product above {short_name(spn, roots[0])}",
        )


def _opening(words: str) -> str:
    return words[0].upper() + words[1:]


def _joining(spn: SPN) -> str | None:
    """How several roots become one; what is empty is left to the user, who is not done drawing."""
    if ends := torn(spn):
        return _mending(spn, *ends)
    if _empty(spn):
        return None
    top = top_sum(spn)
    if top is None:
        return f"put a sum above {name_nodes(spn, spn.roots)}"
    return f"put {name_nodes(spn, (root for root in spn.roots if root != top))} below {called(spn, top)}"


def _mending(spn: SPN, empty: str, loose: str) -> str:
    return f"put {short_name(spn, loose)} below {called(spn, empty)}"


def _empty(spn: SPN) -> list[str]:
    return [v for v in spn.nodes if spn.kind(v) != "kernel" and not spn.children(v)]


def torn(spn: SPN) -> tuple[str, str] | None:
    """The one empty sum or product and the one loose part of a drawing, between which an edge was deleted."""
    empty = _empty(spn)
    if len(empty) != 1 or len(spn.roots) != 2 or not spn.parents(empty[0]):
        return None
    loose = [root for root in spn.roots if empty[0] not in _reached(spn, root)]
    return (empty[0], loose[0]) if len(loose) == 1 else None


def _reached(spn: SPN, *starts: str) -> set[str]:
    reached = set(starts)
    stack = list(starts)
    while stack:
        new = [child for child in spn.children(stack.pop()) if child not in reached]
        reached.update(new)
        stack.extend(new)
    return reached


def top_sum(spn: SPN) -> str | None:
    sums = [root for root in spn.roots if spn.kind(root) == "sum"]
    return sums[0] if len(sums) == 1 else None


def _unreachable(spn: SPN) -> Iterator[Issue]:
    if not spn.roots:
        return
    reached = _reached(spn, *spn.roots)
    lost = [i for i in spn.nodes if i not in reached]
    if lost:
        yield _error(
            "unreachable",
            lost,
            f"No root leads to {name_nodes(spn, lost)}; connect them to the rest or remove them.",
        )


def _childless(spn: SPN) -> Iterator[Issue]:
    ends = torn(spn)
    for i in _empty(spn):
        needs = "a product" if spn.kind(i) == "sum" else "a kernel, sum or product"
        message = f"{_opening(called(spn, i))} has no child; put {needs} below it."
        yield _error("no_child", [i], message, _mending(spn, *ends) if ends else None)


def _kernel_children(spn: SPN) -> Iterator[Issue]:
    for i in spn.kernels:
        if below := spn.children(i):
            message = f"{_opening(called(spn, i))} has children, {name_nodes(spn, below)}; a kernel must be a leaf."
            yield _error("kernel_with_children", [i], message)


def _sum_children(spn: SPN) -> Iterator[Issue]:
    for i in spn.sums:
        wrong = [child for child in spn.children(i) if spn.kind(child) != "product"]
        own = called(spn, i) if wrong else ""
        for child in wrong:
            yield _error(
                "sum_child",
                [i, child],
                f"{_opening(called(spn, child))} stands directly below {own}; every child of a sum must be a product.",
                f"put a product between {own} and {short_name(spn, child)}",
            )


def _p(spn: SPN) -> Iterator[Issue]:
    for i in spn.products:
        if not (math.isfinite(spn.p(i)) and spn.p(i) > 0):
            message = f"The p of {called(spn, i)} must be a finite number above 0; found {spn.p(i):g}."
            yield _error("bad_p", [i], message)


def _features(spn: SPN) -> Iterator[Issue]:
    for i in spn.kernels:
        if spn.spec(i).features == ():
            message = f"{_opening(called(spn, i))} sees no column; list at least one, or leave the list out to use all."
            yield _error("no_features", [i], message)


def _single(spn: SPN) -> Iterator[Issue]:
    for i in spn.sums:
        if len(spn.children(i)) == 1:
            message = f"{_opening(called(spn, i))} has a single child, so there is nothing to weigh against it."
            yield Issue("single_child_sum", "warning", (i,), message)


def _chained(spn: SPN) -> Iterator[Issue]:
    for i in spn.products:
        below = spn.children(i)
        if len(below) == 1 and spn.kind(below[0]) == "product":
            message = f"{_opening(called(spn, i))} stands over {called(spn, below[0])} alone; one of them would do."
            yield Issue("chained_products", "warning", (i, below[0]), message)


def _twins(spn: SPN) -> Iterator[Issue]:
    """Products over equal kernels below one sum: only their joint weight matters to the kernel learned."""
    for i in spn.sums:
        first: dict[frozenset[tuple[object, int]], str] = {}
        for child in spn.children(i):
            content = _computed(spn, child)
            if content is not None and first.setdefault(content, child) != child:
                twins = first[content], child
                message = (
                    f"The products {name_nodes(spn, twins, ' and ')} below {called(spn, i)} multiply equal kernels."
                )
                yield Issue("equal_products", "warning", twins, message)


def _computed(spn: SPN, product: str) -> frozenset[tuple[object, int]] | None:
    """The kernels below a product with their number; None when it holds anything else.

    Precomputed leaves say nothing of what is in their matrices and are told apart by their ids.
    """
    counts: dict[object, int] = {}
    for leaf in spn.children(product):
        if spn.kind(leaf) != "kernel":
            return None
        spec = spn.spec(leaf)
        key = leaf if spec.kernel == "precomputed" else spec
        counts[key] = counts.get(key, 0) + 1
    return frozenset(counts.items()) or None
