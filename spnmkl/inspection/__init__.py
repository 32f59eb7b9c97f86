"""Understanding a solution: what carries the decision, for all samples or for one, and what if it were otherwise.

The decision function is f = Σ_m f_m + b over the paths, ‖f_m‖² = g_m q_m. The share of a path *on training rows* is
g_m q_m over the total; its *held-out share*, which says what matters, is its part of y·f on rows that were not trained
on. The share of anything else (a product, a sum, a kernel, a view) is that of all paths through it.
"""

from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.inspection.complexity import ComplexityBound, complexity_bound
from spnmkl.inspection.gradient import decision_gradient
from spnmkl.inspection.held_out import DecisionParts, HeldOutShares, Share, decision_parts
from spnmkl.inspection.refitting import refit
from spnmkl.inspection.samples import node_kernel, sample_contributions
from spnmkl.inspection.shares import Carried, Shares, decision_shares, heaviest_paths, path_shares, view_shares

__all__ = [
    "Carried",
    "ComplexityBound",
    "DecisionParts",
    "HeldOutShares",
    "Share",
    "Shares",
    "WeightedPath",
    "complexity_bound",
    "decision_gradient",
    "decision_parts",
    "decision_shares",
    "heaviest_paths",
    "node_kernel",
    "path_shares",
    "refit",
    "sample_contributions",
    "view_shares",
]
