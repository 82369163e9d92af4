"""`vidsum describe`: describe the shots of videos in words, as text and as audio description."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import (
    main_outputs,
    only_json_error,
    with_files,
)
from vidsum.commands.batch import Videos, Writing, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import text_table
from vidsum.description.settings import Describing
from vidsum.errors import (
    Mention,
    UsageError,
)
from vidsum.features.settings import Extraction
from vidsum.io.atomic import write_text
from vidsum.options import option
from vidsum.outputs.artifacts import Writer
from vidsum.outputs.staging import hidden

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
        "Speak the descriptions on a second sound track.",
        None,
        metavar="PROGRAM",
        more="PROGRAM is espeak-ng, flite or a command with {text} and {output}; it implies --in-gaps.",
    )


@command(
    app,
    "vidsum describe film.mp4",
    "vidsum describe film.mp4 --every 5s --sentences captions.csv",
    "vidsum describe film.mp4 --sentences captions.csv --speak espeak-ng",
    "vidsum describe film.mp4 --texts corrected.srt --speak espeak-ng",
    "vidsum describe film.mp4 --writer http://localhost:11434/v1 --vlm qwen2.5vl:3b",
)
def describe(
    sources: Videos,
    settings: Describing,
    common: Writing,
    extra: DescriptionOutputs,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits", "subtitles"))
    ],
) -> None:
    """Describe videos in words, a sentence per shot.

    Writes {video}_descriptions.json, .vtt and .srt into the current folder, and prints the sentences.
    """
    inputs = read_inputs(sources, common)
    if settings.texts is not None and len(inputs) > 1:
        fault = f" has the descriptions of one film, not of {len(inputs)}"
        raise UsageError((Mention("texts"), fault))
    if extra.speak is not None:
        from vidsum.outputs.audio_description import find_speaker

        settings = replace(settings, in_gaps=True)
        if common.to_stdout:
            raise only_json_error(["speak"])
        find_speaker(extra.speak)
    files = {}
    for path, json in main_outputs(inputs, "_descriptions.json", (".json",), common).items():
        named = {"json": json, "vtt": json.with_suffix(".vtt"), "srt": json.with_suffix(".srt")}
        if extra.speak is not None:
            named["video"] = json.with_name(f"{json.stem.removesuffix('_descriptions')}_described.mp4")
        files[path] = named
    inputs = with_files(inputs, files, common)
    work = partial(describe_one, settings, extraction, common, extra.speak)
    run_verb("describe", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def describe_one(
    settings: Describing,
    extraction: Extraction,
    common: CommonOptions,
    speaker: str | None,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    from vidsum.pipelines.describe import plan_descriptions
    from vidsum.results.descriptions import Descriptions

    plan = plan_descriptions(item.path, settings, extraction, speaker)
    film = item.artifacts.files.get("video") if item.artifacts else None
    with hidden(film) if film else nullcontext() as spoken:
        spec = ResultSpec(
            plan.provenance,
            lambda: _speak(plan.run(progress), spoken, speaker, progress),
            Descriptions.from_dict,
            _writers(spoken),
        )
        answer = deliver(item, common, spec, _answer)
    if not film or answer.data["descriptions"]:
        return answer
    line = f"{film}: not written: there is nothing to speak"
    named = {**answer.data["outputs"], "video": None}
    return replace(answer, lines=(*answer.lines, line), data={**answer.data, "outputs": named})


def _speak(
    descriptions: "Descriptions", path: Path | None, speaker: str | None, progress: Progress | None
) -> "Descriptions":
    """Write the film with spoken descriptions, if there are any to speak, and return those that were."""
    if path is None or speaker is None or not descriptions.descriptions:
        return descriptions
    from vidsum.outputs.audio_description import speak_descriptions

    return speak_descriptions(descriptions, path, speaker, progress)


def _writers(spoken: Path | None) -> Mapping[str, Writer]:
    """Return the writers of the texts, and of the film that has been spoken."""

    def write_as(format: Literal["vtt", "srt"], descriptions: "Descriptions", path: Path) -> tuple[str, ...]:
        from vidsum.results.clock import to_player_time

        write_text(path, to_player_time(descriptions).as_text(format))
        return ()

    def move_film(_: object, path: Path) -> tuple[str, ...]:
        if spoken and spoken.exists():
            spoken.replace(path)
        return ()

    return {"vtt": partial(write_as, "vtt"), "srt": partial(write_as, "srt"), "video": move_film}


def _answer(descriptions: "Descriptions", names: str) -> Reply:
    from vidsum.results.clock import to_player_time

    texts = to_player_time(descriptions).descriptions
    rows = ((text.start_s, text.end_s, text.confidence, text.text) for text in texts)
    return Reply(lines=(_line(names, descriptions),), table=text_table(rows))


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
