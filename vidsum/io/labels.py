"""The label in a picture file that tells what the picture was made from, as the comment of an MP4 does."""

import struct
import zlib
from pathlib import Path

_PNG_HEAD = 33
"""Bytes of a PNG's signature and its first chunk, IHDR; a text chunk may follow."""
_KEY = b"Comment\0"
_SVG_START, _SVG_END = "<!-- label: ", " -->\n"


def labelled(data: bytes, suffix: str, label: str | None) -> bytes:
    """Return the bytes of a PNG or SVG with a label; those of another picture, or without one, as they
    are.
    """
    if label is None or suffix not in (".png", ".svg"):
        return data
    if suffix == ".svg":
        return data + f"{_SVG_START}{label}{_SVG_END}".encode()
    content = b"tEXt" + _KEY + label.encode("latin-1", "replace")
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return data[:_PNG_HEAD] + chunk + data[_PNG_HEAD:]


def label_in(path: Path) -> str | None:
    """Return the label of a PNG or SVG that `labelled` gave it; None where it has none or cannot be read."""
    try:
        if path.suffix == ".svg":
            _, start, rest = path.read_text("utf-8").rpartition(_SVG_START)
            return rest.removesuffix(_SVG_END) if start and rest.endswith(_SVG_END) else None
        with path.open("rb") as file:
            file.seek(_PNG_HEAD)
            (length,) = struct.unpack(">I", file.read(4))
            content = file.read(4 + length) if length < 1024 else b""
    except (OSError, ValueError, struct.error):
        return None
    head = b"tEXt" + _KEY
    return content.removeprefix(head).decode("latin-1") if content.startswith(head) else None
