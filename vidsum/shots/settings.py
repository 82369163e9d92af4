"""Settings of the shots, whose fields are the options of the command line; see `vidsum.options`."""

from dataclasses import dataclass
from typing import Literal

from vidsum.options import Checked, option
from vidsum.times import TIME

ShotMethod = Literal["kts", "uniform"]


@dataclass(frozen=True, kw_only=True)
class ShotSettings(Checked):
    """Settings of the shots. None: the method's own value."""

    PANEL = "Shots"

    shots: ShotMethod = option("Shot detection method; uniform: shots of 5 s.", "kts")
    max_shots: int | None = option(
        "Maximum number of shots.", None, min=1, default_text="chosen by KTS", flag_on=("shots",)
    )
    min_shot_s: float | None = option(
        "Minimum shot length, e.g. 2s.",
        None,
        min=0,
        flags=("--min-shot",),
        default_text="the method's",
        **TIME,
        flag_on=("shots",),
    )
    max_shot_s: float | None = option(
        "Maximum shot length, e.g. 30s.",
        None,
        above=0,
        flags=("--max-shot",),
        default_text="the method's",
        **TIME,
        flag_on=("shots",),
    )


@dataclass(frozen=True, kw_only=True)
class ChapterSettings(Checked):
    """Settings of the chapters."""

    PANEL = "Chapters"

    evidence: Literal["auto", "speech", "picture"] = option(
        "Make chapters from speech or picture.",
        "auto",
        flags=("--in",),
        more="auto: speech, or the picture where little is said.",
    )
    count: int | None = option(
        "Number of chapters.", None, min=3, flags=("--chapters", "-n"), default_text="chosen by topic"
    )
