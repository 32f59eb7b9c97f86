"""The errors a user can meet. Each message names the thing, what was expected, what was found, what to do."""

__all__ = ["DataError", "KernelError", "ModelFileError", "ParameterError", "SPNMKLError", "StructureError"]


class SPNMKLError(Exception):
    """Any error that spnmkl raises on purpose."""


class StructureError(SPNMKLError, ValueError):
    """The drawing is not a valid sum-product network, or is too large to compile."""


class KernelError(SPNMKLError, ValueError):
    """A base kernel, its parameters or a given kernel matrix is wrong."""


class DataError(SPNMKLError, ValueError):
    """The samples, labels or columns do not fit."""


class ParameterError(SPNMKLError, ValueError):
    """A setting such as C, λ or p is out of range."""


class ModelFileError(SPNMKLError, ValueError):
    """A model file cannot be read."""


class Stopped(Exception):
    """Ends a pass over the kernels that was asked to stop. Who asked catches it, so no user meets it."""
