"""Settings of a transcript, whose fields are the options of the command line; see `vidsum.options`."""

from dataclasses import dataclass

from vidsum.options import Checked, option


@dataclass(frozen=True, kw_only=True)
class Transcription(Checked):
    """Settings of the transcript."""

    PANEL = "Speech"

    language: str | None = option(
        "Spoken language code (en, de, fr).", None, default_text="detect", metavar="CODE"
    )
    translate: bool = option("Translate to English.", False)
