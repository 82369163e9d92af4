"""Addresses of servers."""

import pytest

from vidsum.errors import UsageError
from vidsum.io.urls import split_server


@pytest.mark.parametrize(
    ("address", "server", "host"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434/", "localhost"),
        ("HTTPS://Models.Example", "HTTPS://Models.Example/", "models.example"),
        ("http://[::1]:8080/v1/", "http://[::1]:8080/", "::1"),
    ],
)
def test_address_is_split_into_server_and_host(address: str, server: str, host: str) -> None:
    assert split_server(address) == (server, host)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://localhost/v1",
        "http://",
        "http:///v1",
        "http://localhost:port/",
        "http://localhost/#secret",
        "http://me:secret@localhost/v1",
        "http://localhost/v1?api-version=secret",
        "http://evil.example\\@127.0.0.1/secret",
        "http://127.0.0.1 /secret",
        "http://loc\nalhost/",
    ],
)
def test_address_with_a_password_or_query_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="without password or query") as error:
        split_server(address)
    assert "secret" not in str(error.value)
