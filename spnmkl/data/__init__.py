"""From a table on disk to the numbers that kernels see, and back for new samples."""

from spnmkl.data.filling import fill_template
from spnmkl.data.preparation import Preparation
from spnmkl.data.table import read_table, split_label

__all__ = ["Preparation", "fill_template", "read_table", "split_label"]
