"""The files of commands that find moments: JSON, a plot, and an MP4 of each moment."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from vidsum.commands.outputs import claim, destinations
from vidsum.commands.records import is_taken_up, require_made_from, unfinished
from vidsum.errors import UsageError
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.types import Grounding, Highlights, Moment, Progress

CELLS = ("rank", "start", "end", "seconds", "score")
"""What `cells` gives, as heads of a table."""


class MomentsCommand(TyperCommand):
    """`--clips` may stand alone, and means the folder of the JSON then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a lone `--clips` its value."""
        following = [*args, ""][1:]
        said = [
            "--clips=" if word == "--clips" and (after[:1] in ("", "-") or _is_file(after)) else word
            for word, after in zip(args, following, strict=True)
        ]
        return super().parse_args(ctx, said)


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # too long for a name
        return False


@dataclass(frozen=True)
class MomentFiles:
    """Where the moments of one video go; None for what is not asked for."""

    json: Path
    plot: Path | None
    clips: Path | None
    """The folder of the MP4 files."""
    stem: str
    """What the names of the MP4 files begin with."""

    @property
    def all(self) -> list[Path]:
        """Those with a name that does not depend on what is found."""
        return [path for path in (self.json, self.plot) if path]

    def names(self, clips: Sequence[Path]) -> dict[str, Any]:
        """All of them, with the MP4 files of the moments, as data."""
        named: dict[str, Any] = {"json": str(self.json)}
        if self.plot:
            named["plot"] = str(self.plot)
        if self.clips:
            named["clips"] = [str(path) for path in clips]
        return {"outputs": named}

    def told(self, clips: Sequence[Path]) -> str:
        """The same for people."""
        names = ", ".join(str(path) for path in self.all)
        if not clips:
            return names
        return f"{names} and {len(clips)} clip{'s' if len(clips) > 1 else ''} in {self.clips}"


def moment_files(
    sources: Sequence[str],
    output: str | None,
    folder: Path | None,
    plot: bool,
    clips: str | None,
    what: str = "moments",
) -> dict[str, MomentFiles]:
    """Where the moments of each video go, or `what` else they are called.

    Raises:
        UsageError: the JSON goes to stdout, and there would be other files; or see `destinations`.
    """
    if output == "-" and (plot or clips is not None):
        raise UsageError("-o - writes the JSON alone", hint="-o FILE.json, with --plot or --clips")
    targets = {}
    for source, json in destinations(sources, output, folder, f"_{what}.json", (".json",)).items():
        stem = json.stem.removesuffix(f"_{what}")
        targets[source] = MomentFiles(
            json=json,
            plot=json.with_name(f"{stem}_{what}.png") if plot else None,
            clips=None if clips is None else Path(clips) if clips else json.parent,
            stem=stem,
        )
    return targets


def claim_files(targets: Mapping[str, MomentFiles], output: str | None) -> None:
    """Make sure, before any work, that the files of each video are its own and can be written.

    Raises:
        UsageError, OutputError: see `vidsum.commands.outputs.claim`.
        UsageError: a video lies where clips go, and has the name of one; or two videos have the same clips.
    """
    claim([(source, files.all) for source, files in targets.items()], output)
    owners: dict[tuple[str, str], str] = {}
    for source, files in targets.items():
        if files.clips is None:
            continue
        if (owner := owners.setdefault((os.path.realpath(files.clips), files.stem), source)) != source:
            raise UsageError(
                f"{owner} and {source} would have the same clips in {files.clips}",
                hint="-o '{parent}_{stem}_moments.json', or --clips alone",
            )
    for source in targets:
        folder, name = os.path.split(os.path.realpath(source))
        named = re.fullmatch(r"(.*)_(?:\d+|highlight)_\d+\.mp4", name)
        if named and (folder, named[1]) in owners:
            raise UsageError(f"{source}: has the name of a clip to be written", hint="--clips FOLDER")


def write_files(
    found: "Grounding | Highlights",
    document: dict[str, Any],
    files: MomentFiles,
    clips: Sequence[Path],
    overwrite: bool,
    progress: "Progress | None",
) -> tuple[str, ...]:
    """Write all files and return warnings, those of what was found among them.

    Args:
        found: what the files tell.
        document: the same as the JSON has it.
        files: where they go.
        clips: the MP4 files that there will be.
        overwrite: replace MP4 files whatever they are.
        progress: called while it runs.

    Raises:
        OutputError: an MP4 file is there and is another, or a file cannot be written.
    """
    from vidsum.documents import write_document
    from vidsum.pipelines import export

    messages = list(found.warnings)
    if not overwrite and not is_taken_up(files.json, found.provenance):
        require_made_from(clips, found.provenance)
    with unfinished([*files.all, *clips], files.json, found.provenance):
        if files.clips:
            messages += export.write_clips(found, files.clips, files.stem, progress=progress)
        if files.plot:
            messages += export.write_plot(found, files.plot)
        write_document(document, files.json)  # the last: it tells that the others are there
    return tuple(dict.fromkeys(messages))  # who reads and who writes may tell of the same


def cells(rank: int, moment: "Moment") -> tuple[str, ...]:
    """A moment as a row for people to read."""
    times = format_time(moment.start_s), format_time(moment.end_s)
    return str(rank), *times, f"{moment.end_s - moment.start_s:.2f}", f"{moment.score:.3f}"
