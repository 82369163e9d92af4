"""The content of the report page, without a browser."""

import io
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.media import make_video, read_number
from tests.results.made import EVIL, QUOTED, of_features, results, texts
from vidsum.errors import UsageError
from vidsum.outputs.bundle import write_report
from vidsum.outputs.pages import PageResult, report_text
from vidsum.results.chart import make_chart
from vidsum.results.cut_list import Cut
from vidsum.results.features import Features
from vidsum.results.moments import Grounding, Highlights, Moment
from vidsum.results.page import picture_times


@dataclass
class Parsed(HTMLParser):
    """The elements and texts of a page, as Python's parser sees them."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())

    def all(self, tag: str, name: str = "") -> list[dict[str, str | None]]:
        """The attributes of all elements of a tag and class."""
        same = (attributes for kind, attributes in self.elements if kind == tag)
        return [facts for facts in same if name in [*(facts.get("class") or "").split(), ""]]


def parse(text: str) -> Parsed:
    parser = Parsed()
    parser.feed(text)
    return parser


def page_of(film: Path, folder: Path, more: Sequence[PageResult]) -> str:
    """The page of a summary, with more."""
    named = [results(film)[0], *((f"out/{result.kind}.json", result) for result in more)]
    return report_text(named, folder / "page.html")[0]


def test_page_texts_stay_texts(page: Path, film: Path) -> None:
    content = parse(page.read_text())
    assert len(content.all("script")) == 1
    assert {QUOTED, EVIL, film.name} <= set(content.texts)
    assert [section["data-query"] for section in content.all("section", "query")] == ["a bird", EVIL, QUOTED]
    assert content.all("b") == [{}] * 8  # the times of eight cards
    assert all("onerror" not in attributes for _, attributes in content.elements)


def test_page_needs_no_network(page: Path, film: Path) -> None:
    content = parse(page.read_text())
    attributes = [pair for _, pairs in content.elements for pair in pairs.items()]
    places = [value for name, value in attributes if name in ("src", "href")]
    assert not [place for place in places if place and re.match(r"(https?:)?//", place)]
    (video,) = content.all("video")
    assert (page.parent / unquote(video["src"] or "")).resolve() == film
    (policy,) = [meta["content"] for meta in content.all("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in (policy or "")
    assert "http" not in (policy or "")


def test_page_segments_and_frames(page: Path) -> None:
    content = parse(page.read_text())
    cuts = content.all("a", "cut")
    spans = [(4, 6), (8, 9), (6, 7.5), (1, 2), (3, 4), (4, 5), (0, 3), (3, 10)]
    assert [(float(cut["data-start"] or 0), float(cut["data-end"] or 0)) for cut in cuts] == spans
    assert [(cut["href"] or "").rpartition("#")[2] for cut in cuts[:2]] == ["t=4.0,6.0", "t=8.0,9.0"]
    numbers = []
    for image in content.all("img"):
        jpeg = b64decode((image["src"] or "").removeprefix("data:image/jpeg;base64,"))
        numbers.append(read_number(np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))))
    times = (4.5, 8.5, 6.75, 1.5, 3.5, 4.5, 1.5, 6.5)  # the highest sample, the later of two, or the middle
    assert numbers == [int(time * 25) for time in (1, 3, 5, 7, 9, *times)]


def test_page_headlines_and_settings(page: Path) -> None:
    texts = parse(page.read_text()).texts
    lines = {"Summary: 0:03.00 of 0:10.00 in 2 segments", "3 moments of 3 queries", "1 highlight", "2 shots"}
    lines |= {"by similarity (space vse)", "match 90 %"}
    lines |= {"1.5 s, score 2.00, speech", "1.0 s, score 1.00, picture"}
    lines |= {"what is said", "No moments.", "summary › model", "'><b>x", "default"}
    assert lines <= set(texts)
    assert texts.count(EVIL) == 1 + 4  # a query, and a warning of each result


def test_page_of_a_batch(film: Path, tmp_path: Path) -> None:
    make_video(tmp_path / "other.mp4", n_frames=250)
    several = [*results(film)[:2], results(tmp_path / "other.mp4")[0], of_features()]
    content = parse(report_text(several, tmp_path / "all.html")[0])
    assert len(content.all("video")) == 2
    names = ("3 videos", "other.mp4", "features_shots")
    assert [text for text in content.texts if text in names] == ["3 videos", *names, *names[1:]]
    anchors = [link["href"] for link in content.all("a") if (link["href"] or "").startswith("#")]
    assert anchors == [f"#{article['id']}" for article in content.all("article")]
    assert len(anchors) == 4


def test_page_of_a_missing_video(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    make_video(film, n_frames=250)
    documents = results(film)
    assert report_text(documents, film) == report_text(documents, film)
    film.unlink()
    text, warnings = report_text(documents, tmp_path / "report.html")
    content = parse(text)
    assert (content.all("video"), content.all("img"), content.all("a", "cut")) == ([], [], [])
    assert len(content.all("span", "cut")) == 8
    assert [str(film) in warning for warning in warnings] == [True]


def test_page_of_features(tmp_path: Path) -> None:
    features = Features.from_array(np.zeros((4, 2), np.float32), fps=1.0)
    with pytest.raises(UsageError, match="not Features"):
        write_report(features, tmp_path / "page.html")  # type: ignore[arg-type]


def test_page_captions_and_subtitles(film: Path, tmp_path: Path) -> None:
    with_texts, content = parse(page_of(film, tmp_path, texts(film))), parse(page_of(film, tmp_path, []))
    tracks = {track["kind"]: track for track in with_texts.all("track")}
    assert {kind: track["srclang"] for kind, track in tracks.items()} == {"captions": "en", "subtitles": "en"}
    captions = b64decode((tracks["captions"]["src"] or "").removeprefix("data:text/vtt;base64,")).decode()
    assert "00:00:01.000 --> 00:00:02.500\n&lt;b&gt; hello" in captions
    assert {"Transcript", "Descriptions", "<b> hello", "a bird"} <= set(with_texts.texts)
    assert content.all("track") == []


def test_page_finds_transcripts(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    make_video(film, n_frames=250)
    texts(film)[0].save(tmp_path / "film_transcript.json")
    (_, summary) = results(film)[0]
    text, _ = report_text([(str(tmp_path / "any.json"), summary)], tmp_path / "page.html")
    page = parse(text)
    assert len(page.all("track")) == 1
    label = next(label for label in page.texts if label.endswith((" pictures", " shots")))
    assert label.endswith(" pictures")


def test_page_of_a_transcript(film: Path, tmp_path: Path) -> None:
    page = tmp_path / "said.html"
    assert write_report(texts(film)[0], page, title="A <talk>") == ()
    content = parse(page.read_text())
    assert content.texts.count("A <talk>") == 2
    assert (len(content.all("track")), content.all("a", "cut")) == (1, [])
    assert len(content.all("img")) == 11  # and one of the text
    write_report(replace(texts(film)[0], video=None), page, overwrite=True)
    assert parse(page.read_text()).all("video") == []


def test_page_of_many_queries(film: Path, tmp_path: Path) -> None:
    (_, grounding) = results(film, with_saliency=True)[1]
    assert isinstance(grounding, Grounding)
    many = replace(grounding, queries=(*grounding.queries, *grounding.queries, grounding.queries[0]))
    text, _ = report_text([("one.json", many)], tmp_path / "page.html")
    content = parse(text)
    assert [len(content.all("path", f"key-{number}")) for number in range(1, 8)] == [1] * 6 + [0]
    assert "and 1 more, below" in content.texts
    single = replace(grounding, queries=grounding.queries[:1])
    assert not parse(report_text([("one.json", single)], tmp_path / "page.html")[0]).all("path", "key-1")


def test_picture_times_of_nested_moments() -> None:
    times = np.arange(0, 10.0)
    curve = np.where(times == 5, 1.0, 0.5).astype(np.float32)
    nested = tuple(Moment(start, end, 1.0) for start, end in ((0.0, 10.0), (4.0, 7.0), (5.0, 6.0)))
    times_s = picture_times(Highlights(curve, times, 1.0, nested, 10.0, "ridge"))
    assert times_s == [[5.0, 6.0, 5.0]]  # of the last, only the same frame is known


def test_make_chart() -> None:
    spans = [Cut(2.0, 3.0, ""), Cut(0.0, 0.001, "")]
    drawing = make_chart("x", 10.0, spans, ([0.0, 5.0], [0.2, 0.4]), shots=spans, is_ranked=True)
    bands = [tuple(band.values())[:3] for band in drawing["chosen"]]
    assert bands == [(200, 100, True), (0, 1, False)]
    assert not any(band["is_best"] for band in make_chart("x", 10.0, spans)["chosen"])
    assert [band["x"] for band in drawing["shots"]] == [0]
    assert drawing["line"] == "M0.00 52.5H500.00L500.00 5H1000.00"
    assert make_chart("x", 10.0, [])["line"] == ""
    said = [replace(spans[0], evidence="speech")]
    speech_chart = make_chart("x", 10.0, said, ([0.0, 5.0], [0.2, 0.4]), said=[0.5, 0.0])
    assert [band["is_said"] for band in speech_chart["chosen"]] == [True]
    assert speech_chart["said"] == "M0.00 5H500.00L500.00 100H1000.00"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=3000))
def test_make_chart_of_a_long_curve(scores: list[float]) -> None:
    times_s = [place / 2 for place in range(len(scores))]
    line = make_chart("x", len(scores) / 2, [], (times_s, scores))["line"]
    points = re.findall(r"([\d.]+) ([\d.]+)H([\d.]+)", line)
    assert len(points) <= 1000
    heights = [100 - float(y) for _, y, _ in points]
    assert max(heights) == pytest.approx(95 if max(scores) else 0, abs=0.01)
    assert float(points[-1][2]) == 1000
