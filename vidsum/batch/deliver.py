"""Make the result of an input, and print its document or save it with its files."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from vidsum.batch.inputs import BatchInput
from vidsum.batch.reply import Reply
from vidsum.batch.settings import CommonOptions
from vidsum.errors import EmptyResultError, Problem, VidsumError
from vidsum.io.output_lists import Hashes
from vidsum.io.paths import reads_of
from vidsum.outputs.artifacts import Artifacts, Document, Notice, Writer
from vidsum.outputs.output_records import is_result, lock

R = TypeVar("R", bound=Any)
_MAX_NAMED_FILES = 3  # removed files that the output names; it counts the others


def _document_of(result: Any, keys: Collection[str]) -> Document:
    document: Document = result.to_dict()
    return document


@dataclass(frozen=True)
class ResultSpec(Generic[R]):
    """How a result is made, read back, and compared with an earlier one."""

    provenance: Mapping[str, Any]
    run: Callable[[], R]
    load: Callable[[Document], R] | None = None  # returns the result of a document, if that can be read back
    writers: Mapping[str, Writer] = field(default_factory=dict)  # by the kind of a file
    document: Callable[[R, Collection[str]], Document] = _document_of
    """Returns a result as JSON, with the optional parts that were requested or are among some keys."""
    select: Callable[[R], R | None] = lambda result: result
    """Returns the part of an earlier result that was requested; None if it lacks some of it."""
    merge: Callable[[R, R], R] | None = None
    """Adds a new result to an earlier one that was made in the same way."""
    shared: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda provenance: provenance
    """Returns the part of a provenance that results to be merged share."""
    clips: Callable[[R], Sequence[Path]] = lambda result: ()
    other_clips: Callable[[Document, R], Sequence[Path]] = lambda earlier, part: ()
    """Returns the clips of an earlier document that are about something else than a new result."""
    tags: Mapping[str, str] = field(default_factory=dict)  # `Encoding.tag` of the MP4 files, by kind

    def is_alike(self, earlier: Document | None) -> bool:
        """Return whether an earlier result was made in the same way, as far as merged ones share it."""
        shared = self.shared(self.provenance)
        return earlier is not None and self.shared(earlier.get("provenance", {})) == shared

    def find_unchanged(self, artifacts: Artifacts, kinds: Collection[str]) -> R | None:
        """Return the requested part of the earlier result, if its files are there as it wrote them."""
        earlier, hashes = artifacts.read()
        if earlier is None or self.load is None or not self.is_alike(earlier) or artifacts.is_interrupted():
            return None
        if not all(artifacts.holds(artifacts.files[kind], hashes) for kind in kinds if kind != "clips"):
            return None
        before = self.load(earlier)
        part = self.select(before)
        if part is None or not all(self.holds(artifacts, kind, part, hashes) for kind in kinds):
            return None
        document = self.document(part, ())
        shows_all = not (self.merge and kinds) or document == self.document(before, ())
        has_all = not is_result(artifacts.record) or set(earlier) >= set(document)
        return part if shows_all and has_all else None

    def holds(self, artifacts: Artifacts, kind: str, part: R, hashes: Hashes) -> bool:
        """Return whether the files of a kind are as a run with the same settings wrote them."""
        paths = self.clips(part) if kind == "clips" else [artifacts.files[kind]]
        if not all(artifacts.holds(path, hashes) for path in paths):
            return False
        if kind not in self.tags:
            return True
        from vidsum.outputs.mp4 import read_encoding_tag

        videos = [path for path in paths if path.suffix == ".mp4"]
        return all(read_encoding_tag(path, self.provenance) == self.tags[kind] for path in videos)

    def compose(
        self, whole: R, part: R, earlier: Document | None, *, overwrite: bool
    ) -> tuple[Document, Callable[[str], bool]]:
        """Return the document to write, and which of the earlier files belong to it too.

        It is the earlier one of the same, if that has all, or both merged.
        """
        document = self.document(whole, ())
        has_all = earlier is not None and set(earlier) >= set(self.document(part, ()))
        if earlier is None or not self.is_alike(earlier) or (self.merge and not has_all):
            others = {path.name for path in self.other_clips(earlier, part)} if earlier else set[str]()
            return document, lambda name: Path(name).name in others
        if self.load is None:
            return document, lambda name: True
        before = self.load(earlier)
        if self.merge:
            merged, clips = self.document(self.merge(before, whole), earlier), self.clips(before)
            names = {path.name for path in clips}
            return merged, lambda name: merged == earlier or Path(name).name in names
        is_whole = has_all and self.select(before) is not None and not overwrite
        return earlier if is_whole else document, lambda name: True


def deliver(
    item: BatchInput,
    common: CommonOptions,
    spec: ResultSpec[R],
    describe: Callable[[R, str], Reply],
    *,
    page_clips: tuple[Path, str] | None = None,
    prints_only: bool = False,
) -> Reply:
    """Return the answer about an input whose document was made, or whose files were written.

    Args:
        item: the input with its files.
        common: whether foreign files are replaced, and the document printed.
        spec: how the result is made.
        describe: returns lines and a table for people; gets the names of the files, in words.
        page_clips: folder and stem of the clips that are written, for links on the page.
        prints_only: write nothing, and print the answer.

    Raises OutputError: a file exists that vidsum did not write or that was edited since.
    """
    answer = _deliver(item, common, spec, describe, page_clips, prints_only=prints_only)
    name = _subtitles_in(spec.provenance)
    return replace(answer, lines=(*answer.lines, f"transcript: {name}")) if name else answer


def _subtitles_in(provenance: Mapping[str, Any]) -> str | None:
    """Return the subtitles that were the transcript: a file next to the video is taken by its name."""
    for facts in (provenance, *(part for part in provenance.values() if isinstance(part, Mapping))):
        if isinstance(speech := facts.get("speech"), Mapping) and "subtitles" in speech:
            return str(speech["subtitles"])
    return None


def _deliver(
    item: BatchInput,
    common: CommonOptions,
    spec: ResultSpec[R],
    describe: Callable[[R, str], Reply],
    page_clips: tuple[Path, str] | None,
    *,
    prints_only: bool,
) -> Reply:
    artifacts = item.artifacts
    if artifacts is None or common.to_stdout or prints_only:
        result = spec.run()
        data = spec.document(result, ())
        made = describe(result, item.path) if prints_only else Reply(document=data)
        return replace(made, data=data, messages=result.messages)
    kinds = [kind for kind in spec.writers if kind in artifacts.files]
    part = None
    with lock(artifacts.record):  # no other process is renaming these files
        if not common.overwrite:
            part = spec.find_unchanged(artifacts, kinds)
        if not common.overwrite and (part is None or item.exports):
            artifacts.require_ours(artifacts.files.values())
    if part is not None and not item.exports:
        return _describe_files(item, spec, describe, part, "", is_new=False)
    return _save(item, common, spec, describe, part, page_clips)


def _save(
    item: BatchInput,
    common: CommonOptions,
    spec: ResultSpec[R],
    describe: Callable[[R, str], Reply],
    unchanged: R | None,
    page_clips: tuple[Path, str] | None,
) -> Reply:
    """Return the answer about a result whose files are written; `unchanged` needs its exports only."""
    assert item.artifacts is not None
    artifacts, exports = item.artifacts, item.exports
    whole = unchanged if unchanged is not None else spec.run()
    part = (spec.select(whole) if spec.merge else None) or whole
    if "clips" in artifacts.files and not (common.overwrite or unchanged is not None):
        artifacts.require_ours(spec.clips(part))
    states = list[tuple[Document, Document]]()

    def compose(earlier: Document | None) -> tuple[Document, Callable[[str], bool]]:
        if not is_result(artifacts.record):
            return {"provenance": dict(spec.provenance)}, lambda name: spec.is_alike(earlier)
        document, belongs = spec.compose(whole, part, earlier, overwrite=common.overwrite)
        states.append((earlier or {}, document))
        return document, belongs

    def is_fresh(kind: str, earlier: Document | None, hashes: Hashes) -> bool:
        if kind in exports or common.overwrite or artifacts.is_interrupted():
            return False
        can_stay = kind in spec.tags or unchanged is not None
        return can_stay and spec.is_alike(earlier) and spec.holds(artifacts, kind, part, hashes)

    writers = {kind: write for kind, write in spec.writers.items() if kind in artifacts.files}
    changed, deleted, notices = artifacts.write(
        part,
        writers | _export_writers(item, common, spec.document(part, ()), page_clips),
        overwrite=common.overwrite,
        compose=compose,
        is_fresh=is_fresh,
        optional=exports,
        reads={**reads_of([item.path]), **common.reads},
    )
    removed = _removed_files(deleted, artifacts)
    removed += _lost_queries(*states[-1]) if states and spec.merge else ""
    is_new = common.overwrite or bool(changed - {artifacts.files[kind] for kind in exports})
    answer = _describe_files(item, spec, describe, part, removed, is_new=is_new)
    return _with_notices(answer, item, common, notices, changed)


def _export_writers(
    item: BatchInput, common: CommonOptions, document: Document, clips: tuple[Path, str] | None
) -> dict[str, Writer]:
    """Return the writers of the exports, which get the result as its document has it."""
    if not item.exports or item.artifacts is None:
        return {}
    from vidsum.outputs.exports import export_writers
    from vidsum.results.load import exportable_of

    writers = export_writers(item.artifacts, item.exports, common.media, clips)
    return {kind: partial(_write_made, write, exportable_of(document)) for kind, write in writers.items()}


def _write_made(write: Writer, made: Any, result: Any, path: Path) -> Iterable[str]:
    return write(made, path)


def _describe_files(
    item: BatchInput,
    spec: ResultSpec[R],
    describe: Callable[[R, str], Reply],
    part: R,
    removed: str,
    *,
    is_new: bool,
) -> Reply:
    """Return the answer about a result whose files were written, or found up to date."""
    assert item.artifacts is not None
    named = {kind: path for kind, path in item.artifacts.files.items() if kind not in item.exports}
    clips = spec.clips(part) if "clips" in named else ()
    folder, files = named.pop("clips", None), list(named.values())
    names = ", ".join(str(path) for path in files if path.exists())  # an MP4 may have nothing to show
    if n_clips := sum(path.suffix == ".mp4" for path in clips):
        names += f" and {n_clips} clip{'s' if n_clips > 1 else ''} in {folder}"
    answer, document = describe(part, names + removed), spec.document(part, ())
    facts: dict[str, Any] = {kind: str(path) for kind, path in named.items()}
    if folder:
        facts["clips"] = [str(path) for path in clips]
    state = {} if is_new else {"up_to_date": True}
    lines = answer.lines if is_new else (*answer.lines[:-1], f"{answer.lines[-1]} (unchanged)")
    data = {**state, "outputs": facts, **document}
    return replace(answer, data=data, lines=lines, messages=part.messages)


def _with_notices(
    answer: Reply,
    item: BatchInput,
    common: CommonOptions,
    notices: Sequence[Notice],
    changed: Collection[Path],
) -> Reply:
    """Return an answer with what writers have to say, and a line about each export.

    Each export that cannot be written is an error of its own. Without moments, timelines are left out.
    """
    assert item.artifacts is not None
    faults = {kind: notice for kind, notice in notices if isinstance(notice, VidsumError)}
    messages = [*answer.messages]
    for _, notice in notices:
        if isinstance(notice, str):
            messages.append(notice)
        elif isinstance(notice, EmptyResultError):
            messages.append(notice.message)
    errors = [Problem.of(fault) for fault in faults.values() if not isinstance(fault, EmptyResultError)]
    written = {kind: item.artifacts.files[kind] for kind in item.exports if kind not in faults}
    lines = [str(path) if path in changed else f"{path} (unchanged)" for path in written.values()]
    exports = {kind: str(path) for kind, path in written.items()}
    return replace(
        answer,
        data={**answer.data, "outputs": {**answer.data["outputs"], **exports}},
        lines=(*answer.lines, *lines),
        messages=tuple(dict.fromkeys(messages)),
        errors=tuple(dict.fromkeys(errors)),
        exit_code=1 if errors else answer.exit_code,
    )


def _removed_files(names: Sequence[str], artifacts: Artifacts) -> str:
    """Say which files of the earlier result were removed: nothing if none."""
    if not names:
        return ""
    named = sorted(names, key=lambda name: name.count("/"))[:_MAX_NAMED_FILES]  # rather than names in folders
    paths = [str(artifacts.record.parent / name) for name in named]
    more = f" and {len(names) - len(paths)} more" if len(names) > len(paths) else ""
    return f"; removed {len(names)} of the earlier result ({', '.join(paths)}{more})"


def _lost_queries(earlier: Document, document: Document) -> str:
    """Say which queries are no longer in the file: another run with other settings added them meanwhile."""
    known = {answer["query"] for answer in document.get("queries", ())}
    lost = [repr(answer["query"]) for answer in earlier.get("queries", ()) if answer["query"] not in known]
    return f"; removed by these settings, ask again: {', '.join(lost)}" if lost else ""
