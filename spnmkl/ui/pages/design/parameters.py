"""What can be chosen for a parameter of a kernel."""

from __future__ import annotations

from typing import Any

from spnmkl.kernels import Parameter

A_NUMBER = "a number"


def words_of(q: Parameter, current: Any) -> list[str]:
    """The words for it; multiples of a width are for baselines, and offered where one stands."""
    words = [word for word in q.choices if "*" not in word or word == current]
    return [*words, *([A_NUMBER] if q.type == "float_or_choice" else [])]
