"""Choosing C: warm starts change nothing but the time, and folds are what they say."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from cases import FIGURE_1, Case, case_of, flat, random_case
from sklearn.model_selection import StratifiedKFold
from tolerances import ROUGH_WEIGHTS, ROUNDING, TIGHT

from spnmkl import C_min, DataError, ParameterError, TrivialSolutionWarning, solve
from spnmkl.circuit.source import MatrixSource
from spnmkl.errors import Stopped
from spnmkl.problem import answers
from spnmkl.selection import PathPoint, cross_validate_C, default_grid, regularization_path
from spnmkl.selection.folds import blocks, fold_bytes, folds_at_once
from spnmkl.selection.path import below_bounds, carried, walk
from spnmkl.selection.results import summed_up

GRID = [0.3, 1.0, 3.0, 10.0]


@pytest.mark.parametrize("p", [1.0, 1.5])
@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
def test_a_warm_path_equals_solving_from_scratch(seed: int, p: float) -> None:
    case = random_case(seed)
    settings = {"lam": case.lam, "sample_weight": case.weights, "p": p, "tol": TIGHT}
    path = regularization_path(*case.posed, GRID, **settings)
    np.testing.assert_array_equal(path.C, GRID)
    for C, warm in zip(GRID, path.solutions, strict=True):
        cold = solve(*case.posed, C=C, **settings)
        assert warm.status == cold.status == "optimal"
        assert warm.objective == pytest.approx(cold.objective, rel=TIGHT)
        assert warm.certify(case.kernels).gap <= TIGHT
    assert set(path.beta) == set(case.spn.products)
    for v, weights in path.beta.items():
        assert weights.tolist() == [solution.beta[v] for solution in path.solutions]


def test_a_path_is_sorted_and_stops_when_told() -> None:
    case, heard = case_of(flat(3)), list[PathPoint]()

    def two(point: PathPoint) -> bool:
        heard.append(point)
        return point.done < 2

    path = regularization_path(*case.posed, [3.0, 1.0, 10.0, 3.0], callback=two)
    np.testing.assert_array_equal(path.C, [1.0, 3.0])
    assert [(point.done, point.total, point.C) for point in heard] == [(1, 3, 1.0), (2, 3, 3.0)]
    assert [point.solution for point in heard] == list(path.solutions)


def test_the_default_path_begins_where_weights_appear() -> None:
    case = case_of(FIGURE_1)
    path = regularization_path(*case.posed)
    smallest = C_min(*case.posed)
    assert smallest < path.C[0] < 2 * smallest
    assert path.C[-1] == pytest.approx(1000 * smallest, rel=0.05)
    assert all(any(solution.beta.values()) for solution in path.solutions)
    assert all(solution.status == "optimal" for solution in path.solutions)


def test_default_grids() -> None:
    case = case_of(FIGURE_1)
    assert len(default_grid(*case.posed)) == 12
    np.testing.assert_allclose(default_grid(*case.posed, p=2.0), np.logspace(-2, 3, 11))
    lasso = default_grid(*case.posed, p=dict.fromkeys(case.spn.products, 1.0))
    np.testing.assert_allclose(lasso, default_grid(*case.posed), rtol=ROUNDING)


def test_below_C_min_a_path_is_silent() -> None:
    case = case_of(FIGURE_1)
    smallest = C_min(*case.posed)
    path = regularization_path(*case.posed, [0.5 * smallest, 2 * smallest])
    assert [any(solution.beta.values()) for solution in path.solutions] == [False, True]


@pytest.mark.parametrize("classes", [2, 3])
def test_cross_validation_equals_a_loop_by_hand(classes: int) -> None:
    case = learnable(classes)
    found = cross_validate_C(*case.posed, GRID, folds=3, tol=TIGHT)
    assert found.scores.shape == (4, 3)
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(case.y, case.y)
    for fold, (train, test) in enumerate(splits):
        inside = {leaf: K[np.ix_(train, train)] for leaf, K in case.kernels.items()}
        across = {leaf: K[np.ix_(test, train)] for leaf, K in case.kernels.items()}
        for k, C in enumerate(GRID):
            solution = solve(case.spn, inside, case.y[train], C=C, tol=TIGHT)
            decision = solution.decision_function(across)
            codes = (decision > 0).astype(int) if classes == 2 else decision.argmax(axis=1)
            score = np.mean(np.unique(case.y)[codes] == case.y[test])
            assert found.scores[k, fold] == pytest.approx(score, abs=1.5 / len(test))  # one sample may turn
            largest = max(solution.beta.values())
            for v, b in solution.beta.items():
                assert found.beta[v][k, fold] == pytest.approx(b, abs=ROUGH_WEIGHTS * largest)
    np.testing.assert_allclose(found.mean, found.scores.mean(axis=1))
    np.testing.assert_allclose(found.standard_error, found.scores.std(axis=1, ddof=1) / np.sqrt(3))
    assert found.best_C == GRID[int(np.argmax(found.scores.mean(axis=1)))]
    for v, share in found.survival().items():
        np.testing.assert_allclose(share, (found.beta[v] > 0).mean(axis=1))


def learnable(classes: int = 2, n: int = 60) -> Case:
    case = case_of(flat(3), classes=classes, n=n)
    order = np.argsort(np.argsort(case.kernels["K0"] @ np.random.default_rng(1).normal(size=n)))
    y = order * classes // n
    return Case(case.structure, case.kernels, y, case.C, case.lam, case.weights)


def test_groups_are_never_split() -> None:
    case = learnable()
    groups = np.arange(60) // 4
    # The solution holds its training labels alone, so each sample is given a weight that tells it apart.
    weights = 1 + np.arange(60) / 1000
    trained: list[set[int]] = []

    def note(point: PathPoint) -> None:
        trained.append({round((c - 1) * 1000) for c in point.solution.C})

    cross_validate_C(*case.posed, [1.0], folds=3, groups=groups, sample_weight=weights, callback=note)
    held_out = [set(range(60)) - rows for rows in trained]
    assert sorted(sample for fold in held_out for sample in fold) == list(range(60))
    for fold in held_out:
        assert {groups[i] for i in fold}.isdisjoint({groups[i] for i in set(range(60)) - fold})


def test_a_fold_may_lack_a_class_that_has_a_weight() -> None:
    case = learnable(classes=3)
    groups = np.where(case.y == 2, 0, 1 + np.arange(60) % 5)
    found = cross_validate_C(*case.posed, [1.0], folds=3, groups=groups, class_weight={0: 2.0, 2: 0.5})
    assert np.isfinite(found.scores).all()
    with pytest.raises(ParameterError, match="class_weight names 7"):
        cross_validate_C(*case.posed, [1.0], folds=3, class_weight={7: 2.0})


def test_folds_are_reproducible_and_can_be_shuffled() -> None:
    case = learnable()
    first, again, other = (
        cross_validate_C(*case.posed, [1.0], folds=3, random_state=state).scores for state in (0, 0, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_progress_is_told_and_can_be_stopped() -> None:
    case, heard = learnable(), list[PathPoint]()

    def six(point: PathPoint) -> bool:
        heard.append(point)
        return len(heard) < 6

    found = cross_validate_C(*case.posed, GRID, folds=3, callback=six, n_threads=1)
    assert [(point.done, point.total, point.fold) for point in heard] == [(1 + i, 12, i // 4) for i in range(6)]
    assert sorted(point.C for point in heard[:4]) == GRID
    assert heard[4].C == heard[0].C == GRID[1]
    assert np.isnan(found.scores).sum() == 6
    assert all(found.scores[GRID.index(point.C), point.fold] == point.score for point in heard)
    assert found.best_C in GRID


def test_a_cross_validation_stopped_at_once_can_still_be_read() -> None:
    case = learnable()
    found = cross_validate_C(*case.posed, GRID, folds=3, callback=lambda _: False, n_threads=2)
    assert np.isfinite(found.scores).sum() == 1
    assert found.mean[1] == np.nanmax(found.scores[1])
    assert np.isnan(found.mean[[0, 2, 3]]).all()
    assert np.isnan(found.standard_error).all()
    assert np.isnan(found.survival()["P0"][[0, 2, 3]]).all()
    assert found.best_C == GRID[1]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("most", [5, 100])
def test_points_are_told_as_they_are_done(n_threads: int, most: int) -> None:
    """In the caller's thread, counted, each C of a fold once; what was told is what is kept."""
    case, heard, where = learnable(), list[PathPoint](), set[int]()

    def listen(point: PathPoint) -> bool:
        heard.append(point)
        where.add(threading.get_ident())
        return len(heard) < most

    found = cross_validate_C(*case.posed, GRID, folds=3, callback=listen, n_threads=n_threads)
    assert where == {threading.get_ident()}
    assert [(point.done, point.total) for point in heard] == [(k, 12) for k in range(1, min(most, 12) + 1)]
    told = np.full((4, 3), np.nan)
    for point in heard:
        assert point.fold is not None and point.score is not None
        k = GRID.index(point.C)
        assert np.isnan(told[k, point.fold])
        told[k, point.fold] = point.score
        assert all(found.beta[v][k, point.fold] == b for v, b in point.solution.beta.items())
    np.testing.assert_array_equal(found.scores, told)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_result_does_not_depend_on_the_threads(classes: int) -> None:
    case = learnable(classes)
    first, *others = (cross_validate_C(*case.posed, GRID, folds=5, n_threads=k) for k in (1, 2, 4, 5))
    for other in others:
        np.testing.assert_array_equal(other.scores, first.scores)
        for v in case.spn.products:
            np.testing.assert_array_equal(other.beta[v], first.beta[v])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_stopping_ends_all_folds(n_threads: int) -> None:
    case, heard = learnable(), list[PathPoint]()

    def stop() -> bool:
        time.sleep(5e-3)  # what is done has been told
        return len(heard) >= 2

    found = cross_validate_C(*case.posed, GRID, folds=5, callback=heard.append, stop=stop, n_threads=n_threads)
    # What was under way when the second was told may still be done, no more.
    assert 2 <= np.isfinite(found.scores).sum() == len(heard) <= 2 + 3
    assert found.best_C in GRID


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_exception_comes_through_and_leaves_no_thread_behind(n_threads: int) -> None:
    case, before = learnable(), threading.active_count()

    def broken(point: PathPoint) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        cross_validate_C(*case.posed, GRID, folds=5, callback=broken, n_threads=n_threads)
    with pytest.raises(ParameterError, match="tol must be"):
        cross_validate_C(*case.posed, GRID, folds=5, tol=2.0, n_threads=n_threads)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("threads", "folds", "room", "at_once"),
    [
        (1, 5, np.inf, 1),
        (2, 4, np.inf, 2),
        (2, 5, np.inf, 3),  # then two: with two at a time one would be left for the end
        (4, 5, np.inf, 5),
        (4, 10, np.inf, 5),
        (8, 5, np.inf, 5),
        (2, 5, 25.0, 2),
        (4, 5, 19.0, 1),
        (2, 5, 0.0, 1),
    ],
)
def test_how_many_folds_are_worked_on_together(threads: int, folds: int, room: float, at_once: int) -> None:
    assert folds_at_once(threads, folds, 10.0, room) == at_once


def test_a_fold_s_kernels_are_as_large_as_they_are_said_to_be() -> None:
    case = case_of(flat(2), n=60)
    whole = sum(K.nbytes for K in case.kernels.values())
    train, test = next(iter(StratifiedKFold(4).split(case.y, case.y)))
    cut = [blocks(case.kernels, rows, train) for rows in (train, test)]
    assert sum(K.nbytes for parts in cut for K in parts.values()) == pytest.approx(fold_bytes(whole, 4))
    for rows, parts in zip((train, test), cut, strict=True):
        for leaf, K in case.kernels.items():
            np.testing.assert_array_equal(parts[leaf], K[np.ix_(rows, train)])


def test_a_shared_matrix_is_cut_once() -> None:
    K, rows = np.eye(4), np.arange(3)
    parts = blocks({"a": K, "b": K, "c": K.copy()}, rows, rows)
    assert parts["a"] is parts["b"] and parts["a"] is not parts["c"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("settled_from", [0, 4, 6, 11, 12])
def test_a_walk_visits_every_C_once_and_starts_from_one_that_is_done(n: int, settled_from: int) -> None:
    steps = list(walk(n, lambda k: k >= settled_from))
    assert sorted(k for k, _ in steps) == list(range(n))
    assert steps[0] == (n // 3, None)
    for done, (_, near) in enumerate(steps[1:], 1):
        assert near in [k for k, _ in steps[:done]]


def test_a_walk_goes_up_then_down_and_leaps_where_it_is_settled() -> None:
    assert list(walk(6, lambda k: False)) == [(2, None), (3, 2), (4, 3), (5, 4), (1, 2), (0, 1)]
    assert list(walk(6, lambda k: k >= 3)) == [(2, None), (3, 2), (5, 3), (4, 5), (1, 2), (0, 1)]


def test_what_no_bound_touches_is_carried_to_a_smaller_C() -> None:
    case = learnable()
    free = solve(*case.posed, C=1000.0)
    bound = solve(*case.posed, C=0.2)
    assert below_bounds(free) and not below_bounds(bound)
    source, settings = MatrixSource(case.kernels), {"n_threads": 1}
    change = 1.01 * float(free.alpha.max()) / 1000.0
    found = carried(free, change, source, settings)
    assert found is not None
    cold = solve(*case.posed, C=1000.0 * change)
    assert found.status == "optimal" and found.gap <= free.tol
    assert found.objective == pytest.approx(cold.objective, rel=2 * free.tol)
    np.testing.assert_allclose(found.C, cold.C)
    proof = found.certify(case.kernels)
    assert (found.objective, found.dual_bound, found.gap) == (proof.objective, proof.dual_bound, proof.gap)
    assert (found.history[-1].gap, found.history[-1].beta) == (found.gap, found.beta)
    assert found.pruned.keys() == {v for v, b in found.beta.items() if b == 0}
    assert carried(free, 0.9 * change / 1.01, source, settings) is None  # some α would be above its bound
    assert carried(free, 1.01, source, settings) is None
    assert carried(bound, 0.9, source, settings) is None
    assert carried(replace(free, status="precision"), change, source, settings) is None


def test_what_is_not_proved_at_a_smaller_C_is_not_carried() -> None:
    case = learnable()
    free = solve(*case.posed, C=1000.0)
    wrong = replace(free, witness_alpha=0.9 * free.witness_alpha, witness_beta=dict.fromkeys(free.beta, 1.0))
    worse = replace(wrong, alpha=0.5 * free.alpha)
    assert carried(worse, 0.99, MatrixSource(case.kernels), {"n_threads": 1}) is None


def test_a_constant_classifier_is_carried_to_any_smaller_C() -> None:
    case = learnable()
    smallest = C_min(*case.posed)
    constant = solve(*case.posed, C=0.9 * smallest, warn=False)
    found = carried(constant, 0.01, MatrixSource(case.kernels), {"n_threads": 1})
    assert found is not None and not any(found.beta.values())
    assert found.gap <= constant.tol
    assert found.objective == pytest.approx(0.01 * constant.objective)
    assert found.intercept == constant.intercept


@pytest.mark.parametrize("classes", [2, 3])
def test_every_solution_of_a_cross_validation_is_certified_at_its_C(classes: int) -> None:
    """Also those that were found at another C: below C_min, and where no α is at its bound."""
    case, heard = learnable(classes), list[PathPoint]()
    grid = [1e-3, 1e-2, *GRID, 100.0, 1e3, 1e4]
    cross_validate_C(*case.posed, grid, folds=3, callback=heard.append, n_threads=1)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(case.y, case.y))
    assert len(heard) == 27
    assert any(record.evaluations == 0 for point in heard for record in point.solution.history)
    for point in heard:
        assert point.fold is not None
        train = splits[point.fold][0]
        inside = {leaf: K[np.ix_(train, train)] for leaf, K in case.kernels.items()}
        np.testing.assert_allclose(point.solution.C, point.C)
        assert point.solution.status == "optimal"
        proof = point.solution.certify(inside)
        assert proof.gap <= point.solution.tol
        assert point.solution.objective == pytest.approx(proof.objective)


def test_a_path_ends_with_its_time() -> None:
    case = case_of(FIGURE_1)
    path = regularization_path(*case.posed, GRID, tol=TIGHT, max_time=1e-9)
    assert path.C.tolist() == GRID[:1]
    assert path.solutions[0].status == "time_limit"
    assert len(regularization_path(*case.posed, GRID, max_time=3600).C) == len(GRID)


def test_without_time_or_score_no_C_is_chosen() -> None:
    case = learnable()
    found = cross_validate_C(*case.posed, GRID, folds=3, tol=TIGHT, max_time=1e-9)
    assert np.isnan(found.scores).all()
    assert np.isnan(found.best_C)
    enough = cross_validate_C(*case.posed, GRID, folds=3, max_time=3600)
    assert np.isfinite(enough.scores).all()
    assert enough.best_C in GRID
    with pytest.raises(ParameterError, match="max_time must be a finite number of seconds above 0"):
        cross_validate_C(*case.posed, GRID, max_time=-1)


def test_time_is_asked_for_while_a_fold_is_cut() -> None:
    """Of many large kernels that takes seconds."""
    matrices, asked = {f"k{k}": np.full((4, 4), float(k)) for k in range(3)}, []
    with pytest.raises(Stopped):
        blocks(matrices, np.arange(2), np.arange(2), lambda: len(asked) == 2 or asked.append(1))
    assert len(asked) == 2


def test_predicted_names_the_classes() -> None:
    case = learnable(3)
    names = np.array(["low", "middle", "high"])[case.y]
    solution = solve(case.spn, case.kernels, names, C=10.0)
    assert (answers(solution.decision_function(case.kernels), solution.classes) == names).mean() > 0.9


def test_settings_are_passed_on_and_not_changed() -> None:
    case = learnable()
    settings = {"sample_weight": np.linspace(0.5, 1.5, 60), "p": 1.5, "tol": 1e-2}
    before = dict(settings)
    path = regularization_path(*case.posed, [1.0], **settings)
    assert path.solutions[0].tol == 1e-2
    assert set(path.solutions[0].p.values()) == {1.5}
    cross_validate_C(*case.posed, [1.0], folds=2, **settings)
    assert settings.keys() == before.keys()


@pytest.mark.parametrize(
    ("C", "settings", "error", "sentence"),
    [
        (
            [],
            {},
            ParameterError,
            "C must hold at least one number, all finite and above 0; choose for example [0.1, 1, 10].",
        ),
        (
            [1.0, -1.0],
            {},
            ParameterError,
            "C must hold at least one number, all finite and above 0; choose for example [0.1, 1, 10].",
        ),
        (
            [1.0],
            {"folds": 1},
            ParameterError,
            "folds must be a whole number from 2 to 30, the size of the smallest class, but it is 1.",
        ),
        (
            [1.0],
            {"folds": 31},
            ParameterError,
            "folds must be a whole number from 2 to 30, the size of the smallest class, but it is 31.",
        ),
        (
            [1.0],
            {"groups": [1, 2]},
            DataError,
            "groups must hold one entry per sample, 60 in all, but its shape is (2,).",
        ),
        (
            [1.0],
            {"folds": 3, "groups": [0, 1] * 30},
            ParameterError,
            "folds must be a whole number from 2 to 2, the number of groups, but it is 3.",
        ),
    ],
)
def test_bad_choices(C: list[float], settings: dict[str, object], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as refused:
        cross_validate_C(*learnable().posed, C, **settings)
    assert str(refused.value) == sentence


def test_a_trivial_point_of_a_path_warns_nobody_but_solve_does() -> None:
    case = case_of(FIGURE_1)
    regularization_path(*case.posed, [1e-6])
    with pytest.warns(TrivialSolutionWarning):
        solve(*case.posed, C=1e-6)


def test_only_values_of_as_many_folds_are_compared() -> None:
    scores = np.array([[1.0, np.nan, np.nan], [0.6, 0.7, np.nan], [0.7, 0.7, np.nan]])
    assert summed_up(np.array([1.0, 2.0, 3.0]), scores, {}, "accuracy").best_C == 3.0


def test_the_search_for_a_grid_can_be_stopped() -> None:
    case = case_of(flat(3))
    assert C_min(*case.posed, stop=lambda: True) == 0.0
    result = cross_validate_C(*case.posed, stop=lambda: True)
    assert np.isnan(result.best_C)
