"""Lines of pictures, read by PP-OCR's networks: which way up, what is left out, and RapidOCR's own lines."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.conftest import deep, deep_but, real_weights
from tests.features.text_pictures import draw, draw_arc, draw_stack
from vidsum.features.text_reader import CHECKPOINT, TextReader, is_legible, load_reader, reader_facts
from vidsum.results.screen_text import ScreenLine
from vidsum.types import Picture

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def reader() -> TextReader:
    real_weights(CHECKPOINT)
    return load_reader()


def texts(reader: TextReader, picture: Picture) -> list[str]:
    return [line.text for line in reader.read(picture)]


@pytest.mark.parametrize("angle", deep_but([0, 270], range(0, 360, 45)))
def test_turned_text_is_read(reader: TextReader, angle: int) -> None:
    assert texts(reader, draw("Quarterly sales", angle=angle, shape=(640, 640))) == ["Quarterly sales"]


@pytest.mark.deep
def test_picture_on_its_head_is_read(reader: TextReader) -> None:
    picture = np.concatenate(
        [draw(text, shape=(120, 640)) for text in ("Sound of music", "Sound", "Editing")]
    )
    assert sorted(texts(reader, picture[::-1, ::-1])) == ["Editing", "Sound", "Sound of music"]


@pytest.mark.parametrize(("angle", "is_downwards"), [(270, True), deep(90, False)], ids=["down", "up"])
def test_boxes_of_turned_words_are_their_places(reader: TextReader, angle: int, is_downwards: bool) -> None:
    (line,) = reader.read(draw("Harbour Street", angle=angle, shape=(640, 640)))
    assert [word.text for word in line.words] == ["Harbour", "Street"]
    upper, lower = line.words if is_downwards else reversed(line.words)
    assert upper.box[3] < lower.box[1] + 0.02


def test_mirrored_text_is_seen_but_not_read(reader: TextReader) -> None:
    assert texts(reader, draw("Quarterly results of 2024")[:, ::-1]) == [""]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("text", "size", "pitch"),
    [("taxi", 48, 60), deep("HOTEL", 40, 48), deep("PARKING", 32, 40), deep("CINEMA", 40, 55)],
)
def test_stacked_letters_are_a_word_or_none(reader: TextReader, text: str, size: int, pitch: int) -> None:
    assert texts(reader, draw_stack(text, size, pitch)) in ([text], [""])


@pytest.mark.deep
def test_stacked_capitals_are_a_word(reader: TextReader) -> None:
    (line,) = reader.read(draw_stack("HOTEL", 40, 48))
    assert [word.text for word in line.words] == ["HOTEL"]
    assert line.box[3] - line.box[1] > 0.5


@pytest.mark.parametrize(
    "text", [deep("♪ Are you going home ♪"), "♫ Are you going home ♫", deep("♪ Are you going home")]
)
@pytest.mark.parametrize(("ink", "paper"), [(255, 10), deep(230, 70)])
def test_notes_of_music_are_no_letters(reader: TextReader, text: str, ink: int, paper: int) -> None:
    (read,) = texts(reader, draw(text, ink=ink, paper=paper, size=28))
    assert read.strip("♪♫ ") == "Are you going home"


@pytest.mark.parametrize("text", ["Plan J", deep("S is for summer"), deep("5 days left")])
def test_letters_that_look_like_notes_stay(reader: TextReader, text: str) -> None:
    assert texts(reader, draw(text)) == [text]


@pytest.mark.parametrize("levels", [10, deep(12), deep(20)])
def test_faint_text_is_read(reader: TextReader, levels: int) -> None:
    assert texts(reader, draw("Invoice number 4711", ink=128 + levels, paper=128)) == ["Invoice number 4711"]


@pytest.mark.parametrize(
    "text", ["КОНЕЦ ФИЛЬМА", *map(deep, ("Привет как дела", "Ελληνικά κείμενα εδώ", "שלום עולם טוב"))]
)
def test_other_scripts_are_seen_but_not_read(reader: TextReader, text: str) -> None:
    assert texts(reader, draw(text)) == [""]


@pytest.mark.deep
def test_curved_text_is_seen(reader: TextReader) -> None:
    read = texts(reader, draw_arc("COPACABANA BEACH BAR"))
    assert "" in read
    assert set(read) <= {"", "COPACABANA", "BEACH", "BAR"}


@pytest.mark.deep
def test_line_is_read_the_same_beside_others(reader: TextReader) -> None:
    alone = texts(reader, draw("Total 3,410 km", shape=(200, 640)))
    both = np.concatenate(
        [draw("Total 3,410 km", shape=(200, 640)), draw("A much longer line of it", shape=(200, 640))]
    )
    assert alone[0] in texts(reader, both)


@pytest.fixture(scope="module")
def report(reader: TextReader) -> list[ScreenLine]:
    """Two lines of a report, one below the other."""
    picture = [draw(text, shape=(120, 640)) for text in ("Quarterly results", "Revenue 12,500")]
    return list(reader.read(np.concatenate(picture)))


def test_lines_are_read_from_top_to_bottom(report: list[ScreenLine]) -> None:
    assert [line.text for line in report] == ["Quarterly results", "Revenue 12,500"]
    assert report[0].box[3] < report[1].box[1] + 0.02


def test_lines_that_are_clear_are_sure(report: list[ScreenLine]) -> None:
    assert min(line.confidence for line in report) > 0.9


def test_boxes_of_lines_are_shares_of_the_picture(report: list[ScreenLine]) -> None:
    assert all(0 <= line.box[0] < line.box[2] <= 1 for line in report)


def test_line_has_its_words_side_by_side(report: list[ScreenLine]) -> None:
    first, second = report[0].words
    assert (first.text, second.text) == ("Quarterly", "results")
    assert first.box[2] <= second.box[0] + 0.02


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((360, 640, 3), np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        np.random.default_rng(0).integers(0, 255, (240, 320, 3), dtype=np.uint8),
    ],
    ids=["black", "pixel", "noise"],
)
def test_picture_without_text_has_none(reader: TextReader, picture: Picture) -> None:
    assert reader.read(picture) == []


def test_facts_of_the_reader_name_its_checkpoint(reader: TextReader) -> None:
    package, sha256 = reader_facts()
    assert (package, len(sha256)) == (CHECKPOINT, 64)


@pytest.mark.parametrize(
    ("text", "confidence", "is_kept"),
    [("a", 0.9, False), ("7", 0.97, True), ("ok", 0.75, True), ("ok", 0.6, False), ("--", 0.99, False)],
)
def test_short_text_must_be_surer_to_be_legible(text: str, confidence: float, is_kept: bool) -> None:
    assert is_legible(ScreenLine(0, 1, text, confidence, (0.0, 0.0, 1.0, 1.0))) == is_kept


def frames(count: int) -> Iterator[Picture]:
    """Varied screens: sizes, contrasts, signs and languages."""
    rng = random.Random(0)
    words = [
        "Invoice",
        "total",
        "north",
        "river",
        "café",
        "Grüße",
        "12.5%",
        "9:45",
        "committee",
        "signal",
        "harvest",
        "Platform",
    ]
    for _ in range(count):
        rows, size = rng.randint(1, 6), rng.choice([16, 20, 28, 36])
        ink, paper = rng.choice([(20, 240), (240, 20), (90, 200), (200, 60)])
        lines = [" ".join(rng.sample(words, 3)) for _ in range(rows)]
        parts = [draw(line, size=size, ink=ink, paper=paper, shape=(100, 960)) for line in lines]
        blank = np.full((540 - 100 * min(rows, 5), 960, 3), paper, np.uint8)
        yield np.concatenate([*parts[:5], blank])


@pytest.mark.deep
def test_lines_are_those_of_rapidocr(reader: TextReader) -> None:
    """Compare 50 frames; one line in a hundred may differ, as RapidOCR pads lines in another way."""
    rapidocr = pytest.importorskip("rapidocr")
    options = {"Global.log_level": "critical", "Global.use_cls": False, "Global.text_score": 0.7}
    engine = rapidocr.RapidOCR(params=options)
    equal = total = 0
    for picture in frames(50):
        result = engine(np.ascontiguousarray(picture[..., ::-1]))
        expected = [" ".join(text.split()) for text in result.txts or ()]
        read = texts(reader, picture)
        equal += sum(text in read for text in expected)
        total += len(expected)
    assert total > 100
    assert equal >= 0.99 * total
