"""URLs as inputs: the text that is safe to show, the raw text that opens them, and whether that is allowed.

A URL may hold a password or a token. It is shown as host and path, and a short hash where more was left out.
"""

import os
import re
from ipaddress import ip_address
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from vidsum.errors import URL_START, Mention, UsageError, redact, split_url


class Url(str):
    """A URL whose text is safe to show; only what opens it reads `raw`."""

    raw: str
    path: str

    def __new__(cls, raw: str) -> "Url":
        """Keep the raw text and the safe one; a `Url` stays as it is."""
        raw = getattr(raw, "raw", raw).strip()
        safe, path, _ = split_url(raw)
        url = super().__new__(cls, safe)
        url.raw, url.path = raw, path
        return url

    def __reduce__(self) -> tuple[type["Url"], tuple[str]]:
        """Let pickled copies, as for `--jobs`, keep the raw text."""
        return Url, (self.raw,)

    def hide(self, text: str) -> str:
        """Replace what this URL does not show in a text that a server or a library wrote."""
        hidden = split_url(self.raw)[2]
        pieces = text.split(self.raw)
        for part in sorted({*hidden, *map(unquote, hidden)}, key=len, reverse=True):
            pieces = [piece.replace(part, "...") for piece in pieces]
        return str(self).join(map(redact, pieces))


def is_url(name: str | os.PathLike[str]) -> bool:
    return re.match(rf"\s*{URL_START}(?<=//)", os.fspath(name)) is not None


def local_path(name: str) -> str:
    """Return the path that a `file:` URL leads to on this machine; other names as they are."""
    url = urlsplit(name) if re.match(r"file:/", name, re.IGNORECASE) else None
    if url is None or url.netloc.lower() not in ("", "localhost"):
        return name
    if os.name == "nt":
        from urllib.request import url2pathname  # loads HTTP and TLS

        path = url2pathname(url.path)
    else:
        path = os.fsdecode(unquote_to_bytes(url.path))
    return f"{path}#{url.fragment}" if url.fragment else path


_YES, _NO = ("1", "true", "t", "yes", "y", "on"), ("", "0", "false", "f", "no", "n", "off")


def is_offline() -> bool:
    """Return whether VIDSUM_OFFLINE forbids fetching. Raises UsageError: it is neither yes nor no."""
    text = os.environ.get("VIDSUM_OFFLINE", "")
    if text.lower() not in (*_YES, *_NO):
        raise UsageError(f"VIDSUM_OFFLINE is {text!r}", hint="give 1 to forbid downloads, 0 to allow them")
    return text.lower() in _YES


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, so that no name server is asked."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name
        return False


def split_server(address: str) -> tuple[str, str]:
    """Return the root of a server's address, `http://localhost:11434/`, and its host.

    Raises UsageError: it is not of HTTP, or holds more than a host and a path, such as a password or a query.
    """
    match = re.fullmatch(
        r"(?i)(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?(/[^\s?#;@\\]*)?", address
    )
    if match is None:
        fault = "the address of a server is http:// or https://, a host and a path, without password or query"
        raise UsageError(fault, hint=Mention("writer", "http://localhost:11434/v1"))
    scheme, host, port, _ = match.groups(default="")
    return f"{scheme}://{host}{port}/", host.lower().strip("[]")
