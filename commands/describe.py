"""`vidsum describe`: what is seen in videos, in words: descriptions of shots, and audio description."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.options import Videos, Without, command
from vidsum.commands.outputs import Files, Outputs, destinations
from vidsum.commands.paths import register_input
from vidsum.commands.progress import Facts
from vidsum.commands.records import unless_up_to_date
from vidsum.commands.result import Result, View, text_table
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Describing
from vidsum.options import option

if TYPE_CHECKING:
    from vidsum.results.descriptions import Descriptions
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_FACTS: Facts = {
    "length_s": lambda data: data["duration_s"],
    "descriptions": lambda data: len(data["descriptions"]),
    "unsure": lambda data: data["unsure"],
    "writer": lambda data: data["writer"],
}


@dataclass(frozen=True, kw_only=True)
class DescriptionOutputs:
    """Outputs in addition to the texts."""

    PANEL = "Output"

    speak: str | None = option(
        "Save {video}_described.mp4, with the descriptions spoken in pauses (--in-gaps) on a second sound "
        "track, by espeak-ng, flite or a command with {text} and {output}.",
        None,
        metavar="PROGRAM",
        shared=False,
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

    vidsum describe film.mp4 --sentences captions.csv

    vidsum describe film.mp4 --every 5s --writer tags

    vidsum describe film.mp4 --sentences captions.csv --speak espeak-ng

    vidsum describe film.mp4 --texts corrected.srt --speak espeak-ng
    """
    sources = batch.inputs(sources, allow_playlists=extraction.allow_playlists)
    if settings.texts is not None:
        if len(sources) > 1:
            raise UsageError(f"--texts has the descriptions of one film, not of {len(sources)}")
        register_input(settings.texts, "--texts")
    if extra.speak is not None:
        settings = replace(settings, in_gaps=True)
        _require_speaker(extra.speak, outputs)
    targets = {}
    for source, json in destinations(sources, outputs, "_descriptions.json", (".json",)).items():
        named = {"json": json, "vtt": json.with_suffix(".vtt"), "srt": json.with_suffix(".srt")}
        if extra.speak is not None:
            named["video"] = json.with_name(f"{json.stem.removesuffix('_descriptions')}_described.mp4")
        targets[source] = Files(named)
    outputs.check(targets)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.description import plan_descriptions, write_descriptions
        from vidsum.results.clock import to_player_time

        plan, files = plan_descriptions(source, settings, extraction, extra.speak), targets[source]

        def make() -> Result:
            found = plan.run(progress)
            if extra.speak is not None:
                from vidsum.pipelines.spoken import write_audio_description

                found = write_audio_description(found, files.named["video"], extra.speak, progress=progress)
            document = found.to_dict()
            if outputs.to_stdout:
                return Result(data=document, document=document, messages=found.warnings)
            write_descriptions(found, files.named)
            data, line = {**files.facts(), **document}, _line(files, found)
            texts = to_player_time(found).descriptions
            table = text_table((one.start_s, one.end_s, one.confidence, one.text) for one in texts)
            return Result(data=data, lines=(line,), table=table, messages=found.warnings)

        return unless_up_to_date(source, files, plan.provenance, make, outputs)

    run_batch("describe", sources, view, step, batch=batch, outputs=outputs, targets=targets, facts=_FACTS)


def _require_speaker(name: str, outputs: Outputs) -> None:
    """Raise a UsageError where the program is not there, or no file would be written."""
    from vidsum.pipelines.spoken import find_speaker

    if outputs.to_stdout:
        raise UsageError("-o - writes JSON only", hint="-o FILE.json, with --speak")
    find_speaker(name)


def _line(files: Files, found: "Descriptions") -> str:
    """Return the files, and what they hold in short."""
    count = len(found.descriptions)
    left = f"{found.n_unsure} segment{'s' * (found.n_unsure != 1)}"
    unsure = f", nothing sure enough for {left}" if found.n_unsure else ""
    if found.n_unsure and not count:
        unsure += "; lower --min-sure, or choose another --writer"
    return (
        f"{', '.join(map(str, files.all))}: {count} description{'s' * (count != 1)} by {found.writer}{unsure}"
    )
