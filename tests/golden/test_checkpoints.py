"""Every checkpoint that ships, and every published one that can be added: the tensors that reach the model,
and what it answers for a fixed input.

The files of other authors are not here: state dicts of their names and shapes, filled with fixed numbers,
stand in for them. All is stored in `checkpoints.json`; numbers of networks may differ by 1e-4.
`VIDSUM_REGENERATE=1 python -m pytest tests/golden` stores what is computed now; see `tests/golden/stored.py`.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vidsum as library
from tests.golden.stored import REGENERATE, ExactDraws, assert_close, numbers
from tests.lab.datasets.made import unit
from tests.lab.importers import published_detr, published_mrnet
from tests.program import Run
from vidsum.checkpoints.named import OFFICIAL

STORED = Path(__file__).with_name("checkpoints.json")
SUMMARIZERS = ("ridge", "fulltransnet")
MOMENT_MODELS = ("mrnet", "qd-detr", "qd-detr-stamp", "qd-detr-lam")
DETR_SIZES = (16, 24, 11, 9)
DETR_OPTIONS = {"nheads": 4, "max_v_l": 7, "max_q_l": 5, "clip_length": 2}


# --- the only lines that know modules inside of vidsum ---


def load(path: str) -> tuple[Any, Any]:
    """The model of a checkpoint's file, and what finds moments with it (None for models of summaries)."""
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding.moment_model import build_moment_model
    from vidsum.summary.importance_model import build_importance_model

    trained = read_trained(path)
    if trained.model in SUMMARIZERS:
        return build_importance_model(trained, path, "cpu").model, None
    grounder: Any = build_moment_model(trained, path, "cpu")
    return grounder.model, grounder


def ask(
    grounder: Any, clips: np.ndarray, step_s: float, queries: np.ndarray, words: list[np.ndarray]
) -> list[dict[str, Any]]:
    """Moments of each query, and saliency where the model has its own.

    Args:
        grounder: of `load`.
        clips: [T, D] features.
        step_s: seconds of a clip.
        queries: [M, D].
        words: [W, D] of each query.
    """
    from vidsum.grounding.moment_model import ground_video
    from vidsum.grounding.spaces import ClipEmbeddings

    times = np.arange(len(clips), dtype=np.float64) * step_s
    video = ClipEmbeddings(clips, times, step_s=step_s, duration_s=len(times) * step_s)
    tokens = list(queries[:, None]) if grounder.max_words is None else words
    return [
        {"moments": rows(item.moments)}
        | ({} if item.saliency is None else {"saliency": rounded(item.saliency)})
        for item in ground_video(grounder, video, tokens, queries, top_k=4)
    ]


# --- what is compared ---


def rows(moments: Any) -> list[list[float]]:
    return [rounded((item.start_s, item.end_s, item.score)) for item in moments]


def rounded(values: Any) -> list[float]:
    return [round(float(value), 6) for value in values]


def tensors_of(model: Any) -> dict[str, str]:
    """Shape and digest of each tensor, or of each array of a model that runs in NumPy."""
    tensors = model.state_dict() if isinstance(model, nn.Module) else model.arrays
    return {name: in_short(np.asarray(tensor)) for name, tensor in sorted(tensors.items())}


def in_short(array: np.ndarray) -> str:
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:12]
    return f"{array.dtype} {list(array.shape)} {digest}"


def check(name: str, tensors: dict[str, str], answers: Any) -> None:
    """Compare with what is stored of a checkpoint: tensors exactly, answers within 1e-4."""
    result = {"tensors": tensors, "answers": answers}
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if REGENERATE:
        stored = dict(sorted({**stored, name: result}.items()))
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    assert tensors == stored[name]["tensors"]
    assert_close(answers, stored[name]["answers"])


# --- inputs ---


def exact(name: str, *shape: int) -> np.ndarray:
    return numbers(name, *shape).astype(np.float32)


@pytest.fixture
def exact_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """State dicts at random are the same on every machine."""
    draws = ExactDraws("state dict")
    monkeypatch.setattr(torch, "randn", draws.randn)
    monkeypatch.setattr(torch, "rand", draws.rand)


def add(vidsum: Run, tensors: dict[str, Tensor], name: str, **more: Any) -> str:
    """`vidsum weights add` of a file like the authors'; the path of the checkpoint."""
    torch.save({"model": tensors, **more}, "theirs.pth")
    ran = vidsum("weights", "add", "theirs.pth", "--as", name, "--json")
    return str(json.loads(ran.out)["data"]["path"])


def shipped(vidsum: Run, name: str) -> str:
    """The path of a checkpoint that ships."""
    return str(json.loads(vidsum("weights", "pull", name, "--json").out)["data"]["path"])


# --- tests ---


@pytest.mark.parametrize("name", SUMMARIZERS)
def test_summarizers(vidsum: Run, name: str) -> None:
    tensors = tensors_of(load(shipped(vidsum, name))[0])
    scenes = exact("scenes", 4, 1664)[np.repeat([0, 1, 2, 0, 3], [12, 8, 10, 6, 14])]
    rows = scenes + exact("noise", 50, 1664) / 4
    features = library.Features.from_array(
        np.maximum(rows[:, :1280], 0), fps=2, extractor="efficientnet_lite0"
    )
    library.write_features(replace(features, embeddings=unit(rows[:, 1280:])), "f.npz")
    ran = vidsum("summarize", "f.npz", "--model", name, "-o", "-", "--device", "cpu")
    document = json.loads(ran.out)
    cached = [[item["start_s"], item["end_s"]] for item in document["segments"]]
    check(name, tensors, {"importance": document["importance"]["scores"], "segments": cached})


@pytest.mark.parametrize("name", MOMENT_MODELS)
def test_moment_models(vidsum: Run, name: str) -> None:
    model, grounder = load(shipped(vidsum, name))
    queries = unit(exact("queries", 2, 384))
    clips = unit(exact("clips", 100, 384) / 2)
    clips[20:34] += queries[0]  # two stretches fit the first query, one the second
    clips[70:80] += queries[0] / 2
    clips[45:60] += queries[1]
    words = [unit(exact(f"words {number}", 4, 384) / 2 + queries[number]) for number in range(2)]
    check(name, tensors_of(model), ask(grounder, unit(clips), 1.0, queries, words))


@pytest.mark.usefixtures("exact_draws")
@pytest.mark.parametrize("kind", ["shared", "one each"])
@pytest.mark.parametrize("name", published_mrnet.CONFIGS)
def test_published_mrnet(vidsum: Run, name: str, kind: str) -> None:
    options = published_mrnet.CONFIGS[name]
    tensors = published_mrnet.state_dict(options, is_shared=kind == "shared")
    model, grounder = load(add(vidsum, tensors, name))
    video = exact("clips", options.num_pre_clips, options.input_size)
    video = unit(video + np.roll(video, 1, axis=0) + np.roll(video, 2, axis=0))
    answers = ask(grounder, video, 0.5, exact("queries", 3, 9), [])
    check(f"{name} ({kind})", tensors_of(model), answers)


@pytest.mark.usefixtures("exact_draws")
@pytest.mark.parametrize("name", ["moment-detr", "qd-detr"])
def test_published_detr(vidsum: Run, name: str) -> None:
    shapes = {"moment-detr": published_detr.moment_detr, "qd-detr": published_detr.qd_detr}[name]
    tensors = published_detr.at_random(shapes(*DETR_SIZES) | published_detr.unused(DETR_SIZES[0]))
    path = add(vidsum, tensors, f"{name}-qvhighlights", opt=DETR_OPTIONS)
    model, grounder = load(path)
    words = [exact("long", 5, 9), exact("short", 3, 9)]
    answers = ask(grounder, unit(exact("clips", 10, 9)), 2.0, exact("queries", 2, 9), words)
    check(f"{name}-qvhighlights", tensors_of(model), answers)


def test_every_model_is_here(vidsum: Run) -> None:
    """A model that is added to the registry, or to those that can be added, is stored too."""
    files = {path.stem for path in (Path(__file__).parents[2] / "weights").glob("*.safetensors")}
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    models = {f"{name}-vse" for name in (*SUMMARIZERS, *MOMENT_MODELS)}
    # the network and the map, which the others read; the matrix from E5 (tests/grounding)
    assert files == models | {"efficientnet_lite0", "vse-efficientnet_lite0", "e5-minilm", "standing"}
    mrnet = [name for name in OFFICIAL if name.startswith("mrnet")]
    published = {f"{name} ({kind})" for name in mrnet for kind in ("shared", "one each")}
    published |= OFFICIAL.keys() - set(mrnet)
    assert set(stored) == {*SUMMARIZERS, *MOMENT_MODELS, *published}
