"""Test the examples of a FullTransNet training step: the whole video, or a random run of its shots."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.training.videos import toy_video
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shot_of_sample, shots_of
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.lab.training.train_fulltransnet import Example, example_of, key_frames, loss_of, random_part
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss
from vidsum.results.features import Features

VIDEO = toy_video("made/video_1", n_shots=12)
CPU = torch.device("cpu")


@pytest.fixture
def example() -> Example:
    return example_of(VIDEO, 3, CPU)


@pytest.fixture
def model() -> FullTransNet:
    torch.manual_seed(0)
    return FullTransNet(FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8, t_max=64)).eval()


def test_example_has_the_key_frames_of_its_video(example: Example) -> None:
    assert example.key_frames[0].tolist() == key_frames(VIDEO).tolist()


def test_global_tokens_of_an_example_are_first_middle_and_last_of_shots(example: Example) -> None:
    assert example.is_global[0].tolist() == [True, True, False, True] * 12


def test_example_without_a_shot_that_fits_has_no_key_frames() -> None:
    assert not example_of(toy_video("made/video_1", n_shots=3), 3, CPU).key_frames.numel()


def test_loss_without_crop_is_the_papers(example: Example, model: FullTransNet) -> None:
    log_probabilities = model(example.features, example.is_global, example.key_frames)
    wanted = fulltransnet_loss(log_probabilities, example.key_frames)
    assert torch.equal(loss_of(model, example, FullTransNetSettings()), wanted)


def test_loss_with_crop_depends_on_the_seed(example: Example, model: FullTransNet) -> None:
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        losses.append(loss_of(model, example, FullTransNetSettings(crop=0.3)).item())
    assert losses[0] == losses[1] != losses[2]


@pytest.fixture(params=range(8))
def part(request: pytest.FixtureRequest) -> AnnotatedVideo:
    """A random part of two fifths of the video or more."""
    torch.manual_seed(request.param)
    return random_part(VIDEO, 0.4)


def bounds(part: AnnotatedVideo) -> tuple[int, int]:
    """First sample and end of a part in the video."""
    start = VIDEO.features.array.tolist().index(part.features.array[0].tolist())
    return start, start + len(part.features)


def test_part_is_a_run_of_whole_shots(part: AnnotatedVideo) -> None:
    start, stop = bounds(part)
    assert start % 4 == stop % 4 == 0
    assert len(part.change_points) == (stop - start) / 4 >= 0.4 * 12


def test_part_has_the_features_and_scores_of_its_samples(part: AnnotatedVideo) -> None:
    start, stop = bounds(part)
    assert np.array_equal(part.features.array, VIDEO.features.array[start:stop])
    assert np.array_equal(part.gtscore, VIDEO.gtscore[start:stop])


def test_frames_and_times_of_a_part_begin_at_zero(part: AnnotatedVideo) -> None:
    n_samples = len(part.features)
    assert np.array_equal(part.picks, VIDEO.picks[:n_samples])
    assert np.allclose(part.features.timestamps, VIDEO.features.timestamps[:n_samples])
    assert part.change_points[0, 0] == 0
    assert part.change_points[-1, 1] == part.n_frames - 1 == n_samples * 15 - 1
    assert shot_of_sample(part).tolist() == np.repeat(np.arange(len(part.change_points)), 4).tolist()


def test_parts_lie_everywhere_and_have_every_length() -> None:
    torch.manual_seed(0)
    parts = [random_part(VIDEO, 0.5) for _ in range(200)]
    assert {len(part.change_points) for part in parts} == set(range(7, 13))
    assert len({float(part.features.array[0, 1]) for part in parts}) == 6


def _video(lengths: list[int], scores: list[float], stride: int) -> AnnotatedVideo:
    """Shots of so many frames; a score for each sample, `stride` frames apart."""
    n_frames = sum(lengths)
    last = np.cumsum(lengths)
    picks = np.arange(0, n_frames, stride)
    features = Features.from_array(np.zeros((len(picks), 2)), fps=30 / stride, duration_s=n_frames / 30)
    return AnnotatedVideo(
        name="made/video",
        features=replace(features, timestamps=picks / 30),  # those of an edge are exactly the edge's
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


def test_key_frames_are_those_of_the_important_shot() -> None:
    video = toy_video("made/video_1")
    best = int(np.argmax(video.gtscore)) // 4
    assert key_frames(video).tolist() == list(range(4 * best, 4 * best + 4))


def test_shots_of_negative_scores_have_no_key_frames() -> None:
    video = toy_video("made/video_1")
    assert key_frames(replace(video, gtscore=-video.gtscore)).size == 0


def test_shots_that_are_too_long_have_no_key_frames() -> None:
    assert key_frames(_video([100, 100], [0.2, 0.9], 15)).size == 0


def test_shots_are_cut_where_change_points_begin() -> None:
    video = replace(_video([30, 45, 15], [0.5], 15), change_points=np.array([[0, 29], [31, 74], [75, 88]]))
    np.testing.assert_allclose(shots_of(video).edges_s, [0, 31 / 30, 2.5, 3])
    assert shot_of_sample(video).tolist() == [0, 0, 0, 1, 1, 2]
