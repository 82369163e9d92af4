"""What moment retrieval reaches without looking: moments drawn at random, and the whole video."""

import numpy as np

from vidsum.evaluation.moment_metrics import TOP
from vidsum.types import TimeArray

RANDOM, WHOLE = "random", "whole video"


def whole_video(durations_s: TimeArray) -> TimeArray:
    """Each of Q queries answered by its whole video and nothing else, [Q, 1, 2]."""
    return np.stack([np.zeros_like(durations_s), durations_s], axis=-1)[:, None]


def random_moments(durations_s: TimeArray, n_seeds: int, n_moments: int = max(TOP)) -> TimeArray:
    """Each of Q queries answered by moments between two times of its video, all as likely.

    Args:
        durations_s: [Q] seconds of each query's video.
        n_seeds: how many times the queries are answered, with the seeds 0, 1, ...
        n_moments: how many moments a query is answered by.

    Returns:
        [n_seeds, Q, n_moments, 2]
    """
    shape = (len(durations_s), n_moments, 2)
    draws = np.stack([np.random.default_rng(seed).random(shape) for seed in range(n_seeds)])
    return np.sort(draws, axis=-1) * durations_s[:, None, None]
