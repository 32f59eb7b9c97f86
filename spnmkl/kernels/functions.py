"""The built-in kernels: linear, polynomial, rbf, laplacian, chi2, cosine, hamming and precomputed."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize

from spnmkl.kernels import compiled
from spnmkl.kernels.matrices import spread_rows
from spnmkl.kernels.registry import Among, Parameter, RegisteredKernel, add

Loop = Callable[[np.ndarray, np.ndarray, np.ndarray], object]
# Up to here our own loop, which has no cancellation, is as fast as a matrix product.
_FEW_COLUMNS = 16
_MEDIAN_ROWS = 1000
_LARGEST_SINGLE = 1e30  # of values that are computed in single precision, which ends at 3e38; the least is its inverse


def resolve_gamma(choice: str, X: np.ndarray, base: Callable[[np.ndarray], np.ndarray]) -> float:
    """The number behind gamma = "scale" or "median", or a multiple of it such as "4*median".

    "scale" is 1 / (columns · variance of X); "median" is 1 / (median of `base` over pairs of rows), where
    `base` gives, between some rows, the distances the kernel decays with: squared Euclidean, L1 or χ². At most
    1000 rows, evenly spread, enter the median, and where more than half of the pairs coincide, the mean takes
    its place. Without any spread gamma is 1: a decaying kernel is then constant whatever it is.
    """
    times, _, word = choice.rpartition("*")
    typical = _variance(X) * X.shape[1] if word == "scale" else _typical_pair(X, base)
    return float(times or 1) * float(1 / typical) if typical > np.finfo(np.float64).tiny else 1.0


def _rounding(X: np.ndarray) -> float:
    """A difference between values of X that may be rounding alone and must not be inverted."""
    return 16 * np.finfo(np.float64).eps * max(X.max(), -X.min())


def _variance(X: np.ndarray) -> float:
    variance = _squared_norm(X).sum() / np.prod(X.shape) - X.mean() ** 2 if issparse(X) else X.var()
    return variance if variance > _rounding(X) ** 2 else 0.0


def _typical_pair(X: np.ndarray, base: Callable[[np.ndarray], np.ndarray]) -> float:
    if (X.max(axis=0) - X.min(axis=0)).max() <= _rounding(X):
        return 0.0
    rows = spread_rows(X.shape[0], _MEDIAN_ROWS)
    pairs = base(rows)[np.triu_indices(len(rows), k=1)]
    median, mean = np.median(pairs), pairs.mean()
    return median if median > 1e-12 * mean else mean


def _inner_product(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None = None) -> np.ndarray:
    return (X @ Z.T).toarray(out=memory) if issparse(X) else np.matmul(X, Z.T, out=memory)


def _inner_product_among(X: np.ndarray) -> Among:
    if issparse(X):
        return _sparse_product_among(X)
    return lambda rows, columns, memory: _inner_product(X[rows], X[columns], memory)


def _sparse_product_among(X: Any) -> Among:
    columns_of = X.T.tocsr()  # which would be made anew for every tile

    def block(rows: slice, columns: slice, memory: np.ndarray) -> np.ndarray:
        memory[:] = (X[rows] @ columns_of).toarray()[:, columns]
        return memory

    return block


def _cosine_among(X: np.ndarray) -> Among:
    return _inner_product_among(normalize(X))


def _squared_norm(X: Any) -> np.ndarray:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if issparse(X) else np.einsum("ij,ij->i", X, X)


def _by_differences(loop: Loop) -> Callable[..., np.ndarray]:
    """What a compiled loop over the columns gives for every pair of rows."""

    def base(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None = None) -> np.ndarray:
        out = np.empty((len(X), len(Z)), X.dtype) if memory is None else memory
        # One layout, writable, for which it is compiled.
        loop(np.require(X, requirements=("C", "W")), np.require(Z.T, requirements=("C", "W")), out)
        return out

    return base


def _differences_among(loop: Loop) -> Callable[[np.ndarray], Among]:
    base = _by_differences(loop)

    def among(X: np.ndarray) -> Among:
        columnwise = np.asfortranarray(X)  # whose transpose is what the loop reads
        return lambda rows, columns, memory: base(X[rows], columnwise[columns], memory)

    return among


_few_squares = _by_differences(compiled.squared_differences)
_few_squares_among = _differences_among(compiled.squared_differences)


def _squared_distance(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
    if X.shape[1] <= _FEW_COLUMNS and not issparse(X):
        return _few_squares(X, Z, memory)
    # |x|² − 2xz + |z|² loses the digits of a common offset; distances do not change without it.
    offset = 0 if issparse(X) else Z.mean(axis=0)  # sparse samples would no longer be so
    to = Z - offset
    of = to if X is Z else X - offset
    distance = _expanded(_inner_product(of, to, memory), _squared_norm(of), _squared_norm(to))
    if X is Z:
        np.fill_diagonal(distance, 0)
    return distance


def _squared_distance_among(X: np.ndarray) -> Among:
    if X.shape[1] <= _FEW_COLUMNS and not issparse(X):
        return _few_squares_among(X)
    norm, product = _squared_norm(X), _inner_product_among(X)
    return lambda rows, columns, memory: _expanded(product(rows, columns, memory), norm[rows], norm[columns])


def _expanded(product: np.ndarray, of_norm: np.ndarray, to_norm: np.ndarray) -> np.ndarray:
    """|x|² − 2xz + |z|², written over the products."""
    product *= -2
    product += of_norm[:, None]
    product += to_norm
    return np.maximum(product, 0, out=product)


def _hamming(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    distance = cdist(X, Z, "hamming")
    return np.subtract(1.0, distance, out=distance)


def _decay(distance: np.ndarray, out: np.ndarray, gamma: float) -> np.ndarray:
    compiled.decay(distance, distance.dtype.type(gamma), out)
    return out


def _power(product: np.ndarray, out: np.ndarray, degree: int, gamma: float, coef0: float) -> np.ndarray:
    number = product.dtype.type
    compiled.power(product, degree, number(gamma), number(coef0), out)
    return out


def _power_diagonal(X: np.ndarray, degree: int, gamma: float, coef0: float) -> np.ndarray:
    norm = _squared_norm(X)[None]
    return _power(norm, norm, degree, gamma, coef0)[0]


def _ones(X: np.ndarray, **params: float) -> np.ndarray:
    return np.ones(X.shape[0])


def _nonzero(X: np.ndarray) -> np.ndarray:
    return (_squared_norm(X) > 0).astype(np.float64)


def _largest_norm(X: np.ndarray) -> float:
    return float(_squared_norm(X).max())


def _in_range(*values: float) -> bool:
    """Whether single precision can hold numbers of this size, and what is somewhat smaller or larger."""
    return all(1 / _LARGEST_SINGLE < value < _LARGEST_SINGLE for value in values)


def _rough_product(X: np.ndarray) -> float:
    return 1.0 if _in_range(_largest_norm(X)) else np.inf


def _rough_power(X: np.ndarray, degree: int, gamma: float, coef0: float) -> float:
    norm = _largest_norm(X)
    largest = degree * np.log(gamma * norm + coef0 + 1)
    return float(degree) if _in_range(gamma, norm) and largest < np.log(_LARGEST_SINGLE) else np.inf


def _rough_square(X: np.ndarray, gamma: float) -> float:
    norm = _largest_norm(X)
    return 4 * gamma * norm if _in_range(gamma, norm) else np.inf  # |x − z|² and what is cancelled are at most as much


def _rough_sum(X: np.ndarray, gamma: float) -> float:
    norm = float(np.abs(X).sum(axis=1).max())
    return 2 * gamma * norm if _in_range(gamma, norm, norm**2) else np.inf  # χ² squares differences


def _gamma(default: str, choices: tuple[str, ...], help: str, multiples: bool = False) -> Parameter:
    return Parameter(
        "gamma",
        "float_or_choice",
        default,
        0.0,
        exclusive_minimum=True,
        choices=choices,
        multiples=multiples,
        help=help,
    )


def _width(default: str, help: str) -> Parameter:
    """How fast a kernel decays: by a number, or by the data."""
    return _gamma(default, ("scale", "median"), help, multiples=True)


for _kernel in (
    RegisteredKernel(
        "linear",
        _inner_product,
        diagonal=_squared_norm,
        among=_inner_product_among,
        roughness=_rough_product,
        sparse=True,
    ),
    RegisteredKernel(
        "polynomial",
        _inner_product,
        (
            Parameter("degree", "int", 2, 1, 100, help="Highest power of a product of columns."),
            _gamma("scale", ("scale",), "Factor of the inner product; scale: 1 / (columns · variance)."),
            Parameter("coef0", "float", 1.0, 0.0, help="Added before the power; 0 keeps the highest power alone."),
        ),
        _power_diagonal,
        _power,
        among=_inner_product_among,
        roughness=_rough_power,
        sparse=True,
    ),
    RegisteredKernel(
        "rbf",
        _squared_distance,
        (_width("scale", "Decay with the squared distance; larger is more local."),),
        _ones,
        _decay,
        among=_squared_distance_among,
        differences=True,
        roughness=_rough_square,
        sparse=True,
    ),
    RegisteredKernel(
        "laplacian",
        _by_differences(compiled.absolute_differences),
        (_width("median", "Decay with the sum of absolute differences; larger is more local."),),
        _ones,
        _decay,
        among=_differences_among(compiled.absolute_differences),
        differences=True,
        roughness=_rough_sum,
    ),
    RegisteredKernel(
        "chi2",
        _by_differences(compiled.chi2_differences),
        (_width("median", "Decay with the χ² distance of histograms; larger is more local."),),
        _ones,
        _decay,
        nonnegative=True,
        among=_differences_among(compiled.chi2_differences),
        roughness=_rough_sum,
    ),
    RegisteredKernel(
        "cosine", cosine_similarity, diagonal=_nonzero, among=_cosine_among, roughness=_rough_product, sparse=True
    ),
    RegisteredKernel("hamming", _hamming, diagonal=_ones, categories=True),
    RegisteredKernel("precomputed", None, categories=True),  # sees no columns
):
    add(_kernel)
