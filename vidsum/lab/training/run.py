"""A run of a summarizer over the splits of a data set: `run.json`, and folders `split_0`, `split_1` ..."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np

from vidsum.errors import InputError, Mention, UsageError
from vidsum.grounding import vse_map
from vidsum.io.atomic import as_utf8, make_folder
from vidsum.io.provenance import identify_file
from vidsum.io.text import read_json
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.captioned import FeatureSimulator
from vidsum.lab.datasets.splits import Split
from vidsum.lab.training.settings import recorded
from vidsum.lab.training.state import clear_runs, is_finished, require_same
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.outputs.alone import save_text
from vidsum.summary.importance_model import SENTENCES, FeatureTransform

SCHEMA: Final = "vidsum.training_run/1"
NAME: Final = "run.json"

S = TypeVar("S", bound=FullTransNetSettings | RidgeSettings)


@dataclass(frozen=True, eq=False)
class TrainingRun(Generic[S]):
    """A run whose data has been checked and whose folder is claimed."""

    out: Path
    videos: Mapping[str, AnnotatedVideo]
    splits: tuple[Split, ...]  # with their validation parts, if there are any
    settings: S
    features: Mapping[str, Any]
    """Features that the model reads: `extractor`, `dim` and `fps`, and what is recorded of `inputs`."""
    facts: Mapping[str, Any]  # recorded of the training in each checkpoint
    draw: FeatureSimulator | None  # draws the features of a video anew; None: they are always the same
    inputs: FeatureTransform  # how features become the model's input

    def drawn(self, name: str, *seed: int) -> AnnotatedVideo:
        """Return a video, with its features drawn from a seed."""
        video = self.videos[name]
        return self.draw(video, *seed) if self.draw else video

    def folder(self, number: int) -> Path:
        return self.out / f"split_{number}"


def start_run(
    model: str,
    videos: Mapping[str, AnnotatedVideo],
    splits: Sequence[Split],
    settings: S,
    out: Path,
    *,
    sources: Sequence[Path] = (),
    draw: FeatureSimulator | None = None,
    overwrite: bool = False,
    **facts: Any,
) -> TrainingRun[S]:
    """Check that the videos of the splits go together, claim the folder and write `run.json`.

    `model` is its name in the checkpoints; the SHA-256 of `sources` are recorded; `draw` draws features anew;
    `overwrite` drops a run with other settings; `facts` replace fields of the same name in the record. Raises
    UsageError: the videos do not go together. OutputError: another run in the folder, or not writable.
    """
    named = {name for split in splits for name in (*split.train, *split.validation, *split.test)}
    _check_together([videos[name] for name in sorted(named)])
    first, *others = [videos[name] for name in sorted({name for split in splits for name in split.train})]
    used = [draw(first, 0) if draw else first, *others]
    step_s = float(np.median([video.features.step_s for video in used]))
    features: dict[str, Any] = {"extractor": used[0].features.extractor, "dim": used[0].features.dim}
    features["fps"] = round(1 / step_s, 6)
    is_space = features["extractor"] in SENTENCES
    inputs = FeatureTransform(vse_map.NAME if is_space else None, settings.ends)
    if is_space:  # pictures are read at a rate that can be asked for, not at every 15th frame's
        features |= {"extractor": vse_map.EXTRACTOR, "fps": float(f"{features['fps']:.2g}")}
    features |= inputs.recorded
    sized: Any = replace(settings.model, dim_in=features["dim"] + inputs.n_added)
    settings = replace(settings, model=sized)
    data = [{"name": path.name, **identify_file(path)} for path in sources]
    # the networks that simulated features come from
    weights = {"weights": draw.weights} if draw else {}
    of_checkpoint = {"data": data, **weights, **recorded(settings), **facts}
    run = TrainingRun(out, videos, tuple(splits), settings, features, of_checkpoint, draw, inputs)
    document = {
        "model": model,
        "data": data,
        "features": features,
        "settings": {**asdict(settings), **facts},
        "splits": [
            {"folder": run.folder(number).name, **split_facts(split)} for number, split in enumerate(splits)
        ],
    }
    claim_run(out, {**document, **weights}, overwrite=overwrite)
    return run


def split_facts(split: Split) -> dict[str, Any]:
    """Return the name of a split and the videos of each part, JSON-ready."""
    parts = ("train", "validation", "test")
    return {"name": split.name, **{part: list(getattr(split, part)) for part in parts}}


def _check_together(videos: Sequence[AnnotatedVideo]) -> None:
    """All features must be of one kind; the model could read no others later."""
    first = videos[0]
    for video in videos[1:]:
        pair = (first.features, video.features)
        expected, other = (f"{features.dim} numbers of {features.extractor}" for features in pair)
        if expected != other:
            fault = f"{first.name} has features of {expected}, {video.name} of {other}"
            raise UsageError(fault, hint="give files whose features were extracted in the same way")


def claim_run(out: Path, facts: Mapping[str, Any], *, overwrite: bool) -> None:
    """Write `run.json`, unless it says the same. OutputError: other facts; `overwrite` drops their splits."""
    path, document = out / NAME, {"schema": SCHEMA, **facts}
    text = as_utf8(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"
    make_folder(out)
    if path.exists() and not overwrite:
        require_same(read_run(out), document, out)
        return
    if path.exists() and path.read_bytes() != text.encode():
        clear_runs(out)
    save_text(text, path, overwrite=overwrite)


def read_run(out: Path) -> dict[str, Any]:
    """Return `run.json`: `model`, `data`, `features`, `settings`, `splits`, perhaps `weights`.

    A split has `folder`, `name`, `train`, `validation` and `test`. Raises InputError: no such file.
    """
    path = out / NAME
    if not path.is_file():
        raise InputError(
            f"holds no training run ({NAME})",
            hint=("give the ", Mention("out"), " of `vidsum train`"),
            subject=out,
        )
    try:
        document = read_json(path)
    except InputError as error:
        hint = ("start over with ", Mention("overwrite", True))
        raise InputError(error.text, hint, subject=error.subject) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"does not describe a training run ({SCHEMA})", subject=path)
    return document


def unfinished_splits(out: Path) -> list[int]:
    """Return numbers of the splits of a run whose training is not finished; errors as `read_run`."""
    folders = [out / split["folder"] for split in read_run(out)["splits"]]
    return [number for number, folder in enumerate(folders) if not is_finished(folder)]
