"""Which files that exist are vidsum's own: by their label, their digest, or as they were written."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vidsum.commands.written import is_as_written
from vidsum.errors import InputError, OutputError
from vidsum.outputs import check_name

HINT = "--overwrite, or -o FILE"
_LABELLED = (".mp4", ".png", ".svg")


def require_ours(path: Path, *, overwrite: bool) -> None:
    """See to it that a picture may be drawn again: vidsum drew it, or it is not there.

    Raises:
        OutputError: it is something else, and `overwrite` does not allow to replace it.
    """
    if path.is_file() and not overwrite and not _has_label(path):
        raise OutputError(f"{path}: already exists, and was not drawn by vidsum", hint=HINT)


def require_own(paths: Iterable[Path], record: Path) -> None:
    """See to it that files may be replaced: vidsum wrote those that exist, and nobody edited them since.

    Raises:
        OutputError: it did not write one, or somebody did.
    """
    from vidsum.pipelines.export import read_record_of

    for path in paths:
        check_name(path)
        if not path.exists() or path.is_dir():  # in the folder of key frames, only these are replaced
            continue
        if path == record:
            try:
                read_record_of(path)
            except InputError as error:
                raise OutputError(f"{path}: already exists, and {error.message}", hint=HINT) from error
        elif not (_has_label(path) if path.suffix in _LABELLED else is_as_written(path, path.parent)):
            fault = f"{path}: already exists, and was not written by vidsum, or edited since"
            raise OutputError(fault, hint=HINT)


def require_made_from(paths: Iterable[Path], provenance: Mapping[str, Any], form: str = "") -> None:
    """See to it that the MP4, PNG and SVG files among some say that they were made from `provenance`.

    Raises:
        OutputError: one that exists was not, or a name is too long for a file.
    """
    from vidsum.pipelines.export import form_of

    for path in paths:
        check_name(path)
        if path.suffix not in _LABELLED or not path.exists():
            continue
        found = form_of(path, provenance)
        if found is None:
            raise OutputError(f"{path}: already exists, and differs from what would be written", hint=HINT)
        if path.suffix == ".mp4" and found != form:
            raise OutputError(f"{path}: already exists, made {_other_form(found, form)}", hint=HINT)


def _other_form(found: str, wanted: str) -> str:
    """How a file of one form was made, in options, where another form is wanted."""
    had, asked = _options_of(found), _options_of(wanted)
    more = [option for option in had if option not in asked]
    fewer = [option for option in asked if option not in had]
    return f"with {' and '.join(more)}" if more else f"without {' and '.join(fewer)}"


def _options_of(form: str) -> list[str]:
    """The options that a form stands for."""
    encoding = form.removesuffix("chapters").removesuffix("-")
    options = [] if encoding == form else ["--chapters"]
    codec, _, rest = encoding.partition("-")
    if codec == "pad":
        options.append(f"--pad {rest}")
    elif codec:
        options.append("--copy" if codec == "copy" else f"--codec {codec}" + (f" ({rest})" if rest else ""))
    return options


def _has_label(path: Path) -> bool:
    from vidsum.pipelines.export import label_on
    from vidsum.provenance import is_label

    return is_label(label_on(path) or "")
