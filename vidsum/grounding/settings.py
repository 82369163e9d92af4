"""Settings of moments, highlights, alerts and descriptions; fields are options, see `vidsum.options`."""

import re
from dataclasses import dataclass
from typing import Literal

from vidsum.errors import UsageError, did_you_mean, is_one_line
from vidsum.io.urls import is_loopback, is_url, split_server
from vidsum.options import Checked, option
from vidsum.times import TIME, parse_every

DEFAULT_MODEL = "auto"
SHIPPED_GROUNDER = "mrnet"  # the checkpoint for moments that comes with vidsum
LONGEST_MOMENT_S = 15.0  # of several shots, and by default of a highlight; one shot of a query may be longer
UNLIKELY = 0.2  # below this probability, a query is called probably absent from a video

_SPACE_HELP = (
    "Embedding space of text and video. auto: the best one of the CLIP family that is installed, else vse."
)
LANGUAGE_HELP = (
    "Language of the queries (de, ja). auto: English, unless most words are of another (space vse)."
)


def require_language(code: str) -> None:
    """Raise a UsageError where a text is neither the code of a language nor `auto`."""
    if code != "auto" and not re.fullmatch("[a-z]{2,3}", code):
        hint = "give a code such as en, de or ja"
        raise UsageError(f"unknown language {code!r}", hint, option="language")


EmbeddingSpace = Literal["auto", "siglip2-b16-256", "mobileclip2-s2", "mobileclip2-s0", "clip", "vse"]
"""Where text and video are compared. `auto`: in the model's own, else the first of
`CLIP_FAMILY` that is installed, else `vse`."""
CaptionSpace = Literal["text", "vse"]
"""Captions of frames as sentences, or as their counterparts in the picture space."""
EvidenceChoice = Literal["auto", "picture", "speech", "text", "sound", "both"]
"""Where moments are searched; `auto`: in the pictures, and in what is cached of the others."""
WRITERS = ("auto", "words", "retrieve")  # writers of descriptions; the address of a server is another
VLM_PROMPT = (
    "Describe this frame of a film in one plain English sentence of at most 20 words, in the present tense. "
    "Say only what can be seen. Do not mention the frame, the picture or the camera."
)


@dataclass(frozen=True, kw_only=True)
class Retrieval(Checked):
    """Settings of the search for moments."""

    PANEL = "Queries and moments"

    top_k: int | None = option(
        "Maximum number of moments per query.",
        None,
        flags=("--top-k", "-k"),
        min=1,
        default_text="5, without those far below the first",
    )
    model: str = option(
        "Model that finds moments. similarity (auto); mrnet or qd-detr, level with similarity; or a "
        "checkpoint of `vidsum train`.",
        DEFAULT_MODEL,
        flags=("--model", "-m"),
        metavar="NAME|FILE",
        names=("auto", "similarity", SHIPPED_GROUNDER, "qd-detr"),
    )
    space: EmbeddingSpace = option(
        "Embedding space of text and video. auto: the model's own, else the best one of the CLIP family "
        "that is installed, else vse.",
        "auto",
        flag_on=(),
    )
    min_present: float = option(
        "Skip queries with a lower match probability. 0 keeps all.", 0.0, min=0, max=1
    )
    evidence: EvidenceChoice = option(
        "Search pictures, speech, text on the screen, or sounds. both: pictures and speech. auto: pictures, "
        "and what is cached of the others (vidsum transcribe).",
        "auto",
        flags=("--in",),
    )
    alone: bool = option("Use only the trained model.", False, flag_on=())
    language: str = option(LANGUAGE_HELP, "auto", metavar="CODE", flag_on=("ground",))
    without: tuple[str, ...] = option(
        "Leave out moments that show this. Only with similarity. Can be repeated.",
        (),
        flags=("--not",),
        metavar="TEXT",
    )

    @property
    def most_moments(self) -> int:
        """Return the maximum number of moments per query."""
        return 5 if self.top_k is None else self.top_k

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.without and self.evidence not in ("auto", "picture"):
            raise UsageError("--not searches the picture only", hint="--in picture")
        require_language(self.language)


@dataclass(frozen=True, kw_only=True)
class HighlightSettings(Checked):
    """Settings of the search for what stands out, without a query."""

    PANEL = "Highlights"

    top_k: int = option("Maximum number of highlights.", 5, flags=("--top-k", "-k"), min=1)
    max_length_s: float = option(
        "Maximum length of a highlight.",
        LONGEST_MOMENT_S,
        min=2,
        flags=("--max-length",),
        default_text="15s",
        **TIME,
    )


@dataclass(frozen=True, kw_only=True)
class Watching(Checked):
    """Queries of a watched source, and the rules of its alerts."""

    PANEL = "Queries and alerts"

    like: tuple[str, ...] = option(
        "Look for what this picture shows. Can be repeated.", (), metavar="PICTURE"
    )
    space: EmbeddingSpace = option(_SPACE_HELP, "auto", flag_on=())
    min_present: float = option("Minimum match probability of an alert.", 0.5, above=0, max=1)
    for_s: float = option(
        "How long a match lasts before an alert starts. It must be gone as long before the alert ends.",
        2.0,
        min=0,
        flags=("--for",),
        default_text="2s",
        **TIME,
    )
    pre_roll_s: float = option(
        "Time to keep before and after each alert.",
        5.0,
        min=0,
        max=60,
        flags=("--pre-roll",),
        default_text="5s",
        **TIME,
    )
    language: str = option(LANGUAGE_HELP, "auto", metavar="CODE", flag_on=("watch",))
    follow: bool = option("Follow a file that is still being recorded.", False)
    idle_s: float | None = option(
        "Stop after this long without new pictures.",
        None,
        above=0,
        flags=("--idle",),
        default_text="10s for folders and --follow; else never",
        **TIME,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_language(self.language)


@dataclass(frozen=True, kw_only=True)
class Describing(Checked):
    """Settings of the descriptions."""

    PANEL = "Descriptions"

    every_s: float | None = option(
        "Describe every shot, or a time such as 5s.",
        None,
        above=0,
        flags=("--every",),
        default_text="shot",
        metavar="shot|TIME",
        parse=parse_every,
    )  # None: shots, the long ones split
    writer: str = option(
        "How sentences are made. auto: retrieve with --sentences, else words. The URL of a server: by its "
        "model --vlm.",
        "auto",
        metavar="NAME|URL",
        names=WRITERS,
    )
    vlm: str | None = option(
        "Vision-language model at --writer URL, an OpenAI-compatible server (Ollama, llama.cpp, vLLM).",
        None,
        metavar="MODEL",
    )
    allow_remote: bool = option("Let --writer send frames to another machine.", False)
    vlm_prompt: str = option("What the model is told about each frame.", VLM_PROMPT, flag_on=())
    vlm_timeout_s: float = option(
        "Maximum time for a reply of the model.",
        300.0,
        above=0,
        flags=("--vlm-timeout",),
        default_text="5m",
        flag_on=(),
        **TIME,
    )
    sentences: str | None = option(
        "Sentences to choose from. CSV with a column caption, or text with one per line.",
        None,
        metavar="FILE",
    )
    min_sure: float | None = option(
        "Leave out what has a lower confidence.",
        None,
        min=0,
        max=1,
        default_text="by writer, higher with --in-gaps",
    )
    space: EmbeddingSpace = option(_SPACE_HELP, "auto", flag_on=())
    in_gaps: bool = option("Fit descriptions into the pauses of speech.", False)
    texts: str | None = option("Use these corrected descriptions (.srt, .vtt).", None, metavar="FILE")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_by_vlm:
            if self.writer not in WRITERS:
                names = f"one of {', '.join(WRITERS)} or the URL of a server"
                near = did_you_mean(self.writer, WRITERS)
                raise UsageError(f"--writer must be {names}, not {self.writer}{near}", option="writer")
            if self.vlm is not None:
                fault = "--vlm is a model of a server, and --writer does not name one"
                raise UsageError(fault, hint="--writer http://localhost:11434/v1")
            return
        _, host = split_server(self.writer)
        name = (self.vlm or "").strip()
        if not (name and is_one_line(name)):
            raise UsageError("--writer URL needs the name of a model", hint="--vlm MODEL")
        if self.min_sure is not None:
            fault = "a vision-language model gives no confidence"
            raise UsageError(fault, hint="leave out --min-sure")
        if not is_loopback(host) and not self.allow_remote:
            fault = f"{host} is not this machine, and would get frames of the video"
            raise UsageError(fault, hint="--allow-remote, if that is what you want")

    @property
    def is_by_vlm(self) -> bool:
        """Whether a vision-language model on a server is the writer."""
        return is_url(self.writer)
