"""Base kernels by name: parameters, normalisation, matrices for training and for new samples."""

from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.kernels.examination import KernelIssue, examine_kernels
from spnmkl.kernels.fitting import (
    FittedKernel,
    cross_kernels,
    fit_kernel,
    fit_kernels,
    kernels_between,
    restrict_kernels,
)
from spnmkl.kernels.matrices import alignment, check_matrix
from spnmkl.kernels.normalization import NORMALIZATIONS
from spnmkl.kernels.registry import Parameter, kernel_names, kernel_schema, register_kernel
from spnmkl.kernels.source import CrossSource
from spnmkl.kernels.tiles import TileSource, fit_source, fit_tiles
from spnmkl.kernels.validation import validate_kernels

__all__ = [
    "NORMALIZATIONS",
    "CrossSource",
    "FittedKernel",
    "KernelIssue",
    "KernelSource",
    "MatrixSource",
    "Parameter",
    "TileSource",
    "alignment",
    "check_matrix",
    "cross_kernels",
    "examine_kernels",
    "fit_kernel",
    "fit_kernels",
    "fit_source",
    "fit_tiles",
    "kernel_names",
    "kernel_schema",
    "kernels_between",
    "register_kernel",
    "restrict_kernels",
    "validate_kernels",
]
