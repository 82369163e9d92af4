"""Settings of the features, whose fields are the options of the command line; see `vidsum.options`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from vidsum.device import Backend, Device, PrecisionChoice
from vidsum.errors import Mention, UsageError, fill
from vidsum.options import ADVANCED, check, option
from vidsum.results.settings import ClipName
from vidsum.video.settings import Reader, parse_track

DEFAULT_EXTRACTOR = "efficientnet_lite0"
CLIP_FAMILY = get_args(ClipName)
VARIANTS = {"c3d_fc7": "c3d", "i3d_128": "i3d"} | {name: "clip" for name in CLIP_FAMILY if name != "clip"}
"""Extractors in the file of another one."""
_NAMES = [*(file.stem for file in (Path(__file__).parent / "extractors").glob("[!_]*.py")), *VARIANTS]
EXTRACTORS = tuple(sorted(_NAMES, key=lambda name: (name != DEFAULT_EXTRACTOR, name)))
"""The extractors: the names of their files, and variants; the first is the default."""

_EXTRACTOR_DEFAULT = "the extractor's own"
_ON_EXTRACT: Mapping[str, Any] = {"panel": ADVANCED, "flag_on": ("extract",)}  # flags of `extract` alone


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Settings of the features. None: the extractor's own value."""

    PANEL = "Reading and features"

    extractor: str = option(
        f"Feature extractor: {', '.join(EXTRACTORS)}, or one of an installed package.",
        DEFAULT_EXTRACTOR,
        flags=("--extractor", "-e"),
        metavar="NAME",
        names=EXTRACTORS,
    )
    fps: float | None = option(
        "Frames sampled per second.", None, above=0, default_text=_EXTRACTOR_DEFAULT, **_ON_EXTRACT
    )
    clip_frames: int | None = option(
        "Frames per clip (i3d).", None, min=1, default_text=_EXTRACTOR_DEFAULT, **_ON_EXTRACT
    )
    stride_frames: int | None = option(
        "Frames from one clip to the next (i3d, c3d).",
        None,
        min=1,
        default_text=_EXTRACTOR_DEFAULT,
        **_ON_EXTRACT,
    )
    logits: bool = option("Also store the class scores, if the extractor has any.", False)
    precision: PrecisionChoice = option(
        "Numeric precision.",
        "auto",
        **_ON_EXTRACT,
        more="auto: the fastest on this CPU or GPU with no measured loss.",
    )
    backend: Backend = option(
        "Inference engine.",
        "auto",
        **_ON_EXTRACT,
        more="auto: onnxruntime when it can run without PyTorch, else torch.",
    )
    device: Device = "auto"
    reader: Reader = option("Video decoder.", "pyav", **_ON_EXTRACT)
    video_track: int | str | None = option(
        "Video track, by its number, counted from 1.",
        None,
        metavar="N",
        parse=parse_track,
        default_text="FFmpeg's choice",
        flag_on=("summarize", "highlights", "shots", "trim", "describe", "extract", "watch", "index", "info"),
    )
    audio_track: int | str | None = option(
        "Audio track, by its number, counted from 1, or by language (eng, de).",
        None,
        metavar="N|LANG",
        parse=parse_track,
        default_text="FFmpeg's choice",
    )
    subtitles: str | None = option(
        "Use subtitles as the transcript: .srt, .vtt, a track of the video, or none.",
        None,
        metavar="FILE|track|none",
        names=("track", "none"),
        default_text="a file of the video's name",
        flag_on=("summarize", "highlights", "shorts", "chapters", "ground", "index", "trim"),
    )
    fast: bool = option("Decode key frames only: faster, but coarse.", False, panel=ADVANCED)
    strict: bool = option("Treat a truncated or damaged video as an error (exit 3).", False, **_ON_EXTRACT)
    """Otherwise what decodes is used."""
    cache: bool = option("Do not read or write the feature cache.", True, flags=("--no-cache",))

    def __post_init__(self) -> None:
        check(self)
        for track in (self.video_track, self.audio_track):
            if track is not None:
                parse_track(str(track))
        if self.fast and self.strict:
            raise UsageError(fill("{} and {} exclude each other", Mention("fast"), Mention("strict")))

    @property
    def names_subtitles(self) -> bool:
        """Whether subtitles were chosen, which must then be read."""
        return self.subtitles not in (None, "none")

    def require_subtitles_of(self, n_videos: int) -> None:
        """Refuse, with a UsageError, a file of subtitles for several videos."""
        if n_videos > 1 and self.names_subtitles and self.subtitles != "track":
            fault = (Mention("subtitles", self.subtitles), f" is for one video; there are {n_videos}")
            hint = ("leave it out: each video takes the file of its name, or ", Mention("subtitles", "track"))
            raise UsageError(fault, hint=hint)
