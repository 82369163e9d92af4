"""`vidsum transcribe`: speech in videos and audio files, as JSON, subtitles or text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.options import Only, command
from vidsum.commands.outputs import Files, Outputs, destinations, require_one_text
from vidsum.commands.progress import Facts
from vidsum.commands.records import OptionalPart, unless_up_to_date
from vidsum.commands.result import Result, View, text_table
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.speech.settings import Transcription

if TYPE_CHECKING:
    from vidsum.results.transcript import Transcript
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_Format = Literal["json", "srt", "vtt", "txt"]
_OF_ENDINGS: dict[str, _Format] = {".srt": "srt", ".vtt": "vtt", ".txt": "txt"}

_FACTS: Facts = {
    "length_s": lambda data: data["duration_s"],
    "segments": lambda data: len(data["segments"]),
    "language": lambda data: data["language"],
}


@dataclass(frozen=True, kw_only=True)
class TranscriptOutputs:
    """Formats and contents of the outputs."""

    PANEL = "Output"

    format: _Format = option(
        "Save subtitles (srt, vtt) or plain text (txt) next to the JSON, {video}_transcript.FORMAT.",
        "json",
        shared=False,
        default_text="by the suffix of --output, else json",
    )
    words: bool = option(
        "Include each word with its times in the JSON, and its time in WebVTT.", False, shared=False
    )


@command(app)
def transcribe(
    sources: Annotated[
        list[str],
        typer.Argument(
            None, metavar="VIDEO|AUDIO|FOLDER", help="Video or audio files, or folders of videos."
        ),
    ],
    batch: Batch,
    settings: Transcription,
    outputs: Outputs,
    extra: TranscriptOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache", "audio_track"))],
    view: View,
) -> None:
    """Transcribe speech in videos and audio files.

    Writes {video}_transcript.json into the current folder and prints the segments; (?) marks uncertain ones.
    Each file is transcribed once; the transcript is cached.

    vidsum transcribe talk.mp4

    vidsum transcribe talk.mp4 --format srt

    vidsum transcribe *.mp4 --output-dir transcripts --words

    vidsum transcribe rede.mp4 --language de --translate --format txt -o -
    """
    sources = batch.inputs(sources)
    form = _form(outputs, extra.format)
    if form != "json":
        require_one_text(sources, outputs)
    targets = _targets(sources, outputs, form)
    words = OptionalPart("words", "--words", extra.words, lambda document: _has_words(document, extra.words))

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.speech import format_segments, plan_transcript, write_text
        from vidsum.results.clock import to_player_time
        from vidsum.results.result import write_document

        plan, files = plan_transcript(source, settings, extraction), targets[source]

        def make() -> Result:
            transcript = plan.run(progress)
            document = transcript.to_dict(with_words=extra.words)
            if outputs.to_stdout:
                text: Any = document
                if form != "json":
                    text = format_segments(to_player_time(transcript).segments, form, with_words=extra.words)
                return Result(data=document, document=text, messages=transcript.warnings)
            if form != "json":
                write_text(transcript, files.named[form], form, with_words=extra.words)
            write_document(document, files.record)
            data, line = {**files.facts(), **document}, _line(files, transcript)
            texts = to_player_time(transcript).segments
            table = text_table((one.start_s, one.end_s, one.probability, one.displayed) for one in texts)
            return Result(data=data, lines=(line,), table=table, messages=transcript.warnings)

        return unless_up_to_date(source, files, plan.provenance, make, outputs, part=words)

    run_batch("transcribe", sources, view, step, batch=batch, outputs=outputs, targets=targets, facts=_FACTS)


def _form(outputs: Outputs, form: _Format) -> _Format:
    """Return the format asked for, or the one that the ending of `--output` stands for."""
    return _OF_ENDINGS.get(Path(outputs.output or "").suffix, form) if form == "json" else form


def _targets(sources: list[str], outputs: Outputs, form: str) -> dict[str, Files]:
    """Return where the JSON of each source goes, and the text beside it; either may be named by
    `--output`.
    """
    suffixes = (".json",) if form == "json" else (f".{form}", ".json")
    targets = {}
    for source, named in destinations(sources, outputs, "_transcript.json", suffixes).items():
        texts = {} if form == "json" else {form: named.with_suffix(f".{form}")}
        targets[source] = Files({"json": named.with_suffix(".json"), **texts})
    outputs.check(targets)
    return targets


def _has_words(document: Mapping[str, Any], if_empty: bool) -> bool:
    segments = document["segments"]
    return "words" in segments[0] if segments else if_empty


def _line(files: Files, transcript: "Transcript") -> str:
    """Return the files, and what they hold in short."""
    names = ", ".join(map(str, files.all))
    if not transcript.segments:
        return f"{names}: no segments"
    count = len(transcript.segments)
    language = f"{transcript.language} ({transcript.language_probability:.0%})"
    translated = ", translated to en" if transcript.translated else ""
    return f"{names}: {count} segment{'s' if count > 1 else ''}, language: {language}{translated}"
