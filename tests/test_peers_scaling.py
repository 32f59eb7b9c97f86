"""The benchmark of growth: tiles are the same kernels, and exponents are slopes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tolerances import COMPILED, ROUNDING

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from scaling import CASES, Case, Point, by_paths, by_rows, drawn, exponent, exponents


def points(series: str, power: float) -> list[Point]:
    return [
        Point(series, x, "matrices", 1e-3 * x**power, 0.0, 1.0, float(x), 7, 1e-4, "optimal") for x in (10, 20, 40, 80)
    ]


def test_tiles_hold_the_matrices() -> None:
    case = Case(by_rows(0).spn, 40)
    matrices, _ = case.kernels(tiles=False)
    source, _ = case.kernels(tiles=True)
    leaves = list(matrices)
    for tile, leaf in zip(source.tiles(leaves, slice(3, 30), slice(5, 40)), leaves, strict=True):
        assert np.abs(tile - matrices[leaf][3:30, 5:40]).max() < COMPILED


def test_paths_are_powers_of_ten() -> None:
    assert by_paths(12).spn.n_paths == 10**12
    assert len(by_paths(12).spn.kernels) == 120


def test_an_exponent_is_the_slope_of_the_larger_half() -> None:
    bent = [Point("rows", 1, "matrices", 100.0, 0.0, 1.0, 1.0, 7, 1e-4, "optimal"), *points("rows", 2.5)]
    assert exponent(bent, "seconds") == pytest.approx(2.5, rel=ROUNDING)
    assert np.isnan(exponent(bent[:1], "seconds"))


def test_every_series_is_drawn_and_told() -> None:
    measured = [p for series in CASES for p in points(series, 1.5)]
    assert [text.split(":")[1].split(",")[0] for text in exponents(measured)] == 3 * [" time grows as x^1.50"]
    assert drawn(measured).count("matrices: x^1.50") == 3
