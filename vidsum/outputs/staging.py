"""Write files under hidden names first, and rename them when they are finished."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from vidsum.errors import OutputError
from vidsum.io.atomic import atomic_write, check_target, is_special, make_folder, nearest_folder
from vidsum.outputs.output_records import hash_of

_STEM_LETTERS = 40


@contextmanager
def hidden(target: Path) -> Iterator[Path]:
    """Give a hidden path for a file or a folder, on the file system of its target; it is removed at the end.

    A file is written next to its target, what goes into an existing folder there.
    """
    if is_special(target):
        with TemporaryDirectory() as folder:
            yield Path(folder, f"part{target.suffix}")
        return
    place = target if target.is_dir() else nearest_folder(Path(os.path.realpath(target)).parent)
    shadow = place / f".{target.stem[:_STEM_LETTERS]}.{secrets.token_hex(4)}{target.suffix}"
    try:
        yield shadow
    finally:
        if shadow.is_dir():
            shutil.rmtree(shadow, ignore_errors=True)
        else:
            shadow.unlink(missing_ok=True)


def write_hidden(write: Callable[[Path], Iterable[str]], shadow: Path, target: Path) -> list[str]:
    """Write to a hidden path, and return what the writer does. Raises OutputError, which names the target."""
    try:
        return list(write(shadow))
    except OutputError as error:
        if not Path(error.subject).is_relative_to(shadow):
            raise
        path = target / Path(error.subject).relative_to(shadow)
        fault = OutputError(error.text, error.hint_text, subject=path)
        fault.ends_batch = error.ends_batch
        raise fault from error


def written(shadow: Path, target: Path) -> dict[Path, Path]:
    """Return the hidden path of each file that was written, by its final path."""
    if shadow.is_dir():
        return {target / inner.name: inner for inner in sorted(shadow.iterdir())}
    return {target: shadow} if shadow.exists() else {}


def differs(target: Path, shadow: Path) -> bool:
    """Return whether a file would change if the hidden one took its place."""
    return not target.is_file() or hash_of(target) != hash_of(shadow)


def move(shadow: Path, target: Path) -> None:
    """Rename a finished file; devices and pipes are written into."""
    make_folder(target.parent)
    check_target(target)
    with atomic_write(target) as part:
        if is_special(target):
            shutil.copyfile(shadow, part)
        else:
            shadow.replace(part)
