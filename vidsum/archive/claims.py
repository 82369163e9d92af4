"""Claims of processes on files that they add, so that several can share a folder: leases with an end.

The owner renews its lease while it works; one that has ended on this machine is not waited for.
"""

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from vidsum.archive.store import Database, connect, faults
from vidsum.errors import VidsumError

_LEASE_S, _RENEW_S = 30.0, 5.0
_POLL_S = 0.2

Claim = tuple[str, float]  # owner, and when the lease ends by the clock of the archive


@contextmanager
def claim_file(connection: Database, key: bytes) -> Iterator[bool]:
    """Claim a file while the block runs; yield whether that was possible."""
    owner, is_done = _identity(), Event()
    with connection.transaction():
        is_ours = not claims(connection, [key])
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
    """Return the claims on files that have not ended, as far as is known."""
    query, now_s = "SELECT owner, until_s FROM claims WHERE path = ?", connection.clock()
    rows = {key: row for key in keys for row in connection.execute(query, (key,)).fetchall()}
    return {key: (row[0], row[1]) for key, row in rows.items() if not _has_ended(row[0], row[1] - now_s)}


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


def _has_ended(owner: str, left_s: float) -> bool:
    """Return whether a lease is over, or its owner has ended; those of an hour are of older versions."""
    machine, _, process = owner.rpartition("/")
    if not 0 <= left_s <= 2 * _LEASE_S:  # the clock of its machine may be ahead
        return True
    if not machine or machine != _identity().rpartition("/")[0]:
        return False
    number, _, started = process.partition("@")
    with suppress(OSError):
        return _read_start(number) != started
    try:
        os.kill(int(number), 0)  # it may be hidden from other users
    except (OSError, ValueError, OverflowError) as error:
        return isinstance(error, ProcessLookupError)
    return False


def _identity() -> str:
    """Return a unique name of this process: boot and PID namespace, PID@START; without /proc a random one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace, number = (str(Path("/proc/self", name).readlink()) for name in ("ns/pid", ""))
        if number == str(os.getpid()):  # /proc may be that of another namespace
            return f"{boot}/{namespace}/{number}@{_read_start(number)}"
    except OSError:
        pass
    return secrets.token_hex(16)


def _read_start(number: str) -> str:
    """Return a process's start in ticks since boot; empty for a zombie. Raises OSError: hidden or gone."""
    state, *facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return "" if state in "ZX" else facts[18]
