"""The choice of a reel's parts: limits hold, days and inputs are spread, nothing is in twice."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.reel_exclusion import ReelPart
from vidsum.summary.reel_parts import (
    _MOST_PARTS,
    ReelInput,
    _bounded,
    _candidates,
    best_part,
    choose_parts,
    clip_input,
    photograph_input,
)
from vidsum.summary.speech_units import SpokenParts
from vidsum.types import FloatArray, Interval

EXTRACTOR = "efficientnet_lite0"


def look(number: int, size: int = 64) -> FloatArray:
    """Return a feature that is like no other number's."""
    row = np.full(size, 0.01, np.float32)
    row[number % size] = 1
    return row


def part(
    number: int, start_s: float, length_s: float, importance: float = 0.0, spoken: float = 0.0
) -> ReelPart:
    return ReelPart(start_s, start_s + length_s, importance, 1, spoken, look(number))


def source(*parts: ReelPart, day: str = "") -> ReelInput:
    return ReelInput(parts, np.stack([part.look for part in parts]), day=day)


def test_length_of_a_part_is_from_its_start_to_its_end() -> None:
    assert part(0, 2.0, 3.0).length_s == 3.0


@given(st.integers(0, 2**32 - 1), st.floats(3, 60))
def test_limits_hold(seed: int, budget_s: float) -> None:
    draw = np.random.default_rng(seed)
    inputs = [
        source(
            *(
                part(
                    int(draw.integers(12)),
                    float(draw.uniform(0, 30)),
                    float(draw.uniform(2, 5)),
                    float(draw.normal()),
                    float(draw.choice([0, 0, 1])),
                )
                for _ in range(draw.integers(1, 6))
            ),
            day=f"2024-07-{draw.integers(10, 13)}",
        )
        for _ in range(draw.integers(1, 9))
    ]
    chosen = choose_parts(inputs, EXTRACTOR, budget_s, 5.0)
    assert sum(made.end_s - made.start_s for made in chosen) <= budget_s + 1e-6
    assert [(made.source, made.start_s) for made in chosen] == sorted(
        (made.source, made.start_s) for made in chosen
    )
    for number, given_parts in enumerate(inputs):
        mine = [made for made in chosen if made.source == number]
        spans = {(known.start_s, known.end_s): known for known in given_parts.parts}
        silent = [made for made in mine if not spans[made.start_s, made.end_s].spoken]
        assert sum(made.end_s - made.start_s for made in silent) <= 5.0 + 1e-6
        for before, after in pairwise(mine):
            assert after.start_s >= before.end_s


def test_every_day_is_shown() -> None:
    inputs = [source(part(number, 0, 3, importance=2.0), day="2024-07-13") for number in range(8)]
    inputs += [source(part(20, 0, 3, importance=-1.0), day="2024-07-14")]
    chosen = choose_parts(inputs, EXTRACTOR, 12.0, 5.0)
    assert chosen[-1].source == 8
    assert chosen[-1].reason == "time"


def some_inputs(seed: int) -> list[ReelInput]:
    draw = np.random.default_rng(seed)
    return [
        source(
            *(
                part(int(draw.integers(40)), 6.0 * place, float(draw.uniform(2, 5)), float(draw.normal()))
                for place in range(draw.integers(1, 6))
            ),
            day=f"2024-07-{draw.integers(10, 13)}",
        )
        for _ in range(draw.integers(2, 9))
    ]


def used_s(inputs: list[ReelInput], budget_s: float, most_s: float | None = 5.0) -> float:
    return sum(made.end_s - made.start_s for made in choose_parts(inputs, EXTRACTOR, budget_s, most_s))


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 100.0), st.sampled_from([5.0, 12.0, None]))
def test_more_budget_than_the_reel_uses_changes_nothing(
    seed: int, factor: float, most_s: float | None
) -> None:
    inputs = some_inputs(seed)
    longest_s = used_s(inputs, 1e5, most_s)
    assert used_s(inputs, longest_s / 0.9 * factor + 1e-6, most_s) == longest_s
    assert used_s(inputs, longest_s / (1 + factor), most_s) <= longest_s


def test_speech_of_one_input_has_half_of_the_budget() -> None:
    talk = source(
        part(0, 0.0, 8, spoken=1.0),
        part(1, 10.0, 8, spoken=1.0),
        part(2, 20.0, 8, spoken=1.0),
        part(3, 30.0, 8, spoken=1.0),
    )
    others = [source(part(10 + number, 0, 4)) for number in range(3)]
    chosen = choose_parts([talk, *others], EXTRACTOR, 30.0, 5.0)
    assert sum(made.end_s - made.start_s for made in chosen if made.source == 0) == 8
    assert len(choose_parts([talk], EXTRACTOR, 30.0, 5.0)) == 3


def test_reasons_tell_segments_apart() -> None:
    inputs = [source(part(number, 0, 3), day="2024-07-13") for number in range(8)]
    inputs[2] = source(part(2, 0, 3, importance=3.0), day="2024-07-13")
    inputs[5] = source(part(5, 0, 3, spoken=1.0), day="2024-07-13")
    inputs.append(source(part(20, 0, 3), day="2024-07-14"))
    reasons = [made.reason for made in choose_parts(inputs, EXTRACTOR, 60.0, 5.0)]
    assert (reasons[2], reasons[5], reasons[8]) == ("importance", "speech", "time")


def test_speech_is_no_reason_where_nobody_speaks() -> None:
    shown = [part(number, 0, 3, importance=float(number)) for number in range(4)]
    inputs = [source(made, day="2024-07-13") for made in shown]
    reasons = [made.reason for made in choose_parts(inputs, EXTRACTOR, 60.0, 5.0)]
    assert "speech" not in reasons


def test_of_two_alike_the_better_is_taken() -> None:
    inputs = [source(part(1, 0, 3)), source(part(1, 0, 3, importance=1.0)), source(part(2, 0, 3))]
    assert [made.source for made in choose_parts(inputs, EXTRACTOR, 6.0, 5.0)] == [1, 2]


def test_a_clip_of_a_few_frames_is_no_flash_in_the_film() -> None:
    inputs = [source(part(1, 0, 0.1, importance=9.0)), source(part(2, 0, 3))]
    assert [made.source for made in choose_parts(inputs, EXTRACTOR, 30.0, 5.0)] == [1]
    assert choose_parts(inputs[:1], EXTRACTOR, 30.0, 5.0) == []


def test_speech_may_be_longer_than_five_seconds() -> None:
    inputs = [source(part(1, 0, 4), part(1, 10, 12, spoken=1.0)), source(part(2, 0, 3))]
    chosen = choose_parts(inputs, EXTRACTOR, 30.0, 5.0)
    assert (10, 22) in [(made.start_s, made.end_s) for made in chosen]


def test_a_photograph_is_one_part() -> None:
    (made,) = choose_parts([photograph_input(look(1), 3.0)], EXTRACTOR, 10.0, 5.0)
    assert (made.start_s, made.end_s) == (0.0, 3.0)


@pytest.mark.parametrize("count", [1, 3])
def test_photographs_may_be_longer_than_what_is_taken_of_a_clip(count: int) -> None:
    inputs = [photograph_input(look(number), 10.0) for number in range(count)]
    chosen = choose_parts(inputs, EXTRACTOR, 30.0, 5.0)
    assert [made.source for made in chosen] == list(range(count))


def test_nothing_fits() -> None:
    assert choose_parts([photograph_input(look(1), 3.0)], EXTRACTOR, 2.0, 5.0) == []


def shots_of(number: int, n_shots: int, per_shot: int) -> ReelInput:
    """Return a clip of shots of 10 s, the first the best, each with windows that overlap."""
    parts = [
        replace(part(number * n_shots + shot, 10.0 * shot + window / 2, 3), importance=float(-shot))
        for shot in range(n_shots)
        for window in range(per_shot)
    ]
    return source(*parts)


def test_parts_of_many_clips_are_bounded() -> None:
    """Of each clip, parts of all its shots compete, not only those of the best shot."""
    inputs = [shots_of(number, 6, 6) for number in range(160)]
    parts = [(number, made) for number, clip in enumerate(inputs) for made in clip.parts]
    bounded = _bounded(parts)
    assert len(bounded) <= _MOST_PARTS < len(parts)
    for number in range(160):
        mine = [made for source_number, made in bounded if source_number == number]
        assert {int(made.start_s // 10) for made in mine} == {*range(6)}
    few = parts[:_MOST_PARTS]
    assert _bounded(few) == few


def test_each_of_very_many_inputs_competes() -> None:
    inputs = [(number, part(number, 0.0, 3.0)) for number in range(_MOST_PARTS + 9)]
    assert _bounded(inputs) == inputs


def test_a_clip_with_few_parts_leaves_room_for_others() -> None:
    parts = [(0, part(0, 0.0, 3.0))]
    parts += [(1, part(number, 4.0 * number, 3.0)) for number in range(2 * _MOST_PARTS)]
    bounded = _bounded(parts)
    assert [number for number, _ in bounded].count(0) == 1
    assert len(bounded) == _MOST_PARTS


@pytest.mark.parametrize(
    "better",
    [part(1, 5, 3, importance=0.5), part(1, 5, 3, spoken=1.0), part(1, 5, 4)],
    ids=["more important", "spoken", "longer"],
)
def test_best_part_has_the_highest_value(better: ReelPart) -> None:
    assert best_part(source(part(0, 0, 3), better, part(2, 9, 3))) == (better.start_s, better.end_s)


def rising_clip(uncut: list[Interval], voices: list[Interval]) -> ReelInput:
    """A clip of 10 s whose importance rises."""
    return clip_input(
        Features.from_array(np.eye(20), 2.0, video_fps=10.0),
        Shots(np.array([0.0, 10.0]), "test", video_fps=10.0),
        np.linspace(0.1, 0.9, 20).astype(np.float32),
        1.0,
        speech=SpokenParts(),
        uncut=uncut,
        voices=[voices],
        longest_s=3.0,
    )


def test_best_part_of_a_clip_without_places_to_cut_may_be_its_end() -> None:
    made = rising_clip([(0.0, 10.0)], [])
    assert max(made.parts, key=lambda part: part.importance).end_s == 10.0


def test_a_voice_is_not_cut_where_there_is_a_place() -> None:
    made = rising_clip([], [(0.0, 6.0)])
    assert min(part.start_s for part in made.parts) >= 6.0


def test_where_voices_leave_no_place_fades_are_not_cut() -> None:
    made = rising_clip([(2.0, 6.0)], [(0.0, 10.0)])
    assert not [part for part in made.parts if 2.0 < part.start_s < 6.0 or 2.0 < part.end_s < 6.0]


def test_looks_of_every_input_weigh_the_same_together() -> None:
    many, single = part(1, 0, 3), part(2, 0, 3)
    inputs = [ReelInput((many,), np.stack([many.look] * 4)), ReelInput((single,), single.look[None])]
    looks = _candidates(inputs, [(0, many), (1, single)], EXTRACTOR).looks
    assert looks[0, :4].sum() == pytest.approx(looks[1, 4:].sum(), rel=1e-5)


def test_part_of_an_important_input_is_worth_more_than_its_equal() -> None:
    parts = [part(number, 0, 3, importance=0.1) for number in range(2)]
    inputs = [replace(source(made), importance=float(number)) for number, made in enumerate(parts)]
    plain, important = _candidates(inputs, [*enumerate(parts)], EXTRACTOR).values
    assert important > plain
