"""Claims of processes on files that they add, so that several can share a folder: leases with an end.

The owner renews its lease while it works, and the lease of a killed process soon ends. No process is looked
up: the owner may be in another container, or on another machine.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from vidsum.archive.rows import read_rows
from vidsum.archive.store import Database, connect, faults
from vidsum.errors import VidsumError

_LEASE_S, _RENEW_S = 15.0, 3.0
_POLL_S = 0.2


class Claim(NamedTuple):
    """A claim on a file."""

    owner: str
    until_s: float  # when the lease ends, by the clock of the archive


@contextmanager
def claim_file(connection: Database, key: bytes, owner: str | None = None) -> Iterator[bool]:
    """Claim a file while the block runs; yield whether that was possible.

    An `owner` that is given takes over its own claim: one of a process that was killed.
    """
    owner, is_done = owner or secrets.token_hex(16), Event()
    with connection.transaction():
        claim = claims(connection, [key]).get(key)
        is_ours = claim is None or claim.owner == owner
        if is_ours:
            connection.execute(
                "INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
                "owner = excluded.owner, until_s = excluded.until_s",
                (key, owner, connection.clock() + _LEASE_S),
            )
    if not is_ours:
        yield False
        return
    thread = Thread(target=_renew, args=(connection.where, key, owner, is_done), daemon=True)
    thread.start()
    try:
        yield True
    finally:
        is_done.set()
        thread.join()
        with connection.transaction():  # not a claim of another process, if this one slept long
            connection.execute("DELETE FROM claims WHERE path = ? AND owner = ?", (key, owner))


def _renew(where: Path | str, key: bytes, owner: str, is_done: Event) -> None:
    """Renew a lease over its own connection: the other one may be in a transaction."""
    while not is_done.wait(_RENEW_S):
        # after a failure the next attempt follows: the lease lasts for several
        with suppress(VidsumError), faults(where), closing(connect(where, create=False)) as connection:
            values = (connection.clock() + _LEASE_S, key, owner)
            connection.execute("UPDATE claims SET until_s = ? WHERE path = ? AND owner = ?", values)


def claims(connection: Database, keys: Sequence[bytes]) -> dict[bytes, Claim]:
    """Return the claims on files that have not ended."""
    columns, now_s = ("claims.owner", "claims.until_s"), connection.clock()
    source = "FROM claims WHERE path = ?"
    rows = {key: Claim(*row) for key in keys for row in read_rows(connection, columns, source, (key,))}
    # the clock of the owner's machine may be ahead, but not by much
    return {key: claim for key, claim in rows.items() if 0 <= claim.until_s - now_s <= 2 * _LEASE_S}


def wait_for_claims(connection: Database, keys: Sequence[bytes]) -> set[bytes]:
    """Wait until each claim was renewed, by a live owner, or ended; return the files without a live claim."""
    before = claims(connection, keys)
    unsure, live = set(before), set[bytes]()
    while unsure:
        time.sleep(_POLL_S)
        now = claims(connection, [*unsure])
        live |= {key for key in now if now[key] != before[key]}
        unsure = {*now} - live
    return {*keys} - live
