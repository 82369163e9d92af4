"""The examples that `DataSettings` describe: of annotated videos, simulated from captions, or toy data."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from vidsum.datasets.clip_captions import is_captions
from vidsum.datasets.examples import HighlightExample, MomentExample
from vidsum.errors import UsageError
from vidsum.options import leaves
from vidsum.training.data import N_VALIDATION, Example, MomentData, annotated_highlights, annotated_moments
from vidsum.training.settings import DataSettings, DETRSettings, MRNetSettings
from vidsum.training.simulated_data import simulated_highlights, simulated_moments
from vidsum.training.toy import Toy, draw_highlights, draw_moments
from vidsum.types import Progress

TOY = "toy"
"""The value of `DataSettings.data` for toy data."""
_FOR_CAPTIONS = ("clip_s", "guided", "videos", "joined")
_FOR_FEATURES = ("text", "text_features", "query_features")


def moment_data(
    source: DataSettings, settings: MRNetSettings, progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Examples for MRNet.

    Args:
        source: which data.
        settings: give the clips, the seed and the text encoder's device.
        progress: called while features are read or captions embedded.

    Raises:
        UsageError: options of the source do not go together, or there are no videos to train on.
        InputError: annotations or features cannot be read, or some videos have none.
        WeightsError: the text encoder's weights cannot be had.
    """
    kind, clips, seed = _checked_kind(source), settings.model.clips, settings.loop.seed
    if kind == TOY:
        return toy_data(draw_moments, Toy(clips=clips), seed)
    make = simulated_moments if kind == "captions" else annotated_moments
    return make(source, clips, seed, settings.device, progress)


def highlight_data(
    source: DataSettings, settings: DETRSettings, progress: Progress | None = None
) -> MomentData[HighlightExample]:
    """Examples for the DETR models: see `moment_data`."""
    kind, model, seed = _checked_kind(source), settings.model, settings.loop.seed
    if kind == TOY:
        return toy_data(draw_highlights, Toy(clips=model.clips, queries=1), seed)
    make = simulated_highlights if kind == "captions" else annotated_highlights
    return make(source, model.clips, model.words, seed, settings.device, progress)


def toy_data(draw: Callable[..., list[Example]], toy: Toy, seed: int) -> MomentData[Example]:
    """Toy data, drawn anew in each epoch; that for validation is never trained on."""
    few = replace(toy, n_videos=min(toy.n_videos, N_VALIDATION))
    return MomentData(
        examples=lambda epoch: draw(toy, seed, epoch),
        validation=draw(few, seed, 0),
        features={"space": "toy"},
        about={"toy": vars(toy)},
    )


def preset_of(source: DataSettings, published: str) -> str:
    """The preset that goes with the data; `published` for features of annotated videos."""
    kind = _kind(source)
    return published if kind == "features" else kind


def _kind(source: DataSettings) -> Literal["captions", "toy", "features"]:
    if source.recipe == "captions":
        return "captions"
    return "toy" if source.data[0] == TOY else "features"


def _checked_kind(source: DataSettings) -> Literal["captions", "toy", "features"]:
    """The kind of data, if the source has all options that it needs and none without effect."""
    kind = _kind(source)
    if kind == "captions":
        _refuse(source, _FOR_FEATURES, "with --recipe captions")
        if other := next((path for path in source.features if not is_captions(path)), None):
            fault = f"{other}: with --recipe captions, --features takes captions of clips alone"
            raise UsageError(fault, hint="--features FILE.jsonl, or leave out --recipe captions")
        if TOY in source.data:
            fault = f"--data {TOY} has no captions to simulate features from"
            raise UsageError(fault, hint="--data FILE, or leave out --recipe captions")
        return kind
    _refuse(source, _FOR_CAPTIONS, "without --recipe captions")
    if len(source.data) > 1:
        raise UsageError("features are read for one file of annotations", hint="one --data")
    if kind == TOY:
        _refuse(source, (*_FOR_FEATURES, "features", "space", "validation"), f"with --data {TOY}")
    elif not source.features:
        raise UsageError("no features to train on", hint=f"--features FILE or FOLDER; or --data {TOY}")
    if source.query_features:
        _refuse(source, ("text", "space"), "with --query-features, as no text is embedded")
    return kind


def _refuse(source: DataSettings, names: tuple[str, ...], where: str) -> None:
    """Refuse options that would have no effect."""
    options = [leaf for leaf in leaves(DataSettings) if leaf.name in names]
    given = [leaf for leaf in options if getattr(source, leaf.name) != leaf.default]
    if given:
        have, them = ("has", "it") if len(given) == 1 else ("have", "them")
        text = " and ".join(leaf.flags[0] for leaf in given).replace("/", " or ")
        raise UsageError(f"{text} {have} no effect {where}", hint=f"leave {them} out")
