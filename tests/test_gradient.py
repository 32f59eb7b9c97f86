"""The gradient of the decision against central differences."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import DIFFERENCES

from spnmkl import SPN, Kernel, KernelError, Product, SPNMKLClassifier, Sum, register_kernel
from spnmkl.inspection import decision_gradient
from spnmkl.kernels import NORMALIZATIONS, cross_kernels, fit_kernels, registry
from spnmkl.solvers import solve

KERNELS = {
    "linear": Kernel("linear"),
    "polynomial": Kernel("polynomial", degree=3, gamma=0.3, coef0=0.5),
    "rbf": Kernel("rbf", gamma=0.4),
    "laplacian": Kernel("laplacian", gamma=0.2),
    "chi2": Kernel("chi2", gamma=0.5),
    "cosine": Kernel("cosine"),
}


def samples(classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of 0 or more, as chi2 wants them: training rows, their labels, new rows."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(40, 4))
    return X[:30], (X[:30, 0] * X[:30, 1]).argsort().argsort() * classes // 30, X[30:]


def differences(spn: SPN, X: np.ndarray, y: np.ndarray, new: np.ndarray, step: float = 1e-5) -> tuple[np.ndarray, ...]:
    kernels, fitted = fit_kernels(spn, X)
    solution = solve(spn, kernels, y, C=2.0, tol=1e-2)
    assert any(solution.beta.values())

    def decision(rows: np.ndarray) -> np.ndarray:
        return solution.decision_function(cross_kernels(fitted, rows)).reshape(len(rows), -1).T

    slopes = np.empty((len(decision(new)), *new.shape))
    for column in range(new.shape[1]):
        move = step * np.eye(new.shape[1])[column]
        slopes[:, :, column] = (decision(new + move) - decision(new - move)) / (2 * step)
    found = decision_gradient(solution, fitted, new)
    return found if found.ndim == 3 else found[None], slopes


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_and_normalisation(name: str, normalize: str) -> None:
    X, y, new = samples()
    node = KERNELS[name].spec
    kernel = Kernel(node.kernel, features=[0, 1, 3], normalize=normalize, **dict(node.params))
    found, expected = differences(SPN(Sum(Product(kernel))), X, y, new)
    np.testing.assert_allclose(found, expected, atol=DIFFERENCES * np.abs(expected).max())
    assert not found[:, :, 2].any() and np.abs(found).max() > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_products_of_sums_with_a_shared_kernel(classes: int) -> None:
    X, y, new = samples(classes)
    shared = Kernel("rbf", features=[0, 1], gamma=0.3)
    spn = SPN(
        Sum(
            Product(
                Sum(Product(shared), Product(Kernel("linear", features=[2]))),
                Sum(Product(shared), Product(Kernel("polynomial", features=[2, 3]))),
            ),
            Product(Kernel("rbf", features=[3], normalize="centred")),
        )
    )
    found, expected = differences(spn, X, y, new)
    np.testing.assert_allclose(found, expected, atol=DIFFERENCES * np.abs(expected).max())


def test_a_model_of_support_vectors_has_the_same() -> None:
    X, y, new = samples(3)
    spn = SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear", normalize="centred"))))
    model = SPNMKLClassifier(spn, C=2.0).fit(X, y)
    _, fitted = fit_kernels(spn, X)
    kept = {leaf: kernel.restrict(model.solution_.support) for leaf, kernel in fitted.items()}
    assert len(model.solution_.support) < len(X)
    whole = decision_gradient(model.solution_, fitted, new)
    support = model.solution_.support
    few = replace(model.solution_, alpha=model.solution_.alpha[:, support], y=model.solution_.y[support])
    np.testing.assert_allclose(decision_gradient(few, kept, new), whole, atol=DIFFERENCES)


def test_kernels_without_a_derivative_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))
    X, y, new = samples()
    register_kernel("rbf", lambda A, B: (A @ B.T + 1) ** 2, replace=True)  # no longer the one that is known
    for kernel in (Kernel("hamming"), Kernel("rbf", label="mine")):
        spn = SPN(Sum(Product(kernel)))
        kernels, fitted = fit_kernels(spn, np.round(X))
        with pytest.raises(KernelError, match=f"Kernel '{kernel.spec.kernel}' of leaf .* has no derivative"):
            decision_gradient(solve(spn, kernels, y), fitted, np.round(new))
