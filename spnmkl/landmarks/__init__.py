"""More rows than a kernel matrix: weights from a sample, an SVM on all rows by landmarks of the circuit's kernel."""

from spnmkl.landmarks.entry import approximate, held_out_decisions
from spnmkl.landmarks.result import Approximation
from spnmkl.landmarks.sampling import Part, Sample, part_of, stratified

__all__ = ["Approximation", "Part", "Sample", "approximate", "held_out_decisions", "part_of", "stratified"]
