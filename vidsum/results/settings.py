"""Names that options share with results: export formats, image-text spaces and kinds of evidence."""

from typing import Final, Literal, get_args

ExportFormat = Literal[
    "otio", "edl", "fcpxml", "xml", "kdenlive", "mlt",
    "kodi", "csv", "srt", "vtt", "chapters", "ffmetadata",
]  # fmt: skip
"""Timelines of editors, then lists: the keys of `vidsum.results.formats.FORMATS`."""
ExportName = Literal[ExportFormat, "losslesscut", "premiere", "resolve", "davinci", "finalcut", "youtube"]
"""Formats, and programs that read one of them: see `vidsum.results.formats.PROGRAMS`."""
ClipName = Literal[
    "siglip2-b16-256", "mobileclip2-s2", "clip-b32-256", "pe-core-s16-384", "mobileclip2-s0", "clip"
]  # fmt: skip
"""Networks for pictures and texts (`vidsum.features.clip_family`), of the best published accuracy first."""
EditorName = Literal[
    "otio", "edl", "fcpxml", "xml", "kdenlive", "mlt", "premiere", "resolve", "davinci", "finalcut"
]
"""Formats of which one file may name several videos, and programs that read one of them."""
MediaPaths = Literal["absolute", "relative"]
Evidence = Literal["picture", "speech", "text", "sound"]
"""Where a moment was found: in what is seen, said, written on screen, and heard in addition to words."""
WORDS: Final = ("speech", "text")  # evidence that quotes words, in which a negation is understood


def list_evidence(choice: str) -> tuple[Evidence, ...]:
    """Return the kinds of evidence that a choice stands for; none for `auto`."""
    kinds: tuple[Evidence, ...] = get_args(Evidence)
    return ("picture", "speech") if choice == "both" else tuple(kind for kind in kinds if kind == choice)
