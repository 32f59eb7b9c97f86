"""A backend that was chosen by joblib's configuration takes every kind of work, and nothing comes out otherwise."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from joblib.parallel import SequentialBackend
from kinds_of_work import KINDS, SPN_, cross_validation, serial, table
from light_works import until_stopped

from spnmkl import SPNMKLError, regularization_path
from spnmkl.kernels import fit_kernels
from spnmkl.parallel import Place, elsewhere, in_order, side_by_side
from spnmkl.parallel.task import Bag, FileSignal, carried_out, versions
from spnmkl.threads import default_threads


class Counting(SequentialBackend):
    calls = 0

    def configure(self, *given: Any, **named: Any) -> int:
        Counting.calls += 1
        return super().configure(*given, **named)


class InBatches(Counting):
    supports_return_generator = False


class Dying(Counting):
    """Loses its workers again and again."""

    def configure(self, *given: Any, **named: Any) -> int:
        super().configure(*given, **named)
        raise OSError("the worker is gone")


@pytest.fixture(autouse=True)
def registered() -> None:
    for backend in (Counting, InBatches, Dying):
        joblib.register_parallel_backend(backend.__name__, backend)
        Counting.calls = 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_work_goes_through_joblib(kind: Callable[[], Any]) -> None:
    expected = serial(kind)
    with joblib.parallel_config("Counting"):
        found = kind()
    assert Counting.calls > 0
    assert repr(found) == repr(expected)  # to the last digit, where NaN is NaN


def test_a_backend_that_gives_nothing_before_the_end() -> None:
    with joblib.parallel_config("InBatches"):
        assert cross_validation() == serial(cross_validation)
    assert Counting.calls >= 3  # one training at a time


def test_a_path_in_stretches_is_as_good() -> None:
    X, y = table()
    kernels, grid = fit_kernels(SPN_, X)[0], np.logspace(-1, 2, 7)
    alone = regularization_path(SPN_, kernels, y, grid)
    with joblib.parallel_config("Counting"):
        found = regularization_path(SPN_, kernels, y, grid)
        told: list[int] = []
        cut = regularization_path(
            SPN_, kernels, y, grid, callback=lambda point: told.append(point.done) or len(told) < 4
        )
    assert Counting.calls > 0 and found.C.tolist() == alone.C.tolist() and len(cut.C) == 4
    for one, other in zip(found.solutions, alone.solutions, strict=True):
        assert one.status == other.status == "optimal"
        assert max(one.dual_bound, other.dual_bound) <= min(one.objective, other.objective) * (1 + 1e-9)


def count_up(start: int, item: int, place: Place) -> Iterator[int]:
    assert place.n_threads == default_threads() == 1
    place.say(f"item {item}")
    yield from (start + 10 * item + k for k in range(2))
    if item == 3:
        raise SPNMKLError("Three is too many.")


def test_what_was_given_before_an_error_comes_and_words_are_heard() -> None:
    said: list[str] = []
    with joblib.parallel_config("Counting"):
        assert list(side_by_side(count_up, 1, [0, 1], say=said.append)) == [1, 2, 11, 12]
        assert said == ["item 0", "item 1"]
        found: list[int] = []
        with pytest.raises(SPNMKLError, match="Three is too many"):
            found.extend(side_by_side(count_up, 1, [0, 3]))
        running = side_by_side(count_up, 1, [0, 3])
        assert [next(running) for _ in range(4)] == [1, 2, 31, 32]
        running.close()


def test_workers_that_are_lost_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "PAUSE", 0.01)
    with joblib.parallel_config("Dying"), pytest.raises(SPNMKLError, match=r"were lost 3 times .*the worker is gone"):
        list(side_by_side(count_up, 1, [0, 1]))
    assert Counting.calls >= elsewhere.MOST_LOST


def test_stop_reaches_what_runs_and_what_waits(tmp_path: Path) -> None:
    with joblib.parallel_config("Counting"):
        seen = list(side_by_side(until_stopped, str(tmp_path), [1, 2, 3], stop=lambda: any(tmp_path.iterdir())))
    assert seen == [1, -1]  # the others had not begun


def test_other_versions_are_refused() -> None:
    bag = Bag(count_up, 1, {**versions(), "numpy": "1.0", "numba": "0.1"})
    _, outcome = carried_out(bag, 0, 0, FileSignal("nowhere"))
    with pytest.raises(
        SPNMKLError, match=r"^A worker has numpy [^ ]+ \(here 1\.0\), numba [^ ]+ \(here 0\.1\): .*install"
    ):
        raise outcome.error
    assert not outcome.given


def test_in_order() -> None:
    assert list(in_order([(1, "b"), (0, "a"), (4, "e"), (3, "d")])) == ["a", "b", "d", "e"]
