"""Options of `vidsum ground` that no other command has, and the files that it writes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from typer.core import TyperCommand

from vidsum.commands import options
from vidsum.commands.outputs import named_after
from vidsum.errors import UsageError

_WHAT = "Queries and moments"


class SpaceName(str, Enum):
    """Where text and video are compared."""

    auto = "auto"
    clip = "clip"
    conse = "conse"


class SnapName(str, Enum):
    """Whose shot edges the edges of moments move to."""

    none = "none"
    kts = "kts"
    transnetv2 = "transnetv2"


Query = Annotated[
    list[str] | None,
    options.option(
        "--query",
        help="What to look for, in English; repeatable.",
        metavar="TEXT",
        rich_help_panel=_WHAT,
    ),
]
QueryFile = Annotated[
    str | None,
    options.option(
        "--queries",
        help="File of queries, one a line (UTF-8); - for stdin.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=_WHAT,
    ),
]
TopK = Annotated[
    int, options.option("--top-k", "-k", help="Most moments of a query.", min=1, rich_help_panel=_WHAT)
]
Model = Annotated[
    str,
    options.option(
        "--model",
        "-m",
        help="What gives the moments: similarity, mrnet, or a checkpoint of `vidsum train mrnet` "
        "(.safetensors). auto: mrnet in the space conse, else similarity.",
        metavar="NAME|FILE",
        rich_help_panel=_WHAT,
    ),
]
Space = Annotated[
    SpaceName,
    options.option(
        "--space",
        help="Where text and video are compared. auto: that of a trained model, else clip where its weights "
        "are here, else conse.",
        rich_help_panel=_WHAT,
    ),
]
Snap = Annotated[
    SnapName,
    options.option(
        "--snap", help="Move edges of moments to edges of shots within a second.", rich_help_panel=_WHAT
    ),
]
Clips = Annotated[
    str | None,
    options.option(
        "--clips",
        help="Also an MP4 of each moment, {video}_{query number}_{rank}.mp4, in this folder or beside the "
        "JSON.",
        show_default=False,
        metavar="[FOLDER]",
        rich_help_panel=options.OUT,
    ),
]
Plot = Annotated[
    bool,
    options.option(
        "--plot",
        help="Also {video}_moments.png: the saliency curve and the moments of each query.",
        rich_help_panel=options.OUT,
    ),
]
Saliency = Annotated[
    bool,
    options.option("--saliency", help="The saliency curves in the JSON too.", rich_help_panel=options.OUT),
]


class GroundCommand(TyperCommand):
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


def moment_files(source: str, output: str | None, folder: Path, plot: bool, clips: str | None) -> MomentFiles:
    """Where the moments of a video go.

    Raises:
        UsageError: the JSON goes to stdout, and there would be other files.
    """
    if output == "-" and (plot or clips is not None):
        raise UsageError("-o - writes the JSON alone", hint="-o FILE.json, with --plot or --clips")
    json = named_after(source, folder, "_moments.json") if output in (None, "-") else Path(str(output))
    stem = json.stem.removesuffix("_moments")
    return MomentFiles(
        json=json,
        plot=json.with_name(f"{stem}_moments.png") if plot else None,
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
        named = re.fullmatch(r"(.*)_\d+_\d+\.mp4", path.name)
        if named and (path.parent, named[1]) in stems:
            raise UsageError(f"{source}: has the name of a clip to be written", hint="--clips FOLDER")
