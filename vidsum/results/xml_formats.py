"""Timelines in XML: Final Cut Pro X, Final Cut Pro 7 (for Premiere and Resolve), MLT and Kdenlive.

`templates/` holds a template of each format, which escapes all text.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from vidsum.results.media import NTSC_RATES, Clip, url_of

if TYPE_CHECKING:
    from jinja2 import Environment

Size = tuple[int, int] | None
"""Width and height of a timeline, both even; None: of its first video."""


@cache  # compiles each template once
def open_templates() -> "Environment":
    """Return the environment of `templates/`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("vidsum.results"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def to_mlt(clips: Sequence[Clip], name: str, size: Size = None) -> str:
    """MLT, as Shotcut has a project of one track."""
    return render("mlt.xml", [replace(clip, media=clip.media.by_mlt()) for clip in clips], name, size)


def to_kdenlive(clips: Sequence[Clip], name: str, size: Size = None) -> str:
    """Return a Kdenlive project of document version 1.1, which Kdenlive has from 23.04 on."""
    clips = [replace(clip, media=clip.media.by_mlt()) for clip in clips]
    uuid = uuid5(NAMESPACE_URL, json.dumps([name, *dict.fromkeys(clip.place for clip in clips)]))
    guides = [
        {"comment": clip.marker, "duration": 0, "pos": start, "type": 0}
        for clip, start in zip(clips, _starts(clips), strict=False)
    ]
    guide_text = json.dumps(guides, ensure_ascii=False)
    return render("kdenlive.xml", clips, name, size, uuid=f"{{{uuid}}}", guides=guide_text)


def _starts(clips: Sequence[Clip]) -> list[int]:
    return list(accumulate((clip.n_frames for clip in clips), initial=0))


def render(template: str, clips: Sequence[Clip], name: str, size: Size = None, **facts: str) -> str:
    """Return a timeline by a template."""
    first = clips[0].media
    width, height = size or (first.width, first.height)
    environment = open_templates()
    environment.filters |= {"url": url_of, "timebase": round, "posix": lambda path: Path(path).as_posix()}
    firsts = {clip.place: clip for clip in reversed(clips)}  # the first clip of each video
    numbers = {place: number for number, place in enumerate(dict.fromkeys(clip.place for clip in clips), 1)}
    *starts, length = _starts(clips)
    places = (numbers[clip.place] for clip in clips)
    return environment.get_template(template).render(
        name=name,
        main=replace(first, width=width, height=height),
        loudest=max((clip.media for clip in clips), key=lambda media: media.n_channels),
        ntsc_rates=NTSC_RATES,
        clips=clips,
        firsts=[firsts[place] for place in numbers],
        rows=list(zip(count(), places, starts, clips)),  # of each clip: index, number of the video, start
        length=length,
        **facts,
    )
