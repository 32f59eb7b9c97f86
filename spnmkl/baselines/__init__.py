"""Well-known ways to combine kernels, most of them presets of the engine (formulation, section 9), and methods over
columns, from scikit-learn.

A method takes what it sees of the training rows: matrices by the label of their kernel, so that all methods share those
of one split of the data, or prepared columns. It chooses C, and among its candidates, by cross-validation on these
rows; what it gives decides on others.
"""

from spnmkl.baselines.columns import ColumnMethod, ColumnModel, Columns, FittedColumns, column_methods
from spnmkl.baselines.methods import Method, compute_kernels
from spnmkl.baselines.models import Fitted, Learned, Model
from spnmkl.baselines.standard import baselines, sums_and_product, widths

__all__ = [
    "ColumnMethod",
    "ColumnModel",
    "Columns",
    "Fitted",
    "FittedColumns",
    "Learned",
    "Method",
    "Model",
    "baselines",
    "column_methods",
    "compute_kernels",
    "sums_and_product",
    "widths",
]
