"""Settings of reading and writing videos, whose fields are options; see `vidsum.options`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vidsum.errors import UsageError
from vidsum.options import ADVANCED, Checked, check, option
from vidsum.times import parse_time

Reader = Literal["pyav", "decord", "opencv"]
HwAccel = Literal["none", "auto", "cuda", "videotoolbox", "d3d11va", "vaapi", "qsv"]
"""FFmpeg's names of hardware that decodes."""
Aspect = Literal["9:16", "1:1", "4:5"]  # width to height of pictures
PreviewFormat = Literal["gif", "webp", "mp4"]
_WITHOUT_FLAG: Mapping[str, Any] = {"panel": ADVANCED, "flag_on": ()}  # for configuration files


def parse_track(text: str) -> int | str:
    """Read the number or the language of a track. Raises UsageError: it is neither."""
    if not re.fullmatch(r"0*[1-9]\d{0,3}|[A-Za-z]{2,3}(-\w+)*", text):
        fault = f"{text!r} is no track"
        raise UsageError(
            fault, hint="a number from 1 on, or a language such as eng or de; see vidsum info FILE"
        )
    return int(text) if text.isdecimal() else text


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Encoding of an MP4."""

    PANEL = "Output"

    codec: Literal["h264", "hevc", "av1", "copy"] = option(
        "Video codec of the MP4; copy is the same as --copy.", "h264", shared=False, **_WITHOUT_FLAG
    )
    encoder: str | None = option(
        "FFmpeg encoder, such as h264_nvenc. auto: the GPU's, if available.",
        None,
        default_text="of the CPU",
        metavar="auto|NAME",
        shared=False,
        **_WITHOUT_FLAG,
    )
    crf: int | None = option(
        "Quality, 1 is best.",
        None,
        default_text="20 (h264), 24 (hevc), 30 (av1)",
        min=1,
        max=63,
        shared=False,
        **_WITHOUT_FLAG,
    )
    preset: str | None = option(
        "Speed of the encoder, such as ultrafast or slow.",
        None,
        default_text="the encoder's",
        shared=False,
        **_WITHOUT_FLAG,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.codec == "copy" and (self.encoder, self.crf, self.preset) != (None, None, None):
            raise UsageError("a copy is not encoded: leave out --encoder, --crf and --preset")

    def tag(self, *, chapters: bool = False, shorts: "Shorts | None" = None) -> str:
        """Return the choices in one word, for the label of a file; none for the defaults without chapters."""
        parts = () if self == Encoding() else (self.codec, self.encoder, self.crf, self.preset)
        more = "chapters" if chapters else None, (shorts.tag or None) if shorts else None
        return "-".join(str(part) for part in (*parts, *more) if part is not None)


@dataclass(frozen=True, kw_only=True)
class Shorts:
    """Changes to pictures and sound for clips on phones."""

    PANEL = "Output"

    vertical: bool = option("Crop to 9:16, following what matters.", False, shared=False)
    aspect: Aspect = option("Shape of --vertical.", "9:16", shared=False, **_WITHOUT_FLAG)
    burn: bool = option("Burn captions of the speech into the picture.", False, shared=False)
    loudness: bool = option(
        "Bring the sound to -14 LUFS, as players of short videos do.", False, shared=False, **_WITHOUT_FLAG
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
    def tag(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        chosen = {f"vertical-{self.aspect}": self.vertical, "burn": self.burn, "loudness": self.loudness}
        return "-".join(name for name, is_chosen in chosen.items() if is_chosen)


@dataclass(frozen=True, kw_only=True)
class Clips(Checked):
    """Lengths and changes of the clips of moments."""

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
    least_s: float = option(
        "Make every clip at least this long, e.g. 2s.",
        0.0,
        min=0,
        flags=("--min-clip",),
        metavar="TIME",
        parse=parse_time,
        flag_on=(),
    )
    shorts: Shorts = field(default_factory=Shorts)

    @property
    def tag(self) -> str:
        """The choices in one word, for the label of a file; none for the defaults."""
        lengths = {"pad": self.pad_s, "least": self.least_s}
        chosen = [f"{name}-{length_s:g}" for name, length_s in lengths.items() if length_s]
        return "-".join(filter(None, [*chosen, self.shorts.tag]))
