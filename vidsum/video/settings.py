"""Settings of reading and writing videos, whose fields are options; see `vidsum.options`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from vidsum.errors import Mention, UsageError, fill
from vidsum.options import ADVANCED, Checked, check, option
from vidsum.times import parse_time

Reader = Literal["pyav", "decord", "opencv"]
Aspect = Literal["9:16", "1:1", "4:5"]  # width to height of pictures
DEFAULT_CRF = 20  # no difference is seen from the source
_WITHOUT_FLAG: Mapping[str, Any] = {"panel": ADVANCED, "flag_on": ()}  # for configuration files


def parse_track(text: str) -> int | str:
    """Read the number or the language of a track. Raises UsageError: it is neither."""
    if not re.fullmatch(r"0*[1-9]\d{0,3}|[A-Za-z]{2,3}(-\w+)*", text):
        hint = "a number from 1 on, or a language such as eng or de; see vidsum info FILE"
        raise UsageError(f"{text!r} is no track", hint)
    return int(text) if text.isdecimal() else text


@dataclass(frozen=True, kw_only=True)
class Encoding(Checked):
    """Encoding of an MP4."""

    PANEL = "Output"

    crf: int = option("Quality, 1 is best.", DEFAULT_CRF, min=1, max=51, **_WITHOUT_FLAG)

    def tag(self, *, copy: bool = False, shorts: "Shorts | None" = None) -> str:
        """Return the choices in one word, for the label of a file; none for the defaults."""
        chosen = {"copy": copy, f"crf-{self.crf}": self != Encoding()}
        names = [name for name, is_chosen in chosen.items() if is_chosen]
        return "-".join([*names, *([shorts.tag] if shorts and shorts.tag else [])])

    @classmethod
    def from_tag(cls, tag: str) -> "Encoding":
        """Return the choices that a `tag` says."""
        quality = re.search(r"crf-(\d+)", tag)
        return cls(crf=int(quality[1])) if quality else cls()


@dataclass(frozen=True, kw_only=True)
class Shorts:
    """Changes to pictures for clips on phones."""

    PANEL = "Output"

    vertical: bool = option("Crop to 9:16, following what matters.", False)
    aspect: Aspect = option("Shape of --vertical.", "9:16", **_WITHOUT_FLAG)
    burn: bool = option("Burn captions of speech into the picture.", False)

    def __post_init__(self) -> None:
        check(self)
        if self.aspect != "9:16" and not self.vertical:
            raise UsageError(
                fill("{} needs {}", Mention("aspect"), Mention("vertical")), hint=Mention("vertical", True)
            )

    def require_encoded(self, *, copy: bool) -> None:
        """Raise UsageError where changed pictures would only be copied."""
        if copy and self != Shorts():
            raise UsageError(
                fill(
                    "{} changes nothing: leave out {} and {}",
                    Mention("copy"),
                    Mention("vertical"),
                    Mention("burn"),
                )
            )

    @property
    def tag(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        chosen = {f"vertical-{self.aspect}": self.vertical, "burn": self.burn}
        return "-".join(name for name, is_chosen in chosen.items() if is_chosen)

    @classmethod
    def from_tag(cls, tag: str) -> "Shorts":
        """Return the choices that a `tag` says."""
        aspect = next((name for name in get_args(Aspect) if f"vertical-{name}" in tag), None)
        vertical: dict[str, Any] = {"vertical": True, "aspect": aspect} if aspect else {}
        return cls(**vertical, burn="burn" in tag)


@dataclass(frozen=True, kw_only=True)
class Clips(Checked):
    """Length and changes of the clips of moments."""

    PANEL = "Output"

    pad_s: float = option(
        "Add up to this much before and after each clip, within its shot, e.g. 2s.",
        0.0,
        min=0,
        flags=("--pad",),
        panel=ADVANCED,
        metavar="TIME",
        parse=parse_time,
    )
    shorts: Shorts = field(default_factory=Shorts)

    @property
    def tag(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        return "-".join(filter(None, [f"pad-{self.pad_s:g}" if self.pad_s else "", self.shorts.tag]))

    @classmethod
    def from_tag(cls, tag: str) -> "Clips":
        """Return the choices that a `tag` says."""
        pad = re.search(r"pad-([\d.]+(?:e[+-]?\d+)?)", tag)
        return cls(pad_s=float(pad[1]) if pad else 0.0, shorts=Shorts.from_tag(tag))
