"""Settings of archives and searches; the fields are the options of the command line."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from vidsum.errors import Mention, UsageError, fill
from vidsum.grounding.settings import (
    ACTIONS_HELP,
    LANGUAGE_CHOICE,
    LANGUAGE_HELP,
    EmbeddingSpace,
    require_language,
)
from vidsum.options import check, option
from vidsum.results.settings import Evidence


@dataclass(frozen=True)
class ArchiveFile:
    """The choice of an archive."""

    PANEL = "Search"

    archive: str | None = option(
        "Archive file.",
        None,
        metavar="FILE|postgresql://...",
        default_text="archive.vidsum in your data folder",
        more="Or a database on a server (requires vidsum[postgres]).",
    )


@dataclass(frozen=True)
class SearchedArchives:
    """The archives of a search."""

    PANEL = "Search"

    archive: tuple[str, ...] = option(
        "Archive file.",
        (),
        metavar="FILE|postgresql://...",
        default_text="archive.vidsum in your data folder",
        more="Or a database on a server (requires vidsum[postgres]).",
    )


def is_server(archive: object) -> bool:
    """Return whether an archive is named by the address of a server."""
    return isinstance(archive, str) and archive.startswith(("postgresql://", "postgres://"))


ArchiveEvidence = Literal[Evidence, "described"]
"""Where a moment of an archive was found; `described`: in a description of `vidsum describe`."""


EVIDENCE: Final[tuple[ArchiveEvidence, ...]] = (*get_args(Evidence), "described")
_MADE_BY: Final = {"speech": "transcribe", "text": "on_screen_text", "sound": "sounds"}
"""The fields of `Indexing` that make a kind of evidence."""
_UNKNOWN: Final = {"speech": "sound, but no transcript", "text": "not read", "sound": "not recognised"}
"""State of the videos of which a kind of evidence was not made; silent videos need no speech."""


def flag_of(kind: str) -> str:
    """Return the flag of `index` that makes a kind of evidence; empty where none does."""
    return f"--{_MADE_BY[kind].replace('_', '-')}" if kind in _MADE_BY else ""


@dataclass(frozen=True, kw_only=True)
class Indexing:
    """Evidence to make of a video, in addition to that in the cache."""

    PANEL = "Archive"

    transcribe: bool = option("Transcribe videos without a transcript.", False)
    on_screen_text: bool = option("Read the text on the screen of videos.", False)
    sounds: bool = option("Recognise the sounds of videos.", False)
    actions: bool = option(ACTIONS_HELP, True, flag_on=())
    space: EmbeddingSpace = option(
        "Image-text space of a new archive.",
        "auto",
        flag_on=(),
        more="auto: the best one of the CLIP family that is installed, else vse.",
    )

    def makes(self, kind: ArchiveEvidence) -> bool:
        """Return whether a kind of evidence is made where it is not in the cache."""
        return kind in _MADE_BY and bool(getattr(self, _MADE_BY[kind]))


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search."""

    PANEL = "Search"

    top_k: int = option("Maximum number of moments.", 20, flags=("--top-k", "-k"), min=1)
    evidence: Literal["auto", ArchiveEvidence] = option(
        "Search pictures, speech, text on the screen, sounds or descriptions.",
        "auto",
        flags=("--in",),
        more="auto: all that there is.",
    )
    like: tuple[str, ...] = option(
        "Find what looks like this picture, or part of a video.",
        (),
        metavar="PICTURE|VIDEO@START-END",
    )
    also: tuple[str, ...] = option("Require this in the same moment.", (), flags=("--and",), metavar="TEXT")
    without: tuple[str, ...] = option(
        "Leave out moments that show this.", (), flags=("--not",), metavar="TEXT"
    )
    then: tuple[str, ...] = option("Require this later in the video.", (), metavar="TEXT")
    language: str = option(LANGUAGE_HELP, "auto", metavar="CODE", flag_on=("search",), more=LANGUAGE_CHOICE)
    path: tuple[str, ...] = option("Only videos at this path, such as '2024/*.mp4'.", (), metavar="GLOB")
    after: str | None = option("Only files changed since, e.g. 2024-05-31.", None, metavar="DATE")
    min_present: float = option(
        "Skip moments with a lower match probability.",
        0.0,
        min=0,
        max=1,
        more="0 keeps all.",
    )
    per_video: int = option("Maximum number of moments per video.", 3, min=1)
    duplicates: bool = option("List near-identical moments of several videos separately.", False, flag_on=())

    def __post_init__(self) -> None:
        check(self)
        require_language(self.language)
        if self.after is not None:
            self.after_s  # noqa: B018  # refuses what is no date
        if self.evidence not in ("auto", "picture") and self.is_of_pictures:
            fault = fill(
                "{}, {}, {} and {} search the picture only",
                Mention("like"),
                Mention("also"),
                Mention("without"),
                Mention("then"),
            )
            raise UsageError(fault, hint=Mention("evidence", "picture"))
        if self.like and self.min_present:
            raise UsageError(
                (Mention("like"), " has no match probability"), hint=("leave out ", Mention("min_present"))
            )
        for name in ("also", "without", "then"):
            if not all(map(has_words, getattr(self, name))):
                raise UsageError((Mention(name), ": holds no text"), hint=Mention(name, "a dog"))

    def includes(self, kind: ArchiveEvidence) -> bool:
        """Return whether a kind of evidence is searched."""
        return self.evidence in ("auto", kind)

    def list_texts(self, text: str | None) -> list[str]:
        """Return the texts of a search, `text` and the options' texts, in the order of their vectors."""
        return [*([text] if text else []), *self.also, *self.without, *self.then]

    @property
    def is_of_pictures(self) -> bool:
        """Whether conditions other than one text are set, which only pictures can meet."""
        return bool(self.like or self.also or self.without or self.then)

    @property
    def after_s(self) -> float:
        """Seconds since 1970 at the start of `after`, in local time; -inf where there is none."""
        if self.after is None:
            return -math.inf
        try:
            return datetime.fromisoformat(self.after).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise UsageError(f"not a date: {self.after!r}", hint="write 2024-05-31") from error


def has_words(text: str) -> bool:
    """Return whether a text holds a letter or digit."""
    return any(map(str.isalnum, text))


def describe_missing(archive: Any, options: SearchOptions) -> str:
    """Say which evidence of a search videos of an `Archive` lack, with the flags of `index`; or nothing."""
    if options.is_of_pictures:
        return ""
    of_files = "(SELECT video FROM files WHERE gone_s IS NULL)"
    ((total,),) = archive.rows(f"SELECT count(*) FROM videos WHERE id IN {of_files}")
    made = dict(archive.rows(f"SELECT kind, count(*) FROM evidence WHERE video IN {of_files} GROUP BY kind"))
    parts = [
        f"{kind} of {total - made[kind]} of {total} videos ({_UNKNOWN[kind]}: {flag})"
        if kind in made
        else f"{kind} ({flag})"
        for kind in EVIDENCE
        if (flag := flag_of(kind)) and made.get(kind, 0) < total and options.includes(kind)
    ]
    return f"not searched: {', '.join(parts)}; see vidsum index" if parts else ""
