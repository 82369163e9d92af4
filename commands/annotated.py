"""The annotated videos of `vidsum train fulltransnet` and `ridge`, and what is said at the end of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from vidsum.commands.result import Result
from vidsum.errors import UsageError
from vidsum.options import option
from vidsum.settings import CaptionSpace

if TYPE_CHECKING:
    from vidsum.lab.datasets.captioned import Simulation
    from vidsum.lab.datasets.splits import Split
    from vidsum.lab.datasets.summaries import AnnotatedVideo


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """The annotated videos of a summarizer, and how they are split.

    Raises:
        UsageError: there are neither videos with features nor captions, or both.
    """

    PANEL = "Data and output"

    data: tuple[Path, ...] = option(
        "h5 file of annotated videos, or a folder of them. Can be repeated; the first is the test set.",
        (),
        metavar="PATH",
    )
    captions: tuple[Path, ...] = option(
        "In place of --data: captions of the videos' frames. Can be repeated.", (), metavar="FILE.json"
    )
    annotations: tuple[Path, ...] = option(
        "ydata-tvsum50.mat or SumMe's protocol (.npz): one for each --captions, or for each --data that "
        "has no gtscore, such as files of `vidsum extract`.",
        (),
        metavar="FILE",
    )
    space: CaptionSpace = option(
        "With --captions: train on their embeddings (text), or on what the map to sentences might show "
        "of such frames, with its noise (vse). Either model reads real video by that map.",
        "text",
    )
    splits: str = option(
        "canonical, augmented or transfer, or a file of published splits (.json, .yml).",
        "canonical",
        metavar="SETTING|FILE",
    )
    split: tuple[int, ...] = option(
        "Train this split only, counted from 0. Can be repeated.", (), min=0, shown="all"
    )

    def __post_init__(self) -> None:
        if bool(self.data) == bool(self.captions):
            fault = "give videos with features, or captions of their frames"
            raise UsageError(fault, hint="--data FILE.h5, or --captions FILE.json --annotations FILE.mat")
        if self.space != "text" and not self.captions:
            raise UsageError("--space has no effect on --data", hint="leave it out")

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that the videos come from."""
        from vidsum.lab.datasets.summaries import annotated_files

        data = [file for path in self.data for file in annotated_files(path)]
        return (*data, *self.captions, *self.annotations)


@dataclass(frozen=True)
class AnnotatedVideos:
    """Annotated videos with their splits."""

    videos: "Mapping[str, AnnotatedVideo]"
    splits: "Sequence[Split]"
    annotations: "Mapping[Path, Path | None]"
    """Of each `--data`, where it needs some."""
    draw: "Simulation | None"
    """How the features of captions are simulated."""
    numbers: tuple[int, ...]
    """Of the splits to train."""


def read_annotated(data: SplitOptions, device: str) -> AnnotatedVideos:
    """Read them. Errors are those of the readers; UsageError for a split that does not exist."""
    from vidsum.lab.datasets.captioned import draw_of, read_captioned
    from vidsum.lab.datasets.splits import by_dataset, splits_of
    from vidsum.lab.datasets.summaries import paired, read_all

    pairs = paired(data.data, data.annotations) if data.data else {}
    videos = read_all(pairs) if pairs else read_captioned(data.captions, data.annotations, device)
    splits = splits_of(data.splits, videos, next(iter(by_dataset(videos))))
    if wrong := [number for number in data.split if number >= len(splits)]:
        raise UsageError(f"unknown split {wrong[0]}", hint=f"--split 0 ... {len(splits) - 1}")
    numbers = tuple(sorted(set(data.split))) or tuple(range(len(splits)))
    return AnnotatedVideos(videos, splits, pairs, draw_of(data.space), numbers)


def next_result(command: str, data: SplitOptions, read: AnnotatedVideos, out: Path) -> Result:
    """How the run is evaluated, or which splits it still lacks."""
    from vidsum.lab.datasets.labels import DATASETS
    from vidsum.lab.datasets.splits import by_dataset, odd_coverage, tested_files
    from vidsum.lab.training.run import unfinished_splits

    files = []
    for path in tested_files(read.splits, data.data):
        annotations = read.annotations[path]
        files += [("--data", path), *([("--annotations", annotations)] if annotations else [])]
    tested = by_dataset(name for split in read.splits for name in split.test)
    for captions, of_people in zip(data.captions, data.annotations, strict=False):
        if DATASETS[of_people.suffix] in tested:
            files += [("--captions", captions), ("--annotations", of_people)]
    space = f" --space {data.space}" if data.captions else ""
    given = " ".join(f"{flag} {quote(str(path))}" for flag, path in files)
    evaluate = f"vidsum evaluate summary {given}{space} --run {quote(str(out))}"
    left = unfinished_splits(out)
    line = f"still to train: {' '.join(f'--split {number}' for number in left)}"
    odd = odd_coverage(read.splits, read.videos)  # published splits test some videos never, others twice
    return Result(
        command,
        str(out),
        {"unfinished_splits": left, "evaluate": None if left else evaluate},
        lines=(line if left else f"evaluate it with: {evaluate}",),
        messages=(odd,) if odd else (),
    )
