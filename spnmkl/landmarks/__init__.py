"""More rows than a kernel matrix: weights from a sample, an SVM on all rows by landmarks of the circuit's kernel."""

from spnmkl.landmarks.entry import approximate, held_out_decisions
from spnmkl.landmarks.estimate import Estimate
from spnmkl.landmarks.result import Approximation, warn_of_rough_svm
from spnmkl.landmarks.sampling import Part, Sample, part_of, sampled_part, stratified

__all__ = [
    "Approximation",
    "Estimate",
    "Part",
    "Sample",
    "approximate",
    "held_out_decisions",
    "part_of",
    "sampled_part",
    "stratified",
    "warn_of_rough_svm",
]
