"""Stored results, how to compare with them, and how to store new ones on purpose.

    VIDSUM_REGENERATE=1 python -m pytest tests/golden

writes what the tests got in place of what is stored, in one process: without `-n`. Look at `git diff
tests/golden` before a commit: each line is a change that users see.
"""

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vidsum

REGENERATE = os.environ.get("VIDSUM_REGENERATE") == "1"
ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "docs" / "sample" / "big_buck_bunny.mp4"
CLOSE = 1e-4
"""How far numbers of networks may be from those that are stored."""


# --- inputs ---


def numbers(name: str, *shape: int) -> npt.NDArray[np.float64]:
    """Numbers in [-1, 1) that depend on the name alone: made of integers, the same on every machine.

    They are multiples of 2^-20, so that float32 holds them exactly.
    """
    size = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):  # splitmix64 counts on it
        start = np.uint64(zlib.crc32(name.encode()) << 20)
        z = (np.arange(1, size + 1, dtype=np.uint64) + start) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(43)).astype(np.float64) / 2**20 - 1).reshape(shape)


# --- comparing ---


def renew(test_file: str) -> str:
    """Return the advice of a comparison that fails: the command that stores new results."""
    return f"if you mean it: VIDSUM_REGENERATE=1 python -m pytest {Path(test_file).relative_to(ROOT)}"


def check_text(name: str, text: str) -> None:
    """Compare a document, or lines of JSON, with what is stored under a name: byte for byte.

    Only what cannot be fixed is named in its place: the version of vidsum, the SHA-256 of files in the
    current folder and the size of binary ones, which depend on the libraries that wrote them, paths of
    folders, and the digests of such texts.
    """
    result, file = portable(text), _file(name)
    if REGENERATE:
        file.write_text(result, encoding="utf-8")
    assert result == file.read_text(encoding="utf-8")


def check_close(name: str, text: str) -> None:
    """Like `check_text`, but numbers that a network gave may differ by CLOSE."""
    result, file = portable(text), _file(name)
    if REGENERATE:
        file.write_text(result, encoding="utf-8")
    stored = file.read_text(encoding="utf-8")
    digit = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    if "\n " in stored.rstrip():
        assert json.dumps(json.loads(result), indent=1, ensure_ascii=False) + "\n" == result
        assert_close(json.loads(result), json.loads(stored))
    else:
        assert re.sub(digit, "0", result) == re.sub(digit, "0", stored)
        pairs = zip(result.splitlines(), stored.splitlines(), strict=True)
        for item, other in pairs:
            assert_close(json.loads(item), json.loads(other))


def assert_close(result: Any, stored: Any, place: str = "", *, close: float = CLOSE) -> None:
    """Assert the same keys in the same order, the same types, and close numbers."""
    assert type(result) is type(stored), place
    if isinstance(stored, Mapping):
        assert list(result) == list(stored), place
        for key, value in stored.items():
            assert_close(result[key], value, f"{place}.{key}", close=close)
    elif isinstance(stored, list):
        assert len(result) == len(stored), place
        for number, value in enumerate(stored):
            assert_close(result[number], value, f"{place}[{number}]", close=close)
    elif isinstance(stored, float):
        assert result == pytest.approx(stored, abs=close, rel=close), place
    else:
        assert result == stored, place


def portable(text: str) -> str:
    """A text without what depends on the machine or the version; its digests are checked before they go."""
    for document, added in _documents(text):
        rest = {key: value for key, value in document.items() if key not in ("digest", *added)}
        right = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:32]
        assert document["digest"] == right, "the digest is not that of docs/formats.md"
        text = text.replace(right, "<digest>")
    for path in sorted(Path().rglob("*")):
        if path.is_file() and path.suffix != ".mp4":
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            text = text.replace(sha256, f"<sha256 of {path.as_posix()}>")
    binary = r'"bytes": \d+(,\s*"sha256": "<sha256 of [^"]*\.(?:h5|npz|safetensors)>")'
    text = re.sub(binary, r'"bytes": "<size>"\1', text)
    text = text.replace(f'"vidsum": "{vidsum.__version__}"', '"vidsum": "<version>"')
    home = os.environ.get("VIDSUM_HOME", "<home>")  # tests of real weights may use the user's own
    text = text.replace(str(Path(vidsum.__file__).parent / "weights"), "<weights>")
    return text.replace(home, "<home>").replace(str(Path.cwd()), "<here>")


_ADDED = ("outputs", "up_to_date")
"""Keys that `--json` adds to a document."""


def _documents(text: str) -> Iterator[tuple[dict[str, Any], Sequence[str]]]:
    """The documents with a digest in a text: one, or in the results of lines; with the keys of `_ADDED`."""
    try:
        whole = [json.loads(text)]
    except ValueError:
        whole = [json.loads(line) for line in text.splitlines()]
    for value in whole:
        for document, added in ((value, ()), (value.get("data"), _ADDED)):
            if isinstance(document, dict) and "digest" in document:
                yield document, added


def _file(name: str) -> Path:
    return Path(__file__).parent / "documents" / name


@dataclass
class ExactDraws:
    """In place of `torch.randn` and `torch.rand`: as wide, but of `numbers`."""

    label: str

    def __post_init__(self) -> None:
        self._draws = count()

    def randn(self, *shape: Any, generator: Any = None) -> Any:
        """Draw numbers of deviation 1."""
        import torch

        sizes = shape[0] if shape and isinstance(shape[0], tuple) else shape
        drawn = numbers(f"{self.label} {next(self._draws)}", *sizes) * 1.75
        return torch.from_numpy(drawn.astype(np.float32))

    def rand(self, *shape: Any, generator: Any = None) -> Any:
        """In [0, 1)."""
        return self.randn(*shape) / 3.5 + 0.5
