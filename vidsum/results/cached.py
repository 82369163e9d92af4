"""Results of earlier runs in the cache: features, transcripts and text on the screen, by provenance."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

from vidsum.errors import InputError
from vidsum.io.cache import find_bytes, find_file, remove_entry, store_bytes, store_file
from vidsum.results.features import Features, read_npz, write_npz
from vidsum.results.screen_text import ScreenText
from vidsum.results.transcript import Transcript

Text = TypeVar("Text", Transcript, ScreenText)

_FEATURES = "features"  # the folder of features


def find_cached(kind: type[Text], provenance: Mapping[str, Any]) -> Text | None:
    """Return the text of an earlier run with the same provenance, without its video; None without any."""
    content = find_bytes(kind.kind, provenance)
    return None if content is None else replace(kind.from_dict(json.loads(content)), provenance=provenance)


def find_features(provenance: Mapping[str, Any]) -> Features | None:
    """Return the features of an earlier run with the same provenance; unreadable ones are removed."""
    if (path := find_file(_FEATURES, provenance, ".npz")) is None:
        return None
    try:
        return read_npz(path)
    except InputError:
        remove_entry(path)
        return None


def store_cached(result: Features | Transcript | ScreenText) -> None:
    """Write a result to the cache by its provenance; a cache that cannot be written to stores nothing."""
    if isinstance(result, Features):
        n_bytes = result.array.nbytes
        store_file(_FEATURES, result.provenance, ".npz", n_bytes, lambda path: write_npz(result, path))
    else:
        content = json.dumps(asdict(replace(result, video=None)))
        store_bytes(result.kind, result.provenance, content.encode())
