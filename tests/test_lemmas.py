"""Lemmas 1 and 2 of the paper on the exponents that the library gives to the paths of random structures."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import Structure
from random_structures import structures

from spnmkl.structure import SPN

Array = NDArray[np.float64]
Exponents = Mapping[str, Fraction]

ROUNDING = 1 + 1e-12
any_structure = structures() | structures(aligned=True)
any_points = st.integers(0, 2**32 - 1).map(np.random.default_rng)
quick = settings(max_examples=100, deadline=None)


def random_point(rng: np.random.Generator, exponents: Exponents) -> tuple[Array, dict[str, float]]:
    """w and β > 0 over six orders of magnitude."""
    return rng.normal(size=3) * 10 ** rng.uniform(-3, 3), {v: 10 ** rng.uniform(-3, 3) for v in exponents}


def energy(w: Array, beta: Mapping[str, float], exponents: Exponents) -> float:
    """‖w‖² / g_m(β)."""
    log_g = sum(float(e) * np.log(beta[v]) for v, e in exponents.items())
    return float(w @ w / np.exp(log_g))


@quick
@given(any_structure, any_points)
def test_lemma_1_energy_is_jointly_convex(structure: Structure, rng: np.random.Generator) -> None:
    for path in SPN.from_dict(structure).paths():
        (w, beta), (u, gamma) = (random_point(rng, path.exponents) for _ in range(2))
        middle = {v: (beta[v] + gamma[v]) / 2 for v in beta}
        average = (energy(w, beta, path.exponents) + energy(u, gamma, path.exponents)) / 2
        assert energy((w + u) / 2, middle, path.exponents) <= average * ROUNDING


@quick
@given(any_structure, any_points)
def test_lemma_1_is_tight_along_rays(structure: Structure, rng: np.random.Generator) -> None:
    # Exponents that add up to 1 make the energy homogeneous of degree 1: no curvature along a ray.
    for path in SPN.from_dict(structure).paths():
        w, beta = random_point(rng, path.exponents)
        scaled = energy(3 * w, {v: 3 * b for v, b in beta.items()}, path.exponents)
        np.testing.assert_allclose(scaled, 3 * energy(w, beta, path.exponents), rtol=1e-12)


@quick
@given(any_structure, any_points)
def test_lemma_2_energy_is_below_its_arithmetic_version(structure: Structure, rng: np.random.Generator) -> None:
    for path in SPN.from_dict(structure).paths():
        w, beta = random_point(rng, path.exponents)
        arithmetic = sum(float(e) * (w @ w) / beta[v] for v, e in path.exponents.items())
        assert energy(w, beta, path.exponents) <= arithmetic * ROUNDING
