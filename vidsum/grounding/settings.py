"""Settings of moments, alerts and descriptions, whose fields are options; see `vidsum.options`."""

from dataclasses import dataclass
from typing import Literal

from vidsum.errors import UsageError
from vidsum.models.configs import MaskKind
from vidsum.options import Checked, option
from vidsum.times import TIME, parse_every

DEFAULT_MODEL = "auto"
SHIPPED_GROUNDER = "mrnet"
"""The checkpoint for moments that comes with vidsum."""
UNLIKELY = 0.2
"""Below this probability, a query is called probably absent from a video."""

Snap = Literal["none", "kts", "transnetv2"]
"""Method of the shot edges that nearby edges of moments move to."""
EmbeddingSpace = Literal["auto", "clip", "vse"]
"""Where text and video are compared. `auto`: in the model's own, else in CLIP's where its weights are."""
CaptionSpace = Literal["text", "vse"]
"""Captions of frames as sentences, or as their counterparts in the picture space."""
Evidence = Literal["auto", "seen", "said", "both"]
"""Where moments are searched: the pictures, the speech, or both. `auto`: both if the transcript is cached,
else the pictures."""
WriterChoice = Literal["auto", "write", "retrieve", "tags"]
"""Writers of descriptions."""


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
