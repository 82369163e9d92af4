"""The options of Python functions as types of keywords; made by `python -m docs.keywords`."""

from collections.abc import Sequence
from typing import Literal, TypedDict

Space = Literal[
    "auto",
    "siglip2-b16-256",
    "mobileclip2-s2",
    "clip-b32-256",
    "pe-core-s16-384",
    "mobileclip2-s0",
    "clip",
    "vse",
]


class ReadingOptions(TypedDict, total=False):
    precision: Literal["auto", "fp32", "bf16", "fp16", "int8"]
    backend: Literal["auto", "torch", "onnx"]
    device: str
    reader: Literal["pyav", "decord", "opencv"]
    video_track: int | str | None
    audio_track: int | str | None
    subtitles: str | None
    fast: bool
    strict: bool
    cache: bool


class SamplingOptions(ReadingOptions, total=False):
    fps: float | None
    clip_frames: int | None
    stride_frames: int | None
    logits: bool


class ExtractionOptions(SamplingOptions, total=False):
    extractor: str


class ShotOptions(ExtractionOptions, total=False):
    max_shots: int | None
    min_shot_s: float | None
    max_shot_s: float | None


class SummaryOptions(ShotOptions, total=False):
    seed: int
    keep: Sequence[tuple[float, float]]
    drop: Sequence[tuple[float, float]]
    about: str | Sequence[str]
    actions: bool
    snap: Literal["auto", "speech", "sentence", "none"]
    min_segment_s: float
    max_segment_s: float | None


class ReelOptions(ExtractionOptions, total=False):
    order: Literal["time", "name", "given"]
    max_clip_s: float | None
    photo_s: float
    fit: Literal["blur", "crop"]
    music: str | None
    titles: bool


class GroundOptions(ReadingOptions, total=False):
    space: Space
    min_present: float
    evidence: Literal["auto", "picture", "speech", "text", "sound", "both"]
    alone: bool
    actions: bool
    language: str
    without: str | Sequence[str]


class HighlightOptions(ExtractionOptions, total=False):
    max_length_s: float


class WatchOptions(TypedDict, total=False):
    like: str | Sequence[str]
    space: Space
    actions: bool
    min_present: float
    for_s: float
    pre_roll_s: float
    language: str
    follow: bool
    idle_s: float | None


class DescribeOptions(ReadingOptions, total=False):
    every_s: float | None
    writer: str
    vlm: str | None
    allow_remote: bool
    vlm_prompt: str
    vlm_timeout_s: float
    sentences: str | None
    min_sure: float | None
    space: Space
    actions: bool
    in_gaps: bool
    texts: str | None


class ChapterOptions(ReadingOptions, total=False):
    evidence: Literal["auto", "speech", "picture"]
    count: int | None


class ShortOptions(ReadingOptions, total=False):
    count: int
    length_s: tuple[float, float]
    evidence: Literal["auto", "speech", "picture"]


class SoundOptions(TypedDict, total=False):
    loudness: float | None


class ClipOptions(SoundOptions, total=False):
    vertical: bool
    aspect: Literal["9:16", "1:1", "4:5"]
    burn: bool


class MomentClipOptions(ClipOptions, total=False):
    pad_s: float


class TrimOptions(ReadingOptions, total=False):
    by: Literal["loudness", "voice"]
    threshold_db: float | None
    min_pause_s: float
    min_sound_s: float
    margin_before_s: float
    margin_after_s: float
    fillers: bool
    filler: str | Sequence[str]
    script: str | None


class SpeechOptions(TypedDict, total=False):
    translate: bool
    verbatim: bool


class IndexOptions(ReadingOptions, total=False):
    transcribe: bool
    on_screen_text: bool
    sounds: bool
    actions: bool
    space: Space


class ArchiveSearchOptions(TypedDict, total=False):
    evidence: Literal["auto", "picture", "speech", "text", "sound", "described"]
    like: str | Sequence[str]
    also: str | Sequence[str]
    without: str | Sequence[str]
    then: str | Sequence[str]
    language: str
    path: str | Sequence[str]
    after: str | None
    min_present: float
    per_video: int
    duplicates: bool


SETTINGS = {
    "ReadingOptions": "features.Extraction",
    "SamplingOptions": "features.Extraction",
    "ExtractionOptions": "features.Extraction",
    "ShotOptions": "shots.ShotSettings features.Extraction",
    "SummaryOptions": "summary.Selection shots.ShotSettings features.Extraction",
    "ReelOptions": "summary.ReelSettings features.Extraction",
    "GroundOptions": "grounding.Retrieval features.Extraction",
    "HighlightOptions": "grounding.HighlightSettings features.Extraction",
    "WatchOptions": "grounding.Watching",
    "DescribeOptions": "description.Describing features.Extraction",
    "ChapterOptions": "shots.ChapterSettings features.Extraction",
    "ShortOptions": "summary.ShortSettings features.Extraction",
    "SoundOptions": "video.SoundLevel",
    "ClipOptions": "video.Styling video.SoundLevel",
    "MomentClipOptions": "video.Clips video.Styling video.SoundLevel",
    "TrimOptions": "speech.Trimming features.Extraction",
    "SpeechOptions": "speech.Transcription",
    "IndexOptions": "archive.Indexing features.Extraction",
    "ArchiveSearchOptions": "archive.SearchOptions",
}
"""The settings classes that declare the options of each type."""
