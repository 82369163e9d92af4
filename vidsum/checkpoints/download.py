"""Downloading one file over HTTP: certificates, retries, and resuming after a broken connection.

Whether the bytes are the right ones is not decided here: the caller checks their SHA-256.
"""

import os
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse
from urllib3.util.retry import Retry

from vidsum.checkpoints.registry import host_of
from vidsum.errors import WeightsError

TIMEOUTS_S = (10.0, 60.0)
"""To connect, and between two reads."""
ATTEMPTS = 4
"""Attempts in all at a transfer whose connection breaks."""
PAUSE_S = 0.5
_CHUNK = 1 << 16

_REASONS: dict[type[Exception], str] = {
    requests.exceptions.SSLError: "has a certificate that is not trusted here",
    requests.exceptions.ProxyError: "cannot be reached through the proxy",
    requests.exceptions.ChunkedEncodingError: "broke off the transfer",
    requests.Timeout: "does not answer in time",
}

OnBytes = Callable[[int, int], None]
"""Called as on_bytes(bytes so far, bytes in all); the latter is 0 where the server does not say."""


def new_session() -> requests.Session:
    """A session with the environment's proxies and certificates; it reads file:// URLs too."""
    session = requests.Session()
    session.headers["User-Agent"] = "vidsum"
    # the length and the hash are those of the file itself, so it must not come compressed
    session.headers["Accept-Encoding"] = "identity"
    # requests knows REQUESTS_CA_BUNDLE, and prefers it
    session.verify = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE") or True
    retries = Retry(
        connect=0,
        read=False,
        redirect=5,
        status=2,
        status_forcelist=(429, 500, 502, 503, 504),
        backoff_factor=PAUSE_S,
        raise_on_status=False,
        respect_retry_after_header=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    session.mount("file://", _FileAdapter())
    return session


def download(session: requests.Session, url: str, target: Path, on_bytes: OnBytes) -> None:
    """Write what is at `url` to `target`, resuming where a connection breaks.

    Raises WeightsError where the server cannot be reached, refuses, or breaks off again and again.
    """
    target.unlink(missing_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _append(session, url, target, on_bytes)
            return
        except requests.RequestException as error:
            # only a transfer that had begun is worth another try
            if attempt == ATTEMPTS or isinstance(error, requests.HTTPError) or not target.exists():
                raise WeightsError(f"{host_of(url)} {reason_of(error)}") from error
        time.sleep(PAUSE_S * attempt)


def _append(session: requests.Session, url: str, target: Path, on_bytes: OnBytes) -> None:
    """Download `url` from where `target` ends, or from the start if the server cannot do that."""
    done = target.stat().st_size if target.exists() else 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUTS_S) as response:
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            done = 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else 0
        with target.open("ab" if done else "wb") as stream:
            for chunk in response.iter_content(_CHUNK):
                stream.write(chunk)
                done += len(chunk)
                on_bytes(done, total)


def reason_of(error: requests.RequestException) -> str:
    """Why a request failed, in words that follow the host's name."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answers {error.response.status_code} {error.response.reason or ''}".rstrip()
    return next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), "cannot be reached")


class _FileAdapter(HTTPAdapter):
    """Answers file:// URLs as a web server would: a folder with its index.html, a missing file with 404."""

    def send(self, request: requests.PreparedRequest, *_args: object, **_kwargs: object) -> requests.Response:
        path = Path(unquote(urlsplit(request.url or "").path))
        path = path / "index.html" if path.is_dir() else path
        if path.is_file():
            headers = {"Content-Length": str(path.stat().st_size), "Content-Type": "text/html"}
            answer = HTTPResponse(path.open("rb"), headers, 200, preload_content=False)
        else:
            answer = HTTPResponse(BytesIO(), status=404, reason="Not Found", preload_content=False)
        return self.build_response(request, answer)
