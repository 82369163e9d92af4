"""The pictures between the samples of a video: what tells at which frame its shots begin."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from vidsum.errors import InputError
from vidsum.features import cache
from vidsum.pipelines.extraction import Input
from vidsum.results.features import Features
from vidsum.shots.cuts import Pictures, as_features
from vidsum.types import Interval
from vidsum.video.changes import NAME
from vidsum.video.segments import changes_within


def pictures_of(given: Input, changes: Features | None) -> Pictures | None:
    """What is known of the pictures of a video; None of features.

    `changes` are those of `Input.read_with_changes`. With `fast`, key frames are all that is looked at.
    """
    if given.video is None:
        return None
    return Pictures(changes, None if given.extraction.fast else partial(_look_closer, given))


def _look_closer(given: Input, segments: Sequence[Interval]) -> Features | None:
    """The changes within segments, from memory or the cache if they are there; None where nothing decodes."""
    video = given.video
    assert video is not None
    made_from: dict[str, Any] = {
        "vidsum": given.provenance["vidsum"],
        "extractor": NAME,
        "parameters": {"segments": [list(segment) for segment in segments]},
        "video": given.provenance["video"],
    }
    is_cached = given.extraction.cache
    found = cache.get(made_from) if is_cached else None
    if found is None:
        with suppress(InputError):
            found = given.once(
                made_from,
                lambda: replace(as_features(changes_within(video, segments), video), provenance=made_from),
            )
            if is_cached:
                cache.put(found)
    return found
