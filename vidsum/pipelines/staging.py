"""Write files under hidden names first, and rename them when they are finished."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from vidsum.errors import OutputError
from vidsum.io.outputs import atomic_write, check_target, is_special, make_folder, write_text
from vidsum.io.paths import require_not_read
from vidsum.pipelines.records import add_to_folder, hash_of, lock, require_ours
from vidsum.pipelines.tasks import Files

_STEM_LETTERS = 40


@dataclass(frozen=True)
class Staged:
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
def stage(files: Files, clips: Sequence[Path], fresh: Sequence[Path]) -> Iterator[Staged]:
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
        yield Staged(paths, shadows, shadow)


@contextmanager
def hidden(target: Path) -> Iterator[Path]:
    """Give a hidden path next to a target, removed at the end; errors name the target.

    Raises OutputError: the target cannot be written.
    """
    require_not_read(target)
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


def differs(target: Path, shadow: Path) -> bool:
    return not target.is_file() or hash_of(target) != hash_of(shadow)


def move(shadow: Path, target: Path) -> None:
    """Rename a finished file, unless the target has the same content; devices are written into."""
    if not differs(target, shadow):
        return
    make_folder(target.parent)
    with atomic_write(target) as part:
        if is_special(target):
            shutil.copyfile(shadow, part)
        else:
            shadow.replace(part)


# --- files that no JSON record lists ---


@contextmanager
def replacing(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a hidden path to write a file to that no JSON record lists; then it becomes the target.

    Raises OutputError: the target is not ours, unless it may be overwritten; or it cannot be written.
    """
    if not overwrite:
        require_ours(target)
    with hidden(target) as shadow:
        yield shadow
        if not shadow.exists():
            return
        listed = {} if is_special(target) else {target.name: hash_of(shadow)}
        with lock(target):
            if not overwrite:
                require_ours(target)
            add_to_folder(target.parent, listed)
            move(shadow, target)
            add_to_folder(target.parent, listed, only=True)


def save_text(text: str, target: Path, *, overwrite: bool) -> str:
    """Write a file, unless the same one is there already, and return a line about it. Errors: `replacing`."""
    if target.is_file() and target.read_bytes() == text.encode():
        return f"{target} (unchanged)"
    with replacing(target, overwrite=overwrite) as shadow:
        write_text(shadow, text)
    return str(target)
