"""Transcripts on disk, so that a file is transcribed only once. They are small, and stay until removed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vidsum import disk_cache
from vidsum.results.transcript import Transcript, segments_data, segments_of

_FOLDER = "transcripts"


def get(provenance: Mapping[str, Any]) -> Transcript | None:
    """The transcript of an earlier run with the same provenance, without its video; None if it is damaged."""
    content = disk_cache.find(_FOLDER, provenance)
    if content is None:
        return None
    kept = json.loads(content)
    transcript = Transcript(**{**kept, "segments": segments_of(kept["segments"])})
    return replace(transcript, provenance=provenance)


def put(transcript: Transcript) -> None:
    """Keep a transcript under its provenance. A folder that cannot be written to keeps nothing."""
    kept = {
        "segments": segments_data(transcript.segments),
        "language": transcript.language,
        "language_probability": transcript.language_probability,
        "duration_s": transcript.duration_s,
        "translated": transcript.translated,
    }
    disk_cache.keep(_FOLDER, transcript.provenance, json.dumps(kept).encode())
