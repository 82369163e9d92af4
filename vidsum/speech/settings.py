"""Settings of transcripts and of trimming, which are options of the command line; see `vidsum.options`."""

from dataclasses import dataclass
from typing import Literal

from vidsum.errors import Mention, UsageError, fill
from vidsum.options import ADVANCED, Checked, check, option
from vidsum.times import TIME


@dataclass(frozen=True, kw_only=True)
class Transcription(Checked):
    """Settings of the transcript."""

    PANEL = "Speech"

    language: str | None = option(
        "Spoken language code (en, de, fr).",
        None,
        flags=("--spoken-language",),
        default_text="detect",
        metavar="CODE",
    )
    translate: bool = option("Translate to English.", False)
    verbatim: bool = option("Write filler words (um, uh) too.", False, flag_on=("transcribe",))

    def __post_init__(self) -> None:
        check(self)
        if self.verbatim and self.translate:
            raise UsageError(
                fill(
                    "{} and {} exclude each other: a translation has no fillers",
                    Mention("verbatim"),
                    Mention("translate"),
                )
            )


@dataclass(frozen=True, kw_only=True)
class Trimming(Checked):
    """Settings of the silence and the words that are removed."""

    PANEL = "Trimming"

    by: Literal["loudness", "voice"] = option(
        "Keep what is loud (loudness), or where somebody speaks (voice; requires vidsum[speech]).", "loudness"
    )
    threshold_db: float | None = option(
        "Sound below this level is silence, in dB of full scale, such as -40.",
        None,
        default_text="from the film",
        flags=("--threshold",),
        metavar="DB",
        min=-100,
        max=0,
    )
    min_pause_s: float = option("Leave shorter pauses alone.", 0.5, above=0, flags=("--min-pause",), **TIME)
    min_sound_s: float = option(
        "Remove shorter sounds between pauses, such as clicks.",
        0.1,
        min=0,
        flags=("--min-sound",),
        panel=ADVANCED,
        **TIME,
    )
    margin_before_s: float = option(
        "Silence to keep before sound.", 0.2, min=0, flags=("--margin-before",), **TIME
    )
    margin_after_s: float = option(
        "Silence to keep after sound.", 0.2, min=0, flags=("--margin-after",), **TIME
    )
    fillers: bool = option(
        "Remove filler words (um, uh) and false starts too (requires vidsum[speech]).", False
    )
    filler: tuple[str, ...] = option(
        'Remove this word or phrase too, such as "you know"; implies --fillers.',
        (),
        metavar="WORDS",
    )

    script: str | None = option(
        "Keep what this edited transcript says.",
        None,
        metavar="FILE",
        more="Delete words and lines of what vidsum transcribe --format txt writes (or srt, vtt), and move "
        "lines; requires vidsum[speech].",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.script is not None:
            unused = ("by", "min_pause_s", "min_sound_s", "fillers", "filler")
            if chosen := [name for name in unused if getattr(self, name) != getattr(Trimming, name)]:
                raise UsageError(
                    fill(
                        "{} already decides what is removed: leave out {}",
                        Mention("script"),
                        Mention(chosen[0]),
                    )
                )
        if self.by == "voice" and self.threshold_db is not None:
            raise UsageError(
                fill(
                    "{} is of loudness, not of {}: leave out one of them",
                    Mention("threshold_db"),
                    Mention("by", "voice"),
                )
            )
        if not all(map(str.strip, self.filler)):
            raise UsageError((Mention("filler"), ": holds no word"), hint=Mention("filler", "you know"))
