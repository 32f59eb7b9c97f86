"""The classifier as scikit-learn, data frames and users meet it."""

import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from tolerances import DECISION, SOLVED

from spnmkl import (
    DataError,
    KernelError,
    ParameterError,
    StructureError,
    TrivialSolutionWarning,
    estimator,
    rivals,
    solve,
)
from spnmkl.circuit.source import MatrixSource
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.given import default_structure
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.kernels import source as kernel_source
from spnmkl.kernels.source import CrossSource, apply_cross
from spnmkl.memory import kernel_bytes
from spnmkl.selection import cross_validate_C
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.structure.defaults import Part, default_drawing
from spnmkl.training import learn

X, y = make_moons(80, noise=0.2, random_state=0)
NEW = make_moons(50, noise=0.2, random_state=1)[0]
X3, y3 = make_blobs(90, centers=4, cluster_std=2.5, random_state=2)
y3 = y3 % 3
ONE_PATH = SPN(Sum(Product(Kernel("rbf", gamma=0.7))))
SMALL = SPN(Sum(Product(Kernel("rbf", gamma=1.0), id="round"), Product(Kernel("linear"), id="flat")))
DEEP = templates.product_of_sums(
    {
        "first": [Kernel("rbf", gamma=g, features=[0], normalize="centred") for g in (0.3, 3.0)],
        "second": [Kernel("rbf", gamma=g, features=[1]) for g in (0.3, 3.0)],
    }
)


def expected_failures(estimator):
    # At tol = 1e-3 two optima agree to about 1e-4; see test_weights_count_as_repetitions.
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, "compares to 1e-7 what is solved to 1e-3")


@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
@parametrize_with_checks(
    [
        SPNMKLClassifier(C=1.0, weights="certified"),
        SPNMKLClassifier(C=1.0, weights="certified", probability=True, max_memory=0),
        SPNMKLClassifier(C=1.0, weights="certified", approximation="nystroem", n_components=20, sample_size=40),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("structure", [None, SMALL], ids=["default", "given"])
@pytest.mark.parametrize("labels", [y, np.arange(80) % 3], ids=["two classes", "three classes"])
def test_weights_count_as_repetitions_and_zero_as_absence(structure, labels):
    weight = np.random.default_rng(0).integers(0, 4, 80)
    model = SPNMKLClassifier(structure, C=1.0, weights="certified", tol=1e-10)  # folds would be others
    weighted = clone(model).fit(X, labels, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, axis=0), labels.repeat(weight))
    # The default's kernels have the variance of the rows, of which each counts once.
    atol = 0.05 if structure is None else 1e-4
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=atol)
    assert weighted.alpha_.shape[-1] == 80 and (weight[weighted.support_] > 0).all()
    assert np.array_equal(weighted.rows_, np.flatnonzero(weight))
    np.testing.assert_array_equal(np.atleast_2d(weighted.alpha_).any(axis=0).nonzero()[0], weighted.support_)


def test_one_path_is_an_svc():
    model = SPNMKLClassifier(ONE_PATH, C=2.0, tol=1e-9).fit(X, y)
    (beta,) = model.beta_.values()
    svc = SVC(C=2.0 * beta, gamma=0.7, tol=1e-9).fit(X, y)
    assert np.array_equal(model.predict(NEW), svc.predict(NEW))
    np.testing.assert_allclose(model.decision_function(NEW), svc.decision_function(NEW), atol=1e-4)


def test_learned_attributes_agree_with_the_solution():
    model = SPNMKLClassifier(SMALL).fit(X3, y3)
    solution = model.solution_
    assert model.spn_ is SMALL and model.beta_ == solution.beta and model.pruned_ == solution.pruned
    assert model.status_ == "optimal" and model.gap_ <= 1e-3
    assert model.dual_bound_ <= model.objective_ and model.n_iter_ == len(model.history_) >= 1
    assert model.dual_coef_.shape == (3, len(model.support_)) and model.intercept_.shape == (3,)
    assert np.array_equal(model.classes_, [0, 1, 2]) and model.n_features_in_ == 2
    matrices, fitted = fit_kernels(SMALL, X3)
    assert solution.certify(matrices).gap == pytest.approx(model.gap_)
    expected = solution.decision_function(cross_kernels(fitted, X3[:7]))
    np.testing.assert_allclose(model.decision_function(X3[:7]), expected, atol=1e-10)
    assert np.array_equal(model.predict(X3[:7]), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("n_threads", [1, 2, None])
def test_prediction_uses_few_rows_at_a_time(monkeypatch, n_threads):
    model = SPNMKLClassifier(DEEP, C=10.0, n_threads=n_threads).fit(X, y)
    expected = model.solution_.decision_function(cross_kernels(fit_kernels(DEEP, X)[1], NEW))
    for limit in (kernel_source.TILE_BYTES, 20_000, 1):
        monkeypatch.setattr(kernel_source, "TILE_BYTES", limit)
        np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-10)
    assert CrossSource(model.kernels_, NEW).rows_per_tile() == 8


@pytest.mark.parametrize("structure", [None, DEEP], ids=["default", "deep"])
def test_without_memory_for_matrices_the_result_is_the_same(structure):
    settings = {"tol": SOLVED, "probability": True, "random_state": 0}
    held = SPNMKLClassifier(structure, **settings, max_memory=1.0).fit(X, y)
    tiled = SPNMKLClassifier(structure, **settings, max_memory=0).fit(X, y)
    assert tiled.status_ == held.status_ == "optimal"
    assert tiled.objective_ == pytest.approx(held.objective_, rel=2 * SOLVED)
    np.testing.assert_allclose(tiled.decision_function(NEW), held.decision_function(NEW), atol=DECISION)
    np.testing.assert_allclose(tiled.predict_proba(NEW), held.predict_proba(NEW), atol=DECISION)


@pytest.mark.parametrize(("limit", "held"), [(2 * 8 * 80**2 / 1e9, True), (2 * 8 * 80**2 / 1.01e9, False)])
def test_the_limit_counts_gigabytes_of_matrices(monkeypatch, limit, held):
    sources = []
    monkeypatch.setattr(
        learn, "solve", lambda spn, source, *args, **kw: sources.append(source) or solve(spn, source, *args, **kw)
    )
    SPNMKLClassifier(SMALL, max_memory=limit).fit(X, y)
    monkeypatch.setattr("spnmkl.memory.available_memory", lambda: 2e9 * limit)
    SPNMKLClassifier(SMALL).fit(X, y)
    assert [isinstance(source, MatrixSource) for source in sources] == [held, held]


def test_where_free_memory_is_unknown_matrices_are_held(monkeypatch):
    monkeypatch.setattr("spnmkl.memory.available_memory", lambda: None)
    assert kernel_bytes(None) == np.inf and kernel_bytes(0.5) == 5e8


@pytest.mark.parametrize("limit", [-1, "8 GB", np.nan, True])
def test_memory_must_be_a_number_of_gigabytes(limit):
    with pytest.raises(ValueError, match="max_memory must be a number of gigabytes of at least 0, or None"):
        SPNMKLClassifier(max_memory=limit).fit(X, y)


def test_tiles_stay_bounded_for_many_rows_and_references():
    leaf = fit_kernels(ONE_PATH, np.zeros((3000, 2)) + np.arange(3000)[:, None])[1]
    source = CrossSource(leaf, np.zeros((10**6, 2)))
    assert source.rows_per_tile() <= 256
    assert source.rows_per_tile() * 3 * 3000 * 8 <= kernel_source.TILE_BYTES


def test_equal_leaves_are_computed_once_per_tile():
    squared = SPN(Sum(Product(Kernel("rbf", gamma=0.5), Kernel("rbf", gamma=0.5))))
    model = SPNMKLClassifier(squared).fit(X, y)
    first, second = CrossSource(model.kernels_, NEW).tiles(squared.kernels, slice(0, 5), slice(None))
    assert np.shares_memory(first, second)


def test_prediction_keeps_support_vectors_only():
    model = SPNMKLClassifier(SMALL).fit(X, y)
    rows = {len(kernel.X_ref) for kernel in model.kernels_.values()}
    assert rows == {len(model.support_)} and len(model.support_) < len(X)


def test_pruned_kernels_are_not_kept():
    samples = np.column_stack([X, np.ones(80)])
    useless = Kernel("rbf", gamma=1.0, features=[2], normalize="centred", id="useless")
    structure = SPN(Sum(Product(Kernel("rbf", gamma=1.0, features=[0, 1])), Product(useless, id="weight")))
    model = SPNMKLClassifier(structure).fit(samples, y)
    assert "weight" in model.pruned_ and "useless" not in model.kernels_
    assert {len(kernel.X_ref) for kernel in model.kernels_.values()} == {len(model.support_)}


def test_changing_the_training_data_later_changes_nothing():
    data = X.copy()
    model = SPNMKLClassifier(DEEP).fit(data, y)
    before = model.decision_function(NEW)
    data[:] = 0
    assert np.array_equal(model.decision_function(NEW), before)


@pytest.mark.parametrize("labels", [y, np.arange(80) % 3], ids=["two classes", "three classes"])
def test_all_weights_zero_is_a_constant_classifier(labels):
    model = SPNMKLClassifier(SMALL, C=1e-6, probability=True, random_state=0)
    with pytest.warns(TrivialSolutionWarning, match="C_min"):
        model.fit(X, labels)
    assert set(model.beta_.values()) == {0.0} and model.kernels_ == {}
    assert len(np.unique(model.predict(NEW))) == 1
    np.testing.assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)


def test_default_structure_is_a_flat_sum():
    spn = default_structure(X)
    assert spn.n_layers == 1 and [spn.spec(k).kernel for k in spn.kernels] == [*["rbf"] * 5, "linear"]
    assert default_structure(np.vstack([X, X[:40]])) == spn
    spn.check()
    default_structure(np.ones((5, 2))).check()


def test_structure_in_every_form():
    outcomes = [
        SPNMKLClassifier(form).fit(X, y).decision_function(NEW) for form in (SMALL, SMALL.to_dict(), SMALL.to_json())
    ]
    np.testing.assert_allclose(outcomes, [outcomes[0]] * 3, atol=1e-12)


def test_pipeline_grid_search_and_cross_validation():
    pipeline = make_pipeline(StandardScaler(), SPNMKLClassifier(SMALL))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    grid = {"spnmklclassifier__C": [0.3, 3.0], "spnmklclassifier__structure": [SMALL, None]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9 and search.best_params_["spnmklclassifier__C"] in (0.3, 3.0)


def test_clone_keeps_every_setting():
    model = SPNMKLClassifier(SMALL, C=3.0, p="sparse", class_weight={0: 2.0}, max_iter=7)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_leaves_name_the_columns_of_a_frame(frame):
    named = SPN(Sum(Product(Kernel("rbf", gamma=1.0)), Product(Kernel("linear", features=["right"]))))
    by_position = SPN(Sum(Product(Kernel("rbf", gamma=1.0)), Product(Kernel("linear", features=[1]))))
    columns = {"left": X[:, 0], "right": X[:, 1]}
    model = SPNMKLClassifier(named).fit(frame(columns), y)
    assert list(model.feature_names_in_) == ["left", "right"]
    new = frame({"left": NEW[:, 0], "right": NEW[:, 1]})
    expected = SPNMKLClassifier(by_position).fit(X, y).decision_function(NEW)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"right": NEW[:, 1], "left": NEW[:, 0]}))


@pytest.mark.parametrize("column", [list, np.array, pd.Series, pl.Series], ids=lambda c: c.__name__)
def test_string_labels(column):
    labels = column(np.array(["no", "yes"])[y].tolist())
    model = SPNMKLClassifier(SMALL, class_weight={"yes": 2.0}).fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(NEW).tolist()) == {"no", "yes"}
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("data", [(X, y, NEW), (X3, y3, X3[::2])], ids=["two classes", "three classes"])
def test_probabilities(data):
    samples, labels, new = data
    model = SPNMKLClassifier(SMALL, probability=True, random_state=0).fit(samples, labels)
    P = model.predict_proba(new)
    assert P.shape == (len(new), len(model.classes_)) and (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    agree = (model.classes_[P.argmax(axis=1)] == model.predict(new)).mean()
    assert agree == 1 if len(model.classes_) > 2 else agree > 0.9
    again = clone(model).fit(samples, labels)
    np.testing.assert_allclose(again.predict_proba(new), P, atol=1e-6)


def test_probabilities_are_calibrated_on_samples_not_seen():
    rng = np.random.default_rng(0)
    samples, labels = rng.normal(size=(300, 3)), rng.random(300) < 0.3
    model = SPNMKLClassifier(C=5.0, weights="certified", probability=True, random_state=0).fit(samples, labels)
    assert model.score(samples, labels) > 0.8  # it has learned noise, and its probabilities know that
    assert model.predict_proba(rng.normal(size=(200, 3)))[:, 1].mean() == pytest.approx(0.3, abs=0.08)


def test_probabilities_only_when_asked_for():
    model = SPNMKLClassifier(SMALL).fit(X, y)
    assert not hasattr(model, "predict_proba") and hasattr(SPNMKLClassifier(probability=True), "predict_proba")
    with pytest.raises(AttributeError):
        model.predict_proba(NEW)
    model.set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(NEW)


def test_callback_sees_every_iteration_and_can_stop():
    seen = []
    model = SPNMKLClassifier(SMALL, callback=seen.append).fit(X, y)
    assert tuple(seen) == model.history_
    stopped = SPNMKLClassifier(SMALL, callback=lambda record: False).fit(X, y)
    assert stopped.status_ == "interrupted" and stopped.n_iter_ == 1
    assert stopped.predict(NEW).shape == (50,)


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=1 .* raise max_iter or tol") as caught:
        SPNMKLClassifier(max_iter=1, tol=1e-6).fit(X, y)
    assert caught[0].filename == __file__


def test_too_little_time_warns():
    with pytest.warns(ConvergenceWarning) as caught:
        model = SPNMKLClassifier(max_time=1e-9, tol=1e-6).fit(X, y)
    said = " ".join(str(one.message) for one in caught)
    assert "ended before anything was chosen, so that certified weights at C=1 were taken; raise max_time" in said
    assert "max_time ended before any weight was tried" in said
    assert {one.filename for one in caught} == {__file__}
    assert model.pruned_ == {}
    assert model.status_ == "time_limit"
    assert np.isfinite(model.decision_function(NEW)).all()


def test_time_that_ends_on_the_way_warns(monkeypatch):
    ended = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y).solution_
    monkeypatch.setattr(learn, "solve", lambda *_, **__: replace(ended, status="time_limit", gap=0.02))
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_time with a relative gap of 0\.02 .* raise max_time"):
        SPNMKLClassifier(C=1.0, weights="certified", max_time=1).fit(X, y)


def test_rounding_that_is_the_limit_warns(monkeypatch):
    ended = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y).solution_
    monkeypatch.setattr(learn, "solve", lambda *_, **__: replace(ended, status="precision", gap=0.02))
    with pytest.warns(ConvergenceWarning, match=r"^Rounding keeps the solver from .* a relative gap of 0\.02 "):
        SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)


def test_memory_that_is_the_limit_warns(monkeypatch):
    ended = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y).solution_
    monkeypatch.setattr(learn, "solve", lambda *_, **__: replace(ended, status="memory", gap=0.02))
    with pytest.warns(
        ConvergenceWarning, match=r"stopped with a relative gap of 0\.02 .*, more than was free"
    ) as caught:
        SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    assert caught[0].filename == __file__


def test_paper_solver_and_sparse_p():
    slow = SPNMKLClassifier(SMALL, solver="paper", tol=1e-2).fit(X, y)
    fast = SPNMKLClassifier(SMALL, tol=1e-2).fit(X, y)
    assert slow.objective_ == pytest.approx(fast.objective_, rel=2e-2)
    assert SPNMKLClassifier(DEEP, p="sparse").fit(X, y).status_ in ("stationary", "optimal")


def test_two_threads_may_fit_and_predict_at_once():
    expected = SPNMKLClassifier(DEEP).fit(X, y).decision_function(NEW)
    results = {}

    def work(k):
        results[k] = SPNMKLClassifier(DEEP).fit(X, y).decision_function(NEW)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        np.testing.assert_allclose(results[k], expected, atol=1e-6)


def test_apply_cross_without_kernels_is_zero():
    model = SPNMKLClassifier(SMALL).fit(X, y)
    nothing = model._circuit.restricted(np.zeros(2, dtype=bool))
    assert not apply_cross(nothing, np.zeros(0), {}, NEW, model.dual_coef_, 2).any()


def fit(structure=SMALL, samples=X, labels=y, weight=None, **settings):
    return SPNMKLClassifier(structure, **settings).fit(samples, labels, sample_weight=weight)


def holed(value):
    samples = X.copy()
    samples[3, 1] = value
    return samples


NOTHING = {"format": "spnmkl/structure", "version": 1, "nodes": [], "edges": []}
BAD_INPUT = {
    "precomputed leaf": (
        lambda: fit(SPN(Sum(Product(Kernel("precomputed", label="given"))))),
        KernelError,
        "Leaf 'given' is precomputed, but SPNMKLClassifier computes kernels from columns; pass the matrices to "
        "spnmkl.solve and predict with Solution.decision_function on cross-kernels.",
    ),
    "too many columns": (
        lambda: fit(SPN(Sum(Product(Kernel("linear", features=[0, 2], label="far"))))),
        KernelError,
        "Kernel 'linear' of leaf 'far' asks for column 2, but the data have 2 columns; use positions from 0 to 1.",
    ),
    "names without a frame": (
        lambda: fit(SPN(Sum(Product(Kernel("linear", features=["a"], label="named"))))),
        KernelError,
        "Kernel 'linear' of leaf 'named' asks for column 'a', but the columns have no names; give its position, or "
        "pass a data frame.",
    ),
    "one class": (
        lambda: fit(labels=np.zeros(80, dtype=int)),
        DataError,
        "y must hold at least two classes",
    ),
    "labels too short": (lambda: fit(labels=y[:-1]), ValueError, "inconsistent numbers of samples: [80, 79]"),
    "continuous labels": (lambda: fit(labels=X[:, 0]), ValueError, "Unknown label type: continuous"),
    "missing label": (
        lambda: fit(labels=np.where(y, "yes", None)),
        DataError,
        "y mixes labels of different kinds, such as text and missing values; give every sample a label of one kind.",
    ),
    "NaN": (lambda: fit(samples=holed(np.nan)), ValueError, "Input X contains NaN."),
    "one class, nothing set": (
        lambda: SPNMKLClassifier().fit(X, np.zeros(80)),
        DataError,
        "y must hold at least two classes, but all 80 labels are 0.0; add samples of another class.",
    ),
    "infinity": (lambda: fit(samples=holed(np.inf)), ValueError, "Input X contains infinity"),
    "huge value": (
        lambda: fit(samples=holed(1e200)),
        DataError,
        "X holds NaN, infinity or a value beyond 1e+100 in column 1; remove, fill or rescale these values.",
    ),
    "negative C": (
        lambda: fit(C=-1.0),
        ParameterError,
        "C must be a finite number above 0, but it is -1.0 (float); choose for example 1.0.",
    ),
    "infinite C": (lambda: fit(C=np.inf), ParameterError, "C must be a finite number above 0, but it is inf (float)"),
    "True as a number of threads": (
        lambda: fit(n_threads=True),
        ParameterError,
        "n_threads must be a whole number of at least 1, or None, but it is True (bool).",
    ),
    "no threads": (lambda: fit(n_threads=0), ParameterError, "n_threads must be a whole number of at least 1, or None"),
    "True as max_iter": (lambda: fit(max_iter=True), ParameterError, "max_iter must be a whole number of at least 1"),
    "a number as probability": (
        lambda: fit(probability=1),
        ParameterError,
        "probability must be True or False, but it is 1 (int).",
    ),
    "True as a seed": (
        lambda: fit(random_state=True),
        ParameterError,
        "random_state must be a whole number from 0 to 2³² − 1, a numpy RandomState or None, but it is True (bool).",
    ),
    "a negative seed": (lambda: fit(random_state=-1), ParameterError, "random_state must be a whole number from 0"),
    "a callback that cannot be called": (lambda: fit(callback=3), ParameterError, "callback must be a function that"),
    "a question that cannot be asked": (
        lambda: fit(stop=True),
        ParameterError,
        "stop must be a function without arguments, or None, but it is True (bool).",
    ),
    "settings before data": (lambda: fit(samples=holed(np.nan), n_threads="2"), ParameterError, "n_threads must be"),
    "p of a stranger": (
        lambda: fit(p={"nobody": 1.0}),
        ParameterError,
        "p names 'nobody', which is not a product of the structure; remove it.",
    ),
    "unknown solver": (lambda: fit(solver="magic"), ParameterError, "solver must be one of ['auto', "),
    "structure of another type": (
        lambda: fit(structure=3),
        StructureError,
        "structure must be an SPN, a mapping or JSON text, or None, but it is 3 (int); see SPN.",
    ),
    "the name of a template": (
        lambda: fit(structure="grouped"),
        StructureError,
        "structure is 'grouped', the name of a template, but templates are functions of your kernels or columns; pass "
        "what templates.grouped(...) returns.",
    ),
    "structure that is no JSON": (lambda: fit(structure="rbf"), StructureError, "The text is not JSON"),
    "empty structure": (
        lambda: fit(structure=NOTHING),
        StructureError,
        "The structure is empty; draw at least one product over one kernel.",
    ),
    "negative weight": (
        lambda: fit(weight=np.full(80, -1.0)),
        DataError,
        "sample_weight must hold finite numbers of at least 0; replace the others.",
    ),
    "no weight at all": (
        lambda: fit(weight=np.zeros(80)),
        DataError,
        "Every sample weight is zero; give a positive weight to samples of two classes or more.",
    ),
    "probabilities of a single sample": (
        lambda: fit(labels=np.where(np.arange(80) == 5, "rare", "usual"), probability=True),
        DataError,
        "probability=True needs two samples or more of every class, but 'rare' has one; add samples of it, or use "
        "probability=False.",
    ),
    "text in a data frame": (
        lambda: fit(samples=pd.DataFrame({"age": X[:, 0], "ward": ["north"] * len(X)})),
        DataError,
        "Column 'ward' holds text, such as 'north', but a classifier needs numbers; leave it out, or put the "
        "preparation of the app before it: make_pipeline(spnmkl.data.Preparer(), SPNMKLClassifier(…))",
    ),
    "missing values in a data frame": (
        lambda: fit().predict(pd.DataFrame({"age": X[:, 0], "size": holed(np.nan)[:, 1]})),
        DataError,
        "Values are missing (NaN) in 1 column: 'size' (1 row); fill them, or put the preparation of the app before it: "
        "make_pipeline(spnmkl.data.Preparer(missing='mean'), SPNMKLClassifier(…)).",
    ),
    "not fitted": (lambda: SPNMKLClassifier().predict(X), NotFittedError, "is not fitted yet"),
    "other columns at prediction": (
        lambda: fit().predict(X[:, :1]),
        ValueError,
        "X has 1 features, but SPNMKLClassifier is expecting 2 features as input.",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_gets_one_clear_sentence(case):
    attempt, error, sentence = BAD_INPUT[case]
    with pytest.raises(error) as caught:
        attempt()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "name", ["check_fit2d_1sample", "check_fit_idempotent", "check_estimators_pickle", "check_classifiers_one_label"]
)
def test_scikit_learn_checks_of_what_chooses_by_itself(name):
    getattr(estimator_checks, name)("SPNMKLClassifier", SPNMKLClassifier())


def test_without_a_structure_columns_are_standardised_and_c_is_chosen(tmp_path):
    units = np.array([1e-3, 1e4])
    model = SPNMKLClassifier().fit(X * units, y)
    assert model.score(NEW * units, make_moons(50, noise=0.2, random_state=1)[1]) > 0.9
    names = {rival.name for rival in model.choice_.rivals}
    assert names == {"certified weights", "evidence weights", "one kernel alone"}
    best = model.choice_.best
    assert (model.C_, model.status_ == "evidence") == (best.C, best.weights == "evidence")
    assert len(model.choice_.sentences) == 2 and "5 folds" in model.choice_.sentences[0]
    model.save(tmp_path / "m")
    again = SPNMKLClassifier.load(tmp_path / "m")
    assert again.C_ == model.C_
    np.testing.assert_array_equal(again.decision_function(NEW * units), model.decision_function(NEW * units))


def test_c_by_cross_validation_of_a_given_structure():
    model = SPNMKLClassifier(SMALL, C="cv").fit(X, y)
    matrices, _ = fit_kernels(SMALL, X)
    assert cross_validate_C(SMALL, matrices, y).best_C == model.C_
    assert model.choice_ is None and model.centre_ is None


def test_what_is_given_is_not_chosen():
    assert SPNMKLClassifier(weights="evidence").fit(X, y).status_ == "evidence"
    fixed = SPNMKLClassifier(C=2.0, weights="certified").fit(X, y)
    assert fixed.C_ == 2.0 and fixed.choice_ is None and fixed.status_ == "optimal"
    few = SPNMKLClassifier().fit(X[:6], ["a", *"bbbbb"])  # a class of one row, of which no folds can be made
    assert few.C_ == 1.0 and few.choice_ is None and few.status_ == "evidence"


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_one_kernel_alone_is_the_machine_that_was_scored(C, monkeypatch):
    """At a small C too, where all samples are at their bound and certified weights with p = 1 would be 0."""
    monkeypatch.setattr(rivals, "GRID", np.array([C]))
    spn = default_drawing([Part("")])
    matrices, _ = fit_kernels(spn, X)
    chosen = rivals.choose_rival(spn, MatrixSource(matrices), y, weights="certified", n_threads=1)
    alone = next(rival for rival in chosen.rivals if rival.name == "one kernel alone")
    solution = solve(alone.spn, {leaf: matrices[leaf] for leaf in alone.spn.kernels}, y, C=alone.C, tol=1e-8)
    (leaf,), (beta,) = alone.spn.kernels, solution.beta.values()
    assert beta * alone.C == pytest.approx(C, rel=0.05), "the scored machine was solved to a hundredth"
    svc = SVC(kernel="precomputed", C=beta * alone.C, tol=1e-8).fit(matrices[leaf], y)
    ours = solution.decision_function({leaf: matrices[leaf]})
    np.testing.assert_allclose(ours, svc.decision_function(matrices[leaf]), atol=1e-3)


@pytest.mark.parametrize("given", [{"lam": 50.0}, {"p": 1.0}])
def test_one_kernel_alone_is_the_same_machine_at_any_lam_and_p(given, monkeypatch):
    """Certified and evidence weights do not take part, so that it is chosen."""
    monkeypatch.setattr(rivals._Contest, "_learned", lambda *args: iter(()))
    usual = SPNMKLClassifier(tol=1e-8, probability=True, random_state=0).fit(X, y)
    other = SPNMKLClassifier(tol=1e-8, probability=True, random_state=0, **given).fit(X, y)
    assert usual.choice_.best.name == other.choice_.best.name == "one kernel alone"
    # relative to the size of the values: the gap is of the objective, whose square root they are
    np.testing.assert_allclose(other.decision_function(NEW), usual.decision_function(NEW), rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(other.predict_proba(NEW), usual.predict_proba(NEW), atol=1e-2)


def test_c_is_chosen_at_the_lam_that_is_set(monkeypatch):
    """With equal p it only rescales C, by λ to the power of 1/(p + 1)."""
    monkeypatch.setattr(rivals._Contest, "_alone", lambda *args: iter(()))
    one, other = (SPNMKLClassifier(weights="certified", lam=lam).fit(X, y) for lam in (1.0, 100.0))
    assert pytest.approx(10.0, rel=0.1) == other.C_ / one.C_  # the grid begins at a C_min found to a tolerance
    assert (other.predict(NEW) == one.predict(NEW)).mean() > 0.95


def test_choosing_leaves_half_of_the_time_for_learning(monkeypatch):
    given = []
    monkeypatch.setattr(estimator, "choose_rival", lambda *args, max_time, **options: given.append(max_time))
    with pytest.warns(ConvergenceWarning, match="Half of max_time=100 ended before anything was chosen"):
        model = SPNMKLClassifier(max_time=100.0).fit(X, y)
    assert 40.0 < given[0] <= 50.0 and model.status_ == "optimal"


def test_a_C_that_no_time_was_left_to_choose_is_told():
    with pytest.warns(ConvergenceWarning) as caught:
        SPNMKLClassifier(SMALL, C="cv", max_time=1e-9).fit(X, y)
    assert any("so that certified weights at C=1 were taken" in str(one.message) for one in caught)


def test_at_a_given_C_the_kind_of_weights_is_chosen():
    model = SPNMKLClassifier(C=2.0).fit(X, y)
    standardised = (X - model.centre_) / model.spread_
    spn = default_structure(standardised)
    scores = cross_validate_C(spn, fit_kernels(spn, standardised)[0], y, [2.0], weights="evidence", tol=1e-2).scores
    assert model.choice_.rivals[1].score == pytest.approx(scores.mean())
    assert [rival.weights for rival in model.choice_.rivals] == ["certified", "evidence"]
    assert model.C_ == 2.0 and "C = 2, as given" in model.choice_.sentences[1]


def test_a_class_of_a_few_among_more_rows_than_are_chosen_on(monkeypatch):
    monkeypatch.setattr(rivals, "MOST_ROWS", 30)
    labels = np.where(np.arange(len(y)) < 5, 2, y)
    model = SPNMKLClassifier(weights="certified").fit(X, labels)
    assert model.choice_.folds == 5 and model.choice_.n_rows < len(y)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_numbers_of_any_size_are_standardised(unit):
    model = SPNMKLClassifier(C=1.0, weights="certified").fit(X * unit, y)
    np.testing.assert_allclose(model.spread_ / unit, X.std(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict(NEW * unit), SPNMKLClassifier(C=1.0, weights="certified").fit(X, y).predict(NEW)
    )
