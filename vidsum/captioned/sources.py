"""Files of captions and annotations as data: what models are trained on and measured on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vidsum import checkpoints
from vidsum.captioned.classes import EXTRACTOR, MOTION, Classifier, load_classifier, simulated
from vidsum.captioned.videos import ENCODER, captioned_videos
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.errors import UsageError
from vidsum.types import Progress

Space = Literal["text", "conse", "conse-motion"]
"""Captions as sentences, or as the objects that a network would show of such frames, or as objects and
motion."""
Draw = Callable[..., AnnotatedVideo]
"""draw(video, *seed): a captioned video with other features, such as `Simulation`."""

_TEST_SEED = 2
"""Seed of the draws of test videos; those of a training have more numbers."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A `Draw` of what classifiers would show of frames with these captions."""

    classifiers: Mapping[str, Classifier]
    """By the names of their networks."""

    def __call__(self, video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        """See `vidsum.captioned.classes.simulated`."""
        return simulated(video, tuple(self.classifiers.values()), *seed)

    @property
    def only_objects(self) -> Classifier | None:
        """The classifier of objects; None where a model would read the features of another one too."""
        return self.classifiers[EXTRACTOR] if len(self.classifiers) == 1 else None

    @property
    def weights(self) -> dict[str, str]:
        """SHA-256 of the networks that it depends on, by name."""
        return {name: checkpoints.sha256_of(name) for name in (*self.classifiers, ENCODER)}


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


def draw_of(space: Space, device: str = "auto") -> Simulation | None:
    """The function that draws features in a space; None where they are the captions themselves.

    Raises WeightsError where the classifiers' weights cannot be had.
    """
    if space == "text":
        return None
    networks = (EXTRACTOR, MOTION) if space == "conse-motion" else (EXTRACTOR,)
    return Simulation({name: load_classifier(device, name) for name in networks})


def in_space(
    videos: Mapping[str, AnnotatedVideo], space: Space, device: str = "auto"
) -> dict[str, AnnotatedVideo]:
    """The videos as models are tested on them: in a space that is simulated, one draw of each."""
    draw = draw_of(space, device)
    return {name: draw(video, _TEST_SEED) if draw else video for name, video in videos.items()}
