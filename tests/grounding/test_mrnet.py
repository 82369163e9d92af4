"""Moments by MRNet: windows and merging with a model that knows the truth; loading checkpoints."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.grounding.mrnet import Grounder, ground_video, load_grounder
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.intervals import iou
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet, Scores
from vidsum.types import FloatArray

CLIPS = 16


class Oracle(MRNet):
    """Scores a proposal by its IoU with the clips in which the query's number is above a half."""

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        marked = (torch.einsum("btd,bmd->bmt", video, queries) > 0.5).float()
        clips = self.config.clips
        inside = torch.stack(
            [
                torch.stack([marked[..., i : j + 1].sum(-1) for j in range(clips)], dim=-1)
                for i in range(clips)
            ],
            dim=-2,
        )
        length = (torch.arange(clips)[None, :] - torch.arange(clips)[:, None] + 1).clamp(min=1)
        found = inside / (length + marked.sum(-1)[..., None, None] - inside)
        return Scores(8 * found - 4, torch.ones_like(found), video, queries)


def oracle(clip_s: float = 1.0, clips: int = CLIPS) -> Grounder:
    config = MRNetConfig(dim_video=4, dim_query=4, clips=clips, **HEADS["light"])
    return Grounder(Oracle(config).eval(), "made up", clip_s, "oracle")


def video_with(*moments: tuple[int, float, float], duration_s: float, step_s: float = 1.0) -> ClipEmbeddings:
    """Row t has a 1 in column c while moment (c, start_s, end_s) lasts."""
    times = np.arange(int(np.ceil(duration_s / step_s - 1e-9))) * step_s
    rows = np.zeros((len(times), 4), np.float32)
    for column, start_s, end_s in moments:
        rows[(times >= start_s) & (times < end_s), column] = 1
    return ClipEmbeddings((rows[:, :3], rows[:, 3:]), times, step_s, duration_s)


QUERIES: FloatArray = np.eye(4, dtype=np.float32)


def test_a_short_video_is_read_as_a_whole() -> None:
    found = ground_video(oracle(), video_with((0, 3, 6), (1, 0, 8), duration_s=8), QUERIES[:2])
    for moments, expected in zip(found, [(3, 6), (0, 8)], strict=True):
        assert (moments[0].start_s, moments[0].end_s) == pytest.approx(expected, abs=0.5)


def test_a_moment_of_a_video_of_an_hour_is_found_where_it_is() -> None:
    video = video_with((0, 3001, 3009), (1, 500, 504), duration_s=3600)
    found = ground_video(oracle(), video, QUERIES[:2])
    for moments, expected in zip(found, [(3001, 3009), (500, 504)], strict=True):
        assert (moments[0].start_s, moments[0].end_s) == expected


@given(st.integers(0, 92), st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_a_moment_on_a_windows_edge_is_found_whole(start: int, length: int) -> None:
    video = video_with((0, start, start + length), duration_s=100)
    best = ground_video(oracle(), video, QUERIES[:1])[0][0]
    assert (best.start_s, best.end_s) == (start, start + length)


def test_what_two_windows_find_is_one_moment() -> None:
    found = ground_video(oracle(), video_with((0, 10, 14), duration_s=100), QUERIES[:1], top_k=5)[0]
    stretches = [(moment.start_s, moment.end_s) for moment in found]
    overlaps = iou(stretches, stretches)
    assert stretches[0] == (10, 14)
    assert overlaps[~np.eye(len(found), dtype=bool)].max() <= 0.5


def test_scores_mean_the_same_in_each_window() -> None:
    # a moment in one piece, and in another window one of which a part is missing
    times = [(0, 10.0, 14.0), (0, 66.0, 67.0), (0, 68.0, 69.0)]
    found = ground_video(oracle(), video_with(*times, duration_s=100), QUERIES[:1], top_k=3)[0]
    assert (found[0].start_s, found[0].end_s) == (10, 14)
    assert found[0].score > found[1].score
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_moment_longer_than_a_window_is_found_in_a_longer_one() -> None:
    for start, end in ((0, 100), (20, 80), (37, 100)):
        best = ground_video(oracle(), video_with((0, start, end), duration_s=100), QUERIES[:1])[0][0]
        assert (best.start_s, best.end_s) == pytest.approx((start, end), abs=4)


@pytest.mark.parametrize("duration_s", [0.4, 1.0, 15.5, 16.0, 16.2, 40.7])
def test_moments_lie_inside_the_video(duration_s: float) -> None:
    for moments in ground_video(
        oracle(), video_with((1, 0, 2), duration_s=duration_s), QUERIES[:2], top_k=50
    ):
        assert moments
        for moment in moments:
            assert 0 <= moment.start_s < moment.end_s <= duration_s


def test_clips_may_be_longer_than_those_of_the_grid() -> None:
    video = video_with((0, 40, 52), duration_s=200)
    best = ground_video(oracle(clip_s=4.0), video, QUERIES[:1])[0][0]
    assert (best.start_s, best.end_s) == (40, 52)


def test_queries_are_asked_each_by_itself() -> None:
    torch.manual_seed(0)
    config = MRNetConfig(dim_video=4, dim_query=4, clips=CLIPS, **HEADS["light"])
    grounder = Grounder(MRNet(config).eval(), "made up", 1.0, "untrained")
    rng = np.random.default_rng(0)
    video = replace(video_with(duration_s=50), parts=(rng.normal(size=(50, 4)).astype(np.float32),))
    queries = rng.normal(size=(19, 4)).astype(np.float32)
    together = ground_video(grounder, video, queries)
    for number in (0, 7, 18):
        alone = ground_video(grounder, video, queries[number : number + 1])[0]
        assert [(one.start_s, one.end_s) for one in alone] == [
            (one.start_s, one.end_s) for one in together[number]
        ]
        assert [one.score for one in alone] == pytest.approx(
            [one.score for one in together[number]], abs=1e-5
        )


def test_no_queries_no_moments() -> None:
    assert ground_video(oracle(), video_with(duration_s=8), QUERIES[:0]) == []


def checkpoint(path: Path, **changes: Any) -> str:
    config = MRNetConfig(dim_video=4, dim_query=4, clips=CLIPS, **HEADS["light"])
    torch.manual_seed(3)
    features: Mapping[str, Any] = {"space": "conse", "clip_s": 1.0}
    trained = Trained("mrnet", asdict(config), features, {}, MRNet(config).state_dict())
    save_trained(path, replace(trained, **changes))
    return str(path)


def test_a_checkpoint_gives_the_model_that_was_saved(tmp_path: Path) -> None:
    grounder = load_grounder(checkpoint(tmp_path / "m.safetensors"), "cpu")
    torch.manual_seed(3)
    same = MRNet(grounder.model.config).state_dict()
    assert all(torch.equal(value, same[name]) for name, value in grounder.model.state_dict().items())
    assert (grounder.space, grounder.clip_s) == ("conse", 1.0)
    assert not grounder.model.training


def test_half_precision_checkpoints_run_in_single_precision(tmp_path: Path) -> None:
    grounder = load_grounder(checkpoint(tmp_path / "a.safetensors"), "cpu")
    halves = {
        name: value.half() if value.is_floating_point() else value
        for name, value in grounder.model.state_dict().items()
    }
    again = load_grounder(checkpoint(tmp_path / "b.safetensors", tensors=halves), "cpu")
    assert again.model.norm.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "fulltransnet"}, "a checkpoint of fulltransnet"),
        ({"config": {"clips": 1}}, "do not fit together"),
        ({"config": {"colour": 1}}, "do not fit together"),
        ({"tensors": {"norm.weight": torch.ones(2)}}, "do not fit together"),
        ({"features": {"space": "conse"}}, "does not say what features it reads"),
        ({"features": {"space": "conse", "clip_s": "long"}}, "does not say what features it reads"),
        ({"features": {"space": "conse", "clip_s": 0.0}}, "longer than 0 s"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = checkpoint(tmp_path / "m.safetensors", **changes)
    with pytest.raises(InputError, match=reason):
        load_grounder(path, "cpu")


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.safetensors: no such file"):
        load_grounder(str(tmp_path / "none.safetensors"))


@pytest.mark.parametrize("queries", [QUERIES, np.eye(3, dtype=np.float32)])
def test_another_space_is_refused(queries: FloatArray) -> None:
    video = video_with(duration_s=8)
    narrow = replace(video, parts=video.parts[:1]) if queries is QUERIES else video
    with pytest.raises(UsageError, match="reads clips of 4 numbers and queries of 4") as caught:
        ground_video(oracle(), narrow, queries)
    assert caught.value.hint == "it was trained in the space made up"


def test_a_top_k_of_none_is_refused() -> None:
    with pytest.raises(UsageError, match="top_k"):
        ground_video(oracle(), video_with(duration_s=8), QUERIES[:1], top_k=0)


class GuideOracle(Oracle):
    """Looks at nothing but the guide, the last number of each clip."""

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        marked = torch.zeros(*video.shape[:2], 4)
        marked[..., 0] = video[..., -1] > 0
        asked = torch.eye(4)[:1].expand(len(video), 1, 4)
        return super().forward(marked, asked, is_query)


def test_a_guided_model_reads_the_curve_of_each_query_in_every_window() -> None:
    clips = np.repeat(np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 0, 3]], 8, axis=0)
    video = ClipEmbeddings((clips,), np.arange(48.0), 1.0, 48.0)
    model = GuideOracle(MRNetConfig(dim_video=5, dim_query=4, clips=CLIPS, **HEADS["light"])).eval()
    found = ground_video(Grounder(model, "made up", 1.0, "oracle", guided=True), video, QUERIES[1:3])
    assert [(moments[0].start_s, moments[0].end_s) for moments in found] == [(8, 16), (16, 24)]


def test_a_guided_model_refuses_clips_that_have_no_room_for_a_guide() -> None:
    clips = ClipEmbeddings((QUERIES,), np.arange(4.0), 1.0, 4.0)
    with pytest.raises(UsageError, match="reads clips of 4 numbers and queries of 4, not of 5 and 4"):
        ground_video(replace(oracle(), guided=True), clips, QUERIES)
