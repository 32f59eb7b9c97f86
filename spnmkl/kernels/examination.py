"""Kernels that cannot work on these rows, what was measured, and the repair of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spnmkl.kernels.sampling import KernelSample, Look, has_width
from spnmkl.structure import SPN, Issue
from spnmkl.structure.removal import without
from spnmkl.structure.text import called, name_nodes, short_name
from spnmkl.wording import counted

# At 4 times the median width, the narrowest that templates make, two rows of many columns are e⁻⁴ = 1.8 % as alike as a
# row is to itself; the widest, a sixteenth of it, leaves a variance of at least 3 %.
LEAST_LIKENESS = 0.01
LEAST_VARIANCE = 0.01
MOST_ALIKE = 0.999
# Multiples of 1 / columns that were the widths of templates once, and how far off the data they may be.
COLUMN_WIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FARTHEST_WIDTH = 8.0
RESCALED = ("centred", "unit_variance")  # normalisations that make something of a small variance
_CONSTANT = 1e-9  # no normalisation makes anything of less
_ANGLES = ("linear", "cosine")  # learn from rows however little these are alike


@dataclass(frozen=True)
class KernelIssue(Issue):
    """A finding about kernels on given rows.

    Attributes
    ----------
    code, severity, nodes, message, repair : str or tuple of str
        As of any `Issue`.
    change : dict or None
        What its leaf, the first of `nodes`, becomes, by the keys of the structure format.
    remove : str or None
        The node to take away instead.
    widths : tuple of str
        Leaves that differ in width alone and compete, of which one may be chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import Kernel, templates
    >>> from spnmkl.kernels import examine_kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 30))
    >>> examine_kernels(templates.flat([Kernel("rbf", gamma=9)]), X)[0].repair
    'take its width from the data (γ = median)'
    """

    change: Mapping[str, Any] | None = None
    remove: str | None = None
    widths: tuple[str, ...] = ()

    def applied(self, spn: SPN) -> SPN:
        """The drawing with this repair made and nothing else changed.

        Parameters
        ----------
        spn : SPN
            The drawing that it was found in.

        Returns
        -------
        SPN
            The repaired drawing, or the drawing itself where there is nothing to be done by itself.
        """
        if self.change is not None:
            return spn.replace(self.nodes[0], **self.change)
        return (without(spn, self.remove) if self.remove is not None else None) or spn


def examine_kernels(spn: SPN, X: Any, feature_names: Sequence[str] | None = None) -> list[KernelIssue]:
    """Name the kernels of a structure that cannot work on some rows, before anything is trained.

    At most 200 rows, evenly spread, are looked at, and the first 400 kernels. Named are kernels that are nearly the
    identity (two rows are less than 1 % as alike as a row is to itself, on average), nearly constant (less than 1 % of
    the self-similarity is variance), 0 for rows of zeros, nearly equal to another one beside them (the centred
    matrices, without their diagonals, are aligned to 0.999), or of a width that follows the number of columns and is
    far from what the data give; and widths of one kernel that compete.

    Parameters
    ----------
    spn : SPN
        The structure, without errors.
    X : array of shape (n, n_features) or data frame
        The rows to train on, prepared as for training.
    feature_names : sequence of str, default=None
        Names of the columns, for leaves that use them; None for those of a data frame.

    Returns
    -------
    list of KernelIssue
        Each with what was measured and, where there is one, a repair; `KernelIssue.applied` makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import Kernel, templates
    >>> from spnmkl.kernels import examine_kernels
    >>> X = np.random.default_rng(0).normal(size=(100, 200))
    >>> spn = templates.flat([Kernel("rbf", gamma=10 / 200), Kernel("linear")])
    >>> (issue,) = examine_kernels(spn, X)
    >>> issue.code
    'nearly_identity'
    >>> examine_kernels(issue.applied(spn), X)
    []
    """
    return issues_on(spn, KernelSample.of(X, feature_names))


def issues_on(spn: SPN, sample: KernelSample) -> list[KernelIssue]:
    """What `examine_kernels` lists, on a sample that remembers what it has seen."""
    looks: dict[str, Look] = {}
    found: list[KernelIssue] = []
    for leaf, look in sample.looks(spn).items():
        if isinstance(look, Look):
            looks[leaf] = look
            found += list(_of_leaf(spn, leaf, look, sample))[:1]
        elif look:
            found.append(KernelIssue("not_computable", "error", (leaf,), look))
    useless = {issue.nodes[0] for issue in found}
    usable = {leaf: look for leaf, look in looks.items() if leaf not in useless}
    equal = list(_equal(spn, usable))
    gone = {issue.nodes[0] for issue in equal}
    return [*found, *equal, *_competing(spn, {leaf: look for leaf, look in looks.items() if leaf not in gone})]


def repair_kernels(spn: SPN, sample: KernelSample) -> SPN:
    """All repairs that can be made by themselves, and those of what they lead to."""
    for _ in range(3 * len(spn.kernels)):  # a leaf is changed at most twice before it is removed
        issue = next((issue for issue in issues_on(spn, sample) if issue.repair), None)
        if issue is None:
            break
        spn = issue.applied(spn)
    return spn


def _issue(code: str, leaf: str, message: str, repair: tuple[str, Mapping[str, Any] | str] | None) -> KernelIssue:
    """`repair` is its sentence, and what the leaf becomes or which node is taken away."""
    if repair is None:
        return KernelIssue(code, "warning", (leaf,), message)
    words, what = repair
    change, remove = (None, what) if isinstance(what, str) else (what, None)
    return KernelIssue(code, "warning", (leaf,), message, words, change, remove)


def _of_leaf(spn: SPN, leaf: str, look: Look, sample: KernelSample) -> Iterator[KernelIssue]:
    who, spec, rows = _opening(called(spn, leaf)), spn.spec(leaf), counted(sample.n, "row")
    if look.zeros and (spec.normalize == "unit_diagonal" or spec.kernel == "cosine") and spec.kernel != "precomputed":
        share = "all" if look.zeros == sample.n else f"{look.zeros:,} of {rows}"
        message = (
            f"{who} is 0 for {share} that were looked at, in whose columns there are only zeros: such rows have no "
            "angle, and get no answer from it."
        )
        yield _issue("zero_rows", leaf, message, _compared_by_distance(spn, leaf, look.zeros == sample.n))
    if look.zeros < sample.n and look.variance < (_CONSTANT if spec.normalize in RESCALED else LEAST_VARIANCE):
        message = (
            f"{who} is nearly constant: {_percent(look.variance)} of its self-similarity is variance, over {rows}, so "
            "that all of them look alike to it."
        )
        yield _issue("nearly_constant", leaf, message, _spread_out(spn, leaf, look))
    elif look.likeness < LEAST_LIKENESS and spec.kernel not in _ANGLES:
        message = (
            f"{who} is nearly the identity: two rows are {_percent(look.likeness)} as alike as a row is to itself, on "
            f"average over {rows}, so that it learns rows by heart and tells little of new ones."
        )
        message += _by_columns(spn, leaf, look)
        yield _issue("nearly_identity", leaf, message, _widened(spn, leaf))
    elif (by_columns := _by_columns(spn, leaf, look)) and look.gamma and look.typical:
        times = look.gamma / look.typical
        if not 1 / FARTHEST_WIDTH <= times <= FARTHEST_WIDTH:
            message = f"The width of {called(spn, leaf)} does not follow the data:{by_columns} That is {_times(times)}."
            yield _issue("width_by_columns", leaf, message, _widened(spn, leaf))


def _by_columns(spn: SPN, leaf: str, look: Look) -> str:
    """Where a width is a multiple of 1 / columns, and not because somebody chose it for these data."""
    spec = spn.spec(leaf)
    given = dict(spec.params).get("gamma")
    n = len(spec.features or ())
    if look.gamma is None or isinstance(given, str) or given is None or n < 2:
        return ""
    times = next((width for width in COLUMN_WIDTHS if abs(given * n / width - 1) < 1e-9), None)
    return "" if times is None else f" Its γ = {given:.3g} is {times:g} / {n:,}, by the number of its columns."


def _times(times: float) -> str:
    return f"{times:.3g} times the γ that the median distance gives"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 1e-6 else "less than 0.0001 %"


def _opening(words: str) -> str:
    return words[0].upper() + words[1:]


Repair = tuple[str, Mapping[str, Any] | str]


def _widened(spn: SPN, leaf: str) -> Repair | None:
    spec = spn.spec(leaf)
    if has_width(spec):
        return "take its width from the data (γ = median)", {"params": {**dict(spec.params), "gamma": "median"}}
    if spec.kernel == "polynomial" and spec.params:
        return "take the degree 2 and the width from the data", {"params": None}
    return _taken_away(spn, leaf)


def _spread_out(spn: SPN, leaf: str, look: Look) -> Repair | None:
    spec = spn.spec(leaf)
    if has_width(spec) and dict(spec.params).get("gamma") != "median" and look.variance > 0:
        return "take its width from the data (γ = median)", {"params": {**dict(spec.params), "gamma": "median"}}
    hidden = spec.kernel in ("linear", "polynomial")  # by a unit diagonal, which leaves the angle alone
    if spec.normalize not in RESCALED and (hidden or (look.variance > _CONSTANT and spec.kernel != "precomputed")):
        return "take out what all rows have in common (normalisation: centred)", {"normalize": "centred"}
    return _taken_away(spn, leaf)


def _compared_by_distance(spn: SPN, leaf: str, all_zero: bool) -> Repair | None:
    if all_zero:
        return _taken_away(spn, leaf)
    return "compare by distance instead (rbf, its width from the data)", {
        "kernel": "rbf",
        "params": {"gamma": "median"},
    }


def _taken_away(spn: SPN, node: str) -> Repair | None:
    return None if without(spn, node) is None else (f"take {short_name(spn, node)} out of the drawing", node)


def _equal(spn: SPN, looks: Mapping[str, Look]) -> Iterator[KernelIssue]:
    """Products below one sum that multiply kernels which are nearly equal; only their joint weight matters."""
    for parent in spn.sums:
        products = [v for v in spn.children(parent) if set(spn.children(v)) <= looks.keys()]
        leaves = list(dict.fromkeys(leaf for v in products for leaf in spn.children(v)))
        alike = _representatives([looks[leaf] for leaf in leaves])
        stand_for = {leaf: leaves[k] for leaf, k in zip(leaves, alike, strict=True)}
        first: dict[tuple[str, ...], str] = {}
        for v in products:
            content = tuple(sorted(stand_for[leaf] for leaf in spn.children(v)))
            other = first.setdefault(content, v)
            if other != v:
                yield _equal_products(spn, parent, other, v, looks)


def _representatives(looks: Sequence[Look]) -> list[int]:
    """For each the first that it is nearly equal to."""
    if not looks:
        return []
    E = np.stack([look.entries for look in looks])
    close = E @ E.T > MOST_ALIKE
    first: list[int] = []
    for k in range(len(looks)):
        own = [j for j in np.flatnonzero(close[k, :k]) if first[j] == j]
        first.append(int(own[0]) if own else k)
    return first


def _equal_products(spn: SPN, parent: str, one: str, other: str, looks: Mapping[str, Look]) -> KernelIssue:
    pairs = list(zip(spn.children(other), spn.children(one), strict=True))
    alike = min(float(looks[a].entries @ looks[b].entries) for a, b in pairs)
    mine, theirs = (f"{name_nodes(spn, spn.children(v), '∘')} ({spn.names[v]})" for v in (other, one))
    message = (
        f"{mine} and {theirs} below {called(spn, parent)} are nearly equal on these rows: their centred matrices are "
        f"aligned to {alike:.4f}, so that only the sum of their weights means anything."
    )
    issue = _issue("nearly_equal", spn.children(other)[0], message, _taken_away(spn, other))
    return replace(issue, nodes=(*spn.children(other), other, one))


def _competing(spn: SPN, looks: Mapping[str, Look]) -> Iterator[KernelIssue]:
    """Leaves below one sum that differ in width alone, each in a product of its own."""
    for parent in spn.sums:
        alike: dict[object, list[str]] = {}
        for v in spn.children(parent):
            leaf = spn.children(v)[0] if spn.children(v) else v
            look = looks.get(leaf)
            if len(spn.children(v)) == 1 and look is not None and look.gamma is not None:
                spec = spn.spec(leaf)
                others = tuple(pair for pair in spec.params if pair[0] != "gamma")
                alike.setdefault((spec.kernel, spec.features, spec.normalize, others), []).append(leaf)
        for leaves in alike.values():
            if len({looks[leaf].gamma for leaf in leaves}) > 1:
                leaves.sort(key=lambda leaf: looks[leaf].gamma or 0.0)
                yield _widths_compete(spn, parent, leaves)


def _widths_compete(spn: SPN, parent: str, leaves: list[str]) -> KernelIssue:
    message = (
        f"The kernels {name_nodes(spn, leaves)} below {called(spn, parent)} differ in width alone. A narrow kernel "
        "tells all training rows apart at little cost: certified weights favour the narrowest, "
        f"{short_name(spn, leaves[-1])}, at any C, and do not tell which width is right. Choose one width by "
        "cross-validation, or let evidence choose the weights."
    )
    return KernelIssue("widths_compete", "warning", tuple(leaves), message, widths=tuple(leaves))
