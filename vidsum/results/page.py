"""Results of summarize, ground, highlights and shots as one page, by a template that escapes all text."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from markupsafe import Markup

from vidsum.io.atomic import as_utf8
from vidsum.io.provenance import flat
from vidsum.results.chart import NO_CURVE, Curve, draw_line, make_chart
from vidsum.results.cut_list import Cut, Cutting, best_time, groups_of
from vidsum.results.descriptions import Descriptions
from vidsum.results.moments import Grounding, Highlights, QueryMoments, format_match, shorten
from vidsum.results.reading import ShotTexts
from vidsum.results.result import count_text
from vidsum.results.screen_text import ScreenText
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Chapters, Shots
from vidsum.results.summary import Summary, Trim
from vidsum.results.transcript import Transcript
from vidsum.results.xml_formats import open_templates
from vidsum.times import format_short_time, format_time
from vidsum.types import VideoInfo
from vidsum.version import __version__


class Names(NamedTuple):
    """The names of the parts of a result."""

    curve: str
    cut: str
    chosen: str = ""  # of the cuts in the legend, where they are marked in the curve


_NAMES = {
    "summary": Names("Importance", "segment", "in the summary"),
    "trim": Names("Kept parts", "segment", "kept"),
    "highlights": Names("Saliency", "highlight", "highlights"),
    "moments": Names("Saliency", "moment", "moments, the best one strongest"),
    "shots": Names("Shots", "shot"),
    "chapters": Names("Chapters", "chapter"),
    "shorts": Names("Shorts", "short", "shorts, the best one strongest"),
}


@dataclass(frozen=True)
class PageVideo:
    """A video of the page with its results, pictures and texts."""

    name: str
    source: str | None  # URL of the video from the page; None where it is missing
    video: VideoInfo | None
    duration_s: float
    results: tuple[tuple[str, Cutting], ...]  # paths of result files, and what they hold
    pictures: Mapping[float, str] = field(default_factory=dict)  # JPEG by time, as `data:` URLs
    clips: Mapping[str, Sequence[str | None]] = field(default_factory=dict)  # URLs of MP4s, by result file
    descriptions: Descriptions | None = None  # sentences about its pictures
    said: Transcript | None = None  # its transcript
    written: ScreenText | None = None  # the text on its screen
    views: tuple[tuple[float, str], ...] = ()  # when each shot begins, and a JPEG as a `data:` URL
    has_shots: bool = False  # whether they are of shots, and not evenly spaced
    passages: tuple[ShotTexts, ...] = ()  # its text, by shots
    frames: Mapping[float, str] = field(default_factory=dict)  # their pictures by the start of the shot

    @property
    def carded(self) -> Iterator[Cutting]:
        """The results whose segments have cards: not shots where passages show them."""
        return (result for _, result in self.results if not (isinstance(result, Shots) and self.passages))

    @property
    def reading(self) -> str:
        """The headline of its passages."""
        names = ("said", "written")
        kinds = (name for name in names if any(getattr(passage, name) for passage in self.passages))
        return f"What is {' and '.join(kinds)}, shot by shot"

    @property
    def n_words(self) -> int:
        texts = ((*(text for *_, text in passage.said), *passage.written) for passage in self.passages)
        return sum(len(text.split()) for text in chain.from_iterable(texts))

    @property
    def panels(self) -> Iterator[dict[str, Any]]:
        """The texts next to the player, as captions over the picture if switched on."""
        if self.said and self.said.segments:
            lines = [(segment.start_s, segment.displayed) for segment in self.said.segments]
            about = {"label": "Transcript", "kind": "captions", "language": self.said.language or "und"}
            yield {**about, "lines": lines, "vtt": self.said.as_text("vtt")}
        if self.descriptions and self.descriptions.descriptions:
            lines = [(entry.start_s, entry.text) for entry in self.descriptions.descriptions]
            label = "Descriptions" + f" by {self.descriptions.writer}" * self.descriptions.is_by_vlm
            about = {"label": label, "kind": "subtitles", "language": "en"}
            yield {**about, "lines": lines, "vtt": self.descriptions.as_text("vtt")}

    @property
    def poster(self) -> str | None:
        """The picture to show before the video plays: of the first segment or shot that has one."""
        times = (time for result in self.carded for group in picture_times(result) for time in group)
        pictures = (self.pictures[time] for time in times if time in self.pictures)
        return next(pictures, None) or next(iter(self.frames.values()), None)


def render(films: Sequence[PageVideo], title: str = "") -> str:
    """Return the page; without a title, it has the video's, or the number of videos."""
    title = title or (films[0].name if len(films) == 1 else f"{len(films)} videos")
    environment = open_templates()
    environment.filters |= {
        "clock": format_time,
        "short": format_short_time,
        "match": format_match,
        "track": lambda vtt: data_url(vtt.encode(), "text/vtt"),  # of a page in a file: it may load no other
    }
    style, script = (Markup(environment.get_template(name).render()) for name in ("report.css", "report.js"))
    views = [(film, [_section(film, name, result) for name, result in film.results]) for film in films]
    about = {"style": style, "script": script, "policy": policy_of(script), "version": __version__}
    return as_utf8(environment.get_template("report.html").render(title=title, films=views, **about))


def policy_of(script: str) -> str:
    """Return a content security policy that lets only the page's own script run."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = "default-src 'none'; img-src data:; media-src 'self' file: data:; style-src 'unsafe-inline'"
    return f"{sources}; script-src 'sha256-{digest}'"


def picture_times(result: Cutting) -> list[list[float]]:
    """Return the times in seconds of the pictures of each group of a result's segments."""
    return [_apart(cuts, curve) for cuts, curve in zip(groups_of(result), _curves_of(result), strict=True)]


def _apart(cuts: Sequence[Cut], curve: Curve) -> list[float]:
    times: list[float] = []
    for cut in cuts:
        away_s = (cut.end_s - cut.start_s) / 4
        low, high = (bisect_left(curve[0], edge_s) for edge_s in (cut.start_s, cut.end_s))
        inside = list(zip(*(values[low:high] for values in curve), strict=True))
        free = [
            sample for sample in inside if all(abs(sample[0] - time) > away_s for time in times)
        ] or inside
        times.append(best_time(cut.start_s, cut.end_s, *(zip(*free, strict=True) if free else NO_CURVE)))
    return times


def data_url(content: bytes, kind: str = "image/jpeg") -> str:
    """Return a picture, text or video that stands in the page itself."""
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _curves_of(result: Cutting) -> list[Curve]:
    if isinstance(result, Shots | Trim | Chapters | Shorts):
        return [NO_CURVE]
    times = result.timestamps.tolist()
    if isinstance(result, Grounding):
        return [(times, query.saliency.tolist()) if times else NO_CURVE for query in result.queries]
    return [(times, (result.importance if isinstance(result, Summary) else result.saliency).tolist())]


def _section(film: PageVideo, name: str, result: Cutting) -> dict[str, Any]:
    """Return a result as the template shows it: a chart for each query, or for all, with cards to click."""
    queries = result.queries if isinstance(result, Grounding) else (None,)
    clips = iter(film.clips.get(name, ()))
    groups = []
    parts = zip(groups_of(result), _curves_of(result), picture_times(result), queries, strict=True)
    for cuts, curve, times, query in parts:
        cards = [
            {
                **vars(cut),
                "picture": film.pictures.get(time_s),
                "clip": next(clips, None),
                "description": _text_of(film, result, cut, time_s),
            }
            for cut, time_s in zip(cuts, times, strict=True)
        ]
        about = {"query": query.query, "present": query.best_present} if query else {"query": None}
        groups.append({"chart": _chart_of(film, result, cuts, curve, query), "cards": cards, **about})
    return {
        "source": name,
        "result": result,
        "names": _NAMES[result.kind],
        "headline": _headline(result),
        "reason": _reason(result),
        "groups": groups,
        "settings": [(" › ".join(path), _value(value)) for path, value in flat(result.provenance)],
        "joint": _joint(result, film.duration_s),
    }


def _text_of(film: PageVideo, result: Cutting, cut: Cut, time_s: float) -> str | None:
    """Return the text of a card: the title of a chapter or short, the words that match, or a description."""
    if isinstance(result, Chapters | Shorts):
        return cut.label
    if cut.evidence == "speech" and film.said:
        return shorten(film.said.text_between(cut.start_s, cut.end_s), _MAX_QUOTED)
    if cut.evidence == "text" and film.written:
        lines = (line for line in film.written.lines if line.start_s < cut.end_s and cut.start_s < line.end_s)
        return shorten(" · ".join(dict.fromkeys(line.text for line in lines)), _MAX_QUOTED)
    return film.descriptions.at(time_s) if film.descriptions else None


_MAX_QUOTED = 160  # letters of speech or text in a card
_MAX_CURVES = 6  # queries that one axis can show: as many as there are colours


def _joint(result: Cutting, duration_s: float) -> dict[str, Any] | None:
    if not isinstance(result, Grounding) or len(result.queries) < 2 or not result.timestamps.size:
        return None
    curves = [draw_line(*curve, duration_s) for curve in _curves_of(result)[:_MAX_CURVES]]
    label = f"Saliency of {count_text(len(curves), 'query', 'queries')} over {format_time(duration_s)}"
    return {**make_chart(label, duration_s, ()), "curves": curves}


def _chart_of(
    film: PageVideo, result: Cutting, cuts: Sequence[Cut], curve: Curve, query: QueryMoments | None
) -> dict[str, Any]:
    of_query = f" of “{query.query}”" if query else ""
    shots = result.shots if isinstance(result, Summary) else cuts if isinstance(result, Shots) else ()
    return make_chart(
        f"{_NAMES[result.kind].curve}{of_query} over {format_time(film.duration_s)}",
        film.duration_s,
        cuts,
        curve,
        shots,
        query.said.tolist() if query and query.said is not None else (),
        is_ranked=isinstance(result, Grounding | Highlights | Shorts),
    )


def _headline(result: Cutting) -> str:
    count = count_text(sum(map(len, groups_of(result))), _NAMES[result.kind].cut)
    if isinstance(result, Summary | Trim):
        used, whole = format_time(result.duration_s), format_time(result.video_duration_s)
        return f"{result.kind.capitalize()}: {used} of {whole} in {count}"
    if isinstance(result, Grounding):
        return f"{count} of {count_text(len(result.queries), 'query', 'queries')}"
    return count


def _reason(result: Cutting) -> str:
    if isinstance(result, Shots):
        return f"by {result.method}"
    if isinstance(result, Trim):
        below = "" if result.threshold_db is None else f", silence below {result.threshold_db:g} dB"
        return f"by {result.by}{below}"
    if isinstance(result, Chapters | Shorts):
        return f"by {result.evidence}"
    return f"by {result.model}" + (f" (space {result.space})" if isinstance(result, Grounding) else "")


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)
