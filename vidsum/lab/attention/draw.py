"""Draw the attention of a trained FullTransNet while it summarizes a video."""

from pathlib import Path
from typing import Any

from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import label_of
from vidsum.lab.attention.importance import attention_maps, plot_importance_attention, require_part
from vidsum.lab.attention.settings import AttentionRequest, parse_part
from vidsum.pipelines.plan import open_input
from vidsum.results.clock import shift_times
from vidsum.shots.find import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.importance import SCORERS
from vidsum.summary.score import load_importance_checkpoint, weights_sha256
from vidsum.types import Progress
from vidsum.video.probe import start_offset_s


def draw_attention(
    request: AttentionRequest,
    source: str,
    target: Path,
    extraction: Extraction,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Draw the figure of a request; return facts about it and warnings.

    Raises UsageError before decoding: the model has no such attention; else as `summarize`.
    """
    name, part = request.model, parse_part(request.part)
    if name in ("auto", *SCORERS):
        raise UsageError(f"{name} has no attention to draw", hint="--model fulltransnet")
    model = load_importance_checkpoint(name, extraction.device)
    require_part(model, part)
    opened = open_input(source, extraction)
    (features,), pictures = opened.read(progress)
    shots = find(features, ShotSettings(), pictures)
    maps = attention_maps(model, features, shots, part=part)
    facts = {"model": name, "part": request.part, **weights_sha256([name])}
    plot_importance_attention(
        shift_times(maps, start_offset_s(features.video)),
        target,
        grids=part == "all",
        label=label_of({**opened.provenance, "attention": facts}),
    )
    return facts, (*features.warnings, *maps.warnings)
