"""Toy annotated videos in which what is important can be seen in the features."""

import numpy as np

from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.results.features import Features

DIM = 6
STRIDE = 15


def toy_video(name: str, n_shots: int = 10, samples: int = 4, seed: int = 0) -> AnnotatedVideo:
    """Shots of a few samples each; the first feature of a sample tells its importance, the others nothing."""
    rng = np.random.default_rng([seed, *name.encode()])
    importance = np.where(rng.permutation(n_shots) == 0, 1.0, rng.uniform(0, 0.4, n_shots))
    gtscore = np.repeat(importance, samples)
    array = rng.normal(0, 0.3, (len(gtscore), DIM))
    array[:, 0] = 4 * gtscore - 1
    n_frames = len(gtscore) * STRIDE
    edges = np.arange(0, n_frames + 1, samples * STRIDE)
    return AnnotatedVideo(
        name=name,
        features=Features.from_array(array, fps=2, duration_s=n_frames / 30, video_fps=30),
        picks=np.arange(len(gtscore)) * STRIDE,
        n_frames=n_frames,
        change_points=np.stack([edges[:-1], edges[1:] - 1], axis=1),
        gtscore=gtscore.astype(np.float32),
    )


def toy_videos(count: int = 8, dataset: str = "made") -> dict[str, AnnotatedVideo]:
    """Several of them, by name."""
    names = [f"{dataset}/video_{number}" for number in range(1, count + 1)]
    return {name: toy_video(name) for name in names}
