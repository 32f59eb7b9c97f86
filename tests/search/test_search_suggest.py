"""A search: its score test, its evidence and its moves against slow answers; rows that it must not see; its ends."""

import itertools
import math
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib.parallel import ThreadingBackend

from spnmkl import DataError, Kernel, ParameterError, StructureError, fit_evidence, solve, templates
from spnmkl.evidence.laplace import laplace, score_test
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.measures import SCORINGS, error_of_rows, right_rows
from spnmkl.search import Score, SearchStep, Suggestions, entry, scores, suggest, walk
from spnmkl.search.branches import Weighed, alike, drawn, equal, formula, free_weights, joined, merged, paths
from spnmkl.search.entry import Settings, searched
from spnmkl.search.fits import Fitted, Ground, Workplace, constant_alone, fit, next_prunings, parts, pruned, without
from spnmkl.search.leaves import leaves_of
from spnmkl.search.moves import Candidate, Pool, candidates
from spnmkl.search.result import described
from spnmkl.search.rows import ArrayRows, held_out
from spnmkl.search.scores import _REACH, INNER, TOL, FoldAnswers, chosen_C, errors_words, over_folds
from spnmkl.search.ways import BothWays, Way, ranked
from spnmkl.selection import cross_validate_C
from spnmkl.solvers import C_min, deadline
from spnmkl.solvers.deadline import Deadline

TOLERANCE = 1e-8


def interaction(n: int = 150, columns: int = 4, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(n, columns))
    return pd.DataFrame(X, columns=list("abcdefgh")[:columns]), np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@pytest.fixture(scope="module")
def found() -> Suggestions:
    X, y = interaction()
    return suggest(X, y, views={"one": ["a", "c"], "two": ["b", "d"]}, budget=30, subsamples=2)


def kernels(n: int, number: int, seed: int = 0) -> list[np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, number))
    return [np.exp(-np.square(X[:, [j]] - X[:, j])) for j in range(number)]


@pytest.mark.parametrize("classes", [1, 3])
def test_the_score_test_is_the_slope_by_its_spread(classes: int) -> None:
    """The slope by differences, the spread by the definition, from nothing but the log evidence and the mode."""
    n = 25
    K, candidate = sum(kernels(n, 2)), kernels(n, 3, seed=1)[2]
    Y = np.sign(np.random.default_rng(2).normal(size=(classes, n)))
    at = laplace(K, Y, np.zeros_like(Y))
    step = 1e-5
    more, less = (laplace(K + sign * step * candidate, Y, at.a).log_evidence for sign in (1, -1))
    variance = 0.0
    for a in at.a:
        p = 1 / (1 + np.exp(-K @ a))
        R = np.linalg.inv(K + np.diag(1 / (p * (1 - p))))  # = W^½ B⁻¹ W^½
        variance += np.trace(R @ candidate @ R @ candidate) / 2
    (z,) = score_test(K, Y, at.a, [candidate])
    assert z == pytest.approx((more - less) / (2 * step) / np.sqrt(variance), rel=1e-5)


def test_screening_goes_by_the_score_test() -> None:
    """What is asked for is what the largest z has among all pairs, each computed by itself."""
    X, y = interaction(90)
    K = tuple(np.exp(-np.square(X[[c]].to_numpy() - X[c].to_numpy())) for c in X)
    ground = Ground(K, np.where(y == "yes", 1.0, -1.0)[None])
    pool = Pool(((0, 1, 2, 3),), 4, frozenset(range(4)))
    start = fit(ground, tuple(equal([(k,)], 0.0) for k in range(4)), 1.0, np.zeros_like(ground.Y))
    asked = [one for one in candidates(ground, pool, start) if one.kind == "pair"]
    whole = Workplace(ground, start.weights).kernel(start)
    z = {
        (i, j): float(score_test(whole, ground.Y, start.a, [K[i] * K[j]])[0])
        for i, j in itertools.combinations(range(4), 2)
    }
    assert [one.branch.factors for one in asked[:1]] == [((0,), (1,))]
    assert asked[0].z == pytest.approx(max(z.values()), rel=TOLERANCE)


def test_a_fit_has_the_evidence_of_its_weights() -> None:
    """The log evidence that is told is Laplace's of the kernel put together by hand."""
    K = kernels(30, 3)
    Y = np.sign(np.random.default_rng(1).normal(size=(1, 30)))
    ground = Ground(tuple(K), Y)
    weights = (equal([(0, 1), (2,)], 0.3), equal([(0,)], -0.5), equal([(0,), (0,), (1, 2)], -1.0))
    fitted = fit(ground, weights, 1.0, np.zeros_like(Y), steps=3)
    by_hand = np.full((30, 30), fitted.constant)
    for branch in fitted.weights:
        part = np.full((30, 30), np.exp(branch.scale))
        for factor, logs in zip(branch.factors, branch.logs, strict=True):
            part *= sum(np.exp(log) * K[leaf] for leaf, log in zip(factor, logs, strict=True))
        by_hand += part
    assert fitted.value == pytest.approx(laplace(by_hand, Y, fitted.a).log_evidence, abs=TOLERANCE)
    assert np.allclose(Workplace(ground, fitted.weights).kernel(fitted), by_hand, rtol=1e-10)
    flat = [laplace(np.full((30, 30), c), Y, np.zeros_like(Y)).log_evidence for c in np.exp(np.linspace(-12, 5, 200))]
    assert constant_alone(ground).value >= max(flat) - 1e-3


def test_pruning_never_lowers_the_criterion() -> None:
    X, y = interaction(80)
    K = tuple(np.exp(-np.square(X[[c]].to_numpy() - X[c].to_numpy())) for c in X)
    ground = Ground(K, np.where(y == "yes", 1.0, -1.0)[None])
    start = fit(ground, (equal([(0, 2), (1, 3)], 1.0), equal([(2,)], 0.0)), 1.0, np.zeros_like(ground.Y))
    left = pruned(ground, start, 8)
    assert left.criterion(ground) >= start.criterion(ground)
    assert left.branches == (((0,), (1,)),)
    assert start.refits < left.refits <= start.refits + 8


def test_what_is_left_after_taking_something_out_begins_with_the_evidence_it_was_taken_out_at() -> None:
    """Of kernels of any scale: else a part would be taken out, or not, at other weights than it is refitted from."""
    rng = np.random.default_rng(0)
    K = [scale * matrix for scale, matrix in zip((1.0, 7.0, 0.03, 50.0), kernels(40, 4), strict=True)]
    ground = Ground(tuple(K), np.where(rng.random(40) < 0.5, 1.0, -1.0)[None])
    shapes = (((0, 1), (2, 3)), ((0,),), ((1, 2), (1, 2)), ((0,), (1,), (3,)))
    fitted = fit(ground, merged([equal(shape, 0.3) for shape in shapes]), 1.0, np.zeros_like(ground.Y), 5)
    room = Workplace(ground, fitted.weights)

    def begun(weights: tuple[Weighed, ...]) -> float:
        return Workplace(ground, weights).value_without(replace(fitted, weights=weights), [])

    assert begun(fitted.weights) == pytest.approx(fitted.value, abs=TOLERANCE)
    for part in parts(fitted.weights):
        lost = room.value_without(fitted, [part.product])
        assert begun(without(fitted.weights, [part])) == pytest.approx(lost, abs=TOLERANCE)


def test_pruning_goes_on_where_what_seemed_light_was_not() -> None:
    """The first that it tries is what goes unnoticed; what others may take over comes after it all the same."""
    ground = Ground(tuple(kernels(40, 3)), np.resize([1.0, -1.0], 40)[None])
    fitted = fit(ground, tuple(equal([(leaf,)], 0.0) for leaf in range(3)), 1.0, np.zeros_like(ground.Y))
    assert len(list(next_prunings(ground, fitted, None))) > 1


@pytest.mark.parametrize(("gain", "taken"), [(0.4, False), (0.6, True)])
def test_a_branch_that_gains_little_is_left_out(gain: float, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(tuple(kernels(30, 2)), np.resize([1.0, -1.0], 30)[None])
    before = fit(ground, (equal([(0,)], 0.0),), 1.0, np.zeros_like(ground.Y))
    larger = merged([*before.weights, equal([(1,)], 0.0)])
    offered = Fitted(larger, 1.0, before.a, before.value + ground.price + gain)
    monkeypatch.setattr(walk, "candidates", lambda *given: [Candidate("leaf", equal([(1,)], 0.0), 9.0)])
    monkeypatch.setattr(walk, "tried", lambda *given: offered)
    found = walk.Walk(ground, Pool(((0, 1),), 2, frozenset()), 10, constant_alone(ground), best=before)
    assert walk._step(found, lambda: False, 1, lambda walk: None) is taken
    assert found.best is (offered if taken else before) and offered.branches in found.seen


def test_branches_are_counted_joined_and_drawn() -> None:
    block = ((0, 1), (2, 3))
    assert free_weights(block) == 3
    assert paths(block) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert alike([block], [((0,), (2,))]) == 1 / 4
    two = (Weighed(((0,), (2, 3)), ((0.0,), (-0.5, -1.0)), 0.2), Weighed(((1,), (2, 3)), ((0.0,), (-0.5, -1.0)), 0.1))
    (one,) = joined(merged(two))
    assert [branch.factors for branch in one] == [block]
    shares = np.exp(one[0].scale + np.add.outer(one[0].logs[0], one[0].logs[1]))
    apart = [np.exp(branch.scale + np.array(branch.logs[1])) for branch in two]
    assert np.allclose(shares, apart)
    leaves = [Kernel("linear", features=[k], label=name) for k, name in enumerate("abcd")]
    spn = drawn([block, ((0,),)], leaves)
    assert not spn.validate()
    assert {tuple(sorted(spn.label(leaf) for leaf in path.leaves)) for path in spn.paths()} == {
        ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("a",),
    }  # fmt: skip
    assert formula([block, ((0,),)], "abcd") == "(a + b) × (c + d) + a"


def test_it_finds_the_interaction(found: Suggestions) -> None:
    assert found.found
    assert found.beats_constant
    assert found.best.formula == "a × b"
    assert found.best.recurs == {"a × b": 1.0}
    assert found.sentence.startswith("Evidence for products: a × b is")
    assert [one.is_flat for one in found].count(True) == 1
    assert found.best.score.mean > found.flat.score.mean + 0.1
    assert found.refits <= 30
    assert [one.criterion for one in found] == sorted((one.criterion for one in found), reverse=True)
    assert all(one.formula in one.sentence or one.is_flat for one in found)
    assert list(found.table["drawing"]) == [one.formula for one in found]


def test_its_evidence_is_that_of_the_drawing(found: Suggestions) -> None:
    """`fit_evidence` on the same rows, from its own starts, has the same log evidence for every drawing shown."""
    X, y = interaction()
    seen, _ = held_out(ArrayRows.of(X, y), np.arange(len(y)), 0.25, 0)
    for one in found:
        K, _ = fit_kernels(one.spn, X.to_numpy()[seen], list(X))
        again = fit_evidence(one.spn, K, y[seen])
        assert one.log_evidence == pytest.approx(again.log_evidence, abs=0.05)
        assert set(one.weights) <= set(one.spn.products)
        assert one.over_flat == pytest.approx(one.log_evidence - found.flat.log_evidence)


def test_certified_weights_are_those_of_the_rows_searched(found: Suggestions) -> None:
    X, y = interaction()
    seen, _ = held_out(ArrayRows.of(X, y), np.arange(len(y)), 0.25, 0)
    one = found.best
    K, _ = fit_kernels(one.spn, X.to_numpy()[seen], list(X))
    assert one.certified == pytest.approx(solve(one.spn, K, y[seen], C=one.C).beta, rel=1e-9)


def test_rows_held_out_are_not_seen() -> None:
    """With the rows kept away turned into noise, columns and labels, all but the scores stays, to the last bit."""
    X, y = interaction(120, columns=3)
    seen, kept = held_out(ArrayRows.of(X, y), np.arange(len(y)), 0.25, 0)
    assert not set(seen) & set(kept)
    assert len(seen) + len(kept) == len(y)
    rng = np.random.default_rng(0)
    other_X, other_y = X.copy(), y.copy()
    other_X.iloc[kept] = rng.normal(size=(len(kept), X.shape[1]))
    other_y[kept] = rng.permutation(y[kept])
    settings, leaves = Settings(16, "accuracy", subsamples=1), leaves_of(list(X))
    one, other = (
        searched(ArrayRows.of(rows, labels), leaves, seen, kept, settings, Deadline(None), learn=True)
        for rows, labels in ((X, y), (other_X, other_y))
    )
    told = [(s.formula, s.log_evidence, s.C, s.weights, s.certified, s.recurs) for s in one]
    assert told == [(s.formula, s.log_evidence, s.C, s.weights, s.certified, s.recurs) for s in other]
    assert other.best.score.mean < one.best.score.mean


def test_scores_are_of_models_that_did_not_see_the_fold() -> None:
    """A fold's score, from the classifier's own parts: trained on all other rows at the C of the rows searched."""
    X, y = interaction(100)
    rows = ArrayRows.of(X, y)
    seen, kept = held_out(rows, np.arange(len(y)), 0.25, 0)
    spn = leaves_of(list(X)).flat
    got = scores.scored(rows, spn, seen, kept, "accuracy", 0, True, lambda: False)
    by_hand = []
    for others, fold in scores.folds_of(rows, kept, scores.FOLDS, 0):
        train = np.sort(np.concatenate([seen, others]))
        K, fitted = fit_kernels(spn, X.to_numpy()[train], list(X))
        solution = solve(spn, K, y[train], C=got.C, warn=False)
        decision = solution.decision_function(cross_kernels(fitted, X.to_numpy()[fold]))
        by_hand.append(float((np.where(decision > 0, "yes", "no") == y[fold]).mean()))
    assert got.certified.mean == pytest.approx(np.mean(by_hand))


def test_it_says_so_where_there_is_nothing() -> None:
    X, y = interaction(120, seed=11)
    nothing = suggest(X, np.random.default_rng(5).permutation(y), budget=20, subsamples=0, held_out=0)
    assert not nothing.found
    assert not nothing.beats_constant
    assert [one.is_flat for one in nothing] == [True]
    assert nothing.sentence.startswith("No evidence for products in these data, nor for a sum: no drawing is better")
    assert str(nothing.best.score) == "not scored"
    x = X.to_numpy()
    added = suggest(X, x[:, 0] + x[:, 1] > 0, budget=20, subsamples=0, held_out=0)
    assert not added.found
    assert added.beats_constant
    assert added.sentence.startswith("No evidence for products in these data")
    assert not added.best.multiplies


def noisy(columns: int, of: Callable[[np.ndarray], np.ndarray], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(100, columns))
    return X, of(X) + 0.3 * rng.normal(size=100) > 0


def test_a_smaller_sum_is_recommended_where_it_leads_the_flat_one() -> None:
    """By as much as a product has to; where it leads by less, the flat sum will do."""
    X, y = noisy(6, lambda X: X[:, 0], 1)
    clear = suggest(X, y, budget=30, subsamples=0, held_out=0)
    assert not clear.found and clear.leads and not clear.best.multiplies
    assert clear.recommended is clear.best and clear.best.formula == "0"
    lead = clear.best.criterion - clear.flat.criterion
    assert lead >= walk.FOUND and f"Without products, 0 is recommended: it is {lead:.1f} of log" in clear.sentence
    assert "will do" not in clear.sentence
    X, y = noisy(3, lambda X: X[:, 0] + X[:, 1], 0)
    little = suggest(X, y, budget=20, subsamples=0, held_out=0)
    assert not little.found and not little.leads and not little.best.is_flat
    assert 0 < little.best.criterion - little.flat.criterion < walk.FOUND
    assert little.recommended is little.flat and little.sentence.endswith("The flat sum of all kernels will do.")


def test_outer_folds_score_what_is_recommended_there(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(6, lambda X: X[:, 0], 1)
    scored, on_fold = [], entry._on_fold
    monkeypatch.setattr(entry, "_on_fold", lambda *given: (scored.append(given[1]), on_fold(*given))[1])
    suggest(X, y, budget=16, subsamples=0, held_out=0, outer_folds=3)
    assert sorted({len(spn.kernels) for spn in scored}) == [1, 6], "the flat sum, and one of its kernels"


def test_a_sum_comes_first_where_no_product_was_found_although_one_is_like_it() -> None:
    """Drawings with most paths in common count as one; which of them, the answer of the search decides."""
    leaves, K = leaves_of(list("abcdef")), kernels(30, 6)
    ground = Ground(tuple(K), np.resize([1.0, -1.0], 30)[None])
    singles = [((leaf,),) for leaf in range(6)]

    def fitted(value: float, *shapes: tuple[tuple[int, ...], ...]) -> Fitted:
        return Fitted(merged([equal(shape, 0.0) for shape in shapes]), 1.0, np.zeros_like(ground.Y), value)

    done = walk.Walk(ground, leaves.pool, 10, fitted(-100.0), fitted(0.0, *singles))
    for one in (done.flat, fitted(0.0, *singles[:4]), fitted(2.0, *singles[:4], ((0,), (1,)))):
        assert one is not None
        done.note(one)
    both = BothWays((Way(leaves, done),))
    assert not both.found and done.best is not done.simple
    assert ranked(both, lambda: True)[0][1] is done.simple


def test_the_same_for_any_number_of_jobs() -> None:
    X, y = interaction(60, columns=3)
    settings = {"budget": 6, "subsamples": 1, "held_out": 0.25}
    one = suggest(X, y, n_jobs=1, **settings)
    several = suggest(X, y, n_jobs=3, **settings)
    with joblib.parallel_config(backend="sequential"):
        again = suggest(X, y, **settings)
    for other in (several, again):
        assert [s.formula for s in one] == [s.formula for s in other]
        assert [s.log_evidence for s in one] == [s.log_evidence for s in other]
        assert [s.score for s in one] == [s.score for s in other]
        assert [s.recurs for s in one] == [s.recurs for s in other]


def test_a_backend_that_was_registered_takes_the_work() -> None:
    """One that gives its results at once, as others' may; candidates, subsamples and scores go to it."""
    done = Counter[str]()

    class Counting(ThreadingBackend):
        supports_return_generator = supports_retrieve_callback = False

        def submit(self, func, callback=None):  # type: ignore[no-untyped-def]
            done.update(bag.shared[0].__name__ for _, (bag, *_), _ in func.items)
            begin = getattr(super(), "submit", super().apply_async)  # as it is called before joblib 1.5
            return begin(func, callback)

        apply_async = submit

    joblib.register_parallel_backend("counting", Counting)
    X, y = interaction(90, columns=2)
    settings = {"budget": 12, "subsamples": 2, "held_out": 0.25}
    with joblib.parallel_config(backend="counting", n_jobs=2):
        found = suggest(X, y, **settings)
    assert done["found_among"] == 2 and done["scored_on"] == len(found) and done["_tried"] > 0
    serial = suggest(X, y, n_jobs=1, **settings)
    told = [(s.formula, s.log_evidence, s.score, s.recurs) for s in serial]
    assert [(s.formula, s.log_evidence, s.score, s.recurs) for s in found] == told


def test_stopping_keeps_the_best_so_far() -> None:
    X, y = interaction(100)
    halt, told = threading.Event(), []

    def follow(step) -> None:  # type: ignore[no-untyped-def]
        told.append(step)
        if "×" in step.formula:
            halt.set()

    stopped = suggest(X, y, budget=200, callback=follow, stop=halt.is_set)
    assert stopped.ended == "stopped"
    assert "×" in stopped.best.formula or "×" in stopped[1].formula
    assert stopped.sentence.startswith("So far")
    assert any(one.is_flat for one in stopped)
    assert [step.refits for step in told] == sorted(step.refits for step in told)
    assert not told[-1].spn.validate()
    enough = suggest(X, y, budget=200, callback=lambda step: step.refits < 1, subsamples=3)
    assert enough.ended == "stopped"
    assert enough.refits < 10


def test_a_stop_after_the_search_says_so() -> None:
    X, y = interaction(100)
    halt = threading.Event()

    def follow(step) -> None:  # type: ignore[no-untyped-def]
        if step.words.startswith("scoring"):
            halt.set()

    stopped = suggest(X, y, budget=16, callback=follow, stop=halt.is_set, subsamples=0)
    assert stopped.ended == "stopped" and not stopped.best.score.folds
    assert "It was stopped after the search itself" in stopped.sentence and "So far" not in stopped.sentence


def test_what_recurs_everywhere_is_not_said_to_do_so_at_least(found: Suggestions) -> None:
    def said(share: float, subsamples: int) -> str:
        return described(replace(found.best, recurs={"a × b": share}), subsamples)

    assert "; every branch recurs in each of 6 subsamples" in said(1.0, 6)
    assert "; every branch recurs in 1 subsample" in said(1.0, 1)
    assert "; every branch recurs in at least 5 of 6 subsamples" in said(5 / 6, 6)


def test_time_ends_it() -> None:
    X, y = interaction(100)
    found = suggest(X, y, budget=10_000, max_time=1e-3)
    assert found.ended == "stopped"
    assert any(one.is_flat for one in found)
    assert found.refits < 5
    assert found.sentence == "So far, as it was stopped: no drawing is better than a constant."


def test_a_search_leaves_time_for_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still until a fit of the search takes what a search may take, and more."""
    now = [0.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])

    def follow(step: SearchStep) -> None:
        now[0] += 6.0 if step.words == "searching" else 0.0

    X, y = interaction(60, columns=2)
    found = suggest(X, y, budget=10_000, max_time=20.0, subsamples=1, callback=follow)
    assert found.ended == "stopped" and found.refits < 10, "two steps are over half of the time"
    assert found.sentence.startswith("So far")
    assert found.subsamples == 1 and all(one.score.folds == 5 for one in found)


def test_outer_folds_have_the_search_inside() -> None:
    X, y = interaction(90)
    found = suggest(X, y, budget=10, subsamples=0, held_out=0, outer_folds=2)
    assert found.outer is not None
    assert found.outer.search.folds == found.outer.flat.folds == 2
    assert found.outer.search.mean > found.outer.flat.mean


def agreeing(right: float, n: int = 68, folds: int = 4) -> list[FoldAnswers]:
    """Folds that all have the same score."""
    y = np.arange(n // folds) % 2
    return [FoldAnswers(right, y, np.where(np.arange(len(y)) < right * len(y), y, 1 - y)) for _ in range(folds)]


def test_folds_that_agree_are_no_surer_than_their_rows() -> None:
    found = over_folds(agreeing(9 / 17), 0.2, "accuracy")
    assert found.by_rows and found.error == pytest.approx(math.sqrt(9 / 17 * 8 / 17 / 68), rel=0.05)
    assert found.guess == pytest.approx(9 / 17) and found.beside_guessing == "; guessing has 52.9 %"
    apart = over_folds([*agreeing(9 / 17, folds=2, n=34), *agreeing(1.0, folds=2, n=34)], 0.2, "accuracy")
    assert not apart.by_rows and apart.error > found.error
    assert errors_words([found, found]).startswith("± is one standard error, that of the number of rows")
    assert errors_words([found, apart]).endswith("here for 1 of 2 scores.")
    assert not errors_words([Score()])


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_the_error_of_the_rows_is_how_far_such_rows_vary(scoring: str) -> None:
    rng, classes = np.random.default_rng(0), np.array([0, 1])
    y = np.repeat(classes, [60, 30])
    drawn = [SCORINGS[scoring].of(y, y - 0.5 + rng.normal(size=90), classes) for _ in range(400)]
    decision = y - 0.5 + rng.normal(size=90)
    counts = right_rows(y, (decision > 0).astype(int), np.unique(y))
    error = error_of_rows(scoring, float(np.mean(drawn)), *counts)
    assert error == pytest.approx(np.std(drawn), rel=0.15)


def test_fewer_outer_folds_where_a_class_has_few_rows() -> None:
    X, y = interaction(40, columns=2)
    y = np.where(np.arange(40) < 3, "few", np.where(np.arange(40) % 2, "a", "b"))
    told = []
    asked = {"budget": 1, "subsamples": 0, "held_out": 0, "outer_folds": 5}
    found = suggest(X, y, **asked, callback=lambda step: told.append(step.words))
    assert found.outer is not None and found.outer.flat.folds == 3
    assert "outer fold 3 of 3, the whole search in it" in told


def test_groups_are_held_out_together() -> None:
    X, y = interaction(120)
    groups = np.arange(120) // 4
    rows = ArrayRows.of(X, y, groups)
    seen, kept = held_out(rows, np.arange(120), 0.25, 0)
    assert not set(groups[seen]) & set(groups[kept])


def test_C_is_chosen_on_folds_that_keep_groups_together() -> None:
    """Rows that come four times: a fold that tears them apart would answer a narrow kernel's rows by heart."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(30, 2)), 4, axis=0), np.repeat(rng.random(30) < 0.5, 4)
    groups = np.arange(120) // 4
    spn = templates.flat([Kernel("rbf", gamma=50.0)])
    parts = ArrayRows.of(X, y, groups).parts(spn, np.arange(120), np.arange(0))
    C = chosen_C(spn, parts, "accuracy", 0, lambda: False)
    smallest = C_min(spn, parts.inside, parts.y_train, tol=0.1)
    grid = smallest * 1.5 * _REACH
    found = cross_validate_C(spn, parts.inside, y, grid.tolist(), folds=INNER, groups=groups, random_state=0, tol=TOL)
    assert found.best_C == C
    torn = cross_validate_C(spn, parts.inside, y, grid.tolist(), folds=INNER, random_state=0, tol=TOL)
    assert torn.mean.max() > 0.9 > found.mean.max()


def test_three_classes_and_a_view_of_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 30))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
    found = suggest(X, y, budget=6, subsamples=0, scoring="balanced_accuracy")
    assert sorted(found.views) == ["all columns"]
    assert len(found.flat.spn.kernels) == 4
    assert found.best.score.scoring == "balanced_accuracy"
    views = leaves_of(list(range(30)), {"few": [0, 1], "more": list(range(2, 29))})
    assert sorted(views.views) == ["few", "more", "others"]
    assert "more linear" in views.names


REFUSED = {
    "no rows": (DataError, {"X": np.zeros((3, 2))}, "one row per label"),
    "text": (DataError, {"X": np.full((40, 1), "red")}, "must hold numbers"),
    "holes": (DataError, {"X": np.full((40, 1), np.nan)}, "NaN"),
    "budget": (ParameterError, {"budget": 0}, "budget must be a whole number of at least 1"),
    "held out": (ParameterError, {"held_out": 0.9}, "held_out must be a share"),
    "scoring": (ParameterError, {"scoring": "f1"}, "scoring must be one of"),
    "views": (StructureError, {"views": {"size": [7]}}, "View 'size' names the column 7"),
    "no views": (ParameterError, {"views": [0]}, "views must map names to columns"),
    "kernels": (ParameterError, {"kernels": ["rbf"]}, "kernels must be a Kernel"),
    "many kernels": (ParameterError, {"kernels": 61 * [Kernel("rbf", features=[0])]}, "at most 60 kernels"),
    "callback": (ParameterError, {"callback": 3}, "callback must be a function"),
    "groups": (DataError, {"groups": [1]}, "groups must hold one entry"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_does_not_fit_is_refused(name: str) -> None:
    error, change, words = REFUSED[name]
    given = {"X": np.random.default_rng(0).normal(size=(40, 2)), "y": np.arange(40) % 2} | change
    with pytest.raises(error, match=words):
        suggest(given.pop("X"), given.pop("y"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["class", "group"])
def test_rows_that_make_no_folds_are_scored_as_one(by: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    if by == "class":
        y[:4] = 2  # of which one row is kept away
    groups = np.arange(60) // 20 if by == "group" else None
    found = suggest(X, y, groups=groups, budget=4, subsamples=0, n_jobs=1)
    assert found.best.score.folds == 1 and 0 < found.best.score.mean <= 1 and np.isnan(found.best.score.error)
