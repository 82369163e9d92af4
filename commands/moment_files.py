"""The files of commands that find moments: JSON, a plot, and an MP4 of each moment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from vidsum.commands.outputs import named_after
from vidsum.errors import OutputError, UsageError


class MomentsCommand(TyperCommand):
    """`--clips` may stand alone, and means the folder of the JSON then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a lone `--clips` its value."""
        following = [*args, ""][1:]
        said = [
            "--clips=" if word == "--clips" and (after[:1] in ("", "-") or Path(after).is_file()) else word
            for word, after in zip(args, following, strict=True)
        ]
        return super().parse_args(ctx, said)


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
        return (
            f"{names} and {len(clips)} clip{'s' if len(clips) > 1 else ''} in {self.clips}"
            if clips
            else names
        )


def moment_files(
    source: str, output: str | None, folder: Path, plot: bool, clips: str | None, what: str = "moments"
) -> MomentFiles:
    """Where the moments of a video go, or `what` else they are called.

    Raises:
        UsageError: the JSON goes to stdout, and there would be other files.
    """
    if output == "-" and (plot or clips is not None):
        raise UsageError("-o - writes the JSON alone", hint="-o FILE.json, with --plot or --clips")
    json = named_after(source, folder, f"_{what}.json") if output in (None, "-") else Path(str(output))
    stem = json.stem.removesuffix(f"_{what}")
    return MomentFiles(
        json=json,
        plot=json.with_name(f"{stem}_{what}.png") if plot else None,
        clips=None if clips is None else Path(clips) if clips else json.parent,
        stem=stem,
    )


def spare_inputs(sources: Iterable[str], targets: Iterable[MomentFiles]) -> None:
    """Make sure, before any work, that no clip will be written over a video that is read.

    Raises:
        UsageError: a video lies where clips go, and has the name of one.
    """
    stems = {(files.clips.resolve(), files.stem) for files in targets if files.clips}
    for source in sources:
        path = Path(source).resolve()
        named = re.fullmatch(r"(.*)_(?:\d+|highlight)_\d+\.mp4", path.name)
        if named and (path.parent, named[1]) in stems:
            raise UsageError(f"{source}: has the name of a clip to be written", hint="--clips FOLDER")


def check_clips(clips: Iterable[Path], provenance: Mapping[str, Any]) -> None:
    """What a clip is called does not tell what it was made from; the clip itself does.

    Raises:
        OutputError: a file of that name is there, and is another clip or something else.
    """
    from vidsum.export import is_made_from

    for path in clips:
        if path.exists() and not is_made_from(path, provenance, copy=False):
            raise OutputError(f"{path}: exists already and is not what would be written", hint="--overwrite")
