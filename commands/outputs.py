"""Names of output files, and whether one that exists may be left or replaced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.errors import OutputError, UsageError


def named_after(source: str, folder: Path, ending: str) -> Path:
    """`FOLDER/{stem}{ending}`; one video of an h5 file (`file.h5#name`) goes by its own name."""
    path, _, video = source.partition("#")
    return folder / f"{video or Path(path).stem}{ending}"


def up_to_date(outputs: Sequence[Path], record: Path, provenance: Mapping[str, Any], overwrite: bool) -> bool:
    """Whether all outputs exist and `record`, the one that tells its inputs, tells the same as `provenance`.

    Raises:
        OutputError: an output exists that was made from something else, or is not known to be ours.
    """
    existing = [path for path in outputs if path.exists()]
    if overwrite or not existing:
        return False
    from vidsum.pipeline import recorded_provenance

    if recorded_provenance(record) == provenance:
        return len(existing) == len(outputs)
    raise OutputError(
        f"{existing[0]}: exists already and was made from other inputs or options", hint="--overwrite"
    )


def refuse_shared_output(output: str | None, sources: Sequence[str]) -> None:
    """Several inputs cannot all go into one file.

    Raises:
        UsageError: `output` names a file and there are several sources.
    """
    if output not in (None, "-") and len(sources) > 1:
        raise UsageError("--output names one file, but there are several inputs", hint="--output-dir FOLDER")


@dataclass(frozen=True)
class SummaryFiles:
    """The files that one summary is written to; None for those not asked for."""

    json: Path
    video: Path | None
    storyboard: Path | None
    key_frames: Path | None
    """A folder of JPEG files."""
    plot: Path | None

    @property
    def all(self) -> list[Path]:
        """Those that are asked for."""
        return [path for path in (self.video, self.json, self.storyboard, self.key_frames, self.plot) if path]

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """The same as data."""
        kinds = {"video": self.video, "json": self.json, "storyboard": self.storyboard}
        kinds |= {"key_frames": self.key_frames, "plot": self.plot}
        return {"outputs": {kind: str(path) for kind, path in kinds.items() if path}}


def summary_files(
    source: str, output: str | None, folder: Path, *, storyboard: bool, plot: str | None
) -> SummaryFiles:
    """Where a summary of `source` goes.

    Raises:
        UsageError: `output` has a suffix other than .mp4 and .json, or an MP4 is asked for of a feature file.
    """
    from vidsum.pipeline import has_pictures

    base = Path(output) if output and output != "-" else named_after(source, folder, "_summary.mp4")
    if base.suffix not in (".mp4", ".json"):
        raise UsageError(
            f"{base}: a summary is an .mp4 or a .json file", hint=f"-o {base.with_suffix('.mp4')}"
        )
    from_features = not has_pictures(source)
    if from_features and output and base.suffix == ".mp4":
        raise UsageError(f"{source}: features hold no pictures to make {base} of", hint="give the video")
    stem = base.with_suffix("").name.removesuffix("_summary")
    return SummaryFiles(
        json=base.with_suffix(".json"),
        video=base if base.suffix == ".mp4" and not from_features else None,
        storyboard=base.with_name(f"{stem}_storyboard.png") if storyboard and not from_features else None,
        key_frames=base.with_name(f"{stem}_key_frames") if storyboard and not from_features else None,
        plot=base.with_name(f"{stem}_importance.{plot}") if plot else None,
    )
