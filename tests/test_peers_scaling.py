"""The benchmark of growth: tiles are the same kernels, and exponents are slopes."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tolerances import COMPILED, ROUNDING

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from cost import Model, Run
from scaling import CASES, Case, Point, beside, by_landmarks, by_paths, by_rows, drawn, exponent, exponents


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


def told(rows: int, seconds: float) -> dict[str, object]:
    """As `landmarks.py rows` does."""
    counts = {"rows": rows, "landmarks": 1000, "rank": 990, "kernels left": 4, "rounds": 2, "solves": 3, "passes": 9}
    memory = {"peak memory GB": 2**20 * 1e-9, "workers' GB": 0.0}
    spent = {"processor seconds": seconds, "of workers": 1.0, "features": seconds / 2, "svm": seconds / 4}
    return counts | memory | spent | {"svm gap": 1e-4}


def test_points_by_landmarks_are_drawn_beside_earlier_ones() -> None:
    earlier = points("rows", 2.0)
    now = [Point("rows", 80, "matrices", 1.0, 1.0, 1.0, 1.0, 7, 1e-4, "optimal")]
    landmarks = [by_landmarks(told(n, n / 1000)) for n in (10_000, 100_000)]
    found = beside(now + landmarks, earlier)
    assert [p.x for p in found] == [10, 20, 40, 80, 10_000, 100_000] and found[3] == now[0]
    assert landmarks[1].seconds == 101.0 and landmarks[1].megabytes == 1.0
    assert "1,000 landmarks: x^" in drawn(found) and "matrices: x^" in drawn(found)


def test_the_cost_of_landmarks_is_found_where_it_is_what_the_model_says() -> None:
    model = Model(entry=2e-9, multiplication=1e-10, byte=3e-10, cube=1e-9, sample=4.0)

    def made(n: int, m: int, passes: int) -> Run:
        run = Run(n, m, m - m // 50, 5, 1, 3, passes, 0.0, 0.0, 0.0)
        of = model.seconds(run)
        return Run(n, m, m - m // 50, 5, 1, 3, passes, of["features"], of["svm"], sum(of.values()))

    found = Model.fitted([made(8000, 250, 9), made(8000, 500, 12), made(16_000, 500, 7), made(16_000, 1000, 8)])
    large = made(10**6, 2000, 11)
    assert found.seconds(large) == pytest.approx(model.seconds(large), rel=1e-6)
    assert sum(found.seconds(large).values()) == pytest.approx(large.total, rel=1e-6)
    read = Run.of(told(1000, 8.0))
    assert (read.features, read.svm, read.total, read.rest) == (5.0, 2.0, 9.0, 2.0)
