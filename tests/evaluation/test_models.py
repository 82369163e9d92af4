"""Moments by a checkpoint on published features, against the model called by hand."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.datasets.moments import MomentQuery, MomentVideo
from vidsum.datasets.published_features import read_clips
from vidsum.errors import InputError, UsageError
from vidsum.evaluation import models as moment_model
from vidsum.evaluation.models import ModelRun, moments_by
from vidsum.evaluation.submissions import MomentPredictions
from vidsum.grounding.text import TextEncoder
from vidsum.intervals import iou
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet, match_scores

T, DIM, DIM_TEXT = 8, 6, 4
VIDEOS = {
    "v_a": MomentVideo(
        "v_a", 40.0, (MomentQuery("a dog", ((0.0, 5.0),)), MomentQuery("a cat", ((5.0, 9.0),)))
    ),
    "v_none": MomentVideo("v_none", 10.0, ()),
    "v_b": MomentVideo("v_b", 7200.0, (MomentQuery("a bird", ((0.0, 90.0),)),)),
}


def vector(text: str) -> np.ndarray:
    """A made-up embedding."""
    row = np.random.default_rng(list(text.encode())).normal(size=DIM_TEXT).astype(np.float32)
    return row / np.linalg.norm(row)


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A text encoder with no weights; lists the names that were asked for."""
    asked: list[str] = []

    def load(name: str, device: str) -> TextEncoder:
        asked.append(name)

        def encode(texts: Sequence[str]) -> np.ndarray:
            return np.stack([vector(text) for text in texts])

        def encode_words(texts: Sequence[str]) -> list[np.ndarray]:
            return [encode(text.split()) for text in texts]

        return TextEncoder(name, DIM_TEXT, encode, encode_words, len)

    monkeypatch.setattr(moment_model, "load_text_encoder", load)
    return asked


@pytest.fixture
def model() -> MRNet:
    """Small, untrained."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = MRNetConfig(
            dim_video=DIM, dim_query=DIM_TEXT, clips=T, d=16, heads=2, d_ff=16, **HEADS["light"]
        )
        return MRNet(config).eval()


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Of all videos with queries, not as many rows as the model has clips."""
    rng = np.random.default_rng(1)
    with h5py.File(tmp_path / "c3d.hdf5", "w") as file:
        for name, length in (("v_a", 21), ("v_b", 5)):
            file[f"{name}/c3d_features"] = rng.normal(size=(length, DIM)).astype(np.float32)
    return tmp_path / "c3d.hdf5"


def checkpoint(folder: Path, model: MRNet, **reads: Any) -> Path:
    """A file of it, whose clips are said to be short."""
    told = {"space": "features", "text": "glove", "dim": DIM, "clip_s": 0.5, **reads}
    path = folder / "mrnet.safetensors"
    save_trained(path, Trained("mrnet", asdict(model.config), told, {}, model.state_dict()))
    return path


def ask(path: Path, *sources: Path) -> MomentPredictions:
    return moments_by(ModelRun(path, sources, device="cpu"), VIDEOS, max_iou=0.5)


def test_sources_are_given_in_the_order_of_the_training(tmp_path: Path, model: MRNet, features: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    for name, length in (("v_a", 21), ("v_b", 5)):
        np.save(second / f"{name}.npy", np.ones((length, 2), np.float32))
    path = checkpoint(tmp_path, model, dims=[2, DIM])
    with pytest.raises(
        UsageError, match=rf"sources of \[2, {DIM}\] numbers side by side, not of \[{DIM}, 2\]"
    ):
        ask(path, features, second)


def test_every_video_is_read_as_a_whole(
    tmp_path: Path, model: MRNet, features: Path, encoder: list[str]
) -> None:
    found = ask(checkpoint(tmp_path, model), features)
    assert encoder == ["glove"]
    assert list(found) == ["v_a", "v_b"]
    for name, of_video in found.items():
        clips = torch.from_numpy(read_clips([features], name, T))[None]
        video = VIDEOS[name]
        for query, moments in zip(video.queries, of_video, strict=True):
            with torch.inference_mode():
                scores = match_scores(model(clips, torch.from_numpy(vector(query.text))[None, None]))[0, 0]
            best = scores.masked_fill(~model.valid, -1).argmax().item()
            first, last = divmod(int(best), T)
            expected = (first / T * video.duration_s, (last + 1) / T * video.duration_s)
            assert (moments[0].start_s, moments[0].end_s) == pytest.approx(expected)
            spans = [(moment.start_s, moment.end_s) for moment in moments]
            assert np.triu(iou(spans, spans), 1).max() <= 0.5
            assert 1 < len(moments) <= 5


def test_several_sources_are_parts_of_one_video(tmp_path: Path, model: MRNet, features: Path) -> None:
    sources = [tmp_path / "left.h5", tmp_path / "right.h5"]
    for source, columns in zip(sources, (slice(0, 4), slice(4, DIM)), strict=True):
        with h5py.File(features) as file, h5py.File(source, "w") as part:
            for name in file:
                part[name] = file[name]["c3d_features"][:, columns]
    found = ask(checkpoint(tmp_path, model), *sources)
    clips = torch.from_numpy(read_clips(sources, "v_b", T))[None]
    with torch.inference_mode():
        scores = match_scores(model(clips, torch.from_numpy(vector("a bird"))[None, None]))[0, 0]
    assert found["v_b"][0][0].score == pytest.approx(float(scores[model.valid].max()), abs=1e-5)


def test_progress_is_told_of_videos_with_queries(tmp_path: Path, model: MRNet, features: Path) -> None:
    told: list[tuple[float, float]] = []
    run = ModelRun(checkpoint(tmp_path, model), (features,), device="cpu")
    moments_by(run, VIDEOS, max_iou=0.5, progress=lambda _, done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_what_cannot_be_run(tmp_path: Path, model: MRNet, features: Path) -> None:
    with pytest.raises(InputError, match="does not say what embeds its queries"):
        ask(checkpoint(tmp_path, model, text=None), features)
    whole = checkpoint(tmp_path, model)
    with pytest.raises(UsageError, match="reads clips of 6 numbers"):
        ask(whole, features, features)
    with h5py.File(features, "a") as file:
        del file["v_b"]
    with pytest.raises(InputError, match="has no features of 1 of 2 videos, such as v_b"):
        ask(whole, features)
