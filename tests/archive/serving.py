"""Servers of archives: of their page, and of PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.server.serving import running
from vidsum.archive.serve import Server


@contextmanager
def serving(archive: str | Path, token: str | None = None, host: str = "127.0.0.1") -> Iterator[Server]:
    """The page of an archive, at a free port."""
    with running(Server(archive, host, 0, token)) as server:
        yield server


_NUMBERS = count()


@contextmanager
def started() -> Iterator[str]:
    """The address of a database of a server. Skips the test where its programs are missing."""
    psycopg = pytest.importorskip("psycopg")
    result = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (result and str(result[-1]))
    if not initdb:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="vidsum"))
    # it does not run as root
    values = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if values:
        shutil.chown(folder, "nobody")
    data, url = str(folder / "data"), f"postgresql://tester@/postgres?host={folder}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    options = ["-U", "tester", "-A", "trust", "--no-sync", "--locale=C.UTF-8"]
    subprocess.run([initdb, "-D", data, *options], check=True, **values, **quiet)  # type: ignore[call-overload]
    words = [str(Path(initdb).with_name("postgres")), "-D", data, "-k", str(folder), "-h", "", "-F"]
    server = subprocess.Popen(words, **values, **quiet)  # type: ignore[call-overload]
    try:
        for _ in range(200):
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def new_database(url: str) -> str:
    """The address of an empty database of a server."""
    import psycopg

    name = f"test{next(_NUMBERS)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
