"""Templates as starts: which there are, that truths of their shape are found soon, and that nothing else is."""

from collections.abc import Callable

import numpy as np
import pytest

from spnmkl.search import Suggestions, suggest, walk
from spnmkl.search.fits import Ground, fit
from spnmkl.search.moves import Pool, asked_for, flat, product_of_views, templates
from spnmkl.structure.paths import iterate_paths

Truth = Callable[[np.ndarray], np.ndarray]
TWO = {"u": [0, 1], "v": [2, 3]}
WIDE = {"a": [0, 1, 2], "b": [3, 4, 5]}


def product(X: np.ndarray) -> np.ndarray:
    return (X[:, 0] + X[:, 1]) * (X[:, 2] + X[:, 3])


def nested(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * (X[:, 1] + X[:, 2]) + X[:, 3] * (X[:, 4] + X[:, 5])


def pairwise(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + X[:, 0] * X[:, 2] + X[:, 1] * X[:, 2]


def rows(columns: int, seed: int, n: int = 160) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.7, 1.7, size=(n, columns))


def searched(X: np.ndarray, y: np.ndarray, views: dict[str, list[int]], budget: int) -> Suggestions:
    return suggest(X, y, views=views, budget=budget, subsamples=0, held_out=0)


def in_common(found: Suggestions, products: set[tuple[str, ...]]) -> float:
    """The products in both, of those in either."""
    labels = (sorted(found.best.spn.label(leaf) for leaf in path.leaves) for path in iterate_paths(found.best.spn))
    own = {tuple(path) for path in labels if len(path) > 1}
    return len(own & products) / len(own | products)


def test_which_templates_there_are() -> None:
    def of(*views: tuple[int, ...]) -> list[tuple]:
        return list(templates(Pool(views, 1 + max(map(max, views)), frozenset())))

    a, b, c = (0, 1), (2, 3), (4,)
    assert of(a) == []
    assert of(a, b) == [((a, b),), ((a, a), (b, b))]
    assert of(a, b, c) == [((a, b, c),), ((a, b), (a, c), (b, c)), ((a, a), (b, b))]
    six = [(k,) for k in range(6)]
    assert [len(template) for template in of(*six)] == [15] and of(*six, (6,)) == []
    alone = [product_of_views(Pool(views, 5, frozenset())) for views in ((a, b), (a, b, c), tuple(six))]
    assert alone == [None, (a, b, c), None]


@pytest.mark.parametrize(
    ("truth", "views", "budget", "products"),
    [(product, TWO, 8, {"02", "03", "12", "13"}), (nested, WIDE, 16, {"01", "02", "34", "35"})],
)
def test_a_truth_like_a_template_is_found_with_a_small_budget(
    truth: Truth, views: dict[str, list[int]], budget: int, products: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = [rows(sum(map(len, views.values())), seed) for seed in range(3)]
    found = [searched(X, truth(X) > 0, views, budget) for X in drawn]
    assert all(one.found and one.refits <= budget for one in found)
    true = set(map(tuple, products))
    shares = [in_common(one, true) for one in found]
    assert min(shares) > 0.7
    monkeypatch.setattr(walk, "templates", lambda pool: ())
    step_by_step = [searched(X, truth(X) > 0, views, budget) for X in drawn]
    assert all(in_common(one, true) < share for one, share in zip(step_by_step, shares, strict=True))


def test_a_template_is_tried_where_the_labels_ask_for_it() -> None:
    X = rows(3, 0)
    K = tuple(np.exp(-np.square(X[:, [j]] - X[:, j])) for j in range(3))
    pool = Pool(((0,), (1,), (2,)), 3, frozenset(range(3)))
    labels = np.where(pairwise(X) > 0, 1.0, -1.0)
    asked = []
    for y in (labels, np.random.default_rng(1).permutation(labels), np.where(X[:, 0] > 0, 1.0, -1.0)):
        ground = Ground(K, y[None])
        sums = fit(ground, flat(pool), 1.0, np.zeros_like(ground.Y))
        asked.append([asked_for(ground, sums, template) for template in templates(pool)][-1])
    assert asked == [True, False, False]


@pytest.mark.parametrize("views", [TWO, {"a": [0, 1], "b": [2], "c": [3]}])
@pytest.mark.parametrize("seed", range(4))
def test_flat_truths_and_permuted_labels_still_give_nothing(seed: int, views: dict[str, list[int]]) -> None:
    X = rows(4, 100 + seed, 120)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + X[:, 2] > 0
    assert not searched(X, y, views, 40).found
    permuted = searched(X, np.random.default_rng(seed).permutation(product(X) > 0), views, 40)
    assert not permuted.found and not permuted.beats_constant
