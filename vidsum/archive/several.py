"""Search several archives side by side: their moments in one list, by the probability that they match."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Unpack

from threadpoolctl import threadpool_limits

from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match, select_best
from vidsum.archive.settings import SearchOptions
from vidsum.errors import UsageError
from vidsum.options import from_keywords
from vidsum.outputs.alone import PathLike
from vidsum.pipelines.keywords import ArchiveSearchOptions


def search_archives(
    archives: Sequence[PathLike],
    text: str | None = None,
    top_k: int = SearchOptions.top_k,
    **options: Unpack[ArchiveSearchOptions],
) -> list[Match]:
    """Return moments in the videos of several archives that match a text query, best first.

    Args:
        archives: files, or addresses of servers.
        text: the query; None with `like`.
        top_k: maximum number.
        **options: as of `Archive.search`.

    Raises the errors of `Archive.search`. UsageError: there is no archive, or the archives of a search with
    `like` have several spaces, whose similarities cannot be compared.
    """
    settings = from_keywords(search_archives, SearchOptions, {"top_k": top_k, **options})
    with ExitStack() as stack:
        opened = [stack.enter_context(Archive(path, create=False)) for path in dict.fromkeys(archives)]
        return find_in_all(opened, text, settings)


def find_in_all(archives: Sequence[Archive], text: str | None, options: SearchOptions) -> list[Match]:
    """Search open archives, a thread for each; see `search_archives`."""
    if not archives:
        raise UsageError("no archives to search in")
    if options.like and len({archive.space for archive in archives}) > 1:
        spaces = ", ".join(f"{archive.name} ({archive.space})" for archive in archives)
        raise UsageError(f"similarities to pictures cannot be compared between spaces: {spaces}")
    # the limit of a search is the process's: a thread that ends would lift it for the others
    with threadpool_limits(1), ThreadPoolExecutor(len(archives)) as pool:
        parts = [*pool.map(lambda archive: archive.find(text, options), archives)]
    return merge(parts, options)


def merge(parts: Sequence[Sequence[Match]], options: SearchOptions) -> list[Match]:
    """Return the best moments of several archives, each video's from the first that has some."""
    owners = dict[str, str]()
    for match in (match for part in parts for match in part):
        owners.setdefault(match.video, match.archive)
    merged = [match for part in parts for match in part if owners[match.video] == match.archive]
    return select_best(merged, options)
