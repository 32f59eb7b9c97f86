"""What matters on rows that were not trained on: every view alone and all without it, and columns inside a view."""

from spnmkl.importance.measuring import FoldScores
from spnmkl.importance.result import Interval, ViewImportance
from spnmkl.importance.views import ImportanceStep, view_importance

__all__ = [
    "FoldScores",
    "ImportanceStep",
    "Interval",
    "ViewImportance",
    "view_importance",
]
