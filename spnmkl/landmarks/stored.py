"""An approximation as a model file holds it: numbers in a document, and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from spnmkl.certificate import relative_gap
from spnmkl.landmarks.estimate import Estimate
from spnmkl.landmarks.result import Approximation
from spnmkl.parameters import positive, whole
from spnmkl.solution import Certificate, Solution
from spnmkl.untrusted import CheckedArrays

_ACHIEVED = ("objective", "loss", "svm_gap")


def described(found: Approximation) -> dict[str, Any]:
    """What is no array; infinity, which JSON lacks, is None."""
    values = {name: getattr(found, name) for name in _ACHIEVED}
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    right = None if math.isnan(found.right) else found.right
    estimate = None if found.estimate is None else asdict(found.estimate)
    more = {"n_rows": found.n_rows, "factors": dict(found.factors), "steps": found.steps}
    return finite | more | {"right": right, "estimate": estimate, "certificate": _described_proof(found.certificate)}


def _described_proof(proof: Certificate | None) -> dict[str, float | None] | None:
    if proof is None:
        return None
    return {"objective": proof.objective, "dual_bound": proof.dual_bound if math.isfinite(proof.dual_bound) else None}


def landmark_arrays(found: Approximation) -> dict[str, np.ndarray]:
    return {
        "landmarks": found.landmarks,
        "landmark_coefficients": found.coefficients,
        "landmark_intercept": found.intercept,
    }


def read_approximation(told: Mapping[str, Any], arrays: CheckedArrays, solution: Solution) -> Approximation:
    """What both of these gave, over the sample's solution; a part in doubt is a ValueError.

    Files that were written before weights were moved on all rows have one `scale` of all weights, and no estimate.
    """
    values = {name: math.inf if told[name] is None else float(told[name]) for name in _ACHIEVED}
    if not all(value >= 0 for value in values.values()):
        raise ValueError("the approximation holds a number below 0")
    landmarks = arrays.integers("landmarks", None, below=len(solution.y))
    n_problems = len(np.atleast_2d(solution.alpha))
    factors = dict.fromkeys(solution.beta, told["scale"]) if "scale" in told else told["factors"]
    right = told.get("right")
    return Approximation(
        n_rows=whole(told["n_rows"], "n_rows"),
        n_sample=len(solution.y),
        landmarks=landmarks,
        coefficients=arrays.floats("landmark_coefficients", n_problems, len(landmarks)),
        intercept=arrays.floats("landmark_intercept", n_problems),
        factors={v: positive(factors[v], "a factor of a weight") for v in solution.beta},
        steps=whole(told.get("steps", 0), "steps", 0),
        right=math.nan if right is None else _share(right),
        estimate=_read_estimate(told.get("estimate")),
        certificate=_read_proof(told.get("certificate")),
        sample_gap=solution.gap,
        sample_status=solution.status,
        objective=values["objective"],
        loss=values["loss"],
        svm_gap=values["svm_gap"],
    )


def _read_estimate(told: Mapping[str, Any] | None) -> Estimate | None:
    if told is None:
        return None
    losses = [_least(value) for value in (told["loss"], *told["loss_interval"])]
    shares = [_share(value) for value in (told["accuracy"], *told["accuracy_interval"])]
    if len(losses) != 3 or len(shares) != 3:
        raise ValueError("an interval has other than two ends")
    n = whole(told["n_rows"], "n_rows")
    return Estimate(n, losses[0], (losses[1], losses[2]), shares[0], (shares[1], shares[2]))


def _read_proof(told: Mapping[str, Any] | None) -> Certificate | None:
    if told is None:
        return None
    objective, bound = _least(told["objective"]), -math.inf
    if told["dual_bound"] is not None and (bound := float(told["dual_bound"])) != bound:
        raise ValueError("the approximation holds a bound that is none")
    return Certificate(objective, bound, relative_gap(objective, bound))


def _least(value: Any) -> float:
    if not 0 <= float(value) < math.inf:
        raise ValueError("the approximation holds a number below 0")
    return float(value)


def _share(value: Any) -> float:
    if not 0 <= float(value) <= 1:
        raise ValueError("the approximation holds a share that is none")
    return float(value)
