"""The tasks of a batch: inputs with the files that are made of them, and the work that is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vidsum.errors import VidsumError
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.io.urls import Url

R = TypeVar("R")
Progress = Callable[[str, float, float], None]  # that of `vidsum.types`, which loads NumPy


@dataclass(frozen=True)
class Files:
    """The files of one result."""

    named: Mapping[str, Path]
    """By kind, the one that records what they were made from first, if none is called `json`."""
    nested: bool = True  # whether they stand under `outputs` in the JSON result
    absent: tuple[str, ...] = ()  # kinds that are null in the JSON result where they were not asked for
    clip_folder: Path | None = None  # folder of an MP4 for each moment, if these are asked for
    clip_stem: str = ""  # prefix of the names of these MP4 files
    clip_settings: Clips = field(default_factory=Clips)  # how they differ from their moments
    derived: Mapping[str, Path] = field(default_factory=dict)  # exports, made from the record, by kind
    fault: VidsumError | None = None  # why none of them can be made

    @property
    def record(self) -> Path:
        """The file that tells what all were made from."""
        return self.named.get("json") or next(iter(self.named.values()))

    @property
    def all(self) -> list[Path]:
        """The files whose names do not depend on the result."""
        return list(self.named.values())

    @property
    def has_json(self) -> bool:
        """Whether the record is a JSON document, which lists the other files."""
        return self.record.suffix == ".json"

    @property
    def unlisted(self) -> list[Path]:
        """The files other than a JSON record."""
        return [path for path in self.all if not (self.has_json and path == self.record)]

    def clips(self, document: Mapping[str, Any]) -> list[Path]:
        """Return the MP4 files of the moments in a document."""
        if self.clip_folder is None:
            return []
        from vidsum.pipelines.clips import clip_paths
        from vidsum.results.load import result_of

        result: Any = result_of(document)
        return [path for path, _ in clip_paths(result, self.clip_folder, self.clip_stem)]

    def facts(self, clips: Sequence[Path] = ()) -> dict[str, Any]:
        """Return all of them, as data."""
        names: dict[str, Any] = dict.fromkeys(self.absent)
        names |= {kind: str(path) for kind, path in self.named.items()}
        if self.clip_folder:
            names["clips"] = [str(path) for path in clips]
        return {"outputs": names} if self.nested else names


@dataclass(frozen=True)
class Task:
    """One input of a batch."""

    number: int  # position in the batch, from 0
    path: str
    files: Files = field(default_factory=lambda: Files({}))
    """Its outputs, if the command writes any; their names may depend on the other inputs."""
    url: Url | None = None  # the address that the input is a copy of

    @property
    def name(self) -> str:
        """The name of the input in messages."""
        return self.url or self.path


Work = Callable[[Task, Progress | None], R]  # the work on one input, which worker processes unpickle


@dataclass(frozen=True)
class Queue(Generic[R]):
    """The tasks of a batch."""

    work: Work[R]  # never raises an Exception
    tasks: Sequence[Task]
    progress_of: Callable[[Task], Progress | None]  # returns the function that reports the progress of a task
    finish: Callable[[Task, R], None]  # called when a task is done, which may be before its turn
    fail: Callable[[Task, VidsumError], R]  # returns the result of a task whose process or machine was lost
