"""A visitor of the app without a browser: speaks Streamlit's websocket protocol, and remembers what it is shown."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
import urllib.request
import uuid
from collections.abc import Callable
from http.cookiejar import CookieJar
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection
from websockets.typing import Origin, Subprotocol

PATIENCE = 120.0  # seconds that an answer may take
MARK = re.compile(rb"mark-[0-9a-f]{12}-")
CANVAS, TAB = "spnmkl_canvas", "spnmkl_tab"


class Visitor:
    """One tab.

    Parameters
    ----------
    url : str
    cookies : str
        Those that its browser has already, such as of a login.
    session : str
        Of a connection that it had, to be taken up again.

    Attributes
    ----------
    session : of its connection.
    mark : stands in the name of every node that it draws.
    foreign : marks of others that it was sent.
    """

    def __init__(self, url: str, cookies: str = "", session: str = "") -> None:
        self.url, self._cookies, self.session = url, cookies, session
        self.mark = f"mark-{uuid.uuid4().hex[:12]}-"
        self.foreign: set[bytes] = set()
        self.elements: dict[str, Any] = {}
        self._fragments: dict[str, str] = {}
        self._states: dict[str, WidgetState] = {}
        self._page = secrets.token_hex(4)
        self._page_hash = ""
        self._sequence = 0
        self._urls: Any = None
        self._jar = CookieJar()
        self._http = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))
        self._socket: ClientConnection

    async def __aenter__(self) -> Visitor:
        await asyncio.to_thread(self._get, "/")
        await asyncio.to_thread(self._get, "/_stcore/health")
        address = self.url.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket = await websockets.connect(
            address,
            subprotocols=[Subprotocol("streamlit"), *self._proof()],
            additional_headers={"Cookie": self._cookies or "; ".join(f"{c.name}={c.value}" for c in self._jar)},
            origin=Origin(self.url),
            max_size=None,
            open_timeout=PATIENCE,
            ping_interval=None,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()

    def _proof(self) -> list[Subprotocol]:
        """The secret of the browser, without which its login is not believed, and the connection that it had."""
        found = re.search(r'_streamlit_xsrf="?([^";]+)', self._cookies)
        return [Subprotocol(part) for part in (found[1], self.session) if part] if found else []

    def _get(self, path: str) -> bytes:
        with self._http.open(self.url + path, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    def cookie(self, name: str) -> str:
        return next((cookie.value or "" for cookie in self._jar if cookie.name == name), "")

    async def open(self, page: str) -> None:
        """A page, as by its address; the tab says who it is when it is asked."""
        self._page_hash, self.elements, self._fragments = "", {}, {}
        await self._run(page=page)
        if TAB in self.elements and TAB not in self._states:
            token = json.loads(self.elements[TAB].json)["token"]
            self._say(TAB, json_value=json.dumps({"kept": {"token": token, "same": True}}))
            await self._run(page=page)

    async def edit(self) -> float:
        """Put one more node with the own mark on the canvas; seconds until the page that answers is whole."""
        shown = json.loads(self.elements[CANVAS].json)
        drawn = shown["drawing"]
        self._sequence += 1
        node = {"id": f"n{self._sequence}", "kind": "sum", "label": f"{self.mark}{self._sequence}", "x": 9.0, "y": 9.0}
        nodes = [known for known in drawn["nodes"] if not str(known.get("label", "")).startswith("mark-")]
        told = {
            "page": self._page,
            "sequence": self._sequence,
            "revision": f"{shown['epoch']}.{shown['number']}",
            "size": [1000, 560],
            "selection": [],
            "closed": drawn["closed"],
            "nodes": [*nodes, node],
            "edges": drawn["edges"],
        }
        self._say(CANVAS, json_value=json.dumps({"drawing": told}))
        began = time.monotonic()
        await self._run(fragment=self._fragments[CANVAS])
        seconds = time.monotonic() - began
        answer = json.loads(self.elements[CANVAS].json)
        if answer["acknowledged"] != f"{self._page}/{self._sequence}":
            raise AssertionError(f"an edit was not taken: {answer['acknowledged']!r}")
        if node["label"] not in self.elements[CANVAS].json:
            raise AssertionError("an edit is not in the answer")
        return seconds

    async def click(self, label: str) -> None:
        """Press a button by its words."""
        labels = {getattr(element, "label", ""): key for key, element in self.elements.items()}
        if label not in labels:
            raise AssertionError(f"there is no {label!r} among {sorted(filter(None, labels))}: {self.text()[-800:]}")
        key = labels[label]
        self._say(key, trigger_value=True)
        try:
            await self._run(fragment=self._fragments.get(key, ""))
        finally:
            self._states.pop(self.elements[key].id, None) if key in self.elements else None

    async def upload(self, name: str, data: bytes) -> None:
        """Give a file to the page's uploader."""
        key = next(key for key, element in self.elements.items() if element.DESCRIPTOR.name == "FileUploader")
        asked = BackMsg()
        asked.file_urls_request.request_id = "r"
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self.session
        self._urls = None
        await self._socket.send(asked.SerializeToString())
        await self._hear(lambda _: self._urls is not None)
        urls = self._urls.file_urls[0]
        await asyncio.to_thread(self._put, urls.upload_url, name, data)
        state = WidgetState(id=self.elements[key].id)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(data), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._states[key] = state
        await self._run(fragment=self._fragments.get(key, ""))

    def _put(self, path: str, name: str, data: bytes) -> None:
        border = uuid.uuid4().hex
        head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + data + f"\r\n--{border}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={border}"}
        headers["X-Xsrftoken"] = self.cookie("_streamlit_xsrf")
        self._http.open(urllib.request.Request(self.url + path, body, headers, method="PUT"), timeout=PATIENCE).close()

    def text(self) -> str:
        """All that the page says in elements of text, and in its messages."""
        return "\n".join(str(element.body) for element in self.elements.values() if hasattr(element, "body"))

    def _say(self, key: str, **value: Any) -> None:
        self._states[key] = WidgetState(id=self.elements[key].id, **value)

    async def _run(self, page: str = "", fragment: str = "") -> None:
        """Ask for a run of the page or of one of its fragments, and take in what is answered until it is over."""
        asked = BackMsg()
        rerun = asked.rerun_script
        rerun.page_name, rerun.page_script_hash, rerun.fragment_id = page, "" if page else self._page_hash, fragment
        rerun.widget_states.widgets.extend(self._states.values())
        await self._socket.send(asked.SerializeToString())
        over = (ForwardMsg.FINISHED_SUCCESSFULLY, *[ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY] * bool(fragment))
        await self._hear(lambda said: said.WhichOneof("type") == "script_finished" and said.script_finished in over)

    async def listen(self, seconds: float) -> None:
        """Take in what comes by itself, such as a training that is watched."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                self._take(await asyncio.wait_for(self._socket.recv(), left))
            except TimeoutError:
                return

    async def _hear(self, last: Callable[[ForwardMsg], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            message = self._take(await asyncio.wait_for(self._socket.recv(), max(0.0, until - time.monotonic())))
            if last(message):
                return

    def _take(self, received: str | bytes) -> ForwardMsg:
        content = received if isinstance(received, bytes) else received.encode()
        self.foreign |= {mark for mark in MARK.findall(content) if mark.decode() != self.mark}
        message = ForwardMsg()
        message.ParseFromString(content)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self._page_hash = message.new_session.page_script_hash
        elif kind == "file_urls_response":
            self._urls = message.file_urls_response
        elif kind == "ref_hash":
            raise AssertionError("a message was not sent, but named")
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = getattr(message.delta.new_element, message.delta.new_element.WhichOneof("type") or "empty")
            key = getattr(element, "component_name", "") or getattr(element, "id", "")
            key = key or "/".join(map(str, message.metadata.delta_path))
            self.elements[key], self._fragments[key] = element, message.delta.fragment_id
        return message
