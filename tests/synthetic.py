"""Annotated videos whose truth is known: stretches of real clips' features, scored by simulated annotators.

They show whether a model learns, not how well it summarizes: what is important is a rule that we made up.
docs/evaluate.md tells how they are used.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.outputs import as_utf8
from vidsum.results.feature_h5 import H5Video, h5_arrays, write_groups
from vidsum.results.features import Features
from vidsum.shots.find import find
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import FloatArray

IntArray = npt.NDArray[np.int64]

FPS = 2.0
FRAMES_PER_SAMPLE = 15
"""At 30 frames per second, as in the published files."""
_SHORTEST, _LONGEST = 6, 20
"""Samples of a stretch: 3 to 10 s."""


@dataclass(frozen=True)
class Recipe:
    """How the videos are made."""

    n_videos: int = 50
    min_s: float = 90
    max_s: float = 240
    n_parts: int = 5
    """Parts that the clips are cut into; video i shows part i modulo n_parts of each, and no other."""
    clips_per_video: int = 8
    important_share: float = 0.3
    """Share of the clips that annotators find important."""
    n_annotators: int = 20
    bias: float = 0.3
    """Standard deviation of what an annotator adds to all scores (of 1 to 5)."""
    noise: float = 1.0
    """Standard deviation of what an annotator adds to each 2 s."""


@dataclass(frozen=True, eq=False)
class SyntheticVideo:
    """A video as a data set has it, and what nobody but us can know."""

    video: AnnotatedVideo
    truth: FloatArray
    """[T] importance in 1 ... 5, before any annotator."""
    part: int
    """Which part of the clips it shows; videos of different parts share no feature."""


def synthetic_videos(
    clips: Mapping[str, Features], recipe: Recipe | None = None, seed: int = 0
) -> list[SyntheticVideo]:
    """Videos made of the features of real clips.

    Each clip has an importance of its own, the same in all videos: a few lie in 4 ... 5, the others, the
    filler, in 1 ... 2.5. A video strings together stretches of 3 to 10 s of a few of the clips; an annotator
    scores every 2 s with the clip's importance, plus a bias of his own and noise, rounded to 1 ... 5. Shots
    come from KTS on the features, as for any video.

    Args:
        clips: features of each clip, densely sampled (8 per second do); all by one extractor.
        recipe: sizes; its defaults if not given.
        seed: the same seed gives the same videos.

    Raises:
        UsageError: the clips are too few or too short, or have features of different sizes.
    """
    recipe = recipe or Recipe()
    _check(clips, recipe)
    rng = np.random.default_rng(seed)
    importance = dict(zip(sorted(clips), _importance(len(clips), recipe, rng), strict=True))
    return [_video(number, clips, importance, recipe, rng) for number in range(recipe.n_videos)]


def _check(clips: Mapping[str, Features], recipe: Recipe) -> None:
    if len(clips) < recipe.clips_per_video:
        raise UsageError(f"{len(clips)} clips are too few for videos of {recipe.clips_per_video}")
    if len({features.dim for features in clips.values()}) > 1:
        raise UsageError("the clips have features of different sizes", hint="extract all in the same way")
    shortest = min(clips, key=lambda name: len(clips[name]))
    if len(clips[shortest]) < 2 * recipe.n_parts:
        raise UsageError(
            f"{shortest} has {len(clips[shortest])} features, too few for {recipe.n_parts} parts",
            hint="extract with a higher --fps",
        )


def _importance(n_clips: int, recipe: Recipe, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """[n_clips] a level for each clip, all different, in an order drawn by lot."""
    n_important = max(1, round(recipe.important_share * n_clips))
    levels = np.concatenate([np.linspace(4, 5, n_important), np.linspace(1, 2.5, n_clips - n_important)])
    return rng.permutation(levels)


def _video(
    number: int,
    clips: Mapping[str, Features],
    importance: Mapping[str, float],
    recipe: Recipe,
    rng: np.random.Generator,
) -> SyntheticVideo:
    part = number % recipe.n_parts
    names = rng.choice(sorted(clips), recipe.clips_per_video, replace=False)
    n_samples = round(rng.uniform(recipe.min_s, recipe.max_s) * FPS)
    rows: list[FloatArray] = []
    levels: list[float] = []
    while len(levels) < n_samples:
        name = str(rng.choice(names))
        length = int(rng.integers(_SHORTEST, _LONGEST + 1))
        rows.append(_stretch(clips[name].array, part, length, recipe.n_parts, rng))
        levels += [importance[name]] * length
    features = Features.from_array(np.concatenate(rows)[:n_samples], FPS, extractor=clips[names[0]].extractor)
    truth = np.array(levels[:n_samples], np.float32)
    return SyntheticVideo(_annotated(f"video_{number + 1}", features, truth, recipe, rng), truth, part)


def _stretch(array: FloatArray, part: int, length: int, n_parts: int, rng: np.random.Generator) -> FloatArray:
    """[length, D] of one part of a clip, to and fro from a place drawn by lot."""
    edges = np.linspace(0, len(array), n_parts + 1).astype(np.int64)
    rows = array[edges[part] : edges[part + 1]]
    period = 2 * len(rows) - 2
    place = (int(rng.integers(period)) + np.arange(length)) % period
    return rows[np.minimum(place, period - place)]


def _annotated(
    name: str, features: Features, truth: FloatArray, recipe: Recipe, rng: np.random.Generator
) -> AnnotatedVideo:
    shots = find(features)
    n_frames = len(features) * FRAMES_PER_SAMPLE
    user_scores = np.stack([_annotator(truth, recipe, rng) for _ in range(recipe.n_annotators)])
    points = shots.change_points
    return AnnotatedVideo(
        name=f"synthetic/{name}",
        features=features,
        picks=np.arange(len(features), dtype=np.int64) * FRAMES_PER_SAMPLE,
        n_frames=n_frames,
        change_points=points,
        gtscore=((user_scores.mean(axis=0) - 1) / 4).astype(np.float32),
        user_summary=np.stack([_key_shots(scores, points, n_frames) for scores in user_scores]),
        user_scores=user_scores,
    )


def _annotator(truth: FloatArray, recipe: Recipe, rng: np.random.Generator) -> FloatArray:
    """[T] scores 1 ... 5 of one annotator, the same for every 2 s."""
    per_score = int(2 * FPS)
    n_scores = -(-len(truth) // per_score)
    opinion = rng.normal(0, recipe.bias) + rng.normal(0, recipe.noise, n_scores)
    scores: FloatArray = np.clip(np.round(truth + np.repeat(opinion, per_score)[: len(truth)]), 1, 5)
    return scores.astype(np.float32)


def _key_shots(scores: FloatArray, change_points: IntArray, n_frames: int) -> FloatArray:
    """[n_frames] 0 or 1: an annotator's summary, by knapsack with 15 % of the frames."""
    frames = np.repeat(scores, FRAMES_PER_SAMPLE)
    means = np.array([frames[first : last + 1].mean() for first, last in change_points]) / 5
    sizes = change_points[:, 1] - change_points[:, 0] + 1
    summary = np.zeros(n_frames, np.float32)
    for first, last in change_points[knapsack(values_of(means), sizes, int(0.15 * n_frames))]:
        summary[first : last + 1] = 1
    return summary


def write_annotated(videos: Mapping[str, AnnotatedVideo], path: str | os.PathLike[str]) -> None:
    """Write videos in the layout of the published files.

    Args:
        videos: of one dataset. `read_annotated` names the dataset by the file, so they come back under the
            same names from a file that is named as the dataset is.
        path: the file.

    Raises:
        UsageError: two videos would be written under one name.
        OutputError: the file cannot be written.
    """
    groups = {}
    for video in videos.values():
        group = video.name.partition("/")[2] or video.name
        if group in groups:
            raise UsageError(f"{path}: two of the videos are called {group}")
        layout = h5_arrays(H5Video(video.features, video.change_points, video.gtscore, video.user_summary))
        layout |= {"picks": video.picks, "n_frames": np.int64(video.n_frames)}
        film = video.features.video
        layout["video_name"] = as_utf8(Path(film.path).stem if film else group)
        if video.user_scores is not None:
            layout["user_scores"] = video.user_scores
        groups[group] = (video.features, layout)
    write_groups(groups, path)
