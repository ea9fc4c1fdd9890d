"""Access checks: the token, the host and the origin of a request; and the headers of every answer."""

import base64
import binascii
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from chaffinch.serve.messages import RequestError

TOKEN = "x-chaffinch-token"
JSON, LINES = "application/json", "application/x-ndjson"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(24)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Guard:
    """The checks of a request before it is answered.

    token: None: no token is needed; only a server on a loopback address allows this
    """

    token: str | None = None

    def check(self, method: str, headers: Mapping[str, str], *, open_to_all: bool = False) -> None:
        """Raise if the request may not be answered; open_to_all: it needs no token."""
        host = headers.get("host", "")
        if self.token is None and not is_loopback(_name(host)):
            raise RequestError(403, "this server answers on a loopback address only: call it as localhost")
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            raise RequestError(403, "requests from pages of other origins are refused")
        if self.token is not None and not open_to_all and not self._admitted(headers):
            raise RequestError(401, "this server needs its token, in the header X-Chaffinch-Token")
        if method == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in (JSON, LINES):
                raise RequestError(415, f"expected the content type {JSON}, got {kind or 'none'}")

    def _admitted(self, headers: Mapping[str, str]) -> bool:
        assert self.token is not None
        given = headers.get(TOKEN) or _authorised(headers.get("authorization", ""))
        return hmac.compare_digest(given.encode(), self.token.encode())


def _name(host: str) -> str:
    """The host without its port.

    >>> _name("localhost:8080"), _name("[::1]:80"), _name("::1")
    ('localhost', '[::1]', '::1')
    """
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (":" not in name or name.startswith("[")) else host


def _authorised(value: str) -> str:
    """The token of an Authorization header: a bearer's, or the password of Basic, as other tools send it."""
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""
