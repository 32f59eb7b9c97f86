"""Shares over folds, against the definition: every row held out once, and plain sums over its decision."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tolerances import ROUNDING

from spnmkl import SPN, Kernel, Product, Sum, solve
from spnmkl.errors import Stopped
from spnmkl.importance import held_out_shares
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.selection.folds import fold_splits

SIGNAL, NOISE = [0, 1], [2, 3, 4, 5, 6, 7]
VIEWS = {"signal": SIGNAL, "noise": NOISE}


def table(n: int = 120, seed: int = 0) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    return X, np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def drawing() -> SPN:
    return SPN(
        Sum(
            Product(Kernel("linear", features=SIGNAL, id="k1"), id="p1"),
            Product(Kernel("rbf", gamma=2.0, features=NOISE, id="k2"), id="p2"),
        )
    )


def test_pooled_over_folds_by_hand() -> None:
    X, y = table()
    shares = held_out_shares(drawing(), X, y, views=VIEWS, paths=drawing().paths(), C=10.0, cv=4, n_threads=1)
    parts: list[NDArray] = []
    for train, test in fold_splits(y, 4, None, 0):
        kernels, fitted = fit_kernels(drawing(), X[train])
        solution = solve(drawing(), kernels, y[train], C=10.0, n_threads=1)
        cross, a = cross_kernels(fitted, X[test]), solution.signed_alpha[0]
        sign = np.where(y[test] == "yes", 1.0, -1.0)
        f = [solution.beta[f"p{k}"] * (cross[f"k{k}"] @ a - (kernels[f"k{k}"] @ a).mean()) for k in (1, 2)]
        parts.append(sign * np.array(f))
    expected = np.concatenate(parts, axis=1)
    share = expected.sum(axis=1) / expected.sum()
    assert (shares.rows, shares.n, shares.folds) == ("4 folds of 120 rows", 120, 4)
    assert shares.total == pytest.approx(expected.sum() / 120, rel=ROUNDING)
    for k, view in ((1, "signal"), (2, "noise")):
        assert shares.nodes[f"k{k}"].share == pytest.approx(share[k - 1], abs=ROUNDING)
        assert shares.views[view] == shares.nodes[f"k{k}"]
        own = [part[k - 1].sum() / part.sum() for part in parts]
        assert shares.views[view].spread == pytest.approx(np.std(own, ddof=1), abs=ROUNDING)
    assert sorted(s.share for s in shares.paths.values()) == pytest.approx(sorted(share), abs=ROUNDING)


def test_noise_under_a_narrow_kernel_has_none_though_it_is_heavy() -> None:
    X, y = table(160, seed=1)
    kernels, _ = fit_kernels(drawing(), X)
    beta = solve(drawing(), kernels, y, C=10.0, n_threads=1).beta
    assert beta["p2"] > beta["p1"]
    shares = held_out_shares(drawing(), X, y, views=VIEWS, C=10.0, n_threads=1)
    assert abs(shares.views["noise"].share) < 0.03
    assert shares.views["signal"].share > 0.97


def test_labels_that_nothing_explains_have_no_shares() -> None:
    X, _ = table()
    y = np.random.default_rng(5).integers(0, 2, len(X))
    shares = held_out_shares(drawing(), X, y, views=VIEWS, C=1.0, cv=3, n_threads=1)
    assert not shares.known and np.isnan(shares.views["noise"].share)
    assert shares.why_none.startswith("No shares: on 3 folds of 120 rows")


def test_stopped_after_a_fold_it_keeps_that_fold() -> None:
    X, y = table()
    some = held_out_shares(drawing(), X, y, C=1.0, cv=3, n_threads=1, callback=lambda step: step.folds < 1)
    assert (some.folds, some.n, some.rows) == (1, 40, "1 fold of 3")
    with pytest.raises(Stopped):
        held_out_shares(drawing(), X, y, C=1.0, cv=3, n_threads=1, stop=lambda: True)
