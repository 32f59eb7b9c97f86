"""Who is let in, and which files of a page were shown to whom (no Streamlit here).

A browser is known by its cookies: the secret against forged requests, which is its own, and the one of a login.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from spnmkl.workspace.people import Person

MOST_KNOWN = 20_000  # browsers, and files; the oldest are forgotten
_XSRF, _LOGIN = "_streamlit_xsrf", re.compile(r"_streamlit_user(_[0-9]+)?")


def browser_secret(cookies: Mapping[str, str]) -> str:
    """What a browser alone knows: the secret in its cookie against forged requests; nothing where it keeps none.

    The secret is the same from visit to visit, and is written differently each time: masked by four bytes beside it.
    """
    try:
        _, mask, masked, _ = cookies.get(_XSRF, "").split("|")
        key, secret = bytes.fromhex(mask), bytes.fromhex(masked)
        return bytes(byte ^ key[k % len(key)] for k, byte in enumerate(secret)).hex()
    except (ValueError, ZeroDivisionError):
        return ""


def holder(cookies: Mapping[str, str]) -> str:
    """Who asks: a browser with its login; nobody where it has no secret."""
    secret = browser_secret(cookies)
    logins = sorted((name, value) for name, value in cookies.items() if _LOGIN.fullmatch(name))
    return digest(secret, *(value for _, value in logins)) if secret else ""


def digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class MediaFiles(Protocol):
    """As Streamlit's manager of the files of pages."""

    add: Callable[..., str]
    add_deferred: Callable[..., str]
    execute_deferred: Callable[[str], str]


class Doors:
    """Browsers that were let in, with their connections, and the files that each was shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guests: OrderedDict[str, tuple[str, Person | None]] = OrderedDict()
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._shown: OrderedDict[str, set[str]] = OrderedDict()
        self._promised: OrderedDict[str, str] = OrderedDict()
        self._watched: set[int] = set()

    def admit(self, holder: str, owner: str, person: Person | None = None, session: str = "") -> None:
        """A browser that works here, for whom, who has logged in with it, and the connection of the tab."""
        with self._lock:
            _put(self._guests, holder, (owner, person))
            _put(self._sessions, session, holder)

    def owner(self, holder: str) -> str | None:
        """For whom a browser works here; None where it was not let in."""
        with self._lock:
            return self._guests[holder][0] if holder and holder in self._guests else None

    def person(self, holder: str) -> Person | None:
        """Who has logged in with a browser that was let in."""
        with self._lock:
            return self._guests[holder][1] if holder and holder in self._guests else None

    def is_of(self, session: str, holder: str) -> bool:
        """Whether a connection was let in for this browser and this login."""
        with self._lock:
            return self._sessions.get(session) == holder

    def visitor(self, token: str) -> str:
        """Whom a tab stands for that nobody has logged in with."""
        return hashlib.sha256(token.encode()).hexdigest()

    def may_see(self, name: str, holder: str) -> bool:
        """Whether a file was on a page of this browser."""
        with self._lock:
            return bool(holder) and holder in self._shown.get(_id(name), ())

    def watch(self, files: MediaFiles, who: Callable[[], str]) -> None:
        """Remember from now on to whom files are shown; `who` tells it where a page is made."""
        with self._lock:
            if id(files) in self._watched:
                return
            self._watched.add(id(files))
        add, add_deferred, execute = files.add, files.add_deferred, files.execute_deferred

        def adding(*args: Any, **named: Any) -> str:
            return self._show(add(*args, **named), who())

        def promising(*args: Any, **named: Any) -> str:
            placeholder = add_deferred(*args, **named)
            with self._lock:
                _put(self._promised, placeholder, who())
            return placeholder

        def executing(placeholder: str) -> str:
            return self._show(execute(placeholder), self._promised.get(placeholder, ""))

        files.add, files.add_deferred, files.execute_deferred = adding, promising, executing

    def _show(self, url: str, holder: str) -> str:
        name = _id(url.rpartition("/")[2])
        with self._lock:
            _put(self._shown, name, self._shown.get(name, set()) | ({holder} if holder else set()))
        return url


def _id(name: str) -> str:
    """Of a file, whose name may have an ending."""
    return os.path.splitext(name)[0]


def _put(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_KNOWN:
        kept.popitem(last=False)


DOORS = Doors()
