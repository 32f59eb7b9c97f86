"""Stands before Streamlit's server: files of a page are given to the browser that was shown it, and to no other; and
nothing that an open page asks for is done once the login that it was opened with has ended. What is sent is bounded,
since Streamlit holds all files of a connection in memory, whether a page asked for them or not.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import streamlit as st
from starlette.requests import HTTPConnection
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import exists, get_instance

from spnmkl.memory import available_memory
from spnmkl.ui.state.doors import DOORS, holder
from spnmkl.workspace.people import People, Person

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
_CLOSED = ("/_stcore/metrics", "/_stcore/agent")  # the second drives the app without a browser, and without its secret
_UPLOADS = "/_stcore/upload_file/"
_PROTOCOLS = b"sec-websocket-protocol"
_ENDED, _TOO_LARGE, _LATER = 1008, 1009, 1013  # of a websocket: against the rules; come back later
MOST_MESSAGE = 10_000_000  # bytes of what a page says at once; a drawing of a thousand nodes has a twentieth of it
MOST_CONNECTIONS = 500  # open pages, each of which may have begun such a message
MOST_FILES, MOST_BYTES = 1000, 2_000_000_000  # that are held of one connection
SHARE = 0.25  # of the memory that is not taken by files, for the files of all connections
_NOTES = ThreadPoolExecutor(1, "spnmkl-notes")
_LOG = logging.getLogger("spnmkl")


class Guard:
    """An application before another one.

    Parameters
    ----------
    app : Application
    exported : callable
        Told for whom a file was given away, and its ending.
    people : callable
        Gives those who have logged in.
    """

    def __init__(
        self,
        app: Application,
        exported: Callable[[str, str], None] | None = None,
        people: Callable[[], People] | None = None,
    ) -> None:
        self._app, self._exported, self._people = app, exported or _note_export, people or _people_here
        self._arriving: Counter[str] = Counter()
        self._connections = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            self._connections += 1
            try:
                await self._connected(scope, receive, send)
            finally:
                self._connections -= 1
        elif scope["type"] == "http":
            await self._asked(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _connected(self, scope: Message, receive: Receive, send: Send) -> None:
        if _says_twice(scope, _PROTOCOLS):  # of which Streamlit takes the first
            await _turn_away(send, _ENDED, "A header stands twice.")
        elif self._connections > MOST_CONNECTIONS:
            await _turn_away(send, _LATER, "Too many pages are open.")
        else:
            await self._let_in(scope, receive, send)

    async def _let_in(self, scope: Message, receive: Receive, send: Send) -> None:
        """Every click, and every part of a page that is drawn again, comes as a message of its connection."""
        who = holder(_cookies(scope))
        person = DOORS.person(who)
        over = await self._is_over(person)  # before it connects: it is a new one, that is shown how to log in

        async def has_ended() -> bool:
            """Also where it was forgotten meanwhile who was let in."""
            nonlocal person
            person = DOORS.person(who) or person
            return await self._is_over(person)

        async def hearing() -> Message:
            message = await receive()
            if len(message.get("bytes") or message.get("text") or b"") > MOST_MESSAGE:
                await _turn_away(send, _TOO_LARGE, "A message is too large.")
                return {"type": "websocket.disconnect", "code": _TOO_LARGE}
            if message["type"] == "websocket.receive" and not over and await has_ended():
                await send({"type": "websocket.send", "bytes": _to_the_start()})
                await _turn_away(send, _ENDED, "The login has ended.")
                return {"type": "websocket.disconnect", "code": _ENDED}
            return message

        await self._app(_with_own_session(scope, "" if over else who), hearing, send)

    async def _has_ended(self, who: str) -> bool:
        """Whether a browser was let in by a login that is over."""
        return await self._is_over(DOORS.person(who))

    async def _is_over(self, person: Person | None) -> bool:
        """Whether a login is over; also where that cannot be seen."""
        try:
            return person is not None and not await asyncio.to_thread(lambda: self._people().goes_on(person))
        except Exception:
            _LOG.exception("Whether a login goes on cannot be seen")
            return True

    def _leave(self, person: Person) -> None:
        try:
            self._people().leave(person)
        except Exception:
            _LOG.exception("A logout was not noted")

    async def _asked(self, scope: Message, receive: Receive, send: Send) -> None:
        _watch()
        path, who = "/" + str(scope["path"]).removeprefix(_base()).lstrip("/"), holder(_cookies(scope))
        if path.startswith(_CLOSED):
            await _refuse(send, 404)
        elif path == "/auth/logout" and (person := DOORS.person(who)) is not None:
            await asyncio.to_thread(self._leave, person)  # as the button does; the address may also be typed
            await self._app(scope, receive, send)
        elif path.startswith("/media/"):
            if DOORS.may_see(path.removeprefix("/media/"), who) and not await self._has_ended(who):
                await self._app(scope, receive, self._given(scope, send, who))
            else:
                await _refuse(send, 404)
        elif path.startswith(_UPLOADS) and scope["method"] != "OPTIONS":
            session = path.removeprefix(_UPLOADS).partition("/")[0]
            if not who or not DOORS.is_of(session, who) or await self._has_ended(who):
                await _refuse(send, 403)
            elif scope["method"] == "PUT":
                await self._put(scope, receive, send, session)
            else:
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _put(self, scope: Message, receive: Receive, send: Send, session: str) -> None:
        """A file arrives, if it fits beside those that the server holds of this connection, and of all of them."""
        told = dict(scope["headers"]).get(b"content-length", b"")
        size = int(told) if told.isdigit() and len(told) < 20 else MOST_BYTES + 1
        held, free, of_all = held_files(session), available_memory(), held_of_all()
        fits = free is None or size + self._arriving.total() + of_all <= SHARE * (free + of_all)
        if not fits or len(held) >= MOST_FILES or sum(held) + self._arriving[session] + size > MOST_BYTES:
            await _refuse(send, 413)
            return
        self._arriving[session] += size
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving[session] -= size
            self._arriving += Counter()  # who has nothing is forgotten

    def _given(self, scope: Message, send: Send, who: str) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, value) for name, value in message["headers"] if name.lower() != b"cache-control"]
                message = {**message, "headers": [*headers, (b"cache-control", b"private, no-store")]}
                told = dict(headers).get(b"content-disposition", b"")
                if told.startswith(b"attachment") and message["status"] == 200 and _is_taken(scope):
                    ending = os.path.splitext(told.decode("latin-1").rstrip('"'))[1][:20]
                    _NOTES.submit(self._exported, DOORS.owner(who) or "", ending)
            await send(message)

        return sending


def held_files(session: str) -> list[int]:
    """Bytes of each file that Streamlit holds of a connection."""
    return [len(file.data) for file in list(_files().get(session, {}).values())]


def held_of_all() -> int:
    """Bytes of the files that Streamlit holds of all connections together."""
    return sum(len(file.data) for files in list(_files().values()) for file in list(files.values()))


def _files() -> dict[str, dict[str, Any]]:
    return getattr(get_instance().uploaded_file_mgr, "file_storage", {}) if exists() else {}


def _is_taken(scope: Message) -> bool:
    """Whether a person takes a file: pages also fetch them, only to see whether they are there."""
    mode = dict(scope["headers"]).get(b"sec-fetch-mode", b"navigate")
    return bool(scope["method"] == "GET" and mode == b"navigate")


def _note_export(owner: str, ending: str) -> None:
    from spnmkl.ui.parts.session import keeper

    try:
        keeper().disk().audit.note(owner, "exported", kind=ending)
    except Exception:
        _LOG.exception("An export was not noted")


def _people_here() -> People:
    from spnmkl.ui.parts.session import keeper

    return keeper().disk().people


def _base() -> str:
    """The path of the app."""
    return "/" + str(st.get_option("server.baseUrlPath") or "").strip("/")


def _to_the_start() -> bytes:
    """A message by which a page loads the app anew; by itself it would connect again and go on showing what it has."""
    said = ForwardMsg()
    said.auth_redirect.url = _base()
    return said.SerializeToString()


def _with_own_session(scope: Message, who: str) -> Message:
    """A connection takes up an earlier one of the same browser and login, and no other.

    What was registered for the clicks of that other one would be called before the page asks who is there.
    """
    asked = [part.strip() for part in dict(scope["headers"]).get(_PROTOCOLS, b"").decode("latin-1").split(",")]
    if len(asked) < 3 or DOORS.is_of(asked[2], who):
        return scope
    headers = [
        (key, ", ".join(asked[:2]).encode("latin-1") if key == _PROTOCOLS else value) for key, value in scope["headers"]
    ]
    return {**scope, "headers": headers, "subprotocols": asked[:2]}


def _watch() -> None:
    if exists():
        DOORS.watch(get_instance().media_file_mgr, lambda: holder(st.context.cookies))  # type: ignore[arg-type]


def _cookies(scope: Message) -> dict[str, str]:
    """As Streamlit's server reads them, by the same code: else a cookie could be one here and another there."""
    return HTTPConnection(scope).cookies


def _says_twice(scope: Message, name: bytes) -> bool:
    return sum(key == name for key, _ in scope["headers"]) > 1


async def _turn_away(send: Send, code: int, reason: str) -> None:
    await send({"type": "websocket.close", "code": code, "reason": reason})


async def _refuse(send: Send, status: int) -> None:
    told = {b"content-type": b"text/plain", b"x-content-type-options": b"nosniff", b"cache-control": b"no-store"}
    await send({"type": "http.response.start", "status": status, "headers": list(told.items())})
    await send(
        {"type": "http.response.body", "body": {404: b"Not found", 413: b"Too large"}.get(status, b"Not allowed")}
    )
