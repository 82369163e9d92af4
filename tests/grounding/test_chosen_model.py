"""Which model is chosen, and what it answers."""

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.untrained import save_untrained
from vidsum import device
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.device import PrecisionChoice
from vidsum.errors import InputError, UsageError
from vidsum.grounding import chosen_model
from vidsum.grounding.chosen_model import EncodedQueries
from vidsum.grounding.moment_model import ground_video
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import ClipEmbeddings, similarity
from vidsum.models.configs import LIGHT_HEAD
from vidsum.models.detr_models import MODELS
from vidsum.types import FloatArray

PRECISIONS: tuple[PrecisionChoice, ...] = ("auto", "int8", "bf16", "fp32")
TEXTS = ("a dog", "two cats on a mat")


def words_of(space: str, texts: tuple[str, ...]) -> list[FloatArray]:
    """As many rows as a text has words."""
    sizes = {text: (len(text.split()), 4) for text in texts}
    return [np.random.default_rng(len(t)).normal(size=size).astype(np.float32) for t, size in sizes.items()]


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_model, "embed_words", words_of)


def save(path: Path, name: str = "qd-detr", guided: bool = False) -> str:
    """Write an untrained checkpoint."""
    features = {"space": "vse", "clip_s": 1.0, "guided": guided}
    own: Any = {"dim_video": 6 + guided, "words": 3, "decoder_layers": 1}
    if name == "mrnet":
        own = {"dim_video": 4 + guided, **LIGHT_HEAD}
    return str(save_untrained(path, name, features, clips=16, layers=1, dim_query=4, **own))


def video() -> ClipEmbeddings:
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    return ClipEmbeddings(rows, np.arange(30.0), 1.0, 30.0)


REQUEST = EncodedQueries(TEXTS, np.eye(4, dtype=np.float32)[:2])


@pytest.mark.parametrize("name", list(MODELS))
def test_a_detr_model_gives_its_own_moments_and_saliency(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / "m.safetensors", name)
    assert chosen_model.resolve_model(path, "auto", "cpu") == (path, "vse")
    answers = chosen_model.locate(chosen_model.load_model(path, "cpu"), video(), REQUEST, 3)
    grounder = chosen_model.load_model(path, "cpu")
    expected = ground_video(grounder, video(), words_of("vse", TEXTS), top_k=3)
    assert len(answers) == 2
    for answer, found in zip(answers, expected, strict=True):
        assert answer.moments == tuple(found.moments)
        low, high = found.saliency.min(), found.saliency.max()
        np.testing.assert_allclose(answer.saliency, (found.saliency - low) / (high - low), atol=1e-6)


def test_the_saliency_of_other_models_is_the_similarity_curve(tmp_path: Path) -> None:
    curves = similarity(video(), REQUEST.vectors)
    by_curve = chosen_model.locate(None, video(), REQUEST, 3)
    mrnet = chosen_model.load_model(save(tmp_path / "m.safetensors", "mrnet"), "cpu")
    by_mrnet = chosen_model.locate(mrnet, video(), REQUEST, 3)
    for curve, one, other in zip(curves, by_curve, by_mrnet, strict=True):
        drawn_out = (curve - curve.min()) / (curve.max() - curve.min())
        np.testing.assert_allclose(one.saliency, drawn_out, atol=1e-6)
        np.testing.assert_array_equal(one.saliency, other.saliency)
        assert one.moments == tuple(find_moments(one.saliency, video().timestamps, 1.0, 30.0, 3))
        assert one.moments != other.moments


def test_unwanted_text_counts_only_where_it_stands_out() -> None:
    """Clips 0-9 show both, 10-19 the query alone, 20-29 neither, and less of the unwanted text than usual."""
    wanted, unwanted = np.eye(4, dtype=np.float32)[:2]
    both, neither = [0.6, 0.7, 0.1, 0.0], [0.1, -0.7, 0.0, 0.6]
    rows = np.repeat(np.array([both, [0.6, 0.0, 0.7, 0.0], neither], np.float32), 10, axis=0)
    clips = ClipEmbeddings(rows, np.arange(30.0), 1.0, 30.0)
    request = EncodedQueries(["a dog"], wanted[None], unwanted[None])
    (answer,) = chosen_model.locate(None, clips, request, 1)
    assert (answer.moments[0].start_s, answer.moments[0].end_s) == (10.0, 20.0)
    alone = chosen_model.locate(None, clips, replace(request, without=None), 1)
    assert answer.saliency[20:].max() < answer.saliency[10:20].min()
    assert alone[0].moments[0].start_s == 0.0


@pytest.mark.parametrize("name", ["mrnet", "qd-detr", "moment-detr"])
def test_curve_of_a_guided_model_is_added_to_similarity(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_model, "FUSION_WEIGHTS", {"mrnet": 0.7, "detr": 0.7})
    path = save(tmp_path / "m.safetensors", name, guided=True)
    tokens = list(REQUEST.vectors[:, None]) if name == "mrnet" else words_of("vse", TEXTS)
    grounder = chosen_model.load_model(path, "cpu", "fp32")
    predictions = ground_video(grounder, video(), tokens, REQUEST.vectors, 4)
    found = chosen_model.locate(grounder, video(), REQUEST, 4)
    alone = chosen_model.locate(grounder, video(), REQUEST, 4, alone=True)
    for number, prediction in enumerate(predictions):
        values = [float(value) for value in prediction.curve]
        mean, spread = statistics.fmean(values), statistics.pstdev(values)
        curve = similarity(video(), REQUEST.vectors)[number].tolist()
        total = [value + 0.7 * (own - mean) / spread for value, own in zip(curve, values, strict=True)]
        expected = [(value - min(total)) / (max(total) - min(total)) for value in total]
        np.testing.assert_allclose(found[number].saliency, expected, atol=1e-4)
        again = find_moments(found[number].saliency, video().timestamps, 1.0, 30.0, 4)
        assert found[number].moments == tuple(again)
        assert alone[number].moments == tuple(prediction.moments) != found[number].moments


@pytest.mark.parametrize(("space", "read"), [("features", "other features"), ("c3d", "c3d")])
@pytest.mark.parametrize(("name", "command"), [("qd-detr", "detr"), ("mrnet", "mrnet")])
def test_models_of_what_is_not_made_of_videos_are_refused(
    tmp_path: Path, space: str, read: str, name: str, command: str
) -> None:
    path = tmp_path / "other.safetensors"
    save_trained(path, Trained(name, {}, {"space": space}, {}, {"weight": torch.ones(1)}))
    with pytest.raises(UsageError, match=f"(?m)cannot read videos: it was trained on {read}$") as caught:
        chosen_model.resolve_model(str(path), "auto", "cpu")
    assert f"vidsum train {command} with --recipe captions" in str(caught.value.hint)


def test_paths_that_are_no_moment_model_are_refused(tmp_path: Path) -> None:
    def refuse(model: Path | str, message: str, space: str = "auto") -> str:
        with pytest.raises((InputError, UsageError), match=message) as caught:
            chosen_model.resolve_model(str(model), space, "cpu")
        return str(caught.value.hint)

    path = save(tmp_path / "best.safetensors")
    (tmp_path / "model.ckpt").touch()
    for name in (tmp_path, tmp_path / "model.ckpt", "minilm", "moment-detr"):
        hint = refuse(name, f"unknown model '{name}'")
        assert hint.endswith("or give a checkpoint (RUN/best.safetensors)")
    other = tmp_path / "other.safetensors"
    save_trained(other, Trained("fulltransnet", {}, {}, {}, {"w": torch.ones(1)}))
    refuse(other, "a checkpoint of fulltransnet, which finds no moments")
    refuse(path, "reads the space vse, not clip", "clip")
    refuse("mrnet-tacos", "mrnet-tacos reads published features, not videos")


def test_mrnet_is_in_bf16_where_that_is_best_or_chosen(tmp_path: Path, monkeypatch: Any) -> None:
    by_map, by_words = save(tmp_path / "m.safetensors", "mrnet"), save(tmp_path / "d.safetensors")
    for best in (True, False):
        monkeypatch.setattr(device, "prefers_bf16", lambda name, best=best: best)
        expected = {"auto": best, "int8": best, "bf16": True, "fp32": False}
        assert {one: chosen_model.load_model(by_map, "cpu", one).in_bf16 for one in PRECISIONS} == expected
        assert not chosen_model.load_model(by_words, "cpu", "bf16").in_bf16


def test_mrnet_scores_about_the_same_in_bf16(tmp_path: Path) -> None:
    path = save(tmp_path / "m.safetensors", "mrnet")
    exact, again, rough = (
        chosen_model.locate(chosen_model.load_model(path, "cpu", precision), video(), REQUEST, 99)[0].moments
        for precision in ("fp32", "fp32", "bf16")
    )
    assert exact == again
    scores = {(one.start_s, one.end_s): one.score for one in exact}
    common = [(scores[place], one.score) for one in rough if (place := (one.start_s, one.end_s)) in scores]
    assert len(common) > len(exact) / 2
    assert {abs(before - after) < 0.03 for before, after in common} == {True}
    assert any(before != after for before, after in common)
