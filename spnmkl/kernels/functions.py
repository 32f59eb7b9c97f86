"""The built-in kernels: linear, polynomial, rbf, laplacian, chi2, cosine, hamming and precomputed."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel, cosine_similarity

from spnmkl.kernels.matrices import spread_rows
from spnmkl.kernels.registry import Parameter, RegisteredKernel, add

# Up to here scipy's loop, which has no cancellation, is as fast as a matrix product.
_FEW_COLUMNS = 16
_MEDIAN_ROWS = 1000


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
    return 16 * np.finfo(np.float64).eps * np.abs(X).max()


def _variance(X: np.ndarray) -> float:
    variance = X.var()
    return variance if variance > _rounding(X) ** 2 else 0.0


def _typical_pair(X: np.ndarray, base: Callable[[np.ndarray], np.ndarray]) -> float:
    if np.ptp(X, axis=0).max() <= _rounding(X):
        return 0.0
    rows = spread_rows(len(X), _MEDIAN_ROWS)
    pairs = base(rows)[np.triu_indices(len(rows), k=1)]
    median, mean = np.median(pairs), pairs.mean()
    return median if median > 1e-12 * mean else mean


def _inner_product(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None = None) -> np.ndarray:
    return np.matmul(X, Z.T, out=memory)


def _squared_norm(X: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, X)


def _squared_distance(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
    if X.shape[1] <= _FEW_COLUMNS:
        return cdist(X, Z, "sqeuclidean", out=memory)
    # |x|² − 2xz + |z|² loses the digits of a common offset; distances do not change without it.
    offset = Z.mean(axis=0)
    to = Z - offset
    of = to if X is Z else X - offset
    distance = np.matmul(of, -2 * to.T, out=memory)
    distance += _squared_norm(of)[:, None]
    distance += _squared_norm(to)
    np.maximum(distance, 0, out=distance)
    if X is Z:
        np.fill_diagonal(distance, 0)
    return distance


def _city_block(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
    return cdist(X, Z, "cityblock", out=memory)


def _chi2_distance(X: np.ndarray, Z: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
    # scikit-learn's loop wants arrays that could be written to; those of a data frame often cannot.
    values = additive_chi2_kernel(np.require(X, requirements="W"), np.require(Z, requirements="W"))
    return np.negative(values, out=values)


def _hamming(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    distance = cdist(X, Z, "hamming")
    return np.subtract(1.0, distance, out=distance)


def _decay(distance: np.ndarray, out: np.ndarray, gamma: float) -> np.ndarray:
    np.multiply(distance, -gamma, out=out)
    return np.exp(out, out=out)


def _power(product: np.ndarray, out: np.ndarray, degree: int, gamma: float, coef0: float) -> np.ndarray:
    np.multiply(product, gamma, out=out)
    out += coef0
    return np.power(out, degree, out=out)


def _power_diagonal(X: np.ndarray, degree: int, gamma: float, coef0: float) -> np.ndarray:
    norm = _squared_norm(X)
    return _power(norm, norm, degree, gamma, coef0)


def _ones(X: np.ndarray, **params: float) -> np.ndarray:
    return np.ones(len(X))


def _nonzero(X: np.ndarray) -> np.ndarray:
    return (_squared_norm(X) > 0).astype(np.float64)


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
    RegisteredKernel("linear", _inner_product, diagonal=_squared_norm),
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
    ),
    RegisteredKernel(
        "rbf",
        _squared_distance,
        (_width("scale", "Decay with the squared distance; larger is more local."),),
        _ones,
        _decay,
    ),
    RegisteredKernel(
        "laplacian",
        _city_block,
        (_width("median", "Decay with the sum of absolute differences; larger is more local."),),
        _ones,
        _decay,
    ),
    RegisteredKernel(
        "chi2",
        _chi2_distance,
        (_width("median", "Decay with the χ² distance of histograms; larger is more local."),),
        _ones,
        _decay,
        nonnegative=True,
    ),
    RegisteredKernel("cosine", cosine_similarity, diagonal=_nonzero),
    RegisteredKernel("hamming", _hamming, diagonal=_ones, categories=True),
    RegisteredKernel("precomputed", None, categories=True),  # sees no columns
):
    add(_kernel)
