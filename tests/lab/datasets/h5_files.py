"""Small h5 files in the field's layout, for the tests."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, read_annotated
from vidsum.results.features import Features

STEPS, N_FRAMES = 8, 113
Datasets = dict[str, Any]


def published(seed: int = 0) -> Datasets:
    """One video in the layout of the published TVSum file."""
    rng = np.random.default_rng(seed)
    return {
        "features": rng.random((STEPS, 4), np.float32),
        "gtscore": rng.random(STEPS, np.float32),
        "gtsummary": rng.integers(0, 2, STEPS).astype(np.float32),
        "user_summary": rng.integers(0, 2, (3, N_FRAMES)).astype(np.float32),
        "change_points": np.array([[0, 59], [60, 89], [90, 112]], np.int32),
        "n_frame_per_seg": np.array([60, 30, 23], np.int32),
        "n_frames": N_FRAMES,
        "n_steps": STEPS,
        "picks": np.arange(0, N_FRAMES, 15, np.int32),
        "video_name": "a title",
    }


def of_mr_hisum(ends: Sequence[int], seed: int = 0, **datasets: Any) -> Datasets:
    """A group as public code of Mr. HiSum reads it: a sample a second; a shot ends where the next begins."""
    rng, steps = np.random.default_rng(seed), 40
    points = np.stack([[0, *ends[:-1]], ends], axis=1)
    scores = rng.random(steps)
    made = {"features": rng.random((steps, 4), np.float32), "gtscore": scores, "change_points": points}
    return {**made, "gtsummary": (scores > 0.8).astype(np.float32), **datasets}


def write(path: Path, **groups: Datasets) -> Path:
    with h5py.File(path, "w") as file:
        for name, datasets in groups.items():
            for key, value in datasets.items():
                file[f"{name}/{key}"] = value
    return path


def only(path: Path) -> AnnotatedVideo:
    (video,) = read_annotated(path).values()
    return video


def changed(tmp_path: Path, *without: str, **datasets: Any) -> Path:
    """A file of one published video with some datasets changed or left out, as those that are None."""
    left_out = {*without, *(key for key, value in datasets.items() if value is None)}
    present = {key: value for key, value in {**published(), **datasets}.items() if key not in left_out}
    return write(tmp_path / "x.h5", video_3=present)


def assert_same(first: AnnotatedVideo, second: AnnotatedVideo) -> None:
    for name in (field.name for field in fields(AnnotatedVideo) if field.name != "features"):
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None), name
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None), name
        np.testing.assert_array_equal(one, other, err_msg=name)
    for field in fields(Features):
        one, other = getattr(first.features, field.name), getattr(second.features, field.name)
        np.testing.assert_array_equal(one, other, err_msg=field.name)
