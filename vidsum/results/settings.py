"""Names of the export formats, for options; `vidsum.results.formats` writes them."""

from typing import Literal

ExportFormat = Literal[
    "otio", "edl", "fcpxml", "xml", "kdenlive", "mlt", "markers", "scenes",
    "kodi", "csv", "srt", "vtt", "chapters", "ffmetadata", "labels",
]  # fmt: skip
"""Timelines of editors, then lists: the keys of `vidsum.results.formats.FORMATS`."""
ExportName = Literal[ExportFormat, "losslesscut", "premiere", "resolve", "davinci", "finalcut"]
"""Formats, and programs that read one of them: see `vidsum.results.formats.PROGRAMS`."""
MediaPaths = Literal["absolute", "relative"]
