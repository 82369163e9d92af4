"""`vidsum describe`: describe the shots of videos in words, as text and as audio description."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.outputs import Destination, Outputs
from vidsum.commands.result import Columns, CommandResult, View, text_table
from vidsum.description.settings import Describing
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.io.outputs import write_text
from vidsum.io.paths import register_input
from vidsum.options import option
from vidsum.outputs.saving import Saving
from vidsum.outputs.staging import hidden
from vidsum.outputs.tasks import Files, Progress, Task

if TYPE_CHECKING:
    from vidsum.results.descriptions import Descriptions

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {
    "length_s": "duration_s",
    "descriptions": "descriptions",
    "unsure": "unsure",
    "writer": "writer",
}


@dataclass(frozen=True, kw_only=True)
class DescriptionOutputs:
    """Outputs in addition to the texts."""

    PANEL = "Output"

    speak: str | None = option(
        "Speak the descriptions on a second sound track. PROGRAM is espeak-ng, flite or a command "
        "with {text} and {output}; it implies --in-gaps.",
        None,
        metavar="PROGRAM",
    )


@command(app)
def describe(
    sources: Videos,
    batch: Batch,
    settings: Describing,
    outputs: Outputs,
    extra: DescriptionOutputs,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits"))
    ],
    view: View,
) -> None:
    """Describe videos in words, a sentence per shot.

    Writes {video}_descriptions.json, .vtt and .srt into the current folder, and prints the sentences.

    vidsum describe film.mp4

    vidsum describe film.mp4 --every 5s --sentences captions.csv

    vidsum describe film.mp4 --sentences captions.csv --speak espeak-ng

    vidsum describe film.mp4 --texts corrected.srt --speak espeak-ng

    vidsum describe film.mp4 --writer http://localhost:11434/v1 --vlm qwen2.5vl:3b
    """
    sources = batch.inputs(sources)
    if settings.texts is not None:
        if len(sources) > 1:
            raise UsageError(f"--texts has the descriptions of one film, not of {len(sources)}")
        register_input(settings.texts, "--texts")
    if extra.speak is not None:
        from vidsum.outputs.audio_description import find_speaker

        settings = replace(settings, in_gaps=True)
        if outputs.to_stdout:
            raise UsageError("-o - writes JSON only", hint="-o FILE.json, with --speak")
        find_speaker(extra.speak)
    targets = {}
    for source, json in outputs.destinations(sources, "_descriptions.json", (".json",)).items():
        named = {"json": json, "vtt": json.with_suffix(".vtt"), "srt": json.with_suffix(".srt")}
        if extra.speak is not None:
            named["video"] = json.with_name(f"{json.stem.removesuffix('_descriptions')}_described.mp4")
        targets[source] = Files(named)
    outputs.check(targets)
    work = partial(describe_one, settings, extraction, outputs, extra.speak)
    run_verb(Verb("describe", work, extraction.device, _COLUMNS), sources, view, batch, outputs, targets)


def describe_one(
    settings: Describing,
    extraction: Extraction,
    outputs: Outputs,
    speaker: str | None,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    from vidsum.pipelines.describe import plan_descriptions
    from vidsum.results.descriptions import Descriptions

    plan = plan_descriptions(task.path, settings, extraction, speaker)
    with hidden(task.files.named["video"]) if speaker else nullcontext() as spoken:
        saving = Saving(
            plan.provenance,
            lambda: _speak(plan.run(progress), spoken, speaker, progress),
            Descriptions.from_dict,
            partial(_write, spoken=spoken),
        )
        result = Destination(outputs).deliver(task, saving, _answer)
    if not speaker or result.data["descriptions"]:
        return result
    line = f"{task.files.named['video']}: not written: there is nothing to speak"
    named = {**result.data["outputs"], "video": None}
    return replace(result, lines=(*result.lines, line), data={**result.data, "outputs": named})


def _speak(
    descriptions: "Descriptions", path: Path | None, speaker: str | None, progress: Progress | None
) -> "Descriptions":
    """Write the film with spoken descriptions, if there are any to speak, and return those that were."""
    if path is None or speaker is None or not descriptions.descriptions:
        return descriptions
    from vidsum.outputs.audio_description import write_audio_description

    return write_audio_description(descriptions, path, speaker, progress=progress)


def _write(descriptions: "Descriptions", files: Files, *, spoken: Path | None) -> Sequence[str]:
    from vidsum.results.clock import to_player_time

    played = to_player_time(descriptions)
    write_text(files.named["vtt"], played.as_text("vtt"))
    write_text(files.named["srt"], played.as_text("srt"))
    if spoken and spoken.exists():
        spoken.replace(files.named["video"])
    return ()


def _answer(descriptions: "Descriptions", names: str) -> CommandResult:
    from vidsum.results.clock import to_player_time

    texts = to_player_time(descriptions).descriptions
    rows = ((text.start_s, text.end_s, text.confidence, text.text) for text in texts)
    return CommandResult(lines=(_line(names, descriptions),), table=text_table(rows))


def _line(names: str, result: "Descriptions") -> str:
    count, n_unsure = len(result.descriptions), result.n_unsure
    line = f"{names}: {count} description{'s' * (count != 1)} by {result.writer}"
    if result.n_sent is not None:
        host = urlsplit(result.provenance["descriptions"]["server"]).netloc
        line += f"; {result.n_sent} frame{'s' * (result.n_sent != 1)} sent to {host}"
    if not n_unsure:
        return line
    left_out = "1 segment" if n_unsure == 1 else f"{n_unsure} segments"
    if result.is_by_vlm:
        return f"{line}; {left_out} left out: the model gave no sentence"
    others = "other --sentences" if result.writer == "retrieve" else "--sentences"
    hint = "--min-sure 0 shows them" if count else f"lower --min-sure, or give {others}"
    return f"{line}; {left_out} left out: no guess was good enough ({hint})"
