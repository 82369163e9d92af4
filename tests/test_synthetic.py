"""Made-up annotated videos: what is promised of them, and that they go through the field's file format."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.synthetic import Recipe, SyntheticVideo, synthetic_videos, write_annotated
from vidsum.errors import UsageError
from vidsum.lab.datasets.summaries import read_annotated
from vidsum.results.features import Features

RECIPE = Recipe(n_videos=10, min_s=30, max_s=60, clips_per_video=4, n_annotators=6)


def clip(number: int, length: int = 40, dim: int = 8) -> Features:
    """Features of a clip that looks alike all the time; the last number tells which sample it is."""
    rng = np.random.default_rng(number)
    rows = np.tile(rng.random(dim, dtype=np.float32) * 10, (length, 1))
    rows[:, -1] = 100 * number + np.arange(length)
    return Features.from_array(rows, 8.0, extractor="toy")


@pytest.fixture(scope="module")
def clips() -> dict[str, Features]:
    return {f"clip {number}": clip(number) for number in range(6)}


@pytest.fixture(scope="module")
def made(clips: dict[str, Features]) -> list[SyntheticVideo]:
    return synthetic_videos(clips, RECIPE, seed=3)


def test_the_same_seed_makes_the_same_videos(clips, made):
    for one, other in zip(made, synthetic_videos(clips, RECIPE, seed=3), strict=True):
        assert np.array_equal(one.video.features.array, other.video.features.array)
        assert np.array_equal(one.video.user_scores, other.video.user_scores)
    another = synthetic_videos(clips, RECIPE, seed=4)
    assert not np.array_equal(made[0].truth, another[0].truth)


def test_a_clip_is_as_important_in_every_video(made):
    levels: dict[int, set[float]] = {}
    for each in made:
        for row, level in zip(each.video.features.array, each.truth.tolist(), strict=True):
            levels.setdefault(int(row[-1]) // 100, set()).add(level)
    assert {len(found) for found in levels.values()} == {1}
    assert len(set.union(*levels.values())) == 6


def test_videos_of_different_parts_share_no_feature(made):
    seen = {part: set[float]() for part in range(RECIPE.n_parts)}
    for each in made:
        seen[each.part] |= set(each.video.features.array[:, -1].tolist())
    parts = list(seen.values())
    assert all(parts)
    assert sum(map(len, parts)) == len(set.union(*parts))


def test_annotators_give_marks_around_the_truth_that_last_two_seconds(made):
    for each in made:
        scores = each.video.user_scores
        assert scores.shape == (6, len(each.truth))
        assert set(np.unique(scores)) <= {1, 2, 3, 4, 5}
        moves = np.abs(np.diff(scores, axis=1)).sum(axis=0) > 0
        may_move = (np.arange(1, len(each.truth)) % 4 == 0) | (np.diff(each.truth) != 0)
        assert not (moves & ~may_move).any()
        assert np.allclose(each.video.gtscore, (scores.mean(axis=0) - 1) / 4)
    truth, means = (
        np.concatenate(rows) for rows in zip(*((v.truth, v.video.gtscore) for v in made), strict=True)
    )
    assert np.corrcoef(truth, means)[0, 1] > 0.8


def test_annotators_differ_but_not_without_noise(clips):
    calm = synthetic_videos(clips, replace(RECIPE, bias=0, noise=0))[0]
    assert (calm.video.user_scores == np.round(calm.truth)).all()
    assert len(np.unique(synthetic_videos(clips, RECIPE)[0].video.user_scores, axis=0)) > 1


def test_summaries_are_whole_shots_within_the_budget(made):
    for each in made:
        video = each.video
        assert video.change_points[0, 0] == 0
        assert video.change_points[-1, 1] == video.n_frames - 1
        assert video.user_summary.shape == (6, video.n_frames)
        assert (video.user_summary.sum(axis=1) <= 0.15 * video.n_frames).all()
        for first, last in video.change_points:
            assert (np.ptp(video.user_summary[:, first : last + 1], axis=1) == 0).all()


def test_they_come_back_from_a_file_as_they_were(made, tmp_path: Path):
    videos = {each.video.name: each.video for each in made}
    write_annotated(videos, tmp_path / "synthetic.h5")
    back = read_annotated(tmp_path / "synthetic.h5")
    assert back.keys() == videos.keys()
    for name, video in videos.items():
        assert np.array_equal(back[name].features.array, video.features.array)
        for key in ("picks", "change_points", "gtscore", "user_summary", "user_scores"):
            assert np.array_equal(getattr(back[name], key), getattr(video, key)), key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clip 6": clip(6, dim=9)}, "the clips have features of different sizes"),
        ({"clip 6": clip(6, length=9)}, "clip 6 has 9 features, too few for 5 parts"),
    ],
)
def test_clips_that_will_not_do_are_refused(clips, change, message):
    with pytest.raises(UsageError, match=message):
        synthetic_videos({**clips, **change}, RECIPE)


def test_too_few_clips_are_refused(clips):
    with pytest.raises(UsageError, match="1 clips are too few for videos of 4"):
        synthetic_videos({"clip 0": clips["clip 0"]}, RECIPE)
