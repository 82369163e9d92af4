"""Small annotated videos."""

import numpy as np

from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.lab.evaluation.reference import at_every_frame, key_shots
from vidsum.results.features import Features


def annotated_video(
    name: str, *, seed: int = 0, n_samples: int = 40, n_annotators: int = 4, scored: bool = True
) -> AnnotatedVideo:
    """A video in ten shots, whose annotators agree but for noise."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.random(n_samples // 4), 4)
    scores = (truth + rng.normal(0, 0.2, (n_annotators, n_samples))).clip(0, 1).astype(np.float32)
    picks, n_frames = 15 * np.arange(n_samples), 15 * n_samples
    edges = np.append(picks[::4], n_frames)
    shots = np.stack([edges[:-1], edges[1:] - 1], axis=1)
    return AnnotatedVideo(
        name=name,
        features=Features.from_array(rng.normal(size=(n_samples, 8))),
        picks=picks,
        n_frames=n_frames,
        change_points=shots,
        gtscore=scores.mean(axis=0),
        user_summary=key_shots(at_every_frame(scores, picks, n_frames), shots, "pgl-sum").astype(np.float32),
        user_scores=scores if scored else None,
    )


def dataset(n_videos: int = 3, *, scored: bool = True) -> dict[str, AnnotatedVideo]:
    """Videos of a dataset called `made`."""
    names = [f"made/video_{number + 1}" for number in range(n_videos)]
    return {name: annotated_video(name, seed=seed, scored=scored) for seed, name in enumerate(names)}
