"""What carries the decision on rows that were not trained on: what was learned by heart counts nothing there.

The decision of a row is f = Σ_m f_m + b over the paths. The part of some paths is the mean of y·f_b over the rows, with
f_b less its mean over the training rows: what they add to telling the classes apart; their *share* is that over the
same for all paths. The intercept stays aside, as does what shifts all rows alike: neither tells rows apart. A part is
negative where paths pull held-out rows to the wrong side. With several classes every row counts once for each of
them, y = 1 for its own and −1 for the others, because so they were trained: one-vs-rest, with one kernel for all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.evaluate import apply_kernel, apply_to_samples, row_quadratics, term_responses
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.errors import DataError
from spnmkl.inspection.shares import Kernels, listing
from spnmkl.parameters import checked_threads
from spnmkl.solution import Solution, source_of
from spnmkl.structure import Path
from spnmkl.structure.meeting import most_met, products_through
from spnmkl.threads import single_threaded_blas

ERRORS = 2.0  # standard errors by which the sum must lie above 0 before it is shared out


@dataclass(frozen=True)
class Share:
    """What a part of the drawing has of the decision on rows that were not trained on.

    Attributes
    ----------
    share : float
        1 for the whole; below 0 where it pulls rows to the wrong side; NaN where there are no shares.
    error : float
        Its standard error over the rows, or groups of rows.
    spread : float
        The standard deviation of the folds' own shares; NaN where there are no folds.

    Examples
    --------
    >>> from spnmkl.inspection import Share
    >>> print(Share(0.254, 0.041))
    25 ± 4 %
    """

    share: float
    error: float
    spread: float = math.nan

    def __str__(self) -> str:
        """As it is shown everywhere: "37 ± 4 %", "−1.2 ± 0.8 %"; a dash where there is none."""
        if math.isnan(self.share):
            return "–"
        digits = 1 if self.error < 0.0095 else 0
        number = f"{100 * self.share:.{digits}f}"
        number = number.lstrip("-") if float(number) == 0 else number.replace("-", "−")
        return f"{number} ± {100 * self.error:.{digits}f} %"

    def _stored(self) -> list[float | None]:
        return [_stored(value) for value in (self.share, self.error, self.spread)]


@dataclass(frozen=True, eq=False)
class DecisionParts:
    """The decision of held-out rows, split: y·f of every row, by the whole and by each part.

    Attributes
    ----------
    total : ndarray of shape (rows,)
        y_i (f(x_i) − b), less its mean over the training rows; summed over the classes.
    nodes : dict from node to ndarray of shape (rows,)
        The same of the paths through a node.
    views : dict from name to ndarray of shape (rows,)
        Of the paths through any kernel of a view.
    paths : dict from Path to ndarray of shape (rows,)
        Of single paths.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.inspection import DecisionParts
    >>> DecisionParts(np.ones(3), {"p1": np.ones(3)}, {}, {}).total.shape
    (3,)
    """

    total: Floats
    nodes: Mapping[str, Floats]
    views: Mapping[str, Floats]
    paths: Mapping[Path, Floats]


@single_threaded_blas()
def decision_parts(
    solution: Solution,
    cross_kernels: Kernels,
    y: ArrayLike,
    kernels: Kernels,
    *,
    views: Mapping[str, Iterable[str]] | None = None,
    paths: Iterable[Path | WeightedPath] = (),
    n_threads: int | None = None,
) -> DecisionParts:
    """Split the decision on rows that were not trained on, without listing paths.

    Parameters
    ----------
    solution : Solution
        What was learned.
    cross_kernels : mapping from leaf id to array-like of shape (rows, n), or KernelSource
        Kernels between rows that were not trained on and the n training rows; pruned leaves may be left out.
    y : array-like of shape (rows,)
        The labels of these rows.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    views : mapping from name to iterable of leaf ids, default=None
        Which kernels make a view.
    paths : iterable of Path or WeightedPath, default=()
        Single paths to tell apart, such as `heaviest_paths` gives; they may be those of another solution.
    n_threads : int, default=None
        Cores to use; None for all.

    Returns
    -------
    DecisionParts
        Of every row; `HeldOutShares.of_parts` makes shares of them.

    Raises
    ------
    DataError
        Labels that were not trained on, or not one for every row.
    KernelError
        A matrix is missing, of another size, or holds NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import decision_parts
    >>> from spnmkl.kernels import cross_kernels, fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X[::2])
    >>> solution = solve(spn, kernels, y[::2])
    >>> parts = decision_parts(solution, cross_kernels(fitted, X[1::2]), y[1::2], kernels)
    >>> parts.total.shape, sorted(parts.nodes)
    ((89,), ['k1', 'k2', 'p1', 'p2', 's1'])
    """
    split = _Split(solution, cross_kernels, y, kernels, checked_threads(n_threads))
    return DecisionParts(
        split.total,
        {v: split.through([v]) for v in solution.spn.nodes},
        {view: split.through(leaves) for view, leaves in (views or {}).items()},
        split.by([path.path if isinstance(path, WeightedPath) else path for path in paths]),
    )


@dataclass(frozen=True)
class HeldOutShares:
    """The shares of nodes, views and paths in the decision on rows that were not trained on.

    Attributes
    ----------
    rows : str
        Which rows these are: "88 test rows", "5 folds".
    n : int
        How many rows.
    folds : int
        How many trainings these were held out of: 1 for one split.
    total : float
        The mean over the rows of y·f, the decision without its intercept, less its mean over the training rows.
    error : float
        Its standard error over the rows.
    nodes, views : dict from id or name to Share
        NaN where there are no shares: see `why_none`.
    paths : dict from Path to Share
        The shares of the paths that were asked for.
    groups : int
        How many groups of rows errors are over; 0 where they are over rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import HeldOutShares, decision_parts
    >>> from spnmkl.kernels import cross_kernels, fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X[::2])
    >>> parts = decision_parts(solve(spn, kernels, y[::2]), cross_kernels(fitted, X[1::2]), y[1::2], kernels)
    >>> shares = HeldOutShares.of_parts([parts], "89 test rows")
    >>> round(shares.nodes["k1"].share + shares.nodes["k2"].share, 6)
    1.0
    """

    rows: str
    n: int
    folds: int
    total: float
    error: float
    nodes: Mapping[str, Share] = field(repr=False)
    views: Mapping[str, Share]
    paths: Mapping[Path, Share] = field(repr=False)
    groups: int = 0

    @classmethod
    def of_parts(
        cls, folds: Sequence[DecisionParts], rows: str, groups: Sequence[NDArray] | None = None
    ) -> HeldOutShares:
        """Pool the rows of one split, or of all folds.

        Parameters
        ----------
        folds : sequence of DecisionParts
            One for each training; their rows are taken together.
        rows : str
            What to call these rows.
        groups : sequence of ndarray, default=None
            For every fold, which of its rows belong together, such as those of one patient; errors are then over
            groups, because rows of one group are no independent witnesses.

        Returns
        -------
        HeldOutShares
            The share of everything that all folds were split by.
        """
        totals = [fold.total for fold in folds]
        whole = np.concatenate(totals)
        together = None if groups is None else np.unique(np.concatenate(groups), return_inverse=True)[1]
        total, error = float(whole.mean()) if len(whole) else math.nan, _standard_error(whole, together)

        def share(parts: list[Floats]) -> Share:
            return _share(parts, totals, together) if total > ERRORS * error else Share(math.nan, math.nan)

        return cls(
            rows,
            len(whole),
            len(folds),
            total,
            error,
            {key: share([fold.nodes[key] for fold in folds]) for key in folds[0].nodes},
            {key: share([fold.views[key] for fold in folds]) for key in folds[0].views},
            {key: share([fold.paths[key] for fold in folds]) for key in folds[0].paths},
            0 if together is None else int(together.max(initial=-1)) + 1,
        )

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; a number that is not finite is None.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {
            "rows": self.rows,
            "n": self.n,
            "folds": self.folds,
            "groups": self.groups,
            "total": _stored(self.total),
            "error": _stored(self.error),
            "nodes": {key: share._stored() for key, share in self.nodes.items()},
            "views": {key: share._stored() for key, share in self.views.items()},
            "paths": [
                [list(path.leaves), [list(layer) for layer in path.layers], share._stored()]
                for path, share in self.paths.items()
            ],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> HeldOutShares:
        """What `to_dict` gave.

        Parameters
        ----------
        stored : mapping
            From a file, perhaps.

        Returns
        -------
        HeldOutShares
            The same.

        Raises
        ------
        ValueError
            These are no shares.
        """
        try:
            total, error = _read(stored["total"], math.nan), _read(stored["error"], math.inf)
            nodes, views = (
                {_text(key): Share(*map(_read, share)) for key, share in stored[name].items()}
                for name in ("nodes", "views")
            )
            paths = {
                Path(tuple(map(_text, leaves)), tuple(tuple(map(_text, layer)) for layer in layers)): Share(
                    *map(_read, share)
                )
                for leaves, layers, share in stored["paths"]
            }
            n, folds = int(stored["n"]), int(stored["folds"])
            return cls(_text(stored["rows"]), n, folds, total, error, nodes, views, paths, int(stored.get("groups", 0)))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as wrong:
            raise ValueError(f"the held-out shares cannot be read ({wrong!r})") from None

    @property
    def known(self) -> bool:
        """Whether the mean of y·f lies above 0 by twice its error, so that there is something to share out."""
        return self.total > ERRORS * self.error

    @property
    def error_words(self) -> str:
        """Which errors these are, and which they are not, in a sentence or two."""
        over = f"the {self.groups:,} groups that the rows belong to" if self.groups else f"the {self.n:,} rows"
        error = f"± is the standard error over {over}: what other rows may change."
        if self.folds > 1:
            return (
                f"{error} What another training may change is told by the spread over folds, the standard deviation of "
                f"the shares of the {self.folds} trainings."
            )
        return f"{error} All shares are of one training; what another may change, folds would tell."

    @property
    def why_none(self) -> str:
        """Why there are no shares, as a sentence; empty where there are."""
        if self.known:
            return ""
        if not math.isfinite(self.error):
            return f"No shares: {self.rows} cannot tell a decision from chance."
        return (
            f"No shares: on {self.rows} the mean of y·f, which they would be parts of, is not above 0 by twice its "
            f"standard error ({self.total:.3g} ± {self.error:.2g}). More rows, or folds, may show more."
        )


def _stored(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read(value: object, missing: float = math.nan) -> float:
    if value is None:
        return missing
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number was expected, found {type(value).__name__}")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text was expected, found {type(value).__name__}")
    return value


def _share(parts: Sequence[Floats], totals: Sequence[Floats], groups: NDArray | None = None) -> Share:
    """The ratio of two means over the same rows; its error as the first order of both gives it."""
    part, total = np.concatenate(parts), np.concatenate(totals)
    share = float(part.sum() / total.sum())
    own = np.array([b.sum() / s.sum() for b, s in zip(parts, totals, strict=True) if s.sum() > 0])
    spread = float(own.std(ddof=1)) if len(own) > 1 else math.nan
    return Share(share, _standard_error(part - share * total, groups) / float(total.mean()), spread)


def _standard_error(values: Floats, groups: NDArray | None = None) -> float:
    """Of the mean over rows; with groups, as the sums over independent groups vary."""
    if not len(values):
        return math.inf
    away = values - values.mean()
    sums = away if groups is None else np.bincount(groups, away)
    n = len(sums)
    return math.sqrt(n / (n - 1) * float(sums @ sums)) / len(values) if n > 1 else math.inf


class _Split:
    """One pass over the cross kernels and one over the training kernels, from which most parts are known.

    Only where a path may meet several products of a part (of a view, say, with kernels in both factors of a product) it
    takes passes of its own, without these products: what is left is what is lost, so that such a path counts once.
    """

    def __init__(
        self, solution: Solution, cross_kernels: Kernels, y: ArrayLike, kernels: Kernels, n_threads: int
    ) -> None:
        self.spn, self.A, self.n_threads = solution.spn, solution.signed_alpha, n_threads
        self.n = self.A.shape[1]
        self.circuit, self.W = solution.active_circuit()
        self.beta = np.array([solution.beta[v] for v in self.circuit.products])
        self.cross = source_of(self.circuit.leaves, cross_kernels, self.n, "cross-kernel")
        self.source = solution.problem(kernels).source
        self.Y = _signs(y, solution.classes, self.cross.shape[0])
        self._place = {v: k for k, v in enumerate(self.spn.topological_order())}
        self._known: dict[frozenset[str], Floats] = {}

    @cached_property
    def _ones(self) -> Floats:
        return np.ones((1, self.n))

    def _centred(self, values: Floats, means: Floats) -> Floats:
        """(…, rows) less Σ_c y_ci times the mean of the decision over the training rows, from (…, n) K1."""
        return values - (means @ self.A.T / self.n) @ self.Y

    @cached_property
    def flows(self) -> Floats:
        """(terms, rows) y·f of the paths through every term, as often as they take it."""
        if not self.circuit.n_terms or not self.Y.shape[1]:
            return np.zeros((self.circuit.n_terms, self.Y.shape[1]))
        return self.W[:, None] * self._by_term(self.circuit, self.W)

    def _by_term(self, circuit: Circuit, W: Floats) -> Floats:
        rows = row_quadratics(circuit, W, self.cross, self.Y, self.A, self.n_threads)
        means = term_responses(circuit, W, self.source, self._ones, self.n_threads)[:, 0]
        return self._centred(rows, means)

    @cached_property
    def total(self) -> Floats:
        """(rows,) over all paths."""
        return self.flows[self.circuit.operation_start[-2] :].sum(axis=0)

    @cached_property
    def _passing(self) -> dict[str, Floats]:
        """(rows,) over the paths through every product, as often as they meet it."""
        passing = {v: np.zeros(self.Y.shape[1]) for v in self.circuit.products}
        for t, flow in zip(self.circuit.terms, self.flows, strict=True):
            for v, _ in self.circuit.derivations.terms[t].products:
                passing[v] += flow
        return passing

    def through(self, nodes: Iterable[str]) -> Floats:
        """(rows,) over the paths that meet any of the nodes."""
        products = products_through(self.spn, nodes)
        if products is None:
            return self.total
        alive = frozenset(v for v, b in zip(self.circuit.products, self.beta, strict=True) if b > 0 and v in products)
        if alive not in self._known:
            self._known[alive] = self._meeting(alive)
        return self._known[alive]

    def _meeting(self, products: Collection[str]) -> Floats:
        if most_met(self.spn, products, self._place) <= 1:
            return sum((self._passing[v] for v in products), np.zeros(self.Y.shape[1]))
        left = np.where([v in products for v in self.circuit.products], 0.0, self.beta)
        return self.total - self._whole(self.circuit.restricted(left > 0), left)

    def _whole(self, circuit: Circuit, beta: Floats) -> Floats:
        """(rows,) over all paths of a part of the circuit."""
        if not circuit.n_terms or not self.Y.shape[1]:
            return np.zeros(self.Y.shape[1])
        W = circuit.weights(beta)
        F = apply_kernel(circuit, W, self.cross, self.A, self.n_threads)
        means = apply_to_samples(circuit, W, self.source, self._ones, self.n_threads)[0]
        return self._centred((F * self.Y).sum(axis=0), means)

    def by(self, paths: Sequence[Path]) -> dict[Path, Floats]:
        """(rows,) of single paths; what has no weight here has no part."""
        weight = dict(zip(self.circuit.products, self.beta, strict=True))
        found = {path: np.zeros(self.Y.shape[1]) for path in paths}
        if alive := [path for path in found if all(weight[v] > 0 for v in path.exponents)] if self.Y.size else []:
            g = np.array([math.prod(weight[v] ** float(e) for v, e in path.exponents.items()) for path in alive])
            found |= zip(alive, g[:, None] * self._by_term(listing(alive), g), strict=True)
        return found


def _signs(y: ArrayLike, classes: NDArray, rows: int) -> Floats:
    """(classes, rows) 1 for the row's own class and −1 for the others; one row of them for two classes."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise DataError(f"There are {rows} held-out rows, but labels of shape {labels.shape}; give one for every row.")
    own = labels == classes[:, None]
    if not own.any(axis=0).all():
        foreign = labels[~own.any(axis=0)][0]
        raise DataError(f"A held-out row has the label {foreign!r}, which no training row has; leave such rows out.")
    return np.where(own if len(classes) > 2 else own[1:], 1.0, -1.0)
