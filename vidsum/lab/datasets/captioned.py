"""Annotated videos whose features are the captions of their frames, or what a map might show of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.errors import InputError, Mention, UsageError, fill, safe_name
from vidsum.grounding import vse_map
from vidsum.grounding.settings import CaptionSpace
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.clip_captions import ENCODER, embed_texts, read_frame_captions
from vidsum.lab.datasets.labels import read_labels
from vidsum.models.scaling import unit_rows
from vidsum.models.vse import VisualSemanticMap
from vidsum.results.features import Features
from vidsum.shots.segmentation import find
from vidsum.types import FloatArray, IntArray, Progress

_SAME_SHOT = 0.6  # neighbouring frames whose captions have a smaller cosine are of different shots
_LASTING, _PERSISTENCE = 0.65, 0.6
"""Fraction of the noise's variance that lasts for a shot; correlation of the rest of neighbouring frames."""
_TEST_SEED: Final = 2  # seed of the draws of test videos; seeds of a training have more numbers


def read_captioned(
    captions: Sequence[Path], annotations: Sequence[Path], progress: Progress | None = None
) -> dict[str, AnnotatedVideo]:
    """Return videos of several data sets: see `captioned_videos`. Raises UsageError: files not in pairs."""
    if len(captions) != len(annotations):
        raise UsageError(
            f"{len(captions)} files of captions, but {len(annotations)} of annotations",
            hint=fill("one {} for each {}, in the same order", Mention("annotations"), Mention("captions")),
        )
    videos: dict[str, AnnotatedVideo] = {}
    for of_frames, of_people in zip(captions, annotations, strict=True):
        more = captioned_videos(of_frames, of_people, progress)
        if videos.keys() & more.keys():
            raise UsageError("its data set was given before", subject=of_people)
        videos |= more
    return videos


def captioned_videos(
    captions: Path, annotations: Path, progress: Progress | None = None
) -> dict[str, AnnotatedVideo]:
    """Annotated videos whose features are the captions of their frames (`read_frame_captions`), embedded.

    Named as in the published files, `tvsum/video_1`. Without shots in `annotations` (TVSum), KTS finds them.
    Raises InputError: a file cannot be read, a video has no captions, or they do not go together.
    """
    labels, of_frames = read_labels(annotations), read_frame_captions(captions)
    for name, label in labels.items():
        if label.file_name not in of_frames:
            raise InputError(f"has no captions of {safe_name(label.file_name)} ({name})", subject=captions)
    used = {name: of_frames[label.file_name] for name, label in labels.items()}
    texts = sorted({text for video in used.values() for text in video.captions})
    vectors = dict(zip(texts, embed_texts(texts, progress), strict=True))
    videos = {}
    for name, label in labels.items():
        n_frames, fps, all_picks = label.n_frames, label.fps, used[name].picks
        picks = all_picks[all_picks < n_frames]
        if not len(picks):
            raise InputError(
                f"{used[name].name} has {n_frames} frames, and captions of none", subject=captions
            )
        array = np.stack([vectors[text] for text in used[name].captions[: len(picks)]])
        step_s = float(np.median(np.diff(picks, append=n_frames))) / fps
        features = Features(array, picks / fps, step_s, step_s, n_frames / fps, fps, extractor=ENCODER)
        features = replace(features, warnings=label.warnings)
        points = find(features).change_points if label.change_points is None else label.change_points
        people = label.scores_at(picks)
        of_people = (points, people[0], label.user_summary, people[1])
        videos[name] = AnnotatedVideo(label.name, features, picks, n_frames, *of_people)
    return videos


def shots_of_captions(captions: FloatArray) -> IntArray:
    """Return [T] number of each frame's shot: a shot begins where the caption changes."""
    rows = unit_rows(captions)
    is_new = np.einsum("td,td->t", rows[1:], rows[:-1]) < _SAME_SHOT
    return np.concatenate([[0], np.cumsum(is_new)])


@dataclass(frozen=True, eq=False)
class FeatureSimulator:
    """Draws what the map might show of frames with these captions."""

    visual: VisualSemanticMap

    def __call__(self, video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        """Return the video with other features in the space of its captions, drawn from a seed."""
        rng = np.random.default_rng([*seed, *video.name.encode()])
        captions = video.features.array
        seen = self.visual.simulate(captions, noise_of(captions, rng))
        return replace(video, features=replace(video.features, array=seen, extractor=vse_map.NAME))

    @property
    def weights(self) -> dict[str, str]:
        """SHA-256 of what it depends on, by name."""
        return {name: checkpoints.sha256_of(name) for name in (vse_map.NAME, ENCODER)}


def noise_of(captions: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return [T, E] standard normal numbers for frames with captions [T, E], alike within a shot."""
    shot = shots_of_captions(captions)
    lasting = rng.standard_normal((shot[-1] + 1, captions.shape[1]), np.float32)
    passing = rng.standard_normal(captions.shape, np.float32)
    for t in np.flatnonzero(np.diff(shot) == 0) + 1:
        passing[t] = _PERSISTENCE * passing[t - 1] + np.sqrt(1 - _PERSISTENCE**2) * passing[t]
    return np.asarray(np.sqrt(_LASTING) * lasting[shot] + np.sqrt(1 - _LASTING) * passing, np.float32)


def draw_of(space: CaptionSpace) -> FeatureSimulator | None:
    """Return the function that draws features in a space; None where they are the captions themselves."""
    return None if space == "text" else FeatureSimulator(vse_map.load_map())


def in_space(videos: Mapping[str, AnnotatedVideo], space: CaptionSpace) -> dict[str, AnnotatedVideo]:
    """Return the videos as models are tested on them: in a space that is simulated, one draw of each."""
    draw = draw_of(space)
    return {name: draw(video, _TEST_SEED) if draw else video for name, video in videos.items()}
