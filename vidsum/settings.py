"""What can be chosen about a run. The fields are the options of the command line (see `vidsum.options`)."""

import pkgutil
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from vidsum.device import Backend, PrecisionChoice
from vidsum.errors import UsageError
from vidsum.options import ADVANCED, Option, check
from vidsum.times import parse_interval, parse_time

DEFAULT_EXTRACTOR = "efficientnet_lite0"
DEFAULT_MODEL = "auto"
SHIPPED_MODEL = "ridge"
"""The checkpoint that comes with vidsum, by its name in the registry."""
SHIPPED_GROUNDER = "mrnet"
"""The same for finding moments."""


_OWN = "the extractor's own"

AttentionPart = Literal["mean", "all"] | tuple[int, int]
"""What is drawn of attention: the mean of all layers and heads, each by itself, or one (layer, head)."""

Reader = Literal["pyav", "decord", "opencv"]

HwAccel = Literal["none", "auto", "cuda", "videotoolbox", "d3d11va", "vaapi", "qsv"]
"""FFmpeg's names of hardware that decodes."""

ShotMethod = Literal["kts", "uniform", "transnetv2"]

Snap = Literal["none", "kts", "transnetv2"]
"""Whose shot edges the edges of moments move to, where one is near."""

EmbeddingSpace = Literal["auto", "clip", "vse"]
"""Where text and video are compared. `auto`: in the model's own, else in CLIP's where its weights are."""

CaptionSpace = Literal["text", "vse"]
"""Captions of frames as sentences, or as what the map might show of such frames."""

Evidence = Literal["auto", "seen", "said", "both"]
"""Where moments are looked for: in the pictures, in what is said, or in both. `auto`: in both where the
transcript is in the cache, else in the pictures."""

MaskKind = Literal["lam", "stamp", "static"]
"""Learned masks of a model's attention. LAM and STAMP differ in cross-attention alone: STAMP reads the tokens
that attend, LAM the logits Q K^T. The static one reads nothing."""

UNLIKELY = 0.2
"""Below this probability, a query is called probably absent from a video."""

ExportFormat = Literal[
    "otio", "edl", "fcpxml", "xml", "kdenlive", "mlt", "csv", "srt", "vtt", "chapters"
]  # fmt: skip
"""Timelines of editors, then lists."""
MediaPaths = Literal["absolute", "relative"]
PreviewFormat = Literal["gif", "webp", "mp4"]

Device = Annotated[str, Option("Device: auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE")]
Beams = Annotated[int, Option("Beam width for trained models; 1 is greedy.", min=1, panel=ADVANCED)]
_FILES = pkgutil.iter_modules([str(Path(__file__).parent / "features" / "extractors")])
EXTRACTORS = tuple(sorted((file.name for file in _FILES), key=lambda name: (name != DEFAULT_EXTRACTOR, name)))
"""The extractors, by the names of their files, which are their only list; the first is the default."""


@dataclass(frozen=True)
class Extraction:
    """How features are made. None stands for the extractor's own value."""

    PANEL = "Reading and features"

    extractor: Annotated[
        str,
        Option(
            f"Feature extractor: {', '.join(EXTRACTORS)}, or one of an installed package.",
            flags=("--extractor", "-e"),
            metavar="NAME",
        ),
    ] = DEFAULT_EXTRACTOR
    fps: Annotated[
        float | None, Option("Frames sampled per second.", above=0, shown=_OWN, panel=ADVANCED)
    ] = None
    clip_frames: Annotated[
        int | None, Option("Frames per clip (i3d).", min=1, shown=_OWN, panel=ADVANCED)
    ] = None
    stride_frames: Annotated[
        int | None, Option("Frames from one clip to the next (i3d, c3d).", min=1, shown=_OWN, panel=ADVANCED)
    ] = None
    logits: Annotated[bool, Option("Keep the class scores too, if the extractor has any.")] = False
    precision: Annotated[
        PrecisionChoice,
        Option(
            "Numeric precision. auto: the fastest on this CPU or GPU with no measured loss.", panel=ADVANCED
        ),
    ] = "auto"
    backend: Annotated[
        Backend,
        Option(
            "Inference engine. auto: onnxruntime when it can run without PyTorch, else torch.", panel=ADVANCED
        ),
    ] = "auto"
    device: Device = "auto"
    reader: Annotated[Reader, Option("Video decoder.", panel=ADVANCED)] = "pyav"
    hwaccel: Annotated[
        HwAccel, Option("Hardware decoder. auto: use one if available, else the CPU.", panel=ADVANCED)
    ] = "none"
    fast: Annotated[bool, Option("Decode key frames only: faster, but coarse.", panel=ADVANCED)] = False
    strict: Annotated[
        bool, Option("Treat a truncated or damaged video as an error (exit 3).", panel=ADVANCED)
    ] = False
    """Otherwise what decodes is used."""
    cache: Annotated[bool, Option("Do not read or write the feature cache.", flags=("--no-cache",))] = True
    allow_playlists: Annotated[
        bool, Option("Allow ffconcat lists and local .m3u8 playlists as input.", panel=ADVANCED)
    ] = False

    def __post_init__(self) -> None:
        check(self)
        other = "--strict" if self.strict else "--hwaccel" if self.hwaccel != "none" else None
        if self.fast and other:
            raise UsageError(f"--fast and {other} exclude each other")


class ReadingOptions(TypedDict, total=False):
    """The fields of `Extraction` that any command has, as keyword arguments."""

    precision: PrecisionChoice
    backend: Backend
    device: str
    reader: Reader
    hwaccel: HwAccel
    fast: bool
    strict: bool
    cache: bool
    allow_playlists: bool


class SamplingOptions(ReadingOptions, total=False):
    """The same and what the extractor sees of a video."""

    fps: float | None
    clip_frames: int | None
    stride_frames: int | None
    logits: bool


class ExtractionOptions(SamplingOptions, total=False):
    """All fields of `Extraction`, as keyword arguments."""

    extractor: str


@dataclass(frozen=True)
class ShotSettings:
    """How a video is cut into shots. None stands for the method's own value."""

    PANEL = "Shots and summary"

    shots: Annotated[ShotMethod, Option("Shot detection method.")] = "kts"
    max_shots: Annotated[int | None, Option("Maximum number of shots.", min=1, shown="chosen by KTS")] = None
    min_shot_s: Annotated[
        float | None,
        Option(
            "Minimum shot length, e.g. 2s.",
            min=0,
            flags=("--min-shot",),
            shown="the method's",
            metavar="TIME",
            parse=parse_time,
        ),
    ] = None
    max_shot_s: Annotated[
        float | None,
        Option(
            "Maximum shot length, e.g. 30s.",
            above=0,
            flags=("--max-shot",),
            shown="the method's",
            metavar="TIME",
            parse=parse_time,
        ),
    ] = None

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Selection:
    """What goes into a summary."""

    PANEL = "Shots and summary"

    budget: Annotated[
        str | float, Option("Maximum summary length: 15%, 0.15, 45s or 1:30.", flags=("--budget", "-b"))
    ] = "15%"
    """A fraction of the video (`15%`, 0.15) or a time (`45s`, `1:30`, 45)."""
    model: Annotated[
        str,
        Option(
            "Importance model: ridge, highlights, contrastive, cluster, uniform, random, or a checkpoint "
            "of `vidsum train ridge` or `train fulltransnet` (.safetensors). auto: the first of ridge, "
            "highlights and contrastive that is not flat on the video.",
            flags=("--model", "--scorer", "-m"),
            metavar="NAME|FILE",
        ),
    ] = DEFAULT_MODEL
    seed: Annotated[
        int, Option("Random seed (for the random and cluster models).", min=0, panel=ADVANCED)
    ] = 0
    beams: Beams = 1
    keep: Annotated[
        tuple[tuple[float, float], ...],
        Option("Always include this time range. Can be repeated.", metavar="START-END", parse=parse_interval),
    ] = ()
    drop: Annotated[
        tuple[tuple[float, float], ...],
        Option("Never include this time range. Can be repeated.", metavar="START-END", parse=parse_interval),
    ] = ()
    keep_said: Annotated[
        tuple[str, ...], Option("Always include speech about TEXT. Can be repeated.", metavar="TEXT")
    ] = ()
    snap: Annotated[
        Literal["auto", "speech", "none"],
        Option(
            "speech: no cut inside a word. auto: speech if the transcript is cached (vidsum transcribe).",
            shared=False,
        ),
    ] = "auto"

    def __post_init__(self) -> None:
        check(self)
        for name, segments in (("keep", self.keep), ("drop", self.drop)):
            for segment in segments:
                if not _is_interval(segment):
                    raise UsageError(f"{name} takes pairs (start_s, end_s) of numbers, not {segment!r}")


@dataclass(frozen=True)
class Retrieval:
    """How the moments of queries are found."""

    PANEL = "Queries and moments"

    top_k: Annotated[int, Option("Maximum number of moments per query.", flags=("--top-k", "-k"), min=1)] = 5
    model: Annotated[
        str,
        Option(
            "Model: similarity, mrnet, qd-detr, or a checkpoint of `vidsum train mrnet` or `train detr` "
            "(.safetensors). auto: similarity.",
            flags=("--model", "-m"),
            metavar="NAME|FILE",
        ),
    ] = DEFAULT_MODEL
    space: Annotated[
        EmbeddingSpace,
        Option(
            "Embedding space of text and video. auto: the model's own, else clip if its weights are here, "
            "else vse."
        ),
    ] = "auto"
    snap: Annotated[Snap, Option("Snap moments to shot boundaries within a second.")] = "none"
    min_present: Annotated[
        float,
        Option(
            "Give no moments of queries that are less likely than this to be true of the video; 0: of all. "
            "Not in the space clip.",
            min=0,
            max=1,
        ),
    ] = 0.0
    mask: Annotated[
        MaskKind | None,
        Option(
            "Learned mask of a DETR model. It chooses the checkpoint; a checkpoint file must have it.",
            shown="none, or the file's",
        ),
    ] = None
    evidence: Annotated[
        Evidence,
        Option(
            "Search the picture, the speech, or both. auto: both if the transcript is cached "
            "(vidsum transcribe), else the picture.",
            flags=("--in",),
        ),
    ] = "auto"
    thorough: Annotated[
        bool,
        Option("Look at motion too, for queries about actions (space vse, similarity); it takes longer."),
    ] = False

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Transcription:
    """How speech is turned into text."""

    PANEL = "Speech"

    language: Annotated[
        str | None, Option("Spoken language code (en, de, fr).", shown="detect", metavar="CODE")
    ] = None
    translate: Annotated[bool, Option("Translate to English.")] = False

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Encoding:
    """How the pictures of an MP4 are stored."""

    PANEL = "Output"

    codec: Annotated[
        Literal["h264", "hevc", "av1", "copy"],
        Option("Codec of the MP4; copy is --copy: nothing is re-encoded.", shared=False),
    ] = "h264"
    encoder: Annotated[
        str | None,
        Option(
            "FFmpeg's encoder, such as h264_nvenc. auto: one of the GPU, if there is one.",
            shown="of the CPU",
            metavar="auto|NAME",
            shared=False,
            panel=ADVANCED,
        ),
    ] = None
    crf: Annotated[
        int | None,
        Option(
            "Quality, 1 is best.",
            shown="20 (h264), 24 (hevc), 30 (av1)",
            min=1,
            max=63,
            shared=False,
            panel=ADVANCED,
        ),
    ] = None
    preset: Annotated[
        str | None,
        Option(
            "Speed of the encoder, such as ultrafast or slow.",
            shown="the encoder's",
            shared=False,
            panel=ADVANCED,
        ),
    ] = None

    def __post_init__(self) -> None:
        check(self)
        if self.codec == "copy" and (self.encoder, self.crf, self.preset) != (None, None, None):
            raise UsageError("a copy is not encoded: leave out --encoder, --crf and --preset")

    def form(self, *, chapters: bool = False) -> str:
        """The choices in one word, for the label of a file; none for the defaults without chapters."""
        parts = () if self == Encoding() else (self.codec, self.encoder, self.crf, self.preset)
        return "-".join(str(part) for part in (*parts, "chapters" if chapters else None) if part is not None)


def parse_attention_part(text: str) -> AttentionPart:
    """`mean`, `all`, or a layer and a head, counted from 0: `5.0`.

    Raises:
        UsageError: the text is none of these.
    """
    wholes: dict[str, AttentionPart] = {"mean": "mean", "all": "all"}
    if text in wholes:
        return wholes[text]
    numbers = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", text, re.ASCII)
    if numbers is None:
        raise UsageError(f"unknown part of attention {text!r}", hint="mean, all, or LAYER.HEAD such as 5.0")
    return int(numbers[1]), int(numbers[2])


def _is_interval(value: object) -> bool:
    return (
        isinstance(value, Sequence) and len(value) == 2 and all(isinstance(time_s, Real) for time_s in value)
    )
