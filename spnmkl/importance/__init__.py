"""What matters on rows that were not trained on: every view alone and all without it, and columns inside a view."""

from spnmkl.importance.column_result import ColumnFold, ColumnImportance
from spnmkl.importance.columns import column_importance
from spnmkl.importance.measuring import ViewFold
from spnmkl.importance.progress import ImportanceStep
from spnmkl.importance.result import Interval, ViewImportance
from spnmkl.importance.shares import held_out_shares
from spnmkl.importance.views import view_importance

__all__ = [
    "ColumnFold",
    "ColumnImportance",
    "ImportanceStep",
    "Interval",
    "ViewFold",
    "ViewImportance",
    "column_importance",
    "held_out_shares",
    "view_importance",
]
