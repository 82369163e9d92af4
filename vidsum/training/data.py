"""Training examples of moments and of highlights, from annotated videos with features or from toy data."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from vidsum.datasets.examples import MOST_SALIENT, HighlightExample, MomentExample, scores_at
from vidsum.datasets.moments import CLIP_S, MomentVideo, Query, read_moments, repaired
from vidsum.datasets.published_features import (
    check_features,
    read_clips,
    read_moment_features,
    read_parts,
    read_words,
)
from vidsum.errors import UsageError
from vidsum.features.resample import resample
from vidsum.grounding.spaces import text_encoder_of
from vidsum.grounding.text import DIMS, load_text_encoder
from vidsum.grounding.windows import with_endpoints
from vidsum.intervals import stacked
from vidsum.provenance import of_file
from vidsum.training.toy import Toy, draw_highlights, draw_moments
from vidsum.types import FloatArray, Progress, TimeArray

Example = TypeVar("Example", MomentExample, HighlightExample)
Source = Callable[[int], Sequence[Example]]
"""The training examples of an epoch, counted from 1: always the same, or drawn anew from its number."""

N_VALIDATION = 200
"""Simulated or toy videos for validation."""
_PUBLISHED_WORDS = "clip"
"""The text encoder of the words published for QVHighlights."""


@dataclass(frozen=True, eq=False)
class MomentData(Generic[Example]):
    """What a model is trained on, and validated on after each epoch."""

    examples: Source[Example]
    validation: Sequence[Example]
    """They choose the best epoch; with none, the last one is taken."""
    features: Mapping[str, Any]
    """What a user of the checkpoint must know of its input: `space`, `dim`, `clip_s` ...; JSON-ready."""
    about: Mapping[str, Any]
    """The recorded origin of the examples, JSON-ready."""
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
    """The text encoder; a space has its own, the default for other features is MiniLM."""
    validation: Path | float = 0.1
    """Annotations of other videos with features in the same places, or a fraction of the videos; 0: none."""


def annotated_moments(
    data: Annotated, clips: int, seed: int = 0, device: str = "auto", progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Examples from annotated videos, one per video, all in memory: T x D x 4 bytes a video.

    Args:
        data: what to read.
        clips: T, that each video is averaged into.
        seed: of the choice of validation videos.
        device: where the text encoder runs.
        progress: called while features are read.

    Raises:
        InputError: annotations or features cannot be read, or some videos have none.
        UsageError: there are no videos to train on, or the text encoder does not go with the space.
        WeightsError: the text encoder's weights cannot be had.
    """
    split = _split(data, seed)
    embedded = iter(load_text_encoder(split.encoder, device).encode(split.texts))

    def examples(video: MomentVideo) -> list[MomentExample]:
        queries = np.stack([next(embedded) for _ in video.queries])
        windows = stacked([query.windows for query in video.queries]).astype(np.float32)
        windows = np.asarray(windows / video.duration_s, np.float32)
        return [MomentExample(video.name, read_clips(data.features, video.name, clips), queries, windows)]

    return _of_annotated(data, split, examples, clip_s_of(split.train, clips), progress)


def annotated_highlights(
    data: Annotated,
    clips: int,
    words: int,
    *,
    text_features: Path | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> MomentData[HighlightExample]:
    """Examples from annotated videos, one per query, all in memory.

    Args:
        data: what to read; features are those of clips that follow each other over the whole video.
        clips: maximum T; a video of more is averaged into so many.
        words: maximum per query.
        text_features: the words of queries as published, see `read_words`; a text encoder's if not given.
            Those of another size than CLIP's are taken with a warning, and no text encoder is recorded.
        seed, device, progress: see `annotated_moments`.

    Raises:
        InputError: annotations or features cannot be read, or some videos or queries have none.
        UsageError: there are no videos to train on, or the text encoder does not go with the space or with
            the words.
        WeightsError: the text encoder's weights cannot be had.
    """
    is_encoder_given = data.text is not None or data.space != "features"
    if text_features and not is_encoder_given:
        data = replace(data, text=_PUBLISHED_WORDS)
    split = _split(data, seed)
    if text_features:
        embedded = iter([read_words(text_features, _qid(query, data)) for query in split.queries])
    else:
        embedded = iter(load_text_encoder(split.encoder, device).encode_words(split.texts))

    def examples(video: MomentVideo) -> list[HighlightExample]:
        rows = read_moment_features(data.features, video.name)
        with_ends = with_endpoints(resample(rows, min(clips, len(rows))))
        return [_highlight(query, with_ends, next(embedded)[:words]) for query in video.queries]

    is_scored = any(query.saliency is not None for query in split.queries)
    clip_s = CLIP_S if is_scored else clip_s_of(split.train, clips)
    made = _of_annotated(data, split, examples, clip_s, progress)
    return _with_words_from(text_features, made, is_encoder_given) if text_features else made


def toy_moments(toy: Toy, seed: int) -> MomentData[MomentExample]:
    """Toy data, drawn anew in each epoch; that for validation is never trained on."""
    return _toy(draw_moments, toy, seed)


def toy_highlights(toy: Toy, seed: int) -> MomentData[HighlightExample]:
    """The same for models that read words."""
    return _toy(draw_highlights, toy, seed)


def _toy(draw: Callable[..., list[Example]], toy: Toy, seed: int) -> MomentData[Example]:
    few = replace(toy, n_videos=min(toy.n_videos, N_VALIDATION))
    return MomentData(
        examples=lambda epoch: draw(toy, seed, epoch),
        validation=draw(few, seed, 0),
        features={"space": "toy"},
        about={"toy": vars(toy)},
    )


class _Split(NamedTuple):
    """The videos of annotations, and what reads their queries."""

    train: list[MomentVideo]
    val: list[MomentVideo]
    encoder: str
    warnings: tuple[str, ...]

    @property
    def queries(self) -> list[Query]:
        return [query for video in (*self.train, *self.val) for query in video.queries]

    @property
    def texts(self) -> list[str]:
        return [query.text for query in self.queries]


def _split(data: Annotated, seed: int) -> _Split:
    """Read annotations, hold out the validation videos and make sure that all have features."""
    encoder = _encoder_of(data.space, data.text)
    videos = read_moments(data.annotations)
    warnings = repaired(videos)
    if isinstance(data.validation, Path):
        held_out = read_moments(data.validation)
        warnings += repaired(held_out)
        if twice := next((name for name in held_out if name in videos), None):
            raise UsageError(f"{data.validation}: {twice} is among the training videos too")
    else:
        held_out = held_out_of(videos, data.validation, seed)
    train = [video for name, video in videos.items() if name not in held_out and video.queries]
    val = [video for video in held_out.values() if video.queries]
    if not train:
        raise UsageError("no video has a query to train on")
    check_features(data.features, [video.name for video in (*train, *val)])
    return _Split(train, val, encoder, warnings)


def _encoder_of(space: str, text: str | None) -> str:
    if space == "features":
        return text or "minilm"
    if space not in ("clip", "conse"):
        raise UsageError(f"unknown space {space!r}", hint="choose from features, clip, conse")
    encoder = text_encoder_of(space)
    if text not in (None, encoder):
        raise UsageError(
            f"queries in the space {space} are embedded by {encoder}, not by {text}", hint=f"--text {encoder}"
        )
    return encoder


def held_out_of(videos: Mapping[str, MomentVideo], fraction: float, seed: int) -> dict[str, MomentVideo]:
    """A fraction of the videos, at least one if it is above 0, chosen at random."""
    if not 0 <= fraction < 1:
        raise UsageError(f"validation must be a file, or a fraction from 0 to less than 1, not {fraction:g}")
    if fraction and len(videos) < 2:
        raise UsageError("one video cannot be split into training and validation", hint="--validation 0")
    many = min(max(1, round(fraction * len(videos))), len(videos) - 1) if fraction else 0
    chosen = random.Random(seed).sample(sorted(videos), many)
    return {name: videos[name] for name in chosen}


def _of_annotated(
    data: Annotated,
    split: _Split,
    make: Callable[[MomentVideo], list[Example]],
    clip_s: float,
    progress: Progress | None,
) -> MomentData[Example]:
    """The examples of each video, with what is recorded of them."""
    train: list[Example] = []
    val: list[Example] = []
    videos = (*split.train, *split.val)
    for number, video in enumerate(videos, 1):
        (train if number <= len(split.train) else val).extend(make(video))
        if progress:
            progress("features", number, len(videos))
    dims = [part.shape[1] for part in read_parts(data.features, split.train[0].name)]
    # evaluation cannot tell by their sum whether it is given them in the same order
    of_several = {"dims": dims} if len(dims) > 1 else {}
    dim = int(train[0].video.shape[1])
    files = [data.annotations, *([data.validation] if isinstance(data.validation, Path) else [])]
    return MomentData(
        examples=lambda epoch: train,
        validation=val,
        features={"space": data.space, "text": split.encoder, "dim": dim, "clip_s": clip_s, **of_several},
        about={
            "annotations": files_of(files),
            "features": [path.name for path in data.features],
            "validation": data.validation if isinstance(data.validation, float) else data.validation.name,
            "validation_videos": len(split.val),
        },
        warnings=split.warnings,
    )


def files_of(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """What is recorded of files."""
    return [{"name": path.name, **of_file(path)} for path in paths]


def clip_s_of(videos: Sequence[MomentVideo], clips: int) -> float:
    """Seconds of a clip such that 95 of 100 videos are not longer than a window of so many clips."""
    return round(float(np.percentile([video.duration_s for video in videos], 95)) / clips, 3)


def _highlight(query: Query, clips: FloatArray, words: FloatArray) -> HighlightExample:
    """The example of one query.

    Where annotators gave no scores, a clip has the highest score times the fraction that the windows cover.
    """
    windows = (np.array(query.windows) / query.duration_s).astype(np.float32)
    edges_s = np.linspace(0, query.duration_s, len(clips) + 1)
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2
    saliency = _covered(query, edges_s) if query.saliency is None else scores_at(query.saliency, middles_s)
    return HighlightExample(query.video, clips, words, windows, saliency)


def _covered(query: Query, edges_s: TimeArray) -> FloatArray:
    starts, ends = np.array(query.windows).T
    common = np.minimum(edges_s[1:, None], ends) - np.maximum(edges_s[:-1, None], starts)
    fractions = np.maximum(common, 0.0).sum(axis=1) / np.diff(edges_s)
    return np.asarray(MOST_SALIENT * np.minimum(fractions, 1.0), np.float32)


def _qid(query: Query, data: Annotated) -> str:
    if not query.qid:
        raise UsageError(
            f"{data.annotations}: its queries have no numbers, by which words are found",
            hint="without --text-features they are embedded",
        )
    return query.qid


def _with_words_from(
    folder: Path, made: MomentData[HighlightExample], is_encoder_given: bool
) -> MomentData[HighlightExample]:
    """Record where words were read, and no text encoder that cannot have made them."""
    made = replace(made, about={**made.about, "text_features": folder.name})
    encoder, size = made.features["text"], made.examples(1)[0].words.shape[1]
    if size == DIMS[encoder]:
        return made
    fault = f"{folder}: words of {size} numbers are not those of {encoder}, which have {DIMS[encoder]}"
    if is_encoder_given:
        raise UsageError(fault, hint="leave out --text and --space: no text encoder is recorded for others")
    features = {key: value for key, value in made.features.items() if key != "text"}
    warning = f"{fault}: the model will read queries from such a folder alone"
    return replace(made, features=features, warnings=(*made.warnings, warning))
