"""Settings of a summary, whose fields are the options of the command line; see `vidsum.options`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any, Literal

from vidsum.errors import Mention, UsageError, fill, quote
from vidsum.grounding.settings import ACTIONS_HELP
from vidsum.options import ADVANCED, check, option
from vidsum.times import TIME, parse_interval, parse_limit

DEFAULT_MODEL = "auto"
DEFAULT_BUDGET, DEFAULT_SHARE = "auto", 0.15  # of the video, and at least five seconds
SHIPPED_MODEL = "ridge"
"""The checkpoint that `auto` takes, by its name in the registry."""
SHIPPED_MODELS = (SHIPPED_MODEL, "fulltransnet")
"""All that come with vidsum."""
BASELINES = ("uniform", "random")
"""Models that look at nothing."""
SPEECH_HINT = "speech was not considered: --snap speech makes a transcript first"
"""A line about sound without a transcript."""
PAUSES_HINT = "of speech, only pauses were considered: --snap speech makes a transcript first"
"""A line where a voice detector looked for pauses."""
SHORTEST_S = 2.0
"""Length of the shortest part of a reel, unless the clip is shorter."""
SUMMARIZERS = ("auto", *SHIPPED_MODELS, "highlights", "contrastive", *BASELINES)
"""All importance models with a name."""

_WITHOUT_FLAG: Mapping[str, Any] = {"panel": ADVANCED, "flag_on": ()}  # for configuration files


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Content of a summary."""

    PANEL = "Summary"

    budget: str | float = option(
        "Maximum summary length: 15%, 0.15, 45s or 1:30.",
        DEFAULT_BUDGET,
        flags=("--budget", "-b"),
        more="auto: 15%, and at least 5s.",
    )
    """A fraction of the video (`15%`, 0.15) or a time (`45s`, `1:30`, 45)."""
    model: str = option(
        "Importance model.",
        DEFAULT_MODEL,
        flags=("--model", "--scorer", "-m"),
        metavar="MODEL",
        names=SUMMARIZERS,
        more=f"{', '.join(SUMMARIZERS)}, or a trained checkpoint. ridge agrees better with people than "
        "fulltransnet, whose decoder adds nothing to its encoder.",
    )
    seed: int = option("Random seed (for the random model).", 0, min=0, **_WITHOUT_FLAG)
    keep: tuple[tuple[float, float], ...] = option(
        "Always include this time range.", (), metavar="START-END", parse=parse_interval
    )
    drop: tuple[tuple[float, float], ...] = option(
        "Never include this time range.", (), metavar="START-END", parse=parse_interval
    )
    about: tuple[str, ...] = option("Prefer what TEXT describes.", (), metavar="TEXT")
    actions: bool = option(ACTIONS_HELP, True, **_WITHOUT_FLAG)
    snap: Literal["auto", "speech", "sentence", "none"] = option(
        "Where cuts may fall: never inside a word (speech) or a sentence (sentence).",
        "auto",
        panel=ADVANCED,
        flag_on=("summarize", "reel"),
        more="Both make the transcript first. auto: speech, if there is a transcript, else pauses of voices; "
        "none: ignore speech.",
    )

    min_segment_s: float = option(
        "Minimum length of a segment, e.g. 2s.",
        2.0,
        above=0,
        flags=("--min-segment",),
        default_text="2s",
        **TIME,
        **_WITHOUT_FLAG,
    )
    max_segment_s: float | None = option(
        "Maximum length of a segment, half more for pauses of speech; none: whole shots.",
        5.0,
        above=0,
        flags=("--max-segment",),
        default_text="5s",
        panel=ADVANCED,
        metavar="TIME|none",
        parse=parse_limit,
        flag_on=(),
    )

    def __post_init__(self) -> None:
        check(self)
        if self.max_segment_s is not None and self.min_segment_s > self.max_segment_s:
            shortest, longest = self.min_segment_s, self.max_segment_s
            fault = fill(
                "{} {} s is less than {} {} s",
                Mention("max_segment_s"),
                f"{longest:g}",
                Mention("min_segment_s"),
                f"{shortest:g}",
            )
            raise UsageError(fault, hint=Mention("min_segment_s", longest))
        for name, segments in (("keep", self.keep), ("drop", self.drop)):
            for segment in segments:
                is_pair = isinstance(segment, Sequence) and len(segment) == 2
                if not is_pair or not all(isinstance(time_s, Real) for time_s in segment):
                    raise UsageError(f"{name} takes pairs (start_s, end_s) of numbers, not {segment!r}")


@dataclass(frozen=True, kw_only=True)
class ReelSettings:
    """Content and looks of a reel."""

    PANEL = "Reel"

    budget: str | float = option(
        "Maximum length: 90s, 2m or 1:30; 15% of the footage.", "2m", flags=("--budget", "-b")
    )
    """A time (`2m`, `1:30`, 120) or a fraction of all inputs (`15%`, 0.15)."""
    order: Literal["time", "name", "given"] = option(
        "Order of the film.",
        "time",
        more="time: as recorded; files without a time come last, by name.",
    )
    max_clip_s: float | None = option(
        "At most this much of each clip, speech aside; none: no limit.",
        5.0,
        above=0,
        flags=("--max-clip",),
        default_text="5s",
        metavar="TIME|none",
        parse=parse_limit,
    )
    photo_s: float = option(
        "How long each photograph is on screen.",
        3.0,
        above=0,
        max=60,
        flags=("--photo",),
        default_text="3s",
        **TIME,
    )
    fit: Literal["blur", "crop"] = option(
        "Fill the frame with a blurred copy, or crop to what matters.", "blur"
    )
    music: str | None = option(
        "Sound file under the film, lower where somebody speaks.", None, metavar="FILE"
    )
    titles: bool = option("Show the day where a new day begins.", False)

    def __post_init__(self) -> None:
        check(self)
        if self.max_clip_s is not None and self.max_clip_s < SHORTEST_S:
            fault = f" must be at least {SHORTEST_S:g}s, the shortest part, not {self.max_clip_s:g}s"
            raise UsageError((Mention("max_clip_s"), fault), option="max_clip_s")


def _parse_lengths(text: str) -> tuple[float, float]:
    """Return seconds of `MIN-MAX`. Raises UsageError: it is not two times, the longer one last."""
    with suppress(UsageError):
        shortest_s, longest_s = parse_interval(text)
        if longest_s < inf:
            return shortest_s, longest_s
    hint = "write MIN-MAX, such as 20s-60s"
    raise UsageError(f"not a shortest and a longest length: {quote(text)}", hint=hint)


@dataclass(frozen=True, kw_only=True)
class ShortSettings:
    """Number and length of the shorts of a video."""

    PANEL = "Shorts"

    count: int = option("Maximum number of shorts.", 5, min=1, flags=("--count", "-n"))
    length_s: tuple[float, float] = option(
        "Shortest and longest length.",
        (20.0, 60.0),
        flags=("--length",),
        default_text="20s-60s",
        metavar="MIN-MAX",
        parse=_parse_lengths,
    )
    evidence: Literal["auto", "speech", "picture"] = option(
        "Make shorts from speech or picture.",
        "auto",
        flags=("--in",),
        more="auto: speech, or the picture where little is said.",
    )

    def __post_init__(self) -> None:
        check(self)
        is_pair = isinstance(self.length_s, Sequence) and len(self.length_s) == 2
        if not is_pair or not all(isinstance(length_s, Real) for length_s in self.length_s):
            raise UsageError(f"length_s takes a pair of numbers, not {self.length_s!r}")
        if not 0 < self.length_s[0] < self.length_s[1] < inf:
            fault = (Mention("length_s"), " needs a longest length, and a shortest above 0")
            raise UsageError(fault, hint=Mention("length_s", "20s-60s"))
