"""Moments and saliency by DETR models: windows and merging with a model that knows the truth; checkpoints."""

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

from tests.grounding.test_mrnet import QUERIES, video_with
from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.features.resample import resample
from vidsum.grounding.grounder import DETRGrounder, ground_video, grounder_of
from vidsum.grounding.guide import guided_rows
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.intervals import iou
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr import Detections
from vidsum.models.detr_models import MODELS, build
from vidsum.types import FloatArray

CLIPS = 16
SMALL: dict[str, Any] = {"d": 16, "heads": 2, "d_ff": 16, "layers": 1, "decoder_layers": 1, "n_moments": 3}
CONFIG = DETRConfig(dim_video=6, dim_query=4, clips=CLIPS, words=3, **SMALL)
WORDS = [row[None] for row in QUERIES]


class Oracle(nn.Module):
    """Finds the runs of clips in which the number that the last word marks is above a half, longest first.

    All that it finds has the chance .9, what it fills up with .1.
    """

    def __init__(self, config: DETRConfig = CONFIG) -> None:
        super().__init__()
        self.config = config
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        last = words[torch.arange(len(words)), is_word.sum(1) - 1]
        saliency = torch.einsum("btd,bd->bt", video[..., :4], last)
        found = [runs(row[seen]) for row, seen in zip(saliency > 0.5, is_clip, strict=True)]
        n_most = self.config.n_moments
        spans = torch.tensor([(one + [(0.5, 0.1)] * n_most)[:n_most] for one in found])
        chances = torch.tensor([[0.9] * len(one[:n_most]) + [0.1] * (n_most - len(one)) for one in found])
        logits = torch.stack([chances, 1 - chances], dim=-1).log()
        # what stands before the last layer is no answer
        return Detections(torch.stack([-logits, logits]), torch.stack([spans * 0, spans]), 8 * saliency - 4)


def runs(marked: Tensor) -> list[tuple[float, float]]:
    """Centre and width of each run, as shares; longest first."""
    n_clips, found, start = len(marked), [], None
    for place, value in enumerate([*marked.tolist(), False]):
        if value and start is None:
            start = place
        elif not value and start is not None:
            found.append((start, place))
            start = None
    found.sort(key=lambda run: run[0] - run[1])
    return [((a + b) / 2 / n_clips, (b - a) / n_clips) for a, b in found]


def oracle(clip_s: float = 1.0, **how: Any) -> DETRGrounder:
    return DETRGrounder(Oracle(), "made up", clip_s, "oracle", **how)  # type: ignore[arg-type]


def untrained(name: str = "qd-detr", **config: Any) -> DETRGrounder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build(name, replace(CONFIG, **config)).eval()
    return DETRGrounder(model, "made up", 1.0, "untrained")


def noise(n_rows: int, dim: int = 4, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(n_rows, dim)).astype(np.float32)


def noisy(n_rows: int, step_s: float = 1.0) -> ClipEmbeddings:
    return ClipEmbeddings((noise(n_rows),), np.arange(n_rows) * step_s, step_s, n_rows * step_s)


def endpoints(n_clips: int) -> FloatArray:
    """[T, 2] written out."""
    rows = [(t / n_clips, (t + 1) / n_clips) for t in range(n_clips)]
    return np.array(rows, np.float32)


def called(grounder: DETRGrounder, clips: FloatArray, words: FloatArray) -> Detections:
    """The model called by hand on one window."""
    video = torch.from_numpy(np.concatenate([clips, endpoints(len(clips))], axis=1))[None]
    text = torch.from_numpy(words)[None]
    everything = torch.ones(1, len(clips), dtype=torch.bool), torch.ones(1, len(words), dtype=torch.bool)
    with torch.inference_mode():
        return grounder.model(video, everything[0], text, everything[1])


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("n_rows", [1, 7, CLIPS])
def test_a_video_of_one_window_is_what_the_model_says(name: str, n_rows: int) -> None:
    grounder, video, words = untrained(name), noisy(n_rows), noise(3, seed=1)
    (found,) = ground_video(grounder, video, [words], top_k=3, max_iou=1)
    by_hand = called(grounder, video.parts[0], words)
    np.testing.assert_allclose(found.saliency, by_hand.saliency[0].numpy(), atol=1e-5)
    chances = by_hand.logits[-1, 0].softmax(-1)[:, 0]
    assert [one.score for one in found.moments] == pytest.approx(sorted(chances.tolist())[::-1], abs=1e-5)
    centre, width = by_hand.spans[-1, 0, chances.argmax()].tolist()
    start, end = max(centre - width / 2, 0) * n_rows, min(centre + width / 2, 1) * n_rows
    if end - start >= 1:
        best = found.moments[0]
        assert (best.start_s, best.end_s) == pytest.approx((start, end), abs=1e-4)
    for one in found.moments:
        assert one.end_s - one.start_s >= 1 - 1e-9


@pytest.mark.parametrize("name", list(MODELS))
def test_queries_of_many_lengths_are_asked_each_by_itself(name: str) -> None:
    grounder, video = untrained(name), noisy(50)
    words = [noise(1 + number % 5, seed=number) for number in range(23)]
    together = ground_video(grounder, video, words)
    for number in (0, 7, 22):
        (alone,) = ground_video(grounder, video, words[number : number + 1])
        np.testing.assert_allclose(together[number].saliency, alone.saliency, atol=1e-4)
        of_both = [
            [(one.start_s, one.end_s, one.score) for one in found.moments]
            for found in (together[number], alone)
        ]
        np.testing.assert_allclose(*of_both, atol=1e-3)


def test_of_a_long_query_the_words_are_read_that_the_model_has_places_for() -> None:
    grounder, video, words = untrained(), noisy(9), noise(8)
    cut, whole = (ground_video(grounder, video, [one])[0] for one in (words[:3], words))
    assert cut.moments == whole.moments


def test_no_queries_no_moments() -> None:
    assert ground_video(oracle(), noisy(8), []) == []


def test_a_moment_of_a_video_of_an_hour_is_found_where_it_is() -> None:
    video = video_with((0, 3001, 3009), (1, 500, 504), duration_s=3600)
    found = ground_video(oracle(), video, WORDS[:2])
    for one, expected in zip(found, [(3001, 3009), (500, 504)], strict=True):
        assert (one.moments[0].start_s, one.moments[0].end_s) == pytest.approx(expected, abs=1e-3)
        assert one.moments[0].score == pytest.approx(0.9)
        assert np.flatnonzero(one.saliency > 0).tolist() == list(range(*expected))


@given(st.integers(0, 92), st.integers(1, 7))
@settings(max_examples=25, deadline=None)
def test_a_moment_on_a_windows_edge_is_found_whole(start: int, length: int) -> None:
    video = video_with((0, start, start + length), duration_s=100)
    best = ground_video(oracle(), video, WORDS[:1])[0].moments[0]
    assert (best.start_s, best.end_s) == pytest.approx((start, start + length), abs=1e-3)


def test_a_moment_longer_than_a_window_is_found_in_a_longer_one() -> None:
    for start, end in ((0, 100), (20, 80), (37, 100)):
        best = ground_video(oracle(), video_with((0, start, end), duration_s=100), WORDS[:1])[0].moments[0]
        assert (best.start_s, best.end_s) == pytest.approx((start, end), abs=4)


def test_what_two_windows_find_is_one_moment() -> None:
    (found,) = ground_video(oracle(), video_with((0, 10, 14), duration_s=100), WORDS[:1], top_k=9)
    stretches = [(one.start_s, one.end_s) for one in found.moments]
    overlaps = iou(stretches, stretches)
    assert stretches[0] == pytest.approx((10, 14), abs=1e-3)
    assert overlaps[~np.eye(len(stretches), dtype=bool)].max() <= 0.5
    assert [one.score for one in found.moments] == sorted((one.score for one in found.moments), reverse=True)


@pytest.mark.parametrize("duration_s", [0.4, 1.0, 15.5, 16.0, 16.2, 40.7])
def test_moments_lie_inside_the_video(duration_s: float) -> None:
    video = video_with((1, 0, 2), duration_s=duration_s)
    for found in (
        *ground_video(oracle(), video, WORDS[:2], 50),
        *ground_video(untrained(), video, WORDS, 50),
    ):
        assert found.moments
        assert found.saliency.shape == (len(video),)
        for one in found.moments:
            assert 0 <= one.start_s < one.end_s <= duration_s
            assert 0 <= one.score <= 1


@given(st.integers(1, 400), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.5, 1.0, 2.0, 2.5]))
@settings(max_examples=30, deadline=None)
def test_any_grid_and_clips_give_moments_and_saliency(n_rows: int, step_s: float, clip_s: float) -> None:
    grounder = replace(untrained(), clip_s=clip_s)
    for of_kind in (grounder, replace(grounder, sampled=True)):
        (found,) = ground_video(of_kind, noisy(n_rows, step_s), WORDS[:1])
        assert found.saliency.shape == (n_rows,)
        assert np.isfinite(found.saliency).all()
        assert all(0 <= one.start_s < one.end_s <= n_rows * step_s for one in found.moments)


class Recorder(Oracle):
    """Keeps the clips that it reads."""

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        self.read = [row[seen].numpy() for row, seen in zip(video, is_clip, strict=True)]
        return super().forward(video, is_clip, words, is_word)


def test_a_short_video_has_no_more_clips_than_it_lasts() -> None:
    model, video = Recorder(), noisy(9)
    ground_video(DETRGrounder(model, "made up", 2.0, "recorder"), video, WORDS[:1])  # type: ignore[arg-type]
    (read,) = model.read
    np.testing.assert_allclose(read[:, :4], resample(video.parts[0], 5))
    np.testing.assert_allclose(read[:, 4:], endpoints(5))


def test_clips_that_are_sampled_are_single_rows_at_their_rate() -> None:
    """As features of 0.5 frames a second were published: a last clip may reach beyond the video."""
    model, video = Recorder(), noisy(9)
    grounder = DETRGrounder(model, "made up", 2.0, "recorder", sampled=True)  # type: ignore[arg-type]
    (found,) = ground_video(grounder, video, WORDS[:1])
    (read,) = model.read
    assert np.array_equal(read[:, :4], video.parts[0][::2])
    by_clip = 8 * video.parts[0][::2, 0] - 4
    np.testing.assert_allclose(found.saliency, np.repeat(by_clip, 2)[:9], rtol=1e-5)
    planted = video_with((0, 6, 9), duration_s=9)
    (best, *_) = ground_video(grounder, planted, WORDS[:1])[0].moments
    assert (best.start_s, best.end_s) == pytest.approx((6, 9))


def test_a_long_video_of_sampled_clips_is_read_in_windows() -> None:
    video = video_with((0, 40, 52), duration_s=200)
    (best, *_) = ground_video(oracle(2.0, sampled=True), video, WORDS[:1])[0].moments
    assert (best.start_s, best.end_s) == pytest.approx((40, 52), abs=1e-3)


def test_saliency_is_the_mean_of_the_windows_that_have_a_clip() -> None:
    grounder, video = untrained(), noisy(20)
    (found,) = ground_video(grounder, video, WORDS[:1])
    first, second = (
        called(grounder, video.parts[0][rows], WORDS[0]).saliency[0].numpy()
        for rows in (slice(0, 16), slice(4, 20))
    )
    np.testing.assert_allclose(found.saliency[:4], first[:4], atol=1e-5)
    np.testing.assert_allclose(found.saliency[4:16], (first[4:] + second[:12]) / 2, atol=1e-5)
    np.testing.assert_allclose(found.saliency[16:], second[12:], atol=1e-5)


def test_moments_of_saliency_are_the_runs_of_the_curve_that_is_given() -> None:
    video = video_with((1, 3, 7), (1, 20, 24), duration_s=40)
    found = ground_video(oracle(moments="saliency"), video, WORDS, top_k=5)[1]
    of_video = (video.timestamps, video.step_s, video.duration_s)
    assert found.moments == moments_of(found.saliency, *of_video, 5)
    assert {(one.start_s, one.end_s) for one in found.moments[:2]} == {(3.0, 7.0), (20.0, 24.0)}


def test_a_guided_model_reads_the_curve_of_each_query() -> None:
    clips = np.repeat(QUERIES[[0, 1, 2, 3, 0, 3]], 8, axis=0)
    video = ClipEmbeddings((clips,), np.arange(48.0), 1.0, 48.0)
    model = Recorder(replace(CONFIG, dim_video=7))
    grounder = DETRGrounder(model, "made up", 4.0, "recorder", guided=True)  # type: ignore[arg-type]
    ground_video(grounder, video, WORDS[1:3], QUERIES[1:3])
    assert len(model.read) == 2
    for read, query in zip(model.read, QUERIES[1:3], strict=True):
        np.testing.assert_allclose(read[:, :5], resample(guided_rows(video, query), 12), atol=1e-6)
    with pytest.raises(UsageError, match="recorder reads a guide"):
        ground_video(grounder, video, WORDS[1:3])


@pytest.mark.parametrize(
    ("dim_clip", "dim_word", "reason"),
    [
        (3, 4, "reads clips of 6 numbers, endpoints among them, not of 5"),
        (4, 5, "reads words of 4 numbers, not of 5"),
    ],
)
def test_another_space_is_refused(dim_clip: int, dim_word: int, reason: str) -> None:
    video = replace(noisy(8), parts=(noise(8, dim_clip),))
    with pytest.raises(UsageError, match=reason) as caught:
        ground_video(oracle(), video, [noise(2, dim_word)])
    assert caught.value.hint == "it was trained in the space made up"


def test_a_top_k_of_none_is_refused() -> None:
    with pytest.raises(UsageError, match="top_k"):
        ground_video(oracle(), noisy(8), WORDS[:1], top_k=0)


def checkpoint(path: Path, **changes: Any) -> str:
    features: Mapping[str, Any] = {"space": "conse", "clip_s": 1.0}
    config = replace(CONFIG, mask=MaskConfig("stamp"))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build("qd-detr", config)
    save_trained(
        path, replace(Trained("qd-detr", asdict(config), features, {}, model.state_dict()), **changes)
    )
    return str(path)


def load(path: str) -> DETRGrounder:
    return grounder_of(read_trained(path), path, "cpu")


def test_a_checkpoint_gives_the_model_that_was_saved(tmp_path: Path) -> None:
    grounder = load(checkpoint(tmp_path / "m.safetensors"))
    torch.manual_seed(3)
    same = build("qd-detr", grounder.model.config).state_dict()
    assert all(torch.equal(value, same[name]) for name, value in grounder.model.state_dict().items())
    assert grounder.model.config.mask == MaskConfig("stamp")
    assert (grounder.space, grounder.clip_s, grounder.guided, grounder.sampled) == ("conse", 1, False, False)
    assert grounder.moments == "spans"
    assert not grounder.model.training


def test_a_checkpoint_says_how_its_clips_are_made(tmp_path: Path) -> None:
    reads = {"space": "clip", "clip_s": 2.0, "fps": 0.5}
    assert load(checkpoint(tmp_path / "m.safetensors", features=reads)).sampled
    guided = load(checkpoint(tmp_path / "m.safetensors", features={**reads, "guided": True}))
    assert (guided.guided, guided.moments) == (True, "saliency")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "mrnet"}, "a checkpoint of mrnet, not of moment-detr, qd-detr, mrnet-detr"),
        ({"model": "moment-detr"}, "do not fit together"),
        ({"config": {"clips": 0}}, "do not fit together"),
        ({"config": {"colour": 1}}, "do not fit together"),
        ({"config": asdict(replace(CONFIG, mask=MaskConfig("lam", depth=5)))}, "do not fit together"),
        ({"tensors": {"norm.weight": torch.ones(2)}}, "do not fit together"),
        ({"features": {"space": "conse"}}, "does not say what features it reads"),
        ({"features": {"space": "conse", "clip_s": 0.0}}, "longer than 0 s"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = checkpoint(tmp_path / "m.safetensors", **changes)
    with pytest.raises(InputError, match=reason):
        load(path)
