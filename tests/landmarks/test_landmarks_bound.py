"""The certificate for all rows: against exact solutions, which it must not exceed, and against what it claims."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from distributed import Client, LocalCluster
from joblib import parallel_config
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from tolerances import DECISION, ROUNDING, SOLVED

from spnmkl import DataError, SPNMKLClassifier, TrivialSolutionWarning, solve
from spnmkl.certificate import primal
from spnmkl.circuit import blocks
from spnmkl.kernels import MatrixSource, TileSource, fit_tiles, kernels_between
from spnmkl.model_file import load_model
from spnmkl.problem import one_vs_rest
from spnmkl.solvers import bound as searches
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

N = 300
X, y = make_moons(N, noise=0.25, random_state=0)
THREE = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.25)
WEIGHT = np.random.default_rng(0).integers(0, 3, N)
FLAT = SPN(
    Sum(
        Product(Kernel("rbf", gamma=1.0), id="round"),
        Product(Kernel("rbf", gamma=20.0, normalize="unit_variance"), id="narrow"),
        Product(Kernel("linear", normalize="centred"), id="flat"),
    )
)
LEVELS = SPN(
    Sum(
        Product(Sum(Product(Kernel("rbf", gamma=1.0)), Product(Kernel("rbf", gamma=9.0)))),
        Product(Sum(Product(Kernel("linear")), Product(Kernel("polynomial", degree=2)))),
    )
)
DEEP = templates.product_of_sums(
    {
        "first": [Kernel("rbf", gamma=g, features=[0], normalize="centred") for g in (0.3, 3.0)],
        "second": [Kernel("polynomial", degree=d, features=[1]) for d in (1, 2)],
    }
)
NYSTROEM = SPNMKLClassifier(FLAT, C=1.0, approximation="nystroem", n_components=40, sample_size=100, n_threads=1)


def exact_kernels(model, counted=slice(None)):
    """Matrices among all rows of the kernels as the sample's rows normalise them."""
    kernels = kernels_between(fit_tiles(model.spn_, X[model.rows_])[1], X[counted])
    leaves = list(kernels)
    return dict(zip(leaves, TileSource(kernels).tiles(leaves, slice(None), slice(None)), strict=True))


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("p", [1.0, 1.5])
@pytest.mark.parametrize("labels", [y, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("spn", [FLAT, LEVELS, DEEP], ids=["flat", "levels", "deep"])
def test_the_bound_is_below_the_exact_optimum_and_the_objective_above(spn, labels, p, C):
    model = clone(NYSTROEM).set_params(structure=spn, C=C, p=p, class_weight="balanced").fit(X, labels, WEIGHT)
    proof, counted = model.certify(X, labels, WEIGHT), np.flatnonzero(WEIGHT)
    kernels = exact_kernels(model, counted)
    options = {"C": C, "p": p, "sample_weight": WEIGHT[counted], "class_weight": "balanced", "tol": 1e-6}
    exact = solve(spn, kernels, labels[counted], **options)
    assert proof.dual_bound <= exact.objective * (1 + ROUNDING)
    assert exact.dual_bound <= proof.objective * (1 + ROUNDING)
    assert proof.gap == pytest.approx(1 - proof.dual_bound / proof.objective)
    assert proof.dual_bound > (0.3 if C <= 1 else 0.01) * exact.objective  # loose at a large C, but of use
    assert proof.objective == pytest.approx(model.approximation_.objective, rel=1e-5)
    # The same classifier as one over all rows, by the code that judges exact solutions.
    found, Y = model.approximation_, one_vs_rest(np.searchsorted(model.classes_, labels[counted]), len(model.classes_))
    alpha = np.zeros(Y.shape)
    places = np.searchsorted(counted, model.support_)
    alpha[:, places] = found.coefficients * Y[:, places]
    problem = exact.problem(MatrixSource(kernels))
    assert proof.objective == pytest.approx(primal(problem, problem.beta_array(model.beta_), alpha).value, rel=1e-9)


@pytest.mark.parametrize("labels", [y, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("spn", [FLAT, DEEP], ids=["flat", "deep"])
def test_with_every_row_a_landmark_it_is_the_certificate_of_the_exact_solution(spn, labels):
    exact = SPNMKLClassifier(spn, C=1.0, tol=SOLVED, n_threads=1).fit(X, labels)
    model = clone(exact).set_params(approximation="nystroem").fit(X, labels)
    assert 0 <= model.certify(X, labels).gap <= 5 * SOLVED
    # From the exact solution's own multipliers it is its own bound, or a better one by another β̃.
    proved = np.atleast_2d(exact.solution_.witness_alpha)
    model.approximation_ = replace(model.approximation_, alpha=proved)
    found = model.certify(X, labels, passes=1).dual_bound
    assert exact.dual_bound_ * (1 - 10 * ROUNDING) <= found <= exact.objective_ * (1 + ROUNDING)


def test_a_false_alpha_gives_no_false_bound():
    model = clone(NYSTROEM).fit(X, THREE)
    exact = solve(FLAT, exact_kernels(model), THREE, C=1.0)
    found, rng = model.approximation_, np.random.default_rng(1)
    for alpha in (
        rng.normal(size=(3, N)),
        100 * rng.random((3, N)),
        np.eye(3, N),
        np.zeros((3, N)),
        np.full((3, N), np.inf),
        np.full((3, N), np.nan),
    ):
        model.approximation_ = replace(found, alpha=alpha)
        assert model.certify(X, THREE).dual_bound <= exact.objective * (1 + ROUNDING)


def test_the_bound_does_not_depend_on_threads_or_workers(monkeypatch):
    monkeypatch.setattr(blocks, "_WORTH_LANES", 1)
    for spn in (FLAT, DEEP):
        model = clone(NYSTROEM).set_params(structure=spn).fit(X, THREE)
        said = []
        proof = model.certify(X, THREE, tick=said.append)
        assert model.set_params(n_threads=2).certify(X, THREE) == proof
        assert any("certificate, pass 1 of 5: kernels among" in words for words in said)
        assert any("% lower" in words for words in said)
        with (
            LocalCluster(
                processes=False,
                n_workers=1,
                protocol="tcp://",
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            ) as cluster,
            Client(cluster) as client,
            parallel_config("dask", client=client),
        ):
            assert model.certify(X, THREE, tick=said.append) == proof
        done, of = [words for words in said if ", part " in words][-1].split(", part ")[1].split(" of ")
        assert done == of and int(of) > 1


def test_stopped_there_is_no_bound_unless_it_was_known():
    model = clone(NYSTROEM).set_params(structure=DEEP).fit(X, y)
    whole, asked = model.certify(X, y), []

    def after(k):
        asked.clear()
        return lambda: asked.append(1) or len(asked) > k

    model.set_params(stop=after(0))
    assert model.certify(X, y).dual_bound == -np.inf
    assert model.certify(X, y).objective == model.approximation_.objective
    assert "No lower bound on the best possible was found." in model.approximation_.sentences[1]
    model.set_params(stop=after(10**9)).certify(X, y)
    bounds = [model.set_params(stop=after(k)).certify(X, y).dual_bound for k in range(len(asked))]
    assert (
        set(bounds) <= {-np.inf, whole.dual_bound} | {b for b in bounds if b < whole.dual_bound} and -np.inf in bounds
    )
    assert model.set_params(stop=None, max_time=1e-9).certify(X, y).dual_bound == -np.inf


def test_a_sum_of_kernels_takes_one_pass_for_any_search(monkeypatch):
    model, passes, own = clone(NYSTROEM).set_params(structure=LEVELS, p=1.3).fit(X, y), [], searches.term_quadratics
    monkeypatch.setattr(searches, "term_quadratics", lambda *given: passes.append(1) or own(*given))
    assert np.isfinite(model.certify(X, y, passes=1).gap) and len(passes) == 1


def test_more_passes_raise_the_bound():
    model = clone(NYSTROEM).set_params(structure=LEVELS, sample_size=60, n_components=60).fit(X, THREE)
    bounds = [model.certify(X, THREE, passes=k).dual_bound for k in (1, 2, 3, 4)]
    assert bounds == sorted(bounds) and bounds[-1] > 1.01 * bounds[0]


def test_sparse_rows_are_certified_as_dense_ones():
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    spn = templates.flat([Kernel("rbf", gamma=2.0), Kernel("linear"), Kernel("cosine")])
    model = clone(NYSTROEM).set_params(structure=spn, tol=SOLVED)
    dense, sparse = clone(model).fit(rows, y), clone(model).fit(csr_array(rows), y)
    expected = dense.decision_function(rows)
    np.testing.assert_allclose(
        sparse.decision_function(csr_array(rows)), expected, atol=DECISION * np.abs(expected).max()
    )
    assert issparse(next(iter(sparse.kernels_.values())).X_ref)
    assert sparse.approximation_.objective == pytest.approx(dense.approximation_.objective, rel=10 * SOLVED)
    assert sparse.certify(csr_array(rows), y).dual_bound == pytest.approx(dense.certify(rows, y).dual_bound, rel=1e-3)


def test_all_weights_zero_are_proved_where_they_are_best():
    with pytest.warns(TrivialSolutionWarning):
        model = clone(NYSTROEM).set_params(structure=templates.flat([Kernel("linear")]), C=1e-6).fit(X, y)
    proof = model.certify(X, y)
    assert not any(model.beta_.values()) and proof.gap == pytest.approx(0, abs=ROUNDING)


def test_where_no_bound_is_known_or_meant_it_says_so():
    for settings in ({"p": 0.5}, {"weights": "evidence"}):
        proof = clone(NYSTROEM).set_params(**settings).fit(X, y).certify(X, y)
        assert proof.dual_bound == -np.inf and np.isfinite(proof.objective)


def test_without_a_structure_columns_are_standardised_as_in_fit():
    model = SPNMKLClassifier(C=1.0, weights="certified", approximation="nystroem", n_components=60, sample_size=150)
    proof = model.fit(100 * X, y).certify(100 * X, y)
    assert proof.gap < 0.3 and proof.objective == pytest.approx(model.approximation_.objective, rel=1e-5)


def test_other_rows_and_models_without_their_alpha_are_refused(tmp_path):
    model = clone(NYSTROEM).fit(X, y)
    with pytest.raises(DataError, match="not those of the training: 299 of 2 classes, while it had 300 of 2"):
        model.certify(X[1:], y[1:])
    with pytest.raises(NotFittedError, match=r"solution_\.certify"):
        SPNMKLClassifier(FLAT).fit(X, y).certify(X, y)
    assert "is not certified" in model.approximation_.sentences[1]
    proof = model.certify(X, y)
    assert "Certified for all rows, by their exact kernels" in model.approximation_.sentences[1]
    model.save(tmp_path / "m")
    read = load_model(tmp_path / "m")
    assert read.approximation_.certificate == proof
    assert read.approximation_.sentences == model.approximation_.sentences
    with pytest.raises(NotFittedError, match="a file does not hold it"):
        read.certify(X, y)
