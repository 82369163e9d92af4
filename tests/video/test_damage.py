"""Damage in words."""

from dataclasses import replace

import pytest

from tests.media import video_info
from vidsum.video.damage import DecodeLog, _percent, describe_damage, pictures_end_s

INFO = video_info("clip.mp4", duration_s=30.0, fps=24.0)


@pytest.mark.parametrize(
    ("part", "percent"),
    [(0, "0 %"), (1, "0.1 %"), (10, "1 %"), (990, "99 %"), (999, "99.9 %")],
)
def test_percentage_has_a_decimal_below_1_and_above_99(part: int, percent: str) -> None:
    assert _percent(part, 1000) == percent


def test_percentage_is_100_for_the_whole_alone() -> None:
    assert (_percent(9999, 10_000), _percent(10_000, 10_000)) == ("99.9 %", "100 %")


def test_percentage_is_0_for_nothing_alone() -> None:
    assert (_percent(1, 10_000), _percent(0, 10_000)) == ("0.1 %", "0 %")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"longest_gap_s": 1 / 24}, None),
        ({"packets": 1440, "longest_gap_s": 1 / 24}, None),  # a packet for each field
        (
            {"packets": 331, "frames": 331, "end_s": 331 / 24, "longest_gap_s": 1 / 24},
            "331 of 720 frames decoded (46 %); the rest, 16.21 s, is damaged or missing",
        ),
        (
            {"frames": 719, "errors": 1},
            "719 of 720 frames decoded (99.8 %); the rest, 0.04 s, is damaged or missing",
        ),
        (
            {"frames": 719, "damaged": 189, "errors": 1},
            "719 of 720 frames decoded (99.8 %), 189 of them damaged; the rest, 0.04 s, is damaged or "
            "missing",
        ),
        (
            {"packets": 0, "frames": 700, "longest_gap_s": 21 / 24},
            "700 of 720 frames decoded (97 %); the rest, 0.83 s, is damaged or missing",
        ),
        ({"damaged": 189}, "189 of 720 frames (26 %, 7.88 s) are damaged"),
        ({"packets": 900, "frames": 900, "damaged": 9}, "9 of 900 frames (1 %, 0.38 s) are damaged"),
        ({"damaged": 1}, "1 of 720 frames (0.1 %, 0.04 s) is damaged"),
    ],
    ids=[
        "whole",
        "fields",
        "cut off",
        "one lost",
        "lost and damaged",
        "gap",
        "damaged",
        "more than expected",
        "one damaged",
    ],
)
def test_lost_and_damaged_frames_are_counted_in_words(counts: dict[str, float], message: str | None) -> None:
    log = DecodeLog(**{"packets": 720, "frames": 720, "end_s": 30.0, **counts})
    assert describe_damage(INFO, log) == message


@pytest.mark.parametrize(("decoded_s", "end_s"), [(331 / 24, 331 / 24), (29.99, 30.0), (30.0, 30.0)])
def test_pictures_end_where_decoding_stopped_early(decoded_s: float, end_s: float) -> None:
    assert pictures_end_s(INFO, DecodeLog(packets=720, frames=720, end_s=decoded_s)) == end_s


def test_gap_in_a_varying_rate_is_no_damage() -> None:
    log = DecodeLog(frames=700, end_s=30.0, longest_gap_s=21 / 24)
    assert describe_damage(replace(INFO, is_vfr=True), log) is None
