"""The inputs of a reel: clips and photographs, when they were recorded, and their order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from vidsum.errors import InputError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import identify_file
from vidsum.pipelines.file_steps import StepRunner, run_steps
from vidsum.pipelines.plan import Plan
from vidsum.pipelines.sources import is_folder, probe_video
from vidsum.results.media import timeline_rate
from vidsum.results.reel import Canvas, LeftOut, Music, Reel, ReelSource
from vidsum.summary.settings import ReelSettings
from vidsum.types import Progress, VideoInfo
from vidsum.video.open import check_readable
from vidsum.video.photographs import PhotographInfo, is_photograph, probe_photograph
from vidsum.video.recorded import in_order, video_recorded

_MAX_SIDE: Final = 1920  # of the canvas
_LONG, _SHORT = 1920, 1080  # sides of a canvas for photographs alone
_FPS: Final = 25.0  # likewise
_MIN_FPS, _MAX_FPS = 1.0, 60.0


@dataclass(frozen=True, eq=False)
class Recording:
    """A clip or a photograph that can be read."""

    path: str
    info: VideoInfo | PhotographInfo
    file: dict[str, Any]  # its size and hash
    recorded: datetime | None

    @property
    def source(self) -> ReelSource:
        is_video = isinstance(self.info, VideoInfo)
        return ReelSource(
            self.path,
            "video" if is_video else "photograph",
            self.file["bytes"],
            self.file["sha256"],
            self.recorded.isoformat() if self.recorded else None,
            self.info.duration_s if isinstance(self.info, VideoInfo) else 0.0,
        )

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) as shown."""
        if isinstance(self.info, VideoInfo):
            return self.info.display_width, self.info.display_height
        return self.info.width, self.info.height

    @property
    def has_clock(self) -> bool:
        """Whether the file says the offset of the recorder's clock; clips with times in UTC do not."""
        offset = self.recorded.utcoffset() if self.recorded else None
        return offset is not None and (bool(offset) or isinstance(self.info, PhotographInfo))

    @property
    def day(self) -> str:
        """The day as the file says it, such as `2024-07-14`; empty where it is not known."""
        return self.recorded.date().isoformat() if self.recorded else ""


@dataclass(frozen=True)
class ReelPlan(Plan[Reel]):
    """A reel to make, with the names of its files, which its provenance does not have."""

    paths: tuple[str, ...]  # of the inputs that can be read, in the order of the film
    left_out: tuple[LeftOut, ...]
    music: Music | None

    def has_same_files(self, reel: Reel) -> bool:
        """Return whether a reel of this provenance names these files, and leaves out the same ones.

        Inputs that could be read but not decoded follow the others that it leaves out.
        """
        n_unread = len(self.left_out)
        undecoded = {fault.path for fault in reel.left_out[n_unread:]}
        decoded = tuple(path for path in self.paths if path not in undecoded)
        return (
            reel.left_out[:n_unread] == self.left_out
            and undecoded <= {*self.paths}
            and decoded == tuple(source.path for source in reel.sources)
            and reel.music == self.music
        )


def read_recordings(
    paths: Sequence[str], progress: Progress | None, run: StepRunner = run_steps
) -> tuple[list[Recording], list[LeftOut]]:
    """Return the inputs that can be read, the first of those with the same bytes, and the others and why."""
    recordings, left_out = list[Recording](), list[LeftOut]()
    by_content = dict[str, str]()

    def count(number: int) -> None:
        if progress:
            progress("looking at files", number, len(paths))

    for path, recording in zip(paths, run(_read, paths, count), strict=True):
        if isinstance(recording, InputError):
            left_out.append(LeftOut(path, recording.words, recording.hint or ""))
        elif (first := by_content.setdefault(recording.file["sha256"], path)) == path:
            recordings.append(recording)
        else:
            left_out.append(LeftOut(path, f"is a copy of {first}", is_copy=True))
    return _on_clocks(recordings), left_out


def _on_clocks(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings; times in UTC, or without an offset, get that of the nearest input with a clock."""
    clocks = [part.recorded for part in recordings if part.recorded and part.has_clock]
    made = list[Recording]()
    for recording in recordings:
        time = recording.recorded
        if clocks and time and not recording.has_clock:
            nearest = min(clocks, key=partial(_distance, time))
            is_known = time.tzinfo is not None
            time = time.astimezone(nearest.tzinfo) if is_known else time.replace(tzinfo=nearest.tzinfo)
            recording = replace(recording, recorded=time)
        made.append(recording)
    return made


def _distance(time: datetime, clock: datetime) -> timedelta:
    """Return how far a time is from another; without an offset, on the clock of the other."""
    return abs(clock - (time if time.tzinfo else time.replace(tzinfo=clock.tzinfo)))


def _read(path: str, progress: Progress | None) -> Recording:
    if is_folder(path):
        raise InputError("is a folder without a video or photograph", subject=path)
    check_readable(Path(path))  # hashing would wait for a pipe, and read a device without end
    file = identify_file(Path(path))
    if is_photograph(Path(path)):
        photograph = probe_photograph(path)
        return Recording(path, photograph, file, photograph.recorded)
    video = probe_video(path, Extraction())
    return Recording(path, video, file, video_recorded(video))


def in_film_order(recordings: Sequence[Recording], settings: ReelSettings) -> list[Recording]:
    """Return recordings in the order of the film."""
    if settings.order == "given":
        return [*recordings]
    by_name = sorted(recordings, key=lambda recording: (Path(recording.path).name, recording.path))
    if settings.order == "name":
        return by_name
    timed = [recording for recording in by_name if recording.recorded]
    timed.sort(key=lambda recording: in_order(recording.recorded or datetime.min))
    return [*timed, *(recording for recording in by_name if not recording.recorded)]


def describe_order(recordings: Sequence[Recording], settings: ReelSettings) -> list[str]:
    """Return warnings about times that the files do not say."""
    warnings = list[str]()
    utc = [part for part in recordings if part.recorded and part.recorded.tzinfo and not part.has_clock]
    if settings.titles and utc and not any(part.has_clock for part in recordings):
        warnings.append(f"no time zone in {_names(utc)}: the day is in UTC")
    if settings.order != "time":
        return warnings
    untimed = [recording for recording in recordings if not recording.recorded]
    without_zone = [part for part in recordings if part.recorded and not part.recorded.tzinfo]
    if untimed and len(untimed) < len(recordings):
        warnings.append(f"no recording time in {_names(untimed)}: at the end, by name")
    elif untimed:
        warnings.append("no file says when it was recorded: ordered by name")
    if without_zone and len(without_zone) < len(recordings):
        warnings.append(f"no time zone in {_names(without_zone)}: taken as UTC")
    return warnings


def _names(recordings: Sequence[Recording]) -> str:
    names = [Path(recording.path).name for recording in recordings]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def choose_canvas(recordings: Sequence[Recording]) -> Canvas:
    """Return the commonest size and rate of the clips; without clips, a canvas for the photographs."""
    clips = [part for part in recordings if isinstance(part.info, VideoInfo)]
    if not clips:
        is_upright = 2 * sum(part.size[0] < part.size[1] for part in recordings) > len(recordings)
        return Canvas(_SHORT, _LONG, _FPS) if is_upright else Canvas(_LONG, _SHORT, _FPS)
    sizes = Counter(_fitting(*part.size) for part in clips)
    width, height = max(sizes, key=lambda size: (sizes[size], size[0] * size[1], size))
    rates = Counter(_rate(part.info) for part in clips if isinstance(part.info, VideoInfo))
    return Canvas(width, height, max(rates, key=lambda rate: (rates[rate], rate)))


def _fitting(width: int, height: int) -> tuple[int, int]:
    scale = min(1.0, _MAX_SIDE / max(width, height))
    return max(2, 2 * round(scale * width / 2)), max(2, 2 * round(scale * height / 2))


def _rate(video: VideoInfo) -> float:
    """Return the rate of a clip as a canvas has it: a fixed one as it is, another as timelines have it."""
    rate, is_same = timeline_rate(video.fps)
    is_plain = not (is_same or video.is_vfr) and _MIN_FPS <= video.fps <= _MAX_FPS
    return round(video.fps, 3) if is_plain else min(max(float(rate), _MIN_FPS), _MAX_FPS)
