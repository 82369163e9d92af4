"""Files of captions and annotations as data: what models are trained on and measured on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidsum import checkpoints
from vidsum.captioned.videos import ENCODER, captioned_videos, shots_of_captions
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.errors import UsageError
from vidsum.grounding import vse
from vidsum.models.vse import VisualSemanticMap
from vidsum.settings import CaptionSpace
from vidsum.types import FloatArray, Progress

Draw = Callable[..., AnnotatedVideo]
"""draw(video, *seed): a captioned video with other features, such as `Simulation`."""

_LASTING, _PERSISTENCE = 0.65, 0.6
"""Of the noise: the fraction of its variance that lasts as long as a shot, as a network errs in the same way
on similar frames; and the correlation of the rest from one frame to the next."""
_TEST_SEED = 2
"""Seed of the draws of test videos; those of a training have more numbers."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A `Draw` of what the map might show of frames with these captions."""

    visual: VisualSemanticMap

    def __call__(self, video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        """The video with other features in the space of its captions, drawn from a seed."""
        rng = np.random.default_rng([*seed, *video.name.encode()])
        captions = video.features.array
        seen = self.visual.seen(captions, noise_of(captions, rng))
        return replace(video, features=replace(video.features, array=seen, extractor=vse.NAME))

    @property
    def weights(self) -> dict[str, str]:
        """SHA-256 of what it depends on, by name."""
        return {name: checkpoints.sha256_of(name) for name in (vse.NAME, ENCODER)}


def noise_of(captions: FloatArray, rng: np.random.Generator) -> FloatArray:
    """[T, E] standard normal numbers for frames with captions [T, E], alike within a shot."""
    shot = shots_of_captions(captions)
    lasting = rng.standard_normal((shot[-1] + 1, captions.shape[1]), np.float32)
    passing = rng.standard_normal(captions.shape, np.float32)
    for t in np.flatnonzero(np.diff(shot) == 0) + 1:
        passing[t] = _PERSISTENCE * passing[t - 1] + np.sqrt(1 - _PERSISTENCE**2) * passing[t]
    return np.asarray(np.sqrt(_LASTING) * lasting[shot] + np.sqrt(1 - _LASTING) * passing, np.float32)


def read_captioned(
    captions: Sequence[Path],
    annotations: Sequence[Path],
    device: str = "auto",
    progress: Progress | None = None,
) -> dict[str, AnnotatedVideo]:
    """The videos of several data sets, by name; errors are those of `captioned_videos`.

    Raises UsageError too where the files do not come in pairs, or two are of one data set.
    """
    if len(captions) != len(annotations):
        raise UsageError(
            f"{len(captions)} files of captions, but {len(annotations)} of annotations",
            hint="one --annotations for each --captions, in the same order",
        )
    videos: dict[str, AnnotatedVideo] = {}
    for of_frames, of_people in zip(captions, annotations, strict=True):
        more = captioned_videos(of_frames, of_people, device, progress)
        if videos.keys() & more.keys():
            raise UsageError(f"{of_people}: its data set was given before")
        videos |= more
    return videos


def draw_of(space: CaptionSpace) -> Simulation | None:
    """The function that draws features in a space; None where they are the captions themselves.

    Raises WeightsError where the map cannot be read.
    """
    return None if space == "text" else Simulation(vse.load_map())


def in_space(videos: Mapping[str, AnnotatedVideo], space: CaptionSpace) -> dict[str, AnnotatedVideo]:
    """The videos as models are tested on them: in a space that is simulated, one draw of each."""
    draw = draw_of(space)
    return {name: draw(video, _TEST_SEED) if draw else video for name, video in videos.items()}
