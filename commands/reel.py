"""`vidsum reel`: the best of many clips and photographs as one film, as MP4 and JSON."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress, run_guarded_steps
from vidsum.batch.settings import PRINTING, CommonOptions
from vidsum.batch.targets import require_no_exports, with_files
from vidsum.commands.batch import run_verb
from vidsum.commands.options import Only, command
from vidsum.errors import InputError, Problem
from vidsum.features.settings import Extraction
from vidsum.io.file_names import missing_file
from vidsum.io.paths import reads_of
from vidsum.options import Checked, option
from vidsum.outputs.names import require_suffix
from vidsum.results.settings import EditorName
from vidsum.summary.settings import PAUSES_HINT, SPEECH_HINT, ReelSettings, Selection
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.results.reel import LeftOut, Reel

app = typer.Typer(add_completion=False)

Media = Annotated[
    list[str],
    typer.Argument(None, metavar="MEDIA|FOLDER", help="Videos, photographs, and folders of them."),
]
_OPTIONS = ("recursive", "from_file", "overwrite", "media")
_DEFAULT = "reel.mp4"
_MOST_NAMED = 10  # unused inputs


@dataclass(frozen=True, kw_only=True)
class ReelOutputs(Checked):
    """The film, and timelines of it."""

    PANEL = "Output"

    output: str = option(
        "The film as .mp4, or a .json without a film; - for stdout.",
        _DEFAULT,
        flags=("--output", "-o"),
        metavar="FILE",
        writes=True,
    )
    export: tuple[EditorName, ...] = option(
        "Save in another format.", (), metavar="FORMAT", more=f"{', '.join(get_args(EditorName))}."
    )
    dry_run: bool = option("Print the segments, write nothing.", False)


@command(
    app,
    "vidsum reel Holiday/ -o holiday.mp4 --budget 2m --titles",
    "vidsum reel *.mp4 *.jpg --music song.mp3",
    "vidsum reel Holiday/ -o holiday.json --export premiere",
)
def reel(
    sources: Media,
    settings: ReelSettings,
    speech: Annotated[Selection, Only(("snap",))],
    common: Annotated[CommonOptions, Only((*_OPTIONS, *PRINTING))],
    extra: ReelOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache"))],
) -> None:
    """Make one film out of many clips and photographs.

    Writes reel.mp4 and reel.json into the current folder. With -o FILE.mp4 they are FILE.mp4 and FILE.json;
    with -o FILE.json there is no MP4. What cannot be read is named and left out, and so are copies.
    """
    common = replace(common, output=extra.output, export=extra.export)
    target = Path(extra.output)
    if not common.to_stdout:
        require_suffix(target, (".mp4", ".json"))
    inputs = read_inputs(sources, common, photographs=True)
    item = BatchInput(f"{len(inputs)} input{'s' * (len(inputs) > 1)}", is_joint=True)
    common = replace(common, reads={**reads_of(source.path for source in inputs), **common.reads})
    if not (extra.dry_run or common.to_stdout):
        files = {"json": target.with_suffix(".json")}
        files |= {"video": target} if target.suffix == ".mp4" else {}
        (item,) = with_files([item], {item.path: files}, common)
    elif not extra.dry_run:
        require_no_exports(common)
    work = partial(make_one, inputs, settings, speech, extraction, extra, common)
    run_verb("reel", work, [item], common, device=extraction.device, are_videos=False)


def make_one(
    inputs: Sequence[BatchInput],
    settings: ReelSettings,
    speech: Selection,
    extraction: Extraction,
    extra: ReelOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    """Make a reel of all inputs."""
    from vidsum.outputs.reel_film import encode_reel
    from vidsum.pipelines.download import update_copy
    from vidsum.pipelines.make_reel import plan_reel
    from vidsum.results.reel import LeftOut, Reel
    from vidsum.results.result import parse_fields

    for source in inputs:
        if source.url:
            update_copy(source.url, Path(source.path), common.max_download, progress)
    paths = [source.path for source in inputs]
    plan = plan_reel(paths, settings, extraction, speech.snap, run=run_guarded_steps, progress=progress)

    def describe(result: Reel, names: str) -> Reply:
        hints = _speech_hint(result) if speech.snap == "auto" else ()
        line = _describe("" if names == item.name else names, result)
        return Reply(lines=(*hints, *_unused(result), line), table=_table(result))

    def write_video(result: Reel, path: Path) -> tuple[str, ...]:
        return encode_reel(result, path, extraction.device, progress)

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Reel.from_dict,
        {"video": write_video},
        select=lambda earlier: earlier if plan.has_same_files(earlier) else None,
        tags={"video": ""},
    )
    answer = deliver(item, common, spec, describe, prints_only=extra.dry_run)
    return _with_faults(answer, [parse_fields(LeftOut, part) for part in answer.data["left_out"]])


def _with_faults(answer: Reply, left_out: Sequence["LeftOut"]) -> Reply:
    """Return an answer that names the inputs left out: copies in messages, the others as errors."""
    copies = [f"{part.path}: {part.fault}; left out" for part in left_out if part.is_copy]
    faults = [Problem.of(_left_out_error(part)) for part in left_out if not part.is_copy]
    return replace(
        answer,
        messages=(*answer.messages, *copies),
        errors=(*answer.errors, *faults),
        exit_code=1 if faults else answer.exit_code,
    )


def _speech_hint(reel: "Reel") -> tuple[str, ...]:
    """Return a line about clips with sound whose words were not considered, if there are any."""
    wordless = [part for part in reel.provenance["inputs"] if not part.get("speech", True)]
    if not wordless:
        return ()
    return (PAUSES_HINT if all(part["voice"] for part in wordless) else SPEECH_HINT,)


def _left_out_error(part: "LeftOut") -> InputError:
    hint = (part.hint or None) if os.path.lexists(part.path) else missing_file(part.path).hint_text
    return InputError(f"{part.fault}; left out", hint, subject=part.path)


def _unused(reel: "Reel") -> tuple[str, ...]:
    """Return a line about inputs of which no part is in the film, if there are any."""
    used = {segment.source for segment in reel.segments}
    names = [Path(source.path).name for number, source in enumerate(reel.sources) if number not in used]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (f"not in the film: {', '.join(names[:_MOST_NAMED])}{more}",) if names else ()


def _table(reel: "Reel") -> tuple[tuple[str, ...], ...]:
    rows = [("", "from", "start", "end", "why")]
    for number, segment in enumerate(reel.segments, 1):
        name = Path(reel.sources[segment.source].path).name
        times = format_time(segment.start_s), format_time(segment.end_s)
        rows.append((str(number), name, *times, segment.note))
    return tuple(rows)


def _describe(name: str, reel: "Reel") -> str:
    used = len({segment.source for segment in reel.segments})
    line = f"{format_time(reel.duration_s)} from {used} of {len(reel.sources)} inputs"
    if name:
        line = f"{name}: {line}"
    if reel.left_out:
        line += f", {len(reel.left_out)} left out"
    if reel.budget_note:
        line += f" (budget {format_time(reel.budget_s)}: {reel.budget_note})"
    return line
