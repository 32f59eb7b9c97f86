"""Choosing C: the regularisation path and cross-validation, warm-started, with the weights kept at every point."""

from spnmkl.selection.cross_validation import cross_validate_C
from spnmkl.selection.grid import default_grid
from spnmkl.selection.path import regularization_path
from spnmkl.selection.results import CrossValidation, PathPoint, RegularizationPath

__all__ = [
    "CrossValidation",
    "PathPoint",
    "RegularizationPath",
    "cross_validate_C",
    "default_grid",
    "regularization_path",
]
