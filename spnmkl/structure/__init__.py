"""The drawing: nodes, graph, validation, paths, formula, templates, JSON. Knows no data and no numbers."""

from spnmkl.structure import templates
from spnmkl.structure.graph import SPN
from spnmkl.structure.nodes import Kernel, KernelSpec, Product, Sum
from spnmkl.structure.paths import Path
from spnmkl.structure.sparsity import Prunable
from spnmkl.structure.validation import MAX_NODES, Issue

__all__ = ["MAX_NODES", "SPN", "Issue", "Kernel", "KernelSpec", "Path", "Product", "Prunable", "Sum", "templates"]
