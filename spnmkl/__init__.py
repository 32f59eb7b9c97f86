"""Multiple kernel learning over drawn sum-product networks, solved to a certified optimum."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spnmkl import templates
    from spnmkl.errors import (
        DataError,
        KernelError,
        ModelFileError,
        ParameterError,
        SPNMKLError,
        StructureError,
    )
    from spnmkl.estimator import SPNMKLClassifier
    from spnmkl.evidence import EvidenceSolution, fit_evidence
    from spnmkl.kernels import kernel_names, kernel_schema, register_kernel
    from spnmkl.selection import cross_validate_C, regularization_path
    from spnmkl.solution import Certificate, Record, Solution
    from spnmkl.solvers import C_min, TrivialSolutionWarning, solve
    from spnmkl.structure import SPN, Kernel, Product, Sum
    from spnmkl.study.nested import nested_scores

__version__ = "0.2.0"

__all__ = [
    "SPN",
    "C_min",
    "Certificate",
    "DataError",
    "EvidenceSolution",
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
    "fit_evidence",
    "kernel_names",
    "kernel_schema",
    "nested_scores",
    "register_kernel",
    "regularization_path",
    "solve",
    "templates",
]

# A name is looked up in its module when it is first asked for: a drawing needs no numpy, and help no scikit-learn.
_HOME = {
    "errors": ["DataError", "KernelError", "ModelFileError", "ParameterError", "SPNMKLError", "StructureError"],
    "estimator": ["SPNMKLClassifier"],
    "evidence": ["EvidenceSolution", "fit_evidence"],
    "kernels": ["kernel_names", "kernel_schema", "register_kernel"],
    "selection": ["cross_validate_C", "regularization_path"],
    "solution": ["Certificate", "Record", "Solution"],
    "solvers": ["C_min", "TrivialSolutionWarning", "solve"],
    "structure": ["SPN", "Kernel", "Product", "Sum"],
    "study.nested": ["nested_scores"],
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
_PARTS = {
    *(set(_HOME) - {"study.nested"}),
    "baselines",
    "charts",
    "data",
    "export",
    "importance",
    "inspection",
    "model_file",
    "search",
    "templates",
}


def __getattr__(name: str) -> Any:
    if name in _MODULE:
        found = getattr(import_module(f"spnmkl.{_MODULE[name]}"), name)
        globals()[name] = found
        return found
    if name in _PARTS:
        return import_module(f"spnmkl.{name}")
    raise AttributeError(f"module 'spnmkl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
