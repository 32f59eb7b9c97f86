"""A server for others, without a browser: who logs in, what they share, quotas, administrators, the log."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from app_pages import bring, fine, opened, send, spn, texts, train, work
from small_runs import small_dataset
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from spnmkl.errors import ParameterError
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.ui.pages.administration import administration_page
from spnmkl.ui.parts import login, session
from spnmkl.ui.state import jobs
from spnmkl.ui.state.doors import Doors, holder
from spnmkl.ui.state.drawing import placed
from spnmkl.ui.state.jobs import Job
from spnmkl.workspace.people import Person
from spnmkl.workspace.place import Place
from spnmkl.workspace.quotas import Quotas
from spnmkl.workspace.store import WorkspaceStore
from spnmkl.workspace.tables import SERVER

As = Callable[[Person | None], None]
ANN, BEN = (Person.of_claims({"iss": "i", "sub": name, "name": name, "iat": 1}) for name in ("Ann", "Ben"))


@pytest.fixture
def as_person(monkeypatch: pytest.MonkeyPatch) -> As:
    """Says who has logged in."""

    def be(person: Person | None) -> None:
        monkeypatch.setattr(login, "configured", lambda: True)
        monkeypatch.setattr(login, "person", lambda: person)
        monkeypatch.setattr(login, "providers", lambda: [None])

    return be


def edited(at: AppTest, id: str) -> AppTest:
    send(at, nodes=[*spn(at).to_dict()["nodes"], {"id": id, "kind": "sum", "x": 1.0, "y": 2.0}])
    session.KEEPER.wait(work(at).keeping, 20)
    return at


def noted(what: str = "") -> list[tuple[str, str]]:
    return [(event.name, event.what) for event in session.KEEPER.disk().audit.read(what=what)]


def shell() -> None:
    """What stands around every page (AppTest runs pages of a navigation without it)."""
    import streamlit as st

    from spnmkl.ui.parts.account import account
    from spnmkl.ui.parts.login import login_page
    from spnmkl.ui.parts.notices import kept_page, notices
    from spnmkl.ui.parts.session import admit, attach, boundary

    if not admit():
        login_page()
        st.stop()
    attach()
    with kept_page(), boundary():
        account()
        notices()


def whole(kept: str | None = None) -> AppTest:
    """The app without a page; `kept` is the token that the tab had before."""
    at = AppTest.from_function(shell, default_timeout=30)
    if kept is not None:
        at.session_state["spnmkl_tab"] = {"kept": {"token": kept, "same": True}}
    return fine(at.run())


def drawn(at: AppTest, id: str) -> AppTest:
    work(at).drawing.push(placed(SPN(Sum(Product(Kernel("rbf"), id=id)))))
    at.run()
    session.KEEPER.wait(work(at).keeping, 20)
    return at


def test_a_tab_that_another_person_takes_up_begins_anew(as_person: As) -> None:
    as_person(ANN)
    at = drawn(whole(), "of_ann")
    token = at.session_state["spnmkl_token"]
    assert work(at).keeping.saved is not None
    session.STORE.remove(session._place(token))  # as if the server had been started again: all is read from disk
    as_person(BEN)
    fine(at.run())
    assert "of_ann" not in spn(at).nodes and work(at).keeping.saved is None
    assert "of_ann" not in spn(whole(token)).nodes, "the token of a tab is that of a person, too"
    as_person(ANN)
    again = whole(token)
    assert "of_ann" in spn(again).nodes
    session.KEEPER.disk().people.leave(ANN)
    again.session_state["spnmkl_login_seen"] = ("", 0.0)
    assert "Log in to see" in texts(again.run())


def test_projects_are_shared_read_and_copied_on_the_page(as_person: As) -> None:
    as_person(ANN)
    at = edited(opened("design"), "of_ann")
    as_person(BEN)
    other = opened("projects")
    as_person(ANN)
    at.switch_page("pages/projects.py").run()
    saved = work(at).keeping.saved
    assert saved is not None
    at.text_input(key=f"share_{saved.id}").set_value("nobody@x").run()
    assert "Nobody of the address" in at.error[0].value
    fine(at.text_input(key=f"share_{saved.id}").set_value(BEN.id).run())
    assert at.button(key=f"unshare_{saved.id}_{BEN.id}")
    as_person(BEN)
    other.session_state["kept"] = "Shared with me"
    fine(other.run())
    assert "of Ann" in texts(other) and "read only" in texts(other)
    fine(other.button(key=f"copy_shared_{saved.id}").click().run())
    assert "of_ann" in spn(other).nodes and work(other).keeping.saved.id != saved.id  # type: ignore[union-attr]
    as_person(ANN)
    fine(at.button(key=f"unshare_{saved.id}_{BEN.id}").click().run())
    assert noted() == [
        ("Ann", "no longer shared"),
        ("Ben", "copied"),
        ("Ann", "shared"),
        ("Ben", "login"),
        ("Ann", "login"),
    ]


def test_quotas_are_told_and_what_was_drawn_stays(as_person: As) -> None:
    as_person(ANN)
    at = drawn(whole(), "first")
    count = len(spn(at).nodes)
    session.KEEPER.disk().purse.quotas = Quotas(nodes=count - 1)
    drawn(at, "second")
    at.run()
    said = at.warning[0].value.replace("\\", "")
    assert f"The drawing has {count} nodes, and one person's may have {count - 1}" in said
    assert "second" in spn(at).nodes, "it is still there"
    session.KEEPER.disk().purse.quotas = Quotas()
    session.KEEPER.wait(work(at.run()).keeping, 20)
    assert not work(at).keeping.failure and not work(at).keeping.pending
    at.session_state["account_open"] = True
    fine(at.run())
    assert f"Nodes of this drawing: {count} of 1,000" in texts(at) and "of 5.00 GB" in texts(at)


def test_the_page_of_administrators_is_for_them(as_person: As, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(login.ADMINISTRATORS, f"{ANN.id} {'f' * 64}")
    as_person(BEN)
    other = opened("design")
    bring(other, small_dataset())
    train(work(other).trainer, other)
    for _ in range(500):  # it is written after the training has ended
        if noted("training ended"):
            break
        time.sleep(0.01)
    assert noted("training ended") == [("Ben", "training ended")] and len(noted("training started")) == 1
    with pytest.raises(ParameterError, match="those whom the owner of the server has named"):
        administration_page()
    as_person(None)
    with pytest.raises(ParameterError, match="those whom the owner of the server has named"):
        administration_page()
    as_person(ANN)
    at = opened("administration")
    who = at.dataframe[0].value
    assert sorted(who["who"]) == [f"{each.name} ({each.id[:8]})" for each in (ANN, BEN)]
    assert dict(zip(who["id"], who["runs"], strict=True))[BEN.id] <= 1
    job = Job(_until)
    job.person, job.kind = BEN.id, "train"
    job.start()
    at.session_state["administration"] = "What is going on"
    fine(at.run())
    assert f"**Ben \\({BEN.id[:8]}\\)**: train" in texts(at)
    fine(at.button(key=f"stop_{id(job)}").click().run())
    assert job.join(10) and job.state == "stopped"
    assert ("Ann", "stopped a job") in noted()
    at.session_state["administration"] = "The log"
    fine(at.run())
    assert "stopped a job" in set(at.dataframe[0].value["what"])


def test_administrators_see_how_many_jobs_go_on_elsewhere(
    as_person: As, monkeypatch: pytest.MonkeyPatch, own_workspace: Path
) -> None:
    monkeypatch.setenv(login.ADMINISTRATORS, ANN.id)
    as_person(ANN)
    at = opened("administration")
    other = WorkspaceStore(Place(own_workspace))
    assert other.admission.enter("k", (ANN.id, 0), 1, lambda others: True) == ""
    with other._database.writing() as connection:  # a server is a process of its own
        connection.execute(update(SERVER).where(SERVER.c.id == other.upkeep.server).values(process=os.getppid()))
    fine(at.run())
    assert at.dataframe[0].value["jobs now"].tolist() == [1]
    at.session_state["administration"] = "What is going on"
    fine(at.run())
    assert "1 job more on other servers of this workspace" in texts(at)
    other.close()


def _until(job: Job[object]) -> None:
    while not job.stopping:
        job.join(0.02)


def test_the_trainings_of_one_person_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_AT_ONCE", 10)
    monkeypatch.setattr(jobs, "AT_ONCE_EACH", 2)
    mine, theirs, nobodys = ([Job(_until) for _ in range(3)] for _ in range(3))
    for job, person in [*((job, "ann") for job in mine), *((job, "ben") for job in theirs)]:
        job.person = person
    for job in (*mine, *theirs, *nobodys):
        job.start()
    states = [[job.state for job in found] for found in (mine, theirs, nobodys)]
    assert states == [["running", "running", "waiting"]] * 2 + [["running"] * 3]
    assert mine[2].waits_for == "waiting for another training of yours to end; 2 of one person go on at once"
    mine[0].stop()
    assert mine[0].join(10)
    for _ in range(500):
        if mine[2].state == "running":
            break
        mine[2].join(0.01)
    assert mine[2].state == "running" and theirs[2].state == "waiting"
    for job in (*mine, *theirs, *nobodys):
        job.stop()


class Files:
    """As Streamlit's manager of files."""

    def add(self, data: bytes) -> str:
        return f"/media/{data.hex()}.csv"

    def add_deferred(self, data: bytes) -> str:
        return f"placeholder-{data.hex()}"

    def execute_deferred(self, placeholder: str) -> str:
        return f"/media/{placeholder.removeprefix('placeholder-')}.zip"


def test_files_that_are_made_later_are_for_who_asked_for_them() -> None:
    doors, files, now = Doors(), Files(), ["ann"]
    for _ in range(2):
        doors.watch(files, lambda: now[0])
    files.add(b"1")
    later = files.add_deferred(b"2")
    now[0] = "ben"
    files.add(b"3")
    now[0] = ""
    assert files.execute_deferred(later) == "/media/32.zip"
    files.add(b"4")
    names = ("31.csv", "32.zip", "33.csv", "34.csv")
    seen = {who: [name for name in names if doors.may_see(name, who)] for who in ("ann", "ben", "")}
    assert seen == {"ann": ["31.csv", "32.zip"], "ben": ["33.csv"], "": []}


def test_a_browser_is_known_by_its_secret_and_its_login() -> None:
    cookies = {"_streamlit_xsrf": "2|01020304|05060708|1"}
    same = {"_streamlit_xsrf": "2|00000000|0404040c|9"}
    assert holder(cookies) == holder(same) != ""
    others = [{**cookies, "_streamlit_user": word} for word in "xy"]
    assert len({holder(cookies), *map(holder, others)}) == 3
    assert holder({**cookies, "_streamlit_user_tokens": "x"}) == holder(cookies)
    assert holder({"_streamlit_user": "x"}) == holder({}) == ""


def test_a_visitors_tab_that_was_left_is_not_taken_over_from_another_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither from memory, where its work stays for a while, nor from disk."""
    monkeypatch.setattr(session.login, "LOCAL", ())
    monkeypatch.setattr(session, "_stays_open", lambda connection: False)
    monkeypatch.setattr(session, "_browser", lambda: "secret of mine")
    at = drawn(whole(), "mine")
    token = at.session_state["spnmkl_token"]
    for other in ("another secret", ""):
        monkeypatch.setattr(session, "_browser", lambda other=other: other)
        assert "mine" not in spn(whole(token)).nodes
    monkeypatch.setattr(session, "_browser", lambda: "secret of mine")
    assert "mine" in spn(whole(token)).nodes
