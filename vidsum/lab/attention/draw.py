"""Draw the attention of a trained model while it reads a video."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.find import EncodedQueries, encode_tokens
from vidsum.grounding.registry import load_model, resolve_model
from vidsum.grounding.settings import SHIPPED_GROUNDER, Retrieval
from vidsum.grounding.spaces import describe_space, embed_queries
from vidsum.grounding.text import load_text_encoder
from vidsum.io.provenance import label_of
from vidsum.lab.attention.importance import attention_maps, plot_importance_attention, require_part
from vidsum.lab.attention.moments import SAMPLES, capture_attention, has_mask, plot_moment_attention
from vidsum.lab.attention.settings import AttentionKind, AttentionRequest, parse_part
from vidsum.pipelines.embedding import open_in_space, plan_embedding
from vidsum.pipelines.moments import plan_moments
from vidsum.pipelines.plan import open_input
from vidsum.pipelines.queries import parse_queries
from vidsum.pipelines.sources import Video
from vidsum.results.clock import shift_times
from vidsum.shots.find import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.importance import SCORERS
from vidsum.summary.score import load_importance_checkpoint, weights_sha256
from vidsum.summary.settings import SHIPPED_MODEL
from vidsum.types import Progress
from vidsum.video.probe import start_offset_s

_BUDGET = 0.15
"""Fraction of the video in the summary whose steps the decoder writes."""


def draw_attention(
    request: AttentionRequest,
    source: str,
    files: Mapping[str, Path],
    extraction: Extraction,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Draw the figures of a request; return facts about them and warnings.

    Raises UsageError before decoding: the model has no such attention; else as `summarize` and `ground`.
    """
    if request.query:
        return _draw_moments(request, source, files, extraction, progress)
    return _draw_importance(request, source, files["attention"], extraction, progress)


def _draw_importance(
    request: AttentionRequest, source: str, target: Path, extraction: Extraction, progress: Progress | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    name, part = request.model or "fulltransnet", parse_part(request.part)
    if name in ("auto", SHIPPED_MODEL, *SCORERS):
        raise UsageError(f"{name} has no attention to draw", hint="--model fulltransnet")
    model = load_importance_checkpoint(name, extraction.device)
    require_part(model, part)
    opened = open_input(source, extraction)
    (features,), pictures = opened.read(progress)
    shots = find(features, ShotSettings(), pictures)
    layers, heads = ([part[0]], [part[1]]) if isinstance(part, tuple) else (None, None)
    maps = attention_maps(model, features, shots, _BUDGET, layers=layers, heads=heads)
    facts = {"model": name, "part": request.part, **weights_sha256([name])}
    plot_importance_attention(
        shift_times(maps, start_offset_s(features.video)),
        target,
        grids=part == "all",
        label=label_of({**opened.provenance, "attention": facts}),
    )
    return facts, (*features.warnings, *maps.warnings)


def _draw_moments(
    request: AttentionRequest,
    source: str,
    files: Mapping[str, Path],
    extraction: Extraction,
    progress: Progress | None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    name = request.model or SHIPPED_GROUNDER
    require_moment_attention(name, request.kind, extraction.device)
    video, queries = Video(source), parse_queries(request.query)
    grounding = plan_moments(video, queries, Retrieval(model=name), extraction).run(progress)
    opened = open_in_space(grounding.space, video, extraction)
    clips, _ = plan_embedding(opened, grounding.space).run(progress)
    texts = queries.texts[:SAMPLES]
    vectors = embed_queries(grounding.space, texts, extraction.device)
    grounder = load_model(grounding.model, extraction.device)
    split = load_text_encoder(describe_space(grounder.space).text_encoder, extraction.device).split
    tokens = encode_tokens(grounder, EncodedQueries(texts, vectors), extraction.device)
    words = [(text, split(text)) for text in texts]
    attention = capture_attention(grounder, clips, words, tokens, vectors)
    warnings = list(grounding.warnings)
    for kind in request.kind:
        warnings += plot_moment_attention(grounding, attention, kind, files[kind])
    return {"model": grounding.model, "queries": len(queries.texts)}, tuple(warnings)


def require_moment_attention(name: str, kinds: Sequence[AttentionKind], device: str) -> None:
    """Raise UsageError where a model has no such attention to draw."""
    model, _ = resolve_model(name, "auto", device)
    if model == "similarity":
        raise UsageError(f"{name} has no attention to plot", hint=f"--model {SHIPPED_GROUNDER} or qd-detr")
    if "mask" in kinds and not has_mask(load_model(model, device).model):
        raise UsageError(f"{name} has no mask to plot", hint=f"--model {SHIPPED_GROUNDER} or qd-detr-lam")
