"""Multiple kernel learning over drawn sum-product networks, solved to a certified optimum."""

from spnmkl.compilation import announce_compilation
from spnmkl.errors import (
    DataError,
    KernelError,
    ModelFileError,
    ParameterError,
    SPNMKLError,
    StructureError,
)
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.kernels import kernel_names, kernel_schema, register_kernel
from spnmkl.selection import cross_validate_C, regularization_path
from spnmkl.solution import Certificate, Record, Solution
from spnmkl.solvers import C_min, TrivialSolutionWarning, solve
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

__version__ = "0.1.0"

announce_compilation()

__all__ = [
    "SPN",
    "C_min",
    "Certificate",
    "DataError",
    "Kernel",
    "KernelError",
    "ModelFileError",
    "ParameterError",
    "Product",
    "Record",
    "SPNMKLClassifier",
    "SPNMKLError",
    "Solution",
    "StructureError",
    "Sum",
    "TrivialSolutionWarning",
    "cross_validate_C",
    "kernel_names",
    "kernel_schema",
    "register_kernel",
    "regularization_path",
    "solve",
    "templates",
]
