"""Every complaint about kernels with its exact sentence."""

import numpy as np
import pytest

from spnmkl.errors import DataError, KernelError
from spnmkl.kernels import (
    Parameter,
    alignment,
    check_matrix,
    fit_kernel,
    fit_kernels,
    kernel_schema,
    register_kernel,
    registry,
    validate_kernels,
)
from spnmkl.structure import SPN, Issue, Kernel, KernelSpec, Product, Sum

X = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [2.0, 2.0, 1.0], [0.0, 1.0, 4.0]])
NAMES = ["height", "width", "depth"]
RBF_GAMMA = "needs gamma to be a number above 0, 'scale', 'median' or a multiple such as '4*median'"
KNOWN = "linear, polynomial, rbf, laplacian, chi2, cosine, hamming, precomputed"

# Leaf, code of the issue, sentence after "Kernel '…' of leaf 'left'".
SPECIFICATIONS = [
    (
        Kernel("gauss"),
        "unknown_kernel",
        f"is unknown; use one of {KNOWN}, or add it with register_kernel.",
    ),
    (Kernel("rbf", degree=2), "unknown_parameter", "has no parameter 'degree'; it takes gamma."),
    (Kernel("linear", gamma=2), "unknown_parameter", "has no parameter 'gamma'; it takes none."),
    (
        Kernel("rbf", gamma=-1),
        "bad_parameter",
        f"{RBF_GAMMA}; found -1.",
    ),
    (
        Kernel("laplacian", gamma="mean"),
        "bad_parameter",
        "needs gamma to be a number above 0, 'scale', 'median' or a multiple such as '4*median'; found 'mean'.",
    ),
    (
        Kernel("chi2", gamma=True),
        "bad_parameter",
        "needs gamma to be a number above 0, 'scale', 'median' or a multiple such as '4*median'; found True.",
    ),
    (
        Kernel("rbf", gamma=None),
        "bad_parameter",
        f"{RBF_GAMMA}; found None.",
    ),
    (
        Kernel("rbf", gamma=[1, 2]),
        "bad_parameter",
        f"{RBF_GAMMA}; found (1, 2).",
    ),
    (
        Kernel("polynomial", degree=2.5),
        "bad_parameter",
        "needs degree to be a whole number of at least 1 and of at most 100; found 2.5.",
    ),
    (
        Kernel("polynomial", degree=0),
        "bad_parameter",
        "needs degree to be a whole number of at least 1 and of at most 100; found 0.",
    ),
    (
        Kernel("polynomial", coef0=-0.5),
        "bad_parameter",
        "needs coef0 to be a number of at least 0; found -0.5.",
    ),
    (
        Kernel("polynomial", gamma="median"),
        "bad_parameter",
        "needs gamma to be a number above 0 or 'scale'; found 'median'.",
    ),
    (
        Kernel("linear", normalize="centered"),
        "unknown_normalization",
        "has no normalisation 'centered'; use one of unit_diagonal, unit_trace, unit_variance, centred, none.",
    ),
    (
        Kernel("linear", features=[0, 3]),
        "unknown_column",
        "asks for column 3, but the data have 3 columns; use positions from 0 to 2.",
    ),
    (
        Kernel("linear", features=["heigth", "depth"]),
        "unknown_column",
        "asks for column 'heigth', but no column has that name; the closest name is 'height'.",
    ),
    (
        Kernel("linear", features=["colour"]),
        "unknown_column",
        "asks for column 'colour', but no column has that name; check its spelling.",
    ),
    (
        Kernel("precomputed"),
        "needs_matrix",
        "needs its matrix, which cannot be computed from columns; pass it to spnmkl.solve under the leaf's id.",
    ),
]


def with_label(leaf):
    spec = leaf.spec
    return Kernel(
        spec.kernel,
        features=spec.features,
        normalize=spec.normalize,
        label="left",
        id="k9",
        **dict(spec.params),
    )


@pytest.mark.parametrize(("leaf", "code", "sentence"), SPECIFICATIONS)
def test_a_wrong_leaf_gets_one_sentence_everywhere(leaf, code, sentence):
    spn = SPN(Sum(Product(Kernel("linear")), Product(with_label(leaf))))
    message = f"Kernel '{leaf.spec.kernel}' of leaf 'left' {sentence}"
    severity = "warning" if code == "needs_matrix" else "error"
    assert validate_kernels(spn, NAMES) == [Issue(code, severity, ("k9",), message)]
    with pytest.raises(KernelError) as error:
        fit_kernels(spn, X, NAMES)
    assert str(error.value) == message
    with pytest.raises(KernelError) as error:
        fit_kernel(leaf.spec, X, NAMES)
    assert str(error.value) == f"Kernel '{leaf.spec.kernel}' {sentence}"


def test_columns_are_checked_only_against_known_data():
    spn = SPN(Sum(Product(Kernel("linear", features=["height", 7], id="k1"))))
    assert validate_kernels(spn) == []
    assert [issue.message for issue in validate_kernels(spn, n_features=3)] == [
        "Kernel 'linear' of leaf 'K₁' asks for column 'height', but the columns have no names; "
        "give its position, or pass a data frame."
    ]
    assert [issue.message for issue in validate_kernels(spn, ["height", "height"])] == [
        "Kernel 'linear' of leaf 'K₁' asks for column 'height', but 2 columns have that name; give its position."
    ]


def test_several_problems_of_a_leaf_are_all_listed():
    spn = SPN(Sum(Product(Kernel("rbf", gamma=0, width=2, normalize="no", features=[5]))))
    codes = [issue.code for issue in validate_kernels(spn, n_features=2)]
    assert codes == ["bad_parameter", "unknown_parameter", "unknown_normalization", "unknown_column"]


def values(kernel):
    return lambda: fit_kernel(KernelSpec(kernel), X)


def predict(kernel, new, **params):
    positive = np.abs(X)
    return lambda: fit_kernel(KernelSpec(kernel, tuple(params.items())), positive)[0].cross(new)


def given(K, n=None):
    return lambda: check_matrix(K, "k1", n)


def registering(*args, **kwargs):
    return lambda: register_kernel(*args, **kwargs)


WRONG_MATRIX = np.array([[1.0, 2.0], [2.0, 1.0]])
NOT_POSITIVE = Parameter("width", "float", 0.0, minimum=0, exclusive_minimum=True)

CALLS = [
    (
        lambda: fit_kernel(KernelSpec("linear", features=()), X),
        KernelError,
        "Kernel 'linear' sees no column; list at least one, or leave the list out to use all.",
    ),
    (
        lambda: fit_kernels(SPN(Product(Kernel("chi2", features=["depth", "width"], id="k1"))), X, NAMES),
        KernelError,
        "Kernel 'chi2' of leaf 'K₁' needs values of 0 or more, but column 'width' holds -1; "
        "use another kernel, or scale the column with MinMaxScaler(clip=True).",
    ),
    (
        predict("chi2", X),
        KernelError,
        "Kernel 'chi2' needs values of 0 or more, but column 1 holds -1; "
        "use another kernel, or scale the column with MinMaxScaler(clip=True).",
    ),
    (
        predict("polynomial", 1e80 * X, degree=9),
        KernelError,
        "Kernel 'polynomial' gives NaN or infinity for new samples; compare their values with the training samples.",
    ),
    (
        predict("linear", X[:, :2]),
        DataError,
        "X has 2 columns, but the kernels were fitted on 3; pass the columns of training in the same order.",
    ),
    (
        predict("linear", np.empty((0, 3))),
        DataError,
        "X must have rows and columns, but its shape is (0, 3); pass (n, n_features) numbers.",
    ),
    (
        lambda: fit_kernel(KernelSpec("linear"), X[0]),
        DataError,
        "X must have rows and columns, but its shape is (3,); pass (n, n_features) numbers.",
    ),
    (
        lambda: fit_kernel(KernelSpec("linear"), np.where(X == 4, np.nan, X)),
        DataError,
        "X holds NaN, infinity or a value beyond 1e+100 in column 2; remove, fill or rescale these values.",
    ),
    (
        lambda: fit_kernel(KernelSpec("linear"), np.where(X == 0.5, -np.inf, X)),
        DataError,
        "X holds NaN, infinity or a value beyond 1e+100 in column 0; remove, fill or rescale these values.",
    ),
    (
        lambda: fit_kernel(KernelSpec("linear"), X, NAMES[:2]),
        DataError,
        "X has 3 columns, but 2 names were given; name each column once.",
    ),
    (
        lambda: fit_kernel(KernelSpec("polynomial", (("degree", 100), ("gamma", 1))), 1e20 * X),
        KernelError,
        "Kernel 'polynomial' gives a matrix that holds NaN or infinity, but kernel values must be finite; "
        "rescale the columns or choose smaller parameters.",
    ),
    (
        values("lopsided"),
        KernelError,
        "Kernel 'lopsided' gives a matrix that is not symmetric: "
        "entries (i, j) and (j, i) differ by up to 4; a kernel function must give k(x, z) = k(z, x).",
    ),
    (
        values("negative"),
        KernelError,
        "Kernel 'negative' gives a matrix that is not positive semidefinite: it has an eigenvalue of -4 or "
        "less; choose other parameters or another function.",
    ),
    (
        values("flat"),
        KernelError,
        "Kernel 'flat' must return one row per row of X and one column per row of Z; "
        "found shape (4,) instead of (4, 4).",
    ),
    (
        given(np.ones((2, 3))),
        KernelError,
        "Kernel matrix 'k1' must be square, but its shape is (2, 3); pass the kernel between all training samples.",
    ),
    (
        given(np.eye(3), 4),
        KernelError,
        "Kernel matrix 'k1' must be 4 × 4, one row per sample, but it is 3 × 3; "
        "compute it on the same samples as the labels.",
    ),
    (
        given([["a", "b"], ["c", "d"]]),
        KernelError,
        "Kernel matrix 'k1' must hold real numbers; pass an (n, n) array of floats.",
    ),
    (
        given(np.array([[1.0, np.nan], [np.nan, 1.0]])),
        KernelError,
        "Kernel matrix 'k1' holds NaN or infinity, but kernel values must be finite; "
        "remove or fill missing values before computing it.",
    ),
    (
        given(np.array([[1.0, 0.5], [0.25, 1.0]])),
        KernelError,
        "Kernel matrix 'k1' is not symmetric: entries (i, j) and (j, i) differ by up to 0.25; "
        "if the difference has no meaning, pass (K + K.T) / 2.",
    ),
    (
        given(WRONG_MATRIX),
        KernelError,
        "Kernel matrix 'k1' is not positive semidefinite: entry (0, 1) is 2, but the diagonal entries of 0 and 1, 1 "
        "and 1, allow at most 1 in size; set its negative eigenvalues to zero, or add their size to the diagonal.",
    ),
    (
        lambda: alignment(np.eye(3), [0, 1]),
        DataError,
        "Alignment needs one label per row of the kernel matrix, but the matrix is of shape (3, 3) "
        "and the labels of shape (2,); pass an (n, n) matrix and n labels.",
    ),
    (
        lambda: kernel_schema("gauss"),
        KernelError,
        f"Kernel 'gauss' is unknown; use one of {KNOWN}, lopsided, negative, flat, or add it with register_kernel.",
    ),
    (
        registering("rbf", np.dot),
        KernelError,
        "Kernel 'rbf' exists already; choose another name or pass replace=True.",
    ),
    (registering("", np.dot), KernelError, "A kernel's name must be a word, but '' was given."),
    (
        registering("mine", 3),
        KernelError,
        "Kernel 'mine' needs functions, function(X, Z, **params) and diagonal(X, **params).",
    ),
    (
        registering("mine", np.dot, [NOT_POSITIVE]),
        KernelError,
        "Kernel 'mine' needs the default of width to be a number above 0, but it is 0.0.",
    ),
    (
        registering("mine", np.dot, [Parameter("a", "int", 1), Parameter("a", "int", 2)]),
        KernelError,
        "Kernel 'mine' names a parameter twice; give each parameter once.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "sentence"), CALLS)
def test_exact_sentences(monkeypatch, call, kind, sentence):
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))
    register_kernel("lopsided", lambda X, Z: X[:, [2]] * np.ones(len(Z)))
    register_kernel("negative", lambda X, Z: -np.ones((len(X), len(Z))))
    register_kernel("flat", lambda X, Z: X[:, 0])
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == sentence


def test_a_refused_registration_changes_nothing():
    before = registry.get("rbf")
    with pytest.raises(KernelError):
        register_kernel("rbf", np.dot)
    assert registry.get("rbf") is before
