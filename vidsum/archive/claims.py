"""Which process is adding which file to an archive, so that several can share a folder.

A claim is a lease that its owner renews while it works: one that nobody renews soon ends, wherever its owner
was. An owner that can be seen from here to have ended, after a kill say, is not waited for.
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

_LEASE_S, _RENEWED_S = 30.0, 5.0
_LOOK_AGAIN_S = 0.2

Claim = tuple[str, float]
"""Owner, and when the lease ends by the clock of the archive."""


@contextmanager
def claimed(connection: Database, key: bytes) -> Iterator[bool]:
    """Claim a file for as long as the block runs, and give whether that was possible."""
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
        with connection.transaction():  # not that of another process, after a long sleep of this one
            connection.execute("DELETE FROM claims WHERE path = ? AND owner = ?", (key, owner))


def _renew(where: Path | str, key: bytes, owner: str, is_done: Event) -> None:
    """Renew a lease, over another connection than that of a transaction that may be under way."""
    while not is_done.wait(_RENEWED_S):
        # what fails is tried again: the lease lasts for several attempts
        with suppress(VidsumError), faults(where), closing(connect(where, create=False)) as connection:
            values = (connection.clock() + _LEASE_S, key, owner)
            connection.execute("UPDATE claims SET until_s = ? WHERE path = ? AND owner = ?", values)


def claims(connection: Database, keys: Sequence[bytes]) -> dict[bytes, Claim]:
    """Return the claims on some files that are still held, as far as can be told."""
    query, now_s = "SELECT owner, until_s FROM claims WHERE path = ?", connection.clock()
    rows = {key: row for key in keys for row in connection.execute(query, (key,)).fetchall()}
    return {key: (row[0], row[1]) for key, row in rows.items() if not _has_ended(row[0], row[1] - now_s)}


def free_of(connection: Database, keys: Sequence[bytes]) -> set[bytes]:
    """Wait until it is known of each file whether a live process has claimed it; return those that are free.

    A live owner renews its lease.
    """
    seen = claims(connection, keys)
    unsure, live = set(seen), set[bytes]()
    while unsure:
        time.sleep(_LOOK_AGAIN_S)
        now = claims(connection, [*unsure])
        live |= {key for key in now if now[key] != seen[key]}
        unsure = {*now} - live
    return {*keys} - live


def _has_ended(owner: str, left_s: float) -> bool:
    """Tell whether a claim's lease is over, or its owner is seen to have ended.

    Leases of an hour are of older versions, which named their owner so that it could not be told from others.
    """
    machine, _, process = owner.rpartition("/")
    if not 0 <= left_s <= 2 * _LEASE_S:  # the clock of its machine may be ahead
        return True
    if not machine or machine != _identity().rpartition("/")[0]:
        return False
    number, _, started = process.partition("@")
    with suppress(OSError):
        return _start_of(number) != started
    try:
        os.kill(int(number), 0)  # it may be hidden from other users
    except (OSError, ValueError, OverflowError) as error:
        return isinstance(error, ProcessLookupError)
    return False


def _identity() -> str:
    """Return what no other process is called: boot and PID namespace of the machine, PID@START.

    In a container PIDs are small, and those of ended processes come again at once. Where the system does not
    tell, it is a random name, and only the lease counts.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace, number = (str(Path("/proc/self", name).readlink()) for name in ("ns/pid", ""))
        if number == str(os.getpid()):  # /proc may be that of another namespace
            return f"{boot}/{namespace}/{number}@{_start_of(number)}"
    except OSError:
        pass
    return secrets.token_hex(16)


def _start_of(number: str) -> str:
    """Return when a process started, in ticks since boot; empty if it was killed and its parent is not told.

    Raises OSError: it cannot be seen.
    """
    state, *facts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return "" if state in "ZX" else facts[18]
