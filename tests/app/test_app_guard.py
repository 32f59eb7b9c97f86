"""What stands before the server bounds what is sent, and knows who sends it as Streamlit itself does."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.websockets import WebSocket

from spnmkl.ui import guard
from spnmkl.ui.guard import Guard
from spnmkl.ui.state.doors import DOORS, holder

MB = 1_000_000
COOKIES = {"_streamlit_xsrf": "2|01020304|05060708|1"}
HEADER = (b"cookie", b"_streamlit_xsrf=2|01020304|05060708|1")


class App:
    """Stands for Streamlit: takes files while it is let to, and remembers what reached it."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.wait: asyncio.Event | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            while (message := await receive())["type"] == "websocket.receive":
                self.reached.append(f"{len(message['bytes'])} bytes")
            return
        self.reached.append(scope["path"].rpartition("/")[2])
        if self.wait is not None:
            await self.wait.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    DOORS.admit(holder(COOKIES), "", session="mine")
    monkeypatch.setattr(guard, "available_memory", lambda: 8000 * MB)
    return App()


async def put(guarded: Guard, file: str, size: int | None, session: str = "mine") -> int:
    told = [] if size is None else [(b"content-length", str(size).encode())]
    scope = {
        "type": "http",
        "method": "PUT",
        "path": f"/_stcore/upload_file/{session}/{file}",
        "headers": [HEADER, *told],
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await guarded(scope, None, send)  # type: ignore[arg-type]
    return int(sent[0]["status"])


def test_files_of_a_connection_are_bounded(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, list[int]] = {"mine": []}
    monkeypatch.setattr(guard, "held_files", lambda session: held.get(session, []))
    guarded = Guard(app)

    def status(size: int | None, session: str = "mine") -> int:
        return asyncio.run(put(guarded, "f", size, session))

    assert (status(200 * MB), status(None), status(-1), status(10**25)) == (204, 413, 413, 413)
    assert status(1, "another's") == 403
    held["mine"] = [200 * MB] * 9
    assert (status(200 * MB), status(200 * MB + 1)) == (204, 413)
    held["mine"] = [0] * guard.MOST_FILES
    assert status(1) == 413
    held["mine"] = []
    monkeypatch.setattr(guard, "available_memory", lambda: 400 * MB)
    assert (status(100 * MB), status(101 * MB)) == (204, 413)
    assert app.reached == ["f"] * 3 and not guarded._arriving


def test_files_of_all_connections_count_together(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        who: {str(k): SimpleNamespace(data=range(size * MB)) for k in range(2)}
        for who, size in (("a", 500), ("b", 400))
    }
    monkeypatch.setattr(guard, "_files", lambda: files)
    assert guard.held_of_all() == 1800 * MB and guard.held_files("a") == [500 * MB] * 2
    monkeypatch.setattr(guard, "available_memory", lambda: 6200 * MB)  # of 8000 without these
    assert [asyncio.run(put(Guard(app), "f", size)) for size in (200 * MB, 201 * MB)] == [204, 413]


def test_pages_that_are_open_are_bounded(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_CONNECTIONS", 2)
    guarded, sent = Guard(app), []

    async def many() -> None:
        leave = asyncio.Event()

        async def receive() -> Any:
            await leave.wait()
            return {"type": "websocket.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message["code"])

        def page() -> Any:
            return asyncio.ensure_future(guarded({"type": "websocket", "headers": [HEADER]}, receive, send))

        pages = [page() for _ in range(3)]
        await pages[2]
        leave.set()
        await asyncio.gather(*pages)
        await page()

    asyncio.run(many())
    assert sent == [1013] and guarded._connections == 0


def test_files_that_arrive_at_once_count_together(app: App) -> None:
    guarded = Guard(app)

    async def many() -> list[int]:
        app.wait = asyncio.Event()
        sending = [asyncio.ensure_future(put(guarded, str(k), 200 * MB)) for k in range(15)]
        while not all(each.done() for each in sending[10:]):
            await asyncio.sleep(0)
        app.wait.set()
        return [await each for each in sending]

    assert asyncio.run(many()) == [204] * 10 + [413] * 5
    assert len(app.reached) == 10 and not guarded._arriving


def test_a_message_that_no_page_sends_ends_its_connection(app: App) -> None:
    async def spoken(*sizes: int) -> list[Any]:
        waiting, sent = [{"type": "websocket.receive", "bytes": b"x" * size} for size in sizes], []

        async def receive() -> Any:
            return waiting.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        await Guard(app)({"type": "websocket", "headers": [HEADER]}, receive, send)
        return sent

    (end,) = asyncio.run(spoken(guard.MOST_MESSAGE, guard.MOST_MESSAGE + 1, 5))
    assert (end["type"], end["code"]) == ("websocket.close", 1009)
    assert app.reached == [f"{guard.MOST_MESSAGE} bytes"]


class Login:
    """Stands for a person and for those who know whether a login goes on."""

    id = "p"

    def __init__(self) -> None:
        self.on = True

    def goes_on(self, person: Any) -> bool:
        return self.on


COOKIE = HEADER[1]
SIGNED = "eyJh.ZW4+/=.s-_x"


@pytest.mark.parametrize(
    "headers",
    [
        [COOKIE + f"; _streamlit_user={SIGNED}".encode()],
        [COOKIE + f'; _streamlit_user="{SIGNED}"'.encode()],
        [COOKIE + b'; _streamlit_user="eyJh\\056ZW4+/=.s-_x"'],
        [COOKIE, f"_streamlit_user=other; _streamlit_user = {SIGNED}".encode()],
    ],
    ids=["plain", "quoted", "escaped", "two headers"],
)
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_login_that_has_ended_is_over_however_its_cookie_is_written(headers: list[bytes], forgotten: bool) -> None:
    login, reached = Login(), []

    async def streamlit(scope: Any, receive: Any, send: Any) -> None:
        """Lets the browser in as the app does, by what Streamlit has read."""
        cookies = WebSocket(scope, receive, send).cookies
        assert cookies["_streamlit_user"] == SIGNED
        while (message := await receive())["type"] == "websocket.receive":
            reached.append(message["bytes"])
            if login.on:
                DOORS.admit(holder(cookies), "p", login, "s")  # type: ignore[arg-type]
            if len(reached) == 2:
                login.on = False
                if forgotten:
                    DOORS._guests.clear()

    messages = [{"type": "websocket.receive", "bytes": text} for text in (b"1", b"2", b"3", b"4")]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    DOORS._guests.clear()
    scope = {"type": "websocket", "path": "/", "headers": [(b"cookie", value) for value in headers]}
    asyncio.run(Guard(streamlit, people=lambda: login)(scope, receive, send))  # type: ignore[arg-type,return-value]
    assert reached == [b"1", b"2"] and sent[-1]["reason"] == "The login has ended."


@pytest.mark.parametrize("others", [[b"a"], [b"streamlit, tok"], [b"streamlit, tok, theirs"]])
def test_a_connection_does_not_take_up_that_of_another(others: list[bytes]) -> None:
    DOORS.admit("of another", "", session="theirs")
    taken = []

    async def streamlit(scope: Any, receive: Any, send: Any) -> None:
        asked = WebSocket(scope, receive, send).headers["sec-websocket-protocol"].split(", ")  # as Streamlit does
        taken.append(asked[2] if len(asked) > 2 else None)

    async def send(message: Any) -> None:
        taken.append(message["type"])

    def connect(*protocols: bytes) -> Any:
        headers = [HEADER, *((b"sec-websocket-protocol", value) for value in protocols)]
        asyncio.run(Guard(streamlit)({"type": "websocket", "headers": headers}, None, send))  # type: ignore[arg-type]
        return taken.pop()

    DOORS.admit(holder(COOKIES), "", session="mine")
    assert connect(b"streamlit, tok, theirs") is None and connect(b"streamlit, tok, mine") == "mine"
    assert connect(b"streamlit, tok, theirs", *others) == "websocket.close"
    assert connect(*others, b"streamlit, tok, theirs") == "websocket.close"
