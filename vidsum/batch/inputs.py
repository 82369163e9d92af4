"""The inputs of a batch: named inputs, inputs of lists, and the videos of folders."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vidsum.batch.settings import CommonOptions
from vidsum.errors import UsageError, VidsumError, show_warning
from vidsum.io.text import STDIN
from vidsum.io.urls import Url
from vidsum.outputs.artifacts import Artifacts


@dataclass(frozen=True)
class BatchInput:
    """One input of a batch, with the files that are made of it."""

    path: str  # of a video, or a name of any kind
    number: int = 0  # position in the batch, from 0
    url: Url | None = None  # the address that the input is a copy of
    folder: str = ""  # where its outputs go in `--output-dir`
    artifacts: Artifacts | None = None
    """Its outputs, if the command writes any; their names may depend on the other inputs."""
    exports: tuple[str, ...] = ()  # kinds of files that are made from the result
    fault: VidsumError | None = None  # why none of the files can be made
    is_joint: bool = False  # whether it stands for several inputs, of which one result is made

    @property
    def name(self) -> str:
        """The name of the input in messages."""
        return self.url or self.path


def plain_inputs(names: Sequence[str]) -> list[BatchInput]:
    """Return inputs that are no videos."""
    return [BatchInput(name, number) for number, name in enumerate(names)]


def read_inputs(
    paths: Sequence[str], common: CommonOptions, *, photographs: bool = False
) -> list[BatchInput]:
    """Return the named inputs, then the inputs of `--from-file`, with folders replaced by their videos, and
    `photographs`.

    URLs are replaced by the paths of their copies in the cache, which the batch downloads. A warning names
    the folders below which there are more, where `--recursive` is missing.

    Raises:
        UsageError: there is none, or one is stdin.
        InputError: the list cannot be read.
    """
    no_input = UsageError("no input given", hint="a video or a folder")
    if STDIN in paths:
        hint = "save it to a file; /dev/stdin works if stdin is redirected from a file"
        raise UsageError("video on stdin is not supported", hint=hint)
    if not paths and not common.from_file:
        raise no_input
    from vidsum.outputs.names import folders_below  # these load NumPy and PyAV
    from vidsum.pipelines.sources import copy_of, expand, is_folder, is_media, read_list
    from vidsum.video.probe import is_video

    listed = read_list(common.from_file) if common.from_file else []
    if not paths and not listed:
        raise no_input
    urls = dict(map(copy_of, (*paths, *listed)))
    inputs = expand(urls, recursive=common.recursive, takes=is_media if photographs else is_video)
    if not (common.recursive or common.quiet or common.json):
        with_files = {*filter(is_folder, urls)} - {*inputs}  # opening a folder without files names its fault
        _warn_of_subfolders(sorted(with_files), photographs=photographs)
    files = {path: urls.get(path) for path in inputs if not is_folder(path)}
    folders = folders_below(files, filter(is_folder, urls)) if common.output_dir else {}
    return [
        BatchInput(path, number, urls.get(path), folders.get(path, "")) for number, path in enumerate(inputs)
    ]


def _warn_of_subfolders(folders: Iterable[str], *, photographs: bool) -> None:
    """Warn of the folders below which there are more videos, or `photographs`."""
    from vidsum.pipelines.sources import count_subfolders
    from vidsum.results.result import count_text

    for folder in folders:
        if count := count_subfolders(folder, photographs=photographs):
            fault = f"{folder}: {count_text(count, 'subfolder')} left out; --recursive includes subfolders"
            show_warning(fault)


def opened_here(item: BatchInput) -> list[str]:
    """Return the absolute paths of an input and of its outputs; links are not followed."""
    files = item.artifacts.files.values() if item.artifacts else ()
    return [os.path.abspath(path) for path in (item.path, *files)]  # noqa: PTH100
