"""What a training is asked to do, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from spnmkl.errors import ParameterError
from spnmkl.problem import LARGEST, Power
from spnmkl.solvers import SOLVERS
from spnmkl.solvers.deadline import check_max_time
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
    """

    C: float = 1.0
    lam: float = 1.0
    p: Power = None
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    class_weight: Mapping[Any, float] | str | None = None

    def __post_init__(self) -> None:
        for name in ("C", "lam"):
            self._set(name, _positive(getattr(self, name), name))
        self._set("tol", _positive(self.tol, "tol"))
        if self.tol >= 1:
            raise ParameterError(f"tol must be a number between 0 and 1, but it is {self.tol:g}; choose 1e-3.")
        if not isinstance(self.solver, str) or self.solver not in SOLVERS:
            raise ParameterError(f"solver must be one of {sorted(SOLVERS)}, but it is {describe(self.solver)}.")
        if self.max_iter is not None:
            self._set("max_iter", _count(self.max_iter))
        self._set("max_time", check_max_time(self.max_time))
        self._set("p", _power(self.p))
        self._set("class_weight", _class_weight(self.class_weight))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(tuple(_hashable(getattr(self, field.name)) for field in fields(self)))

    def solver_options(self) -> dict[str, Any]:
        """The keyword arguments of `spnmkl.solve`, which are parameters of `SPNMKLClassifier` too."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; a weight per class as pairs, because the keys of a JSON object are text."""
        values = self.solver_options()
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


def _hashable(value: Any) -> Any:
    return frozenset(value.items()) if isinstance(value, Mapping) else value


def _positive(value: object, name: str) -> float:
    number = _number(value)
    if number is None or not 0 < number <= LARGEST:
        raise ParameterError(f"{name} must be a finite number above 0, but it is {describe(value)}; choose another.")
    return number


def _number(value: object) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"max_iter must be a whole number of at least 1, or None, but it is {describe(value)}.")
    return int(value)


def _power(p: object) -> Power:
    if p is None or (isinstance(p, str) and p == "sparse"):
        return p
    if not isinstance(p, Mapping):
        if _number(p) is None:
            raise ParameterError(f"p must be a number above 0, a mapping, 'sparse' or None, but it is {describe(p)}.")
        return _positive(p, "p")
    for product in p:
        if not isinstance(product, str):
            raise ParameterError(f"p must map products, by their names, to numbers, but it names {describe(product)}.")
    return {product: _positive(value, f"p of product {product!r}") for product, value in p.items()}


def _class_weight(weight: object) -> dict[Any, float] | str | None:
    if weight is None or (isinstance(weight, str) and weight == "balanced"):
        return weight
    if not isinstance(weight, Mapping):
        raise ParameterError(
            f"class_weight must be 'balanced', a mapping from class to weight, or None, but it is {describe(weight)}."
        )
    return {_label(label): _weight(label, value) for label, value in weight.items()}


def _label(label: object) -> str | int | float:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float):
        raise ParameterError(f"class_weight must name classes by text or number, but it names {describe(label)}.")
    return plain


def _weight(label: object, value: object) -> float:
    number = _number(value)
    if number is None or not 0 <= number <= LARGEST:
        raise ParameterError(
            f"The weight of class {str(label)!r} must be a finite number of at least 0, but it is {describe(value)}."
        )
    return number


def _pairs(pairs: list[Any] | tuple[Any, ...]) -> dict[Any, Any]:
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ParameterError("class_weight must be stored as pairs of a class and its weight; save the settings again.")
    return {_label(label): weight for label, weight in pairs}
