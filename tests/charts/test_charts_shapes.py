"""Columns with a shape: digits as an image, a spectrum as a profile, and tables that have none."""

import numpy as np
import pytest

from spnmkl.charts import to_svg
from spnmkl.charts.shapes import find_shape, shape_chart
from spnmkl.data import load_sample

GRID = [f"pixel_{row}_{column}" for row in range(6) for column in range(5)]
WAVES = [f"nm{wave}.5" for wave in range(900, 1000, 4)]


def test_digits_are_an_image() -> None:
    digits = load_sample("digits")
    shape = find_shape(digits.features)
    assert shape is not None and shape.is_image and shape.places["r3c4"] == (3, 4)
    values = dict(zip(digits.features, np.arange(64) / 64, strict=True))
    chart = shape_chart(values, shape)
    table = chart.data.set_index("name")
    assert table.loc["r3c4", ["row", "column"]].tolist() == [3, 4] and table.loc["r3c4", "value"] == 28 / 64
    svg = to_svg(chart)
    assert svg.count('aria-roledescription="rect mark"') == 64


def test_a_spectrum_is_a_profile_in_the_order_of_its_numbers() -> None:
    shape = find_shape(WAVES[::-1])
    assert shape is not None and not shape.is_image and shape.unit == "nm"
    chart = shape_chart(dict.fromkeys(WAVES[::-1], 1.0), shape, "part of Σg")
    assert chart.data["at"].tolist() == sorted(chart.data["at"]) and chart.data["at"].iloc[0] == 900.5
    assert "part of Σg" in to_svg(chart)


def test_a_part_of_an_image_is_painted_where_it_lies() -> None:
    shape = find_shape(GRID)
    assert shape is not None
    chart = shape_chart({"pixel_2_3": 0.4, "age": 1.0}, shape)
    assert chart.data["name"].tolist() == ["pixel_2_3"]
    assert chart.to_dict()["encoding"]["x"]["scale"]["domain"] == [0, 5]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["height", "width"],
        ["a1", "a2", "a3"],  # too few to be more than an accident
        ["a1", "b2", *(f"a{k}" for k in range(3, 20))],
        [f"x_{k}_{k}" for k in range(20)],  # a diagonal is no image
        load_sample("breast_cancer").features,
        load_sample("wine").features,
    ],
)
def test_other_names_have_no_shape(names: list[str]) -> None:
    assert find_shape(names) is None
