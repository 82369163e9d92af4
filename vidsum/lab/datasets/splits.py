"""Splits of annotated videos: the published ones, our own folds, and the three settings of the field."""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vidsum.errors import InputError, Mention, UsageError, fill, safe_name
from vidsum.io.text import read_json, read_yaml
from vidsum.lab.datasets.annotated_videos import dataset_name

SETTINGS = ("canonical", "augmented", "transfer")


@dataclass(frozen=True)
class Split:
    """Names of videos to train on and to test on; no video is in two of them, else it is a UsageError."""

    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    validation: tuple[str, ...] = ()  # taken from the training part by `with_validation`

    def __post_init__(self) -> None:
        if not self.train or not self.test:
            part = "test" if self.train else "train"
            raise UsageError(f"no video to {part} on", subject=self.name)
        uses = Counter(self.train + self.validation + self.test)
        twice = [video for video, times in uses.items() if times > 1]
        if twice:
            raise UsageError(f"names {safe_name(twice[0])} twice", subject=self.name)


def read_splits(source: Path, available: Collection[str]) -> list[Split]:
    """Read published splits: a YAML or JSON list of `{train_keys, test_keys}`, or one such split alone.

    Keys are `../datasets/eccv16_dataset_tvsum_google_pool5.h5/video_35`, `tvsum/video_35`, or `video_35`,
    where one dataset is `available` or the file's name begins with its name. Other keys, as the `val_keys` of
    Mr. HiSum, are not read. Raises InputError: no list of splits, overlapping parts, or unavailable videos.
    """
    datasets = sorted(by_dataset(available))
    splits = []
    for number, entry in enumerate(_entries(source), start=1):
        train, test = (
            tuple(_name(key, source, datasets) for key in entry[f"{part}_keys"]) for part in ("train", "test")
        )
        if (absent := next((name for name in (*train, *test) if name not in available), None)) is not None:
            file = f"eccv16_dataset_{safe_name(_dataset_of(absent))}_google_pool5.h5"
            hint = ("add ", Mention("data", file))
            raise InputError(f"names {safe_name(absent)}, which is not in the data", hint, subject=source)
        try:
            splits.append(Split(f"{source.stem}-{number}", train, test))
        except UsageError as error:
            raise InputError(("split ", *error.parts), subject=source) from error
    return splits


def splits_of(chosen: str, available: Collection[str], target: str) -> list[Split]:
    """Return the splits of one of `SETTINGS` for a target dataset (see `settings`), or splits of a file."""
    if chosen in SETTINGS:
        return settings(chosen, by_dataset(available), target)
    return read_splits(Path(chosen), available)


def _entries(source: Path) -> list[dict[str, list[str]]]:
    try:
        content = read_json(source) if source.suffix == ".json" else read_yaml(source)
    except InputError as error:
        hint = error.hint_text or f"a file of splits, or one of {', '.join(SETTINGS)}"
        raise InputError(error.text, hint, subject=error.subject) from error
    if isinstance(content, dict):  # Mr. HiSum has one split
        content = [content]
    if not isinstance(content, list) or not content:
        raise InputError("is not a list of splits", subject=source)
    for number, entry in enumerate(content, start=1):
        for key in ("train_keys", "test_keys"):
            names = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise InputError(f"split {number}: {key} must be a list of names", subject=source)
    return content


def _name(key: str, source: Path, datasets: Sequence[str]) -> str:
    """Return the name of the video for a key of a split file."""
    folder, _, video = key.rpartition("/")
    if folder:
        return f"{dataset_name(Path(folder))}/{video}"
    fitting = datasets if len(datasets) == 1 else [name for name in datasets if source.name.startswith(name)]
    if len(fitting) != 1:
        raise InputError(
            f"does not say which of {', '.join(datasets)} its {safe_name(video)} is in",
            hint=(
                "give one dataset by ",
                Mention("data"),
                f", or name the file after it: {datasets[0]}_splits.json",
            ),
            subject=source,
        )
    return f"{fitting[0]}/{video}"


def k_fold(names: Collection[str], folds: int = 5, seed: int = 0, *, name: str = "fold") -> list[Split]:
    """Return `name-1`, `name-2`, ...: each video is tested once, whatever order the names come in.

    Raises UsageError: there are fewer than 2 folds, or more than videos.
    """
    if not 2 <= folds <= len(names):
        raise UsageError(
            f"{len(names)} videos cannot be split into {folds} folds",
            hint=fill(
                "give more videos by {}, or a file of splits by {}", Mention("data"), Mention("splits")
            ),
        )
    order = sorted(names)
    random.Random(seed).shuffle(order)
    tests = [tuple(order[number::folds]) for number in range(folds)]
    return [
        Split(f"{name}-{number}", tuple(video for video in order if video not in test), test)
        for number, test in enumerate(tests, start=1)
    ]


def settings(
    setting: str, names_by_dataset: Mapping[str, Collection[str]], target: str, seed: int = 0
) -> list[Split]:
    """Return the splits of one setting of the field, for a target dataset; names are from `by_dataset`.

    `canonical`: folds of the target; `augmented`: all other datasets added to training; `transfer`: train on
    all others, test on the target. Raises UsageError: no other dataset.
    """
    others = tuple(name for dataset, names in names_by_dataset.items() if dataset != target for name in names)
    if setting != "canonical" and not others:
        raise UsageError(
            f"the setting {setting} trains on other datasets than {target}",
            hint=("add their files by ", Mention("data")),
        )
    if setting == "transfer":
        return [Split("transfer", others, tuple(names_by_dataset[target]))]
    splits = k_fold(names_by_dataset[target], seed=seed, name=setting)
    added = others if setting == "augmented" else ()
    return [replace(split, train=split.train + added) for split in splits]


def with_validation(split: Split, fraction: float = 0.2, seed: int = 0) -> Split:
    """Return the split with a fraction of its training videos set aside for validation; see `hold_out`."""
    chosen = hold_out(split.train, fraction, seed)
    train = tuple(video for video in split.train if video not in chosen)
    held_out = tuple(video for video in split.train if video in chosen)
    return replace(split, train=train, validation=split.validation + held_out)


def hold_out(names: Collection[str], fraction: float, seed: int) -> list[str]:
    """Return a fraction of the names, at least one, chosen at random. Raises UsageError: fewer than two."""
    if len(names) < 2:
        fault = "one video cannot be split into training and validation"
        raise UsageError(fault, hint=Mention("validation", 0))
    number = min(max(1, round(fraction * len(names))), len(names) - 1)
    return random.Random(seed).sample(sorted(names), number)


def by_dataset(names: Iterable[str]) -> dict[str, list[str]]:
    """Return names of videos grouped by the dataset that they are of."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_dataset_of(name), []).append(name)
    return groups


def _dataset_of(name: str) -> str:
    return name.partition("/")[0]
