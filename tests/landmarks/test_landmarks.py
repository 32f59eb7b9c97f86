"""Landmarks: against the exact SVM, scikit-learn's Nystroem and LIBLINEAR, and by what they claim of themselves."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import SVC, LinearSVC
from tolerances import DECISION, ROUNDING, SINGLE_PRECISION, SOLVED

from spnmkl import DataError, ParameterError, TrivialSolutionWarning, estimator, solve
from spnmkl.certificate import best_intercept
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.kernels import cross_kernels, fit_kernels, restrict_kernels
from spnmkl.landmarks import entry, features, linear, stratified
from spnmkl.landmarks.estimate import estimated, held_out_rows
from spnmkl.landmarks.features import feature_blocks, landmarks
from spnmkl.landmarks.linear import solve_linear
from spnmkl.model_file import load_model
from spnmkl.problem import one_vs_rest
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

X, y = make_moons(160, noise=0.25, random_state=0)
NEW = make_moons(60, noise=0.25, random_state=1)[0]
THREE = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.25)
ONE = SPN(Sum(Product(Kernel("rbf", gamma=2.0))))
FLAT = SPN(
    Sum(Product(Kernel("rbf", gamma=1.0), id="round"), Product(Kernel("linear", normalize="centred"), id="flat"))
)
DEEP = templates.product_of_sums(
    {
        "first": [Kernel("rbf", gamma=g, features=[0], normalize="centred") for g in (0.3, 3.0)],
        "second": [Kernel("polynomial", degree=d, features=[1]) for d in (1, 2)],
    }
)
DEEP_C = dict(zip(compile_circuit(DEEP).products, compile_circuit(DEEP).total_exponents(), strict=True))
NYSTROEM = SPNMKLClassifier(FLAT, C=1.0, approximation="nystroem", n_threads=1)


def clustered(n=240, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 6)).astype(np.float32)
    labels = np.where(Z[:, 0] + 0.5 * Z[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 0.7, 1.0, -1.0)
    return Z, labels, rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("labels", [y, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("spn", [FLAT, DEEP], ids=["flat", "deep"])
def test_with_every_row_a_landmark_it_is_the_exact_model(spn, labels):
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    exact = SPNMKLClassifier(spn, C=1.0, tol=SOLVED, class_weight="balanced").fit(X, labels, weight)
    model = clone(exact).set_params(approximation="nystroem").fit(X, labels, weight)
    found = model.approximation_
    assert found.n_rows == found.n_sample == len(found.landmarks) == (weight > 0).sum()
    assert found.objective == pytest.approx(exact.objective_, rel=2 * SOLVED) and found.svm_gap <= SOLVED
    expected = exact.decision_function(NEW)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=DECISION * np.abs(expected).max())


def test_one_kernel_has_the_inner_products_of_scikit_learns_nystroem():
    fitted = restrict_kernels(fit_kernels(ONE, X)[1], np.arange(0, 160, 5))
    solution = solve(ONE, fit_kernels(ONE, X)[0], y)
    circuit, W = solution.active_circuit()
    ours = np.vstack(feature_blocks(landmarks(circuit, W, fitted), NEW, np.inf)).astype(float)
    peer = Nystroem(gamma=2.0, n_components=32).fit(X[::5])  # all of these rows, in some order
    theirs = peer.transform(NEW)
    (beta,) = solution.beta.values()
    np.testing.assert_allclose(ours @ ours.T, beta * theirs @ theirs.T, atol=1e-5 * beta)


def test_features_do_not_depend_on_threads_blocks_or_where_they_lie(monkeypatch):
    solution = solve(DEEP, fit_kernels(DEEP, X)[0], y)
    circuit, W = solution.active_circuit()
    seen = landmarks(circuit, W, restrict_kernels(fit_kernels(DEEP, X)[1], np.arange(40)))
    held = np.vstack(feature_blocks(seen, X, np.inf))
    monkeypatch.setattr(features, "BLOCK_ROWS", 32)
    blocks = feature_blocks(seen, X, max_bytes=0, n_threads=2)
    assert len(blocks) == 5 and isinstance(blocks[0].base.base, np.memmap)
    np.testing.assert_allclose(np.vstack(blocks), held, atol=1e-6 * np.abs(held).max())
    # Between any row and a landmark nothing is lost: there the features have the circuit's own kernel.
    K = kernel_matrix(circuit, W, MatrixSource(fit_kernels(DEEP, X)[0]), np.empty((160, 160)))
    np.testing.assert_allclose(held @ held[:40].T, K[:, :40], atol=SINGLE_PRECISION * K.max())


def test_a_disk_without_room_is_told_in_a_sentence(monkeypatch):
    def full(descriptor, start, size):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(DataError, match=f"no room.*{tempfile.gettempdir()}|{tempfile.gettempdir()}.*no room"):
        clone(NYSTROEM).set_params(max_memory=0).fit(X, y)


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_linear_svm_is_that_of_liblinear(scale):
    Z, labels, C = clustered()
    C = scale * C
    ours = solve_linear([Z[:100], Z[100:]], labels, C, SOLVED)
    # Its intercept is a weight too: a large constant column makes that one cost nothing.
    peer = LinearSVC(loss="hinge", intercept_scaling=10.0, tol=1e-6, max_iter=1_000_000, random_state=0)
    peer.fit(Z.astype(float), labels, C)
    w = peer.coef_[0]
    primal = w @ w / 2 + best_intercept(Z @ w, labels, C)[1]
    assert ours.primal == pytest.approx(primal, rel=1e-3) and ours.primal <= primal * (1 + 2 * SOLVED)
    assert ours.primal - ours.dual <= SOLVED * ours.primal
    np.testing.assert_allclose(ours.w, w, atol=0.03 * np.abs(w).max())


@pytest.mark.parametrize("scale", [10.0, 100.0])
def test_at_a_large_C_an_interior_point_method_takes_over(scale, monkeypatch):
    Z, labels, C = clustered()
    C = scale * np.where(np.arange(240) % 7, C, 0.0)
    monkeypatch.setattr(linear, "_PATIENCE", 1)
    ours = solve_linear([Z[:100], Z[100:]], labels, C, 1e-6)
    assert ours.primal - ours.dual <= 1e-6 * ours.primal and ours.passes < 60
    assert (ours.alpha[C == 0] == 0).all() and ((ours.alpha >= 0) & (ours.alpha <= C)).all()
    seen = C > 0
    peer = SVC(kernel="linear", C=1.0, tol=1e-6).fit(Z[seen].astype(float), labels[seen], C[seen])
    w = peer.coef_[0]
    primal = w @ w / 2 + best_intercept(Z @ w, labels, C)[1]
    assert ours.primal == pytest.approx(primal, rel=1e-4) and ours.dual <= primal
    stopped = solve_linear([Z], labels, C, 1e-6, stop=iter([False] * 40 + [True] * 1000).__next__)
    assert stopped.dual <= ours.primal * (1 + ROUNDING) and ours.dual <= stopped.primal * (1 + ROUNDING)


def test_the_gap_of_the_linear_svm_is_true():
    Z, labels, C = clustered()
    best = solve_linear([Z], labels, C, 1e-8)
    for passes in (0, 1, 3):
        rough = solve_linear([Z], labels, C, 1e-12, most_passes=passes)
        assert rough.dual <= best.primal * (1 + ROUNDING) and best.dual <= rough.primal * (1 + ROUNDING)
        f = Z.astype(float) @ rough.w + rough.intercept
        loss = C @ np.maximum(0, 1 - labels * f)
        assert rough.primal == pytest.approx(rough.w @ rough.w / 2 + loss, rel=1e-12)
        assert ((rough.alpha >= 0) & (rough.alpha <= C)).all()


def test_what_is_told_of_all_rows_is_the_objective_there():
    model = clone(NYSTROEM).set_params(sample_size=60, n_components=25, tol=1e-5).fit(X, y)
    found, (n, s) = model.approximation_, (160, 60)
    assert (found.n_rows, found.n_sample, len(found.landmarks)) == (n, s, 25)
    loss = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X)).sum()
    assert found.loss == pytest.approx(loss, rel=1e-5)
    # ‖w‖² by the landmarks' own kernel, whose rows are what a new row at a landmark would have.
    K = sum(
        model.beta_[v] * cross_kernels(model.kernels_, X[model.support_])[leaf]
        for v, leaf in zip(FLAT.products, FLAT.kernels, strict=True)
    )
    norm = float(model.dual_coef_[0] @ K @ model.dual_coef_[0])
    assert found.objective == pytest.approx(norm / 2 + sum(model.beta_.values()) + loss, rel=1e-5)
    # It is what some classifier over all rows costs, so no less than the optimum.
    exact = SPNMKLClassifier(FLAT, C=1.0, tol=1e-5).fit(X, y)
    assert exact.dual_bound_ <= found.objective <= 1.1 * exact.objective_


def test_the_certificate_is_that_of_the_sample():
    model = clone(NYSTROEM).set_params(sample_size=60, n_components=25).fit(X, y)
    matrices, _ = fit_kernels(FLAT, X[model.rows_])
    assert model.solution_.certify(matrices).gap == pytest.approx(model.gap_) and model.gap_ <= 1e-3
    assert model.solution_.lam == pytest.approx(60 / 160)
    first, second, *_ = model.approximation_.sentences
    assert "a sample of 60 of 160 training rows; certified for this sample" in first
    assert "25 landmarks" in second and "is not certified" in second
    assert "optimal" not in " ".join(model.approximation_.sentences)


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_a_step_of_the_weights_promises_no_more_than_the_same_function_gains(p, monkeypatch):
    seen, own = [], entry._Whole._better_weights

    def watched(whole, rows, found):
        better, gain = own(whole, rows, found)
        seen.append((whole, rows, found, better, gain))
        return better, gain

    monkeypatch.setattr(entry._Whole, "_better_weights", watched)
    monkeypatch.setattr(entry, "_PAYS", 1e-5)
    few = {"structure": DEEP, "p": p, "sample_size": 20, "n_components": 20, "C": 0.3}
    model = clone(NYSTROEM).set_params(**few).fit(X, y)
    assert 0 < model.approximation_.steps <= 3
    whole, rows, found, better, gain = seen[0]
    beta, c = found.t * found.beta, found.coefficients[0]
    K = {leaf: cross_kernels({leaf: k}, X[model.support_])[leaf] for leaf, k in rows.used.items()}

    def cost(weights):
        """Complexity of the function that was found, path by path, and the price of weights."""
        named = dict(zip(rows.circuit.products, weights, strict=True))
        first = dict(zip(rows.circuit.products, beta, strict=True))
        total = sum(DEEP_C[v] * b**p for v, b in named.items() if b > 0)
        for path in DEEP.paths():
            g, before = (np.prod([of[v] ** float(e) for v, e in path.exponents.items()]) for of in (named, first))
            if before > 0:
                total += before**2 * float(c @ np.prod([K[leaf] for leaf in path.leaves], axis=0) @ c) / (2 * g)
        return total

    assert 0 < gain <= cost(beta) - cost(better) + ROUNDING * cost(beta)
    assert cost(beta) == pytest.approx(found.norm / found.t + whole._prices(rows.circuit, beta)[0].sum(), rel=1e-5)
    monkeypatch.setattr(entry, "_STEPS", 0)
    unmoved = clone(model).fit(X, y).approximation_
    assert unmoved.steps == 0 and np.ptp(list(unmoved.factors.values())) < ROUNDING
    assert model.approximation_.objective < unmoved.objective


def test_the_interval_of_the_loss_holds_what_all_rows_have():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [3000, 800, 200])
    Y, C = one_vs_rest(codes, 3), rng.uniform(0.5, 1.5, 4000)
    F = Y * rng.normal(0.8, 1.0, Y.shape)
    loss = float((C * np.maximum(0, 1 - Y * F).sum(axis=0)).sum())
    right, sample = np.mean(F.argmax(axis=0) == codes), np.arange(0, 4000, 40)
    found = []
    for _ in range(200):
        held = held_out_rows(codes, sample, rng)
        assert not np.isin(held, sample).any() and len(held) == 780
        found.append(estimated(codes, Y, C, held, F[:, held]))
    assert np.mean([one.loss for one in found]) == pytest.approx(loss, rel=0.01)
    for true, intervals in (
        (loss, [one.loss_interval for one in found]),
        (right, [one.accuracy_interval for one in found]),
    ):
        # About 95 of 100, and a little more because rows are drawn without replacement.
        assert 0.9 <= np.mean([low <= true <= high for low, high in intervals]) <= 1.0
    assert not len(held_out_rows(codes, np.arange(3799, 4000), rng))  # all rows of a class are in the sample


def test_the_estimate_is_of_rows_that_nothing_has_seen():
    rng = np.random.default_rng(0)
    rows, coins = rng.normal(size=(400, 2)), np.arange(400) % 2
    narrow = SPN(Sum(Product(Kernel("rbf", gamma=30.0))))
    noise = SPNMKLClassifier(narrow, C=1.0, approximation="nystroem", sample_size=200, n_components=200)
    found = noise.fit(rows, coins).approximation_
    assert found.right == pytest.approx(noise.score(rows, coins)) and found.right > 0.75
    assert found.estimate.accuracy_interval[0] < 0.5 < found.estimate.accuracy_interval[1] < found.right
    assert found.loss < found.estimate.loss_interval[0] and "Estimated on 40 rows" in found.sentences[-1]
    assert clone(noise).set_params(sample_size=400).fit(rows, coins).approximation_.estimate is None


def test_an_svm_that_ends_above_its_tolerance_warns(monkeypatch):
    monkeypatch.setattr(entry, "solve_linear", partial(solve_linear, most_passes=1))
    with pytest.warns(ConvergenceWarning, match=r"SVM on all rows ended at a relative gap of .* \(tol is 1e-07\)"):
        model = clone(NYSTROEM).set_params(sample_size=60, n_components=25, tol=1e-7).fit(X, y)
    assert model.approximation_.svm_gap > 1e-7


def test_a_sample_has_every_class_and_weighs_what_it_took_too_much_of():
    labels = np.repeat(["a", "b", "c"], [900, 80, 20])
    sample = stratified(labels, 300, np.random.default_rng(0))
    counts = {c: int((labels[sample.rows] == c).sum()) for c in "abc"}
    assert counts == {"a": 270, "b": 50, "c": 20}
    totals = [sample.weight[labels[sample.rows] == c].sum() for c in "abc"]
    np.testing.assert_allclose(np.array(totals) / sum(totals), [0.9, 0.08, 0.02])
    assert len(stratified(labels, 1000, np.random.default_rng(0)).rows) == 1000


def test_random_state_decides_on_sample_and_landmarks():
    small = clone(NYSTROEM).set_params(sample_size=60, n_components=20)
    one, two, other = (clone(small).set_params(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert np.array_equal(one.decision_function(NEW), two.decision_function(NEW))
    assert not np.array_equal(one.support_, other.support_)


@pytest.mark.parametrize("labels", [y, THREE], ids=["two classes", "three classes"])
def test_a_saved_model_predicts_the_same(tmp_path, labels):
    model = clone(NYSTROEM).set_params(structure=DEEP, sample_size=70, n_components=30, probability=True)
    weight = (np.arange(160) % 5 > 0).astype(float)
    model.fit(X, labels, weight)
    model.save(tmp_path / "model.spnmkl")
    again = load_model(tmp_path / "model.spnmkl")
    assert np.array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    assert again.approximation_.sentences == model.approximation_.sentences and again.beta_ == model.beta_
    assert np.array_equal(again.rows_, model.rows_) and np.array_equal(again.support_, model.support_)
    matrices, _ = fit_kernels(DEEP, X[again.rows_])
    assert again.solution_.certify(matrices).gap == pytest.approx(model.gap_)
    assert again.get_params()["n_components"] == 30


def test_a_model_saved_with_one_scale_of_all_weights_is_read(tmp_path):
    """As files held it before weights were moved on all rows, one by one."""
    model = clone(NYSTROEM).set_params(sample_size=60, n_components=20).fit(X, y)
    model.approximation_ = replace(model.approximation_, factors=dict.fromkeys(model.beta_, 0.5))
    model.save(tmp_path / "new.spnmkl")
    with ZipFile(tmp_path / "new.spnmkl") as new, ZipFile(tmp_path / "old.spnmkl", "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if name == "model.json":
                document = json.loads(content)
                for added in ("factors", "steps", "right", "estimate"):
                    del document["approximation"][added]
                document["approximation"]["scale"] = 0.5
                content = json.dumps(document).encode()
            old.writestr(name, content)
    new, old = (load_model(tmp_path / f"{name}.spnmkl") for name in ("new", "old"))
    assert old.approximation_.factors == new.approximation_.factors and old.approximation_.estimate is None
    assert np.array_equal(old.decision_function(NEW), new.decision_function(NEW))


def test_probabilities_come_from_rows_held_out():
    rng = np.random.default_rng(0)
    noise = SPNMKLClassifier(ONE, C=10.0, approximation="nystroem", probability=True, random_state=0)
    rows, coins = rng.normal(size=(120, 2)), np.arange(120) % 2
    noise.fit(rows, coins)
    assert noise.score(rows, coins) > 0.9
    assert np.abs(noise.predict_proba(rows)[:, 1] - 0.5).mean() < 0.2


def test_stopped_before_all_rows_were_seen_it_is_the_samples_model():
    asked = []
    model = clone(NYSTROEM).set_params(sample_size=60, n_components=20, callback=lambda record: False).fit(X, y)
    assert not model.approximation_.finished and model.status_ == "interrupted"
    fitted = fit_kernels(FLAT, X[model.rows_])[1]
    np.testing.assert_allclose(
        model.decision_function(NEW), model.solution_.decision_function(cross_kernels(fitted, NEW)), atol=ROUNDING
    )
    assert "the sample's own" in model.approximation_.sentences[1]

    def late():
        asked.append(1)
        return len(asked) > 400

    stopped = clone(NYSTROEM).set_params(sample_size=60, n_components=20, stop=late, tol=1e-12)
    assert np.isfinite(stopped.fit(X, y).decision_function(NEW)).all()


@pytest.mark.parametrize("moment", ["_machines", "held_out_decisions"])
def test_stopped_at_the_svm_or_the_probabilities_it_does_not_answer_all_rows_alike(moment, monkeypatch):
    where, stopped = (entry._Whole, []) if moment == "_machines" else (estimator, [])
    own = getattr(where, moment)

    def late(*args, **named):
        stopped.append(True)
        return own(*args, **named)

    monkeypatch.setattr(where, moment, late)
    rows = np.random.default_rng(0).normal(size=(400, 3))
    labels = rows[:, 0] > 0
    options = {"approximation": "nystroem", "n_components": 40, "sample_size": 100, "probability": True}
    model = SPNMKLClassifier(templates.flat([Kernel("linear")]), C=1.0, stop=lambda: bool(stopped), **options)
    model.fit(rows, labels)
    assert stopped and model.approximation_.finished == (moment != "_machines")
    chances = model.predict_proba(rows)[:, 1]
    assert model.score(rows, labels) > 0.9 and np.mean((chances > 0.5) == labels) > 0.9


def test_all_weights_zero_is_the_constant_of_all_rows():
    labels = (np.arange(160) % 4 == 0).astype(int)
    with pytest.warns(TrivialSolutionWarning, match="C_min"):
        model = clone(NYSTROEM).set_params(C=1e-7, sample_size=60, n_components=20).fit(X, labels)
    assert model.kernels_ == {} and set(model.predict(NEW)) == {0}
    assert model.approximation_.loss == model.approximation_.objective == pytest.approx(1e-7 * 2 * 40)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"approximation": "fourier"}, "approximation must be 'nystroem' or None, but it is 'fourier'"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1, but it is 0"),
        ({"sample_size": 1.5}, "sample_size must be a whole number of at least 2, but it is 1.5"),
    ],
)
def test_bad_settings_are_refused(setting, words):
    with pytest.raises(ParameterError, match=words):
        SPNMKLClassifier(**setting).fit(X, y)
