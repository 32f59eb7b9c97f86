"""Workspaces by the token of their tab."""

import threading

import pytest
from app_pages import opened, work

from spnmkl.data import Choices, Dataset, load_sample
from spnmkl.structure import SPN, Kernel, Product
from spnmkl.ui.state import store as store_module
from spnmkl.ui.state.drawing import Drawing
from spnmkl.ui.state.store import EXPIRY_SECONDS, MAX_WORKSPACES, STORE, Store
from spnmkl.ui.state.workspace import Workspace

WINE = load_sample("wine")


def workspace(dataset: Dataset = WINE) -> Workspace:
    return Workspace(Drawing(SPN(Product(Kernel("linear")))), dataset)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now[0])
    return now


def test_a_token_finds_its_own_workspace() -> None:
    store, mine, other = Store(), workspace(), workspace()
    store.put("a", mine, "session 1")
    store.put("b", other, "session 2")
    assert store.find("a", "session 1") is mine
    assert store.find("b", "session 2") is other
    assert store.find("c", "session 1") is None


def test_two_tabs_share_nothing() -> None:
    mine, other = workspace(), workspace()
    mine.drawing.push(SPN(Product(Kernel("rbf"))))
    mine.choices = Choices(missing="mean")
    assert other.drawing.spn.spec("k1").kernel == "linear"
    assert other.choices == Choices("auto")
    assert mine.drawing.revision.split(".")[0] != other.drawing.revision.split(".")[0]


def test_the_owner_is_the_session_that_used_the_token_last() -> None:
    store = Store()
    assert store.owner("a") is None
    store.put("a", workspace(), "before the reload")
    assert store.owner("a") == "before the reload"
    store.find("a", "after the reload")
    assert store.owner("a") == "after the reload"


def test_an_unused_workspace_is_forgotten(clock: list[float]) -> None:
    store = Store()
    store.put("old", workspace(), "")
    store.put("used", workspace(), "")
    clock[0] += EXPIRY_SECONDS - 1
    assert store.find("used", "") is not None
    clock[0] += 2
    store.put("new", workspace(), "")
    assert store.find("old", "") is None
    assert store.find("used", "") is not None


def test_a_workspace_being_worked_on_is_not_forgotten(clock: list[float]) -> None:
    store = Store()
    store.put("mine", workspace(), "")
    clock[0] += EXPIRY_SECONDS - 1
    store.touch("mine")
    store.touch("unknown")
    clock[0] += 2
    store.put("new", workspace(), "")
    assert store.find("mine", "") is not None
    assert store.find("unknown", "") is None


def test_an_expired_workspace_is_not_found_even_before_it_is_swept(clock: list[float]) -> None:
    store = Store()
    store.put("old", workspace(), "")
    clock[0] += EXPIRY_SECONDS + 1
    assert store.owner("old") is None
    assert store.find("old", "") is None


def test_the_oldest_make_room(clock: list[float]) -> None:
    store = Store()
    for k in range(MAX_WORKSPACES + 5):
        clock[0] += 1
        store.put(f"t{k}", workspace(), "")
        store.find("t0", "")
    assert store.find("t0", "") is not None, "it was used all the time"
    assert [store.find(f"t{k}", "") is None for k in range(1, 7)] == [True] * 5 + [False]


def test_many_threads_lose_nothing() -> None:
    store = Store()
    spaces = {f"t{k}": workspace() for k in range(50)}
    threads = [threading.Thread(target=store.put, args=(token, space, "")) for token, space in spaces.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.find(token, "") is space for token, space in spaces.items())


def test_a_tab_that_was_forgotten_while_open_is_known_again() -> None:
    at = opened()
    token = at.session_state["spnmkl_token"]
    assert STORE.find(token, "") is work(at)
    STORE.remove(token)
    at.run()
    assert STORE.find(token, "") is work(at)
