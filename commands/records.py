"""Make outputs, unless they are up to date; refuse to replace those that were made otherwise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vidsum.commands.outputs import Files, Outputs, Replaces
from vidsum.commands.paths import HINT, mark_of, note, read_mark, require_made_from, require_own
from vidsum.commands.result import Result
from vidsum.errors import InputError, OutputError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.options import as_record, leaves
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.results.moments import Grounding, Highlights
    from vidsum.results.shots import Shots
    from vidsum.types import Progress

_TEXTS = (".srt", ".vtt", ".txt", ".csv")
"""Outputs without a label, beside those that are exported."""
_PLOTS: Final = ("moments", "highlights", "attention", "mask", "weights")
_PICTURES: Final = (
    *(f"{plot}.{ending}" for plot in _PLOTS for ending in ("png", "svg")),
    *(f"{what}_sheet.png" for what in ("moments", "highlights", "shots")),
)
"""Ends of the names of plots and sheets."""


@dataclass(frozen=True)
class OptionalPart:
    """A part of the JSON that an option adds, and that is no part of what the result was made from."""

    name: str
    option: str
    is_requested: bool
    is_in: Callable[[Mapping[str, Any]], bool]
    """Whether a document has it."""

    def check(self, document: Mapping[str, Any], record: Path, *, is_rewritten: bool) -> None:
        """See to it that a document has what is asked for, and is not rewritten without what it has.

        Raises OutputError: it lacks the part, or would lose it.
        """
        has_it = self.is_in(document)
        if self.is_requested and not has_it:
            raise OutputError(f"{record}: already exists, without {self.name}", hint="--overwrite")
        if is_rewritten and has_it and not self.is_requested:
            fault = f"{record}: already exists, with {self.name}"
            raise OutputError(fault, hint=f"{self.option}, or --overwrite to leave them out")


def unless_up_to_date(
    source: str,
    files: Files,
    provenance: Mapping[str, Any],
    make: Callable[[], Result],
    outputs: Outputs,
    *,
    form: str = "",
    part: OptionalPart | None = None,
) -> Result:
    """Make the outputs of a result, unless they exist and were made from the same.

    Args:
        source: the input.
        files: the outputs; MP4, PNG and SVG say themselves what they were made from.
        provenance: what they would be made from.
        make: makes and writes them, or what goes to stdout in their place.
        outputs: which of those that exist may be replaced.
        form: of the encoding of an MP4 among them, see `vidsum.video.settings.Encoding`.
        part: of the JSON, that an earlier run may have left out or added.

    Raises:
        OutputError: an output exists that was made from something else (if that is not to be replaced), was
            changed since, or is not ours.
    """
    replaces = outputs.replaces
    if outputs.to_stdout:
        return make()
    try:
        document = None if replaces == "all" else _up_to_date(source, files, provenance, form, part)
    except OutputError:
        if replaces == "none":
            raise
        document = None
    if document is None and replaces == "outdated" and not can_resume(files.record, provenance):
        require_own(files.all, files.record)
    if document is not None:
        clips = files.clips(document)
        names = ", ".join(map(str, [*files.all, *clips]))
        facts = {"up_to_date": True, **files.facts(clips), **document}
        messages = tuple(document["warnings"])
        return Result(data=facts, lines=(f"{names}: up to date",), messages=messages)
    if files.clip_folder:  # their names depend on the result: who writes them marks them
        return make()
    with unfinished(files.all, files.record, provenance, source):
        return make()


def _up_to_date(
    source: str, files: Files, provenance: Mapping[str, Any], form: str, part: OptionalPart | None
) -> dict[str, Any] | None:
    """Return the document of an earlier run if its outputs are those wanted; None if there are none, or not
    all.

    Raises OutputError: an output is another.
    """
    document = _recorded(files, provenance, form)
    if document is None:
        return None
    clips = files.clips(document)
    require_made_from(clips, document["provenance"], files.clip_settings.form)
    is_whole = read_mark(files.record) is None and all(path.exists() for path in (*files.all, *clips))
    if part:
        part.check(document, files.record, is_rewritten=not is_whole)
    return document if is_whole else None


def existing(files: Files) -> Result | None:
    """What `--skip-existing` says of outputs that all exist, whatever they were made from; else None.

    MP4 files of moments are not looked for: how many there are depends on the result.
    """
    if not all(path.exists() for path in (*files.all, *files.derived)) or read_mark(files.record) is not None:
        return None
    names = ", ".join(map(str, files.all))
    return Result(data={"skipped": True, **files.facts()}, lines=(f"{names}: exists, skipped",))


def write_moments(
    result: "Grounding | Highlights | Shots",
    document: dict[str, Any],
    files: Files,
    replaces: Replaces,
    progress: "Progress | None",
    extraction: Extraction = Extraction(),
) -> tuple[str, tuple[str, ...]]:
    """Write moments, highlights or shots with clips and pictures; return a line about them, and warnings.

    Raises OutputError: an MP4 file exists and is another, or a file cannot be written.
    """
    from vidsum.results.result import write_document

    messages, clips = list(result.warnings), files.clips(document)
    if replaces == "outdated":
        require_own(clips, files.record)
    elif replaces == "none" and not can_resume(files.record, result.provenance):
        require_made_from(clips, result.provenance, files.clip_settings.form)
    gone = _files_before(files, besides=clips) if replaces == "outdated" else []
    source = result.video.path if result.video else ""
    with unfinished([*files.all, *clips], files.record, result.provenance, source):
        if files.clip_folder:
            from vidsum.pipelines.clips import write_clips

            how: Any = {leaf.name: leaf.default for leaf in leaves(Clips, files.clip_settings)}
            how |= {"extraction": extraction, "progress": progress}
            messages += write_clips(result, files.clip_folder, files.clip_stem, **how)
        if len(files.named) > 1:
            messages += _write_pictures(result, files)
        for path in gone:
            path.unlink(missing_ok=True)
        write_document(document, files.record)  # the last: it tells that the others are there
    line = ", ".join(map(str, files.all))
    if clips:
        line += f" and {len(clips)} clip{'s' if len(clips) > 1 else ''} in {files.clip_folder}"
    if gone:
        line += f"; removed {len(gone)} of the earlier result"
    return line, tuple(dict.fromkeys(messages))  # reader and writer may warn of the same


def _write_pictures(result: "Grounding | Highlights | Shots", files: Files) -> Iterator[str]:
    """Write plots and sheets; warnings."""
    from vidsum.pipelines import export
    from vidsum.results.shots import Shots

    if "plot" in files.named and not isinstance(result, Shots):
        yield from export.write_plot(result, files.named["plot"])
    if "sheet" in files.named:
        export.write_sheet(result, files.named["sheet"])


def _files_before(files: Files, besides: Sequence[Path]) -> list[Path]:
    """Return the clips, plots and sheets of the earlier result, by their label, that the new one does not
    have.
    """
    from vidsum.pipelines.export import read_encoding_tag, read_result_record

    try:
        before = read_result_record(files.record)
    except InputError:
        return []
    pictures = [files.record.with_name(f"{files.clip_stem}_{end}") for end in _PICTURES]
    ours = [*besides, *files.all]
    old = [path for path in (*files.clips(before), *pictures) if path not in ours and path.is_file()]
    return [path for path in old if read_encoding_tag(path, before["provenance"]) is not None]


def _recorded(files: Files, provenance: Mapping[str, Any], form: str) -> dict[str, Any] | None:
    """Return the document of an earlier run if one of the outputs exists and all were made from
    `provenance`.
    """
    outputs, record = files.all, files.record
    existing = [path for path in outputs if path.exists()]
    if not existing or can_resume(record, provenance):
        return None
    from vidsum.io.provenance import difference
    from vidsum.pipelines.export import read_result_record

    try:
        document = read_result_record(record)
    except InputError as error:
        place = record if record.exists() else existing[0]
        raise OutputError(f"{place}: already exists, and {error.message}", hint=HINT) from error
    before, now = map(_with_defaults, (document["provenance"], provenance))
    if before != now:
        raise OutputError(f"{existing[0]}: already exists, made {difference(before, now)}", hint=HINT)
    require_made_from(existing, document["provenance"], form)
    return document


def can_resume(record: Path, provenance: Mapping[str, Any]) -> bool:
    """Return whether a run that was stopped had begun to write the same."""
    from vidsum.io.provenance import digest_of

    mark = read_mark(record)
    return mark is not None and mark[0] == digest_of(provenance)


@contextmanager
def unfinished(
    outputs: Sequence[Path], record: Path, provenance: Mapping[str, Any], source: str
) -> Iterator[None]:
    """While several outputs are written, keep a mark beside `record`: they are being made from `provenance`.

    After a run that was stopped between two of them, the mark tells the next run that they are ours.
    """
    from vidsum.io.provenance import digest_of

    mark, before = mark_of(record), _states(outputs)
    try:
        with suppress(OSError):  # a folder that cannot be written to is told of by the first output
            text = f"{digest_of(provenance)}\n{Path(source).name}"
            mark.write_text(text, encoding="utf-8", errors="surrogateescape")
        yield
    except BaseException:
        if _states(outputs) == before:  # nothing has been written
            _remove(mark)
        raise
    finally:
        for path, was, now in zip(outputs, before, _states(outputs), strict=True):
            if path.suffix in _TEXTS and path.is_file() and was != now:
                note(path.read_bytes(), path.parent)
    _remove(mark)


def _states(paths: Sequence[Path]) -> list[tuple[int, int] | None]:
    """What changes when a file or folder is written; None where there is none."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(one.st_ino, one.st_mtime_ns) if one else None for one in found]


def _remove(mark: Path) -> None:
    with suppress(OSError):  # it was not there, or its name was too long for one
        mark.unlink()


def _with_defaults(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance block with the options that it leaves out, as earlier versions recorded them."""
    kinds = {"shots": ShotSettings, "summary": Selection, "grounding": Retrieval}
    filled = {
        part: as_record(kind()) | provenance[part] for part, kind in kinds.items() if part in provenance
    }
    if "grounding" in filled:  # where speech is not searched, nothing is recorded
        filled["grounding"]["evidence"] = provenance["grounding"].get("evidence")
    return {**provenance, **filled}
