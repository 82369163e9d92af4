"""Secrets of URLs are hidden in any text, and other texts stay as they are."""

import pytest

from vidsum.errors import redact


@pytest.mark.parametrize(
    "text",
    [
        "http://me:SECRET@host/a.mp4",
        "rtsp://SECRET@host/x: cannot connect",
        "see http://host/a.mp4?token=SECRET.",
        "http://host/a.mp4#SECRET",
        "...https://me:SECRET@host/a.mp4",
        "1https://me:SECRET@host/a.mp4",
        "tried (https://me:SECRET@host), then http://host/?k=SECRET",
    ],
)
def test_a_url_shows_no_secret_wherever_it_stands(text: str) -> None:
    assert "SECRET" not in redact(text)
    assert "host" in redact(text)


@pytest.mark.parametrize(
    "text", ["", "a.mp4: no such file", "C:/films/a.mp4", "file:///a/b?c", "https://host/a.mp4"]
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
