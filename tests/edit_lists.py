"""Edit lists of MP4 files: which parts of a track a player shows, and in which order."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """A part of a track that is played; from_s is None where nothing is played for so long."""

    from_s: float | None
    length_s: float
    rate: int = 1


def set_edits(path: Path, edits: dict[str, Sequence[Edit]]) -> Path:
    """Give tracks of an MP4 these edits, by their kind ("vide", "soun"); the index must be last in the file.

    Times count from what is played first now.
    """
    data = path.read_bytes()
    at, size = next((at, size) for at, size, kind in _boxes(data, 0, len(data)) if kind == b"moov")
    assert at + size == len(data), "the media must not move"
    path.write_bytes(data[:at] + _with_edits(data[at:], edits))
    return path


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield (start, length, kind) of each box."""
    while start < end:
        size = int.from_bytes(data[start : start + 4], "big")
        yield start, size, data[start + 4 : start + 8]
        start += size


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, kind) + content


def _children(box: bytes) -> dict[bytes, bytes]:
    return {kind: box[at : at + size] for at, size, kind in _boxes(box, 8, len(box))}


def _with_edits(moov: bytes, edits: dict[str, Sequence[Edit]]) -> bytes:
    parts, longest = [], 0
    ticks_s = int.from_bytes(_children(moov)[b"mvhd"][20:24], "big")
    for at, size, kind in _boxes(moov, 8, len(moov)):
        part = moov[at : at + size]
        if kind == b"trak":
            media = _children(_children(part)[b"mdia"])
            chosen = edits.get(media[b"hdlr"][16:20].decode())
            if chosen is not None:
                media_ticks_s = int.from_bytes(media[b"mdhd"][20:24], "big")
                part = _edit_track(part, chosen, ticks_s, media_ticks_s)
                longest = max(longest, round(sum(edit.length_s for edit in chosen) * ticks_s))
        parts.append(part)
    if longest:
        parts = [_set_duration(part, 24, longest) if part[4:8] == b"mvhd" else part for part in parts]
    return _box(b"moov", b"".join(parts))


def _edit_track(trak: bytes, edits: Sequence[Edit], ticks_s: int, media_ticks_s: int) -> bytes:
    children = _children(trak)
    first = _first_played(children.get(b"edts"))
    rows = b""
    for edit in edits:
        media = -1 if edit.from_s is None else first + round(edit.from_s * media_ticks_s)
        rows += struct.pack(">Iihh", round(edit.length_s * ticks_s), media, edit.rate, 0)
    edts = _box(b"edts", _box(b"elst", struct.pack(">II", 0, len(edits)) + rows))
    duration = round(sum(edit.length_s for edit in edits) * ticks_s)
    header = _set_duration(children.pop(b"tkhd"), 28, duration)
    children.pop(b"edts", None)
    return _box(b"trak", header + edts + b"".join(children.values()))


def _first_played(edts: bytes | None) -> int:
    """Return the media time at which the first edit that is not empty begins."""
    rows = edts[24:] if edts else b""
    times = [struct.unpack(">Iihh", rows[at : at + 12])[1] for at in range(0, len(rows), 12)]
    return next((time for time in times if time >= 0), 0)


def _set_duration(box: bytes, at: int, duration: int) -> bytes:
    return box[:at] + struct.pack(">I", duration) + box[at + 4 :]
