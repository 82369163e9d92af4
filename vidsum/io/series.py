"""Pictures of a film as files of their own (`img_0001.png`, ...): the command that makes a video of them."""

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from shlex import quote

_SUFFIXES = {".bmp", ".dpx", ".exr", ".jpeg", ".jpg", ".png", ".tga", ".tif", ".tiff", ".webp"}
_PATTERN = re.compile(r"%0?\d*d|[*?]")  # of FFmpeg and of shells, which leave it where nothing fits
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
_MIN_PICTURES = 3


def suggest_film(path: Path) -> str | None:
    """Return FFmpeg's command that makes a video of the pictures that a path names; None where it names none.

    A path names them as a pattern, as a folder, or by one of several that are numbered.
    """
    with suppress(OSError, ValueError):
        if path.suffix.lower() in _SUFFIXES and _PATTERN.search(path.name) and not path.exists():
            return _command(path)
        if path.is_dir():
            return _suggest_from(path, [name.name for name in path.iterdir()])
        prefix, number, rest = _split(path.name)
        if path.suffix.lower() in _SUFFIXES and number:
            names = [other.name for other in path.parent.iterdir()]
            return _suggest_from(path.parent, [name for name in names if _split(name)[::2] == (prefix, rest)])
    return None


def _split(name: str) -> tuple[str, str, str]:
    """Return what is ahead of the last number in a name, the number, and the rest."""
    match = _LAST_NUMBER.fullmatch(name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _suggest_from(folder: Path, names: list[str]) -> str | None:
    """Return the command for the longest series among the names of pictures in a folder."""
    series = defaultdict[tuple[str, str], list[str]](list)
    for name in names:
        if Path(name).suffix.lower() in _SUFFIXES:
            prefix, number, rest = _split(name)
            series[(prefix, rest) if number else ("", Path(name).suffix)].append(number)
    if not series:
        return None
    (prefix, rest), numbers = max(series.items(), key=lambda item: len(item[1]))
    if len(numbers) < _MIN_PICTURES:
        return None
    if "" in numbers:
        return _command(folder / f"*{rest}")
    is_padded = len({len(number) for number in numbers}) == 1
    digits = f"%0{len(numbers[0])}d" if is_padded else "%d"
    first = min(map(int, numbers))
    return _command(folder / f"{prefix.replace('%', '%%')}{digits}{rest}", first)


def _command(pattern: Path, first: int = 0) -> str:
    """Return the command for a pattern; FFmpeg looks for a first number up to 4 itself."""
    kind = "-pattern_type glob " if re.search(r"[*?]", pattern.name) else ""
    start = f"-start_number {first} " if first > 4 else ""
    return f"ffmpeg -framerate 25 {kind}{start}-i {quote(str(pattern))} -pix_fmt yuv420p film.mp4"
