"""Made-up captions and annotations, and what stands for the networks that read them: no weights needed."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.untrained import map_tensors
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.models.vse import VisualSemanticMap
from vidsum.types import FloatArray

DIM = 384
WORDS = ("dog", "cat", "car", "sea", "man", "boat", "tree", "snow")
STRIDE = 15


def unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


def encode(texts: Sequence[str]) -> FloatArray:
    """[M, 384] the sum of a random vector for each word: texts that share words are alike."""
    rows = [
        sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIM) for word in text.split())
        for text in texts
    ]
    return unit(np.array(rows))


ENCODER = TextEncoder("words", encode, lambda texts: [encode(t.split()) for t in texts], list)


def visual_map(seed: int = 0) -> VisualSemanticMap:
    """A random map of EfficientNet-Lite0's features, with noise that leaves captions recognisable."""
    rng, identity = np.random.default_rng(seed), np.eye(DIM, dtype=np.float32)
    tensors = map_tensors(rng, 3584, 48, DIM)
    measured = {"answer.weight": identity, "answer.bias": np.full(DIM, 0.01), "noise.weight": identity / 40}
    return VisualSemanticMap({**tensors, "scale": np.ones(3584, np.float32), **measured})


def use_stand_ins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Embed captions by words, map features by `visual_map`; the list tells how many texts were embedded."""
    calls: list[str] = []

    def counted(texts: Sequence[str]) -> np.ndarray:
        calls.append(f"{len(texts)} texts")
        return encode(texts)

    encoder = replace(ENCODER, encode=counted)
    monkeypatch.setattr("vidsum.lab.datasets.clip_captions.load_text_encoder", lambda name: encoder)
    monkeypatch.setattr("vidsum.grounding.vse_map.load_map", visual_map)
    return calls


def captions_of(n_samples: int, seed: int) -> list[str]:
    """Runs of four frames with one caption each."""
    rng = np.random.default_rng(seed)
    return [f"a {WORDS[word]}" for word in np.repeat(rng.integers(0, len(WORDS), n_samples), 4)[:n_samples]]


def write_captions(path: Path, captions: Mapping[str, Sequence[str]]) -> Path:
    stored = {
        name: {"picks": [STRIDE * t for t in range(len(texts))], "captions": list(texts)}
        for name, texts in captions.items()
    }
    path.write_text(json.dumps(stored))
    return path


def write_fields(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """TVSum's file: the fields of each video, as MATLAB stores them."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for row, fields in enumerate(rows):
            for field, value in fields.items():
                file[f"#refs#/{field}_{row}"] = value
        for field in rows[0]:
            references = [[file[f"#refs#/{field}_{row}"].ref] for row in range(len(rows))]
            file.create_dataset(f"tvsum50/{field}", data=references, dtype=h5py.ref_dtype)
    return path


def fields_of(name: str, scores: np.ndarray, fps: float) -> dict[str, Any]:
    """One row of TVSum's table: scores [U, n_frames]; MATLAB's arrays stand transposed in the file."""
    return {
        "video": np.frombuffer(name.encode("utf-16-le"), "<u2").reshape(-1, 1),
        "length": np.array([[scores.shape[1] / fps]]),
        "nframes": np.array([[float(scores.shape[1])]]),
        "user_anno": scores.astype(float),
        "gt_score": scores.mean(axis=0, keepdims=True),
    }


def write_mat(path: Path, scores: dict[str, np.ndarray], fps: float = 30.0) -> Path:
    """TVSum's file: the scores of each video, by the name that its captions have."""
    return write_fields(path, [fields_of(name, each, fps) for name, each in scores.items()])


def write_protocol(path: Path, titles: Sequence[str], n_frames: int = 90) -> Path:
    """SumMe's protocol: three annotators, two shots."""
    members: dict[str, Any] = {}
    for number, title in enumerate(titles, 1):
        rng = np.random.default_rng(number)
        members |= {
            f"video_{number}/user_summary": rng.integers(0, 2, (3, n_frames), np.uint8),
            f"video_{number}/change_points": np.array([[0, 39], [40, n_frames - 1]], np.int32),
            f"video_{number}/gtscore": rng.random(-(-n_frames // STRIDE), np.float32),
            f"video_{number}/name": np.array(title),
        }
    np.savez_compressed(path, **members)
    return path


def write_tvsum(folder: Path, n_videos: int = 6, n_samples: int = 40) -> tuple[Path, Path]:
    """A file of captions and one of annotations: people like dogs, and other words less."""
    captions, scores = {}, {}
    for number in range(n_videos):
        name = f"id_{number}"
        rng = np.random.default_rng([7, number])
        captions[name] = captions_of(n_samples, number)
        liked = np.array([4 if text == "a dog" else 2 for text in captions[name]])
        scores[name] = np.repeat(liked + rng.integers(-1, 2, (5, n_samples)), STRIDE, axis=1)
    return write_captions(folder / "captions.json", captions), write_mat(folder / "ydata.mat", scores)
