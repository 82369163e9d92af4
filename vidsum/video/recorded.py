"""When a clip or a photograph was recorded, as its file says: nothing is guessed from names or folders."""

from collections.abc import Mapping
from datetime import UTC, datetime

from vidsum.types import VideoInfo
from vidsum.video.open import open_video

_TAGS = ("com.apple.quicktime.creationdate", "creation_time")
"""The first has the camera's clock with its offset, the second is in UTC."""
_FIRST_YEAR = 1990  # an earlier year is the zero of a clock that was never set
_TAKEN, _OFFSET, _FRACTION = 0x9003, 0x9011, 0x9291  # EXIF: DateTimeOriginal, its offset, its decimals


def video_recorded(video: VideoInfo) -> datetime | None:
    """Return when a video was recorded; None where its container does not say. Raises InputError."""
    with open_video(video.path) as container:
        streams = [stream.metadata for stream in container.streams]
        tags = [
            {name.lower(): text for name, text in part.items()} for part in (container.metadata, *streams)
        ]
    for name in _TAGS:
        for part in tags:
            if (time := _parse(part.get(name, ""))) is not None:
                return time
    return None


def photograph_recorded(exif: Mapping[int, object]) -> datetime | None:
    """Return when a photograph was taken, by its EXIF block; without an offset where that has none."""
    text = str(exif.get(_TAKEN, "")).strip("\0 ")
    date, _, clock = text.partition(" ")
    fraction = "".join(filter(str.isdecimal, str(exif.get(_FRACTION, ""))))[:6]
    offset = str(exif.get(_OFFSET, "")).strip("\0 ")
    text = f"{date.replace(':', '-')}T{clock}"
    known = f"{text}.{fraction.ljust(6, '0')}" if fraction else text
    for choice in (f"{known}{offset}", known, text):
        if (time := _parse(choice)) is not None:
            return time
    return None


def _parse(text: str) -> datetime | None:
    """Return a time in ISO 8601; None where it is none, or a clock's zero."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return time if time.year >= _FIRST_YEAR else None


def in_order(time: datetime) -> datetime:
    """Return a time by which others are ordered: without an offset it counts as UTC."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)
