"""The examples that `DataSettings` describe: of annotated videos, or simulated from captions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.errors import Mention, UsageError, fill
from vidsum.grounding.spaces import describe_space, embed_words
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.grounding.vse_map import NAME, load_map
from vidsum.lab.datasets.clip_captions import ENCODER, embed_captions, is_captions, read_clip_captions
from vidsum.lab.datasets.moment_examples import HighlightExample, MomentExample
from vidsum.lab.datasets.timed_sentences import MomentVideo, describe_repairs, read_moments
from vidsum.lab.training.annotated import (
    N_VALIDATION,
    Example,
    MomentData,
    annotated_highlights,
    annotated_moments,
    files_of,
    held_out_of,
)
from vidsum.lab.training.embedded_sentences import ClipCaptions, embed_sentences, words_of
from vidsum.lab.training.settings import DataSettings, DETRSettings, MRNetSettings
from vidsum.lab.training.simulated import SimulationSettings, simulate_highlights, simulate_moments
from vidsum.models.scaling import unit_rows
from vidsum.options import leaves
from vidsum.types import FloatArray, Progress

_VALIDATION_SEED, _TRAINING_SEED = 1, 2
_CLIP_S = 1.0  # length of the longest simulated clip
_VIDEOS = 1200  # simulated videos per epoch, unless the settings have another number
_CLIP_NOISE = 0.15  # deviation of each number of an embedding


def simulated_highlights(
    source: DataSettings, clips: int, words: int, seed: int, progress: Progress | None
) -> MomentData[HighlightExample]:
    """Return examples of at most T clips, each with one query, its words, and saliency."""
    encode = partial(embed_words, space_of(source))
    book = lru_cache(maxsize=2)(partial(words_of, encode=encode, most=words))

    def simulate(settings: SimulationSettings, n_videos: int, seeds: Sequence[int]) -> list[HighlightExample]:
        return simulate_highlights(settings, book(settings.captions), n_videos, seeds)

    return _simulate_data(simulate, source, clips, seed, progress)


def space_of(source: DataSettings) -> str:
    return "vse" if source.space == "features" else source.space


def show_in_clip(captions: FloatArray, noise: FloatArray) -> FloatArray:
    """Simulate CLIP's space: a clip and its caption have a cosine of .2 to .4, as CLIP's paper reports."""
    return unit_rows(captions + np.float32(_CLIP_NOISE) * noise)


def _simulate_data(
    simulate: Callable[[SimulationSettings, int, Sequence[int]], list[Example]],
    source: DataSettings,
    clips: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> MomentData[Example]:
    """Return examples of T clips simulated from captions, others in each epoch; no video is needed.

    Raises UsageError: there is no caption, or no video to hold out.
    """
    space, fraction, n_videos = space_of(source), source.held_out, source.videos or _VIDEOS
    if isinstance(fraction, Path):
        fault = ("with captions, ", Mention("validation"), " is a fraction of the annotated videos")
        raise UsageError(fault, hint=Mention("validation", 0.1))
    videos = _read_videos(source.data)
    of_clips = _captions_of_clips(source, videos, progress)
    held_out = held_out_of(videos, fraction, seed)
    train = {name: video for name, video in videos.items() if name not in held_out}
    encoder = describe_space(space).text_encoder
    embed = partial(
        embed_sentences,
        embed=load_text_encoder(encoder).encode,
        encoder=checkpoints.sha256_of(encoder),
        seed=seed,
        progress=progress,
        clips=of_clips,
    )
    show = load_map().simulate if space == "vse" else show_in_clip
    of_train = SimulationSettings(embed(train), show, clips, _CLIP_S)
    val: list[Example] = []
    if held_out:
        of_val = replace(of_train, captions=embed(held_out))
        val = simulate(of_val, N_VALIDATION, (seed, _VALIDATION_SEED))
    first = simulate(of_train, 1, (seed,))[0]

    @lru_cache(maxsize=1)
    def examples(epoch: int) -> list[Example]:
        return simulate(of_train, n_videos, (seed, _TRAINING_SEED, epoch))

    return MomentData(
        examples=examples,
        validation=[example for example in val if example.windows.any()],
        features={"space": space, "dim": int(first.video.shape[1]), "clip_s": _CLIP_S, "guided": True},
        about=_describe_recipe(source, n_videos, len(of_clips)),
        warnings=describe_repairs(videos),
    )


def _read_videos(paths: Sequence[str | Path]) -> dict[str, MomentVideo]:
    """Read annotated videos with queries, named by their file too: two files may describe one video."""
    videos: dict[str, MomentVideo] = {}
    for path in map(Path, paths):
        queried = [video for video in read_moments(path).values() if video.queries]
        named = [replace(video, name=f"{path.stem}/{video.name}") for video in queried]
        videos |= {video.name: video for video in named}
    return videos


def _describe_recipe(source: DataSettings, n_videos: int, n_described: int) -> dict[str, Any]:
    """Return what a checkpoint records of simulated examples; `n_described` videos have captions of clips."""
    about: dict[str, Any] = {"recipe": "captions"}
    if space_of(source) == "vse":
        about["map_sha256"] = checkpoints.sha256_of(NAME)
    about["annotations"] = files_of(source.data)
    if n_described:
        about |= {"captions_of_clips": files_of(source.features), "described": n_described}
    return {**about, "videos": n_videos, "validation": source.held_out}


def _captions_of_clips(
    source: DataSettings, videos: Mapping[str, MomentVideo], progress: Progress | None
) -> dict[str, ClipCaptions]:
    """Return the captions of clips of those videos that a file has; the first file that names a video counts.

    Raises UsageError: another text encoder embeds captions of the space, or no file names a video.
    """
    if source.features and describe_space(space_of(source)).text_encoder != ENCODER:
        raise UsageError(f"captions of clips are embedded by {ENCODER}", hint=Mention("space", "vse"))
    known: dict[str, ClipCaptions] = {}
    for path in source.features:
        texts = read_clip_captions(path)
        vectors = embed_captions(texts, progress)
        for name in videos:
            video = name.split("/", 1)[1]
            if video in texts and name not in known:
                known[name] = ClipCaptions(texts[video], vectors[video])
    if source.features and not known:
        raise UsageError(
            ("the captions of clips are of no video of ", Mention("data")),
            hint=(Mention("data"), " with their queries"),
        )
    return known


simulated_moments = partial(_simulate_data, simulate_moments)
_FOR_FEATURES = ("text", "text_features", "query_features")


def moment_data(
    source: DataSettings, settings: MRNetSettings, progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Return examples for MRNet; errors as `annotated_moments`, and of wrong options."""
    _check_options(source)
    make = simulated_moments if source.recipe == "captions" else annotated_moments
    return make(source, settings.model.clips, settings.loop.seed, progress)


def highlight_data(
    source: DataSettings, settings: DETRSettings, progress: Progress | None = None
) -> MomentData[HighlightExample]:
    """Return examples for the DETR models: see `moment_data`."""
    _check_options(source)
    make = simulated_highlights if source.recipe == "captions" else annotated_highlights
    sizes = settings.model.clips, settings.model.words
    return make(source, *sizes, settings.loop.seed, progress)


def _check_options(source: DataSettings) -> None:
    """Raise UsageError unless the source has all options that it needs and none without effect."""
    if source.recipe == "captions":
        _refuse(source, _FOR_FEATURES, ("with ", Mention("recipe", "captions")))
        if other := next((path for path in source.features if not is_captions(path)), None):
            fault = fill(
                "{}: with {}, {} accepts captions of clips only",
                str(other),
                Mention("recipe", "captions"),
                Mention("features"),
            )
            raise UsageError(
                fault,
                hint=fill(
                    "{}, or leave out {}", Mention("features", "FILE.jsonl"), Mention("recipe", "captions")
                ),
            )
        return
    _refuse(source, ("videos",), ("without ", Mention("recipe", "captions")))
    if len(source.data) > 1:
        raise UsageError(
            (Mention("features"), " needs exactly one file of annotations"), hint=("one ", Mention("data"))
        )
    if not source.features:
        raise UsageError("no features to train on", hint=(Mention("features", "FILE"), " or FOLDER"))
    if source.query_features:
        where = ("with ", Mention("query_features"), ", as no text is embedded")
        _refuse(source, ("text", "space"), where)


def _refuse(source: DataSettings, names: tuple[str, ...], where: tuple[str | Mention, ...]) -> None:
    for leaf in leaves(DataSettings):
        if leaf.name in names and getattr(source, leaf.name) != leaf.default:
            raise UsageError((Mention(leaf.name), " has no effect ", *where), hint="leave it out")
