"""Where training examples of moments come from: annotated videos with features, or planted moments."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from vidsum.datasets.examples import MomentExample
from vidsum.datasets.highlight_examples import HighlightExample
from vidsum.datasets.moments import MomentQuery, MomentVideo, mended, read_moments
from vidsum.datasets.published_features import check_features, read_clips, read_parts
from vidsum.errors import UsageError
from vidsum.grounding.spaces import text_encoder_of
from vidsum.grounding.text import load_text_encoder
from vidsum.intervals import stacked
from vidsum.provenance import of_file
from vidsum.training.toy import Planting, planted
from vidsum.types import FloatArray, Progress

Example = TypeVar("Example")
Made = TypeVar("Made", MomentExample, HighlightExample)
Source = Callable[[int], Sequence[Example]]
"""The training examples of an epoch, counted from 1: the same ones always, or drawn anew from its number."""

_PLANTED_FOR_VALIDATION = 200


@dataclass(frozen=True, eq=False)
class MomentData(Generic[Example]):
    """What a model is trained on, and judged on after each epoch."""

    examples: Source[Example]
    validation: Sequence[Example]
    """They choose the best epoch; with none, the last one is taken."""
    features: Mapping[str, Any]
    """What a user of the checkpoint must know of its input: `space`, `dim`, `clip_s` ...; JSON-ready."""
    about: Mapping[str, Any]
    """What is recorded of the examples' origin, JSON-ready."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Annotated:
    """Annotated videos and where their features are."""

    annotations: Path
    features: tuple[Path, ...]
    """Files or folders as `vidsum.datasets.published_features` reads them, put side by side."""
    space: str = "features"
    """`clip` or `conse` where the features are embeddings in that space, else `features`."""
    text: str | None = None
    """The text encoder; a space has its own, for other features it is MiniLM if none is chosen."""
    validation: Path | float = 0.1
    """Annotations of other videos with features in the same places, or a share of the videos; 0: none."""


def annotated_data(
    data: Annotated, clips: int, seed: int = 0, device: str = "auto", progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Annotated videos as examples, all kept in memory: T x D x 4 bytes a video.

    Args:
        data: what to read.
        clips: T, that each video is averaged into.
        seed: of the choice of a share for validation.
        device: where the text encoder runs.
        progress: called while features are read.

    Raises:
        InputError: annotations or features cannot be read, or some videos have none.
        UsageError: there are no videos to train on, or the text encoder does not go with the space.
        WeightsError: the text encoder's weights cannot be had.
    """
    chosen = choose(data, seed)
    encode = load_text_encoder(chosen.encoder, device).encode
    examples = _examples([*chosen.kept, *chosen.judged], data.features, encode, clips, progress)
    n_kept = len(chosen.kept)
    return of_annotated(data, chosen, examples[:n_kept], examples[n_kept:], clip_s_of(chosen.kept, clips))


class Chosen(NamedTuple):
    """The videos of annotations, and what reads their queries."""

    kept: list[MomentVideo]
    judged: list[MomentVideo]
    """For validation."""
    encoder: str
    warnings: tuple[str, ...]


def choose(data: Annotated, seed: int) -> Chosen:
    """Read annotations, hold out the videos for validation and make sure that all have features.

    Raises:
        InputError, UsageError: see `annotated_data`.
    """
    encoder = _encoder_of(data.space, data.text)
    train = read_moments(data.annotations)
    warnings = mended(train)
    if isinstance(data.validation, Path):
        held_out = read_moments(data.validation)
        warnings += mended(held_out)
        if twice := next((name for name in held_out if name in train), None):
            raise UsageError(f"{data.validation}: {twice} is among the training videos too")
    else:
        held_out = share_of(train, data.validation, seed)
    kept = [video for name, video in train.items() if name not in held_out and video.queries]
    judged = [video for video in held_out.values() if video.queries]
    if not kept:
        raise UsageError("no video has a query to train on")
    check_features(data.features, [video.name for video in (*kept, *judged)])
    return Chosen(kept, judged, encoder, warnings)


def of_annotated(
    data: Annotated, chosen: Chosen, kept: Sequence[Made], judged: Sequence[Made], clip_s: float
) -> MomentData[Made]:
    """The examples of annotated videos with what is recorded of them."""
    dim = int(kept[0].video.shape[1])
    dims = [part.shape[1] for part in read_parts(data.features, chosen.kept[0].name)]
    # evaluation cannot tell by their sum whether it is given them in the same order
    of_several = {"dims": dims} if len(dims) > 1 else {}
    return MomentData(
        examples=lambda epoch: kept,
        validation=judged,
        features={"space": data.space, "text": chosen.encoder, "dim": dim, "clip_s": clip_s, **of_several},
        about=_about(data, len(chosen.judged)),
        warnings=chosen.warnings,
    )


def planted_data(how: Planting, seed: int) -> MomentData[MomentExample]:
    """Planted moments, drawn anew in each epoch; those for validation are none of them."""
    return drawn_data(planted, how, seed)


def drawn_data(draw: Callable[..., list[Made]], how: Planting, seed: int) -> MomentData[Made]:
    """What `draw(how, *seeds)` plants, drawn anew in each epoch; that for validation is none of it."""
    few = replace(how, n_videos=min(how.n_videos, _PLANTED_FOR_VALIDATION))
    return MomentData(
        examples=lambda epoch: draw(how, seed, epoch),
        validation=draw(few, seed, 0),
        features={"space": "planted"},
        about={"planted": vars(how)},
    )


def _encoder_of(space: str, text: str | None) -> str:
    if space == "features":
        return text or "minilm"
    if space not in ("clip", "conse"):
        raise UsageError(f"there is no space {space!r}", hint="choose from features, clip, conse")
    encoder = text_encoder_of(space)
    if text not in (None, encoder):
        raise UsageError(
            f"queries in the space {space} are embedded by {encoder}, not by {text}", hint=f"--text {encoder}"
        )
    return encoder


def share_of(videos: Mapping[str, MomentVideo], share: float, seed: int) -> dict[str, MomentVideo]:
    """A share of the videos, at least one if the share is above 0, chosen at random."""
    if not 0 <= share < 1:
        raise UsageError(f"validation must be a file, or a share from 0 to less than 1, not {share:g}")
    if share and len(videos) < 2:
        raise UsageError("one video cannot be split into training and validation", hint="--validation 0")
    many = min(max(1, round(share * len(videos))), len(videos) - 1) if share else 0
    chosen = random.Random(seed).sample(sorted(videos), many)
    return {name: videos[name] for name in chosen}


def _examples(
    videos: Sequence[MomentVideo],
    sources: Sequence[Path],
    encode: Callable[[Sequence[str]], FloatArray],
    clips: int,
    progress: Progress | None,
) -> list[MomentExample]:
    rows = encode([query.text for video in videos for query in video.queries])
    ends = np.cumsum([len(video.queries) for video in videos])
    examples = []
    for number, (video, queries) in enumerate(zip(videos, np.split(rows, ends[:-1]), strict=True), 1):
        features = read_clips(sources, video.name, clips)
        windows = _windows(video.queries, video.duration_s)
        examples.append(MomentExample(video.name, features, queries, windows))
        if progress:
            progress("features", number, len(videos))
    return examples


def _windows(queries: Sequence[MomentQuery], duration_s: float) -> FloatArray:
    """[M, W, 2] shares of the video, padded with empty windows."""
    windows = stacked([query.windows for query in queries]).astype(np.float32)
    return np.asarray(windows / duration_s, np.float32)


def clip_s_of(videos: Sequence[MomentVideo], clips: int) -> float:
    """Seconds of a clip such that 95 of 100 videos are not longer than a window of so many clips."""
    return round(float(np.percentile([video.duration_s for video in videos], 95)) / clips, 3)


def _about(data: Annotated, n_judged: int) -> dict[str, Any]:
    files = [data.annotations, *([data.validation] if isinstance(data.validation, Path) else [])]
    return {
        "annotations": [{"name": path.name, **of_file(path)} for path in files],
        "features": [path.name for path in data.features],
        "validation": data.validation if isinstance(data.validation, float) else str(data.validation.name),
        "validation_videos": n_judged,
    }
