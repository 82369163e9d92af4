"""Settings of a run, whose fields are the options of the command line; see `vidsum.options`."""

import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, Literal

from vidsum.device import Backend, PrecisionChoice
from vidsum.errors import UsageError
from vidsum.options import ADVANCED, Checked, Option, as_record, check, option
from vidsum.times import parse_every, parse_interval, parse_limit, parse_time

DEFAULT_EXTRACTOR = "efficientnet_lite0"
DEFAULT_MODEL = "auto"
SHIPPED_MODEL = "ridge"
"""The checkpoint that `auto` takes, by its name in the registry."""
SHIPPED_MODELS = (SHIPPED_MODEL, "fulltransnet")
"""All that come with vidsum."""
SUMMARIZERS = ("auto", *SHIPPED_MODELS, "highlights", "contrastive", "cluster", "uniform", "random")
"""All importance models with a name."""
SHIPPED_GROUNDER = "mrnet"
"""The checkpoint for moments that comes with vidsum."""

_EXTRACTOR_DEFAULT = "the extractor's own"

AttentionPlot = Literal["attention", "mask", "weights"]
"""Plots of what a model attends to for a query: maps of weights and masks, the distribution of weights."""
AttentionPart = Literal["mean", "all"] | tuple[int, int]
"""Part of the attention to draw: the mean of all layers and heads, all of them, or one (layer, head)."""

Reader = Literal["pyav", "decord", "opencv"]

HwAccel = Literal["none", "auto", "cuda", "videotoolbox", "d3d11va", "vaapi", "qsv"]
"""FFmpeg's names of hardware that decodes."""

ShotMethod = Literal["kts", "uniform", "transnetv2"]

Snap = Literal["none", "kts", "transnetv2"]
"""Method of the shot edges that nearby edges of moments move to."""

EmbeddingSpace = Literal["auto", "clip", "vse"]
"""Where text and video are compared. `auto`: in the model's own, else in CLIP's where its weights are."""

CaptionSpace = Literal["text", "vse"]
"""Captions of frames as sentences, or as their counterparts in the picture space."""

Evidence = Literal["auto", "seen", "said", "both"]
"""Where moments are searched: the pictures, the speech, or both. `auto`: both if the transcript is cached,
else the pictures."""

MaskKind = Literal["lam", "stamp", "static"]
"""Learned masks of a model's attention. LAM and STAMP differ in cross-attention alone: STAMP reads the tokens
that attend, LAM the logits Q K^T. The static one reads nothing."""

WriterChoice = Literal["auto", "write", "retrieve", "tags"]
"""Writers of descriptions."""

UNLIKELY = 0.2
"""Below this probability, a query is called probably absent from a video."""

ExportFormat = Literal[
    "otio", "edl", "fcpxml", "xml", "kdenlive", "mlt", "markers", "scenes",
    "kodi", "csv", "srt", "vtt", "chapters", "ffmetadata", "labels",
]  # fmt: skip
"""Timelines of editors, then lists: the keys of `vidsum.results.formats.FORMATS`."""
ExportName = Literal[ExportFormat, "losslesscut", "premiere", "resolve", "finalcut"]
"""Formats, and programs that read one of them: see `vidsum.results.formats.PROGRAMS`."""
MediaPaths = Literal["absolute", "relative"]
Aspect = Literal["9:16", "1:1", "4:5"]
"""Width to height of pictures."""
PreviewFormat = Literal["gif", "webp", "mp4"]

Device = Annotated[str, Option("Device: auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE")]
Beams = Annotated[int, Option("Beam width for trained models; 1 is greedy.", min=1, panel=ADVANCED)]
TIME: Mapping[str, Any] = {"metavar": "TIME", "parse": parse_time}
"""Details shared by all options of a time."""

_FILES = pkgutil.iter_modules([str(Path(__file__).parent / "features" / "extractors")])
EXTRACTORS = tuple(sorted((file.name for file in _FILES), key=lambda name: (name != DEFAULT_EXTRACTOR, name)))
"""The extractors, by the names of their files, which are their only list; the first is the default."""


def parse_track(text: str) -> int | str:
    """Read the number or the language of a track. Raises UsageError: it is neither."""
    if not re.fullmatch(r"0*[1-9]\d{0,3}|[A-Za-z]{2,3}(-\w+)*", text):
        fault = f"{text!r} is no track"
        raise UsageError(
            fault, hint="a number from 1 on, or a language such as eng or de; see vidsum info FILE"
        )
    return int(text) if text.isdecimal() else text


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
        "Frames sampled per second.", None, above=0, default_text=_EXTRACTOR_DEFAULT, panel=ADVANCED
    )
    clip_frames: int | None = option(
        "Frames per clip (i3d).", None, min=1, default_text=_EXTRACTOR_DEFAULT, panel=ADVANCED
    )
    stride_frames: int | None = option(
        "Frames from one clip to the next (i3d, c3d).",
        None,
        min=1,
        default_text=_EXTRACTOR_DEFAULT,
        panel=ADVANCED,
    )
    logits: bool = option("Also store the class scores, if the extractor has any.", False)
    precision: PrecisionChoice = option(
        "Numeric precision. auto: the fastest on this CPU or GPU with no measured loss.",
        "auto",
        panel=ADVANCED,
    )
    backend: Backend = option(
        "Inference engine. auto: onnxruntime when it can run without PyTorch, else torch.",
        "auto",
        panel=ADVANCED,
    )
    device: Device = "auto"
    reader: Reader = option("Video decoder.", "pyav", panel=ADVANCED)
    hwaccel: HwAccel = option(
        "Hardware decoder. auto: use one if available, else the CPU.", "none", panel=ADVANCED
    )
    video_track: int | str | None = option(
        "Video track, by number from 1 on.",
        None,
        metavar="N",
        parse=parse_track,
        default_text="FFmpeg's choice",
    )
    audio_track: int | str | None = option(
        "Audio track, by number from 1 on or language (eng, de).",
        None,
        metavar="N|LANG",
        parse=parse_track,
        default_text="FFmpeg's choice",
    )
    fast: bool = option("Decode key frames only: faster, but coarse.", False, panel=ADVANCED)
    strict: bool = option("Treat a truncated or damaged video as an error (exit 3).", False, panel=ADVANCED)
    """Otherwise what decodes is used."""
    cache: bool = option("Do not read or write the feature cache.", True, flags=("--no-cache",))
    allow_playlists: bool = option(
        "Allow ffconcat lists and local .m3u8 playlists as input.", False, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        check(self)
        for track in (self.video_track, self.audio_track):
            if track is not None:
                parse_track(str(track))
        other = "--strict" if self.strict else "--hwaccel" if self.hwaccel != "none" else None
        if self.fast and other:
            raise UsageError(f"--fast and {other} exclude each other")


@dataclass(frozen=True, kw_only=True)
class ShotSettings(Checked):
    """Settings of the shots. None: the method's own value."""

    PANEL = "Shots"

    shots: ShotMethod = option(
        "Shot detection method; transnetv2 looks at every frame, 20 times slower.", "kts"
    )
    max_shots: int | None = option("Maximum number of shots.", None, min=1, default_text="chosen by KTS")
    min_shot_s: float | None = option(
        "Minimum shot length, e.g. 2s.",
        None,
        min=0,
        flags=("--min-shot",),
        default_text="the method's",
        **TIME,
    )
    max_shot_s: float | None = option(
        "Maximum shot length, e.g. 30s.",
        None,
        above=0,
        flags=("--max-shot",),
        default_text="the method's",
        **TIME,
    )


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Content of a summary."""

    PANEL = "Summary"

    budget: str | float = option(
        "Maximum summary length: 15%, 0.15, 45s or 1:30.", "15%", flags=("--budget", "-b")
    )
    """A fraction of the video (`15%`, 0.15) or a time (`45s`, `1:30`, 45)."""
    model: str = option(
        f"Importance model: {', '.join(SUMMARIZERS)}, or a trained checkpoint.",
        DEFAULT_MODEL,
        flags=("--model", "--scorer", "-m"),
        metavar="MODEL",
        names=SUMMARIZERS,
    )
    seed: int = option("Random seed (for the random and cluster models).", 0, min=0, panel=ADVANCED)
    beams: Beams = 1
    keep: tuple[tuple[float, float], ...] = option(
        "Always include this time range. Can be repeated.", (), metavar="START-END", parse=parse_interval
    )
    drop: tuple[tuple[float, float], ...] = option(
        "Never include this time range. Can be repeated.", (), metavar="START-END", parse=parse_interval
    )
    keep_said: tuple[str, ...] = option(
        "Always include speech about TEXT. Can be repeated.", (), metavar="TEXT"
    )
    about: tuple[str, ...] = option("Prefer what TEXT describes. Can be repeated.", (), metavar="TEXT")
    title: str | None = option(
        "Title of the video: prefer, a little, what it names.", None, metavar="TEXT", panel=ADVANCED
    )
    snap: Literal["auto", "speech", "sentence", "none"] = option(
        "speech: no cut inside a word; sentence: nor inside a sentence that fits into a segment. auto: "
        "speech if transcribed.",
        "auto",
        shared=False,
        panel=ADVANCED,
    )

    min_segment_s: float = option(
        "Minimum length of a segment, e.g. 2s.",
        1.0,
        above=0,
        flags=("--min-segment",),
        default_text="1s",
        **TIME,
        panel=ADVANCED,
    )
    max_segment_s: float | None = option(
        "Maximum length of a segment; none: whole shots.",
        5.0,
        above=0,
        flags=("--max-segment",),
        default_text="5s",
        panel=ADVANCED,
        metavar="TIME|none",
        parse=parse_limit,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.max_segment_s is not None and self.min_segment_s > self.max_segment_s:
            shortest, longest = self.min_segment_s, self.max_segment_s
            fault = f"--max-segment {longest:g} s is less than --min-segment {shortest:g} s"
            raise UsageError(fault, hint=f"--min-segment {longest:g}s")
        for name, segments in (("keep", self.keep), ("drop", self.drop)):
            for segment in segments:
                if not _is_interval(segment):
                    raise UsageError(f"{name} takes pairs (start_s, end_s) of numbers, not {segment!r}")


@dataclass(frozen=True, kw_only=True)
class Retrieval(Checked):
    """Settings of the search for moments."""

    PANEL = "Queries and moments"

    top_k: int = option("Maximum number of moments per query.", 5, flags=("--top-k", "-k"), min=1)
    model: str = option(
        "Model: similarity, mrnet, qd-detr, or a checkpoint of `vidsum train mrnet` or `train detr` "
        "(.safetensors). auto: similarity.",
        DEFAULT_MODEL,
        flags=("--model", "-m"),
        metavar="NAME|FILE",
        names=("auto", "similarity", SHIPPED_GROUNDER, "qd-detr"),
    )
    space: EmbeddingSpace = option(
        "Embedding space of text and video. auto: the model's own, else clip if installed, else vse.", "auto"
    )
    snap: Snap = option("Snap moments to shot boundaries within a second.", "none")
    min_present: float = option(
        "Skip queries whose match probability for the video is below this (0: keep all). Not in the "
        "space clip.",
        0.0,
        min=0,
        max=1,
    )
    mask: MaskKind | None = option(
        "Learned mask of a DETR model. It chooses the checkpoint; a checkpoint file must have it.",
        None,
        default_text="none, or the file's",
    )
    evidence: Evidence = option(
        "Search the picture, the speech, or both. auto: both if the transcript is cached "
        "(vidsum transcribe), else the picture.",
        "auto",
        flags=("--in",),
    )
    thorough: bool = option(
        "Use motion features too, for queries about actions (space vse, similarity); slower.", False
    )
    alone: bool = option("A trained model's own answers, not added to similarity.", False)
    without: tuple[str, ...] = option(
        "Not seen in the moment (similarity). Can be repeated.", (), flags=("--not",), metavar="TEXT"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.without and self.evidence not in ("auto", "seen"):
            raise UsageError("--not searches the picture only", hint="--in seen")


@dataclass(frozen=True, kw_only=True)
class Watching(Checked):
    """Queries of a watched source, and the rules of its alerts."""

    PANEL = "Queries and alerts"

    like: tuple[str, ...] = option(
        "Also look for what this picture shows. Can be repeated.", (), metavar="PICTURE"
    )
    model: str | None = option(
        "A checkpoint of `train mrnet --head live`, which gives the match probability.",
        None,
        default_text="the present rule",
        metavar="FILE",
    )
    min_present: float = option("Alert where the match probability is at least this.", 0.5, above=0, max=1)
    for_s: float = option(
        "An alert begins, and ends, when this has lasted so long.",
        2.0,
        min=0,
        flags=("--for",),
        default_text="2s",
        **TIME,
    )
    pre_roll_s: float = option(
        "Clips begin so long before an alert, and end so long after it.",
        5.0,
        min=0,
        max=60,
        flags=("--pre-roll",),
        default_text="5s",
        **TIME,
    )
    follow: bool = option("The file is still being written: wait for more at its end.", False, shared=False)
    idle_s: float | None = option(
        "Stop when nothing new has come for so long.",
        None,
        above=0,
        flags=("--idle",),
        default_text="10s for folders and --follow; else never",
        **TIME,
    )


@dataclass(frozen=True, kw_only=True)
class Transcription(Checked):
    """Settings of the transcript."""

    PANEL = "Speech"

    language: str | None = option(
        "Spoken language code (en, de, fr).", None, default_text="detect", metavar="CODE"
    )
    translate: bool = option("Translate to English.", False)


@dataclass(frozen=True, kw_only=True)
class Describing(Checked):
    """Settings of the descriptions."""

    PANEL = "Descriptions"

    every_s: float | None = option(
        "What one description is of: a shot, or a time such as 5s.",
        None,
        above=0,
        flags=("--every",),
        default_text="shot",
        metavar="shot|TIME",
        parse=parse_every,
    )
    """None: shots, the long ones split."""
    writer: WriterChoice = option(
        "What writes the sentences. auto: retrieve with --sentences, else tags.", "auto"
    )
    sentences: str | None = option(
        "Sentences for retrieve: CSV with a column caption, or text with one per line.", None, metavar="FILE"
    )
    min_sure: float = option("Say nothing of segments whose confidence is below this.", 0.3, min=0, max=1)
    in_gaps: bool = option("Audio description: fit the descriptions into the pauses of the speech.", False)
    texts: str | None = option(
        "Take these corrected descriptions, .srt or .vtt, instead of writing any.", None, metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Encoding of an MP4."""

    PANEL = "Output"

    codec: Literal["h264", "hevc", "av1", "copy"] = option(
        "Video codec of the MP4; copy is the same as --copy.", "h264", shared=False, panel=ADVANCED
    )
    encoder: str | None = option(
        "FFmpeg encoder, such as h264_nvenc. auto: the GPU's, if available.",
        None,
        default_text="of the CPU",
        metavar="auto|NAME",
        shared=False,
        panel=ADVANCED,
    )
    crf: int | None = option(
        "Quality, 1 is best.",
        None,
        default_text="20 (h264), 24 (hevc), 30 (av1)",
        min=1,
        max=63,
        shared=False,
        panel=ADVANCED,
    )
    preset: str | None = option(
        "Speed of the encoder, such as ultrafast or slow.",
        None,
        default_text="the encoder's",
        shared=False,
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.codec == "copy" and (self.encoder, self.crf, self.preset) != (None, None, None):
            raise UsageError("a copy is not encoded: leave out --encoder, --crf and --preset")

    def form(self, *, chapters: bool = False, shorts: "Shorts | None" = None) -> str:
        """Return the choices in one word, for the label of a file; none for the defaults without chapters."""
        parts = () if self == Encoding() else (self.codec, self.encoder, self.crf, self.preset)
        more = "chapters" if chapters else None, (shorts.form or None) if shorts else None
        return "-".join(str(part) for part in (*parts, *more) if part is not None)


@dataclass(frozen=True, kw_only=True)
class Shorts:
    """Changes to pictures and sound for clips on phones."""

    PANEL = "Output"

    vertical: bool = option("Crop to --aspect (9:16), following what matters.", False, shared=False)
    aspect: Aspect = option("Shape of --vertical.", "9:16", shared=False, panel=ADVANCED)
    burn: bool = option("Draw the speech into the pictures, as captions.", False, shared=False)
    loudness: bool = option(
        "Bring the sound to -14 LUFS, as players of short videos do.", False, shared=False, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        check(self)
        if self.aspect != "9:16" and not self.vertical:
            raise UsageError("--aspect needs --vertical", hint="--vertical")

    def require_encoder(self, encoding: Encoding) -> None:
        """Raise UsageError where changed pictures or sound would only be copied."""
        if encoding.codec == "copy" and self != Shorts():
            raise UsageError("--copy changes nothing: leave out --vertical, --burn and --loudness")

    @property
    def form(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        chosen = {f"vertical-{self.aspect}": self.vertical, "burn": self.burn, "loudness": self.loudness}
        return "-".join(name for name, is_chosen in chosen.items() if is_chosen)


@dataclass(frozen=True, kw_only=True)
class Clips(Checked):
    """Lengths and changes of the clips of moments."""

    PANEL = "Output"

    pad_s: float = option(
        "Start each of --clips this much earlier and end it this much later, within the video, e.g. 2s.",
        0.0,
        min=0,
        flags=("--pad",),
        metavar="TIME",
        parse=parse_time,
    )
    least_s: float = option(
        "Lengthen shorter ones of --clips to this, around their middle, e.g. 2s.",
        0.0,
        min=0,
        flags=("--min-clip",),
        metavar="TIME",
        parse=parse_time,
    )
    shorts: Shorts = field(default_factory=Shorts)

    @property
    def form(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        lengths = {"pad": self.pad_s, "least": self.least_s}
        chosen = [f"{name}-{length_s:g}" for name, length_s in lengths.items() if length_s]
        return "-".join(filter(None, [*chosen, self.shorts.form]))


def with_defaults(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance block with the options that it leaves out, as earlier versions recorded them."""
    kinds = {"shots": ShotSettings, "summary": Selection, "grounding": Retrieval}
    filled = {
        part: as_record(kind()) | provenance[part] for part, kind in kinds.items() if part in provenance
    }
    if "grounding" in filled:  # where speech is not searched, nothing is recorded
        filled["grounding"]["evidence"] = provenance["grounding"].get("evidence")
    return {**provenance, **filled}


def parse_attention_part(text: str) -> AttentionPart:
    """`mean`, `all`, or a layer and a head, counted from 0: `5.0`.

    Raises UsageError: the text is none of these.
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
