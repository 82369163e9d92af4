"""Options that commands share: inputs, outputs, exports, and how results are printed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from vidsum.errors import Mention, UsageError, VidsumError, fill
from vidsum.io.paths import Reads
from vidsum.options import ADVANCED, option
from vidsum.results.settings import ExportFormat, ExportName, MediaPaths

MEDIA_HELP = "Write absolute or relative paths in timelines."

READING = ("recursive", "from_file", "jobs", "ray", "max_download", "table")
WRITING = ("output", "output_dir", "overwrite", "skip_existing", "fail_fast")
EXPORTING = ("export", "media", "report")
PRINTING = ("json", "quiet", "verbose", "config")
"""Fields of `CommonOptions` that go together."""


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """Options that commands share; each offers some of them."""

    PANEL = "Output"

    recursive: bool = option("Include subfolders.", False, flags=("--recursive", "-r"), panel=ADVANCED)
    from_file: str | None = option(
        "File with one input per line, or separated by NUL (find -print0); - for stdin.",
        None,
        metavar="FILE",
        panel=ADVANCED,
    )
    jobs: int = option(
        "Number of videos processed at the same time.", 1, flags=("--jobs", "-j"), min=1, panel=ADVANCED
    )
    ray: str | None = option(
        "Run on the Ray cluster at ADDRESS; local starts one here (requires vidsum[ray]).",
        None,
        metavar="ADDRESS|local",
        flag_on=("extract", "index"),
        panel=ADVANCED,
    )
    max_download: float = option(
        "Largest download of one URL, in gigabytes.",
        8.0,
        above=0,
        metavar="GB",
        default_text="8",
        flag_on=("extract",),
        panel=ADVANCED,
    )
    table: Path | None = option(
        "Save a CSV table with a row per input: status, length, results, warnings.",
        None,
        metavar="FILE",
        writes=True,
        panel=ADVANCED,
    )
    output: str | None = option(
        "Output file; - for stdout.",
        None,
        flags=("--output", "-o"),
        default_text="named after the input",
        metavar="FILE",
        writes=True,
        more="For several inputs a template with {stem}, {name} or {n}.",
    )
    output_dir: Path | None = option("Folder for the outputs.", None, default_text="the current folder")
    overwrite: bool = option("Replace existing outputs.", False)
    skip_existing: bool = option("Skip inputs whose outputs exist, even if outdated.", False, panel=ADVANCED)
    fail_fast: bool = option(
        "Stop a batch at the first bad input.", False, panel=ADVANCED, flag_on=("extract",)
    )
    clips_dir: str | None = option(
        "Folder for the clips; implies --clips.", None, metavar="FOLDER", default_text="next to the JSON"
    )
    export: tuple[ExportName, ...] = option(
        "Save in another format.", (), metavar="FORMAT", more=f"{', '.join(get_args(ExportFormat))}."
    )
    media: MediaPaths = option(MEDIA_HELP, "absolute", flag_on=())
    report: bool = option("Save a page: player, curve and pictures.", False)
    json: bool = option("Print JSON to stdout, one object per line.", False)
    quiet: bool = option("Print errors only.", False, flags=("--quiet", "-q"), panel=ADVANCED)
    verbose: bool = option(
        "Show details, and tracebacks of internal errors.", False, flags=("--verbose", "-v"), panel=ADVANCED
    )
    config: Path | None = option("YAML file with defaults for options.", None, metavar="FILE", panel=ADVANCED)
    explain: Callable[[VidsumError], None] | None = None
    """Puts an error into words for users of the command."""
    reads: Reads = field(default_factory=dict)
    """Files that options name, which nothing is written over."""

    def __post_init__(self) -> None:
        if self.ray and self.jobs > 1:
            fault = fill("{} and {} exclude each other", Mention("ray"), Mention("jobs"))
            raise UsageError(fault, hint="Ray runs a task per core")
        only_one: dict[str | Mention, bool] = {
            Mention("skip_existing"): self.skip_existing,
            Mention("overwrite"): self.overwrite,
            "-o -": self.to_stdout and not self.overwrite,
        }
        chosen = [option for option, is_chosen in only_one.items() if is_chosen]
        if len(chosen) > 1:
            raise UsageError(fill("{} and {} exclude each other", *chosen[:2]))

    @property
    def to_stdout(self) -> bool:
        """Whether the document goes to stdout, and no file is written."""
        return self.output == "-"

    @property
    def is_template(self) -> bool:
        """Whether `--output` names several files, with fields in braces."""
        return self.output is not None and ("{" in self.output or "}" in self.output)

    @property
    def is_file(self) -> bool:
        """Whether `--output` names one file."""
        return self.output is not None and not (self.to_stdout or self.is_template)

    @property
    def makes_folders(self) -> bool:
        """Whether missing folders are made: not where `--output` alone names one file."""
        return self.output is None or self.is_template or self.output_dir is not None

    @property
    def exports(self) -> bool:
        """Whether results are exported."""
        return bool(self.export or self.report)

    def clip_folder(self, record: Path, *, clips: bool) -> Path | None:
        """Return the folder of the clips, by default the record's; None for no clips."""
        return Path(self.clips_dir) if self.clips_dir else record.parent if clips else None
