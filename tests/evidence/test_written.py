"""Where a query is written, by exact words, near ones, and by the meaning of lines."""

from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.evidence.passages import EncodedPassages
from vidsum.evidence.protocol import encode_queries
from vidsum.evidence.written import OTHER_NUMBER, Written, find_written, split_words, to_passages
from vidsum.results.moments import Moment
from vidsum.results.screen_text import ScreenLine, ScreenText


def text_moments(queries: list[str], text: ScreenText, most: int) -> list[list[Moment]]:
    """The moments of each query."""
    written = Written.of(text)
    return [[found.moment for found in written.search(query, most)] for query in encode_queries(queries)]


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stub, "takings" means what lines with "Revenue" do."""

    def encode(texts: list[str]) -> np.ndarray:
        return np.array([["Revenue" in text or text == "takings", True] for text in texts]) / np.sqrt(2)

    stub = SimpleNamespace(encode=encode)
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: stub)
    monkeypatch.setattr("vidsum.evidence.passages.DIM", 2)


def set_evidence(monkeypatch: pytest.MonkeyPatch, of_text: dict[str, float], other: float) -> None:
    """Let passages fit any query by what their texts are."""
    monkeypatch.setattr(
        EncodedPassages,
        "score",
        lambda self, _: np.array([of_text.get(part.text, other) for part in self.passages], np.float32),
    )


def made(*lines: tuple[float, float, str]) -> ScreenText:
    """Lines below each other, all sure."""
    boxes = [(0.1, 0.1 * row, 0.9, 0.1 * row + 0.08) for row in range(len(lines))]
    placed = (ScreenLine(*line, 1.0, box) for line, box in zip(lines, boxes, strict=True))
    return ScreenText((*placed,), 100.0, 1)


SLIDES = made(
    (0, 20, "Quarterly results"),
    (0, 100, "ACME Corp."),
    (20, 40, "Revenue grew by 12 %"),
    (25, 40, "in the third quarter"),
    (40, 60, "Überblick: Größe der Märkte"),
    (60, 80, "季度业绩报告"),
)


@pytest.mark.parametrize(
    ("query", "spans"),
    [
        ("quarterly results", [(0, 20)]),
        ("results, quarterly", [(0, 20)]),
        ("Acme", [(0, 100)]),
        ("revenue third quarter", [(25, 40)]),  # in two lines, while both are there
        ("grosse der markte", [(40, 60)]),
        ("quartely resutls", [(0, 20)]),
        ("revenue grew by 13", []),  # numbers are exact
        ("业绩", [(60, 80)]),
        ("result", [(0, 20)]),
        ("cat", []),
        ("...", []),
    ],
)
def test_words_are_found(query: str, spans: list[tuple[float, float]]) -> None:
    assert [(part.start_s, part.end_s) for part in find_written(query, SLIDES)] == spans


def test_exact_words_are_likelier_than_others() -> None:
    phrase, words, near = (
        find_written(query, SLIDES)[0].present
        for query in ("quarterly results", "results quarterly", "quartely results")
    )
    assert 1 > phrase > words > near > 0.6


def test_exact_words_come_before_surer_ones_with_differences() -> None:
    exact = ScreenLine(0, 5, "Gradient descent", 0.7, (0, 0, 1, 0.1))
    near = ScreenLine(10, 15, "Gradlent descent", 1.0, (0, 0, 1, 0.1))
    first, second = text_moments(["gradient descent"], ScreenText((near, exact), 20.0, 1), 2)[0]
    assert (first.start_s, first.is_quoted) == (0, True)
    assert (second.start_s, second.is_quoted) == (10, False)


def test_unsure_lines_are_less_likely() -> None:
    line = ScreenLine(0, 5, "Exit 12", 0.7, (0, 0, 1, 1))
    assert find_written("exit 12", ScreenText((line,), 5.0, 1))[0].present == pytest.approx(0.98 * 0.7)


def test_words_have_no_accents_and_wide_letters_stand_alone() -> None:
    assert split_words("Größe: ÉTÉ 12,5") == ["grosse", "ete", "12", "5"]
    assert split_words("报告 v2") == ["报", "告", "v2"]
    assert split_words("$1,250,000 in 2.500 parts, 1,25") == ["1250000", "in", "2500", "parts", "1", "25"]


def test_passages_are_lines_and_screens() -> None:
    passages = to_passages(made((0, 9, "Results"), (3, 9, "of 2024"), (3, 5, "42")))
    assert [passage.text for passage in passages] == ["Results", "Results of 2024 42", "Results of 2024"]


def test_another_number_is_not_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = made((0, 9, "Room 204"), (10, 19, "Rooms of the house"))
    set_evidence(monkeypatch, {"Room 204": 0.9}, 0.7)
    other, house = text_moments(["room 205"], rooms, 3)[0]
    assert (other.present, house.present) == pytest.approx((OTHER_NUMBER, OTHER_NUMBER))
    assert (text_moments(["room 204"], rooms, 3)[0][0].present or 0) > 0.9


def test_written_words_come_before_meaning() -> None:
    meant, written = text_moments(["takings", "acme"], SLIDES, 5)
    assert (meant[0].start_s, meant[0].end_s, meant[0].score < 1) == (20, 40, True)
    assert (written[0].start_s, written[0].end_s, written[0].score > 1) == (0, 100, True)
    assert all(moment.score < 1 for moment in written[1:])
    for moments in (meant, written):
        assert {moment.evidence for moment in moments} == {"text"}
        scores = [moment.score for moment in moments]
        assert scores == sorted(scores, reverse=True)


def test_screens_inside_a_better_line_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    deck = made((0, 30, "Glaciers"), (5, 30, "Ice flows"), (12, 30, "Basal sliding"))
    scores = {"Glaciers": 0.9, "Glaciers Ice flows": 0.8, "Glaciers Ice flows Basal sliding": 0.7}

    set_evidence(monkeypatch, scores, 0.6)
    for query in ("ice sheets", "glaciers"):  # by meaning, and as it is written
        spans = [(moment.start_s, moment.end_s) for moment in text_moments([query], deck, 9)[0]]
        assert spans == [(0, 30)]
    scores["Glaciers Ice flows"] = 0.95
    spans = [(moment.start_s, moment.end_s) for moment in text_moments(["ice sheets"], deck, 9)[0]]
    assert spans == [(5, 12), (0, 30)]


def test_no_text_has_no_moments() -> None:
    assert text_moments(["a", "b"], made(), 5) == [[], []]
