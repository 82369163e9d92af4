"""Annotated videos of several files: h5 files of the field, features of our own with files of annotations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from vidsum.datasets.labels import Labels
from vidsum.datasets.summaries import AnnotatedVideo, dataset_name, lacks_importance, read_annotated
from vidsum.datasets.summe import read_summe_protocol
from vidsum.datasets.tvsum import read_tvsum_mat
from vidsum.errors import UsageError

DATASETS: Final = {".mat": "tvsum", ".npz": "summe"}
"""The data set of a file of annotations, by its suffix."""


def read_labels(path: Path) -> dict[str, Labels]:
    """What people think of the videos of TVSum (`ydata-tvsum50.mat`) or SumMe (protocol, `.npz`), by name.

    Raises:
        InputError: see `read_tvsum_mat` and `read_summe_protocol`.
        UsageError: the suffix is that of neither.
    """
    if path.suffix == ".mat":
        return {name: video.labels for name, video in read_tvsum_mat(path).items()}
    if path.suffix == ".npz":
        return {name: video.labels for name, video in read_summe_protocol(path).items()}
    raise UsageError(
        f"{path}: annotations are TVSum's .mat file or SumMe's protocol (.npz)",
        hint="--annotations ydata-tvsum50.mat",
    )


def paired(paths: Sequence[Path], annotations: Sequence[Path]) -> dict[Path, Path | None]:
    """The annotations of each h5 file or folder: in their order, for those whose videos lack a gtscore.

    Raises:
        UsageError: two go by one name of a dataset, or there are more or fewer annotations than needed.
        InputError: see `read_annotated`.
    """
    sources: dict[str, Path] = {}
    for path in paths:
        other = sources.setdefault(dataset_name(path), path)
        if other is not path:
            raise UsageError(f"{other} and {path} both go by the name {dataset_name(path)}")
    bare = [path for path in paths if lacks_importance(path)] if annotations else []
    if len(bare) != len(annotations):
        counts = f"{len(bare)} of {len(paths)} --data lack gtscore, but --annotations are {len(annotations)}"
        raise UsageError(counts, hint="one --annotations for each of these, in the same order")
    return {**dict.fromkeys(paths), **dict(zip(bare, annotations, strict=True))}


def read_all(pairs: Mapping[Path, Path | None]) -> dict[str, AnnotatedVideo]:
    """The videos of several files or folders, by name; `pairs` is from `paired`.

    Raises:
        InputError, UsageError: see `read_annotated` and `read_labels`.
    """
    videos: dict[str, AnnotatedVideo] = {}
    for path, annotations in pairs.items():
        videos |= read_annotated(path, read_labels(annotations) if annotations else None)
    return videos
