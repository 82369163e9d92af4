"""From a stream of frames to the features of a video, in batches formed while it is decoded."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from vidsum.errors import InputError
from vidsum.features.extractor import Extractor, Spec
from vidsum.types import Features, FloatArray, Picture, Progress, VideoInfo
from vidsum.video.frames import Frame

FRAMES_PER_BATCH = 32

Clip = tuple[float, list[Picture]]
"""When its first frame is shown, and its cropped pictures."""


def extract_features(
    frames: Iterable[Frame],
    extractor: Extractor,
    video: VideoInfo,
    *,
    batch_size: int | None = None,
    with_logits: bool = False,
    progress: Progress | None = None,
) -> Features:
    """Features of one video: one row for each clip of its frames.

    No more than one batch and one clip of frames are held at a time. A video shorter than one clip gives
    one feature, its last frame repeated. Frames that no whole clip sees give one more feature, made the
    same way, if the clip that they belong to has half its frames or more.

    Args:
        frames: those of `extractor.spec.sampling`, in order.
        extractor: from `vidsum.features.load_extractor`.
        video: what `probe` found out about the video.
        batch_size: clips in one call of the network; as many as make 32 frames if not given.
        with_logits: also give class scores.
        progress: called after each batch with the seconds done and in all.

    Raises:
        InputError: there are no frames.
        UsageError: class scores are asked for and the extractor has none.
    """
    spec = extractor.spec
    clips = iter_clips(frames, spec)
    size = batch_size or max(1, FRAMES_PER_BATCH // spec.clip_frames)
    times: list[float] = []
    rows: list[FloatArray] = []
    while batch := list(islice(clips, size)):
        times += [time for time, _ in batch]
        rows.append(extractor.encode(np.stack([pictures for _, pictures in batch])))
        if progress:
            progress(
                "extracting features", min(times[-1] + spec.covers_s, video.duration_s), video.duration_s
            )
    if not rows:
        raise InputError(f"{video.path}: no frame could be decoded")
    array = np.concatenate(rows)
    return Features(
        array=array,
        timestamps=np.array(times),
        step_s=spec.step_s,
        covers_s=spec.covers_s,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=spec.name,
        logits=extractor.logits(array) if with_logits else None,
        video=video,
    )


def iter_clips(frames: Iterable[Frame], spec: Spec) -> Iterator[Clip]:
    """Cut a stream of frames into clips of `spec.clip_frames`, one every `spec.stride_frames`."""
    length, stride = spec.clip_frames, spec.stride_frames
    window: deque[tuple[float, Picture]] = deque(maxlen=length)
    start = count = 0
    for count, frame in enumerate(frames, 1):
        window.append((frame.time_s, spec.crop(frame.image)))
        if count == start + length:
            yield _clip(list(window), length)
            start += stride
    if start == 0 and count:
        yield _clip(list(window), length)
    rest, seen = count - start, start - stride + length
    if start > 0 and count > seen and 2 * rest >= length:
        yield _clip(list(window)[-rest:], length)


def _clip(shown: list[tuple[float, Picture]], length: int) -> Clip:
    """A clip of these frames, its last one repeated where they are too few."""
    pictures = [picture for _, picture in shown]
    return shown[0][0], pictures + pictures[-1:] * (length - len(pictures))
