"""Which drawing? A search over structures by evidence, and what it found, with the reasons."""

from spnmkl.search.entry import SearchStep, suggest
from spnmkl.search.result import Outer, Suggestion, Suggestions
from spnmkl.search.scores import Score

__all__ = ["Outer", "Score", "SearchStep", "Suggestion", "Suggestions", "suggest"]
