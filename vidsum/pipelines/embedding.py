"""Embed a video in a space: its clips, its shots, and which clips are still pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from vidsum.features.settings import Extraction
from vidsum.grounding import vse_map
from vidsum.grounding.actions import mix_actions
from vidsum.grounding.spaces import (
    SPACES,
    STEP_S,
    ClipEmbeddings,
    describe_space,
    embed_video,
    extraction_for,
    scenes_of,
)
from vidsum.grounding.windows import grid, to_grid
from vidsum.io.cache import cached_rows
from vidsum.pipelines.decoding import extraction_job, movement_job
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.sources import Video, VideoPath, memo_of, probe_video, source_path
from vidsum.results.features import Features
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.motion import motion
from vidsum.types import Progress, TimeArray, VideoInfo
from vidsum.version import __version__

_STILL = 0.5  # clips that are less surely moving are still pictures
_EXTRACTION_KEYS = ("extractor", "weights_sha256", "parameters")  # entries that differ between extractions


class EmbeddedVideo(NamedTuple):
    """A video in a space; its features, which are larger, are dropped."""

    clips: ClipEmbeddings
    video: VideoInfo | None
    warnings: tuple[str, ...]


def plan_embedding(video_input: Input, space: str) -> Plan[EmbeddedVideo]:
    """Plan a video of `open_in_space` in its space, without queries; one `Video` is embedded once."""
    provenance: dict[str, Any] = video_input.provenance
    of_shots = provenance
    if video_input.features is None:
        extractions = [{key: job.provenance[key] for key in _EXTRACTION_KEYS} for job in video_input.jobs]
        provenance = {"vidsum": __version__, "video": provenance["video"], "extractions": extractions}
        of_shots = {**provenance, "extractions": extractions[:1]}

    def make(progress: Progress | None) -> EmbeddedVideo:
        (features, *movement), pictures = video_input.read(progress)

        def cut() -> TimeArray:
            return find(features, ShotSettings(), pictures).edges_s

        def see() -> ClipEmbeddings:
            # another query about the video needs the same shots: they take longer than the comparison
            is_kept = video_input.features is None and video_input.extraction.cache
            edges_s = cached_rows("shots", of_shots, cut) if is_kept else cut()
            # the numbers of a long video's movement are large: `pop` drops them
            middles_s = grid(features.duration_s, STEP_S) + STEP_S / 2
            actions = mix_actions(movement.pop(), middles_s, edges_s) if movement else None
            video = embed_video(space, features)
            moving = to_grid(motion(features)[:, None], features, video.timestamps, video.step_s)[:, 0]
            scenes_s = scenes_of(video, edges_s, space if space in SPACES else features.extractor)
            video = replace(video, shots_s=edges_s, scenes_s=scenes_s, is_still=moving < _STILL)
            return replace(video, actions=actions) if actions else video

        clips = video_input.once({**provenance, "seen": space}, see)
        return EmbeddedVideo(clips, features.video, features.warnings)

    return Plan(provenance, make)


def open_in_space(
    space: str, source: VideoPath | Video, extraction: Extraction, *, actions: bool = False
) -> Input:
    """Return a video with the job of a space, and with `actions` the one that sees movement, in `vse`."""
    video = probe_video(source_path(source), extraction)
    job = extraction_job(video, extraction_for(space, extraction))
    is_compared = actions and describe_space(space).is_mapped
    movement = movement_job(video, extraction, [job]) if is_compared else None
    return Input(extraction, video, (job, movement) if movement else (job,), memo=memo_of(source))


def see_movement(
    source: VideoPath | Video, extraction: Extraction = Extraction(), progress: Progress | None = None
) -> Features:
    """Return 480 numbers of movement [N, 480] for five frames a second of a video.

    They come from the pass that makes the features of `vse`, and from the cache. Raises InputError: the file
    cannot be read or holds no video. WeightsError.
    """
    video_input = open_in_space(vse_map.NAME, source, replace(extraction, fast=False), actions=True)
    (_, movement), _ = video_input.read(progress)
    return movement
