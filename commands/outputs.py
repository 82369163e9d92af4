"""Names of output files, and whether one that exists may be left or replaced."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.commands.result import Result
from vidsum.errors import OutputError, UsageError


def named_after(source: str, folder: Path, ending: str) -> Path:
    """`FOLDER/{stem}{ending}`; one video of an h5 file (`file.h5#name`) goes by its own name."""
    from vidsum.pipeline import has_pictures

    path, _, video = (source, "", "") if has_pictures(source) else source.partition("#")
    return folder / f"{video or Path(path).stem}{ending}"


def recorded(
    outputs: Sequence[Path], record: Path, provenance: Mapping[str, Any], overwrite: bool
) -> dict[str, Any] | None:
    """What `record`, the output that tells its inputs, tells: if all outputs exist and it was made from
    `provenance`. None if they have to be made.

    Raises:
        OutputError: an output exists that was made from something else, or is not known to be ours.
    """
    existing = [path for path in outputs if path.exists()]
    if overwrite or not existing:
        return None
    from vidsum.pipeline import recorded_document

    document = recorded_document(record)
    if document is not None and document["provenance"] == provenance:
        return document if len(existing) == len(outputs) else None
    if document is None:
        raise OutputError(
            f"{existing[0]}: exists already, and is not known to be made by vidsum",
            hint="-o FILE, or --overwrite",
        )
    raise OutputError(
        f"{existing[0]}: exists already and was made from other inputs or options", hint="--overwrite"
    )


def up_to_date(
    command: str, source: str, document: Mapping[str, Any], outputs: Sequence[Path], facts: Mapping[str, Any]
) -> Result:
    """The result of a run that found its outputs made already: what they tell, with their warnings."""
    return Result(
        command,
        source,
        {"up_to_date": True, **facts, **document},
        lines=(f"{', '.join(map(str, outputs))}: up to date",),
        messages=tuple(document["warnings"]),
    )


def claim(outputs: Sequence[tuple[str, Sequence[Path]]]) -> None:
    """Make sure, before any work, that each source's outputs are its own and can be written.

    Raises:
        UsageError: an output is one of the sources, or two sources have the same output.
        OutputError: the folder of an output is not there.
    """
    sources = {Path(source).resolve(): source for source, _ in outputs}
    owners: dict[Path, str] = {}
    for source, paths in outputs:
        for path in paths:
            place = path.resolve()
            if place in sources:
                raise UsageError(
                    f"{path}: would be written over the input", hint="-o FILE, or --output-dir FOLDER"
                )
            owner = owners.setdefault(place, source)
            if Path(owner).resolve() != Path(source).resolve():
                raise UsageError(
                    f"{owner} and {source} would both be written to {path}",
                    hint="run them one by one, with -o",
                )
            if not path.parent.is_dir():
                raise OutputError(f"{path}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def prepare(output: str | None, folder: Path, sources: Sequence[str], suffixes: Sequence[str]) -> None:
    """Check `--output`, and make the folder of `--output-dir` where that is used.

    Raises:
        UsageError: `output` names a file and there are several sources, or has a suffix that does not fit.
        OutputError: the folder cannot be made.
    """
    if output == "-":
        return
    if output is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be made ({error.strerror})") from error
    elif len(sources) > 1:
        raise UsageError("--output names one file, but there are several inputs", hint="--output-dir FOLDER")
    elif Path(output).suffix not in suffixes:
        stem = Path(output).with_suffix(suffixes[0])
        raise UsageError(f"{output}: has to end in {' or '.join(suffixes)}", hint=f"-o {stem}")


@dataclass(frozen=True)
class SummaryFiles:
    """The files that one summary is written to; None for those not asked for."""

    json: Path
    video: Path | None
    storyboard: Path | None
    key_frames: Path | None
    """A folder of JPEG files."""
    plot: Path | None
    attention: Path | None

    @property
    def all(self) -> list[Path]:
        """Those that are asked for."""
        paths = (self.video, self.json, self.storyboard, self.key_frames, self.plot, self.attention)
        return [path for path in paths if path]

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """The same as data."""
        kinds = {"video": self.video, "json": self.json, "storyboard": self.storyboard}
        kinds |= {"key_frames": self.key_frames, "plot": self.plot, "attention": self.attention}
        return {"outputs": {kind: str(path) for kind, path in kinds.items() if path}}


def summary_files(
    source: str,
    output: str | None,
    folder: Path,
    storyboard: bool,
    plots: Collection[str],
    plot_format: str,
    attention_part: str,
) -> SummaryFiles:
    """Where a summary of `source` goes.

    `plots` are names of `commands.options.PlotName`. A picture of another `attention_part` than the mean has
    a name of its own, so that one is not taken for the other.

    Raises:
        UsageError: an MP4 is asked for of a feature file.
    """
    from vidsum.pipeline import has_pictures

    base = Path(output) if output and output != "-" else named_after(source, folder, "_summary.mp4")
    from_features = not has_pictures(source)
    if from_features and output not in (None, "-") and base.suffix == ".mp4":
        raise UsageError(f"{source}: features hold no pictures to make {base} of", hint="give the video")
    stem = base.with_suffix("").name.removesuffix("_summary")
    part = "" if attention_part == "mean" else f"_{attention_part}"
    return SummaryFiles(
        json=base.with_suffix(".json"),
        video=base if base.suffix == ".mp4" and not from_features else None,
        storyboard=base.with_name(f"{stem}_storyboard.png") if storyboard and not from_features else None,
        key_frames=base.with_name(f"{stem}_key_frames") if storyboard and not from_features else None,
        plot=base.with_name(f"{stem}_importance.{plot_format}") if "importance" in plots else None,
        attention=base.with_name(f"{stem}_attention{part}.{plot_format}") if "attention" in plots else None,
    )
