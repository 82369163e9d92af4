"""Actions of a live source: the frames that it is sampled for, and what the probability reads of them."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kills import SAMPLE
from tests.media import make_video, read_number
from vidsum.features.movinet import SIDE, MovementStream, classify_actions
from vidsum.grounding.actions import WEIGHT_LINE, LiveActions
from vidsum.grounding.spaces import class_probabilities
from vidsum.pipelines.watch import Second, _group_by_second, watch
from vidsum.types import Picture
from vidsum.video.frames import Sampling
from vidsum.video.live import LiveFrame, parse_source, read_live
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

SAMPLINGS = (Sampling(2.0), Sampling(5.0))
PICTURE = np.zeros((1, 1, 3), np.uint8)


def test_samples_of_each_rate_are_those_of_a_file_in_order_of_time(tmp_path: Path) -> None:
    path = make_video(tmp_path / "film.mp4", n_frames=47, fps=25, b_frames=2).path
    frames = [*read_live(parse_source(str(path)), SAMPLINGS, print)]
    times = [frame.time_s for frame in frames]
    assert times == sorted(times)
    for number, sampling in enumerate(SAMPLINGS):
        with read_frames(probe(path), [sampling]) as batch:
            expected = [(frame.time_s, read_number(frame.image)) for _, frame in batch]
        taken = [frame for frame in frames if frame.sampling == number]
        assert [(frame.time_s, read_number(frame.image)) for frame in taken] == expected


@given(st.integers(0, 40), st.integers(0, 4))
def test_a_second_ends_with_its_last_frame_of_any_rate(count: int, missing: int) -> None:
    """Whatever is missing at the beginning, as after an interruption."""
    samples = [(k / 2, 0) for k in range(2 * count)] + [(k / 5, 1) for k in range(5 * count)]
    frames = [LiveFrame(time_s, PICTURE, 0.0, number) for time_s, number in sorted(samples)[missing:]]
    seconds = [*_group_by_second(iter(frames), SAMPLINGS)]
    assert [frame for second in seconds for frame in second] == frames
    assert [{int(frame.time_s) for frame in second} for second in seconds] == [{n} for n in range(count)]


def test_a_second_is_complete_before_the_next_begins() -> None:
    given_frames = list[LiveFrame]()

    def come() -> object:
        for time_s, number in sorted([(0.0, 0), (0.5, 0), *((k / 5, 1) for k in range(6))]):
            given_frames.append(LiveFrame(time_s, PICTURE, 0.0, number))
            yield given_frames[-1]

    assert len(next(_group_by_second(come(), SAMPLINGS))) == 7  # type: ignore[arg-type]
    assert len(given_frames) == 7


def pictures(seed: int, count: int) -> list[Picture]:
    """Pictures that differ little: no cut is among them."""
    rng = np.random.default_rng(seed)
    still = rng.integers(60, 180, (SIDE, SIDE, 3))
    return [(still + rng.integers(0, 20, still.shape)).astype(np.uint8) for _ in range(count)]


def test_the_actions_of_a_second_are_also_of_the_half_before_it_in_its_shot() -> None:
    frames, live = pictures(1, 15), LiveActions()
    seconds = [live.mix(frames[n : n + 5], begins_shot=n == 10) for n in (0, 5, 10)]
    rows = MovementStream().read(np.stack(frames))
    for second, span in zip(seconds, (slice(0, 5), slice(3, 10), slice(10, 15)), strict=True):
        expected = class_probabilities(classify_actions(rows[span].mean(axis=0, keepdims=True)))
        assert second is not None
        np.testing.assert_allclose(second.probabilities, expected, atol=1e-4)
        assert second.weight_line == WEIGHT_LINE


def test_a_second_without_frames_has_no_actions() -> None:
    assert LiveActions().mix([], begins_shot=True) is None


def seconds_of_sample(actions: bool) -> Iterator[Second]:
    events = watch(str(SAMPLE), ["someone is jumping"], space="vse", device="cpu", actions=actions)
    return (event for event in events if isinstance(event, Second))


@pytest.mark.weights
def test_the_probability_of_a_second_reads_its_actions() -> None:
    known, unknown = (
        [second.present[0] for second in islice(seconds_of_sample(actions), 8)] for actions in (True, False)
    )
    assert len(known) == len(unknown) == 8
    assert np.abs(np.subtract(known, unknown)).max() > 0.01
