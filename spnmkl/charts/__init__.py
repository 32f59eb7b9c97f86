"""Charts in Altair, from plain tables."""

from spnmkl.charts.calibration import reliability_chart
from spnmkl.charts.comparison import learning_chart, methods_chart
from spnmkl.charts.explanation import MOST_RANKED, heatmap_chart, pushes_chart, ranking_chart
from spnmkl.charts.files import to_html, to_png, to_svg
from spnmkl.charts.importance import columns_chart, importance_chart
from spnmkl.charts.results import class_balance_chart, confusion_chart, projection_chart, roc_chart
from spnmkl.charts.selection import cv_chart, path_chart, stability_chart
from spnmkl.charts.shapes import find_shape, shape_chart
from spnmkl.charts.training import compare_convergence_chart, convergence_chart, weights_chart

__all__ = [
    "MOST_RANKED",
    "class_balance_chart",
    "columns_chart",
    "compare_convergence_chart",
    "confusion_chart",
    "convergence_chart",
    "cv_chart",
    "find_shape",
    "heatmap_chart",
    "importance_chart",
    "learning_chart",
    "methods_chart",
    "path_chart",
    "projection_chart",
    "pushes_chart",
    "ranking_chart",
    "reliability_chart",
    "roc_chart",
    "shape_chart",
    "stability_chart",
    "to_html",
    "to_png",
    "to_svg",
    "weights_chart",
]
