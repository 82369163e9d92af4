"""Reasons of a reel in words: each is true of the part that it is about."""

from dataclasses import replace

import pytest

from tests.summary.test_reel_parts import EXTRACTOR, part, source
from vidsum.summary.reel_parts import ChosenPart, ReelInput, choose_parts
from vidsum.summary.reel_reasons import describe_reasons


def chosen(number: int, start_s: float, reason: str) -> ChosenPart:
    return ChosenPart(number, start_s, start_s + 3, reason, 1.0)  # type: ignore[arg-type]


def inputs() -> list[ReelInput]:
    """Two clips of a day and one of the next; the second is the most important."""
    made = [
        source(part(0, 0, 3, importance=0.5), part(1, 10, 3), day="2024-07-13"),
        source(part(2, 0, 3), day="2024-07-13"),
        source(part(3, 0, 3), day="2024-07-14"),
    ]
    worth = (0.1, 0.9, -0.5)
    return [replace(known, importance=score) for known, score in zip(made, worth, strict=True)]


@pytest.mark.parametrize(
    ("reason", "number", "line"),
    [
        ("speech", 0, "somebody speaks"),
        ("picture", 0, "shows what no other part shows"),
        ("time", 0, "the only part of its input"),
        ("time", 2, "the only part of 14 July 2024"),
        ("importance", 1, "number 1 of 3 inputs by importance"),
        ("importance", 0, "the most important part of its clip"),
        ("importance", 2, "its importance is above the mean of the film"),
    ],
)
def test_line_of_a_reason(reason: str, number: int, line: str) -> None:
    parts = [chosen(place, 0.0, reason if place == number else "picture") for place in range(3)]
    assert describe_reasons(parts, inputs())[number] == line


def test_parts_of_a_clip_are_counted() -> None:
    parts = [chosen(0, 0.0, "picture"), chosen(0, 10.0, "speech"), chosen(1, 0.0, "picture")]
    assert describe_reasons(parts, inputs()) == [
        "shows what no other part shows; part 1 of 2 from its clip",
        "somebody speaks; part 2 of 2 from its clip",
        "shows what no other part shows",
    ]


def test_time_is_no_reason_of_the_second_part_of_a_clip() -> None:
    """Such a part is not the only one of its clip."""
    clips = []
    for number in range(4):
        parts = [part(3 * number + place, start_s=9.0 * place, length_s=3) for place in range(3)]
        clips.append(source(*parts))
    parts = choose_parts(clips, EXTRACTOR, 60.0, None)
    several = [made for made in parts if sum(other.source == made.source for other in parts) > 1]
    assert several
    assert all(made.reason != "time" for made in several)
