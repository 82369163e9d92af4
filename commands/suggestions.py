"""Suggestions for people at a terminal, made from the answers of a command."""

import sys
from collections.abc import Iterable

from vidsum.batch.settings import CommonOptions
from vidsum.features.settings import CLIP_FAMILY


def suggest_space(space: str, matches: Iterable[float | None], common: CommonOptions) -> tuple[str, ...]:
    """Return the command that fetches a better space, after a weak answer in `vse` and once a day.

    `matches` are the match probabilities of the queries; None where there is none. Return nothing where a
    space of the CLIP family is installed, and where the command does not run on a terminal.
    """
    from vidsum import checkpoints
    from vidsum.io.cache import is_first_today
    from vidsum.results.moments import LIKELY_FROM

    if space != "vse" or common.quiet or common.json or not sys.stdout.isatty():
        return ()
    if not any(present is not None and present < LIKELY_FROM for present in matches):
        return ()
    if any(map(checkpoints.find, CLIP_FAMILY)) or not is_first_today("best_space"):
        return ()
    return ("a network that was trained on many more pictures may answer better: vidsum weights pull best",)
