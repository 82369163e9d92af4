"""Moments by a trained MRNet, in a video of any length.

docs/algorithms/mrnet.md tells how windows of a long video are joined, and how fast it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from vidsum.checkpoints.named import named_file
from vidsum.checkpoints.trained import Trained, built, read_trained
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.features.resample import resample
from vidsum.grounding.guide import guided_rows, reads_of, rows_of
from vidsum.grounding.nms import suppress
from vidsum.grounding.proposals import MAX_IOU
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.windows import Windows, windows_of
from vidsum.models.configs import MRNetConfig
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.settings import SHIPPED_GROUNDER
from vidsum.types import FloatArray, Moment

_BATCH = 16
"""Pairs of a window and a query at a time; with the paper's head they take about 1 GB."""


@dataclass(frozen=True, eq=False)
class Grounder:
    """An MRNet that is ready to use, and what it reads."""

    model: MRNet
    space: str
    """Of its clips and queries, see `vidsum.grounding.spaces`."""
    clip_s: float
    """Seconds of a clip: a video longer than T of them is read in windows, see `vidsum.grounding.windows`."""
    name: str
    """For messages: the path or the registry's name."""
    guided: bool = False
    """Whether its clips come with a guide, see `vidsum.grounding.guide`."""
    max_iou: float = MAX_IOU
    """Largest overlap of its moments, see `vidsum.grounding.nms.suppress`."""


def load_grounder(name: str = SHIPPED_GROUNDER, device: str = "auto") -> Grounder:
    """Load a checkpoint of `vidsum train mrnet`, by its path, or the one that ships.

    Raises:
        InputError: the file is missing, or is no checkpoint of this model.
        UsageError, WeightsError: see `vidsum.checkpoints.path_of`.
    """
    return grounder_of(read_trained(named_file(name)), name, device)


def grounder_of(trained: Trained, name: str, device: str = "auto") -> Grounder:
    """Build the model of a checkpoint that has been read.

    Raises:
        InputError: it is of another model, its tensors do not fit its configuration, or it does not say what
            it reads.
    """
    model = built(trained, "mrnet", lambda config: MRNet(MRNetConfig(**config)), name)
    reads = reads_of(trained, name)
    max_iou = trained.features.get("max_iou", MAX_IOU)  # of the authors' checkpoints alone
    return Grounder(model.to(choose_device(device)), reads.space, reads.clip_s, name, reads.guided, max_iou)


def ground_video(
    grounder: Grounder,
    video: ClipEmbeddings,
    queries: FloatArray,
    top_k: int = 5,
    *,
    max_iou: float | None = None,
) -> list[list[Moment]]:
    """The moments of each query, best first; each query is asked by itself, as in the paper's evaluation.

    Args:
        grounder: the model.
        video: in the space that the model reads.
        queries: [M, Dq] in that space.
        top_k: most moments of a query.
        max_iou: see `vidsum.grounding.nms.suppress`; the model's own if not given.

    Returns:
        For each query at least one moment; scores lie in [0, 1] and mean the same in every window and video.

    Raises:
        UsageError: video or queries are of another size than those that the model reads.
    """
    windows = _windows(grounder, video)
    kept = np.flatnonzero(windows.is_whole.reshape(-1))
    intervals = windows.intervals_s.reshape(-1, 2)[kept]
    found = []
    for scores in _scores(grounder, video, windows, queries):
        ranked = scores.reshape(-1)[kept]
        best_first = np.argsort(-ranked, kind="stable")
        moments = (
            Moment(float(intervals[place, 0]), float(intervals[place, 1]), float(ranked[place]))
            for place in best_first
        )
        found.append(suppress(moments, grounder.max_iou if max_iou is None else max_iou, top_k))
    return found


def _scores(
    grounder: Grounder, video: ClipEmbeddings, windows: Windows, queries: FloatArray
) -> Iterator[FloatArray]:
    """[W, N] the proposals' scores of each query; pairs of query and window go through in batches."""
    model, n_windows = grounder.model, len(windows.rows)
    device = next(model.parameters()).device
    clips = _clips(grounder, video, windows, queries)
    asked = np.repeat(np.arange(len(queries)), n_windows)
    ready: list[FloatArray] = []
    with torch.inference_mode():
        for start in range(0, len(asked), _BATCH):
            of_batch = queries[asked[start : start + _BATCH]][:, None]
            read = np.stack(list(islice(clips, len(of_batch))))
            scores = model(torch.from_numpy(read).to(device), torch.from_numpy(of_batch).to(device))
            ready.extend(match_scores(scores)[:, 0, model.valid].float().cpu().numpy())
            while len(ready) >= n_windows:
                yield np.stack(ready[:n_windows])
                ready = ready[n_windows:]


def _clips(
    grounder: Grounder, video: ClipEmbeddings, windows: Windows, queries: FloatArray
) -> Iterator[FloatArray]:
    """[T, D] of each window, all of them for each query in turn.

    Raises:
        UsageError: video or queries are of another size than those that the model reads.
    """
    plain = None if grounder.guided else _read(grounder, rows_of(video), windows, queries)
    for query in queries:
        yield from _read(grounder, guided_rows(video, query), windows, queries) if plain is None else plain


def _read(grounder: Grounder, rows: FloatArray, windows: Windows, queries: FloatArray) -> list[FloatArray]:
    """[T, D] of each window; refuses rows and queries of another size than the model's."""
    config = grounder.model.config
    if rows.shape[1] != config.dim_video or queries.shape[1] != config.dim_query:
        raise UsageError(
            f"{grounder.name} reads clips of {config.dim_video} numbers and queries of {config.dim_query}, "
            f"not of {rows.shape[1]} and {queries.shape[1]}",
            hint=f"it was trained in the space {grounder.space}",
        )
    return [resample(rows[stretch], config.clips * config.pool) for stretch in windows.rows]


def _windows(grounder: Grounder, video: ClipEmbeddings) -> Windows:
    n_clips = grounder.model.config.clips
    shares = (torch.nonzero(grounder.model.valid).cpu().numpy() + np.array([0, 1])) / n_clips
    shortest = round(n_clips * grounder.clip_s / video.step_s)
    return windows_of(shares, shortest, len(video), video.step_s, video.duration_s)
