"""Save results: leave up-to-date files alone, replace those that vidsum wrote, refuse all others.

All files of a result are written under hidden names first. Then files of the earlier result of this record
that the new one does not have are removed, and the record is written, with the hashes of the files that are
about to be renamed; `.vidsum.json` has the hashes of those that they replace meanwhile. So after a kill each
file is either the old one or the new one, and recorded as such. Files of other results are never removed.

Of several processes that make the files of one record, one at a time looks at them or renames them. Results
are made, and most files written, without that lock: a process that another one was ahead of looks again, and
may find its result up to date.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vidsum.features.settings import Extraction
from vidsum.io.paths import require_not_read
from vidsum.pipelines import staging
from vidsum.pipelines.records import (
    Earlier,
    add_to_folder,
    forget_in_folder,
    hash_of,
    lock,
    name_in,
    remove_empty_folders,
)
from vidsum.pipelines.tasks import Files

if TYPE_CHECKING:
    from vidsum.results.moments import Grounding, Highlights
    from vidsum.results.shots import Shots
    from vidsum.types import Progress

R = TypeVar("R", bound=Any)
_MAX_NAMED_FILES = 3  # removed files that the output names; it counts the others


@dataclass(frozen=True)
class Saving(Generic[R]):
    """Functions that make, read and write the result of one input."""

    provenance: Mapping[str, Any]
    run: Callable[[], R]
    load: Callable[[Mapping[str, Any]], R]  # returns the result of a document
    write: Callable[[R, Files], Iterable[str]] = lambda result, files: ()
    """Writes all files but the record, and returns warnings."""
    document: Callable[[R, Collection[str]], dict[str, Any]] = lambda result, _: result.to_dict()
    """Returns a result as JSON, with the optional parts that were requested or are among some keys."""
    select: Callable[[R], R | None] = lambda result: result
    """Returns the part of an earlier result that was requested; None if it lacks some of it."""
    merge: Callable[[R, R], R] | None = None
    """Adds a new result to an earlier one that was made in the same way."""
    shared: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda provenance: provenance
    """Returns the part of a provenance that results to be merged share."""
    is_apart: Callable[[R, str], bool] = lambda result, name: False
    """Returns whether a file of an earlier result is about something else than the new one: it stays."""
    encoding_tag: str = ""  # see `vidsum.video.settings.Encoding.tag`

    def is_made_alike(self, earlier: Earlier) -> bool:
        """Return whether an earlier result was made in the same way, as far as merged ones share it."""
        document = earlier.document
        return document is not None and (self.shared(document["provenance"]) == self.shared(self.provenance))


@dataclass(frozen=True)
class Saved(Generic[R]):
    """A result whose files were written, or found up to date."""

    result: R
    document: Mapping[str, Any]  # its requested part, as JSON
    names: str  # the files, in words
    clips: Sequence[Path]
    messages: tuple[str, ...]
    is_new: bool


def save_result(files: Files, saving: Saving[R], *, overwrite: bool) -> Saved[R]:
    """Return the result of one input after its files were written, or found up to date.

    Raises OutputError: a file exists that vidsum did not write or that was changed since.
    """
    with lock(files.record):  # no other process is renaming these files
        earlier = Earlier.read(files)
        is_same = saving.is_made_alike(earlier)
        if is_same and not overwrite and (unchanged := _unchanged(files, saving, earlier)):
            return unchanged
        if not overwrite:
            earlier.require_ours([files.record, *files.all])
    whole = saving.run()
    result = (saving.select(whole) if saving.merge else None) or whole
    part = saving.document(result, ())
    clips = files.clips(part)
    look_again = partial(save_result, files, replace(saving, run=lambda: whole), overwrite=overwrite)
    with ExitStack() as stack:
        stack.enter_context(lock(files.record))
        before, earlier = earlier, Earlier.read(files)  # another process may have been ahead of this one
        if not saving.merge and earlier != before:
            stack.close()
            return look_again()
        is_same = saving.is_made_alike(earlier) and (not saving.merge or set(earlier.keys) >= set(part))
        is_added_to = is_same and (saving.merge or not overwrite)
        document = _whole(whole, saving, earlier) if is_added_to else saving.document(whole, ())
        if not overwrite:
            earlier.require_ours([files.record, *clips])
        if not saving.merge:
            stack.close()  # to encode takes time
        fresh = _fresh(files, clips, saving, earlier) if is_same and not overwrite else []
        staged = stack.enter_context(staging.stage(files, clips, fresh))
        messages = staged.write(lambda shadow: saving.write(result, shadow))
        produced = staged.produced()
        if not saving.merge:
            stack.enter_context(lock(files.record))
            if Earlier.read(files) != earlier:
                stack.close()
                return look_again()
        if not overwrite:
            earlier.require_ours(produced)
        for path in produced:  # writers see only the hidden names
            require_not_read(path)
        has_changed = document != earlier.document or any(map(staging.differs, produced, produced.values()))
        is_new = overwrite or has_changed
        carried = _carry(earlier, saving, document) if is_same else _apart(earlier, saving, result)
        outdated = [name for name in earlier.removable(files) if not saving.is_apart(result, name)]
        stale = [] if is_same else earlier.exports(files)
        removed = _publish(files, document, produced, earlier, carried, outdated) if is_new else ()
    messages += [f"{path}: shows the earlier result (--export or --report makes it again)" for path in stale]
    names = _names(files, clips) + _removed_files(removed, files)
    names += "" if is_same or not saving.merge else _lost_queries(earlier, whole)
    messages = list(dict.fromkeys([*part["warnings"], *messages]))  # reader and writer may warn of the same
    return Saved(result, part, names, clips, tuple(messages), is_new)


def _removed_files(names: Sequence[str], files: Files) -> str:
    """Say which files of the earlier result were removed: nothing if none."""
    if not names:
        return ""
    named = sorted(names, key=lambda name: name.count("/"))[:_MAX_NAMED_FILES]  # rather than those in folders
    paths = [str(files.record.parent / name) for name in named]
    more = f" and {len(names) - len(paths)} more" if len(names) > len(paths) else ""
    return f"; removed {len(names)} of the earlier result ({', '.join(paths)}{more})"


def _lost_queries(earlier: Earlier, result: R) -> str:
    """Say which queries are no longer in the file: another run with other settings added them meanwhile."""
    queries = earlier.document["queries"] if earlier.document else ()
    known = {answer.query for answer in result.queries}
    lost = [repr(answer["query"]) for answer in queries if answer["query"] not in known]
    return f"; removed by these settings, ask again: {', '.join(lost)}" if lost else ""


def _unchanged(files: Files, saving: Saving[R], earlier: Earlier) -> Saved[R] | None:
    """Return the result in an earlier record, if its files are those requested; else None."""
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
    messages = tuple(document["warnings"])
    return Saved(part, document, _names(files, clips), clips, messages, is_new=False)


def _fresh(files: Files, clips: Sequence[Path], saving: Saving[R], earlier: Earlier) -> list[Path]:
    """Return the files that are as an earlier run with the same settings wrote them."""
    from vidsum.pipelines.export import read_encoding_tag

    assert earlier.document is not None
    provenance = earlier.document["provenance"]
    tags = dict.fromkeys(clips, files.clip_settings.tag)
    if "video" in files.named:
        tags[files.named["video"]] = saving.encoding_tag
    paths = [path for path in (*files.unlisted, *clips) if earlier.is_current(path)]
    return [path for path in paths if path not in tags or read_encoding_tag(path, provenance) == tags[path]]


def _whole(result: R, saving: Saving[R], earlier: Earlier) -> dict[str, Any]:
    """Return the document to write: an earlier one of the same, if it has all, or both merged."""
    assert earlier.document is not None
    before = saving.load(earlier.document)
    if saving.merge:
        return saving.document(saving.merge(before, result), earlier.keys)
    if saving.select(before) is not None and set(earlier.keys) >= set(saving.document(result, ())):
        return earlier.document
    return saving.document(result, ())


def _publish(
    files: Files,
    document: dict[str, Any],
    produced: Mapping[Path, Path],
    earlier: Earlier,
    carried: Mapping[str, str],
    outdated: Sequence[str],
) -> Sequence[str]:
    """Write the record, rename the files, and return the files of the earlier result that were removed.

    `carried` are the hashes of files of the earlier result that belong to the new one too; `outdated` are
    those to remove if they do not.
    """
    from vidsum.results.result import write_document

    record, folder = files.record, files.record.parent
    hashes = {name_in(path, record): hash_of(shadow) for path, shadow in produced.items()}
    outputs = {**carried, **hashes}
    outdated = [name for name in outdated if name not in outputs]
    replaced = earlier.current().items() - outputs.items()
    add_to_folder(folder, {name: sha256 for name, sha256 in replaced if name not in outdated})
    for name in outdated:
        Path(folder, name).unlink(missing_ok=True)
    if files.has_json:
        entry = {"outputs": dict(sorted(outputs.items()))} if outputs else {}
        write_document({**document, **entry}, record)
    else:
        add_to_folder(folder, hashes)
    for path, shadow in produced.items():
        staging.move(shadow, path)
    if files.has_json:
        forget_in_folder(folder, [*outputs, *outdated])
    else:
        add_to_folder(folder, hashes, only=True)
    remove_empty_folders(record, outdated)
    return outdated


def _carry(earlier: Earlier, saving: Saving[R], document: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of an earlier result, made in the same way, that belong to a new document too."""
    current = earlier.current()
    if not saving.merge or document == earlier.document:
        return current
    return {name: sha256 for name, sha256 in current.items() if name.endswith(".mp4")}  # plots show all


def _apart(earlier: Earlier, saving: Saving[R], result: R) -> dict[str, str]:
    """Return the files of an earlier result, made in another way, that stay."""
    return {name: sha256 for name, sha256 in earlier.current().items() if saving.is_apart(result, name)}


def _names(files: Files, clips: Sequence[Path]) -> str:
    names = ", ".join(str(path) for path in files.all if path.exists())  # an MP4 may have nothing to show
    if clips:
        names += f" and {len(clips)} clip{'s' if len(clips) > 1 else ''} in {files.clip_folder}"
    return names


def write_moments(
    result: "Grounding | Highlights | Shots",
    files: Files,
    progress: "Progress | None",
    *,
    extraction: Extraction = Extraction(),
) -> Iterator[str]:
    """Write the clips, plots and sheet of moments, highlights or shots; yield warnings."""
    from vidsum.pipelines import export
    from vidsum.pipelines.clips import save_clips
    from vidsum.results.shots import Shots

    if files.clip_folder:
        yield from save_clips(
            result, files.clip_folder, files.clip_stem, files.clip_settings, extraction, progress
        )
    if "plot" in files.named and not isinstance(result, Shots):
        yield from export.write_plot(result, files.named["plot"])
    if "sheet" in files.named:
        export.write_sheet(result, files.named["sheet"])
