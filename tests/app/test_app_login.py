"""Logging in at a real provider on loopback, through the real server; files and pages are for their owner alone."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from joserfc.jwk import RSAKey
from oidc_provider import PEOPLE, Provider, provider
from small_runs import small_dataset
from sqlalchemy import text
from websocket_visitor import MEDIA, Visitor
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from spnmkl.data import Choices, SplitSettings
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.training.settings import Settings
from spnmkl.workspace.people import Person
from spnmkl.workspace.place import Place
from spnmkl.workspace.state import ProjectState
from spnmkl.workspace.store import WorkspaceStore

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import free_port, serving
from visitor import Visitor as Tab

LOGIN = b"Log in to see"
Visit = Callable[[], Visitor]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def people() -> Iterator[Provider]:
    with provider() as found:
        yield found


@pytest.fixture(scope="module")
def url(people: Provider, folder: Path) -> Iterator[str]:
    """A server at which people log in, and Ann is administrator."""
    port = free_port()
    options = [f"--secrets.files={people.secrets(folder, port)}"]
    named = {"SPNMKL_ADMINISTRATORS": person(people, "ann").id}
    with serving(port=port, workspace=folder / "workspace", options=options, environment=named) as address:
        yield address


@pytest.fixture
def store(folder: Path, url: str) -> Iterator[WorkspaceStore]:
    store = WorkspaceStore(Place(folder / "workspace"))
    yield store
    store.close()


@pytest.fixture
def visit(url: str) -> Iterator[Callable[[], Visitor]]:
    """Opens browsers."""
    opened: list[Visitor] = []

    def visitor() -> Visitor:
        opened.append(Visitor(url))
        return opened[-1]

    yield visitor
    for found in opened:
        found.http.close()


def person(people: Provider, name: str) -> Person:
    return Person.of_claims({"iss": people.issuer, **PEOPLE[name]})


def test_who_has_not_logged_in_sees_how_to_and_nothing_else(visit: Visit, store: WorkspaceStore) -> None:
    visitor = visit()
    for page in ("", "projects", "administration"):
        said = visitor.page(page)
        assert LOGIN in said and b"New project" not in said and b"visitor" not in said.lower()
    secret = visitor.http.cookies["_streamlit_xsrf"].strip('"')
    refused = visitor.http.put("/_stcore/upload_file/a/b", headers={"X-Xsrftoken": secret})
    assert refused.status_code == 403
    assert store.people.members() == [] and store.catalog.projects() == []


def test_each_sees_what_is_their_own(visit: Visit, people: Provider, store: WorkspaceStore) -> None:
    spn = SPN(Sum(Product(Kernel("rbf"))))
    state = ProjectState(spn, frozenset(), small_dataset(), Choices(), SplitSettings(), Settings(), more={})
    mine = {name: store.save(None, state, name=f"Of {name}", owner=person(people, name).id) for name in PEOPLE}
    visitors = {name: visit() for name in PEOPLE}
    for name, visitor in visitors.items():
        visitor.log_in(name)
        said, other = visitor.page("projects"), next(iter(PEOPLE.keys() - {name}))
        assert PEOPLE[name]["name"].encode() in said and f"Of {name}".encode() in said
        assert f"Of {other}".encode() not in said and mine[other].id.encode() not in said
    assert b"Administration" in visitors["ann"].page("administration")
    assert b"Administration" not in visitors["ben"].page("administration")
    logins = [event.name for event in store.audit.read(what="login")]
    assert sorted(logins) == sorted(PEOPLE[name]["name"] for name in PEOPLE), "once for each, however many pages"


def test_a_login_that_was_ended_opens_nothing_whoever_has_its_cookie(visit: Visit, store: WorkspaceStore) -> None:
    ann = visit()
    ann.log_in("ann")
    assert LOGIN not in ann.page("projects")
    with store._database.writing() as connection:
        connection.execute(text("UPDATE login SET ended = 1 WHERE began = (SELECT max(began) FROM login)"))
    assert LOGIN in ann.page("projects")
    ann.log_in("ann")
    assert LOGIN not in ann.page("projects"), "a new login is another one"


@pytest.mark.parametrize("page, button", [("data", "Load Wine"), ("design", "Templates")])
def test_an_open_tab_does_nothing_more_once_its_login_was_left_elsewhere(
    visit: Visit, store: WorkspaceStore, page: str, button: str
) -> None:
    """Neither what a click calls before a page is drawn, nor a part of a page that is drawn without the rest."""
    ann, ben = visit(), visit()
    ann.log_in("ann")
    ben.log_in("ben")
    ben.page("data")
    cookies, n_left = ann.cookies, len(store.audit.read(what="logout"))

    async def clicked() -> None:
        async with Tab(ann.url, cookies) as tab:
            await tab.open(page)
            await tab.click(button)
            file = f"/_stcore/upload_file/{tab.session}/file"
            assert [forget(who, file) for who in (ann, ben)] == [204, 403], "files are put where they are one's own"
            ann.log_out()
            with pytest.raises(ConnectionClosed, match="The login has ended"):
                await tab.click(button)
        async with Tab(ann.url, cookies, session=tab.session) as again:
            await again.open(page)
            assert again.session != tab.session, "what the tab had registered is not called either"
            assert LOGIN.decode() in again.text()

    asyncio.run(clicked())
    left = [event.name for event in store.audit.read(what="logout")]
    assert left == ["Ann Example"] * (n_left + 1), "by its address too, and once"
    assert forget(ann, "/_stcore/upload_file/a/b") == 403


def forget(who: Visitor, file: str) -> int:
    """Have an uploaded file deleted; what the server says to it."""
    secret = who.http.cookies["_streamlit_xsrf"].strip('"')
    return who.http.delete(file, headers={"X-Xsrftoken": secret}).status_code


def test_forged_logins_are_refused(visit: Visit, people: Provider) -> None:
    visitor = visit()
    people.signing = RSAKey.generate_key(2048)
    try:
        visitor.log_in("ann")
    finally:
        people.signing = people.key
    assert "_streamlit_user" not in visitor.http.cookies and LOGIN in visitor.page("projects")
    visitor.log_in("ann")
    real = visitor.http.cookies["_streamlit_user"]
    payload, _, signature = real.partition(".")
    forged = visitor.cookies.replace(real, f"{payload[:-2]}AA.{signature}")
    assert LOGIN in visitor.page("projects", cookies=forged) and LOGIN not in visitor.page("projects")


def test_files_of_a_page_are_given_to_whom_it_was_shown(visit: Visit) -> None:
    ann, ben, nobody = (visit() for _ in range(3))
    ann.log_in("ann")
    ben.log_in("ben")
    (file,) = {match.decode() for match in MEDIA.findall(ann.page("projects"))}
    address = f"/media/{file}"
    given = ann.http.get(address)
    assert given.status_code == 200 and given.content.startswith(b"\x89PNG")
    assert given.headers["cache-control"] == "private, no-store"
    for other in (ben, nobody):
        for path in (address, f"/{address}", address.split(".")[0], address.replace("media", "%6dedia")):
            assert other.http.get(f"{other.url}{path}").status_code == 404, path
    ben.page("projects")
    assert ben.http.get(address).status_code == 200, "the same file on a page of his own"
    secret = {"Cookie": f"_streamlit_xsrf={ann.http.cookies['_streamlit_xsrf']}"}
    nobody.http.cookies.clear()
    assert nobody.http.get(address, headers=secret).status_code == 404, "the login is asked for too"
    ann.log_out()
    assert ann.http.get(address).status_code == 404


def test_a_message_is_bounded_while_it_arrives(visit: Visit) -> None:
    """Before anybody has logged in, and whether it ever ends or not."""
    address = visit().url.replace("http", "ws", 1) + "/_stcore/stream"
    sent = []
    with connect(address, subprotocols=["streamlit"], max_size=None) as page:  # type: ignore[list-item]

        def parts() -> Iterator[bytes]:
            while page.protocol.close_code is None and len(sent) < 600:
                sent.append(None)
                yield b"x" * (1_000_000 if len(sent) < 12 else 1)
                time.sleep(0.1 if len(sent) > 12 else 0)

        with suppress(ConnectionClosed):
            page.send(parts())
    assert len(sent) < 600, "the server took it for a minute"


def test_the_numbers_of_the_server_are_closed(visit: Visit) -> None:
    visitor = visit()
    paths = {"/_stcore/metrics": 404, "/_stcore/agent/openapi.json": 404, "/_stcore/health": 200}
    assert {path: visitor.http.get(path).status_code for path in paths} == paths
