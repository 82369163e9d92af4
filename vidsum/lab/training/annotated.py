"""Training examples of moments and of highlights, from annotated videos with features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from vidsum.errors import Mention, UsageError, fill
from vidsum.grounding.spaces import describe_space
from vidsum.grounding.text_encoders import DIMS, load_text_encoder
from vidsum.grounding.windows import resample, with_endpoints
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.moment_examples import MOST_SALIENT, HighlightExample, MomentExample, scores_at
from vidsum.lab.datasets.published_features import ReadParts, open_features, read_queries, read_words
from vidsum.lab.datasets.splits import hold_out
from vidsum.lab.datasets.timed_sentences import CLIP_S, MomentVideo, Query, describe_repairs, read_moments
from vidsum.lab.training.settings import DataSettings
from vidsum.types import FloatArray, Progress, reported, stack_intervals

Example = TypeVar("Example", MomentExample, HighlightExample)
Source = Callable[[int], Sequence[Example]]
"""The training examples of an epoch, counted from 1: always the same, or drawn anew from its number."""

N_VALIDATION = 200  # simulated videos for validation


@dataclass(frozen=True, eq=False)
class MomentData(Generic[Example]):
    """Examples for training, and for validation after each epoch."""

    examples: Source[Example]
    validation: Sequence[Example]  # they choose the best epoch; with none, the last one is taken
    features: Mapping[str, Any]
    """Facts about the input that a checkpoint records: `space`, `dim`, `clip_s` ...; JSON-ready."""
    about: Mapping[str, Any]  # the recorded origin of the examples, JSON-ready
    warnings: tuple[str, ...] = ()


def annotated_moments(
    source: DataSettings, clips: int, seed: int = 0, progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Return examples from annotated videos, one per video averaged into T `clips`, all in memory.

    The seed chooses validation videos. Raises InputError: annotations or features cannot be read, or are
    missing. UsageError: no video to train on, or another text encoder than the space's. WeightsError: no text
    encoder.
    """
    folder, split = source.query_features, _split(source, seed, progress)
    if folder:
        vectors = read_queries(folder, split.queries)
    else:
        vectors = load_text_encoder(split.encoder).encode([query.text for query in split.queries])
    embedded = iter(vectors)

    def examples(video: MomentVideo, rows: FloatArray) -> list[MomentExample]:
        queries = np.stack([next(embedded) for _ in video.queries])
        windows = stack_intervals([query.windows for query in video.queries]).astype(np.float32)
        windows = np.asarray(windows / video.duration_s, np.float32)
        return [MomentExample(video.name, resample(rows, clips), queries, windows)]

    reads = {"queries": {"dim": vectors.shape[1], "from": folder.name}} if folder else {"text": split.encoder}
    return _examples(source, split, examples, reads, clip_s_of(split.train, clips), progress)


def annotated_highlights(
    source: DataSettings, clips: int, words: int, seed: int = 0, progress: Progress | None = None
) -> MomentData[HighlightExample]:
    """Return examples from annotated videos, one per query, all in memory: see `annotated_moments`.

    Of at most `clips` clips and `words` words. Published words (`read_words`) of another size than CLIP's
    give a warning, and no text encoder is recorded. Raises UsageError too where words do not go with the
    encoder.
    """
    folder = source.text_features
    is_encoder_given = source.text is not None or source.space != "features"
    read = source if is_encoder_given or not folder else replace(source, text="clip")
    split = _split(read, seed, progress)
    reads = {"text": split.encoder}
    if folder:
        if not all(query.qid for query in split.queries):
            fault = "its queries have no numbers, by which words are found"
            other = ("without ", Mention("text_features"), " they are embedded")
            raise UsageError(fault, other, subject=source.data[0])
        all_words = read_words(folder, [query.qid for query in split.queries])
        size, expected = all_words[0].shape[1], DIMS[split.encoder]
        if size != expected:
            others = f"those of {split.encoder}, which have {expected}"
            fault = f"words of {size} numbers are not {others}"
            if is_encoder_given:
                hint = fill(
                    "leave out {} and {}: no text encoder is recorded for others",
                    Mention("text"),
                    Mention("space"),
                )
                raise UsageError(fault, hint, subject=folder)
            warning = f"{folder}: {fault}: the model will read queries from such a folder alone"
            reads, split = {}, split._replace(warnings=(*split.warnings, warning))
    else:
        encode = load_text_encoder(split.encoder).encode_words
        all_words = encode([query.text for query in split.queries])
    embedded = iter(all_words)

    def examples(video: MomentVideo, rows: FloatArray) -> list[HighlightExample]:
        with_ends = with_endpoints(resample(rows, min(clips, len(rows))))
        return [_highlight(query, with_ends, next(embedded)[:words]) for query in video.queries]

    is_scored = any(query.saliency is not None for query in split.queries)
    clip_s = CLIP_S if is_scored else clip_s_of(split.train, clips)
    data = _examples(source, split, examples, reads, clip_s, progress)
    return replace(data, about={**data.about, "text_features": folder.name}) if folder else data


class _Split(NamedTuple):
    """The videos of annotations, and what reads their queries."""

    train: list[MomentVideo]
    val: list[MomentVideo]
    encoder: str
    parts: ReadParts
    warnings: tuple[str, ...]

    @property
    def queries(self) -> list[Query]:
        return [query for video in (*self.train, *self.val) for query in video.queries]


def _split(source: DataSettings, seed: int, progress: Progress | None) -> _Split:
    """Read annotations, hold out the validation videos and make sure that all have features."""
    encoder = _encoder_of(source)
    videos = read_moments(Path(source.data[0]))
    warnings = describe_repairs(videos)
    if isinstance(source.held_out, Path):
        held_out = read_moments(source.held_out)
        warnings += describe_repairs(held_out)
        if twice := next((name for name in held_out if name in videos), None):
            raise UsageError(f"{twice} is among the training videos too", subject=source.held_out)
    else:
        held_out = held_out_of(videos, source.held_out, seed)
    train = [video for name, video in videos.items() if name not in held_out and video.queries]
    val = [video for video in held_out.values() if video.queries]
    if not train:
        raise UsageError("no video has a query to train on")
    names = [video.name for video in (*train, *val)]
    return _Split(train, val, encoder, open_features(source.features, names, progress), warnings)


def _encoder_of(source: DataSettings) -> str:
    if source.space == "features":
        return source.text or "minilm"
    encoder = describe_space(source.space).text_encoder
    if source.text not in (None, encoder):
        fault = f"queries in the space {source.space} are embedded by {encoder}, not by {source.text}"
        raise UsageError(fault, hint=Mention("text", encoder))
    return encoder


def held_out_of(videos: Mapping[str, MomentVideo], fraction: float, seed: int) -> dict[str, MomentVideo]:
    """Return a fraction of the videos, at least one if it is above 0, chosen at random."""
    if not 0 <= fraction < 1:
        rule = f" must be a file, or a fraction from 0 to less than 1, not {fraction:g}"
        raise UsageError((Mention("validation"), rule), option="validation")
    return {name: videos[name] for name in (hold_out(videos, fraction, seed) if fraction else ())}


def _examples(
    source: DataSettings,
    split: _Split,
    make: Callable[[MomentVideo, FloatArray], list[Example]],
    reads: Mapping[str, Any],
    clip_s: float,
    progress: Progress | None,
) -> MomentData[Example]:
    """Return the examples of each video; with what is recorded of them, and of the queries (`reads`)."""
    by_video = [
        make(video, np.concatenate(split.parts(video.name), axis=1))
        for video in reported((*split.train, *split.val), "features", progress)
    ]
    parts = by_video[: len(split.train)], by_video[len(split.train) :]
    train, val = ([example for of_video in part for example in of_video] for part in parts)
    dims = [part.shape[1] for part in split.parts(split.train[0].name)]
    # evaluation cannot tell by their sum whether it is given them in the same order
    of_several = {"dims": dims} if len(dims) > 1 else {}
    dim = int(train[0].video.shape[1])
    validation: Path | float = source.held_out
    files = [source.data[0], *([str(validation)] if isinstance(validation, Path) else [])]
    return MomentData(
        examples=lambda epoch: train,
        validation=val,
        features={"space": source.space, **reads, "dim": dim, "clip_s": clip_s, **of_several},
        about={
            "annotations": files_of(files),
            "features": [path.name for path in source.features],
            "validation": validation.name if isinstance(validation, Path) else validation,
            "validation_videos": len(val),
        },
        warnings=split.warnings,
    )


def files_of(names: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Name and hash of files, as they are recorded."""
    return [{"name": path.name, **identify_file(path)} for path in map(Path, names)]


def clip_s_of(videos: Sequence[MomentVideo], clips: int) -> float:
    """Return seconds of a clip such that 95 of 100 videos are not longer than a window of `clips` clips."""
    return round(float(np.percentile([video.duration_s for video in videos], 95)) / clips, 3)


def _highlight(query: Query, clips: FloatArray, words: FloatArray) -> HighlightExample:
    """Return the example of one query; without annotators' scores a clip has the share of the windows."""
    windows = (np.array(query.windows) / query.duration_s).astype(np.float32)
    edges_s = np.linspace(0, query.duration_s, len(clips) + 1)
    if query.saliency is not None:
        saliency = scores_at(query.saliency, (edges_s[:-1] + edges_s[1:]) / 2)
    else:
        starts, ends = np.array(query.windows).T
        common = np.minimum(edges_s[1:, None], ends) - np.maximum(edges_s[:-1, None], starts)
        fractions = np.maximum(common, 0.0).sum(axis=1) / np.diff(edges_s)
        saliency = np.asarray(MOST_SALIENT * np.minimum(fractions, 1.0), np.float32)
    return HighlightExample(query.video, clips, words, windows, saliency)
