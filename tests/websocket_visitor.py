"""Visits the app as a browser does, without one: cookies by HTTP, pages by the websocket."""

from __future__ import annotations

import re
import time
from urllib.parse import urlencode

import httpx2
from joserfc import jwt
from joserfc.jwk import OctKey
from oidc_provider import COOKIES
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

PATIENCE_SECONDS = 30.0
MEDIA = re.compile(rb"/media/([0-9a-f]{20,}[.\w]*)")


class Visitor:
    """One browser with its cookies."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(base_url=url, follow_redirects=True, timeout=PATIENCE_SECONDS)
        self.http.get("/_stcore/health")

    def log_in(self, person: str) -> httpx2.Response:
        """From the address behind the app's button, over the provider, and back."""
        token = jwt.encode(
            {"alg": "HS256"}, {"provider": "default", "exp": int(time.time()) + 60}, OctKey.import_key(COOKIES)
        )
        asked = self.http.get(f"/auth/login?{urlencode({'provider': token})}", follow_redirects=False)
        return self.http.get(asked.headers["location"] + f"&person={person}")

    def log_out(self) -> None:
        self.http.get("/auth/logout")

    @property
    def cookies(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies.jar)

    def page(self, name: str = "", *, cookies: str | None = None) -> bytes:
        """All that the server sends to show a page."""
        secret = self.http.cookies.get("_streamlit_xsrf", "").strip('"')
        headers = {"Cookie": self.cookies if cookies is None else cookies, "Origin": self.url}
        address = self.url.replace("http", "ws", 1) + "/_stcore/stream"
        asked = BackMsg()
        asked.rerun_script.page_name = name
        found = []
        with connect(
            address,
            subprotocols=["streamlit", secret],  # type: ignore[list-item]
            additional_headers=headers,
            user_agent_header=None,  # as to who cannot run scripts, the page is shown at once
            max_size=None,
        ) as socket:
            socket.send(asked.SerializeToString())
            until = time.monotonic() + PATIENCE_SECONDS
            while time.monotonic() < until:
                data = socket.recv(PATIENCE_SECONDS)
                assert isinstance(data, bytes)
                found.append(data)
                if ForwardMsg.FromString(data).WhichOneof("type") == "script_finished":
                    return b"".join(found)
        raise TimeoutError("The page was not finished.")
