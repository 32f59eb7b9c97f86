"""A small provider of OpenID Connect on loopback: discovery, keys, the authorization code flow with PKCE, log out."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET, COOKIES = "spnmkl", "of the client", "with which cookies are signed in these tests"
PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"sub": "subject-1", "name": "Ann Example", "email": "ann@mail.example", "email_verified": True},
    "ben": {"sub": "subject-2", "name": "Ben Example", "email": "ben@mail.example", "email_verified": True},
}


class Provider(ThreadingHTTPServer):
    """Knows two people; who one is, is chosen by a click."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = RSAKey.generate_key(2048, {"kid": "of these tests"})
        self.signing = self.key
        self.codes: dict[str, dict[str, str]] = {}

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def id_token(self, person: str, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **PEOPLE[person]}
        return jwt.encode({"alg": "RS256", "kid": "of these tests"}, claims, self.signing)

    def secrets(self, folder: Path, port: int) -> Path:
        """The file that tells an app on that port how people log in."""
        file = folder / "secrets.toml"
        file.write_text(
            "[auth]\n"
            f'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\ncookie_secret = "{COOKIES}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{self.issuer}/.well-known/openid-configuration"\n'
        )
        return file


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = dict(parse_qsl(parts.query))
        pages = {
            "/.well-known/openid-configuration": self._discovery,
            "/keys": lambda asked: self._json({"keys": [self.server.key.as_dict(private=False)]}),
            "/authorize": self._authorize,
            "/leave": lambda asked: self._redirect(asked["post_logout_redirect_uri"]),
        }
        pages[parts.path](asked)

    def do_POST(self) -> None:
        asked = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        given = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        known = self.server.codes.pop(asked.get("code", ""), None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(asked["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        right = (
            known is not None and given.replace("+", " ") == f"{CLIENT}:{SECRET}" and proof == known["code_challenge"]
        )
        if known is None or not right or asked["redirect_uri"] != known["redirect_uri"]:
            self._json({"error": "invalid_grant"}, 400)
        else:
            token = self.server.id_token(known["person"], known["nonce"])
            self._json({"access_token": secrets.token_hex(8), "token_type": "Bearer", "id_token": token})

    def _discovery(self, asked: dict[str, str]) -> None:
        issuer = self.server.issuer
        self._json(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "jwks_uri": f"{issuer}/keys",
                "end_session_endpoint": f"{issuer}/leave",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def _authorize(self, asked: dict[str, str]) -> None:
        """A page with a link for each person; with one of them chosen, back to the app."""
        if "person" not in asked:
            links = (f'<p><a href="?{urlencode({**asked, "person": name})}">I am {name}</a></p>' for name in PEOPLE)
            self._send("".join(links).replace("&", "&amp;").encode(), "text/html")
            return
        code = secrets.token_hex(16)
        self.server.codes[code] = asked
        self._redirect(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")

    def _redirect(self, target: str) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _json(self, said: object, status: int = 200) -> None:
        self._send(json.dumps(said).encode(), "application/json", status)

    def _send(self, said: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def provider() -> Iterator[Provider]:
    found = Provider()
    threading.Thread(target=found.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        found.shutdown()
        found.server_close()
