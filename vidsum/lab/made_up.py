"""Made-up data at tiny size, in the layouts in which the field publishes its own, to try a table."""

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

from vidsum.io.atomic import atomic_write

_VIDEOS, _QUERIES, _CLIPS, _CLIP_S, _DIM = 10, 2, 12, 2, 8
_SAMPLES, _SHOT, _STRIDE = 160, 8, 15
"""Samples of a video and of a shot; frames between samples. Every pattern of attention is exercised."""
OPTIONS: Final[Mapping[str, str]] = {
    "fulltransnet": "--splits {data}/splits.json --epochs 2 --lr 0.01 --layers 1 --d 16 --d-ff 16 "
    "--head pointer",
    "mrnet": "--epochs 1 --head light --clips-per-video 8 --layers 1 --d 16 --d-ff 16 --heads 2",
    "detr": "--epochs 1 --size light --layers 1 --decoder-layers 1 --d 16 --d-ff 16 --heads 2",
}
"""Options that make training as tiny, by trainer; a row's own options come after."""

Arrays = dict[str, Any]


def write_made_up(path: Path, kind: str) -> None:
    """Write made-up data of one of `KINDS`, unless the path exists; its name decides numbers and layout."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # annotations are of the videos for training or of the others, arrays of all
    first, end = (0, _VIDEOS) if "train" in path.name else (_VIDEOS, 2 * _VIDEOS)
    names = [f"v_{video}" for video in range(first if path.suffix.startswith(".json") else 0, end)]
    made = KINDS[kind](names, np.random.default_rng(zlib.crc32(path.name.encode())))
    if not path.suffix:
        path.mkdir()
        for name, arrays in made.items():
            np.savez(path / f"{name}.npz", **arrays)
        return
    with atomic_write(path) as file:
        if path.suffix in (".json", ".jsonl"):
            lines = made if path.suffix == ".jsonl" else [made]
            file.write_text("\n".join(map(json.dumps, lines)))
        else:
            with h5py.File(file, "w") as h5:
                for name, arrays in made.items():
                    for key, array in arrays.items():
                        h5[f"{name}/{key}"] = array


def _window(draw: np.random.Generator) -> list[int]:
    start = int(draw.integers(0, _CLIPS - 2))
    return [_CLIP_S * start, _CLIP_S * int(draw.integers(start + 1, _CLIPS))]


def _moments(names: list[str], draw: np.random.Generator) -> Arrays:
    """ActivityNet Captions and Charades-STA; with recordings, as MRNet's authors publish them."""
    return {
        name: {
            "duration": _CLIPS * _CLIP_S,
            "timestamps": [_window(draw) for _ in range(_QUERIES)],
            "sentences": [f"a person does thing {query}" for query in range(_QUERIES)],
            "audios": [f"{name}_{query}.wav" for query in range(_QUERIES)],
        }
        for name in names
    }


def _highlights(names: list[str], draw: np.random.Generator) -> list[Arrays]:
    """QVHighlights' annotations, by three annotators, and answers in the same lines."""
    lines = []
    for number, name in enumerate(names, int(names[0][2:])):
        window = _window(draw)
        clips = [*range(window[0] // _CLIP_S, window[1] // _CLIP_S)]
        line = {"qid": number, "query": "a person does a thing", "vid": name, "duration": _CLIPS * _CLIP_S}
        line |= {"relevant_windows": [window], "relevant_clip_ids": clips}
        line |= {"saliency_scores": draw.integers(0, 5, (len(clips), 3)).tolist()}
        answers = [[*_window(draw), float(draw.random())] for _ in range(3)]
        lines.append(
            line | {"pred_relevant_windows": answers, "pred_saliency_scores": draw.random(_CLIPS).tolist()}
        )
    return lines


def _features(names: list[str], draw: np.random.Generator, n_rows: int = _CLIPS) -> Arrays:
    return {name: {"features": draw.standard_normal((n_rows, _DIM), np.float32)} for name in names}


def _queries(names: list[str], draw: np.random.Generator) -> Arrays:
    """Return a vector per recording."""
    return _features([f"{name}_{query}" for name in names for query in range(_QUERIES)], draw, 1)


def _words(names: list[str], draw: np.random.Generator) -> Arrays:
    """Return the words of QVHighlights' queries."""
    rows = draw.standard_normal((len(names), 5, _DIM), np.float32)
    return {f"qid{number}": {"last_hidden_state": row} for number, row in enumerate(rows)}


_KEYS = [f"video_{number}" for number in range(1, _VIDEOS + 1)]
_SPLITS = [{"train_keys": _KEYS[:4], "test_keys": _KEYS[4:]}]
"""A single split in place of five."""


def _summaries(names: list[str], draw: np.random.Generator) -> Arrays:
    """Return the layout of `eccv16_dataset_tvsum_google_pool5.h5`, with five annotators."""
    edges = np.arange(0, _SAMPLES + 1, _SHOT) * _STRIDE
    videos = {}
    for number in range(1, _VIDEOS + 1):
        shots = np.repeat(draw.integers(0, 2, (5, len(edges) - 1)), _SHOT * _STRIDE, axis=1)
        scores = draw.random(_SAMPLES, np.float32)
        videos[f"video_{number}"] = {
            "features": draw.random((_SAMPLES, _DIM), np.float32),
            "gtscore": scores,
            "gtsummary": (scores > np.median(scores)).astype(np.float32),
            "user_summary": shots.astype(np.float32),
            "change_points": np.stack([edges[:-1], edges[1:] - 1], axis=1),
            "n_frames": edges[-1],
            "picks": np.arange(_SAMPLES) * _STRIDE,
        }
    return videos


KINDS: Final[Mapping[str, Callable[[list[str], np.random.Generator], Any]]] = {
    "moments": _moments,
    "highlights": _highlights,
    "features": _features,
    "queries": _queries,
    "words": _words,
    "splits": lambda names, draw: _SPLITS,
    "summaries": _summaries,
}
