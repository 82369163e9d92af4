"""Documents of summarize, ground, highlights and shots as one page, by a template that escapes all text."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from vidsum.provenance import flat
from vidsum.times import format_time
from vidsum.version import __version__

Document = Mapping[str, Any]


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
    video: Mapping[str, Any] | None
    duration_s: float
    documents: tuple[tuple[str, Document], ...]
    """Paths of result files, and what they hold."""
    pictures: Mapping[float, str] = field(default_factory=dict)
    """JPEG by time, as `data:` URLs."""
    clips: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """By result file, the URL of the MP4 of each moment in order; None where it does not exist."""

    @property
    def poster(self) -> str | None:
        """The picture to show before the video plays: of the first segment that has one."""
        times = (
            time for _, document in self.documents for group in picture_times(document) for time in group
        )
        return next((self.pictures[time] for time in times if time in self.pictures), None)


@dataclass(frozen=True)
class Card:
    """A segment to click on."""

    start_s: float
    end_s: float
    picture: str | None
    clip: str | None
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
    views = [(film, [_section(film, name, document) for name, document in film.documents]) for film in films]
    return environment.get_template("report.html").render(
        title=title, films=views, style=style, script=script, policy=_policy(script), version=__version__
    )


def _policy(script: str) -> str:
    """A content security policy that lets the page's own script run, and nothing come from elsewhere."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = "default-src 'none'; img-src data:; media-src 'self' file:; style-src 'unsafe-inline'"
    return f"{sources}; script-src 'sha256-{digest}'"


def picture_times(document: Document) -> list[list[float]]:
    """The times in seconds whose frames stand for the segments of each group of a result, in their order."""
    return [
        [_best_time(segment, curve) for segment in segments] for segments, curve, _ in _groups_of(document)
    ]


def data_url(jpeg: bytes) -> str:
    """A picture that stands in the page itself."""
    return f"data:image/jpeg;base64,{b64encode(jpeg).decode()}"


Curve = tuple[Sequence[float], Sequence[float]]
_NO_CURVE: Curve = ((), ())


def _groups_of(document: Document) -> list[tuple[Sequence[Mapping[str, Any]], Curve, Document]]:
    """The segments, curve and query of each group of a result."""
    if "queries" in document:
        times = document.get("timestamps_s")
        return [
            (query["moments"], (times, query["saliency"]) if times else _NO_CURVE, query)
            for query in document["queries"]
        ]
    curve = document.get("importance") or document.get("saliency")
    segments = next(document[name] for name in ("segments", "moments", "shots") if name in document)
    return [(segments, (curve["timestamps_s"], curve["scores"]) if curve else _NO_CURVE, {})]


def _best_time(segment: Mapping[str, Any], curve: Curve) -> float:
    """The time of the highest sample in a segment, the middle one of several; else the middle."""
    start, end = segment["start_s"], segment["end_s"]
    inside = [(score, time) for time, score in zip(*curve, strict=True) if start <= time < end]
    top = max(inside, default=(0.0, 0.0))[0]
    best = [time for score, time in inside if score == top]
    return best[len(best) // 2] if best else (start + end) / 2


def _section(film: Film, name: str, document: Document) -> Section:
    kind = document["schema"].removeprefix("vidsum.").partition("/")[0]
    clips = iter(film.clips.get(name, ()))
    groups = []
    for (segments, curve, query), times in zip(_groups_of(document), picture_times(document), strict=True):
        cards = tuple(
            Card(
                each["start_s"],
                each["end_s"],
                film.pictures.get(time),
                next(clips, None),
                each.get("score"),
                each.get("evidence"),
            )
            for each, time in zip(segments, times, strict=True)
        )
        text = query.get("query")
        label = f"{_CURVES[kind]}{f' of “{text}”' if text else ''} over {format_time(film.duration_s)}"
        drawing = chart(
            label,
            film.duration_s,
            segments,
            curve,
            document.get("shots", ()),
            query.get("said", ()),
            is_ranked=kind in ("moments", "highlights"),
        )
        groups.append(Group(drawing, cards, text, query.get("present")))
    settings = ((" › ".join(path), _value(value)) for path, value in flat(document["provenance"]))
    return Section(
        kind=kind,
        curve=_CURVES[kind],
        chosen=_CHOSEN[kind],
        source=name,
        headline=_headline(kind, document),
        reason=_reason(document),
        groups=tuple(groups),
        warnings=tuple(document["warnings"]),
        settings=tuple(settings),
    )


_CURVES = {"summary": "Importance", "highlights": "Saliency", "moments": "Saliency", "shots": "Shots"}
_CHOSEN = {
    "summary": "in the summary",
    "highlights": "highlights",
    "moments": "moments, the best one strongest",
    "shots": "",
}


def _headline(kind: str, document: Document) -> str:
    if kind == "summary":
        used, whole = document["budget"]["used_s"], document["duration_s"]
        segments = _count(document["segments"], "segment")
        return f"Summary: {format_time(used)} of {format_time(whole)} in {segments}"
    if kind == "moments":
        found = [moment for query in document["queries"] for moment in query["moments"]]
        return f"{_count(found, 'moment')} of {_count(document['queries'], 'query', 'queries')}"
    what = document["moments"] if kind == "highlights" else document["shots"]
    return _count(what, kind.removesuffix("s"))


def _count(things: Sequence[Any], one: str, several: str = "") -> str:
    return f"{len(things)} {one if len(things) == 1 else several or f'{one}s'}"


def _reason(document: Document) -> str:
    """What decided, in one line."""
    if "method" in document:
        return f"by {document['method']}"
    if "model" not in document:  # highlights of an older version
        return ""
    because = document.get("model_reason") or (f"space {document['space']}" if "space" in document else "")
    return f"by {document['model']}" + (f" ({because})" if because and because != document["model"] else "")


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
    chosen: Sequence[Mapping[str, Any]],
    curve: tuple[Sequence[float], Sequence[float]] = ((), ()),
    shots: Sequence[Mapping[str, Any]] = (),
    said: Sequence[float] = (),
    *,
    is_ranked: bool = False,
) -> Chart:
    """The chart of a curve (times in seconds, scores), of shots, and of the chosen segments."""
    return Chart(
        label,
        duration_s,
        tuple(_band(shot, duration_s) for shot in shots[1::2]),
        tuple(_band(each, duration_s, is_ranked and each is chosen[0]) for each in chosen),
        _line(*curve, duration_s),
        _line(curve[0], said, duration_s) if said else "",
    )


def _band(segment: Mapping[str, Any], duration_s: float, is_best: bool = False) -> Band:
    start, end = (WIDTH * segment[edge] / duration_s for edge in ("start_s", "end_s"))
    return Band(round(start, 2), round(max(end - start, 1.0), 2), is_best, segment.get("evidence") == "said")


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
