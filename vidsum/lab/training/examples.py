"""Training videos as FullTransNet takes them: whole with their own key frames, as in the paper, or varied.

The draws are those of PyTorch's global generator, which the loop seeds anew for each epoch.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vidsum.lab.datasets.summaries import AnnotatedVideo, shot_of_sample
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame
from vidsum.models.frame_scores import frame_loss
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss, global_tokens
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import FloatArray


@dataclass(frozen=True)
class Example:
    """A training video, on its device."""

    features: Tensor
    """[1, T, D]"""
    is_global: Tensor
    """[1, T] bool"""
    key_frames: Tensor
    """[1, L] int64"""
    target: Tensor
    """[1, T] people's scores, see `target_of`."""


@dataclass(frozen=True, eq=False)
class VideoExample:
    """A training video, whole, and what parts of it are made from."""

    video: AnnotatedVideo
    whole: Example


def key_frames(video: AnnotatedVideo) -> npt.NDArray[np.int64]:
    """[L] indices of the samples in the key shots, in order; none where no shot fits the budget.

    Algorithm 1 of FullTransNet: the shots of the highest sum of mean `gtscore` within 15 % of the frames, and
    of their frames those that are samples.
    """
    first, last = video.change_points.T
    scores = at_every_frame(video.gtscore, video.picks, video.n_frames)
    sums = np.concatenate([[0.0], np.cumsum(scores, dtype=np.float64)])
    lengths = last - first + 1
    means = np.maximum((sums[last + 1] - sums[first]) / lengths, 0)
    chosen = knapsack(values_of(means), lengths, int(BUDGET * video.n_frames))
    in_summary = np.zeros(video.n_frames, np.bool_)
    for start, end in zip(first[chosen], last[chosen], strict=True):
        in_summary[start : end + 1] = True
    return np.flatnonzero(in_summary[video.picks])


def example_of(video: AnnotatedVideo, per_shot: int, device: torch.device) -> Example | None:
    """A video as the model takes it, with global tokens `per_shot`; None where no shot fits the budget."""
    example = teaching_example(video, per_shot, device)
    return example if example.key_frames.shape[1] else None


def teaching_example(video: AnnotatedVideo, per_shot: int, device: torch.device) -> Example:
    """As `example_of`, with no key frames where no shot fits the budget."""
    is_global = global_tokens(torch.from_numpy(shot_of_sample(video)), per_shot)
    arrays = (video.features.array, key_frames(video), target_of(video))
    features, frames, target = map(torch.from_numpy, arrays)
    return Example(*(tensor[None].to(device) for tensor in (features, is_global, frames, target)))


def target_of(video: AnnotatedVideo) -> FloatArray:
    """[T] the mean of the annotators' scores, each made to have mean 0 and deviation 1, made so again.

    Where there are no scores of single annotators, `gtscore`; zeros where all agree on one score.
    """
    scores = video.gtscore[None] if video.user_scores is None else video.user_scores
    return np.asarray(_standard(_standard(scores).mean(axis=0)), np.float32)


def _standard(scores: FloatArray) -> FloatArray:
    """Scores with mean 0 and deviation 1 along the last axis, zeros where they are all the same."""
    centred = scores - scores.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    return np.asarray(centred / np.where(spread > 1e-6, spread, 1), np.float32)


def loss_of(model: FullTransNet, example: VideoExample, crop: float, noise: float) -> Tensor:
    """Eq. 13 on one video; with the head `frame`, and `frame_loss` of the scores that the network learns.

    Ridge regression is left out of the latter: it fits the videos that it was fitted to far better than
    others, and what it leaves there is not what it leaves elsewhere.

    Args:
        model: on the example's device.
        example: the video.
        crop: least fraction of the shots in a random part of the video; 1: the whole video, as in the paper.
        noise: maximum fraction of the decoder's input tokens to replace by frames drawn at random; 0: none,
            as in the paper. A decoder that is always given the right frames learns to go on with what looks
            like its last frame, and a wrong first choice spoils the summary.
    """
    part = example.whole
    if crop < 1:
        cropped = random_part(example.video, crop)
        part = example_of(cropped, model.config.global_tokens, part.features.device) or part
    tokens = with_noise(part.key_frames, part.features.shape[1], noise) if noise else part.key_frames
    state = model.encode(part.features, part.is_global)
    loss = fulltransnet_loss(model.taught(state, tokens).float(), part.key_frames)
    if model.scores is None:
        return loss
    return loss + frame_loss(model.scores.learned(state.memory).float(), part.target)


def random_part(video: AnnotatedVideo, least: float) -> AnnotatedVideo:
    """A run of a video's shots, at least this fraction of them, with `gtscore` but no scores of annotators.

    Its summary is not a part of the whole video's, where other shots may be more important.
    """
    n_shots = len(video.change_points)
    n_kept = min(n_shots, int(torch.empty(()).uniform_(least, 1).item() * n_shots) + 1)
    first_shot = int(torch.randint(n_shots - n_kept + 1, ()))
    shots = video.change_points[first_shot : first_shot + n_kept]
    start = 0 if first_shot == 0 else int(shots[0, 0])
    end = video.n_frames if first_shot + n_kept == n_shots else int(shots[-1, 1]) + 1
    is_in = (video.picks >= start) & (video.picks < end)
    if not is_in.any():  # shots between two samples
        return video
    fps = video.features.video_fps
    return replace(
        video,
        features=replace(
            video.features,
            array=video.features.array[is_in],
            timestamps=video.features.timestamps[is_in] - start / fps,
            duration_s=(end - start) / fps,
            logits=None,
        ),
        picks=video.picks[is_in] - start,
        n_frames=end - start,
        change_points=shots - start,
        gtscore=video.gtscore[is_in],
        user_summary=None,
        user_scores=None,
    )


def with_noise(key_frames: Tensor, n_samples: int, most: float) -> Tensor:
    """Key frames [1, L] of which a random fraction, up to `most`, are any of the samples instead."""
    fraction = torch.rand(()) * most
    is_replaced = (torch.rand(key_frames.shape) < fraction).to(key_frames.device)
    others = torch.randint(n_samples, key_frames.shape).to(key_frames.device)
    return torch.where(is_replaced, others, key_frames)
