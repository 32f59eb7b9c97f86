"""The errors a user can meet. Each message names the thing, what was expected, what was found, what to do."""

__all__ = [
    "DataError",
    "KernelError",
    "ModelFileError",
    "ParameterError",
    "SPNMKLError",
    "StructureError",
    "WorkspaceError",
]


class SPNMKLError(Exception):
    """Any error that spnmkl raises on purpose; the others here are kinds of it.

    Examples
    --------
    >>> from spnmkl import SPN, SPNMKLError
    >>> try:
    ...     SPN.from_json("{}")
    ... except SPNMKLError as error:
    ...     print(type(error).__name__)
    StructureError
    """


class StructureError(SPNMKLError, ValueError):
    """The drawing is not a valid sum-product network, or is too large to compile.

    Examples
    --------
    >>> from spnmkl import SPN, StructureError, Sum
    >>> try:
    ...     SPN(Sum()).check()
    ... except StructureError as error:
    ...     print(error)
    The top sum has no child; put a product below it.
    """


class KernelError(SPNMKLError, ValueError):
    """A base kernel, its parameters or a given kernel matrix is wrong.

    Examples
    --------
    >>> from spnmkl import KernelError, kernel_schema
    >>> try:
    ...     kernel_schema("rbg")
    ... except KernelError as error:
    ...     print(str(error)[:27])
    Kernel 'rbg' is unknown; us
    """


class DataError(SPNMKLError, ValueError):
    """The samples, labels or columns do not fit.

    Examples
    --------
    >>> from spnmkl import DataError
    >>> issubclass(DataError, ValueError)
    True
    """


class ParameterError(SPNMKLError, ValueError):
    """A setting such as C, λ or p is out of range.

    Examples
    --------
    >>> from spnmkl import ParameterError, solve, templates
    >>> try:
    ...     solve(templates.figure1(), {}, [], tol=2)
    ... except ParameterError as error:
    ...     print(error)
    tol must be a number between 0 and 1, but it is 2 (int); choose for example 1e-3.
    """


class ModelFileError(SPNMKLError, ValueError):
    """A model file cannot be read.

    Examples
    --------
    >>> from spnmkl import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class WorkspaceError(SPNMKLError, OSError):
    """The workspace on disk cannot be read or written.

    Examples
    --------
    >>> from spnmkl.errors import SPNMKLError, WorkspaceError
    >>> issubclass(WorkspaceError, SPNMKLError)
    True
    """


class Stopped(Exception):
    """Ends work that was asked to stop: a pass over the kernels, a job. Who asked catches it, so no user meets it."""
