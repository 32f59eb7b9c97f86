"""Kernels by name, and the schema of their parameters."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from spnmkl.errors import KernelError

# The base between some of the samples and others, written to memory that is given.
Among = Callable[[slice, slice, np.ndarray], np.ndarray]
ParameterType = Literal["float", "int", "choice", "float_or_choice"]

# Rows per block when a kernel without a diagonal function is asked for k(x, x).
_DIAGONAL_BLOCK = 32
_SINGLE_ROUNDING = 2.0**-24


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, with all that a form needs to ask for it.

    Parameters
    ----------
    name : str
        The keyword.
    type : {"float", "int", "choice", "float_or_choice"}
        What it takes.
    default : float, int or str
        Its value where none is given.
    minimum, maximum : float, default=None
        Bounds of a number; they belong to the range unless marked exclusive.
    exclusive_minimum, exclusive_maximum : bool, default=False
        Whether the bound itself is left out.
    choices : tuple of str, default=()
        The words that are allowed, for "choice" and "float_or_choice".
    multiples : bool, default=False
        Whether a word may have a factor above 0 before it, as in "4*median".
    help : str, default=""
        One line for the user.

    Examples
    --------
    >>> from spnmkl.kernels import Parameter
    >>> width = Parameter("width", "float", 1.0, minimum=0, exclusive_minimum=True)
    >>> width.accepts(0.5), width.accepts(0), width.expected()
    (True, False, 'a number above 0')
    """

    name: str
    type: ParameterType
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    choices: tuple[str, ...] = ()
    multiples: bool = False
    help: str = ""

    def accepts(self, value: Any) -> bool:
        """Whether a value is of its type and within its bounds.

        Parameters
        ----------
        value : object
            What was given.

        Returns
        -------
        bool
            True for a value that the kernel may get.
        """
        if isinstance(value, str):
            return self.type in ("choice", "float_or_choice") and (value in self.choices or self._is_multiple(value))
        if self.type == "choice" or isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        whole = self.type != "int" or number.is_integer()
        return math.isfinite(number) and whole and self._within_bounds(number)

    def _is_multiple(self, text: str) -> bool:
        times, _, word = text.rpartition("*")
        if not self.multiples or word not in self.choices:
            return False
        try:
            return 0 < float(times) < math.inf
        except ValueError:
            return False

    def _within_bounds(self, number: float) -> bool:
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        return (number > low if self.exclusive_minimum else number >= low) and (
            number < high if self.exclusive_maximum else number <= high
        )

    def convert(self, value: Any) -> Any:
        """An accepted value as the plain Python type the kernel receives.

        Parameters
        ----------
        value : float, int or str
            A value that `accepts` allows.

        Returns
        -------
        float, int or str
            The same value.
        """
        if isinstance(value, str):
            return value
        return int(value) if self.type == "int" else float(value)

    def expected(self) -> str:
        """The accepted values in words, for messages and forms.

        Returns
        -------
        str
            Such as "a number above 0, 'scale' or 'median'".
        """
        words = [f"'{choice}'" for choice in self.choices]
        if self.multiples:
            words.append(f"a multiple such as '4*{self.choices[-1]}'")
        if self.type != "choice":
            number = "a whole number" if self.type == "int" else "a number"
            words.insert(0, " ".join([number, " and ".join(self._bounds())]).rstrip())
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

    def _bounds(self) -> list[str]:
        bounds = []
        if self.minimum is not None:
            bounds.append(f"{'above' if self.exclusive_minimum else 'of at least'} {self.minimum:g}")
        if self.maximum is not None:
            bounds.append(f"{'below' if self.exclusive_maximum else 'of at most'} {self.maximum:g}")
        return bounds


@dataclass(frozen=True)
class RegisteredKernel:
    """A kernel function with its schema.

    With `finish`, the kernel is finish(function(X, Z, memory), out, **params): `function` gives what leaves with
    other parameters share (such as distances), and `finish` turns it into kernel values. `memory` is an array that it
    may write to, or None. `finish` leaves the base as it is unless `out` is the base itself. A kernel needs quantities
    (`nonnegative`: of 0 or more) unless it has `categories`: then it asks only whether values are equal, so that it may
    see the codes of text.

    `among` prepares samples for bases between parts of them, in their precision, where that is faster than `function`.
    Where only `differences` of samples matter, their mean is moved to the origin before. `roughness` is how many units
    in the last place of single precision a value may be wrong by, relative to the largest, if the base is computed in
    it; without one it never is. `sparse` kernels take samples in compressed rows (CSR) as well, and keep them so.
    """

    name: str
    function: Callable[..., np.ndarray] | None
    schema: tuple[Parameter, ...] = ()
    diagonal: Callable[..., np.ndarray] | None = None
    finish: Callable[..., np.ndarray] | None = None
    nonnegative: bool = False
    categories: bool = False
    among: Callable[[np.ndarray], Among] | None = None
    differences: bool = False
    roughness: Callable[..., float] | None = None
    sparse: bool = False

    def base(
        self, X: np.ndarray, Z: np.ndarray, params: Mapping[str, Any], memory: np.ndarray | None = None
    ) -> np.ndarray:
        """What `finished` makes kernel values of, (len(X), len(Z)): an array that may be overwritten."""
        assert self.function is not None, "precomputed leaves are refused before"
        return self.function(X, Z, memory) if self.finish is not None else self.function(X, Z, **params)

    def finished(self, base: np.ndarray, params: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
        """The kernel values, written to `out` or, without it, over the base."""
        out = base if out is None else out
        if self.finish is None:
            if out is not base:
                out[:] = base
            return out
        # Overflow is found by looking at the values.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.finish(base, out, **params)

    def between(self, X: np.ndarray, params: Mapping[str, Any], dtype: type[np.floating]) -> Among:
        """The base between parts of these samples, in a precision: that of doubles unless it has an `among`."""
        if self.among is None:
            return lambda rows, columns, memory: self.base(X[rows], X[columns], params, memory)
        return self.among(self._centred(X).astype(dtype))

    def single_error(self, X: np.ndarray, params: Mapping[str, Any]) -> float:
        """Of a value, relative to the largest, if the base is computed in single precision."""
        if self.among is None or self.roughness is None:
            return math.inf
        return _SINGLE_ROUNDING * self.roughness(self._centred(X), **params)

    def _centred(self, X: np.ndarray) -> np.ndarray:
        return X - X.mean(axis=0) if self.differences and not issparse(X) else X

    def self_similarity(self, X: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        """k(x, x) for every row, (len(X),)."""
        if self.diagonal is not None:
            return np.asarray(self.diagonal(X, **params), dtype=np.float64)
        blocks = (X[i : i + _DIAGONAL_BLOCK] for i in range(0, len(X), _DIAGONAL_BLOCK))
        parts = [np.diagonal(self.finished(self.base(B, B, params), params)) for B in blocks]
        return np.concatenate(parts)


_KERNELS: dict[str, RegisteredKernel] = {}


def add(kernel: RegisteredKernel) -> None:
    _KERNELS[kernel.name] = kernel


def find(name: str) -> RegisteredKernel | None:
    return _KERNELS.get(name)


def get(name: str) -> RegisteredKernel:
    if name not in _KERNELS:
        raise KernelError(unknown_kernel(f"Kernel {name!r}"))
    return _KERNELS[name]


def unknown_kernel(who: str) -> str:
    return f"{who} is unknown; use one of {', '.join(_KERNELS)}, or add it with register_kernel."


def kernel_names() -> tuple[str, ...]:
    """The names a kernel leaf can use, in order of registration.

    Returns
    -------
    tuple of str
        Built-in kernels first.

    Examples
    --------
    >>> from spnmkl import kernel_names
    >>> kernel_names()[:8]
    ('linear', 'polynomial', 'rbf', 'laplacian', 'chi2', 'cosine', 'hamming', 'precomputed')
    """
    return tuple(_KERNELS)


def kernel_schema(name: str) -> tuple[Parameter, ...]:
    """The parameters of a kernel, in the order a form shows them.

    Parameters
    ----------
    name : str
        One of `kernel_names`.

    Returns
    -------
    tuple of Parameter
        Empty for a kernel without parameters.

    Raises
    ------
    KernelError
        There is no such kernel.

    Examples
    --------
    >>> from spnmkl import kernel_schema
    >>> [(parameter.name, parameter.default) for parameter in kernel_schema("polynomial")]
    [('degree', 2), ('gamma', 'scale'), ('coef0', 1.0)]
    """
    return get(name).schema


def register_kernel(
    name: str,
    function: Callable[..., np.ndarray],
    schema: Iterable[Parameter] = (),
    *,
    diagonal: Callable[..., np.ndarray] | None = None,
    categories: bool = False,
    replace: bool = False,
) -> None:
    """Make a kernel of your own available under a name.

    Parameters
    ----------
    name : str
        What a leaf calls it.
    function : callable
        ``function(X, Z, **params)`` returns the (len(X), len(Z)) kernel values; it must be symmetric and
        positive semidefinite, which is checked on the training matrix. Parameters arrive as given: words
        such as "scale" are not turned into numbers.
    schema : iterable of Parameter, default=()
        One entry for each keyword that `function` takes.
    diagonal : callable, default=None
        ``diagonal(X, **params)`` returns k(x, x) for each row; without it `function` is used, block by block.
    categories : bool, default=False
        Whether it may see columns of text, each value as a code of which it asks only whether it is equal to another.
        Other kernels would take codes for quantities and are refused there.
    replace : bool, default=False
        Whether a kernel of the same name may be replaced.

    Raises
    ------
    KernelError
        The name is taken, or the schema does not fit.

    Examples
    --------
    >>> from spnmkl import Kernel, SPNMKLClassifier, register_kernel, templates
    >>> from spnmkl.kernels import Parameter
    >>> def cauchy(X, Z, width):
    ...     return 1 / (1 + ((X[:, None] - Z[None]) ** 2).sum(-1) / width**2)
    >>> width = Parameter("width", "float", 1.0, minimum=0, exclusive_minimum=True)
    >>> register_kernel("cauchy", cauchy, [width], replace=True)
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat([Kernel("cauchy", width=0.5), Kernel("cauchy", width=2)])
    >>> SPNMKLClassifier(spn).fit(X / X.std(axis=0), y).status_
    'optimal'
    """
    schema = tuple(schema)
    if not isinstance(name, str) or not name:
        raise KernelError(f"A kernel's name must be a word, but {name!r} was given.")
    if name in _KERNELS and not replace:
        raise KernelError(f"Kernel {name!r} exists already; choose another name or pass replace=True.")
    if not callable(function) or not (diagonal is None or callable(diagonal)):
        raise KernelError(f"Kernel {name!r} needs functions, function(X, Z, **params) and diagonal(X, **params).")
    if len({parameter.name for parameter in schema}) < len(schema):
        raise KernelError(f"Kernel {name!r} names a parameter twice; give each parameter once.")
    for parameter in schema:
        if not parameter.accepts(parameter.default):
            raise KernelError(
                f"Kernel {name!r} needs the default of {parameter.name} to be {parameter.expected()}, "
                f"but it is {parameter.default!r}."
            )
    add(RegisteredKernel(name, _guarded(name, function), schema, diagonal, categories=categories))


def _guarded(name: str, function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def values(X: np.ndarray, Z: np.ndarray, **params: Any) -> np.ndarray:
        # A copy, because normalisation overwrites it and the function may keep what it hands out.
        K = np.array(function(X, Z, **params), dtype=np.float64, order="C")
        if K.shape != (len(X), len(Z)):
            raise KernelError(
                f"Kernel {name!r} must return one row per row of X and one column per row of Z; "
                f"found shape {K.shape} instead of {(len(X), len(Z))}."
            )
        return K

    return values
