"""Stands before Streamlit's server: files of a page are given to the browser that was shown it, and to no other."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import streamlit as st
from streamlit.runtime import exists, get_instance

from spnmkl.ui.state.doors import DOORS, holder

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
_NOTES = ThreadPoolExecutor(1, "spnmkl-notes")
_LOG = logging.getLogger("spnmkl")


class Guard:
    """An application before another one.

    Parameters
    ----------
    app : Application
    exported : callable
        Told for whom a file was given away, and its ending.
    """

    def __init__(self, app: Application, exported: Callable[[str, str], None] | None = None) -> None:
        self._app, self._exported = app, exported or _note_export

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        _watch()
        base = "/" + str(st.get_option("server.baseUrlPath") or "").strip("/")
        path, who = "/" + str(scope["path"]).removeprefix(base).lstrip("/"), holder(_cookies(scope))
        if path == "/_stcore/metrics":
            await _refuse(send, 404)
        elif path.startswith("/media/"):
            if DOORS.may_see(path.removeprefix("/media/"), who):
                await self._app(scope, receive, self._given(scope, send, who))
            else:
                await _refuse(send, 404)
        elif path.startswith("/_stcore/upload_file/") and scope["method"] != "OPTIONS" and DOORS.owner(who) is None:
            await _refuse(send, 403)
        else:
            await self._app(scope, receive, send)

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


def _watch() -> None:
    if exists():
        DOORS.watch(get_instance().media_file_mgr, lambda: holder(st.context.cookies))  # type: ignore[arg-type]


def _cookies(scope: Message) -> dict[str, str]:
    """As Streamlit's server reads them."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name == b"cookie":
            for part in value.decode("latin-1").split(";"):
                key, _, content = part.strip().partition("=")
                found[key] = content
    return found


async def _refuse(send: Send, status: int) -> None:
    told = {b"content-type": b"text/plain", b"x-content-type-options": b"nosniff", b"cache-control": b"no-store"}
    await send({"type": "http.response.start", "status": status, "headers": list(told.items())})
    await send({"type": "http.response.body", "body": b"Not found" if status == 404 else b"Not allowed"})
