"""What is wrong with a drawing, in plain words, and the repairs that have only one sensible form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spnmkl.structure.nodes import PREFIX, Children, FreshIds, Node, Nodes, name_list

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
    """Every error and warning, the most fundamental first."""
    if not spn.nodes:
        return [_error("empty", (), "The structure is empty; draw at least one product over one kernel.")]
    checks = (_size, _cycle, _roots, _unreachable, _childless, _kernel_children, _sum_children, _p, _features)
    issues = [issue for check in checks for issue in check(spn)]
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
        f"The nodes {name_list([*cycle, cycle[0]], ' → ')} form a cycle; remove one of its edges."
        if len(cycle) > 1
        else f"The node {cycle[0]!r} is its own child; remove that edge.",
    )


def _roots(spn: SPN) -> Iterator[Issue]:
    roots = spn.roots
    if not roots:
        yield _error("no_root", (), "The structure has no root: every node has a parent; one must have none.")
    elif len(roots) > 1:
        yield _error(
            "several_roots",
            roots,
            f"The structure has {len(roots):,} roots, {name_list(roots)}; only one node may have no parent.",
            _joining(spn),
        )
    elif spn.kind(roots[0]) == "kernel":
        yield _error(
            "root_is_kernel",
            roots,
            f"The root {roots[0]!r} is a kernel; the root must be a sum or a product.",
            f"put a product above {roots[0]!r}",
        )


def _joining(spn: SPN) -> str | None:
    """How several roots become one; an empty sum or product is left to the user, who is not done drawing."""
    if any(spn.kind(root) != "kernel" and not spn.children(root) for root in spn.roots):
        return None
    top = _top_sum(spn)
    if top is None:
        return f"put a sum above {name_list(spn.roots)}"
    return f"put {name_list(root for root in spn.roots if root != top)} below the sum {top!r}"


def _top_sum(spn: SPN) -> str | None:
    sums = [root for root in spn.roots if spn.kind(root) == "sum"]
    return sums[0] if len(sums) == 1 else None


def _unreachable(spn: SPN) -> Iterator[Issue]:
    if not spn.roots:
        return
    reached = set(spn.roots)
    stack = list(spn.roots)
    while stack:
        new = [child for child in spn.children(stack.pop()) if child not in reached]
        reached.update(new)
        stack.extend(new)
    lost = [i for i in spn.nodes if i not in reached]
    if lost:
        yield _error(
            "unreachable",
            lost,
            f"No root leads to {name_list(lost)}; connect them to the rest or remove them.",
        )


def _childless(spn: SPN) -> Iterator[Issue]:
    for i in spn.nodes:
        if spn.kind(i) != "kernel" and not spn.children(i):
            needs = "a product" if spn.kind(i) == "sum" else "a kernel, sum or product"
            yield _error("no_child", [i], f"The {spn.kind(i)} {i!r} has no child; put {needs} below it.")


def _kernel_children(spn: SPN) -> Iterator[Issue]:
    for i in spn.kernels:
        if spn.children(i):
            message = f"The kernel {i!r} has children, {name_list(spn.children(i))}; a kernel must be a leaf."
            yield _error("kernel_with_children", [i], message)


def _sum_children(spn: SPN) -> Iterator[Issue]:
    for i in spn.sums:
        for child in spn.children(i):
            if spn.kind(child) != "product":
                yield _error(
                    "sum_child",
                    [i, child],
                    f"The {spn.kind(child)} {child!r} stands directly below the sum {i!r};"
                    " every child of a sum must be a product.",
                    f"put a product between {i!r} and {child!r}",
                )


def _p(spn: SPN) -> Iterator[Issue]:
    for i in spn.products:
        if not (math.isfinite(spn.p(i)) and spn.p(i) > 0):
            message = f"The p of product {i!r} must be a finite number above 0; found {spn.p(i):g}."
            yield _error("bad_p", [i], message)


def _features(spn: SPN) -> Iterator[Issue]:
    for i in spn.kernels:
        if spn.spec(i).features == ():
            message = f"The kernel {i!r} sees no column; list at least one, or leave the list out to use all."
            yield _error("no_features", [i], message)


def _single(spn: SPN) -> Iterator[Issue]:
    for i in spn.sums:
        if len(spn.children(i)) == 1:
            message = f"The sum {i!r} has a single child, so there is nothing to weigh against it."
            yield Issue("single_child_sum", "warning", (i,), message)


def _chained(spn: SPN) -> Iterator[Issue]:
    for i in spn.products:
        below = spn.children(i)
        if len(below) == 1 and spn.kind(below[0]) == "product":
            message = f"The product {i!r} stands over the product {below[0]!r} alone; one of them would do."
            yield Issue("chained_products", "warning", (i, below[0]), message)


def _twins(spn: SPN) -> Iterator[Issue]:
    """Products over equal kernels below one sum: only their joint weight matters to the kernel learned."""
    for i in spn.sums:
        first: dict[frozenset[tuple[object, int]], str] = {}
        for child in spn.children(i):
            content = _computed(spn, child)
            if content is not None and first.setdefault(content, child) != child:
                twins = first[content], child
                message = f"The products {name_list(twins, ' and ')} below the sum {i!r} multiply equal kernels."
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


def repair(spn: SPN) -> tuple[Nodes, Children]:
    """Apply every repair that `find_issues` offers; what has none is left as it is."""
    nodes, children = dict(spn._nodes), dict(spn._children)
    fresh = FreshIds(nodes)
    repairs = {issue.code for issue in spn.validate() if issue.repair}
    for parent in spn.sums:
        insert_products(nodes, children, parent, fresh)
    if "root_is_kernel" in repairs:
        _add(nodes, children, fresh, Node("product"), spn.roots)
    if "several_roots" in repairs:
        top = _top_sum(spn) or _add(nodes, children, fresh, Node("sum"), ())
        children[top] += tuple(root for root in spn.roots if root != top)
        insert_products(nodes, children, top, fresh)
    return nodes, children


def insert_products(nodes: Nodes, children: Children, parent: str, fresh: FreshIds) -> None:
    """Put a product between a sum and each child that is not one."""
    children[parent] = tuple(
        child
        if nodes[child].kind == "product"
        else _add(nodes, children, fresh, _halfway(nodes[parent], nodes[child]), (child,))
        for child in children[parent]
    )


def _add(nodes: Nodes, children: Children, fresh: FreshIds, node: Node, below: tuple[str, ...]) -> str:
    new = fresh.next(PREFIX[node.kind])
    nodes[new], children[new] = node, below
    return new


def _halfway(parent: Node, child: Node) -> Node:
    if parent.x is None or parent.y is None or child.x is None or child.y is None:
        return Node("product")
    return Node("product", x=parent.x / 2 + child.x / 2, y=parent.y / 2 + child.y / 2)
