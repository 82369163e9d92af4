"""The summaries that models are trained towards, against every choice of shots tried one by one."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.training.videos import made_up_video
from vidsum.datasets.summaries import AnnotatedVideo, shot_of_sample, shots_of
from vidsum.training.targets import key_frames
from vidsum.types import Features


def _video(lengths: list[int], scores: list[float], stride: int) -> AnnotatedVideo:
    """Shots of so many frames; a score for each sample, `stride` frames apart."""
    n_frames = sum(lengths)
    last = np.cumsum(lengths)
    picks = np.arange(0, n_frames, stride)
    return AnnotatedVideo(
        name="made/video",
        features=Features.from_array(np.zeros((len(picks), 2)), fps=30 / stride, duration_s=n_frames / 30),
        picks=picks,
        n_frames=n_frames,
        change_points=np.stack([last - lengths, last - 1], axis=1),
        gtscore=np.resize(np.array(scores, np.float32), len(picks)),
    )


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=7),
    st.lists(st.sampled_from([0, 0.125, 0.5, 0.625, 1]), min_size=1, max_size=30),
    st.integers(1, 15),
)
def test_key_frames_are_those_of_the_best_shots_that_fit(
    lengths: list[int], scores: list[float], stride: int
) -> None:
    video = _video(lengths, scores, stride)
    frame_scores = [video.gtscore[frame // stride] for frame in range(video.n_frames)]
    shots = [list(range(first, last + 1)) for first, last in video.change_points]
    means = [sum(float(frame_scores[frame]) for frame in shot) / len(shot) for shot in shots]
    every = chain.from_iterable(combinations(range(len(shots)), n) for n in range(len(shots) + 1))
    fitting = [c for c in every if sum(len(shots[i]) for i in c) <= 0.15 * video.n_frames]
    best = max(sum(means[i] for i in choice) for choice in fitting)

    chosen = key_frames(video)
    shot_numbers = sorted({int(number) for number in shot_of_sample(video)[chosen]})
    # shots between two samples are in no sequence; those that are must be whole and in order
    assert chosen.tolist() == [t for t, shot in enumerate(shot_of_sample(video)) if shot in shot_numbers]
    unseen = set(range(len(shots))) - set(shot_of_sample(video).tolist())
    reached = max(
        sum(means[i] for i in choice) for choice in fitting if set(choice) - unseen == set(shot_numbers)
    )
    assert reached == np.float64(best) or abs(reached - best) < 1e-6


def test_the_planted_shot_is_the_target() -> None:
    video = made_up_video("made/video_1")
    best = int(np.argmax(video.gtscore)) // 4
    assert key_frames(video).tolist() == list(range(4 * best, 4 * best + 4))


def test_a_video_whose_shots_are_too_long_has_no_key_frames() -> None:
    assert key_frames(_video([100, 100], [0.2, 0.9], 15)).size == 0


def test_scores_below_zero_are_never_chosen() -> None:
    video = made_up_video("made/video_1")
    assert key_frames(replace(video, gtscore=-video.gtscore)).size == 0


def test_shots_are_cut_where_change_points_begin() -> None:
    video = replace(_video([30, 45, 15], [0.5], 15), change_points=np.array([[0, 29], [31, 74], [75, 88]]))
    np.testing.assert_allclose(shots_of(video).edges_s, [0, 31 / 30, 2.5, 3])
    assert shot_of_sample(video).tolist() == [0, 0, 0, 1, 1, 2]
