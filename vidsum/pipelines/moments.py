"""The public function that finds moments: like `vidsum.pipelines.summary`, it only joins the parts."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.features.store import is_feature_file
from vidsum.grounding.find import Request, checkpoint_sha256, locate, max_words, model_for
from vidsum.grounding.proposals import MAX_IOU, snapped, suppress
from vidsum.grounding.queries import Queries, named, read_queries
from vidsum.grounding.queries import in_short as in_short
from vidsum.grounding.spaces import (
    embed_queries,
    embed_video,
    extractions_of,
    text_encoder_of,
)
from vidsum.grounding.text import load_text_encoder
from vidsum.pipelines.extraction import Job, extraction_job, run_jobs, transitions_job
from vidsum.settings import DEFAULT_MODEL, Extraction, Mask, Retrieval, Snap
from vidsum.shots import find
from vidsum.types import Features, Grounding, Progress, QueryMoments, TimeArray, VideoInfo
from vidsum.version import __version__
from vidsum.video.probe import probe

VideoPath = str | os.PathLike[str]

_CHOSEN_BY_SPACE = ("extractor", "fps", "clip_frames", "stride_frames", "logits")


def ground(
    source: VideoPath,
    queries: str | Sequence[str],
    top_k: int = Retrieval.top_k,
    *,
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    space: str = Retrieval.space,
    snap: Snap = Retrieval.snap,
    mask: Mask | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> Grounding:
    """Find the moments of a video that texts describe.

    Args:
        source: a video file, of any length.
        queries: one text or several, in English; several cost one pass over the video.
        top_k: most moments of a query.
        model: one of `vidsum.grounding.find.MODELS`, or a checkpoint's path.
        space: where text and video are compared: `auto`, `clip` or `conse`.
        snap: `kts` or `transnetv2` moves edges of moments to near edges of shots; `none` does not.
        mask: `lam` or `stamp`, the learned mask that a DETR model is to have.
        progress: called while it runs.
        **how: fields of `vidsum.settings.Extraction` but those that the space chooses.

    Returns:
        The moments of each query, best first, and its saliency curve.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: weights cannot be had.
        UsageError: a query holds no text, or a setting makes no sense.
    """
    if chosen := [name for name in how if name in _CHOSEN_BY_SPACE]:
        raise UsageError(f"{chosen[0]} is chosen by the space", hint="space='clip' or space='conse'")
    texts = [queries] if isinstance(queries, str) else queries
    retrieval = Retrieval(top_k, os.fspath(model), space, snap, mask)
    return run_grounding(source, queries_of(texts), retrieval, Extraction(**how), progress)


def queries_of(texts: Sequence[str], file: VideoPath | None = None) -> Queries:
    """What is asked, checked: see `vidsum.grounding.queries.read_queries`."""
    return read_queries(texts, file)


def run_grounding(
    source: VideoPath,
    queries: Queries,
    retrieval: Retrieval,
    how: Extraction,
    progress: Progress | None = None,
) -> Grounding:
    """`ground`, with its queries checked and its settings in two."""
    video = _video_of(source, how)
    model, space = model_for(retrieval.model, retrieval.space, how.device, retrieval.mask)
    jobs = _jobs(video, space, retrieval, how)
    vectors = embed_queries(space, queries.texts, how.device)  # first: missing weights show before decoding
    features = run_jobs(video, jobs, how, progress)
    clips = embed_video(space, features[: len(extractions_of(space, how))], how.device)
    found = locate(model, clips, Request(queries.texts, vectors), retrieval.top_k, how.device)
    if retrieval.snap != "none":
        edges_s = _shot_edges(features, retrieval.snap)
        found = [
            one._replace(moments=suppress(snapped(one.moments, edges_s), MAX_IOU, retrieval.top_k))
            for one in found
        ]
    return Grounding(
        queries=tuple(
            QueryMoments(text, tuple(one.moments), one.saliency)
            for text, one in zip(queries.texts, found, strict=True)
        ),
        timestamps=clips.timestamps,
        step_s=clips.step_s,
        video_duration_s=clips.duration_s,
        model=model,
        space=space,
        video=video,
        provenance=_provenance(jobs, queries, retrieval, model, space),
        warnings=_warnings(features, queries, model, space, how),
    )


def grounding_provenance(
    source: VideoPath, queries: Queries, retrieval: Retrieval, how: Extraction
) -> dict[str, Any]:
    """What moments would be made from. The file is hashed, not decoded."""
    model, space = model_for(retrieval.model, retrieval.space, how.device, retrieval.mask)
    jobs = _jobs(_video_of(source, how), space, retrieval, how)
    return _provenance(jobs, queries, retrieval, model, space)


def _video_of(source: VideoPath, how: Extraction) -> VideoInfo:
    if is_feature_file(os.fspath(source)):
        raise UsageError(
            f"{source}: moments are found in several features of one video, not in a file of one kind",
            hint="give the video: its features are kept for the next query",
        )
    return probe(source, allow_playlists=how.allow_playlists)


def _jobs(video: VideoInfo, space: str, retrieval: Retrieval, how: Extraction) -> list[Job]:
    """All that is wanted of the video, for one decode pass: the space's features, then what finds shots."""
    jobs = [extraction_job(video, one) for one in extractions_of(space, how)]
    return [*jobs, transitions_job(video, how)] if retrieval.snap == "transnetv2" else jobs


def _shot_edges(features: Sequence[Features], snap: str) -> TimeArray:
    if snap == "transnetv2":
        from vidsum.shots.transnetv2 import cuts_of

        return find(features[-1], "transnetv2", cuts_s=cuts_of(features[-1])).edges_s
    return find(features[-1], "kts").edges_s


def _provenance(
    jobs: Sequence[Job], queries: Queries, retrieval: Retrieval, model: str, space: str
) -> dict[str, Any]:
    texts = json.dumps(queries.texts).encode()
    asked = {**asdict(retrieval), "model": model, "space": space}
    del asked["mask"]  # the model that was found for it tells
    asked["queries"] = {"count": len(queries.texts), "sha256": hashlib.sha256(texts).hexdigest()}
    asked["text_weights_sha256"] = checkpoints.sha256_of(text_encoder_of(space))
    if sha256 := checkpoint_sha256(model):
        asked["model_sha256"] = sha256
    own = ("extractor", "weights_sha256", "parameters")
    return {
        "vidsum": __version__,
        "video": jobs[0].provenance["video"],
        "extractions": [{key: job.provenance[key] for key in own} for job in jobs],
        "grounding": asked,
    }


def _warnings(
    features: Sequence[Features], queries: Queries, model: str, space: str, how: Extraction
) -> tuple[str, ...]:
    encoder = load_text_encoder(text_encoder_of(space), how.device)
    if (most := max_words(model, how.device)) is not None:
        encoder = replace(encoder, most_tokens=min(most, encoder.most_tokens or most))
    of_video = [warning for one in features for warning in one.warnings]
    cut = [text for text in queries.texts if encoder.cuts(text)]
    of_length = [f"{named(cut)}: only the first {encoder.most_tokens} tokens are read"] if cut else []
    return tuple(dict.fromkeys([*of_video, *queries.warnings, *of_length]))
