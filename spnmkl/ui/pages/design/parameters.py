"""What can be chosen for a parameter of a kernel."""

from __future__ import annotations

from typing import Any

from spnmkl.kernels import Parameter

A_NUMBER = "a number"


OFFERED = ("0.25", "4")  # times the width that the data give: wider, narrower


def words_of(q: Parameter, current: Any) -> list[str]:
    """The words for it, with a wider and a narrower one where multiples are allowed, and what stands there now."""
    words = [*q.choices, *(f"{times}*{q.choices[-1]}" for times in OFFERED if q.multiples)]
    if isinstance(current, str) and q.accepts(current):
        words.append(current)
    return [*dict.fromkeys(words), *([A_NUMBER] if q.type == "float_or_choice" else [])]
