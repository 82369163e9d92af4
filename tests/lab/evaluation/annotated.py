"""Small annotated videos."""

from dataclasses import replace

import numpy as np

from tests.lab.training.videos import sampled_video
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.evaluation.reference import at_every_frame, key_shots


def annotated_video(
    name: str, *, seed: int = 0, n_samples: int = 40, n_annotators: int = 4, scored: bool = True
) -> AnnotatedVideo:
    """Return a video in ten shots, whose annotators agree but for noise."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.random(n_samples // 4), 4)
    scores = (truth + rng.normal(0, 0.2, (n_annotators, n_samples))).clip(0, 1).astype(np.float32)
    video = sampled_video(name, rng.normal(size=(n_samples, 8)), scores.mean(axis=0))
    frames = at_every_frame(scores, video.picks, video.n_frames)
    summary = key_shots(frames, video.change_points, "pgl-sum").astype(np.float32)
    return replace(video, user_summary=summary, user_scores=scores if scored else None)


def dataset(n_videos: int = 3, *, scored: bool = True) -> dict[str, AnnotatedVideo]:
    """Videos of a dataset called `made`."""
    names = [f"made/video_{number + 1}" for number in range(n_videos)]
    return {name: annotated_video(name, seed=seed, scored=scored) for seed, name in enumerate(names)}
