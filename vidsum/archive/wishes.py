"""What can be chosen about an archive and a search; the fields are the options of the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

from vidsum.errors import UsageError
from vidsum.options import Option, check
from vidsum.settings import Evidence
from vidsum.times import parse_time


@dataclass(frozen=True)
class ArchiveFile:
    """Which archive."""

    PANEL = "Search"

    archive: Annotated[
        Path | None, Option("Archive file.", metavar="FILE", shown="archive.vidsum in your data folder")
    ] = None


@dataclass(frozen=True)
class Wishes:
    """Which moments of an archive are looked for."""

    PANEL = "Search"

    top_k: Annotated[int, Option("Maximum number of moments.", flags=("--top-k", "-k"), min=1)] = 20
    evidence: Annotated[
        Evidence,
        Option(
            "Search the picture, the speech, or both. auto: both if the archive has transcripts.",
            flags=("--in",),
            shared=False,
        ),
    ] = "auto"
    like: Annotated[
        tuple[str, ...],
        Option(
            "Also like this picture, or this part of a video. Can be repeated.",
            metavar="PICTURE|VIDEO@START-END",
        ),
    ] = ()
    also: Annotated[
        tuple[str, ...],
        Option("Also seen in the same moment. Can be repeated.", flags=("--and",), metavar="TEXT"),
    ] = ()
    without: Annotated[
        tuple[str, ...], Option("Not seen in the moment. Can be repeated.", flags=("--not",), metavar="TEXT")
    ] = ()
    then: Annotated[
        tuple[str, ...], Option("Seen later in the same video. Can be repeated.", metavar="TEXT")
    ] = ()
    path: Annotated[
        tuple[str, ...],
        Option(
            "Only videos whose path matches, such as '*/2024/*'. Can be repeated.",
            metavar="GLOB",
            shared=False,
        ),
    ] = ()
    after: Annotated[
        str | None, Option("Only files changed on this date or later, such as 2024-05-31.", metavar="DATE")
    ] = None
    min_length_s: Annotated[
        float,
        Option(
            "Leave out shorter moments.", min=0, flags=("--min-length",), metavar="TIME", parse=parse_time
        ),
    ] = 0.0
    min_present: Annotated[
        float, Option("Leave out moments that are less probable than this.", min=0, max=1, shared=False)
    ] = 0.0
    per_video: Annotated[int, Option("Maximum number of moments per video.", min=1)] = 3
    duplicates: Annotated[bool, Option("List moments that look the same in several videos each.")] = False

    def __post_init__(self) -> None:
        check(self)
        if self.after is not None:
            self.after_s  # noqa: B018  # refuses what is no date
        if self.evidence in ("said", "both") and self.is_of_pictures:
            fault = "--like, --and, --not and --then look at the pictures alone"
            raise UsageError(fault, hint="--in seen")
        if self.like and self.min_present:
            raise UsageError("how likely a picture is present is not known", hint="leave out --min-present")
        if self.evidence == "said" and self.min_present:
            raise UsageError("how likely a text is present is known of pictures alone", hint="--in both")

    @property
    def is_of_pictures(self) -> bool:
        """Whether more is asked for than one text, which only pictures can show."""
        return bool(self.like or self.also or self.without or self.then)

    @property
    def after_s(self) -> float:
        """Seconds since 1970 at the start of `after`, in local time; 0 where there is none."""
        if self.after is None:
            return 0.0
        try:
            return datetime.fromisoformat(self.after).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise UsageError(f"not a date: {self.after!r}", hint="write 2024-05-31") from error


class WishOptions(TypedDict, total=False):
    """The fields of `Wishes` but `top_k`, as keyword arguments."""

    evidence: Evidence
    like: Sequence[str]
    also: Sequence[str]
    without: Sequence[str]
    then: Sequence[str]
    path: Sequence[str]
    after: str | None
    min_length_s: float
    min_present: float
    per_video: int
    duplicates: bool
