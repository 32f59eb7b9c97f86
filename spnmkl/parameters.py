"""The rules for settings, each written once: `solve`, the classifier and stored settings ask here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from spnmkl.errors import ParameterError
from spnmkl.structure.nodes import describe
from spnmkl.threads import allowed_threads, default_threads

LARGEST = 1e100  # of C, λ, p and weights
Power = float | str | Mapping[str, float] | None


def positive(value: object, name: str) -> float:
    number = _number(value)
    if number is None or not 0 < number <= LARGEST:
        raise ParameterError(
            f"{name} must be a finite number above 0, but it is {describe(value)}; choose for example 1.0."
        )
    return number


def tolerance(tol: object) -> float:
    number = _number(tol)
    if number is None or not 0 < number < 1:
        raise ParameterError(
            f"tol must be a number between 0 and 1, but it is {describe(tol)}; choose for example 1e-3."
        )
    return number


def count(value: object, name: str) -> int | None:
    """A whole number of at least 1, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, or None, but it is {describe(value)}.")
    return int(value)


def checked_threads(n_threads: object) -> int:
    """As many as were asked for, by default all cores."""
    return allowed_threads(count(n_threads, "n_threads") or default_threads())


def truth(value: object, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, but it is {describe(value)}.")
    return bool(value)


def seed(random_state: object) -> None:
    """Refuse what scikit-learn cannot shuffle with, and True, of which it would make 1."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or not 0 <= int(random_state) < 2**32:
        raise ParameterError(
            "random_state must be a whole number from 0 to 2³² − 1, a numpy RandomState or None, but it is "
            f"{describe(random_state)}."
        )


def question(stop: object) -> None:
    if stop is not None and not callable(stop):
        raise ParameterError(f"stop must be a function without arguments, or None, but it is {describe(stop)}.")


def seconds(max_time: object) -> float | None:
    """The limit of time, None for none."""
    number = _number(max_time)
    if max_time is not None and (number is None or not 0 < number < np.inf):
        raise ParameterError(
            f"max_time must be a finite number of seconds above 0, or None, but it is {describe(max_time)}."
        )
    return number


def gigabytes(max_memory: object) -> float | None:
    """What kernel matrices may take, None for what there is."""
    number = _number(max_memory)
    if max_memory is not None and (number is None or not number >= 0):
        raise ParameterError(
            f"max_memory must be a number of gigabytes of at least 0, or None, but it is {describe(max_memory)}."
        )
    return number


def solver_name(solver: object, known: Collection[str]) -> str:
    if not isinstance(solver, str) or solver not in known:
        raise ParameterError(f"solver must be one of {sorted(known)}, but it is {describe(solver)}.")
    return solver


WEIGHTS = ("certified", "evidence")
CHOSEN = "chosen"  # of these what rows held out speak for (`spnmkl.rivals`), wherever rows are held out anyway


def weighing(weights: object, *others: str) -> str:
    """How weights are found."""
    if not isinstance(weights, str) or weights not in (*WEIGHTS, *others):
        raise ParameterError(f"weights must be one of {sorted((*WEIGHTS, *others))}, but it is {describe(weights)}.")
    return weights


APPROXIMATIONS = ("nystroem",)


def approximating(approximation: object) -> str | None:
    """How more rows are trained on than a kernel matrix could have; None: not at all."""
    if approximation is not None and (not isinstance(approximation, str) or approximation not in APPROXIMATIONS):
        raise ParameterError(f"approximation must be 'nystroem' or None, but it is {describe(approximation)}.")
    return approximation


def whole(value: object, name: str, least: int = 1) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, but it is {describe(value)}.")
    return int(value)


def check_callback(callback: object) -> None:
    if callback is not None and not callable(callback):
        raise ParameterError(
            f"callback must be a function that takes one argument, or None, but it is {describe(callback)}."
        )


def power(p: object) -> Power:
    """The exponents p_v: None, "sparse", a number for all products, or numbers by product."""
    if p is None or (isinstance(p, str) and p == "sparse"):
        return p
    if isinstance(p, Mapping):
        for product in p:
            if not isinstance(product, str):
                raise ParameterError(
                    f"p must map products, by their names, to numbers, but it names {describe(product)}."
                )
        return {product: positive(value, f"p of product {product!r}") for product, value in p.items()}
    if _number(p) is None:
        raise ParameterError(f"p must be a number above 0, a mapping, 'sparse' or None, but it is {describe(p)}.")
    return positive(p, "p")


def class_weights(weight: object) -> dict[Any, float] | str | None:
    """None, "balanced", or a number of at least 0 for classes."""
    if weight is None or (isinstance(weight, str) and weight == "balanced"):
        return weight
    if not isinstance(weight, Mapping):
        raise ParameterError(
            f"class_weight must be 'balanced', a mapping from class to weight, or None, but it is {describe(weight)}."
        )
    return {label: _class_weight(label, value) for label, value in weight.items()}


def _class_weight(label: object, value: object) -> float:
    number = _number(value)
    if number is None or not 0 <= number <= LARGEST:
        raise ParameterError(
            f"The weight of class {str(label)!r} must be a finite number of at least 0, but it is {describe(value)}."
        )
    return number


def _number(value: object) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
