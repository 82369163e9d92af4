"""Where results go: `--output`, `--output-dir`, `--export` and clips, checked before any work."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from vidsum.batch.inputs import BatchInput
from vidsum.batch.settings import CommonOptions
from vidsum.errors import InputError, Mention, OutputError, UsageError, VidsumError, fill, listed
from vidsum.io.atomic import check_folder, check_target
from vidsum.io.paths import Reads, keys_of, reads_of
from vidsum.options import leaves
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.names import (
    Written,
    check_outputs,
    fill_template,
    find_clip_faults,
    output_names,
    own_names,
    require_suffix,
    reserve,
    stem_of,
)
from vidsum.video.settings import Clips

T = TypeVar("T")
STDOUT = Mention("output", "-")


def attempt(step: Callable[[], T]) -> T | VidsumError:
    """Return what a step gives, or what is wrong with an input, an output or an option if it raises that."""
    try:
        return step()
    except (InputError, OutputError, UsageError) as fault:
        return fault


def require_one_text(inputs: Sequence[object], common: CommonOptions) -> None:
    """Raise a UsageError where several inputs would print texts to stdout."""
    if common.to_stdout and len(inputs) > 1:
        fault = f" prints one file of this format, but there are {len(inputs)} inputs"
        raise UsageError((STDOUT, fault), hint=Mention("output_dir", "FOLDER"))


def require_no_exports(common: CommonOptions) -> None:
    """Raise a UsageError where the JSON goes to stdout and there are exports."""
    if common.exports and common.to_stdout:
        raise only_json_error([name for name in ("export", "report") if getattr(common, name)])


def only_json_error(options: Sequence[str]) -> UsageError:
    """Return the error where the JSON goes to stdout, and options write other files."""
    hint = (Mention("output", "FILE.json"), ", with ", *listed(map(Mention, options), " or "))
    return UsageError((STDOUT, " writes JSON only"), hint)


def one_format_error() -> UsageError:
    """Return the error where several formats go to stdout."""
    hint = fill("one {}, or {}", Mention("format"), Mention("output_dir", "FOLDER"))
    return UsageError((STDOUT, " prints one format"), hint)


def main_outputs(
    inputs: Sequence[BatchInput], ending: str, suffixes: Sequence[str], common: CommonOptions
) -> dict[str, Path]:
    """Return where the main output of each input goes: where `--output` says, else to
    `FOLDER/{stem}{ending}` (see `own_names`).

    `--output-dir` keeps the folders of the inputs; see `folders_below`. A folder, which has no video or
    cannot be read, has no output. Raises UsageError: `--output` is one name for several inputs, or has
    another suffix or an unknown field, or is absolute where there is an `--output-dir`.
    """
    from vidsum.pipelines.sources import is_folder  # with NumPy

    output, files = common.output, [item for item in inputs if not is_folder(item.path)]
    if output is None or common.to_stdout:
        root, folders = common.output_dir or Path(), {item.path: item.folder for item in files}
        return own_names([*folders], lambda source, name: root / folders[source] / f"{name}{ending}")
    if not common.is_template and len(inputs) > 1:
        fault = (Mention("output"), f" names one file, but there are {len(inputs)} inputs")
        raise UsageError(fault, hint=output_names(f"{{stem}}{ending}"))
    targets = {
        item.path: _in_folder(
            fill_template(output, item.path, item.number + 1, suffixes[0], item.url)
            if common.is_template
            else Path(output),
            common,
            item.folder,
        )
        for item in files
    }
    for target in targets.values():
        _require_output(target, suffixes)
    return targets


def _in_folder(name: Path, common: CommonOptions, folder: str = "") -> Path:
    """Return the path of a name of `--output`: in this folder of `--output-dir`, if there is one.

    Raises UsageError: there is one, and the name is absolute, or leads out of it.
    """
    if common.output_dir is None:
        return name
    if name.is_absolute() or ".." in name.parts:
        what = "an absolute path" if name.is_absolute() else "outside of the folder"
        fault = (Mention("output"), f" is {what}, and excludes ", Mention("output_dir"))
        raise UsageError(fault, hint=Mention("output", name.name), subject=name)
    return common.output_dir / folder / name


def with_files(
    inputs: Sequence[BatchInput], files: Mapping[str, Mapping[str, Path]], common: CommonOptions
) -> list[BatchInput]:
    """Return the inputs with the files of each, and their exports, checked before any work.

    `files` are by kind; the record is the file called `json`, or the first file's. An input whose files
    cannot be written is refused; see `refuse`. Raises UsageError: there are exports, and the JSON goes to
    stdout.
    """
    from vidsum.outputs.exports import export_targets
    from vidsum.outputs.output_records import record_of

    require_no_exports(common)
    planned = list[BatchInput]()
    for item in inputs:
        if named := files.get(item.path):
            record = named.get("json") or next(iter(named.values()))
            record = record if record.suffix == ".json" else record_of(record)
            exports = export_targets(common.export, record, item.path, page=common.report)
            artifacts = Artifacts(record, {**named, **exports})
            item = replace(item, artifacts=artifacts, exports=tuple(exports))
        planned.append(item)
    return planned if common.to_stdout else check_files(planned, common)


def _require_output(path: Path, suffixes: Sequence[str]) -> None:
    """Raise a UsageError where an output is a folder, or has none of the suffixes."""
    if path.is_dir():
        raise UsageError("is a folder", hint=Mention("output_dir", str(path)), subject=path)
    require_suffix(path, suffixes)


def check_files(inputs: Sequence[BatchInput], common: CommonOptions) -> list[BatchInput]:
    """Return the inputs, with the fault of each whose files cannot be written; see `refuse`."""
    written, planned = Written(), [*inputs]
    check = partial(
        check_outputs,
        reads=files_of_run(inputs, common),
        written=written,
        urls={item.path: item.url for item in inputs},
        make_folders=common.makes_folders,
    )
    for item in inputs:
        files = item.artifacts.files if item.artifacts else {}
        paths = [path for kind, path in files.items() if kind != "clips"]
        fault = None
        for kind in item.exports:
            fault = fault or attempt(partial(_check_export, kind, item, common))
        fault = fault or attempt(partial(check, item.path, paths))
        if fault:
            planned = refuse(planned, item, fault)
    return planned


def check_table(inputs: Sequence[BatchInput], common: CommonOptions) -> None:
    """Check `--table` before any work.

    Raises UsageError: it is no CSV file, an input or another output. OutputError: it is foreign, or cannot
    be written.
    """
    if not common.table:
        return
    written, made = Written(), set[Path]()
    for item in inputs:
        for path in item.artifacts.files.values() if item.artifacts else ():
            written |= dict.fromkeys(keys_of(path), item.path)
            made.add(path.parent)
    if owner := reserve(common.table, str(common.table), files_of_run(inputs, common), written):
        fault = (f"would be written for {owner} and for ", Mention("table"))
        raise UsageError(fault, hint=Mention("table", "FILE"), subject=common.table)
    if common.table.is_file() or not common.table.exists():  # not of pipes and devices
        require_suffix(common.table, (".csv",), "table")
    _require_writable(common.table, common, made)


def _require_writable(path: Path, common: CommonOptions, folders: Collection[Path] = ()) -> None:
    """Raise an OutputError where a file of all inputs is foreign, or cannot be written.

    Its folder is there, or among `folders`, which may be made later.
    """
    from vidsum.outputs.alone import own_record, require_replaceable

    if os.path.realpath(path.parent) in {os.path.realpath(folder) for folder in folders}:
        check_folder(path.parent)
    else:
        check_target(path)
    require_replaceable(own_record(path), overwrite=common.overwrite)


def files_of_run(inputs: Iterable[BatchInput], common: CommonOptions) -> Reads:
    """Return the files that a run reads: the files of options, and the inputs."""
    return {**reads_of(item.path for item in inputs), **common.reads}


def refuse(inputs: Sequence[BatchInput], item: BatchInput, fault: VidsumError) -> list[BatchInput]:
    """Return the inputs, one with why its files cannot be made; raise the fault if no other has files."""
    if sum(other.artifacts is not None for other in inputs) == 1:
        raise fault
    return [
        replace(other, fault=other.fault or fault) if other.number == item.number else other
        for other in inputs
    ]


def _check_export(kind: str, item: BatchInput, common: CommonOptions) -> None:
    from vidsum.outputs.timelines import require_expressible, require_nameable
    from vidsum.pipelines.sources import has_pictures

    if kind != "html" and item.artifacts and not item.is_joint:
        require_expressible(kind, has_video=has_pictures(item.path))
        require_nameable(kind, item.path, item.artifacts.files[kind], common.media)


def plan_moment_files(
    kind: str,
    inputs: Sequence[BatchInput],
    common: CommonOptions,
    more: Mapping[str, str],
    settings: Clips = Clips(),
    *,
    clips: bool,
    needs_pictures: bool = False,
) -> tuple[list[BatchInput], CommonOptions, Path | None]:
    """Return the inputs with the files of their moments, highlights or shots (`kind`), checked before any
    work, and the table of all inputs that `-o FILE.csv` names.

    With a table, as for stdout, no input has files of its own. `more` has the ends of the names of other
    files, by option; `needs_pictures` refuses features for these and for clips. Raises UsageError: files do
    not go together, or have the same names; OutputError.
    """
    has_clips, table = clips or common.clips_dir is not None, None
    if common.is_file and str(common.output).lower().endswith(".csv"):
        if more or has_clips or common.exports:
            hint = (Mention("output_dir", "FOLDER"), ", for more files")
            table_only = (Mention("output", "FILE.csv"), " writes one table of all inputs")
            raise UsageError(table_only, hint)
        table = _in_folder(Path(str(common.output)), common)
        reads = files_of_run(inputs, common)
        check_outputs("the table", [table], reads, make_folders=common.makes_folders)
        _require_writable(table, common, [table.parent] if common.makes_folders else ())
        common = replace(common, output="-")
    elif common.is_file:
        _require_output(_in_folder(Path(str(common.output)), common), (".json", ".csv"))
    elif common.to_stdout and (more or has_clips):
        raise only_json_error([*more, *(["clips"] if has_clips else [])])
    pairs = zip(leaves(Clips, settings), leaves(Clips), strict=True)
    chosen = [leaf.name for leaf, plain in pairs if leaf.default != plain.default]
    if chosen and not has_clips:
        raise UsageError(fill("{} needs {}", Mention(chosen[0]), Mention("clips")), hint=Mention("clips"))
    files = {}
    for source, json in main_outputs(inputs, f"_{kind}.json", (".json",), common).items():
        stem = json.stem.removesuffix(f"_{kind}")
        named = {"json": json}
        named |= {option: json.with_name(f"{stem}_{end}") for option, end in more.items()}
        folder = common.clip_folder(json, clips=clips)
        files[source] = {**named, **({"clips": folder} if folder else {})}
    planned = check_clips(with_files(inputs, files, common), lambda item: clip_stem(kind, item, common))
    if needs_pictures and (more or has_clips):
        from vidsum.pipelines.sources import has_pictures

        for item in [item for item in planned if item.artifacts and not has_pictures(item.path)]:
            fault = UsageError("features have no pictures", hint="give the video", subject=item.path)
            planned = refuse(planned, item, fault)
    return planned, common, table


def check_clips(inputs: Sequence[BatchInput], stem: Callable[[BatchInput], str]) -> list[BatchInput]:
    """Return the inputs, with the fault of each whose clips have the names of others; see `refuse`.

    `stem` gives the video in the names of the clips of an input.
    """
    planned, of_path = [*inputs], {item.path: item for item in inputs}
    stems = {
        item.path: (item.artifacts.files["clips"], stem(item))
        for item in inputs
        if item.artifacts and "clips" in item.artifacts.files
    }
    for source, fault in find_clip_faults(stems):
        planned = refuse(planned, of_path[source], fault)
    return planned


def clip_place(item: BatchInput, stem: str) -> tuple[Path, str] | None:
    """Return the folder and the stem of the clips of an input; None for no clips."""
    folder = item.artifacts.files.get("clips") if item.artifacts else None
    return (folder, stem) if folder else None


def clip_stem(kind: str, item: BatchInput, common: CommonOptions) -> str:
    """Return the video in the names of clips; a template may keep videos of one name apart."""
    if common.is_file or item.artifacts is None:
        return stem_of(item.path)
    return item.artifacts.record.stem.removesuffix(f"_{kind}")
