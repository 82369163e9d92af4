"""Names that outputs take from their sources, and checks of these before any work."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from string import Formatter

from vidsum.errors import Mention, OutputError, Text, UsageError, fill
from vidsum.io.atomic import check_folder, check_name, is_special, shortened, stems_of
from vidsum.io.paths import OTHER_NAME, FileKey, Reads, keys_of, require_not_read
from vidsum.io.text import STDIN
from vidsum.io.urls import Url

_SOUNDS = (".aac", ".aiff", ".flac", ".m4a", ".mp3", ".ogg", ".opus", ".wav", ".wma")
_FIELDS = ("stem", "name", "suffix", "parent", "n")
"""Fields of `--output`: parts of the input's name and folder, and its number in the batch, from 1."""
_FORM = re.compile(r"(0?[1-9]d?)?")  # how a field may be padded, as in {n:04}: at most nine places


def own_names(sources: Sequence[str], target: Callable[[str, str], Path]) -> dict[str, Path]:
    """Choose the main output of each source: `target(source, stem)`, or `target(source, name and suffix)`.

    The longer name is for a source whose folder has another input with its stem. So neither the other inputs
    of a batch nor earlier outputs change a name.
    """
    files = {folder: _files_by_stem(folder) for folder in {Path(source).parent for source in sources}}

    def choose(source: str) -> str:
        path, is_inside = Path(source), bool(_parts(source)[1])  # a video in an h5 file has its own name
        others = [other for other in files[path.parent].get(path.stem, ()) if other.name != path.name]
        has_rival = not is_inside and any(_is_rival(path, other) for other in others)
        return _name_of(source) if has_rival else stem_of(source)

    return {source: target(source, choose(source)) for source in sources}


def _files_by_stem(folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    with suppress(OSError, ValueError):  # it is not there
        for path in folder.iterdir():
            files.setdefault(path.stem, []).append(path)
    return files


def _is_rival(path: Path, other: Path) -> bool:
    """Return whether the outputs of a file next to an input would have the same names.

    They would if the file is a video, or is of the input's kind.
    """
    from vidsum.results.feature_files import is_feature_file
    from vidsum.video.probe import is_video

    if path.suffix.lower() in _SOUNDS or is_feature_file(path.name):
        is_same_kind = other.suffix.lower() in _SOUNDS or is_feature_file(other.name)
        return is_same_kind or is_video(other)
    return not is_feature_file(other.name) and is_video(other)


def stem_of(source: str) -> str:
    """Return the name that an output takes; a video of an h5 file (`file.h5#name`) goes by its own name."""
    if source == STDIN:
        return "stdin"
    path, video = _parts(source)
    return shortened(video) if video else stems_of(path)[0]


def _name_of(source: str) -> str:
    path, video = _parts(source)
    return shortened(f"{Path(path).name}_{video}") if video else stems_of(path)[1]


def _parts(source: str) -> tuple[str, str]:
    """Return the path of a source, and the video in it if it is an h5 file."""
    if "#" not in source:
        return source, ""
    from vidsum.pipelines.sources import has_pictures

    path, _, video = (source, "", "") if has_pictures(source) else source.partition("#")
    return path, video


def summary_files(base: Path, plot_format: str = "png") -> dict[str, Path]:
    """Return all files that a summary may have, by kind; `base` is the MP4 or the JSON."""
    stem = base.with_suffix("").name.removesuffix("_summary")
    return {
        "video": base.with_suffix(".mp4"),
        "json": base.with_suffix(".json"),
        "subtitles": base.with_suffix(".srt"),
        "storyboard": base.with_name(f"{stem}_storyboard.png"),
        "key_frames": base.with_name(f"{stem}_key_frames"),
        "plot": base.with_name(f"{stem}_importance.{plot_format}"),
    }


def moment_files(record: Path, kind: str) -> dict[str, Path]:
    """Return the pictures that moments or highlights (`kind`) may have, by kind of file."""
    stem = record.stem.removesuffix(f"_{kind}")
    return {
        "plot": record.with_name(f"{stem}_{kind}.png"),
        "sheet": record.with_name(f"{stem}_{kind}_sheet.png"),
    }


def folder_of(source: str, url: Url | None = None) -> Path:
    """Return the folder of a file; for an address, one named after its host, and its path there."""
    if url:
        place = url.partition("//")[2].partition("?")[0].rpartition("/")[0]
        return Path.cwd().joinpath(*[part for part in place.split("/") if part not in ("", ".", "..")])
    return Path(os.path.normpath(Path(source).absolute())).parent


def folders_below(sources: Mapping[str, Url | None], named: Iterable[str]) -> dict[str, str]:
    """Return the folder of each source, from the one on that holds them all, and the folders that were named:
    so it does not depend on the videos that these have.
    """
    folders = {source: folder_of(source, url) for source, url in sources.items()}
    roots = [os.path.normpath(Path(folder).absolute()) for folder in named]
    try:
        common = os.path.commonpath([*folders.values(), *roots])
    except ValueError:  # they are on several drives
        return {}
    return {source: os.path.relpath(folder, common) for source, folder in folders.items()}


def require_suffix(
    path: Path, suffixes: Sequence[str], option: str = "output", *, any_case: bool = False
) -> None:
    """Raise a UsageError unless the file of an option has one of the suffixes, in capitals if `any_case`."""
    if (path.suffix.lower() if any_case else path.suffix) not in suffixes:
        hint = Mention(option, str(path.with_suffix(suffixes[0]))) if path.name else None
        endings = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise UsageError(f"output must end in {endings}", hint=hint, subject=path)


Written = dict[FileKey, str]
"""The input or option that each output is for."""


def check_outputs(
    source: str,
    outputs: Iterable[Path],
    reads: Reads,
    written: Written | None = None,
    *,
    urls: Mapping[str, Url | None] = {},
    make_folders: bool = False,
) -> None:
    """Make sure, before any work, that a source's outputs are its own and can be written.

    Args:
        source: an input, or what else the outputs are made of.
        outputs: the files.
        reads: files that are read.
        written: the outputs of all sources, which these are added to.
        urls: the addresses of sources that are copies.
        make_folders: whether folders that are not there are made later.

    Raises:
        UsageError: the command reads an output, or writes it for another source or option too.
        OutputError: the folder of an output is not there, or cannot be made.
    """
    outputs, written = [*outputs], {} if written is None else written
    for path in outputs:
        check_name(path)
        owner = reserve(path, source, reads, written)
        if owner == source:
            raise UsageError(
                f"two outputs of {source} have this name", hint="leave out one of them", subject=path
            )
        if owner is not None and os.path.realpath(owner) != os.path.realpath(source):
            fault = f"{owner} and {source} would both be written to {path}"
            are_together = folder_of(source, urls.get(source)) == folder_of(owner, urls.get(owner))
            raise UsageError(fault, hint=_apart(path.suffix, are_together=are_together))
    for path in outputs:
        if make_folders:
            check_folder(path.parent)
        elif not path.parent.is_dir():
            raise OutputError(f"no folder {path.parent}", f"mkdir -p {quote(str(path.parent))}", subject=path)


def reserve(path: Path, owner: str, reads: Reads, written: Written) -> str | None:
    """Note that a path is written for an input or option; return what it is written for already, if so.

    Devices and pipes, which are written into, may be named more than once. Raises UsageError: it is read.
    """
    if is_special(path):
        return None
    require_not_read(path, reads)
    keys = keys_of(path)
    before = next((written[key] for key in keys if key in written), None)
    for key in keys:
        written.setdefault(key, owner)
    return before


def require_not_written(path: str | Path, written: Written) -> None:
    """Raise a UsageError where an input is to be written too."""
    for key in keys_of(path):
        if key in written:
            raise UsageError(
                f"is read, and would be written for {written[key]}", hint=OTHER_NAME, subject=path
            )


def _apart(suffix: str, *, are_together: bool) -> Text:
    """Return the option that keeps the outputs of two inputs of the same name apart."""
    if suffix == ".edl":  # Kodi looks for the name of the video
        return "rename one of them"
    if are_together:
        return Mention("output", f"{{name}}{suffix}")
    return output_names(f"{{parent}}_{{stem}}{suffix}")


def output_names(template: str) -> Text:
    """Return the options for the names of several outputs, in a message."""
    return fill("{}, or {}", Mention("output", template), Mention("output_dir", "FOLDER"))


def fill_template(output: str, source: str, number: int, suffix: str, url: Url | None = None) -> Path:
    """Return the output of one source: a template with its fields filled in."""
    try:
        for _, name, form, conversion in Formatter().parse(output):
            if name is not None and (name not in _FIELDS or conversion or not _FORM.fullmatch(form or "")):
                raise ValueError
        names = {"stem": stem_of(source), "name": _name_of(source), "suffix": Path(_parts(source)[0]).suffix}
        return Path(output.format(**names, parent=folder_of(source, url).name, n=number))
    except (ValueError, LookupError) as error:
        raise UsageError(
            f"braces must hold {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}",
            hint=Mention("output", f"{{parent}}_{{stem}}{suffix}"),
            subject=output,
        ) from error


def find_clip_faults(clips: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, UsageError]]:
    """Yield sources whose clips have the names of another source's clips, or of an input.

    `clips` are the folder of each source's clips, and the stem in their names.
    """
    from vidsum.outputs.clips import video_stem

    owners: dict[tuple[str, str], str] = {}
    for source, (folder, stem) in clips.items():
        if (owner := owners.setdefault((os.path.realpath(folder), stem), source)) != source:
            fault = f"{owner} and {source} would have the same clips in {folder}"
            template = Mention("output", "{parent}_{stem}_moments.json")
            hint = fill("{}, or {} without a folder", template, Mention("clips"))
            yield source, UsageError(fault, hint)
    for source in clips:
        place, name = os.path.split(os.path.realpath(source))
        key = (place, video_stem(name.removesuffix(".mp4")) or "")
        if name.endswith(".mp4") and key in owners:
            fault = f"has the name of a clip to be written of {owners[key]}"
            yield owners[key], UsageError(fault, Mention("clips_dir", "FOLDER"), subject=source)
