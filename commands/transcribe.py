"""`vidsum transcribe`: speech in files, or text on the screen of videos, as JSON, subtitles or text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import (
    main_outputs,
    one_format_error,
    require_one_text,
    with_files,
)
from vidsum.commands.batch import Writing, run_verb
from vidsum.commands.options import Only, command
from vidsum.commands.result import text_table
from vidsum.errors import (
    Mention,
    UsageError,
)
from vidsum.features.settings import Extraction
from vidsum.io.atomic import write_text
from vidsum.options import option, without_defaults
from vidsum.speech.settings import Transcription

if TYPE_CHECKING:
    from vidsum.pipelines.plan import Plan
    from vidsum.results.screen_text import ScreenText
    from vidsum.results.transcript import Transcript

app = typer.Typer(add_completion=False)

_Format = Literal["json", "srt", "vtt", "txt"]
_SUFFIXES: dict[str, _Format] = {".srt": "srt", ".vtt": "vtt", ".txt": "txt"}

_COLUMNS: Columns = {"length_s": "duration_s", "segments": "segments", "language": "language"}
_SCREEN_COLUMNS: Columns = {"length_s": "duration_s", "lines": "lines"}


@dataclass(frozen=True, kw_only=True)
class TranscriptOutputs:
    """Formats and contents of the outputs."""

    PANEL = "Output"

    on_screen_text: bool = option("Read the text on the screen, not the speech.", False)
    format: tuple[_Format, ...] = option(
        "Save subtitles or plain text too.",
        (),
        default_text="by the suffix of --output, else json",
    )
    events: bool = option("Add [applause], [cheering], [laughter] and [music] to speech.", False)
    words: bool = option("Include the times of words in JSON and WebVTT.", False)


@command(
    app,
    "vidsum transcribe talk.mp4",
    "vidsum transcribe talk.mp4 --format srt",
    "vidsum transcribe *.mp4 --output-dir transcripts --words",
    "vidsum transcribe rede.mp4 --spoken-language de --translate --format txt -o -",
    "vidsum transcribe show.mp4 --events --format srt",
    "vidsum transcribe slides.mp4 --on-screen-text --format srt",
)
def transcribe(
    sources: Annotated[
        list[str],
        typer.Argument(
            None, metavar="VIDEO|AUDIO|FOLDER", help="Video or audio files, or folders of videos."
        ),
    ],
    settings: Transcription,
    common: Writing,
    extra: TranscriptOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache", "audio_track"))],
) -> None:
    """Transcribe speech in videos and audio files.

    Writes {video}_transcript.json into the current folder and prints the segments; (?) marks uncertain ones.
    Each file is transcribed once; the transcript is cached.
    """
    inputs = read_inputs(sources, common)
    chosen = extra.format or (_SUFFIXES.get(Path(common.output or "").suffix, "json"),)
    formats = [format for format in dict.fromkeys(chosen) if format != "json"]  # there is always a JSON file
    if formats:
        require_one_text(inputs, common)
    if common.to_stdout and len({*chosen}) > 1:
        raise one_format_error()
    suffixes = (*(f".{format}" for format in formats), ".json")  # `--output` may name any of them
    ending = "_screen_text.json" if extra.on_screen_text else "_transcript.json"
    files = {}
    for source, path in main_outputs(inputs, ending, suffixes, common).items():
        texts: dict[str, Path] = {format: path.with_suffix(f".{format}") for format in formats}
        files[source] = {"json": path.with_suffix(".json"), **texts}
    inputs = with_files(inputs, files, common)
    if extra.on_screen_text and (extra.events or extra.words or without_defaults(settings)):
        fault = " reads no speech: leave out the options of speech"
        raise UsageError((Mention("on_screen_text"), fault))
    work = partial(transcribe_one, settings, extraction, common, formats, extra)
    device = "cpu" if extraction.device == "auto" else extraction.device
    columns = _SCREEN_COLUMNS if extra.on_screen_text else _COLUMNS
    run_verb("transcribe", work, inputs, common, device=device, columns=columns)


def transcribe_one(
    settings: Transcription,
    extraction: Extraction,
    common: CommonOptions,
    formats: Sequence[_Format],
    extra: TranscriptOutputs,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    """Transcribe the speech of a video or audio file, or the text on the screen of a video."""
    from vidsum.results.clock import to_player_time

    plan, kind = _plan(item.path, settings, extraction, extra)
    words = {} if extra.on_screen_text else {"with_words": extra.words}

    def has_requested(text: Any) -> Any:
        return None if extra.words and not all(segment.words for segment in text.segments) else text

    def formatted(text: Any, format: _Format) -> str:
        return str(to_player_time(text).as_text(format, **words))

    def write_as(format: _Format, text: Any, path: Path) -> tuple[str, ...]:
        write_text(path, formatted(text, format))
        return ()

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        kind.from_dict,
        {format: partial(write_as, format) for format in formats},
        lambda text, _: text.to_dict(**words),
        has_requested,
    )
    if not (common.to_stdout and formats):
        return deliver(item, common, spec, _screen_answer if extra.on_screen_text else _answer)
    text = spec.run()
    return Reply(data=spec.document(text, ()), document=formatted(text, formats[0]), messages=text.warnings)


def _plan(
    path: str, settings: Transcription, extraction: Extraction, extra: TranscriptOutputs
) -> "tuple[Plan[Any], type[Transcript | ScreenText]]":
    """Plan the text, and return its class."""
    if extra.on_screen_text:
        from vidsum.pipelines.read_text import plan_screen_text
        from vidsum.results.screen_text import ScreenText

        return plan_screen_text(path, extraction), ScreenText
    from vidsum.pipelines.listening import with_events
    from vidsum.pipelines.transcribe import plan_transcript
    from vidsum.results.transcript import Transcript

    plan = plan_transcript(path, settings, extraction)
    return with_events(plan, path, extraction) if extra.events else plan, Transcript


def _screen_answer(text: "ScreenText", names: str) -> Reply:
    from vidsum.results.clock import to_player_time
    from vidsum.results.result import count_text

    rows = ((line.start_s, line.end_s, line.confidence, line.text) for line in to_player_time(text).lines)
    counts = f"{count_text(len(text.lines), 'line')}, {count_text(text.n_frames_read, 'frame')} read"
    return Reply(lines=(f"{names}: {counts}",), table=text_table(rows))


def _answer(transcript: "Transcript", names: str) -> Reply:
    from vidsum.results.clock import to_player_time
    from vidsum.results.transcript import list_lines

    played = to_player_time(transcript)
    lines = list_lines(played.segments, played.events or ())
    rows = ((line.start_s, line.end_s, line.probability, line.displayed) for line in lines)
    return Reply(lines=(_line(names, transcript),), table=text_table(rows))


def _line(names: str, transcript: "Transcript") -> str:
    if not transcript.segments:
        return f"{names}: no segments"
    count = len(transcript.segments)
    language = f"{transcript.language} ({transcript.language_probability:.0%})"
    translated = ", translated to en" if transcript.translated else ""
    return f"{names}: {count} segment{'s' if count > 1 else ''}, language: {language}{translated}"
