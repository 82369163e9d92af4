"""Settings of moments, highlights and alerts; fields are options, see `vidsum.options`."""

import re
from dataclasses import dataclass
from typing import Literal

from vidsum.errors import Mention, UsageError
from vidsum.options import Checked, option
from vidsum.results.settings import ClipName, Evidence
from vidsum.times import TIME

DEFAULT_MODEL = "auto"
SHIPPED_GROUNDER = "mrnet"  # the checkpoint for moments that comes with vidsum
LONGEST_MOMENT_S = 15.0  # of several shots, and by default of a highlight; one shot of a query may be longer
UNLIKELY = 0.2  # below this probability, words or a sound are left out beside other evidence

SPACE_HELP = "Embedding space of text and video."
SPACE_CHOICE = "auto: the best one of the CLIP family that is installed, else vse."
ACTIONS_HELP = "Use the actions that movement shows (space vse)."
LANGUAGE_HELP = "Language of the queries (de, ja)."
LANGUAGE_CHOICE = "auto: English, unless most words are of another (space vse)."


def require_language(code: str) -> None:
    """Raise a UsageError where a text is neither the code of a language nor `auto`."""
    if code != "auto" and not re.fullmatch("[a-z]{2,3}", code):
        hint = "give a code such as en, de or ja"
        raise UsageError(f"unknown language {code!r}", hint, option="language")


EmbeddingSpace = Literal["auto", ClipName, "vse"]
"""Where text and video are compared. `auto`: in the model's own, else the first of
`CLIP_FAMILY` that is installed, else `vse`."""
CaptionSpace = Literal["text", "vse"]
"""Captions of frames as sentences, or as their counterparts in the picture space."""
EvidenceChoice = Literal["auto", Evidence, "both"]
"""Where moments are searched; `auto`: in the pictures, and in what is cached of the others."""


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
        "Model that finds moments.",
        DEFAULT_MODEL,
        flags=("--model", "-m"),
        metavar="NAME|FILE",
        names=("auto", "similarity", SHIPPED_GROUNDER, "qd-detr"),
        more="similarity (auto); mrnet or qd-detr, level with similarity; or a checkpoint of `vidsum train`.",
    )
    space: EmbeddingSpace = option(
        SPACE_HELP,
        "auto",
        flag_on=(),
        more="auto: the model's own, else the best one of the CLIP family that is installed, else vse.",
    )
    min_present: float = option(
        "Skip queries with a lower match probability.",
        0.0,
        min=0,
        max=1,
        more="0 keeps all.",
    )
    evidence: EvidenceChoice = option(
        "Search pictures, speech, text on the screen, or sounds.",
        "auto",
        flags=("--in",),
        more="both: pictures and speech. auto: pictures, and what is cached of the others (vidsum "
        "transcribe).",
    )
    alone: bool = option("Use only the trained model.", False, flag_on=())
    actions: bool = option(ACTIONS_HELP, True, flag_on=())
    language: str = option(LANGUAGE_HELP, "auto", metavar="CODE", flag_on=("ground",), more=LANGUAGE_CHOICE)
    without: tuple[str, ...] = option(
        "Leave out moments that show this.",
        (),
        flags=("--not",),
        metavar="TEXT",
        more="Only with similarity.",
    )

    @property
    def most_moments(self) -> int:
        """Return the maximum number of moments per query."""
        return 5 if self.top_k is None else self.top_k

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.without and self.evidence not in ("auto", "picture"):
            raise UsageError(
                (Mention("without"), " searches the picture only"), hint=Mention("evidence", "picture")
            )
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

    like: tuple[str, ...] = option("Look for what this picture shows.", (), metavar="PICTURE")
    space: EmbeddingSpace = option(SPACE_HELP, "auto", flag_on=(), more=SPACE_CHOICE)
    actions: bool = option(ACTIONS_HELP, True, flag_on=())
    min_present: float = option("Minimum match probability of an alert.", 0.7, above=0, max=1)
    for_s: float = option(
        "How long a match lasts before an alert starts.",
        2.0,
        min=0,
        flags=("--for",),
        default_text="2s",
        **TIME,
        more="It must be gone as long before the alert ends.",
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
    language: str = option(LANGUAGE_HELP, "auto", metavar="CODE", flag_on=("watch",), more=LANGUAGE_CHOICE)
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
