"""Trained models of all families: windows and merging with models that know the truth, and checkpoints."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.grounding.moment_model import (
    MomentModel,
    MRNetPredictor,
    Prediction,
    build_moment_model,
    ground_video,
)
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.windows import resample
from vidsum.models.configs import LIGHT_HEAD, DETRConfig, MaskConfig, MRNetConfig
from vidsum.models.detr import Detections
from vidsum.models.detr_models import MODELS, build
from vidsum.models.mrnet import MRNet, Scores
from vidsum.types import FloatArray

CLIPS = 16
SMALL: dict[str, Any] = {"d": 16, "heads": 2, "d_ff": 16, "layers": 1}
DETR = DETRConfig(dim_video=6, dim_query=4, clips=CLIPS, words=3, decoder_layers=1, n_moments=3, **SMALL)
MRNET = MRNetConfig(dim_video=4, dim_query=4, clips=CLIPS, **SMALL, **LIGHT_HEAD)
FAMILIES = ("mrnet", "detr")
NAMES = ("mrnet", *MODELS)
BY_FAMILY = pytest.mark.parametrize("family", FAMILIES)
BY_NAME = pytest.mark.parametrize("name", NAMES)

VECTORS: FloatArray = np.eye(4, dtype=np.float32)
QUERIES = [row[None] for row in VECTORS]
"""Query c asks for the clips whose number c is above a half."""


class MRNetOracle(MRNet):
    """Scores a proposal by its IoU with the clips in which the query's number is above a half."""

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        marked = (torch.einsum("btd,bmd->bmt", video, queries) > 0.5).float()
        numbers, sums = torch.arange(self.config.clips), marked.cumsum(-1)
        inside = (sums[..., None, :] - (sums - marked)[..., None]).clamp(min=0)
        length = (numbers[None] - numbers[:, None] + 1).clamp(min=1)
        overlap = inside / (length + marked.sum(-1)[..., None, None] - inside)
        return Scores(8 * overlap - 4, torch.ones_like(overlap), video, queries)


class GuideOracle(MRNetOracle):
    """Looks at nothing but the guide, the last number of each clip."""

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        marked = torch.zeros(*video.shape[:2], 4)
        marked[..., 0] = video[..., -1] > 0
        return super().forward(marked, torch.eye(4)[:1].expand(len(video), 1, 4), is_query)


class DETROracle(nn.Module):
    """Finds the runs of clips in which the number that the last word marks is above a half, longest first.

    All that it finds has the score .9, what it fills up with .1. It keeps the clips of the last batch.
    """

    def __init__(self, config: DETRConfig = DETR) -> None:
        super().__init__()
        self.config = config
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        self.read = [row[seen].numpy() for row, seen in zip(video, is_clip, strict=True)]
        last = words[torch.arange(len(words)), is_word.sum(1) - 1]
        saliency = torch.einsum("btd,bd->bt", video[..., :4], last)
        found = [runs(row[seen]) for row, seen in zip(saliency > 0.5, is_clip, strict=True)]
        most = self.config.n_moments
        spans = torch.tensor([(row + [(0.5, 0.1)] * most)[:most] for row in found])
        scores = torch.tensor([[0.9] * len(row[:most]) + [0.1] * (most - len(row)) for row in found])
        logits = torch.stack([scores, 1 - scores], dim=-1).log()
        # what stands before the last layer is not an answer
        return Detections(torch.stack([-logits, logits]), torch.stack([spans * 0, spans]), 8 * saliency - 4)


def runs(marked: Tensor) -> list[tuple[float, float]]:
    """Centre and width of each run, as fractions; longest first."""
    edges = np.flatnonzero(np.diff(np.pad(marked.numpy().astype(int), 1))).tolist()
    longest_first = sorted(zip(edges[::2], edges[1::2], strict=True), key=lambda run: run[0] - run[1])
    return [((a + b) / 2 / len(marked), (b - a) / len(marked)) for a, b in longest_first]


def oracle(family: str, clip_s: float = 1.0, **fields: Any) -> MomentModel:
    model: Any = MRNetOracle(MRNET).eval() if family == "mrnet" else DETROracle()
    return MomentModel(model, "toy", clip_s, "oracle", **fields)


def untrained(name: str = "qd-detr", seed: int = 0) -> MomentModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = MRNet(MRNET) if name == "mrnet" else build(name, DETR)
    return MomentModel(model.eval(), "toy", 1.0, "untrained")


def noise(n_rows: int, dim: int = 4, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(n_rows, dim)).astype(np.float32)


def noisy(n_rows: int, step_s: float = 1.0) -> ClipEmbeddings:
    return ClipEmbeddings(noise(n_rows), np.arange(n_rows) * step_s, step_s, n_rows * step_s)


def video_with(*moments: tuple[int, float, float], duration_s: float, step_s: float = 1.0) -> ClipEmbeddings:
    """Row t has a 1 in column c while moment (c, start_s, end_s) lasts."""
    times = np.arange(int(np.ceil(duration_s / step_s - 1e-9))) * step_s
    rows = np.zeros((len(times), 4), np.float32)
    for column, start_s, end_s in moments:
        rows[(times >= start_s) & (times < end_s), column] = 1
    return ClipEmbeddings(rows, times, step_s, duration_s)


def intervals(prediction: Prediction) -> list[tuple[float, float]]:
    return [(moment.start_s, moment.end_s) for moment in prediction.moments]


def saliency_of(prediction: Prediction) -> FloatArray:
    assert prediction.saliency is not None
    return prediction.saliency


def endpoints(n_clips: int) -> FloatArray:
    """[T, 2] written out."""
    return np.array([(t / n_clips, (t + 1) / n_clips) for t in range(n_clips)], np.float32)


def called(grounder: MomentModel, clips: FloatArray, words: FloatArray) -> Detections:
    """A DETR model called by hand on one window."""
    video = torch.from_numpy(np.concatenate([clips, endpoints(len(clips))], axis=1))[None]
    is_clip, is_word = (torch.ones(1, len(rows), dtype=torch.bool) for rows in (clips, words))
    with torch.inference_mode():
        detections: Detections = grounder.model(video, is_clip, torch.from_numpy(words)[None], is_word)
    return detections


# --- all families ---


def test_clips_that_are_sampled_are_single_rows_at_their_rate() -> None:
    """As features of 0.5 frames a second were published: a last clip may reach beyond the video."""
    grounder, video = oracle("detr", 2.0, sampled=True), noisy(9)
    (found,) = ground_video(grounder, video, QUERIES[:1])
    model: Any = grounder.model
    assert np.array_equal(model.read[0][:, :4], video.rows[::2])
    by_clip = 8 * video.rows[::2, 0] - 4
    np.testing.assert_allclose(saliency_of(found), np.repeat(by_clip, 2)[:9], rtol=1e-5)
    (found,) = ground_video(grounder, video_with((0, 6, 9), duration_s=9), QUERIES[:1])
    assert intervals(found)[0] == pytest.approx((6, 9))
    (found,) = ground_video(grounder, video_with((0, 40, 52), duration_s=200), QUERIES[:1])
    assert intervals(found)[0] == pytest.approx((40, 52), abs=1e-3)  # read in windows


@BY_FAMILY
def test_a_moment_of_a_video_of_an_hour_is_found_where_it_is(family: str) -> None:
    video = video_with((0, 3001, 3009), (1, 500, 504), duration_s=3600)
    found = ground_video(oracle(family), video, QUERIES[:2])
    for prediction, expected in zip(found, [(3001, 3009), (500, 504)], strict=True):
        assert intervals(prediction)[0] == pytest.approx(expected, abs=1e-3)
        if family == "detr":
            assert prediction.moments[0].score == pytest.approx(0.9)
            assert np.flatnonzero(saliency_of(prediction) > 0).tolist() == list(range(*expected))


@BY_FAMILY
@given(start=st.integers(0, 92), length=st.integers(1, 7))
@settings(max_examples=25, deadline=None)
def test_a_moment_on_a_windows_edge_is_found_whole(family: str, start: int, length: int) -> None:
    video = video_with((0, start, start + length), duration_s=100)
    (found,) = ground_video(oracle(family), video, QUERIES[:1])
    assert intervals(found)[0] == pytest.approx((start, start + length), abs=1e-3)


@BY_FAMILY
@pytest.mark.parametrize("span", [(0, 100), (20, 80), (37, 100)])
def test_a_moment_longer_than_a_window_is_found_in_a_longer_one(family: str, span: tuple[int, int]) -> None:
    (found,) = ground_video(oracle(family), video_with((0, *span), duration_s=100), QUERIES[:1])
    assert intervals(found)[0] == pytest.approx(span, abs=4)


def test_scores_mean_the_same_in_each_window() -> None:
    # a moment in one piece, and in another window one of which a part is missing
    moments = [(0, 10.0, 14.0), (0, 66.0, 67.0), (0, 68.0, 69.0)]
    (found,) = ground_video(oracle("mrnet"), video_with(*moments, duration_s=100), QUERIES[:1], top_k=3)
    assert intervals(found)[0] == (10, 14)
    scores = [moment.score for moment in found.moments]
    assert scores[0] > scores[1]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("name", "sampled"), [("mrnet", False), ("qd-detr", False), ("qd-detr", True)])
@given(
    n_rows=st.integers(1, 160),
    step_s=st.sampled_from([0.5, 1.0, 3.0]),
    clip_s=st.sampled_from([0.5, 1.0, 2.0, 2.5]),
    rest_s=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=15, deadline=None)
def test_any_grid_and_clips_give_moments_and_saliency(
    name: str, sampled: bool, n_rows: int, step_s: float, clip_s: float, rest_s: float
) -> None:
    grounder = replace(untrained(name), clip_s=clip_s, sampled=sampled)
    video = replace(noisy(n_rows, step_s), duration_s=n_rows * step_s - rest_s)
    (found,) = ground_video(grounder, video, QUERIES[:1], top_k=50)
    assert found.moments
    if name != "mrnet":
        assert np.isfinite(saliency_of(found)).all()
        assert saliency_of(found).shape == (n_rows,)
    for moment in found.moments:
        assert 0 <= moment.start_s < moment.end_s <= video.duration_s
        assert 0 <= moment.score <= 1


@BY_NAME
def test_each_query_is_read_by_itself(name: str) -> None:
    grounder, video = untrained(name), noisy(50)
    lengths = [1 if name == "mrnet" else 1 + number % 5 for number in range(9)]
    queries = [noise(length, seed=number) for number, length in enumerate(lengths)]
    together = ground_video(grounder, video, queries)
    for number in (0, 4, 8):
        (alone,) = ground_video(grounder, video, queries[number : number + 1])
        np.testing.assert_allclose(intervals(together[number]), intervals(alone), atol=1e-3)
        scores = [[one.score for one in found.moments] for found in (together[number], alone)]
        np.testing.assert_allclose(*scores, atol=1e-4)
        if name != "mrnet":
            np.testing.assert_allclose(saliency_of(together[number]), saliency_of(alone), atol=1e-4)


@BY_FAMILY
def test_queries_and_clips_that_do_not_fit_are_refused(family: str) -> None:
    video = noisy(8)
    narrow = replace(video, rows=noise(8, 3))
    for clips, query, reason in (
        (narrow, noise(1, 4), "clips of 4 numbers, not of 3"),
        (video, noise(1, 5), "queries of 4 numbers, not of 5"),
    ):
        with pytest.raises(UsageError, match=reason) as caught:
            ground_video(oracle(family), clips, [query])
        assert "the space toy" in str(caught.value.hint)
    guided = oracle(family, guided=True)
    with pytest.raises(UsageError, match="oracle reads the similarity curve"):
        ground_video(guided, video, QUERIES[:1])
    with pytest.raises(UsageError, match="clips of 4 numbers, not of 5"):
        ground_video(guided, video, QUERIES[:1], VECTORS[:1])
    assert ground_video(oracle(family), video, []) == []


# --- guides, words, sampled clips and saliency ---


def guided_video() -> ClipEmbeddings:
    clips = np.repeat(VECTORS[[0, 1, 2, 3, 0, 3]], 8, axis=0)
    return ClipEmbeddings(clips, np.arange(48.0), 1.0, 48.0)


def test_a_guided_model_reads_the_curve_of_each_query_in_every_window() -> None:
    mrnet = GuideOracle(replace(MRNET, dim_video=5)).eval()
    grounder = MomentModel(mrnet, "toy", 1.0, "oracle", guided=True)
    found = ground_video(grounder, guided_video(), QUERIES[1:3], VECTORS[1:3])
    assert [intervals(prediction)[0] for prediction in found] == [(8, 16), (16, 24)]
    model: Any = DETROracle(replace(DETR, dim_video=7))
    grounder = MomentModel(model, "toy", 4.0, "oracle", guided=True)
    ground_video(grounder, guided_video(), QUERIES[1:3], VECTORS[1:3])
    assert len(model.read) == 2
    for read, vector in zip(model.read, VECTORS[1:3], strict=True):
        np.testing.assert_allclose(read[:, :5], resample(guided_rows(guided_video(), vector), 12), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_rows", [1, 7, CLIPS])
def test_a_video_of_one_window_is_what_the_detr_model_gives(name: str, n_rows: int) -> None:
    grounder, video, words = untrained(name), noisy(n_rows), noise(3, seed=1)
    (found,) = ground_video(replace(grounder, max_iou=1.0), video, [words], top_k=3)
    by_hand = called(grounder, video.rows, words)
    np.testing.assert_allclose(saliency_of(found), by_hand.saliency[0].numpy(), atol=1e-5)
    scores = by_hand.logits[-1, 0].softmax(-1)[:, 0]
    assert [one.score for one in found.moments] == pytest.approx(sorted(scores.tolist())[::-1], abs=1e-5)
    centre, width = by_hand.spans[-1, 0, scores.argmax()].tolist()
    start, end = max(centre - width / 2, 0) * n_rows, min(centre + width / 2, 1) * n_rows
    if end - start >= 1:
        assert intervals(found)[0] == pytest.approx((start, end), abs=1e-4)
    assert all(end_s - start_s >= 1 - 1e-9 for start_s, end_s in intervals(found))


def test_words_beyond_those_that_a_model_reads_are_cut() -> None:
    grounder, words = untrained(), noise(8)
    assert (grounder.max_words, untrained("mrnet").max_words) == (3, None)
    cut, whole = (ground_video(grounder, noisy(9), [query])[0] for query in (words[:3], words))
    assert cut.moments == whole.moments


def test_a_short_video_has_no_more_clips_than_it_lasts() -> None:
    grounder, video = oracle("detr", 2.0), noisy(9)
    ground_video(grounder, video, QUERIES[:1])
    model: Any = grounder.model
    np.testing.assert_allclose(model.read[0][:, :4], resample(video.rows, 5))
    np.testing.assert_allclose(model.read[0][:, 4:], endpoints(5))


def test_saliency_is_the_mean_of_the_windows_that_have_a_clip() -> None:
    grounder, video = untrained(), noisy(20)
    saliency = saliency_of(ground_video(grounder, video, QUERIES[:1])[0])
    first, second = (
        called(grounder, video.rows[rows], QUERIES[0]).saliency[0].numpy()
        for rows in (slice(0, 16), slice(4, 20))
    )
    np.testing.assert_allclose(saliency[:4], first[:4], atol=1e-5)
    np.testing.assert_allclose(saliency[4:16], (first[4:] + second[:12]) / 2, atol=1e-5)
    np.testing.assert_allclose(saliency[16:], second[12:], atol=1e-5)


@pytest.mark.parametrize("shots_s", [None, np.array([0.0, 2.75, 7.25, 40.0])])
def test_moments_of_saliency_are_runs_of_its_curve(shots_s: Any) -> None:
    video = replace(video_with((1, 3, 7), (1, 20, 24), duration_s=40), shots_s=shots_s)
    found = ground_video(oracle("detr", moments="saliency"), video, QUERIES, top_k=5)[1]
    where = (saliency_of(found), video.timestamps, video.step_s, video.duration_s, 5)
    assert found.moments == find_moments(*where, shots_s=shots_s)
    if shots_s is None:
        assert set(intervals(found)[:2]) == {(3.0, 7.0), (20.0, 24.0)}
    else:
        assert found.moments != find_moments(*where)


# --- checkpoints ---


def checkpoint(path: Path, name: str = "qd-detr", **changes: Any) -> Path:
    features: Mapping[str, Any] = {"space": "vse", "clip_s": 1.0}
    model = untrained(name, seed=3).model
    trained = Trained(name, asdict(model.config), features, {}, model.state_dict())
    save_trained(path, replace(trained, **changes))
    return path


def load(path: Path) -> MomentModel:
    return build_moment_model(read_trained(path), path.name, "cpu")


@pytest.mark.parametrize("in_bf16", [True, False])
def test_mrnet_computes_in_the_precision_of_its_settings(in_bf16: bool) -> None:
    predictor = replace(untrained("mrnet"), in_bf16=in_bf16).predictor
    assert isinstance(predictor, MRNetPredictor)
    assert predictor.in_bf16 is in_bf16


@BY_NAME
def test_a_checkpoint_gives_the_model_that_was_saved(tmp_path: Path, name: str) -> None:
    grounder = load(checkpoint(tmp_path / "m.safetensors", name))
    same = untrained(name, seed=3).model.state_dict()
    assert all(torch.equal(value, same[key]) for key, value in grounder.model.state_dict().items())
    assert (grounder.space, grounder.clip_s, grounder.guided, grounder.sampled) == ("vse", 1, False, False)
    assert (grounder.moments, grounder.max_iou) == ("spans", 0.5)
    assert not grounder.model.training
    halves = {key: value.half() if value.is_floating_point() else value for key, value in same.items()}
    again = load(checkpoint(tmp_path / "m.safetensors", name, tensors=halves))
    assert {value.dtype for value in again.model.parameters()} == {torch.float32}


def test_a_checkpoint_says_how_its_clips_are_made(tmp_path: Path) -> None:
    reads, path = {"space": "clip", "clip_s": 2.0, "fps": 0.5}, tmp_path / "m.safetensors"
    assert load(checkpoint(path, features=reads)).sampled
    guided = load(checkpoint(path, features={**reads, "guided": True}))
    assert (guided.guided, guided.moments) == (True, "saliency")


@BY_NAME
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "fulltransnet"}, "fulltransnet, which finds no moments"),
        ({"config": {"clips": 0}}, "do not fit together"),
        ({"config": {"colour": 1}}, "do not fit together"),
        ({"config": {"mask": asdict(MaskConfig(kind="lam", depth=5))}}, "do not fit together"),
        ({"tensors": {"norm.weight": torch.ones(2)}}, "do not fit together"),
        ({"features": {"space": "vse"}}, "does not say what features it reads"),
        ({"features": {"space": "vse", "clip_s": "long"}}, "does not say what features it reads"),
        ({"features": {"space": "vse", "clip_s": 0.0}}, "longer than 0 s"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    tmp_path: Path, name: str, changes: dict[str, Any], reason: str
) -> None:
    path = checkpoint(tmp_path / "m.safetensors", name, **changes)
    with pytest.raises(InputError, match=reason):
        load(path)


def test_a_checkpoint_of_one_model_is_not_another(tmp_path: Path) -> None:
    for name in NAMES:
        other = "qd-detr" if name == "moment-detr" else "moment-detr"
        path = checkpoint(tmp_path / "m.safetensors", name, model=other)
        with pytest.raises(InputError, match="do not fit together"):
            load(path)
