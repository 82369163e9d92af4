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
class SoundLevel(Checked):
    """The loudness of an MP4."""

    PANEL = "Output"

    loudness: float | None = option(
        "Loudness of the sound in LUFS, such as -14.",
        None,
        metavar="LUFS",
        default_text="as it is",
        min=-50,
        max=-5,
    )

    @property
    def tag(self) -> str:
        """The choice in one word, for the label of a file; none for the default."""
        return "" if self.loudness is None else f"loudness{self.loudness:g}"

    @classmethod
    def from_tag(cls, tag: str) -> "SoundLevel":
        """Return the choice that a `tag` says."""
        level = re.search(r"loudness(-[\d.]+)", tag)
        return cls(loudness=float(level[1])) if level else cls()


@dataclass(frozen=True, kw_only=True)
class Encoding(Checked):
    """Encoding of an MP4."""

    PANEL = "Output"

    crf: int = option("Quality, 1 is best.", DEFAULT_CRF, min=1, max=51, **_WITHOUT_FLAG)
    sound: SoundLevel = field(default_factory=SoundLevel)

    def tag(self, *, copy: bool = False, styling: "Styling | None" = None) -> str:
        """Return the choices in one word, for the label of a file; none for the defaults."""
        crf = f"crf-{self.crf}" if self.crf != DEFAULT_CRF else ""
        names = ["copy" if copy else "", crf, self.sound.tag, styling.tag if styling else ""]
        return "-".join(filter(None, names))

    def require_encoded(self, *, copy: bool) -> None:
        """Raise UsageError where a copy would have another encoding."""
        if copy and self != Encoding():
            chosen = "crf" if self.sound == SoundLevel() else "loudness"
            raise UsageError(fill("{} does not encode: leave out {}", Mention("copy"), Mention(chosen)))

    @classmethod
    def from_tag(cls, tag: str) -> "Encoding":
        """Return the choices that a `tag` says."""
        quality = re.search(r"crf-(\d+)", tag)
        crf = int(quality[1]) if quality else DEFAULT_CRF
        return cls(crf=crf, sound=SoundLevel.from_tag(tag))


@dataclass(frozen=True, kw_only=True)
class Styling:
    """Changes to pictures for clips on phones."""

    PANEL = "Output"

    vertical: bool = option("Crop to 9:16, following the subject.", False)
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
        if copy and self != Styling():
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
    def from_tag(cls, tag: str) -> "Styling":
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
    styling: Styling = field(default_factory=Styling)
    sound: SoundLevel = field(default_factory=SoundLevel)

    @property
    def tag(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        pad = f"pad-{self.pad_s:g}" if self.pad_s else ""
        return "-".join(filter(None, [pad, self.styling.tag, self.sound.tag]))

    @classmethod
    def from_tag(cls, tag: str) -> "Clips":
        """Return the choices that a `tag` says."""
        pad = re.search(r"pad-([\d.]+(?:e[+-]?\d+)?)", tag)
        pad_s = float(pad[1]) if pad else 0.0
        return cls(pad_s=pad_s, styling=Styling.from_tag(tag), sound=SoundLevel.from_tag(tag))
