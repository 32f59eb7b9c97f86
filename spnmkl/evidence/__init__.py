"""Evidence weights: what the labels say for the weights of a drawing, by a Gaussian process classifier."""

from spnmkl.evidence.entry import fit_evidence
from spnmkl.evidence.solution import EvidenceSolution

__all__ = ["EvidenceSolution", "fit_evidence"]
