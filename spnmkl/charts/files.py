"""Charts as files, made without the internet."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd

from spnmkl.charts.look import AnyChart
from spnmkl.export.packages import optional

WIDTH = 640
FONT = "'Source Sans Pro', 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_TEXT, _LINE, _GRID = "#31333f", "#c4cad3", "#eceff3"
_CONFIG = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titlePadding": 8,
        "gridColor": _GRID,
        "domainColor": _LINE,
        "tickColor": _LINE,
    },
    "legend": {
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
    },
    "text": {"fontSize": 12, "color": _TEXT},
}
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>Chart</title>
<style>body {{ margin: 24px; background: white; }}</style>
</head>
<body>
<div id="chart"></div>
<script>{libraries}</script>
<script>vegaEmbed("#chart", {spec}, {options}).catch(console.error);</script>
</body>
</html>
"""


def to_svg(chart: AnyChart, width: int = WIDTH) -> str:
    """The chart as SVG on white.

    Parameters
    ----------
    chart : altair.Chart or altair.LayerChart
        As the functions here give it.
    width : int, default=640
        For a chart that has none of its own.

    Returns
    -------
    str
        The SVG.

    Raises
    ------
    SPNMKLError
        The package vl-convert-python is not installed.

    Examples
    --------
    >>> import altair as alt, pandas as pd
    >>> from spnmkl.charts import to_svg
    >>> to_svg(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")).startswith("<svg")
    True
    """
    return str(_converter().vegalite_to_svg(_spec(chart, width), config=_CONFIG, allowed_base_urls=[]))


def to_png(chart: AnyChart, width: int = WIDTH, scale: float = 2.0) -> bytes:
    """The chart in pixels.

    Parameters
    ----------
    chart : altair.Chart or altair.LayerChart
        As the functions here give it.
    width : int, default=640
        For a chart that has none of its own.
    scale : float, default=2.0
        Pixels per unit.

    Returns
    -------
    bytes
        The PNG.

    Raises
    ------
    SPNMKLError
        The package vl-convert-python is not installed.

    Examples
    --------
    >>> import altair as alt, pandas as pd
    >>> from spnmkl.charts import to_png
    >>> to_png(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q"))[1:4]
    b'PNG'
    """
    spec = _spec(chart, width)
    return bytes(_converter().vegalite_to_png(spec, config=_CONFIG, allowed_base_urls=[], scale=scale))


def to_html(chart: AnyChart, width: int = WIDTH) -> str:
    """The chart as a page of its own with its tooltips, which needs no internet.

    Parameters
    ----------
    chart : altair.Chart or altair.LayerChart
        As the functions here give it.
    width : int, default=640
        For a chart that has none of its own.

    Returns
    -------
    str
        The page.

    Raises
    ------
    SPNMKLError
        The package vl-convert-python is not installed.

    Examples
    --------
    >>> import altair as alt, pandas as pd
    >>> from spnmkl.charts import to_html
    >>> "<html" in to_html(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q"))
    True
    """
    # The menu keeps what works offline: no link to an editor on the internet.
    options = {"renderer": "svg", "config": _CONFIG, "actions": {"export": True, "source": False, "editor": False}}
    # Written by hand, because vl-convert's own page takes a tag in a name for markup.
    return _PAGE.format(libraries=_libraries(), spec=_script(_spec(chart, width)), options=_script(options))


@lru_cache(maxsize=1)
def _libraries() -> str:
    return str(_converter().javascript_bundle()).replace("</script", "<\\/script")


def _script(document: dict[str, Any]) -> str:
    """JSON inside a script, where a text must not end it."""
    return json.dumps(document).replace("<", "\\u003c")


def _converter() -> Any:
    return optional("vl_convert", "vl-convert-python", "A chart as a file")


def _spec(chart: AnyChart, width: int) -> dict[str, Any]:
    spec = _inlined(chart).to_dict()
    if "width" not in spec:
        spec |= {"width": width, "autosize": {"type": "fit", "contains": "padding"}}  # as Streamlit does it
    return spec


def _inlined(chart: Any) -> Any:
    """A copy that carries its tables itself: what Altair does with tables is a setting of the whole process, which
    a page that is drawn at the same moment may have changed."""
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        copy.data = alt.Data(values=json.loads(copy.data.to_json(orient="records", double_precision=15)))
    if isinstance(copy, alt.LayerChart):
        copy.layer = [_inlined(inner) for inner in copy.layer]
    return copy
