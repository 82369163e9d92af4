"""Transcripts on disk, so that a video is heard only once. They are small, and stay until removed."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vidsum.disk_cache import home
from vidsum.errors import InputError, OutputError
from vidsum.outputs import atomic_write
from vidsum.provenance import digest_of
from vidsum.speech.transcript import Transcript, segments_data, segments_of
from vidsum.text_files import read_json


def get(provenance: Mapping[str, Any]) -> Transcript | None:
    """The transcript of an earlier run with the same provenance, without its video, or None."""
    path = _path(provenance)
    if not path.is_file():
        return None
    try:
        kept = read_json(path)
        transcript = Transcript(**{**kept, "segments": segments_of(kept["segments"])})
    except (InputError, TypeError, KeyError):  # damaged: it is made anew
        return None
    return replace(transcript, provenance=provenance)


def put(transcript: Transcript) -> None:
    """Keep a transcript under its provenance. A folder that cannot be written to keeps nothing."""
    path = _path(transcript.provenance)
    kept = {
        "segments": segments_data(transcript.segments),
        "language": transcript.language,
        "language_probability": transcript.language_probability,
        "duration_s": transcript.duration_s,
        "translated": transcript.translated,
    }
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            part.write_text(json.dumps(kept), encoding="utf-8")


def _path(provenance: Mapping[str, Any]) -> Path:
    return home() / "transcripts" / f"{digest_of(provenance)}.json"
