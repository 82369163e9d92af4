"""High dynamic range, which clips do not keep: PQ, HLG, and Dolby Vision without another picture in it."""

import os
import re
from pathlib import Path

import av

_CURVES = {16: "PQ", 18: "HLG"}  # by FFmpeg's numbers
# the name of its record in MP4 and Matroska, where an element's name and length follow, and the record:
# two bytes of version, seven bits of profile, nine of others, four of what else can show the picture
_RECORD = re.compile(rb"dv[cvw]C(?:\x41\xed.)?..(..)(.)", re.DOTALL)
_ALONE = 5  # the profile whose colours only Dolby Vision knows; later ones say so by a 0 at the end
_HEAD_BYTES, _MAX_INDEX_BYTES = 2**20, 64 * 2**20


def describe_hdr(path: str | os.PathLike[str], stream: av.VideoStream) -> str | None:
    """Return a warning on a video of high dynamic range; None for others."""
    if profile := _dolby_vision_alone(Path(path), stream):
        fault = f"is HDR (Dolby Vision, profile {profile}), not converted: its colours will be wrong"
        return f"{fault}; a copy keeps all"
    if curve := _CURVES.get(stream.codec_context.color_trc):
        return f"is HDR ({curve}), not tone-mapped: stored in 8 bits; a copy keeps all"
    return None


def _dolby_vision_alone(path: Path, stream: av.VideoStream) -> int | None:
    """Return the profile of Dolby Vision whose picture other players cannot show; None for others.

    PyAV does not give the record, so that it is looked up in the file's header.
    """
    if stream.codec_context.name not in ("hevc", "h264", "av1", "libdav1d"):
        return None
    match = _RECORD.search(_read_header(path))
    if match is None:
        return None
    profile, other = match[1][0] >> 1, match[2][0] >> 4
    return profile if profile == _ALONE or (profile > _ALONE and other == 0) else None


def _read_header(path: Path) -> bytes:
    """Return the index of an MP4 (moov), else the first part of a file."""
    with path.open("rb") as file:
        head = file.read(8)
        while head[4:8] in (b"ftyp", b"free", b"skip", b"wide", b"mdat", b"uuid"):
            size = int.from_bytes(head[:4], "big")
            if size == 1:
                size = int.from_bytes(file.read(8), "big") - 8
            if size < 8:
                return b""
            file.seek(size - 8, os.SEEK_CUR)
            head = file.read(8)
        length = int.from_bytes(head[:4], "big") if head[4:8] == b"moov" else _HEAD_BYTES
        return head + file.read(min(length, _MAX_INDEX_BYTES))
