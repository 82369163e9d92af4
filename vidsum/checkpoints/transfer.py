"""Download a file of weights within limits of time and pace."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import requests

from vidsum.checkpoints.registry import host_of
from vidsum.errors import WeightsError
from vidsum.io import network
from vidsum.io.network import OnBytes, Session

T = TypeVar("T")

PAGE_S, FILE_S = 60.0, 7200.0  # time limits for a page of an index, and for a file


def download(
    session: Session, url: str, target: Path, on_bytes: OnBytes, pace: network.Pace = network.PACE
) -> None:
    """Download `url` to `target`, resuming.

    Raises WeightsError: unreachable, refused, slower than `pace`, or `FILE_S` over.
    """

    def request() -> None:
        done = network.size_of(target) or 0
        headers = {"Range": f"bytes={done}-"} if done else {}
        with session.get(url, headers=headers, stream=True, timeout=network.TIMEOUTS_S) as response:
            response.raise_for_status()
            is_part = response.status_code == requests.codes.partial_content
            span = network.parse_content_range(response.headers) if is_part else None
            # start over if the server cannot resume
            session.write_body(response, target, done if span and span[0] == done else 0, on_bytes)

    target.unlink(missing_ok=True)
    try:
        run_within(session, url, FILE_S, lambda: network.transfer(request, target), pace)
    except requests.RequestException as error:
        raise WeightsError(f"{network.failing_host(error, url)} {network.failure_reason(error)}") from None


def run_within(
    session: Session, url: str, seconds: float, task: Callable[[], T], pace: network.Pace | None = None
) -> T:
    """Return what a task of a session gives. Raises WeightsError: it takes longer than `seconds`."""
    try:
        return session.within(seconds, task, pace)
    except TimeoutError as error:
        raise WeightsError(f"{host_of(url)} does not answer within {seconds:g} s") from error
