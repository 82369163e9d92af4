"""Find the moments of a video that texts describe: plan (what the result would be made from), then run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.checkpoints.named import checkpoint_digest
from vidsum.errors import Mention, UsageError
from vidsum.evidence.match_probability import (
    Condition,
    WindowMatches,
    embed_background,
    kind_of,
    prepare_queries,
)
from vidsum.evidence.picture import Picture
from vidsum.features.settings import Extraction
from vidsum.grounding import languages, vse_map
from vidsum.grounding.actions import embed_action_names
from vidsum.grounding.chosen_model import EncodedQueries, load_model, locate, resolve_model
from vidsum.grounding.languages import is_other
from vidsum.grounding.settings import DEFAULT_MODEL, Retrieval
from vidsum.grounding.spaces import (
    STEP_S,
    ClipEmbeddings,
    describe_space,
    embed_queries,
    find_space_of_features,
    name_embeddings,
)
from vidsum.grounding.text_encoders import embed_in_batches, load_text_encoder
from vidsum.models.scaling import unit_rows
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.decoding import unload_if_long
from vidsum.pipelines.embedding import EmbeddedVideo, open_in_space, plan_embedding
from vidsum.pipelines.evidence_kinds import PlannedEvidence, plan_evidence, scope_of
from vidsum.pipelines.keywords import GroundOptions
from vidsum.pipelines.plan import Input, Plan, open_input, report_step
from vidsum.pipelines.queries import (
    Queries,
    find_unread,
    mark_negated,
    parse_queries,
    query_facts,
    query_warnings,
)
from vidsum.pipelines.sources import Source, has_pictures
from vidsum.pipelines.speech_evidence import without_weak
from vidsum.results.features import Features
from vidsum.results.moments import Grounding, QueryMoments, quote_queries
from vidsum.types import FloatArray, Progress

if TYPE_CHECKING:
    from vidsum.grounding.moment_model import MomentModel

EncodeText = Callable[[Sequence[str]], npt.ArrayLike]  # texts to vectors [M, D]

_QUERIES_AT_ONCE = 64
_SET_BY_SPACE = ("extractor", "fps", "clip_frames", "stride_frames", "logits")


def ground(
    source: Source,
    queries: str | Sequence[str],
    top_k: int | None = Retrieval.top_k,
    *,
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    encode_text: EncodeText | None = None,
    progress: Progress | None = None,
    **options: Unpack[GroundOptions],
) -> Grounding:
    """Find moments in a video that match text queries.

    Args:
        source: a video, of any length, or features of CLIP or with `encode_text`.
        queries: one or more texts; the video is decoded once for all.
        top_k: maximum number of moments per query. None: 5, without those far below the first.
        model: `similarity` (`auto`), `mrnet`, `qd-detr`, or a checkpoint's path.
        encode_text: texts to vectors [M, D] that compare with your own features [T, D]; the space is `own`.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.grounding.settings.Retrieval`, such as `space="vse"`, and of
            `vidsum.features.settings.Extraction`, except those that the space sets.

    Returns the moments of each query, best first, and its saliency curve. Raises InputError: the file cannot
    be read or holds no video. WeightsError: weights are missing and cannot be fetched. UsageError: a query
    holds no text, or a setting is out of range.
    """
    retrieval, extraction = moment_settings(ground, {"top_k": top_k, "model": model, **options})
    texts = parse_queries(queries, "queries=['a person opens a door']")
    return plan_moments(source, texts, retrieval, extraction, encode_text).run(progress)


def moment_settings(
    function: Callable[..., Any], video_input: Mapping[str, Any]
) -> tuple[Retrieval, Extraction]:
    """Return the settings of keyword arguments. Raises TypeError, UsageError: see `from_keywords`."""
    if chosen := [name for name in video_input if name in _SET_BY_SPACE]:
        raise UsageError(f"{chosen[0]} is chosen by the space", hint="space='clip' or space='vse'")
    video_input = {**video_input, "model": os.fspath(video_input["model"])}
    retrieval, extraction = all_from_keywords(function, (Retrieval, Extraction), video_input)
    return retrieval, extraction


@dataclass(frozen=True, eq=False)
class MomentSearch:
    """Queries with the model and the space that answer them."""

    queries: Queries
    retrieval: Retrieval
    extraction: Extraction
    model: str  # the model and the space, never `auto`
    space: str
    encode_text: EncodeText | None = None  # encodes the queries instead of the space's text encoder

    def facts(self) -> dict[str, Any]:
        """Return what moments depend on in addition to the video and its features."""
        facts = without_defaults(self.retrieval, "evidence")  # which `plan_moments` adds
        facts |= {"model": self.model, "space": self.space}
        spoken = [query.sha256 for query in self.queries.spoken.values()]
        facts["queries"] = query_facts(self.queries.texts, spoken)
        if self.encode_text is None:
            space = describe_space(self.space)
            facts["text_weights_sha256"] = checkpoints.sha256_of(space.text_encoder)
            if space.is_mapped:
                facts["vse_sha256"] = checkpoints.sha256_of(vse_map.NAME)
            if self._others():
                facts["languages_sha256"] = [checkpoints.sha256_of(name) for name in languages.WEIGHTS]
        if self._grounder:
            facts["model_sha256"] = checkpoint_digest(self.model)
            facts |= {"precision": "bf16"} if self._grounder.in_bf16 else {}
        return facts

    @property
    def _grounder(self) -> MomentModel | None:
        return load_model(self.model, self.extraction.device, self.extraction.precision)

    def vectors(self, video_input: Input, progress: Progress | None) -> FloatArray:
        texts = (*self.queries.texts, *self.retrieval.without)
        if self.encode_text is None:
            return embed_in_batches(texts, self._embed, "reading queries", progress)
        vectors = np.asarray(self.encode_text(texts), np.float32)
        assert video_input.features is not None
        if vectors.shape != (expected := (len(texts), video_input.features.dim)):
            raise UsageError(f"encode_text gave vectors of shape {list(vectors.shape)}, not {list(expected)}")
        return unit_rows(vectors)

    def embed_names(self) -> None:
        """Make the vectors that videos are compared with beside the queries, where they are not cached."""
        if self.space != "own":
            embed_background(self.space)
            if describe_space(self.space).is_mapped:
                name_embeddings()
                if self.retrieval.actions:
                    embed_action_names()

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        return embed_queries(self.space, texts, self.retrieval.language)

    def answers(self, clips: ClipEmbeddings, vectors: FloatArray) -> list[QueryMoments]:
        """Return the answers, a few queries at a time: curves of many and of a long video are large."""
        seen, without = np.split(vectors, [len(self.queries.texts)])
        background = None if self.space == "own" else embed_background(self.space)
        picture = None if background is None else Picture.of(clips, self.space, background)
        names, actions = (part.names if part else None for part in (clips.objects, clips.actions))
        most = self.retrieval.most_moments
        answers = list[QueryMoments]()
        for start in range(0, len(seen), _QUERIES_AT_ONCE):
            texts = self.queries.texts[start : start + _QUERIES_AT_ONCE]
            request = EncodedQueries(texts, seen[start : start + len(texts)], without, self._others())
            located = locate(self._grounder, clips, request, most, alone=self.retrieval.alone)
            if background is not None and picture is not None:
                kinds = [kind_of(text) for text in (*texts, *self.retrieval.without)]
                stacked = np.vstack([request.vectors, without])
                queries = prepare_queries(kinds, stacked, background, names, actions)
                matches = picture.match(queries)
                located = [self._judged(answer, matches, number) for number, answer in enumerate(located)]
            answers += located
        return answers

    def _judged(self, answer: QueryMoments, matches: WindowMatches, number: int) -> QueryMoments:
        if answer.query in self._unread:
            return answer  # a probability of a text that is not read would be none
        n_without = len(self.retrieval.without)
        condition = Condition((number,), (*range(len(matches.logits) - n_without, len(matches.logits)),))
        present = matches.best(condition)
        moments = tuple(
            replace(moment, present=matches.within(condition, moment.start_s, moment.end_s))
            for moment in (answer.moments if present >= self.retrieval.min_present else ())
        )
        return replace(answer, moments=moments, present=present)

    @cached_property
    def _unread(self) -> dict[str, None]:
        texts = (*self.queries.texts, *self.retrieval.without)
        return dict.fromkeys(find_unread(texts, self.space, self.retrieval.language))

    def _others(self) -> list[str]:
        """Return the texts that E5 reads, in place of the space's encoder."""
        if self.encode_text or not describe_space(self.space).is_mapped:
            return []
        texts = (*self.queries.texts, *self.retrieval.without)
        return [text for text in texts if is_other(text, self.retrieval.language)]

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the queries, such as those that are longer than the model reads."""
        encoder = load_text_encoder(describe_space(self.space).text_encoder)
        if self._grounder and (most := self._grounder.max_words):
            encoder = replace(encoder, max_tokens=min(most, encoder.max_tokens or most))
        cut = [text for text in self.queries.texts if encoder.cuts(text)]
        about_length = (
            [f"{quote_queries(cut)}: only the first {encoder.max_tokens} tokens are read"] if cut else []
        )
        notes = query_warnings(self.queries.texts, self._unread, self.retrieval.language, self.space)
        return (*notes, *about_length)


def plan_moments(
    source: Source,
    queries: Queries,
    retrieval: Retrieval,
    extraction: Extraction,
    encode_text: EncodeText | None = None,
) -> Plan[Grounding]:
    """Plan `ground`, by queries of `read_queries`: the video is probed and hashed, not decoded."""
    if retrieval.without:  # which restricts the search to pictures
        without = parse_queries(retrieval.without).texts
        retrieval = replace(retrieval, evidence="picture", without=without)
    if isinstance(source, Features) or not has_pictures(source):
        video_input = open_input(source, extraction)
        search = _search_in_features(video_input, queries, retrieval, encode_text)
    elif encode_text:
        raise UsageError("encode_text reads queries for features of your own", hint="give Features")
    else:
        search = _search_in_video(queries, retrieval, extraction)
        video_input = open_in_space(search.space, source, extraction, actions=retrieval.actions)
    embedding = plan_embedding(video_input, search.space)
    evidence = plan_evidence(retrieval, video_input)
    provenance: dict[str, Any] = {**embedding.provenance, "grounding": search.facts(), **evidence.facts()}
    if evidence.kinds != ("picture",):
        provenance["grounding"]["evidence"] = [*evidence.kinds]
    if not evidence.has_pictures:
        del provenance["extractions"]
    return Plan(provenance, _Work(search, video_input, embedding, evidence, provenance).run)


@dataclass(frozen=True, eq=False)
class _Work:
    search: MomentSearch
    video_input: Input
    embedding: Plan[EmbeddedVideo]
    evidence: PlannedEvidence
    provenance: dict[str, Any]

    def run(self, progress: Progress | None) -> Grounding:
        others, search = self.evidence.run(progress), self.search
        if self.evidence.has_pictures:
            grounding = self.search_pictures(progress)
        else:
            grounding = self.result(queries=(), video=self.video_input.video, **scope_of(others))
        searched = self.evidence.add_to(grounding, others, search.queries, search.retrieval)
        if not self.evidence.has_pictures or search.encode_text:
            return searched
        return replace(
            searched,
            queries=mark_negated(searched.queries, search.retrieval.language, search.space),
            warnings=tuple(dict.fromkeys([*searched.warnings, *search.warnings()])),
        )

    def search_pictures(self, progress: Progress | None) -> Grounding:
        search, video_input = self.search, self.video_input
        # before the video is opened: faults of queries come first, and the encoder's memory is free again
        vectors = search.vectors(video_input, progress)
        search.embed_names()
        unload_if_long(video_input.video)
        clips, video, notes = self.embedding.run(progress)
        report_step(progress, "comparing queries")
        answers = [without_weak(answer, search.retrieval) for answer in search.answers(clips, vectors)]
        return self.result(
            queries=search.queries.attach_spoken(answers),
            timestamps=clips.timestamps,
            video_duration_s=clips.duration_s,
            video=video,
            warnings=notes,
            step_s=clips.step_s,
        )

    def result(self, step_s: float = STEP_S, **fields: Any) -> Grounding:
        search = self.search
        return Grounding(
            model=search.model, space=search.space, provenance=self.provenance, step_s=step_s, **fields
        )


def _search_in_video(queries: Queries, retrieval: Retrieval, extraction: Extraction) -> MomentSearch:
    model, space = resolve_model(retrieval.model, retrieval.space, extraction.device)
    if retrieval.alone and model == "similarity":
        raise UsageError(
            "alone is for trained models, not for similarity", hint=(Mention("model", "mrnet"), " or qd-detr")
        )
    if retrieval.without and model != "similarity":
        raise UsageError(
            (Mention("without"), f" is for the model similarity, not for {model}"),
            hint=Mention("model", "similarity"),
        )
    return MomentSearch(queries, retrieval, extraction, model, space)


def _search_in_features(
    video_input: Input, queries: Queries, retrieval: Retrieval, encode_text: EncodeText | None
) -> MomentSearch:
    """Plan a search in existing features: features of a space, or any with their own text encoder."""
    extractor, *_ = video_input.kind
    space = "own" if encode_text else find_space_of_features(extractor)
    if space is None:
        raise UsageError(
            "no text encoder is known for these features",
            hint="give the video, or in Python the features' text encoder: encode_text=...",
            subject=extractor,
        )
    if retrieval.model not in ("auto", "similarity"):
        raise UsageError("features can be searched by similarity only", hint="give the video")
    if retrieval.space not in ("auto", space):
        raise UsageError(f"these features are in the space {space}", hint=Mention("space", "auto"))
    if retrieval.min_present and space == "own":
        raise UsageError(
            "your own features have no match probability", hint=("leave out ", Mention("min_present"))
        )
    return MomentSearch(queries, retrieval, video_input.extraction, "similarity", space, encode_text)
