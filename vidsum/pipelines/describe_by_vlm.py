"""Descriptions by a vision-language model of the user's choice: key frames of segments to its server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vidsum.description.settings import Describing
from vidsum.description.vlm import VisionModel, describe_frames
from vidsum.description.writers import Sentence
from vidsum.errors import UsageError
from vidsum.io.urls import is_loopback, is_offline, split_server
from vidsum.results.descriptions import VLM
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.read import read_jpegs

_SIDE, _JPEG_QUALITY = 768, 85  # longest side in pixels and quality of the frames that a model gets
_BLOCK = 32  # frames that are decoded at a time: a long film has thousands


def model_facts(settings: Describing) -> dict[str, Any]:
    """Return what the sentences of a model depend on. Raises UsageError: offline, and it is elsewhere."""
    _, host = split_server(settings.writer)
    if is_offline() and not is_loopback(host):
        fault = f"VIDSUM_OFFLINE forbids sending frames to {host}"
        raise UsageError(fault, hint="a server on this machine, or unset VIDSUM_OFFLINE")
    facts = {"server": settings.writer, "prompt": settings.vlm_prompt}
    return {"writer": f"{VLM}{settings.vlm}", "every_s": settings.every_s, **facts}


def ask_model(
    settings: Describing,
    film: VideoInfo,
    segments: Sequence[Interval],
    progress: Progress | None,
    *,
    use_cache: bool,
) -> tuple[list[Sentence], int, list[str]]:
    """Return a sentence per segment, of its middle frame; how many frames were sent; and warnings.

    A segment without a sentence has an empty one. Raises VidsumError: see `describe_frames`.
    """
    model = VisionModel(
        settings.writer, str(settings.vlm), settings.vlm_prompt, settings.vlm_timeout_s, use_cache
    )
    middles_s = [(start_s + end_s) / 2 for start_s, end_s in segments]
    blocks = (middles_s[at : at + _BLOCK] for at in range(0, len(middles_s), _BLOCK))
    frames = (read_jpegs(film, times_s, _SIDE, _JPEG_QUALITY) for times_s in blocks)
    replies = describe_frames(model, frames, len(segments), progress)
    sentences = [Sentence(text, None) for text in replies.sentences]
    if not replies.faults:
        return sentences, replies.n_sent, []
    lost = f"{len(replies.faults)} of {len(segments)} frames have no sentence"
    return sentences, replies.n_sent, [f"{lost}: {model.host} {replies.faults[0]}"]
