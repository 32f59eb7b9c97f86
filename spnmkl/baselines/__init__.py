"""Well-known ways to combine kernels, one interface for all: most are presets of the engine (formulation, section 9).

A method takes matrices by the label of their kernel, so that all methods share those of one split of the data, and
chooses C, and among its candidates, by cross-validation on the rows it is given.
"""

from spnmkl.baselines.methods import Method, compute_kernels
from spnmkl.baselines.models import Fitted, Learned, Model
from spnmkl.baselines.standard import baselines, sums_and_product, widths

__all__ = ["Fitted", "Learned", "Method", "Model", "baselines", "compute_kernels", "sums_and_product", "widths"]
