"""From a table on disk to the numbers that kernels see, and back for new samples."""

from spnmkl.data.filling import fill_template, group_by_prefix
from spnmkl.data.preparation import Preparation, is_numeric
from spnmkl.data.table import drop_columns, read_table, split_label

__all__ = [
    "Preparation",
    "drop_columns",
    "fill_template",
    "group_by_prefix",
    "is_numeric",
    "read_table",
    "split_label",
]
