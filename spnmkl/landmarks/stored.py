"""An approximation as a model file holds it: numbers in a document, and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spnmkl.landmarks.result import Approximation
from spnmkl.parameters import positive, whole
from spnmkl.solution import Solution
from spnmkl.untrusted import CheckedArrays

_ACHIEVED = ("objective", "loss", "svm_gap")


def described(found: Approximation) -> dict[str, Any]:
    """What is no array; infinity, which JSON lacks, is None."""
    values = {name: getattr(found, name) for name in _ACHIEVED}
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    return finite | {"n_rows": found.n_rows, "scale": found.scale}


def landmark_arrays(found: Approximation) -> dict[str, np.ndarray]:
    return {
        "landmarks": found.landmarks,
        "landmark_coefficients": found.coefficients,
        "landmark_intercept": found.intercept,
    }


def read_approximation(told: Mapping[str, Any], arrays: CheckedArrays, solution: Solution) -> Approximation:
    """What both of these gave, over the sample's solution; a part in doubt is a ValueError."""
    values = {name: math.inf if told[name] is None else float(told[name]) for name in _ACHIEVED}
    if not all(value >= 0 for value in values.values()):
        raise ValueError("the approximation holds a number below 0")
    landmarks = arrays.integers("landmarks", None, below=len(solution.y))
    n_problems = len(np.atleast_2d(solution.alpha))
    return Approximation(
        n_rows=whole(told["n_rows"], "n_rows"),
        n_sample=len(solution.y),
        landmarks=landmarks,
        coefficients=arrays.floats("landmark_coefficients", n_problems, len(landmarks)),
        intercept=arrays.floats("landmark_intercept", n_problems),
        scale=positive(told["scale"], "scale"),
        sample_gap=solution.gap,
        sample_status=solution.status,
        **values,
    )
