"""`vidsum transcribe`: speech in videos and audio files, as JSON, subtitles or text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vidsum.commands.batch import Batch, Verb, run_verb
from vidsum.commands.jobs import Task
from vidsum.commands.options import Only, command
from vidsum.commands.outputs import Files, Outputs, destinations, require_one_text
from vidsum.commands.progress import Columns
from vidsum.commands.result import CommandResult, View, text_table
from vidsum.commands.saving import Saving, save_result
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.speech.settings import Transcription

if TYPE_CHECKING:
    from vidsum.results.transcript import Transcript
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_Format = Literal["json", "srt", "vtt", "txt"]
_SUFFIXES: dict[str, _Format] = {".srt": "srt", ".vtt": "vtt", ".txt": "txt"}

_COLUMNS: Columns = {
    "length_s": lambda data: data["duration_s"],
    "segments": lambda data: len(data["segments"]),
    "language": lambda data: data["language"],
}


@dataclass(frozen=True, kw_only=True)
class TranscriptOutputs:
    """Formats and contents of the outputs."""

    PANEL = "Output"

    format: _Format = option(
        "Save subtitles or plain text too.",
        "json",
        shared=False,
        default_text="by the suffix of --output, else json",
    )
    words: bool = option("Include the times of words in JSON and WebVTT.", False, shared=False)


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
    format = _choose_format(outputs, extra.format)
    if format != "json":
        require_one_text(sources, outputs)
    targets = _targets(sources, outputs, format)
    job = TranscriptJob(settings, extraction, outputs, format, with_words=extra.words)
    device = "cpu" if extraction.device == "auto" else extraction.device
    verb = Verb("transcribe", partial(transcribe_one, job), device, _COLUMNS)
    run_verb(verb, sources, view, batch, outputs, targets)


@dataclass(frozen=True)
class TranscriptJob:
    """Settings of `transcribe_one`."""

    settings: Transcription
    extraction: Extraction
    outputs: Outputs
    format: _Format
    with_words: bool


def transcribe_one(job: TranscriptJob, task: Task, progress: "Progress | None") -> CommandResult:
    """Transcribe the speech of a video or audio file."""
    from vidsum.pipelines.speech import plan_transcript, write_text
    from vidsum.results.transcript import Transcript

    plan = plan_transcript(task.path, job.settings, job.extraction)
    if job.outputs.to_stdout:
        return _print(job, plan.run(progress))

    def write(transcript: Transcript, files: Files) -> Sequence[str]:
        if job.format != "json":
            write_text(transcript, files.named[job.format], job.format, with_words=job.with_words)
        return ()

    saving = Saving(
        plan.provenance,
        lambda: plan.run(progress),
        lambda transcript, _: transcript.to_dict(with_words=job.with_words),
        write,
        _answer,
        Transcript.from_dict,
        select=lambda transcript: transcript if _has_words(transcript) or not job.with_words else None,
    )
    return save_result(task.files, saving, job.outputs)


def _print(job: TranscriptJob, transcript: "Transcript") -> CommandResult:
    """Return a transcript for stdout, as JSON or in another format."""
    from vidsum.pipelines.speech import format_segments
    from vidsum.results.clock import to_player_time

    document = transcript.to_dict(with_words=job.with_words)
    text: Any = document
    if job.format != "json":
        segments = to_player_time(transcript).segments
        text = format_segments(segments, job.format, with_words=job.with_words)
    return CommandResult(data=document, document=text, messages=transcript.warnings)


def _answer(transcript: "Transcript", names: str) -> CommandResult:
    from vidsum.results.clock import to_player_time

    segments = to_player_time(transcript).segments
    rows = ((part.start_s, part.end_s, part.probability, part.displayed) for part in segments)
    return CommandResult(lines=(_line(names, transcript),), table=text_table(rows))


def _choose_format(outputs: Outputs, format: _Format) -> _Format:
    """Return the format of `--format`, or of the suffix of `--output`."""
    return _SUFFIXES.get(Path(outputs.output or "").suffix, format) if format == "json" else format


def _targets(sources: list[str], outputs: Outputs, format: str) -> dict[str, Files]:
    """Return the JSON and the text file of each source; `--output` may name either."""
    suffixes = (".json",) if format == "json" else (f".{format}", ".json")
    targets = {}
    for source, named in destinations(sources, outputs, "_transcript.json", suffixes).items():
        texts = {} if format == "json" else {format: named.with_suffix(f".{format}")}
        targets[source] = Files({"json": named.with_suffix(".json"), **texts})
    outputs.check(targets)
    return targets


def _has_words(transcript: "Transcript") -> bool:
    return all(segment.words for segment in transcript.segments)


def _line(names: str, transcript: "Transcript") -> str:
    """Name the files, and summarize their contents."""
    if not transcript.segments:
        return f"{names}: no segments"
    count = len(transcript.segments)
    language = f"{transcript.language} ({transcript.language_probability:.0%})"
    translated = ", translated to en" if transcript.translated else ""
    return f"{names}: {count} segment{'s' if count > 1 else ''}, language: {language}{translated}"
