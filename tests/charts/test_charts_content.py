"""What the charts show is what the tables say."""

import base64
import io
from dataclasses import replace
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd
import pytest
from charts.chart_cases import (
    CHARTS,
    balance,
    confusion,
    learning,
    path,
    projection,
    ranking,
    records,
    roc,
    summary,
    validation,
)
from PIL import Image

from spnmkl import charts
from spnmkl.charts import look
from spnmkl.charts.explanation import STOPS
from spnmkl.charts.results import map_note
from spnmkl.charts.training import MOST_RECORDS
from spnmkl.solution import Record


def tables(chart: Any) -> list[pd.DataFrame]:
    """Every table in a chart, from the bottom up."""
    if isinstance(chart, alt.LayerChart):
        own = [chart.data] if isinstance(chart.data, pd.DataFrame) else []
        return own + [table for layer in chart.layer for table in tables(layer)]
    return [chart.data] if isinstance(chart.data, pd.DataFrame) else []


def test_convergence_shows_every_iteration() -> None:
    history = records(("a", "b"))
    bounds, gaps = (t for t in tables(charts.convergence_chart(history, 1e-3)) if "value" in t)
    by_name = {name: part["value"].tolist() for name, part in bounds.groupby("name")}
    assert by_name == {"objective P": [r.objective for r in history], "lower bound D": [10.0] * 5}
    assert gaps["value"].tolist() == pytest.approx([r.gap for r in history])
    assert gaps["iteration"].tolist() == [1, 2, 3, 4, 5]


def changed(at: int, n: int = 8) -> list[Record]:
    return [replace(r, method="interior" if r.iteration >= at else "newton") for r in records(("a",), n)]


@pytest.mark.parametrize("by", ["iteration", "seconds"])
def test_convergence_shows_where_another_method_took_over(by: Literal["iteration", "seconds"]) -> None:
    history = changed(3)
    chart = charts.convergence_chart(history, 1e-3, by)
    bounds, gaps = (t for t in tables(chart) if "value" in t)
    assert gaps["method"].tolist() == ["second order"] * 2 + ["path following"] * 6
    assert set(zip(bounds[by], bounds["method"], strict=True)) == set(zip(gaps[by], gaps["method"], strict=True))
    assert "path following from here" in charts.to_svg(chart)
    rules = chart.to_dict()["layer"][0]["layer"]
    assert {layer["encoding"]["x"]["datum"] for layer in rules} == {getattr(history[2], by)}
    for layer in chart.to_dict()["layer"][1:]:
        lines = layer.get("layer", [layer])[0]
        assert "method" in {told["field"] for told in lines["encoding"]["tooltip"]}


def test_words_of_a_late_change_stand_before_it_and_one_method_has_none() -> None:
    sides = []
    for at in (2, 8):
        (_, text) = charts.convergence_chart(changed(at)).to_dict()["layer"][0]["layer"]
        sides.append(text["mark"]["align"])
    assert sides == ["left", "right"]
    assert "from here" not in charts.to_svg(charts.convergence_chart(records(("a",))))


def test_what_is_not_known_yet_is_left_out() -> None:
    unknown = replace(records(("a",), 1)[0], dual_bound=-np.inf, gap=np.inf)
    bounds, gaps = (t for t in tables(charts.convergence_chart([unknown], 1e-3)) if "value" in t)
    assert bounds["name"].tolist() == ["objective P"]
    assert not len(gaps)
    for chart in (charts.convergence_chart([]), charts.weights_chart([], {}), charts.convergence_chart([unknown])):
        assert "<svg" in charts.to_svg(chart)


def test_long_histories_are_thinned_but_keep_both_ends() -> None:
    history = [replace(record, gap=0.5) for record in records(("a",), 5000)]
    for by in ("iteration", "seconds"):
        found = tables(charts.compare_convergence_chart({"run": history}, by=by))[0]
        assert len(found) == MOST_RECORDS
        assert found[by].iloc[[0, -1]].tolist() == [getattr(history[k], by) for k in (0, -1)]


def test_the_heaviest_weights_are_coloured_and_the_others_grey() -> None:
    names = [f"p{k}" for k in range(40)]  # p39 is the heaviest
    chart = charts.weights_chart(records(names), {"p39": "the heaviest"})
    grey, coloured = tables(chart)
    assert set(coloured["name"]) == {"the heaviest", *(f"p{k}" for k in range(28, 39))}
    assert set(grey["name"]) == {f"p{k}" for k in range(28)}
    assert chart.to_dict()["layer"][1]["encoding"]["color"]["scale"]["domain"][:2] == ["the heaviest", "p38"]


def test_weights_of_one_name_stay_apart() -> None:
    (table,) = tables(charts.weights_chart(records(("a", "b")), {"a": "same", "b": "same"}))
    assert set(table["name"]) == {"same (a)", "same (b)"}


def test_accuracy_over_folds() -> None:
    result = validation(("a",))
    chart = charts.cv_chart(result)
    table = next(t for t in tables(chart) if "mean" in t)
    assert table["mean"].tolist() == pytest.approx([0.75, 0.925, 0.85])
    assert (table["high"] - table["mean"]).tolist() == pytest.approx([0.05, 0.025, 0])  # by hand; one fold has none
    assert table["folds"].tolist() == [2, 2, 1]
    assert "C = 1" in charts.to_svg(chart)
    heights = [layer["encoding"]["y"] for layer in chart.to_dict()["layer"] if "encoding" in layer]
    assert {y["title"] for y in heights} == {"accuracy on 2 held-out folds"}, "one layer without a title hides it"
    started = replace(result, scores=np.full((3, 2), np.nan))
    assert "<svg" in charts.to_svg(charts.cv_chart(started))
    assert "<svg" in charts.to_svg(charts.stability_chart(started, {}))


def test_stability_is_that_at_the_best_C() -> None:
    spots, means = tables(charts.stability_chart(validation(("a", "b")), {"b": "second"}))
    assert means["name"].tolist() == ["second", "a"]
    assert means["mean"].tolist() == pytest.approx([1.85, 0.925])
    assert spots[spots["name"] == "a"]["value"].tolist() == pytest.approx([0.9, 0.95])
    assert means["kept"].tolist() == [2, 2]


def test_the_path_marks_both_C() -> None:
    svg = charts.to_svg(charts.path_chart(path(("a", "b")), {}, 1.0, 0.2))
    assert "C = 1" in svg
    assert "C_min = 0.2" in svg
    assert "C_min" not in charts.to_svg(charts.path_chart(path(("a", "b")), {}, 1.0, np.inf))


def test_a_class_has_one_colour_everywhere() -> None:
    names = ("2", "10", "one")  # in the order of the model, whatever that is

    def colours(chart: Any, channel: str = "color") -> dict[str, str]:
        found = [
            layer["encoding"][channel]["scale"]
            for layer in chart.to_dict()["layer"]
            if "scale" in layer.get("encoding", {}).get(channel, {})
        ]
        return dict(zip(found[0]["domain"], found[0]["range"], strict=True))

    first = colours(charts.class_balance_chart(balance(names)))
    assert list(first) == list(names)
    assert colours(charts.roc_chart(roc(names[1:]), names)) == first
    assert colours(charts.projection_chart(projection(names[::-1]), names)) == first


def test_confusion_counts_and_shares() -> None:
    table = next(t for t in tables(charts.confusion_chart(confusion(("a", "b")))) if len(t) == 4)
    assert table[["true", "answer", "rows"]].to_numpy().tolist() == [
        ["a", "a", 0],
        ["a", "b", 1],
        ["b", "a", 2],
        ["b", "b", 3],
    ]
    assert table["share"].tolist() == pytest.approx([0, 1, 0.4, 0.6])


def test_wrong_answers_wear_a_ring() -> None:
    table = projection(("a", "b"), 20_000)
    spots, rings = tables(charts.projection_chart(table, ("a", "b")))
    assert len(spots) <= 4000 and (~spots["right"]).sum() == 2000
    assert len(rings) == 400
    assert not rings["right"].any()
    few = projection(("a", "b"))
    assert len(tables(charts.projection_chart(few))[1]) == (~few["right"]).sum()


def test_small_shares_of_many_are_seen() -> None:
    many = ranking([f"view {k}" for k in range(70)]).assign(**{"held-out share": np.linspace(0.06, 0, 70)})
    many["standard error"] = 0.0
    assert domain(charts.ranking_chart(many)) == [0, pytest.approx(0.063)]
    assert len(tables(charts.ranking_chart(many))[0]) == charts.MOST_RANKED


def test_shares_below_zero_and_their_errors_are_within_the_chart() -> None:
    two = ranking(["a", "b"])
    assert domain(charts.ranking_chart(two)) == pytest.approx([1.05 * -0.15, 1.05 * 0.95])
    bars = tables(charts.ranking_chart(two))[0]
    assert bars["share"].tolist() == pytest.approx([0.9, -0.1])
    assert bars["low"].tolist() == pytest.approx([0.85, -0.15]) and bars["high"].tolist() == pytest.approx(
        [0.95, -0.05]
    )


def test_weights_are_ranked_only_where_no_share_is_known() -> None:
    """Beside a share they would be read as importance."""
    two = ranking(["a", "b"])
    assert "weights" not in str(charts.ranking_chart(two).to_dict())
    unknown = two.assign(**{"held-out share": np.nan, "standard error": np.nan})
    bars = tables(charts.ranking_chart(unknown))[0]
    assert bars["share"].tolist() == pytest.approx([0.8, 0.2])
    assert bars["low"].tolist() == pytest.approx([0.5, 0.0]) and bars["high"].tolist() == pytest.approx([1.0, 0.5])
    assert "part of the path weights" in str(charts.ranking_chart(unknown).to_dict())


def domain(bars: alt.LayerChart) -> list[float]:
    return bars.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]


def test_pushes_have_the_colour_of_the_class_they_push_to() -> None:
    table = pd.DataFrame({"what": ["x", "x", "rest"], "class": "b", "push": [0.5, -0.25, 0.0]})
    chart = charts.pushes_chart(table, ("a", "b"))
    scale = chart.to_dict()["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {"a": look.COLOURS[0], "b": look.COLOURS[1]}
    (shown,) = tables(chart)
    assert shown["what"].tolist() == ["x (1)", "x (2)", "rest"]
    assert shown["side"].tolist() == ["b", "a", "a"]


def test_pushes_of_many_classes_show_one() -> None:
    table = pd.DataFrame({"what": ["x", "x", "x"], "class": [1, 2, 3], "push": [1.0, 2.0, -3.0]})
    (shown,) = tables(charts.pushes_chart(table, np.array([1, 2, 3]), of=3))
    assert shown["push"].tolist() == [-3.0]
    assert shown["side"].tolist() == ["away from it"]


def picture(chart: Any) -> Image.Image:
    url = next(t for t in tables(chart) if "url" in t)["url"].iloc[0]
    return Image.open(io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,"))))


def test_the_heat_map_is_the_matrix() -> None:
    cells = np.arange(12.0).reshape(3, 4)[:, :3] ** 2
    image = picture(charts.heatmap_chart(cells, [1, 3], ["a", "b"]))
    assert image.size == (3, 3)
    indices = np.asarray(image)
    low, high = 1.0, 81.0  # beside the diagonal
    assert np.array_equal(indices, np.round(255 * ((cells - low) / (high - low)).clip(0, 1)))
    rgb = np.asarray(image.convert("RGB"))
    assert ["#" + rgb[k, k].tobytes().hex() for k in (0, 2)] == [STOPS[0], STOPS[-1]]


def test_the_heat_map_tells_the_mean_of_every_block() -> None:
    cells = np.random.default_rng(0).random((300, 300))
    chart = charts.heatmap_chart(cells, [100, 250, 300], ["a", "b", "c"])
    blocks = next(t for t in tables(chart) if "mean" in t)
    edges = {"a": slice(0, 100), "b": slice(100, 250), "c": slice(250, 300)}
    for row, column, mean in blocks[["row", "column", "mean"]].itertuples(index=False):
        beside = ~np.eye(300, dtype=bool)[edges[row], edges[column]]
        assert mean == pytest.approx(cells[edges[row], edges[column]][beside].mean())
    assert len(chart.to_json()) < 200_000
    assert picture(charts.heatmap_chart(np.ones((2, 2)), [1, 2], ["a", "b"])).size == (2, 2)


def linear(colour: str) -> np.ndarray:
    s = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    x, y, z = np.cbrt(np.clip(rgb, 1e-6, 1) @ np.transpose(to_xyz) / [0.95047, 1, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira and Fernandes (2009), full severity.
VISION = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("vision", VISION)
def test_colours_can_be_told_apart(vision: str) -> None:
    seen = [lab(np.asarray(VISION[vision]) @ linear(colour)) for colour in look.COLOURS]
    distances = [np.linalg.norm(a - b) for k, a in enumerate(seen) for b in seen[:k]]
    assert min(distances) > 15  # two are just told apart at about 2.3


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_colours_are_seen_on_both_themes(background: str) -> None:
    def contrast(colour: str) -> float:
        light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert min(map(contrast, look.COLOURS)) > 2.2
    assert contrast(look.INK) > 3  # of lines


@pytest.mark.parametrize("name", CHARTS)
def test_words_beside_the_marks_have_the_colour_of_the_page(name: str) -> None:
    """No grey is dark enough on white and light enough on black: numbers on coloured cells alone have a colour."""
    assert [m for m in marks_of(CHARTS[name](("a", "b", "c")).to_dict()) if m["type"] == "text" and "color" in m] == []


@pytest.mark.parametrize("name", CHARTS)
def test_no_axis_of_names_leaves_one_out(name: str) -> None:
    for axis in name_axes(CHARTS[name](("a", "b", "c")).to_dict()):
        assert axis["labelOverlap"] is False


def name_axes(spec: Any) -> list[dict[str, Any]]:
    """The axes of names, however deep."""
    if isinstance(spec, list):
        return [axis for part in spec for axis in name_axes(part)]
    if not isinstance(spec, dict):
        return []
    shown = [spec.get("encoding", {}).get(side, {}) for side in ("x", "y")]
    own = [of["axis"] for of in shown if of.get("type") == "nominal" and of.get("axis")]
    return own + [a for key, part in spec.items() if key not in ("encoding", "datasets") for a in name_axes(part)]


def marks_of(spec: Any) -> list[dict[str, Any]]:
    """Every mark, however deep."""
    if isinstance(spec, list):
        return [mark for part in spec for mark in marks_of(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["mark"]] if isinstance(spec.get("mark"), dict) else []
    return own + [mark for key, part in spec.items() if key not in ("mark", "datasets") for mark in marks_of(part)]


def test_a_balance_of_no_class() -> None:
    empty = pd.DataFrame({"class": [], "rows": [], "share": []})
    assert all(table.empty for table in tables(charts.class_balance_chart(empty)))


def test_classes_that_look_alike_stay_apart() -> None:
    names = ("x" * 60 + "1" + "y" * 60, "x" * 60 + "2" + "y" * 60)
    assert len(set(look.distinct(names))) == 2
    for chart in (charts.class_balance_chart(balance(names)), charts.confusion_chart(confusion(names))):
        assert max(table.iloc[:, 0].nunique() for table in tables(chart)) == 2
    assert look.distinct(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (2)"]


def test_methods_keep_their_order_and_marks_stand_for_verdicts() -> None:
    names = ["own", "good", "bad", "same"]
    chart = charts.methods_chart(summary(names), "own")
    table = chart.layer[0].data
    assert table["name"].tolist() == names and table["mark"].tolist() == ["", "▲", "▼", ""]
    np.testing.assert_allclose(table["high"] - table["low"], [0.0, 0.04, 0.04, 0.03])  # clipped at 1
    assert table["kind"].tolist() == ["reference", "other", "other", "other"]


def test_learning_has_a_point_for_every_method_and_size() -> None:
    table = charts.learning_chart(learning(["a", "b"])).data
    assert sorted(zip(table["name"], table["rows"], strict=True)) == [("a", 40), ("a", 80), ("b", 40), ("b", 80)]


def test_27_classes_keep_all_their_names_and_print_no_zero() -> None:
    names = (*tuple(f"letter {chr(97 + k)}" for k in range(26)), "other")
    counts = pd.DataFrame(np.diag(np.arange(1, 28)), index=names, columns=names)
    counts.iloc[3, 4] = 2
    svg = charts.to_svg(charts.confusion_chart(counts), 560)
    assert all(svg.count(f">{name}<") == 2 for name in names)  # down and across
    assert ">0<" not in svg and svg.count('aria-roledescription="text mark"') == 28
    bars = charts.to_svg(charts.class_balance_chart(balance(names)), 400)
    assert all(f">{name}<" in bars for name in names)
    cells = charts.to_svg(charts.heatmap_chart(np.eye(54), range(2, 55, 2), names))
    assert all(cells.count(f">{name}<") == 2 for name in names)
    assert all(f">{name}<" in charts.to_svg(charts.projection_chart(projection(names, 90), names)) for name in names)


def test_the_diagonal_of_a_kernel_is_left_out_of_its_scale() -> None:
    cells = np.full((4, 4), 0.2) + 50 * np.eye(4)
    cells[0, 1] = cells[1, 0] = 0.4
    fill = charts.heatmap_chart(cells, [2, 4], ["a", "b"]).to_dict()["layer"][1]["encoding"]["fill"]
    assert fill["scale"]["domain"] == pytest.approx([0.2, 0.4])
    blocks = next(t for t in tables(charts.heatmap_chart(cells, [2, 4], ["a", "b"])) if "mean" in t)
    assert blocks["mean"].tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])


def test_a_map_of_many_wrong_rows_shows_some_and_says_so() -> None:
    table = projection(("a", "b"), 20_000)
    assert len(tables(charts.projection_chart(table))[1]) == 400
    assert map_note(table) == "4,000 of 20,000 rows are shown, evenly chosen; 400 of 4,000 wrong answers wear a ring."
    assert map_note(projection(("a", "b"))) == ""
