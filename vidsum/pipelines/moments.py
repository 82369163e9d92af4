"""Find the moments of a video that texts describe: plan (what the result would be made from), then run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    STEP_S,
    ClipEmbeddings,
    embed_queries,
    embed_video,
    extractions_of,
    text_encoder_of,
)
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.windows import grid, on_grid
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.cuts import pictures_of
from vidsum.pipelines.decoding import changes_job, extraction_job, transitions_job
from vidsum.pipelines.extraction import Input, plan_features
from vidsum.pipelines.said import Said, plan_said
from vidsum.pipelines.sources import Source, has_pictures, kept_of, path_of, probe_video
from vidsum.results.features import Features
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.scaling import unit_rows
from vidsum.settings import DEFAULT_MODEL, Extraction, Retrieval
from vidsum.shots import find
from vidsum.summary.liveness import motion
from vidsum.types import FloatArray, Progress, TimeArray
from vidsum.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import GroundOptions

EncodeText = Callable[[Sequence[str]], npt.ArrayLike]
"""Texts to vectors [M, D]."""

_STILL = 0.5
"""Clips that are less surely moving are still pictures."""
_CHOSEN_BY_SPACE = ("extractor", "fps", "clip_frames", "stride_frames", "logits")
_OF_QUERIES = ("grounding", "speech")
"""What the provenance holds that the pictures do not depend on."""
_OWN_KEYS = ("extractor", "weights_sha256", "parameters")
"""What the provenance holds of each extraction; the rest is the same for all."""


def ground(
    source: Source,
    queries: str | Sequence[str],
    top_k: int = Retrieval.top_k,
    *,
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    encode_text: EncodeText | None = None,
    progress: Progress | None = None,
    **options: Unpack[GroundOptions],
) -> Grounding:
    """Find moments in a video that match text queries.

    Args:
        source: a video, of any length, or features of CLIP or with `encode_text`.
        queries: one or more texts, in English; the video is decoded once for all.
        top_k: maximum number of moments per query.
        model: one of `vidsum.grounding.find.MODELS`, or a checkpoint's path.
        encode_text: texts to vectors [M, D] that compare with your own features [T, D]; the space is `own`.
        progress: called while it runs.
        **options: other fields of `vidsum.settings.Retrieval`, such as `space="vse"`, and of
            `vidsum.settings.Extraction`, but for those that the space chooses.

    Returns:
        The moments of each query, best first, and its saliency curve.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: weights are missing and cannot be fetched.
        UsageError: a query holds no text, or a setting is out of range.
    """
    retrieval, extraction = choices_of_moments(ground, {"top_k": top_k, "model": model, **options})
    return plan_moments(source, queries_of(queries), retrieval, extraction, encode_text).run(progress)


def choices_of_moments(
    function: Callable[..., Any], given: Mapping[str, Any]
) -> tuple[Retrieval, Extraction]:
    """The settings that keyword arguments stand for. Raises TypeError, UsageError: see `from_keywords`."""
    if chosen := [name for name in given if name in _CHOSEN_BY_SPACE]:
        raise UsageError(f"{chosen[0]} is chosen by the space", hint="space='clip' or space='vse'")
    given = {**given, "model": os.fspath(given["model"])}
    retrieval, extraction = all_from_keywords(function, (Retrieval, Extraction), given)
    return retrieval, extraction


def queries_of(queries: str | Sequence[str]) -> Queries:
    """One query or several. Raises UsageError where one is not a text, or holds none."""
    texts: Any = [queries] if isinstance(queries, str) else queries
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise UsageError(f"queries must be a text or several, not {queries!r}")
    texts = list(texts)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(f"queries must be texts, not {wrong[0]!r}")
    return read_queries(texts)


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
    said: Said | None = None

    def run(self, progress: Progress | None = None) -> Grounding:
        """Find the moments; see `ground`."""
        if self.said is None:
            return self._in_pictures(progress)
        transcript, top_k = self.said.transcript(progress), self.retrieval.top_k
        is_alone = self.said.evidence == "said"
        grounding = self._in_no_picture(transcript.duration_s) if is_alone else self._in_pictures(progress)
        return self.said.added(grounding, transcript, self.queries, top_k, self.input.extraction.device)

    def _in_no_picture(self, duration_s: float) -> Grounding:
        return Grounding(
            queries=(),
            timestamps=grid(duration_s, STEP_S),
            step_s=STEP_S,
            video_duration_s=duration_s,
            model=self.model,
            space=self.space,
            video=self.input.video,
            provenance=self.provenance,
            warnings=self.queries.warnings,
        )

    def _in_pictures(self, progress: Progress | None) -> Grounding:
        texts, extraction = self.queries.texts, self.input.extraction
        device = extraction.device
        vectors = self._embedded(texts)  # first: missing weights show before decoding
        clips, features = self.see(progress)
        request, top_k, alone = Request(texts, vectors), self.retrieval.top_k, self.retrieval.alone
        answers = locate(self.model, clips, request, top_k, device, extraction.precision, alone=alone)
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
        facts = {name: self.provenance[name] for name in self.provenance if name not in _OF_QUERIES}
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
            about_video.append("only key frames were decoded: moments between them may be missed")
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
) -> MomentsPlan:
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
        return _with_said(
            _plan_in_features(plan_features(source, extraction), queries, retrieval, encode_text)
        )
    if encode_text:
        raise UsageError("encode_text reads queries for features of your own", hint="give Features")
    if extraction.fast and (retrieval.thorough or retrieval.snap == "transnetv2"):
        other = "--thorough" if retrieval.thorough else "--snap transnetv2"
        raise UsageError(f"--fast decodes key frames only; {other} needs all frames")
    video = probe_video(path_of(source), extraction)
    model, space = model_for(retrieval.model, retrieval.space, extraction.device, retrieval.mask)
    if retrieval.alone and model == "similarity":
        raise UsageError("alone is for trained models, not for similarity", hint="--model mrnet or qd-detr")
    if retrieval.thorough and (model, space) != ("similarity", "vse"):
        fault = f"motion is for the model similarity in the space vse, not for {model} in {space}"
        raise UsageError(fault, hint="leave out --thorough")
    if retrieval.min_present and space == "clip":
        raise UsageError("the space clip has no match probability", hint="--space vse")
    wanted = extractions_of(space, extraction, thorough=retrieval.thorough)
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
    return _with_said(MomentsPlan(queries, retrieval, given, model, space, provenance))


def _with_said(plan: MomentsPlan) -> MomentsPlan:
    said = plan_said(plan.retrieval, plan.input)
    return replace(plan, said=said, provenance=said.provenance(plan.provenance)) if said else plan


def _plan_in_features(
    given: Input, queries: Queries, retrieval: Retrieval, encode_text: EncodeText | None
) -> MomentsPlan:
    """Plan `ground` in features that exist: those of CLIP, or any with their own text encoder."""
    extractor, _, _ = given.kind
    if encode_text is None and extractor != "clip":
        raise UsageError(
            f"{extractor}: no text encoder is known for these features",
            hint="give the video, or in Python the features' text encoder: encode_text=...",
        )
    if retrieval.model not in ("auto", "similarity") or retrieval.snap == "transnetv2":
        raise UsageError("features can be searched by similarity only, without cuts", hint="give the video")
    space = "own" if encode_text else "clip"
    if retrieval.space not in ("auto", space) or retrieval.min_present:
        raise UsageError(f"these features are in the space {space}, without presence", hint="--space auto")
    facts = _facts(queries, retrieval, "similarity", space)
    provenance = {**given.provenance, "grounding": facts}
    return MomentsPlan(queries, retrieval, given, "similarity", space, provenance, encode_text)


def _facts(queries: Queries, retrieval: Retrieval, model: str, space: str) -> dict[str, Any]:
    """What moments depend on beside the video and its features."""
    texts = json.dumps(queries.texts).encode()
    # the model tells which mask, the extractions how thorough; `Said.provenance` adds what is not seen
    facts = without_defaults(retrieval, "mask", "thorough", "evidence")
    facts |= {"model": model, "space": space}
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
