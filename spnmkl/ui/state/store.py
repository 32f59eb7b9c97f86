"""The workspaces of all tabs, kept on the server so that a reload finds its own again and no other tab sees it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from hmac import compare_digest

from spnmkl.ui.state.workspace import Workspace

EXPIRY_SECONDS = 4 * 3600
MAX_WORKSPACES = 200


@dataclass
class _Entry:
    workspace: Workspace
    session: str
    used: float
    browser: str = ""


class Store:
    """Workspaces by the token of their tab; forgotten when unused for long, the oldest first."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    def find(self, token: str, session: str, browser: str | None = None) -> Workspace | None:
        """The workspace of a tab, now used by this session; where a browser is given, None if it stood in another."""
        with self._lock:
            entry = self._living(token)
            if entry is None or (browser is not None and entry.browser not in ("", browser)):
                return None
            entry.session, entry.used = session, time.monotonic()
            return entry.workspace

    def touch(self, token: str) -> None:
        """Someone works here: do not forget it."""
        with self._lock:
            if entry := self._living(token):
                entry.used = time.monotonic()

    def owner(self, token: str) -> str | None:
        """The session that used the token last."""
        with self._lock:
            entry = self._living(token)
            return entry.session if entry else None

    def put(self, token: str, workspace: Workspace, session: str, browser: str = "") -> None:
        """Keep a tab's workspace; `browser` is a secret of the browser that it stands in."""
        with self._lock:
            self._entries[token] = _Entry(workspace, session, time.monotonic(), browser)
            self._forget()

    def living(self) -> list[tuple[str, Workspace, str]]:
        """Token, workspace and session of every tab; those that were abandoned are forgotten."""
        with self._lock:
            self._forget()
            return [(token, entry.workspace, entry.session) for token, entry in self._entries.items()]

    def same_browser(self, token: str, browser: str) -> bool:
        """Whether the tab of a token stands in the browser that has this secret."""
        with self._lock:
            entry = self._living(token)
            return entry is not None and browser != "" and compare_digest(entry.browser, browser)

    def remove(self, token: str) -> None:
        with self._lock:
            self._entries.pop(token, None)

    def remove_unused(self, token: str, seconds: float) -> None:
        """Forget a tab's workspace where it was not used for so long."""
        with self._lock:
            entry = self._entries.get(token)
            if entry is not None and entry.used < time.monotonic() - seconds:
                del self._entries[token]

    def _living(self, token: str) -> _Entry | None:
        entry = self._entries.get(token)
        return entry if entry and entry.used >= time.monotonic() - EXPIRY_SECONDS else None

    def _forget(self) -> None:
        oldest = sorted(self._entries, key=lambda token: self._entries[token].used)
        limit = time.monotonic() - EXPIRY_SECONDS
        for k, token in enumerate(oldest):
            if self._entries[token].used < limit or len(oldest) - k > MAX_WORKSPACES:
                del self._entries[token]


STORE = Store()
