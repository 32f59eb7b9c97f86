"""What a training is asked to do, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from spnmkl.errors import ParameterError
from spnmkl.measures import scoring_name
from spnmkl.parameters import (
    Power,
    approximating,
    class_weights,
    count,
    positive,
    power,
    seconds,
    solver_name,
    tolerance,
    weighing,
    whole,
)
from spnmkl.solvers import SOLVERS
from spnmkl.structure.nodes import describe


@dataclass(frozen=True)
class Settings:
    """The settings of one training; see `spnmkl.solve`.

    Parameters
    ----------
    C, lam : float
    p : float, "sparse", mapping from product to float, or None
        None: as drawn.
    solver : str
    tol : float
    max_iter : int or None
    max_time : float or None
        Seconds.
    class_weight : "balanced", mapping from class to float, or None
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}
        By what C is chosen, and which score is looked at first; training at a given C does not depend on it.
    weights : "certified" or "evidence"
        The certified optimum, or evidence weights (`spnmkl.fit_evidence`), which need none of λ, p and solver.
    approximation : "nystroem" or None
        Weights from a sample of the rows, and the SVM on all of them by landmarks; see `SPNMKLClassifier`.
    n_components, sample_size : int
        Landmarks, and rows of the sample.
    """

    C: float = 1.0
    lam: float = 1.0
    p: Power = None
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    scoring: str = "accuracy"
    weights: str = "certified"
    approximation: str | None = None
    n_components: int = 1000
    sample_size: int = 4000

    def __post_init__(self) -> None:
        by_class = class_weights(self.class_weight)
        checked = {
            "C": positive(self.C, "C"),
            "lam": positive(self.lam, "lam"),
            "p": power(self.p),
            "solver": solver_name(self.solver, SOLVERS),
            "tol": tolerance(self.tol),
            "max_iter": count(self.max_iter, "max_iter"),
            "max_time": seconds(self.max_time),
            "class_weight": {_label(c): w for c, w in by_class.items()} if isinstance(by_class, dict) else by_class,
            "scoring": scoring_name(self.scoring),
            "weights": weighing(self.weights),
            "approximation": approximating(self.approximation),
            "n_components": whole(self.n_components, "n_components"),
            "sample_size": whole(self.sample_size, "sample_size", 2),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(tuple(_hashable(getattr(self, field.name)) for field in fields(self)))

    def solver_options(self) -> dict[str, Any]:
        """The keyword arguments of `spnmkl.solve`."""
        return {name: getattr(self, name) for name in SOLVER_OPTIONS}

    def model_options(self) -> dict[str, Any]:
        """Parameters of `SPNMKLClassifier`: those of `spnmkl.solve`, and how weights are found."""
        return self.solver_options() | {name: getattr(self, name) for name in (*_SAMPLING, "weights")}

    @property
    def sampled_rows(self) -> int | None:
        """How many rows weights are learned on, at most; None for all."""
        return None if self.approximation is None else max(self.sample_size, self.n_components)

    @property
    def way(self) -> str:
        """How many rows it takes: exact, or how many landmarks and sampled rows."""
        if self.approximation is None:
            return "exact, all rows at once"
        return f"{self.n_components:,} landmarks, weights on a sample of {self.sampled_rows:,} rows at most"

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; a weight per class as pairs, because the keys of a JSON object are text."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.class_weight, Mapping):
            values["class_weight"] = [[label, weight] for label, weight in self.class_weight.items()]
        return values

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """What `to_dict` gave; anything else is refused in one sentence."""
        known = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping):
            raise ParameterError(f"Settings must be a mapping from name to value, but found {describe(data)}.")
        unknown = [name for name in data if name not in known]
        if unknown:
            names = ", ".join(sorted(known))
            raise ParameterError(f"There is no setting {describe(unknown[0])}; the settings are {names}.")
        values = dict(data)
        if isinstance(values.get("class_weight"), list | tuple):
            values["class_weight"] = _pairs(values["class_weight"])
        return cls(**values)


_SAMPLING = ("approximation", "n_components", "sample_size")
_OTHERS = {*_SAMPLING, "scoring", "weights"}
SOLVER_OPTIONS = tuple(field.name for field in fields(Settings) if field.name not in _OTHERS)


def _hashable(value: Any) -> Any:
    return frozenset(value.items()) if isinstance(value, Mapping) else value


def _label(label: object) -> str | int | float:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float):
        raise ParameterError(f"class_weight must name classes by text or number, but it names {describe(label)}.")
    return plain


def _pairs(pairs: list[Any] | tuple[Any, ...]) -> dict[Any, Any]:
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ParameterError("class_weight must be stored as pairs of a class and its weight; save the settings again.")
    return {_label(label): weight for label, weight in pairs}
