"""Turn a stream of frames into the features of a video, in batches formed while it is decoded."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from vidsum.errors import InputError
from vidsum.features.extractor import Extractor, Spec
from vidsum.features.growing_rows import GrowingRows
from vidsum.results.features import Features
from vidsum.types import FloatArray, Picture, Progress, VideoInfo
from vidsum.video.frames import Frame

CPU_FRAMES = 6  # frames per batch: activations fit the cache, twice as fast as with 32
ONNX_FRAMES = 2  # in onnxruntime on the CPU, where six are no faster and take 75 MiB more
GPU_FRAMES = 64
_MAX_RUN_CLIPS = 120  # identical clips that are encoded once, split for progress
MIN_CLIPS = 2  # clips per batch: PyTorch runs some 3D convolutions of a single clip slowly

_EMBEDDED_ROWS = 64  # pictures that are embedded together: the map has a large matrix
_Encoded = tuple[FloatArray, list[int]]  # [n, D + inner] of n pictures, and how many rows show each
Clip = tuple[float, list[Picture]]  # time of its first frame, and its cropped pictures


def extract_features(
    frames: Iterable[Frame],
    extractor: Extractor,
    video: VideoInfo,
    *,
    with_logits: bool = False,
    embed: Callable[[FloatArray], FloatArray] | None = None,
    progress: Progress | None = None,
) -> Features:
    """Return features of one video: one row for each clip of its frames by `extractor.spec.sampling`.

    At most one batch and one clip of frames are in memory. A video shorter than one clip gives one feature,
    its last frame repeated; so do the frames after the last whole clip, if they fill half a clip or more.
    `with_logits` also gives class scores; `embed` makes the `embeddings` [N, E] of what `Extractor.encode`
    gives. Raises InputError: there are no frames. UsageError: the extractor has no class scores.
    """
    spec = extractor.spec
    runs = _iter_runs(iter_clips(frames, spec))
    size = batch_size(extractor)
    times: list[float] = []
    rows, scores, embeddings = GrowingRows(), GrowingRows(), GrowingRows()
    waiting = list[_Encoded]()
    while batch := list(islice(runs, size)):
        times += [time for run, _ in batch for time in run]
        counts = [len(run) for run, _ in batch]
        encoded = extractor.encode(np.stack([pictures for _, pictures in batch]))
        rows.add(np.repeat(encoded[:, : spec.dim], counts, axis=0))
        if embed:
            waiting.append((encoded, counts))
            if sum(len(rows) for rows, _ in waiting) >= _EMBEDDED_ROWS:
                embeddings.add(_embed_rows(embed, waiting))
                waiting.clear()
        if with_logits:
            scores.add(np.repeat(extractor.logits(encoded), counts, axis=0))
        if progress:
            done_s = min(times[-1] + spec.covers_s, video.duration_s)
            progress("extracting features", done_s, video.duration_s)
    if not times:
        raise InputError("no frame could be decoded", subject=video.path)
    if embed and waiting:
        embeddings.add(_embed_rows(embed, waiting))
    return Features(
        array=rows.array(),
        timestamps=np.array(times),
        step_s=spec.step_s,
        covers_s=spec.covers_s,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=spec.name,
        logits=scores.array() if with_logits else None,
        embeddings=embeddings.array() if embed else None,
        video=video,
    )


def _embed_rows(embed: Callable[[FloatArray], FloatArray], waiting: Sequence[_Encoded]) -> FloatArray:
    """Return the embeddings [n, E] of encoded pictures, each as often as it counts."""
    rows = embed(np.concatenate([encoded for encoded, _ in waiting]))
    return np.repeat(rows, [count for _, counts in waiting for count in counts], axis=0)


def batch_size(extractor: Extractor) -> int:
    """Return the number of clips per batch that runs fastest on the extractor's device."""
    cpu_frames = ONNX_FRAMES if extractor.backend == "onnx" else CPU_FRAMES
    frames = cpu_frames if extractor.device == "cpu" else GPU_FRAMES
    return max(MIN_CLIPS, frames // extractor.spec.clip_frames)


def iter_clips(frames: Iterable[Frame], spec: Spec) -> Iterator[Clip]:
    """Cut a stream of frames into clips of `spec.clip_frames`, one every `spec.stride_frames`."""
    length, stride = spec.clip_frames, spec.stride_frames
    window: deque[tuple[float, Picture]] = deque(maxlen=length)
    start = count = 0
    last, cropped = None, None
    for count, frame in enumerate(frames, 1):
        if cropped is None or frame.image is not last:
            last, cropped = frame.image, spec.crop(frame.image)
        window.append((frame.time_s, cropped))
        if count == start + length:
            yield _make_clip(list(window), length)
            start += stride
    if start == 0 and count:
        yield _make_clip(list(window), length)
    rest, covered = count - start, start - stride + length
    if start > 0 and count > covered and 2 * rest >= length:
        yield _make_clip(list(window)[-rest:], length)


def _iter_runs(clips: Iterable[Clip]) -> Iterator[tuple[list[float], list[Picture]]]:
    """Group consecutive clips of the same pictures: yield their starts, and the pictures to encode once."""
    times, current = list[float](), list[Picture]()
    for time_s, pictures in clips:
        is_same = len(pictures) == len(current) and all(
            picture is other or np.array_equal(picture, other)
            for picture, other in zip(pictures, current, strict=True)
        )
        if times and not (is_same and len(times) < _MAX_RUN_CLIPS):
            yield times, current
            times = []
        times.append(time_s)
        current = pictures
    if times:
        yield times, current


def _make_clip(frames: list[tuple[float, Picture]], length: int) -> Clip:
    pictures = [picture for _, picture in frames]
    return frames[0][0], pictures + pictures[-1:] * (length - len(pictures))
