"""Results of summarize, ground, highlights and shots as one page, by a template that escapes all text."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vidsum.provenance import flat
from vidsum.results.cuts import Cut, Cutting, best_time, groups_of
from vidsum.results.descriptions import Descriptions
from vidsum.results.moments import Grounding, Highlights, QueryMoments
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary
from vidsum.times import format_time
from vidsum.types import VideoInfo
from vidsum.version import __version__


@dataclass(frozen=True)
class Band:
    """A segment of time as a rectangle of full height."""

    x: float
    width: float
    is_best: bool = False
    """Whether it is the first of a ranking."""
    is_said: bool = False
    """Whether it was found in what is said."""


@dataclass(frozen=True)
class Chart:
    """What happens along the video."""

    label: str
    """In words, for those who do not see it."""
    duration_s: float
    shots: tuple[Band, ...]
    """Every second shot."""
    chosen: tuple[Band, ...]
    line: str
    """An SVG path of the curve; empty without one."""
    said: str = ""
    """The same of what is said."""

    @property
    def area(self) -> str:
        """An SVG path of what is below the curve."""
        return f"{self.line}V{HEIGHT:g}H0Z" if self.line else ""


@dataclass(frozen=True)
class Film:
    """A video of the page, and what is at hand of it."""

    name: str
    source: str | None
    """URL of the video from the page; None where it is missing."""
    video: VideoInfo | None
    duration_s: float
    results: tuple[tuple[str, Cutting], ...]
    """Paths of result files, and what they hold."""
    pictures: Mapping[float, str] = field(default_factory=dict)
    """JPEG by time, as `data:` URLs."""
    clips: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """By result file, the URL of the MP4 of each moment in order; None where it does not exist."""
    descriptions: Descriptions | None = None
    """What is seen in it, in words."""

    @property
    def poster(self) -> str | None:
        """The picture to show before the video plays: of the first segment that has one."""
        times = (time for _, result in self.results for group in picture_times(result) for time in group)
        return next((self.pictures[time] for time in times if time in self.pictures), None)


@dataclass(frozen=True)
class Card:
    """A segment to click on."""

    start_s: float
    end_s: float
    picture: str | None
    clip: str | None
    description: str | None = None
    score: float | None = None
    evidence: str | None = None

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Group:
    """Cards with their chart: of a query, or of a whole result."""

    chart: Chart
    cards: tuple[Card, ...]
    query: str | None = None
    present: float | None = None


@dataclass(frozen=True)
class Section:
    """One result."""

    kind: str
    curve: str
    """What its curve shows."""
    chosen: str
    """What its marked segments are."""
    source: str
    """The result file."""
    headline: str
    reason: str
    groups: tuple[Group, ...]
    warnings: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]

    @property
    def has_said(self) -> bool:
        """Whether it was looked for what is said."""
        return any(card.evidence for group in self.groups for card in group.cards)


def render(films: Sequence[Film], title: str) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("vidsum.results"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"clock": format_time, "percent": lambda share: f"{100 * share:.0f} %"}
    style, script = (Markup(environment.get_template(name).render()) for name in ("report.css", "report.js"))
    views = [(film, [_section(film, name, result) for name, result in film.results]) for film in films]
    return environment.get_template("report.html").render(
        title=title, films=views, style=style, script=script, policy=policy_of(script), version=__version__
    )


def policy_of(script: str) -> str:
    """A content security policy that lets the page's own script run, and nothing come from elsewhere."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = "default-src 'none'; img-src data:; media-src 'self' file:; style-src 'unsafe-inline'"
    return f"{sources}; script-src 'sha256-{digest}'"


def picture_times(result: Cutting) -> list[list[float]]:
    """The times in seconds whose frames stand for the segments of each group of a result, in their order."""
    return [
        [best_time(cut.start_s, cut.end_s, *curve) for cut in cuts]
        for cuts, curve in zip(groups_of(result), _curves_of(result), strict=True)
    ]


def data_url(jpeg: bytes) -> str:
    """A picture that stands in the page itself."""
    return f"data:image/jpeg;base64,{b64encode(jpeg).decode()}"


Curve = tuple[Sequence[float], Sequence[float]]
_NO_CURVE: Curve = ((), ())


def _curves_of(result: Cutting) -> list[Curve]:
    """The curve of each group of cuts; empty where the result has none."""
    if isinstance(result, Shots):
        return [_NO_CURVE]
    times = result.timestamps.tolist()
    if isinstance(result, Grounding):
        return [(times, query.saliency.tolist()) if times else _NO_CURVE for query in result.queries]
    return [(times, (result.importance if isinstance(result, Summary) else result.saliency).tolist())]


def _section(film: Film, name: str, result: Cutting) -> Section:
    queries = result.queries if isinstance(result, Grounding) else (None,)
    clips = iter(film.clips.get(name, ()))
    settings = ((" › ".join(path), _value(value)) for path, value in flat(result.provenance))
    return Section(
        kind=result.kind,
        curve=_CURVES[result.kind],
        chosen=_CHOSEN[result.kind],
        source=name,
        headline=_headline(result),
        reason=_reason(result),
        groups=tuple(
            Group(
                _chart_of(film, result, cuts, curve, query),
                tuple(
                    Card(
                        cut.start_s,
                        cut.end_s,
                        film.pictures.get(time),
                        next(clips, None),
                        film.descriptions.at(time) if film.descriptions else None,
                        cut.score,
                        cut.evidence or None,
                    )
                    for cut, time in zip(cuts, times, strict=True)
                ),
                query.query if query else None,
                query.present if query else None,
            )
            for cuts, curve, times, query in zip(
                groups_of(result), _curves_of(result), picture_times(result), queries, strict=True
            )
        ),
        warnings=result.warnings,
        settings=tuple(settings),
    )


def _chart_of(
    film: Film, result: Cutting, cuts: Sequence[Cut], curve: Curve, query: QueryMoments | None
) -> Chart:
    of_query = f" of “{query.query}”" if query else ""
    shots: Sequence[Cut | ScoredShot] = ()
    if not isinstance(result, Grounding | Highlights):
        shots = result.shots if isinstance(result, Summary) else cuts
    return chart(
        f"{_CURVES[result.kind]}{of_query} over {format_time(film.duration_s)}",
        film.duration_s,
        cuts,
        curve,
        shots,
        query.said.tolist() if query and query.said is not None else (),
        is_ranked=isinstance(result, Grounding | Highlights),
    )


_CURVES = {"summary": "Importance", "highlights": "Saliency", "moments": "Saliency", "shots": "Shots"}
_CHOSEN = {
    "summary": "in the summary",
    "highlights": "highlights",
    "moments": "moments, the best one strongest",
    "shots": "",
}


def _headline(result: Cutting) -> str:
    if isinstance(result, Summary):
        used, whole = format_time(result.duration_s), format_time(result.video_duration_s)
        return f"Summary: {used} of {whole} in {_count(result.segments, 'segment')}"
    if isinstance(result, Grounding):
        moments = [moment for query in result.queries for moment in query.moments]
        return f"{_count(moments, 'moment')} of {_count(result.queries, 'query', 'queries')}"
    return (
        _count(result.intervals, "shot") if isinstance(result, Shots) else _count(result.moments, "highlight")
    )


def _count(things: Sequence[Any], one: str, several: str = "") -> str:
    return f"{len(things)} {one if len(things) == 1 else several or f'{one}s'}"


def _reason(result: Cutting) -> str:
    """What decided, in one line."""
    if isinstance(result, Shots):
        return f"by {result.method}"
    if not result.model:  # highlights of an older version
        return ""
    because = f"space {result.space}" if isinstance(result, Grounding) else result.model_reason
    return f"by {result.model}" + (f" ({because})" if because and because != result.model else "")


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)


WIDTH, HEIGHT = 1000.0, 100.0
_MOST_POINTS = 1000


def chart(
    label: str,
    duration_s: float,
    chosen: Sequence[Cut],
    curve: Curve = _NO_CURVE,
    shots: Sequence[Cut | ScoredShot] = (),
    said: Sequence[float] = (),
    *,
    is_ranked: bool = False,
) -> Chart:
    """The chart of a curve (times in seconds, scores), of shots, and of the chosen segments."""
    return Chart(
        label,
        duration_s,
        tuple(Band(*_place(shot, duration_s)) for shot in shots[1::2]),
        tuple(
            Band(*_place(cut, duration_s), is_ranked and cut is chosen[0], cut.evidence == "said")
            for cut in chosen
        ),
        _line(*curve, duration_s),
        _line(curve[0], said, duration_s) if said else "",
    )


def _place(segment: Cut | ScoredShot, duration_s: float) -> tuple[float, float]:
    """x and width of a segment."""
    start, end = (WIDTH * edge_s / duration_s for edge_s in (segment.start_s, segment.end_s))
    return round(start, 2), round(max(end - start, 1.0), 2)


def _line(times_s: Sequence[float], scores: Sequence[float], duration_s: float) -> str:
    """A step for each sample, up to its share of the highest; of many samples, the highest of each group."""
    if not times_s:
        return ""
    group = -(-len(times_s) // _MOST_POINTS)
    starts = times_s[::group]
    heights = [max(scores[first : first + group]) for first in range(0, len(scores), group)]
    top = max(heights) or 1.0
    steps = []
    for (start, end), height in zip(pairwise([*starts, duration_s]), heights, strict=True):
        y = round(HEIGHT * (1 - 0.95 * (max(height, 0.0) / top)), 2)
        steps.append(f"{WIDTH * start / duration_s:.2f} {y:g}H{WIDTH * max(start, end) / duration_s:.2f}")
    return "M" + "L".join(steps)
