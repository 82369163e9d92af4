"""Find the moments of a video that texts describe: plan (what the result would be made from), then run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.grounding import presence, vse
from vidsum.grounding.find import Request, checkpoint_sha256, locate, max_words, model_for, precision_for
from vidsum.grounding.proposals import MAX_IOU, snapped, suppress
from vidsum.grounding.queries import Queries, named
from vidsum.grounding.queries import in_short as in_short
from vidsum.grounding.queries import read_queries as read_queries
from vidsum.grounding.spaces import (
    ClipEmbeddings,
    embed_queries,
    embed_video,
    extractions_of,
    text_encoder_of,
)
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.windows import on_grid
from vidsum.options import from_keywords, several_texts
from vidsum.pipelines.cuts import pictures_of
from vidsum.pipelines.extraction import Input, changes_job, extraction_job, plan_features, transitions_job
from vidsum.pipelines.said import SaidPlan, SeenPlan, with_said
from vidsum.pipelines.sources import Source, has_pictures, kept_of, path_of, probe_video
from vidsum.results.features import Features
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.scaling import unit_rows
from vidsum.settings import DEFAULT_MODEL, EmbeddingSpace, Evidence, Extraction, MaskKind, Retrieval, Snap
from vidsum.shots import find
from vidsum.summary.liveness import motion
from vidsum.types import FloatArray, Progress, TimeArray
from vidsum.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.settings import ReadingOptions

EncodeText = Callable[[Sequence[str]], npt.ArrayLike]
"""Texts to vectors [M, D]."""

_STILL = 0.5
"""Clips that are less surely moving are still pictures."""
_CHOSEN_BY_SPACE = ("extractor", "fps", "clip_frames", "stride_frames", "logits")
_OWN_KEYS = ("extractor", "weights_sha256", "parameters")
"""What the provenance holds of each extraction; the rest is the same for all."""


def ground(
    source: Source,
    queries: str | Sequence[str],
    top_k: int = Retrieval.top_k,
    *,
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    space: EmbeddingSpace = Retrieval.space,
    snap: Snap = Retrieval.snap,
    min_present: float = Retrieval.min_present,
    mask: MaskKind | None = None,
    evidence: Evidence = "auto",
    encode_text: EncodeText | None = None,
    thorough: bool = Retrieval.thorough,
    progress: Progress | None = None,
    **how: Unpack[ReadingOptions],
) -> Grounding:
    """Find the moments of a video that texts describe.

    Args:
        source: a video, of any length, or features of CLIP or with `encode_text`.
        queries: one text or several, in English; several cost one pass over the video.
        top_k: maximum number of moments per query.
        model: one of `vidsum.grounding.find.MODELS`, or a checkpoint's path.
        space: where text and video are compared: `auto`, `clip` or `vse`.
        snap: `kts` or `transnetv2` moves edges of moments to near edges of shots; `none` does not.
        min_present: a query that is less likely to be true of the video gets no moments; space `vse` only.
        mask: `lam` or `stamp`, the learned mask that a DETR model must have.
        evidence: look in what is `seen`, in what is `said`, or in `both`; `auto` is `both` where the
            transcript is in the cache, else `seen`.
        encode_text: texts to vectors [M, D] that compare with your own features [T, D]; the space is `own`.
        thorough: look at motion too (space `vse`, model `similarity`).
        progress: called while it runs.
        **how: fields of `vidsum.settings.Extraction` but those that the space chooses.

    Returns:
        The moments of each query, best first, and its saliency curve.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: weights are missing and cannot be fetched.
        UsageError: a query holds no text, or a setting is out of range.
    """
    if chosen := [name for name in how if name in _CHOSEN_BY_SPACE]:
        raise UsageError(f"{chosen[0]} is chosen by the space", hint="space='clip' or space='vse'")
    retrieval = Retrieval(top_k, os.fspath(model), space, snap, min_present, mask, evidence, thorough)
    extraction = from_keywords(ground, Extraction, how)
    return plan_moments(source, queries_of(queries), retrieval, extraction, encode_text).run(progress)


def queries_of(queries: str | Sequence[str]) -> Queries:
    """One query or several. Raises UsageError where one is not a text, or holds none."""
    return read_queries(several_texts("queries", queries))


@dataclass(frozen=True, eq=False)
class MomentsPlan:
    """Moments that are to be found: in which video, of which queries, by which model."""

    queries: Queries
    retrieval: Retrieval
    input: Input
    """One decode pass makes all of its features: those of the space, then those that shots are found in."""
    model: str
    """The model and the space that `auto` stands for."""
    space: str
    provenance: dict[str, Any]
    """What the moments would be made from."""
    encode_text: EncodeText | None = None
    """What reads the queries in place of the space's text encoder."""

    def run(self, progress: Progress | None = None) -> Grounding:
        """Find the moments; see `ground`."""
        texts, extraction = self.queries.texts, self.input.extraction
        device = extraction.device
        vectors = self._embedded(texts)  # first: missing weights show before decoding
        clips, features = self.see(progress)
        answers = locate(
            self.model, clips, Request(texts, vectors), self.retrieval.top_k, device, extraction.precision
        )
        if self.retrieval.snap != "none":
            answers = [replace(answer, moments=self._snapped(answer, clips)) for answer in answers]
        if (present := presence.probabilities(self.space, clips, vectors)) is not None:
            answers = [self._judged(*each) for each in zip(answers, present.tolist(), strict=True)]
        return Grounding(
            queries=self.queries.told_apart(answers),
            timestamps=clips.timestamps,
            step_s=clips.step_s,
            video_duration_s=clips.duration_s,
            model=self.model,
            space=self.space,
            video=features[0].video,
            provenance=self.provenance,
            warnings=self._warnings(features),
        )

    def see(self, progress: Progress | None = None) -> tuple[ClipEmbeddings, list[Features]]:
        """The video in the space, and the features that it was made from."""
        features, changes = self.input.read_with_changes(progress)
        return self.input.once(self._seen_in, lambda: self._seen(features, changes)), features

    def _embedded(self, texts: Sequence[str]) -> FloatArray:
        if self.encode_text is None:
            return embed_queries(self.space, texts, self.input.extraction.device)
        vectors = np.asarray(self.encode_text(texts), np.float32)
        if vectors.shape != (expected := (len(texts), self.input.kind[2])):
            raise UsageError(f"encode_text gave vectors of shape {list(vectors.shape)}, not {list(expected)}")
        return unit_rows(vectors)

    @property
    def _seen_in(self) -> dict[str, Any]:
        """What the embeddings of the video depend on."""
        facts = {name: value for name, value in self.provenance.items() if name != "grounding"}
        return {**facts, "seen": [self.space, self.retrieval.snap]}

    def _seen(self, features: Sequence[Features], changes: Features | None) -> ClipEmbeddings:
        extraction = self.input.extraction
        n_parts = len(features) - (self.retrieval.snap == "transnetv2")
        edges_s = self._shot_edges(features[-1], changes)
        return seen(self.space, features[:n_parts], edges_s, extraction.device)

    def _shot_edges(self, features: Features, changes: Features | None) -> TimeArray:
        if self.retrieval.snap == "transnetv2":
            from vidsum.shots.transnetv2 import cuts_of

            return find(features, "transnetv2", cuts_s=cuts_of(features)).edges_s
        return find(features, pictures=pictures_of(self.input, changes)).edges_s

    def _snapped(self, answer: QueryMoments, clips: ClipEmbeddings) -> tuple[Moment, ...]:
        assert clips.shots_s is not None
        return tuple(suppress(snapped(answer.moments, clips.shots_s), MAX_IOU, self.retrieval.top_k))

    def _judged(self, answer: QueryMoments, present: float) -> QueryMoments:
        moments = answer.moments if present >= self.retrieval.min_present else ()
        return replace(answer, moments=moments, present=present)

    def _warnings(self, features: Sequence[Features]) -> tuple[str, ...]:
        device = self.input.extraction.device
        about_video = [warning for one in features for warning in one.warnings]
        if self.input.extraction.fast and self.input.video is not None:
            about_video.append("only key frames were looked at: what is shown between them may be missed")
        if self.encode_text:
            return (*about_video, *self.queries.warnings)
        encoder = load_text_encoder(text_encoder_of(self.space), device)
        if (most := max_words(self.model, device)) is not None:
            encoder = replace(encoder, most_tokens=min(most, encoder.most_tokens or most))
        cut = [text for text in self.queries.texts if encoder.cuts(text)]
        about_length = [f"{named(cut)}: only the first {encoder.most_tokens} tokens are read"] if cut else []
        return tuple(dict.fromkeys([*about_video, *self.queries.warnings, *about_length]))


def seen(
    space: str, features: Sequence[Features], shots_s: TimeArray, device: str = "auto"
) -> ClipEmbeddings:
    """A video in a space, with the edges [S + 1] of its shots, and which of its clips are still pictures."""
    video, pictures = embed_video(space, features, device), features[-1]
    moving = on_grid(motion(pictures)[:, None], pictures, video.timestamps, video.step_s)[:, 0]
    return replace(video, shots_s=shots_s, is_still=moving < _STILL)


def plan_moments(
    source: Source,
    queries: Queries,
    retrieval: Retrieval,
    extraction: Extraction,
    encode_text: EncodeText | None = None,
) -> SeenPlan | SaidPlan:
    """Plan `ground`: the video is probed and hashed, not decoded.

    Args:
        source: a video, or features.
        queries: from `read_queries`.
        retrieval: how moments are found.
        extraction: how features are made; the space chooses the extractor and its clips.
        encode_text: see `ground`.

    Raises:
        InputError, WeightsError, UsageError: see `ground`.
    """
    if isinstance(source, Features) or not has_pictures(source):
        return with_said(
            _plan_in_features(plan_features(source, extraction), queries, retrieval, encode_text)
        )
    if encode_text:
        raise UsageError("encode_text reads queries for features of your own", hint="give Features")
    if extraction.fast and (retrieval.thorough or retrieval.snap == "transnetv2"):
        other = "--thorough" if retrieval.thorough else "--snap transnetv2"
        raise UsageError(f"--fast sees key frames alone, {other} needs the others too")
    video = probe_video(path_of(source), extraction)
    model, space = model_for(retrieval.model, retrieval.space, extraction.device, retrieval.mask)
    if retrieval.min_present and space == "clip":
        raise UsageError(
            "in the space clip, it is not known how likely a query is present", hint="--space vse"
        )
    wanted = extractions_of(space, extraction, thorough=retrieval.thorough and model == "similarity")
    jobs = [extraction_job(video, part) for part in wanted]
    if retrieval.snap == "transnetv2":
        jobs.append(transitions_job(video, extraction))
    provenance = {
        "vidsum": __version__,
        "video": jobs[0].provenance["video"],
        "extractions": [{key: job.provenance[key] for key in _OWN_KEYS} for job in jobs],
        "grounding": {**_facts(queries, retrieval, model, space), **_precision_of(model, extraction)},
    }
    changes = changes_job(video, extraction, jobs)
    given = Input(extraction, video, tuple(jobs), changes, kept=kept_of(source))
    return with_said(MomentsPlan(queries, retrieval, given, model, space, provenance))


def _plan_in_features(
    given: Input, queries: Queries, retrieval: Retrieval, encode_text: EncodeText | None
) -> MomentsPlan:
    """Plan `ground` in features that exist: those of CLIP, or any with their own text encoder."""
    extractor, _, _ = given.kind
    if encode_text is None and extractor != "clip":
        raise UsageError(
            f"{extractor}: nothing is known that reads texts for these features",
            hint="give the video, or in Python the features' text encoder: encode_text=...",
        )
    if retrieval.model not in ("auto", "similarity") or retrieval.snap == "transnetv2":
        raise UsageError("features are searched by similarity, and have no cuts", hint="give the video")
    space = "own" if encode_text else "clip"
    if retrieval.space not in ("auto", space) or retrieval.min_present:
        raise UsageError(f"these features are in the space {space}, without presence", hint="--space auto")
    facts = _facts(queries, retrieval, "similarity", space)
    provenance = {**given.provenance, "grounding": facts}
    return MomentsPlan(queries, retrieval, given, "similarity", space, provenance, encode_text)


def _facts(queries: Queries, retrieval: Retrieval, model: str, space: str) -> dict[str, Any]:
    """What moments depend on beside the video and its features."""
    texts = json.dumps(queries.texts).encode()
    facts = {**asdict(retrieval), "model": model, "space": space}
    # the model tells which mask, the extractions how thorough; `with_said` adds what is not seen
    for told in ("mask", "thorough", "evidence"):
        del facts[told]
    facts["queries"] = {"count": len(queries.texts), "sha256": hashlib.sha256(texts).hexdigest()}
    if queries.spoken:
        facts["queries"]["spoken"] = [one.sha256 for one in queries.spoken.values()]
    if space != "own":
        facts["text_weights_sha256"] = checkpoints.sha256_of(text_encoder_of(space))
    if space == "vse":
        facts["vse_sha256"] = checkpoints.sha256_of(vse.NAME)
    if sha256 := checkpoint_sha256(model):
        facts["model_sha256"] = sha256
    return facts


def _precision_of(model: str, extraction: Extraction) -> dict[str, str]:
    """What the model multiplies in, where that is not fp32."""
    precision = precision_for(model, extraction.device, extraction.precision)
    return {} if precision == "fp32" else {"precision": precision}
