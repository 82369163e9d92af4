"""What a training step sees of a video: all or a random run of its shots, and what its decoder is told."""

import numpy as np
import pytest
import torch

from tests.training.videos import made_up_video
from vidsum.datasets.summaries import shot_of_sample
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss
from vidsum.training.examples import VideoExample, example_of, loss_of, random_part, with_noise
from vidsum.training.targets import key_frames

VIDEO = made_up_video("made/video_1", n_shots=12)
CPU = torch.device("cpu")


@pytest.fixture
def example() -> VideoExample:
    whole = example_of(VIDEO, 3, CPU)
    assert whole is not None
    return VideoExample(VIDEO, whole)


@pytest.fixture
def model() -> FullTransNet:
    torch.manual_seed(0)
    return FullTransNet(FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8, t_max=64)).eval()


def test_an_example_holds_the_key_frames_and_the_ends_of_shots(example: VideoExample) -> None:
    assert example.whole.key_frames[0].tolist() == key_frames(VIDEO).tolist()
    assert example.whole.is_global[0].tolist() == [True, True, False, True] * 12


def test_a_video_without_a_shot_that_fits_makes_no_example() -> None:
    assert example_of(made_up_video("made/video_1", n_shots=3), 3, CPU) is None


def test_without_crop_and_noise_it_is_the_loss_of_the_paper(
    example: VideoExample, model: FullTransNet
) -> None:
    whole = example.whole
    wanted = fulltransnet_loss(model(whole.features, whole.is_global, whole.key_frames), whole.key_frames)
    assert torch.equal(loss_of(model, example, crop=1, noise=0), wanted)


@pytest.mark.parametrize(("crop", "noise"), [(0.3, 0), (1, 1), (0.3, 1)])
def test_with_crop_or_noise_steps_differ_but_not_those_of_one_seed(
    example: VideoExample, model: FullTransNet, crop: float, noise: float
) -> None:
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        losses.append(loss_of(model, example, crop, noise).item())
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize("seed", range(20))
def test_a_part_is_a_run_of_whole_shots_and_its_numbers_start_at_its_beginning(seed: int) -> None:
    torch.manual_seed(seed)
    part = random_part(VIDEO, 0.4)
    rows = VIDEO.features.array.tolist()
    start = rows.index(part.features.array[0].tolist())
    stop = start + len(part.features)
    assert start % 4 == stop % 4 == 0
    assert len(part.change_points) == (stop - start) / 4 >= 0.4 * 12
    assert np.array_equal(part.features.array, VIDEO.features.array[start:stop])
    assert np.array_equal(part.gtscore, VIDEO.gtscore[start:stop])
    assert np.array_equal(part.picks, VIDEO.picks[: stop - start])
    assert np.allclose(part.features.timestamps, VIDEO.features.timestamps[: stop - start])
    assert part.change_points[0, 0] == 0
    assert part.change_points[-1, 1] == part.n_frames - 1 == (stop - start) * 15 - 1
    assert shot_of_sample(part).tolist() == np.repeat(np.arange(len(part.change_points)), 4).tolist()


def test_parts_lie_everywhere_and_have_every_length() -> None:
    torch.manual_seed(0)
    parts = [random_part(VIDEO, 0.5) for _ in range(200)]
    assert {len(part.change_points) for part in parts} == set(range(7, 13))
    assert len({float(part.features.array[0, 1]) for part in parts}) == 6


def test_what_is_wanted_of_a_part_is_its_own_summary() -> None:
    torch.manual_seed(1)
    part = random_part(VIDEO, 0.6)
    assert 0 < len(key_frames(part)) <= 0.15 * len(part.picks)


def test_noise_replaces_a_share_by_any_sample() -> None:
    torch.manual_seed(0)
    frames = torch.full((1, 1000), 50)
    shares, others = [], set[int]()
    for _ in range(200):
        noisy = with_noise(frames, 100, 0.5)
        shares.append((noisy != 50).float().mean().item())
        others |= set(noisy[noisy != 50].tolist())
    assert max(shares) <= 0.55
    assert np.mean(shares) == pytest.approx(0.25, abs=0.04)
    assert others == set(range(100)) - {50}
