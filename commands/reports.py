"""Reports of `vidsum evaluate`: shown, and written to files unless those are up to date."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.commands.outputs import claim, require_suffix
from vidsum.commands.records import recorded, unfinished, up_to_date
from vidsum.commands.result import Result, Table
from vidsum.errors import UsageError


@dataclass(frozen=True)
class Shown:
    """A report, as JSON and for people."""

    document: Mapping[str, Any]
    """With `warnings`."""
    table: Table
    about: str
    """A line below the table."""


@dataclass(frozen=True)
class Files:
    """Where a report goes."""

    output: str | None
    """A JSON file, `-` for stdout, or none."""
    plot: Path | None
    overwrite: bool
    predictions: Path | None = None
    """A submission of what a model found."""

    @property
    def all(self) -> dict[str, Path]:
        """Those there are, the JSON first, by the options that they come from."""
        named = {"output": self.json, "plot": self.plot, "predictions": self.predictions}
        return {name: path for name, path in named.items() if path}

    @property
    def json(self) -> Path | None:
        """The JSON file, if there is one."""
        return None if self.output in (None, "-") else Path(str(self.output))

    def check(self, inputs: Sequence[str], read: Sequence[str] = ()) -> None:
        """Make sure, before any work, that they can be written.

        Args:
            inputs: what a report each is made of.
            read: other files that must not be written over.

        Raises:
            UsageError: a wrong suffix, several inputs for one file, or a file that is read.
            OutputError: the folder is not there.
        """
        suffixes = {"output": (".json",), "plot": (".png", ".svg"), "predictions": (".jsonl",)}
        for name, file in self.all.items():
            require_suffix(file, suffixes[name])
            if len(inputs) > 1:
                raise UsageError(f"{file}: is one file, but there are several inputs")
            claim([*((source, [file]) for source in inputs), *((source, []) for source in read)])


def report_result(
    command: str, source: str, made_from: Mapping[str, Any], make: Callable[[], Shown], files: Files
) -> Result:
    """Make a report, unless the outputs are up to date, and write or show it."""
    from vidsum.documents import sealed, to_text, write_document

    outputs = list(files.all.values())
    facts = {"output": None, "plot": None, **{name: str(path) for name, path in files.all.items()}}
    # without a report, nothing tells what predictions that are there were made from
    if record := files.json or files.predictions:
        before = recorded(outputs, record, made_from, files.overwrite)
        if before is not None:
            return up_to_date(command, source, before, outputs, facts)
    with unfinished(outputs, record, made_from) if record else nullcontext():
        shown = make()
        document, messages = sealed(shown.document), tuple(shown.document["warnings"])
        if files.output == "-":
            return Result(command, source, document, document=to_text(document), messages=messages)
        if files.json:
            write_document(document, files.json)
    lines = (shown.about, *map(str, outputs))
    return Result(command, source, {**facts, **document}, lines, shown.table, messages=messages)
