"""What somebody chose to do with columns before training."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from spnmkl.errors import DataError
from spnmkl.wording import quoted

Step = Literal["standardize", "log1p", "log-ratio", "tf-idf", "ranks", "normal ranks", "as is"]
Numeric = Literal["auto", Step]
Missing = Literal["refuse", "mean", "median", "drop rows", "drop columns"]
Categorical = Literal["codes", "one-hot", "drop"]
Absent = Literal["as missing", "mean", "drop rows"]

AUTO: Literal["auto"] = "auto"
STEPS: tuple[Step, ...] = get_args(Step)
_ALLOWED = {"numeric": (AUTO, *STEPS), "missing": get_args(Missing), "categorical": get_args(Categorical)} | {
    "absent": get_args(Absent)
}


@dataclass(frozen=True)
class Choices:
    """What to do with columns before training; all that it takes is learned from the training rows alone.

    Parameters
    ----------
    numeric : {"auto", "standardize", "log1p", "log-ratio", "tf-idf", "ranks", "normal ranks", "as is"}, \
default="standardize"
        What becomes of numbers. Mean 0 and spread 1 over the training rows; or that after log(1 + value), for counts;
        or that after the value's rank among the training rows, evenly spaced or along a bell curve. For counts of
        words, weights that make rare words heavy and every row of length 1. For parts of a whole, the logarithm less
        its mean over the view's columns (the centred log-ratio), then less its mean over the training rows; what is
        less than half of the smallest positive value of the view in these, such as 0, counts as that half. Or the
        numbers as they are. "auto" is what `suggest` says of each view.
    missing : {"refuse", "mean", "median", "drop rows", "drop columns"}, default="refuse"
        Filled with the column's mean or median over the training rows, a missing text being a category of its own; or
        rows or columns with missing values left out.
    categorical : {"codes", "one-hot", "drop"}, default="codes"
        Text as codes for the hamming kernel, as one column of 0 and 1 for each value, or left out.
    views : tuple of pairs of str, default=()
        A view, and what becomes of its numbers in the place of `numeric`.
    absent : {"as missing", "mean", "drop rows"}, default="as missing"
        Rows that lack every value of a view: as `missing` says; or the view is the average of the training rows for
        them; or they are left out.

    Examples
    --------
    >>> from spnmkl.data import Choices
    >>> Choices("auto", views=(("words", "tf-idf"),)).step_of("words")
    'tf-idf'
    """

    numeric: Numeric = "standardize"
    missing: Missing = "refuse"
    categorical: Categorical = "codes"
    views: tuple[tuple[str, Numeric], ...] = ()
    absent: Absent = "as missing"

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", tuple(sorted((str(view), step) for view, step in self.views)))
        for name, words in _ALLOWED.items():
            _check(name, getattr(self, name), words)
        for view, step in self.views:
            _check(f"the view {quoted(view)}", step, _ALLOWED["numeric"])

    @property
    def fills(self) -> bool:
        """Whether missing values are filled."""
        return self.missing in ("mean", "median")

    @property
    def leaves_rows_out(self) -> bool:
        """Whether rows can be lost for what they lack."""
        return "drop rows" in (self.missing, self.absent)

    def step_of(self, view: str) -> Numeric:
        """What becomes of the numbers of a view, or of "" for the columns in none."""
        return dict(self.views).get(view, self.numeric)

    def with_view(self, view: str, step: Numeric | None) -> Choices:
        """Another choice for one view; None for that of all."""
        views = {name: chosen for name, chosen in self.views if name != view}
        return replace(self, views=tuple((views if step is None else {**views, view: step}).items()))

    def among(self, views: Collection[str]) -> Choices:
        """Without what was chosen for views that there are no longer."""
        kept = tuple(pair for pair in self.views if pair[0] in views)
        return self if kept == self.views else replace(self, views=kept)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self) | {"views": [list(pair) for pair in self.views]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Choices:
        """What `to_dict` gave, in this release or an earlier one, which knew fewer choices."""
        views = tuple((str(view), step) for view, step in data.get("views", ()))
        return cls(**{**data, "views": views})


def _check(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        expected = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
        raise DataError(f"The choice for {name} must be {expected}, but it is {quoted(value)}.")
