"""The content of the report page, without a browser."""

import io
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

import vidsum
from tests.media import make_video, read_number
from tests.results.made import EVIL, QUOTED, of_features, results, texts
from vidsum.errors import UsageError
from vidsum.outputs.bundle import write_report
from vidsum.outputs.pages import PageResult, report_text
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


def test_texts_of_a_page_are_no_elements(page: Path, film: Path) -> None:
    content = parse(page.read_text())
    assert len(content.all("script")) == 1
    assert {QUOTED, EVIL, film.name} <= set(content.texts)
    assert content.all("b") == [{}] * 8  # the times of eight cards


def test_texts_of_a_page_are_no_attributes(page: Path) -> None:
    content = parse(page.read_text())
    assert [section["data-query"] for section in content.all("section", "query")] == ["a bird", EVIL, QUOTED]
    assert all("onerror" not in attributes for _, attributes in content.elements)


def test_page_needs_no_network(page: Path) -> None:
    content = parse(page.read_text())
    attributes = [pair for _, pairs in content.elements for pair in pairs.items()]
    places = [value for name, value in attributes if name in ("src", "href")]
    assert not [place for place in places if place and re.match(r"(https?:)?//", place)]


def test_page_forbids_the_network(page: Path) -> None:
    content = parse(page.read_text())
    (policy,) = [meta["content"] for meta in content.all("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in (policy or "")
    assert "http" not in (policy or "")


def test_page_plays_the_film_from_its_folder(page: Path, film: Path) -> None:
    (video,) = parse(page.read_text()).all("video")
    assert (page.parent / unquote(video["src"] or "")).resolve() == film


def test_cards_of_a_page_have_the_times_of_their_segments(page: Path) -> None:
    cuts = parse(page.read_text()).all("a", "cut")
    spans = [(4, 6), (8, 9), (6, 7.5), (1, 2), (3, 4), (4, 5), (0, 3), (3, 10)]
    assert [(float(cut["data-start"] or 0), float(cut["data-end"] or 0)) for cut in cuts] == spans
    assert [(cut["href"] or "").rpartition("#")[2] for cut in cuts[:2]] == ["t=4.0,6.0", "t=8.0,9.0"]


def test_pictures_of_a_page_are_the_best_of_their_segments(page: Path) -> None:
    numbers = []
    for image in parse(page.read_text()).all("img"):
        jpeg = b64decode((image["src"] or "").removeprefix("data:image/jpeg;base64,"))
        numbers.append(read_number(np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))))
    times = (4.5, 8.5, 6.75, 1.5, 3.5, 4.5, 1.5, 6.5)  # the highest sample, the later of two, or the middle
    assert numbers == [int(time * 25) for time in (1, 3, 5, 7, 9, *times)]


def test_headlines_of_a_page_count_its_results(page: Path) -> None:
    lines = {"Summary: 0:03.00 of 0:10.00 in 2 segments", "3 moments of 3 queries", "1 highlight", "2 shots"}
    assert lines <= set(parse(page.read_text()).texts)


def test_queries_of_a_page_have_model_match_and_moments(page: Path) -> None:
    lines = {"by similarity (space vse)", "match 90 %", "what is said", "No moments."}
    lines |= {"1.5 s, score 2.00, speech", "1.0 s, score 1.00, picture"}
    assert lines <= set(parse(page.read_text()).texts)


def test_page_has_the_settings_of_its_results(page: Path) -> None:
    assert {"summary › model", "'><b>x", "default"} <= set(parse(page.read_text()).texts)


def test_page_has_the_warnings_of_its_results(page: Path) -> None:
    assert parse(page.read_text()).texts.count(EVIL) == 1 + 4  # a query, and a warning of each result


@pytest.fixture(scope="module")
def batch(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The page of results of two films, and of shots from features only."""
    folder = tmp_path_factory.mktemp("batch")
    make_video(folder / "other.mp4", n_frames=250)
    several = [*results(film)[:2], results(folder / "other.mp4")[0], of_features()]
    return parse(report_text(several, folder / "all.html")[0])


def test_page_of_a_batch_has_each_film_once(batch: Parsed) -> None:
    assert len(batch.all("video")) == 2
    names = ("3 videos", "other.mp4", "features_shots")
    assert [text for text in batch.texts if text in names] == ["3 videos", *names, *names[1:]]


def test_page_of_a_batch_begins_with_links_to_its_parts(batch: Parsed) -> None:
    anchors = [link["href"] for link in batch.all("a") if (link["href"] or "").startswith("#")]
    assert anchors == [f"#{article['id']}" for article in batch.all("article")]
    assert len(anchors) == 4


def test_page_of_the_same_results_is_the_same(film: Path, tmp_path: Path) -> None:
    documents = results(film)
    assert report_text(documents, tmp_path / "a.html") == report_text(documents, tmp_path / "a.html")


def test_page_of_a_missing_video_has_its_segments_and_a_warning(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    make_video(film, n_frames=250)
    documents = results(film)
    film.unlink()
    text, warnings = report_text(documents, tmp_path / "report.html")
    content = parse(text)
    assert (content.all("video"), content.all("img"), content.all("a", "cut")) == ([], [], [])
    assert len(content.all("span", "cut")) == 8
    assert [str(film) in warning for warning in warnings] == [True]


def test_page_of_features_is_refused(tmp_path: Path) -> None:
    features = Features.from_array(np.zeros((4, 2), np.float32), fps=1.0)
    with pytest.raises(UsageError, match="not Features"):
        write_report(features, tmp_path / "page.html")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def page_with_texts(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The page of a summary, of what is said and of descriptions."""
    return parse(page_of(film, tmp_path_factory.mktemp("texts"), texts(film)))


def test_speech_is_captions_and_descriptions_are_subtitles(page_with_texts: Parsed) -> None:
    tracks = {track["kind"]: track["srclang"] for track in page_with_texts.all("track")}
    assert tracks == {"captions": "en", "subtitles": "en"}


def test_captions_have_the_times_of_speech(page_with_texts: Parsed) -> None:
    source = next(track["src"] or "" for track in page_with_texts.all("track") if track["kind"] == "captions")
    captions = b64decode(source.removeprefix("data:text/vtt;base64,")).decode()
    assert "00:00:01.000 --> 00:00:02.500\n&lt;b&gt; hello" in captions


def test_page_has_the_texts(page_with_texts: Parsed) -> None:
    assert {"Transcript", "Descriptions", "<b> hello", "a bird"} <= set(page_with_texts.texts)


def test_page_without_texts_has_no_captions(film: Path, tmp_path: Path) -> None:
    assert parse(page_of(film, tmp_path, [])).all("track") == []


def test_page_finds_the_transcript_of_its_film(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    make_video(film, n_frames=250)
    vidsum.write_json(texts(film)[0], tmp_path / "film_transcript.json")
    (_, summary) = results(film)[0]
    content = parse(report_text([(str(tmp_path / "any.json"), summary)], tmp_path / "page.html")[0])
    assert len(content.all("track")) == 1
    label = next(label for label in content.texts if label.endswith((" pictures", " shots")))
    assert label.endswith(" pictures")


def test_page_of_a_transcript_has_its_title_captions_and_pictures(film: Path, tmp_path: Path) -> None:
    assert write_report(texts(film)[0], tmp_path / "said.html", title="A <talk>") == ()
    content = parse((tmp_path / "said.html").read_text())
    assert content.texts.count("A <talk>") == 2
    assert (len(content.all("track")), content.all("a", "cut")) == (1, [])
    assert len(content.all("img")) == 11  # and one of the text


def test_page_of_a_transcript_without_a_video_has_no_player(film: Path, tmp_path: Path) -> None:
    write_report(replace(texts(film)[0], video=None), tmp_path / "said.html")
    assert parse((tmp_path / "said.html").read_text()).all("video") == []


def page_of_queries(film: Path, folder: Path, count: int) -> Parsed:
    """The page of so many queries, of three different ones."""
    (_, grounding) = results(film, with_saliency=True)[1]
    assert isinstance(grounding, Grounding)
    many = replace(grounding, queries=tuple(islice(cycle(grounding.queries), count)))
    return parse(report_text([("one.json", many)], folder / "page.html")[0])


def test_chart_has_curves_of_six_queries_at_most(film: Path, tmp_path: Path) -> None:
    content = page_of_queries(film, tmp_path, 7)
    assert [len(content.all("path", f"key-{number}")) for number in range(1, 8)] == [1] * 6 + [0]
    assert "and 1 more, below" in content.texts


def test_chart_of_one_query_has_no_key(film: Path, tmp_path: Path) -> None:
    assert not page_of_queries(film, tmp_path, 1).all("path", "key-1")


def test_nested_moments_have_different_pictures() -> None:
    times = np.arange(0, 10.0)
    curve = np.where(times == 5, 1.0, 0.5).astype(np.float32)
    nested = tuple(Moment(start, end, 1.0) for start, end in ((0.0, 10.0), (4.0, 7.0), (5.0, 6.0)))
    times_s = picture_times(Highlights(curve, times, 1.0, nested, 10.0, "ridge"))
    assert times_s == [[5.0, 6.0, 5.0]]  # of the last, only the same frame is known
