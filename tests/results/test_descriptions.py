"""Descriptions of a video by their times, and as subtitles."""

import pytest

from vidsum.results.descriptions import Description, Descriptions

DESCRIBED = Descriptions(
    (Description(1.0, 4.0, "a bird", 0.9), Description(4.0, 6.0, "snow <now>", 0.8)), "words", 10.0
)


@pytest.mark.parametrize(
    ("time_s", "text"), [(0.9, None), (1.0, "a bird"), (3.9, "a bird"), (4.0, "snow <now>"), (6.0, None)]
)
def test_description_of_a_time_begins_at_its_start_and_ends_before_its_end(
    time_s: float, text: str | None
) -> None:
    assert DESCRIBED.at(time_s) == text


def test_descriptions_are_read_back_from_their_document() -> None:
    assert Descriptions.from_dict(DESCRIBED.to_dict()) == DESCRIBED


def test_descriptions_are_subtitles() -> None:
    assert DESCRIBED.as_text("srt").startswith("1\n00:00:01,000 --> 00:00:04,000\na bird\n")
    assert "snow &lt;now&gt;" in DESCRIBED.as_text("vtt")
