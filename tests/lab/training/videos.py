"""Small annotated videos, and toy ones whose features show what is important."""

from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.results.features import Features

DIM = 6
STRIDE = 15


def sampled_video(
    name: str, array: npt.ArrayLike, gtscore: npt.ArrayLike, samples: int | None = 4, **fields: Any
) -> AnnotatedVideo:
    """Return a video with a feature every half second and a cut after so many samples."""
    features = Features.from_array(array, fps=2, video_fps=30)
    n_frames = len(features) * STRIDE
    edges = np.arange(0, n_frames + 1, samples * STRIDE if samples else n_frames)
    edges[-1] = n_frames
    return AnnotatedVideo(
        name=name,
        features=features,
        picks=np.arange(len(features)) * STRIDE,
        n_frames=n_frames,
        change_points=np.stack([edges[:-1], edges[1:] - 1], axis=1),
        gtscore=np.asarray(gtscore, np.float32),
        **fields,
    )


def toy_video(name: str, n_shots: int = 10, samples: int = 4, seed: int = 0) -> AnnotatedVideo:
    """Return a video whose first feature is the importance of its sample; the others say nothing."""
    rng = np.random.default_rng([seed, *name.encode()])
    importance = np.where(rng.permutation(n_shots) == 0, 1.0, rng.uniform(0, 0.4, n_shots))
    gtscore = np.repeat(importance, samples)
    array = rng.normal(0, 0.3, (len(gtscore), DIM))
    array[:, 0] = 4 * gtscore - 1
    return sampled_video(name, array, gtscore, samples)


def toy_videos(count: int = 8, dataset: str = "made") -> dict[str, AnnotatedVideo]:
    """Several of them, by name."""
    names = [f"{dataset}/video_{number}" for number in range(1, count + 1)]
    return {name: toy_video(name) for name in names}
