"""Save results: leave up-to-date files alone, replace those that vidsum wrote, refuse all others.

The JSON record of a result lists the files written with it under `outputs`, with their SHA-256; files without
such a record are listed in `.vidsum.json` in their folder. A file is ours if its content has the SHA-256 that
is recorded for it.

All files of a result are written under hidden names first. Then the record is written, with the hashes of the
files that are about to be renamed; `.vidsum.json` keeps the hashes of those that they replace meanwhile. So
after a kill each file is either the old one or the new one, and recorded as such.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from filelock import FileLock

from vidsum.commands import legacy
from vidsum.commands.outputs import Files, Outputs
from vidsum.commands.result import CommandResult
from vidsum.errors import InputError, OutputError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.io.cache import home
from vidsum.io.outputs import atomic_write, check_name, check_target, is_special, make_folder
from vidsum.options import as_record, leaves
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.results.moments import Grounding, Highlights
    from vidsum.results.shots import Shots
    from vidsum.types import Progress

R = TypeVar("R", bound=Any)

HINT = "--overwrite, or -o FILE"
FOLDER_RECORD = ".vidsum.json"
_SCHEMA = "vidsum.outputs/1"
_STEM_LETTERS = 40
_PICTURES = (".mp4", ".png", ".svg")
"""Clips, plots and sheets, which are removed with the moments that they show."""


@dataclass(frozen=True)
class Saving(Generic[R]):
    """How a command makes, writes and prints the result of one input."""

    provenance: Mapping[str, Any]
    run: Callable[[], R]
    document: Callable[[R, Collection[str]], dict[str, Any]]
    """Returns a result as JSON, with the optional parts that were requested or are among some keys."""
    write: Callable[[R, Files], Iterable[str]]
    """Writes all files but the record, and returns warnings."""
    answer: Callable[[R, str], CommandResult]
    """Lines and a table for people; the text names the files."""
    load: Callable[[Mapping[str, Any]], R]
    """Returns the result of a document."""
    select: Callable[[R], R | None] = lambda result: result
    """Returns the part of an earlier result that was requested; None if it lacks some of it."""
    merge: Callable[[R, R], R] | None = None
    """Adds a new result to an earlier one that was made in the same way."""
    shared: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda provenance: provenance
    """Returns the part of a provenance that results to be merged share."""
    encoding_tag: str = ""
    """See `vidsum.video.settings.Encoding.tag`."""


def save_result(files: Files, saving: Saving[R], outputs: Outputs) -> CommandResult:
    """Return the result of one input after its files were written, or found up to date.

    Raises OutputError: a file exists that vidsum did not write or that was changed since.
    """
    earlier = Earlier.read(files)
    is_same = _is_same(earlier, saving)
    if is_same and not outputs.overwrite and (unchanged := _unchanged(files, saving, earlier)):
        return unchanged
    if not outputs.overwrite:
        earlier.require_ours([files.record, *files.all])
    result, note = saving.run(), ""
    part = saving.document(result, ())
    with ExitStack() as stack:
        if saving.merge:
            stack.enter_context(_lock(files.record))
            earlier = Earlier.read(files)  # another process may have added to it
            is_same = _is_same(earlier, saving) and set(earlier.keys) >= set(part)
            note = "" if is_same or not earlier.keys else "; replaced earlier queries, of other settings"
        is_added_to = is_same and (saving.merge or not outputs.overwrite)
        document, clips = _whole(result, saving, earlier) if is_added_to else part, files.clips(part)
        if not outputs.overwrite:
            earlier.require_ours([files.record, *clips])
        fresh = _fresh(files, clips, saving, earlier) if is_same and not outputs.overwrite else []
        staged = stack.enter_context(_stage(files, clips, fresh))
        messages = staged.write(lambda shadow: saving.write(result, shadow))
        produced = staged.produced()
        if not outputs.overwrite:
            earlier.require_ours(produced)
        kept = ("",) if is_same and not saving.merge else (".mp4",) if is_same else ()
        has_changed = document != earlier.document or any(map(_differs, produced, produced.values()))
        is_new = outputs.overwrite or has_changed
        n_removed = _publish(files, document, produced, earlier, kept) if is_new else 0
    names = _names(files, clips) + (f"; removed {n_removed} of the earlier result" if n_removed else "")
    answer = saving.answer(result, names + note)
    warnings = dict.fromkeys([*part["warnings"], *messages])  # reader and writer may warn of the same
    state: dict[str, Any] = {} if is_new else {"up_to_date": True}
    data = {**state, **files.facts(clips), **part}
    lines = answer.lines if is_new else _mark_unchanged(answer.lines)
    return replace(answer, data=data, lines=lines, messages=tuple(warnings))


def _is_same(earlier: "Earlier", saving: Saving[R]) -> bool:
    """Return whether an earlier result was made from the same, or from what results to be merged share."""
    if earlier.document is None:
        return False
    provenances = (earlier.document["provenance"], saving.provenance)
    before, now = (_with_defaults(saving.shared(provenance)) for provenance in provenances)
    return before == now


def _with_defaults(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance block with the options that it leaves out, as earlier versions recorded them."""
    kinds = {"shots": ShotSettings, "summary": Selection, "grounding": Retrieval}
    filled = {
        part: as_record(kind()) | provenance[part] for part, kind in kinds.items() if part in provenance
    }
    if "grounding" in filled:  # where speech is not searched, nothing is recorded
        filled["grounding"]["evidence"] = provenance["grounding"].get("evidence")
    return {**provenance, **filled}


def _unchanged(files: Files, saving: Saving[R], earlier: "Earlier") -> CommandResult | None:
    """Return the answer in an earlier record, if its files are those requested; else None."""
    assert earlier.document is not None
    whole = saving.load(earlier.document)
    part = saving.select(whole)
    if part is None:
        return None
    document = saving.document(part, ())
    others, clips = files.unlisted, files.clips(document)
    shows_all = not (saving.merge and others) or document == saving.document(whole, ())
    is_fresh = len(_fresh(files, clips, saving, earlier)) == len([*others, *clips])
    if not (is_fresh and shows_all and set(earlier.keys) >= set(document)):
        return None
    if earlier.is_legacy:
        _publish(files, earlier.document, {}, earlier, kept=("",))
    answer = saving.answer(part, _names(files, clips))
    lines = _mark_unchanged(answer.lines)
    data = {"up_to_date": True, **files.facts(clips), **document}
    return replace(answer, data=data, lines=lines, messages=tuple(earlier.document["warnings"]))


def _fresh(files: Files, clips: Sequence[Path], saving: Saving[R], earlier: "Earlier") -> list[Path]:
    """Return the files that are as an earlier run with the same settings wrote them."""
    from vidsum.pipelines.export import read_encoding_tag

    assert earlier.document is not None
    provenance = earlier.document["provenance"]
    tags = dict.fromkeys(clips, files.clip_settings.tag)
    if "video" in files.named:
        tags[files.named["video"]] = saving.encoding_tag
    paths = [path for path in (*files.unlisted, *clips) if earlier.is_current(path)]
    return [path for path in paths if path not in tags or read_encoding_tag(path, provenance) == tags[path]]


def _whole(result: R, saving: Saving[R], earlier: "Earlier") -> dict[str, Any]:
    """Return the document to write: an earlier one of the same, if it has all, or both merged."""
    assert earlier.document is not None
    before = saving.load(earlier.document)
    if saving.merge:
        return saving.document(saving.merge(before, result), earlier.keys)
    if saving.select(before) is not None and set(earlier.keys) >= set(saving.document(result, ())):
        return earlier.document
    return saving.document(result, ())


def _mark_unchanged(lines: tuple[str, ...]) -> tuple[str, ...]:
    return (*lines[:-1], f"{lines[-1]} (unchanged)") if lines else ()


def _names(files: Files, clips: Sequence[Path]) -> str:
    names = ", ".join(map(str, files.all))
    if clips:
        names += f" and {len(clips)} clip{'s' if len(clips) > 1 else ''} in {files.clip_folder}"
    return names


def document_result(result: R, *, in_table: bool = False) -> CommandResult:
    """Return a result for stdout: its document, unless all results go into one table."""
    document = result.to_dict()
    return CommandResult(data=document, document=None if in_table else document, messages=result.warnings)


def write_moments(
    result: "Grounding | Highlights | Shots",
    files: Files,
    progress: "Progress | None",
    *,
    extraction: Extraction = Extraction(),
) -> Iterator[str]:
    """Write the clips, plots and sheet of moments, highlights or shots; yield warnings."""
    from vidsum.pipelines import export
    from vidsum.pipelines.clips import write_clips
    from vidsum.results.shots import Shots

    if files.clip_folder:
        settings: Any = {leaf.name: leaf.default for leaf in leaves(Clips, files.clip_settings)}
        settings |= {"extraction": extraction, "progress": progress}
        yield from write_clips(result, files.clip_folder, files.clip_stem, **settings)
    if "plot" in files.named and not isinstance(result, Shots):
        yield from export.write_plot(result, files.named["plot"])
    if "sheet" in files.named:
        export.write_sheet(result, files.named["sheet"])


def existing(files: Files) -> CommandResult | None:
    """Return the result of an input that `--skip-existing` skips, as all its files exist; else None.

    Clips are not considered: their number depends on the result.
    """
    if not all(path.exists() for path in (*files.all, *files.derived)):
        return None
    names = ", ".join(map(str, files.all))
    return CommandResult(data={"skipped": True, **files.facts()}, lines=(f"{names}: exists, skipped",))


# --- what earlier runs left ---


@dataclass(frozen=True)
class Earlier:
    """The outputs that an earlier run left at the paths of a result."""

    record: Path
    document: dict[str, Any] | None
    """The record, if nobody edited it."""
    fault: str
    """Why the record is not trusted."""
    outputs: Mapping[str, str]
    """The SHA-256 of each file of the record, by its path relative to the record's folder."""
    is_legacy: bool = False
    """Whether an earlier version of vidsum wrote it."""

    @classmethod
    def read(cls, files: Files) -> "Earlier":
        """Read the record of a result and that of its folder."""
        from vidsum.pipelines.export import read_result_record

        record, document, fault = files.record, None, "was not written by vidsum, or edited since"
        for path in files.all:
            check_name(path)
        legacy.convert_notes(record.parent, add_to_folder)
        folder = read_folder(record.parent)
        try:
            document = read_result_record(record)
        except InputError as error:
            fault = error.message
        outputs = document.pop("outputs", {}) if document else {}
        if record.suffix != ".json":
            names = [_name(path, record) for path in files.all]
            outputs = {name: folder[name][-1] for name in names if name in folder}
        if outputs:
            return cls(record, document, fault, outputs)
        known = legacy.outputs_of(record, _candidates(files, document), document, folder)
        outputs = {_name(path, record): sha256 for path, sha256 in known.items()}
        return cls(record, document, fault, outputs, is_legacy=bool(known))

    @property
    def keys(self) -> Collection[str]:
        """The keys of the record; none without one."""
        return self.document or ()

    def is_current(self, path: Path) -> bool:
        """Return whether a file, or each recorded file of a folder, is as the record lists it."""
        name = _name(path, self.record)
        if not path.is_dir():
            return name in self.outputs and path.is_file() and _hash(path) == self.outputs[name]
        inside = [Path(self.record.parent, inner) for inner in self.outputs if inner.startswith(f"{name}/")]
        return bool(inside) and all(map(self.is_current, inside))

    def require_ours(self, paths: Iterable[Path]) -> None:
        """Raise an OutputError unless vidsum wrote the files that exist, and nobody changed them since."""
        for path in paths:
            check_name(path)
            if not path.is_file():
                continue
            if path == self.record and path.suffix == ".json":
                if self.document is None:
                    raise OutputError(f"{path}: already exists, and {self.fault}", hint=HINT)
            elif not (self.is_current(path) or _is_listed(path, self.record.parent)):
                fault = f"{path}: already exists, and was not written by vidsum, or edited since"
                raise OutputError(fault, hint=HINT)


def is_ours(path: Path, folder: Path | None = None) -> bool:
    """Return whether the record of a file's folder, or of another folder, lists a file as it is."""
    is_listed = _is_listed(path, folder or path.parent)
    return legacy.has_label(path) if is_listed is None else is_listed


def _is_listed(path: Path, folder: Path) -> bool | None:
    """Return whether the record of a folder lists a file as it is; None if it does not list it."""
    hashes = read_folder(folder).get(_name(path, folder / FOLDER_RECORD))
    return None if hashes is None else path.is_file() and _hash(path) in hashes


def _name(path: Path, record: Path) -> str:
    return Path(os.path.relpath(path, record.parent)).as_posix()


def _hash(path: Path) -> str:
    from vidsum.io.provenance import identify_file

    sha256: str = identify_file(path)["sha256"]
    return sha256


def _candidates(files: Files, document: Mapping[str, Any] | None) -> list[Path]:
    """Return the files that an earlier version may have written with a record."""
    clips = files.clips(document) if document else []
    if not files.clip_stem:
        return [*files.unlisted, *clips]
    name = re.compile(rf"{re.escape(files.clip_stem)}_\w+\.(png|svg)")
    pictures = [path for path in files.record.parent.iterdir() if name.fullmatch(path.name)]
    return list(dict.fromkeys([*files.unlisted, *clips, *pictures]))


# --- the record of a folder ---


def read_folder(folder: Path) -> dict[str, list[str]]:
    """Return the SHA-256 of files in a folder that no JSON record lists; two while a file is replaced."""
    try:
        document = json.loads((folder / FOLDER_RECORD).read_text("utf-8"))
        return dict(document["outputs"]) if document["schema"] == _SCHEMA else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def add_to_folder(folder: Path, hashes: Mapping[str, str], *, only: bool = False) -> None:
    """Record files of a folder, in addition to their earlier content unless `only` this is left."""
    if hashes:
        with _lock(folder):
            known = read_folder(folder)
            for name, sha256 in hashes.items():
                known[name] = list(dict.fromkeys([*([] if only else known.get(name, [])), sha256]))
            _write_folder(folder, known)


def _forget_in_folder(folder: Path, names: Iterable[str]) -> None:
    if set(names) & set(read_folder(folder)):
        with _lock(folder):
            known = read_folder(folder).items()
            _write_folder(folder, {name: hashes for name, hashes in known if name not in names})


def _write_folder(folder: Path, known: Mapping[str, list[str]]) -> None:
    log = folder / FOLDER_RECORD
    if log.is_symlink() or (log.exists() and not read_folder(folder)):
        return  # somebody else's
    with suppress(OutputError, OSError):  # outputs in a folder that cannot be written to are devices
        if not known:
            log.unlink(missing_ok=True)
            return
        with atomic_write(log) as part:
            document = {"schema": _SCHEMA, "outputs": dict(sorted(known.items()))}
            part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Exclude other processes that change the record at a path."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    with suppress(OSError):
        (home() / "locks").mkdir(parents=True, exist_ok=True)
    if not os.access(home() / "locks", os.W_OK):
        yield
        return
    with FileLock(home() / "locks" / f"{name}.lock"):
        yield


# --- writing ---


@dataclass(frozen=True)
class _Staged:
    """Hidden paths for the files of a result, by their final ones."""

    paths: Mapping[Path, Path]
    clips: Mapping[Path, Path]
    files: Files

    def write(self, write: Callable[[Files], Iterable[str]]) -> list[str]:
        """Write to the hidden paths and return warnings."""
        try:
            return list(write(self.files))
        except OutputError as error:
            message = error.message
            if folder := self.files.clip_folder:
                message = message.replace(str(folder), str(folder.parent))
            raise OutputError(message, hint=error.hint) from error

    def produced(self) -> dict[Path, Path]:
        """Return the hidden path of each file that was written, by its final one."""
        produced = dict[Path, Path]()
        for path, shadow in {**self.paths, **self.clips}.items():
            if shadow.is_dir():
                produced |= {path / inner.name: inner for inner in sorted(shadow.iterdir())}
            elif shadow.exists():
                produced[path] = shadow
        return produced


@contextmanager
def _stage(files: Files, clips: Sequence[Path], fresh: Sequence[Path]) -> Iterator[_Staged]:
    """Give hidden paths to the files of a result, except its record and videos that are up to date."""
    is_left = {path for path in fresh if path == files.named.get("video")}
    named = {
        kind: path for kind, path in files.named.items() if path not in is_left and path in files.unlisted
    }
    has_clips = bool(clips) and not set(clips) <= set(fresh)
    with ExitStack() as stack:
        paths = {path: stack.enter_context(hidden(path)) for path in named.values()}
        folder = None
        if has_clips and files.clip_folder:
            make_folder(files.clip_folder)
            folder = stack.enter_context(hidden(files.clip_folder / "clips"))
        shadows = {path: folder / path.name for path in clips} if folder else {}
        shadow = replace(files, named={kind: paths[path] for kind, path in named.items()}, clip_folder=folder)
        yield _Staged(paths, shadows, shadow)


@contextmanager
def hidden(target: Path) -> Iterator[Path]:
    """Give a hidden path next to a target, removed at the end; errors name the target.

    Raises OutputError: the target cannot be written.
    """
    if target.is_dir():
        place = target
    else:
        check_target(target)
        place = Path(os.path.realpath(target))
    if is_special(target):
        with TemporaryDirectory() as folder:
            yield Path(folder, f"part{target.suffix}")
        return
    shadow = place.with_name(f".{place.stem[:_STEM_LETTERS]}.{secrets.token_hex(4)}{place.suffix}")
    try:
        yield shadow
    except OutputError as error:
        raise OutputError(error.message.replace(str(shadow), str(target)), hint=error.hint) from error
    finally:
        if shadow.is_dir():
            shutil.rmtree(shadow, ignore_errors=True)
        else:
            shadow.unlink(missing_ok=True)


def _publish(
    files: Files,
    document: dict[str, Any],
    produced: Mapping[Path, Path],
    earlier: Earlier,
    kept: tuple[str, ...],
) -> int:
    """Write the record, rename the files, and return how many files of an earlier result were removed.

    `kept` are the endings of files of the earlier result that belong to the new one too.
    """
    from vidsum.results.result import write_document

    record, folder = files.record, files.record.parent
    hashes = {_name(path, record): _hash(shadow) for path, shadow in produced.items()}
    before = {name: sha for name, sha in earlier.outputs.items() if earlier.is_current(Path(folder, name))}
    carried = {name: sha for name, sha in before.items() if name.endswith(kept) and kept}
    listed = [name for name in read_folder(folder) if _is_listed(Path(folder, name), folder)]
    outdated = _outdated(files, before, {*before, *listed} - carried.keys() - hashes.keys())
    outputs = {**carried, **hashes}
    add_to_folder(folder, {name: sha for name, sha in before.items() if outputs.get(name) != sha})
    if files.has_json:
        entry = {"outputs": dict(sorted(outputs.items()))} if outputs else {}
        write_document({**document, **entry}, record)
    else:
        add_to_folder(folder, hashes)
    for path, shadow in produced.items():
        _move(shadow, path)
    for name in outdated:
        Path(folder, name).unlink(missing_ok=True)
    if files.has_json:
        _forget_in_folder(folder, [*outputs, *outdated])
    else:
        add_to_folder(folder, hashes, only=True)
    legacy.remove_mark(record)
    return len(outdated)


def _outdated(files: Files, before: Collection[str], names: Iterable[str]) -> list[str]:
    """Return the files of earlier results that show what the new one does not have."""
    folders = tuple(f"{_name(path, files.record)}/" for path in files.all)
    endings = _PICTURES if files.clip_stem else ()
    return [name for name in names if name.startswith(folders) or (name in before and name.endswith(endings))]


def _differs(target: Path, shadow: Path) -> bool:
    return not target.is_file() or _hash(target) != _hash(shadow)


def _move(shadow: Path, target: Path) -> None:
    """Rename a finished file, unless the target has the same content; devices are written into."""
    if not _differs(target, shadow):
        return
    make_folder(target.parent)
    with atomic_write(target) as part:
        if is_special(target):
            shutil.copyfile(shadow, part)
        else:
            shadow.replace(part)


@contextmanager
def replacing(target: Path, folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a hidden path to write a file to that no JSON record lists; then it becomes the target.

    Raises OutputError: the target is not ours, unless it may be overwritten; or it cannot be written.
    """
    require_replaceable(b"", target, overwrite=overwrite, folder=folder)
    with hidden(target) as shadow:
        yield shadow
        if not shadow.exists():
            return
        listed = {} if is_special(target) else {_name(target, folder / FOLDER_RECORD): _hash(shadow)}
        add_to_folder(folder, listed)
        _move(shadow, target)
        add_to_folder(folder, listed, only=True)


def require_replaceable(content: bytes, target: Path, *, overwrite: bool, folder: Path | None = None) -> bool:
    """Return whether a file has other content. Raises OutputError: it has, and may not be replaced."""
    if not target.is_file():
        return True
    if target.read_bytes() == content:
        return False
    if not overwrite and not is_ours(target, folder):
        fault = f"{target}: already exists, and was not written by vidsum, or edited since"
        raise OutputError(fault, hint=HINT)
    return True


def save_bytes(content: bytes, target: Path, *, overwrite: bool, folder: Path | None = None) -> bool:
    """Return whether a file was written; False where the same one is there. Errors: see `replacing`."""
    if not require_replaceable(content, target, overwrite=overwrite, folder=folder):
        return False
    with (
        replacing(target, folder or target.parent, overwrite=overwrite) as shadow,
        atomic_write(shadow) as part,
    ):
        part.write_bytes(content)
    return True


def save_text(text: str, target: Path, *, overwrite: bool) -> str:
    """Write a file, unless the same one is there already, and return a line about it."""
    is_new = save_bytes(text.encode(), target, overwrite=overwrite)
    return str(target) if is_new else f"{target} (unchanged)"
