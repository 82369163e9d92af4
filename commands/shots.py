"""`vidsum shots`: where a video's shots begin and end."""

from typing import TYPE_CHECKING, Annotated

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.export import Exports
from vidsum.commands.options import Sources, Without, command
from vidsum.commands.outputs import Files, Outputs, destinations
from vidsum.commands.progress import Facts
from vidsum.commands.records import unless_up_to_date
from vidsum.commands.result import Result, View, interval_table
from vidsum.settings import Extraction, ShotSettings

if TYPE_CHECKING:
    from vidsum.types import Progress

_FACTS: Facts = {
    "length_s": lambda data: data["shots"][-1]["end_s"],
    "shots": lambda data: len(data["shots"]),
    "method": lambda data: data["method"],
}


@command
def shots(
    sources: Sources,
    batch: Batch,
    settings: ShotSettings,
    outputs: Outputs,
    exports: Exports,
    extraction: Annotated[Extraction, Without(("logits",))],
    view: View,
) -> None:
    """Cut videos into shots.

    Writes {video}_shots.json into the current folder and prints the shots.

    vidsum shots film.mp4

    vidsum shots film.mp4 --max-shot 20s -o -
    """
    sources = batch.inputs(sources, allow_playlists=extraction.allow_playlists)
    bases = destinations(sources, outputs, "_shots.json", (".json",))
    targets = {source: Files({"output": base}, nested=False) for source, base in bases.items()}
    targets = exports.beside(targets, outputs)
    outputs.check(targets)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.summary import plan_shots
        from vidsum.results.result import write_document

        plan, files = plan_shots(source, settings, extraction), targets[source]

        def make() -> Result:
            shots = plan.run(progress)
            document = shots.to_dict()
            if outputs.to_stdout:
                return Result(data=document, document=document, messages=shots.warnings)
            write_document(document, files.record)
            line = f"{files.record}: {len(shots)} shot{'s' if len(shots) > 1 else ''}"
            table = interval_table("shot", shots.intervals)
            data = {**files.facts(), **document}
            return Result(data=data, lines=(line,), table=table, messages=shots.warnings)

        result = unless_up_to_date(source, files, plan.provenance, make, outputs)
        return exports.write(result, files, outputs.replaces)

    run_batch("shots", sources, view, step, batch=batch, outputs=outputs, targets=targets, facts=_FACTS)
