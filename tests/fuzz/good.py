"""Contents of small good files of each kind."""

import json
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.lab.datasets.moment_layouts import highlight, in_seconds, with_saliency
from tests.media import make_video
from tests.results.made import results
from vidsum.results.summary import ScoredShot, Summary

QUERIES = [
    with_saliency(
        {**highlight(number, f"v{number}", f"A dog {number}", (2, 10), (20, 30)), "duration": 60},
        dict.fromkeys((1, 2, 3, 4, 10, 11), (1, 2, 3)),
    )
    for number in range(3)
]
PREDICTIONS = [
    {
        "qid": line["qid"],
        "query": line["query"],
        "vid": line["vid"],
        "pred_relevant_windows": [[2, 10, 0.9], [20, 30, 0.5], [40, 40, 0.25]],
        "pred_saliency_scores": [0.125] * 30,
    }
    for line in QUERIES
]
ACTIVITYNET = {
    name: in_seconds(60.5, (1.5, 20, "He runs."), (0, 60.5, "He sits.")) for name in ("v_a", "v_b")
}
TACOS = {
    name: {"fps": 29.4, "num_frames": 1000, "timestamps": [[10, 200]], "sentences": ["Cut it."]}
    for name in ("s1.avi", "s2.avi")
}
MOMENTS = {
    "schema": "vidsum.moments/1",
    "video": {"path": "v_a.mp4"},
    "queries": [
        {"query": query, "moments": [{"start_s": 1.5, "end_s": 20.0, "score": 0.5}]}
        for query in ("He runs.", "He sits.")
    ],
}


SPLITS = [{"train_keys": ["video_1", "video_2"], "test_keys": [f"video_{n}"]} for n in (3, 4)]
CONFIG = {
    "device": "cpu",
    "quiet": True,
    "summarize": {"budget": "20%", "seed": 3, "fps": 2.0, "max-shots": 10, "keep": ["1:00-1:10"]},
    "train": {"fulltransnet": {"epochs": 10}},
}
SCORES = {"made/video_1": [0.5] * 40, "video_2": [0.25] * 40}
CLIP_CAPTIONS = [
    {"vid": "v0", "captions": ["a dog runs", "snow"]},
    {"vid": "v1", "captions": "['a dog runs', \"it's a cat\"]"},
]
SUMMARY = Summary(
    segments=((0.0, 2.5),),
    shots=(ScoredShot(0.0, 2.5, 0.75, True), ScoredShot(2.5, 5.0, 0.25, False)),
    importance=np.array([0.75, 0.25], np.float32),
    timestamps=np.array([0.0, 2.5]),
    budget_s=2.5,
    video_duration_s=5.0,
    video_fps=25.0,
    model="highlights",
    model_reason="it was asked for",
    shot_method="kts",
    provenance={"vidsum": "0.2.0", "parameters": {"fps": 2.0}},
).to_dict()
RUN = {
    "schema": "vidsum.training_run/1",
    "model": "fulltransnet",
    "settings": {"lr": 5e-4},
    "splits": [{"folder": "1", "name": "fold-1", "train": ["a"], "validation": [], "test": ["b"]}],
}
RECORDS = {
    "mobilenet_v2.safetensors": {
        "source_sha256": "ab" * 32,
        "source": "a test",
        "stored_sha256": "cd" * 32,
        "stored_bytes": 9,
    }
}


_QUERIES = {"count": 3, "sha256": "ab" * 32}
_OPTIONS = {
    "summary": {"seed": 10**30, "keep": [[0.0, 1.0]]},
    "moments": {"top_k": 3, "model": "similarity", "space": "vse", "queries": _QUERIES},
    "highlights": {"top_k": 3, "clip_s": 0.5},
    "shots": {"max_shots": None},
}


@lru_cache
def film_and_results() -> tuple[bytes, list[dict[str, Any]]]:
    """A film, and a summary, moments, highlights and shots of it, as `film.mp4`."""
    with TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        make_video(film, n_frames=250, sound=True)
        matches = [result.to_dict() for _, result in results(film, with_saliency=True)]
        for document in matches:
            document["video"]["path"] = film.name
            kind = document["schema"].removeprefix("vidsum.").removesuffix("/1")
            document["provenance"] = {
                "vidsum": "0",
                "extractor": "mobilenet_v2",
                "parameters": {"fps": 2.0},
                "grounding" if kind == "moments" else kind: _OPTIONS[kind],
            }
        return film.read_bytes(), matches


def lines_of(entries: list[Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)
