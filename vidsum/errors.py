"""The errors that vidsum raises on purpose, with their exit codes, and the wording of their messages.

Each message is one line, `SUBJECT: TEXT`: what is at fault, such as a file, and the reason. `hint` names the
remedy, if anything does: a command, an option, a package. Options stand in both as values (`Mention`), which
Python shows as keywords and the command line as flags:

    raise InputError("has no sound", subject=path)
    raise UsageError(fill("{} and {} overlap", Mention("keep"), Mention("drop")))

No code reads the words of a message: what it needs is an attribute of the error.

Neither shows secrets of a URL: `redact` removes them. `quote` and `did_you_mean` are for the wording.
"""

import errno
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, get_args

URL_START = r"(?<![A-Za-z])(?!(?i:file:))[A-Za-z][A-Za-z0-9+.-]{0,30}:/+"
_IN_TEXT = re.compile(rf"{URL_START}(?!/*USER@HOST)\S+?(?=[:;,.)\]'\"]*(?:\s|$))")
_MIN_SECRET_LETTERS = 3  # shorter values of a query are no secrets, and would match inside other words
_MAX_NAME_LETTERS = 100
_quoted = Repr()
_quoted.maxlevel, _quoted.maxstring, _quoted.maxlong, _quoted.maxother = 3, 60, 40, 60
_MAX_GUESSES, _MAX_LETTERS = 3, 100
_MIN_LIKENESS = 0.75  # ratio of difflib
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters in names of files that move a terminal's cursor, end a line or turn the direction of text, and
bytes that are not UTF-8."""

_LINE_BREAKERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Control characters, separators of lines, bytes that are not UTF-8, and what XML has no place for. All other
letters, spaces, signs and joiners may be in names."""


@dataclass(frozen=True)
class Mention:
    """An option in a message: each caller has a name for it, such as a flag or a keyword argument."""

    name: str
    """The field of its settings, which is the keyword in Python."""
    value: str | float | None = None  # the value to give it; None: the option alone

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True)
class AnyOf:
    """Options of which any will do, in a message: a command names the ones that it has."""

    options: tuple[Mention, ...]


Part = str | Mention | AnyOf
Text = Part | tuple[Part, ...]
"""A message: words of its own and options, one after the other."""


def fill(template: str, *parts: Part) -> Text:
    """Return a message of a template, whose `{}` stand for options or words; words are taken as they are."""
    pairs = zip(template.split("{}"), (*parts, ""), strict=True)
    return tuple(part for pair in pairs for part in pair)


def mentions(text: Text) -> list[Mention]:
    """Return the options in a message."""
    return [part for part in _parts(text) if isinstance(part, Mention)]


def words_of(
    text: Text, name: Callable[[Mention], str] = str, has: Callable[[Mention], bool] = lambda _: True
) -> str:
    """Return a message in words.

    `name` gives an option as the reader knows it, by default as a keyword; `has` says which there are.
    """

    def word(part: Part) -> str:
        if isinstance(part, AnyOf):
            return ", or ".join(map(name, filter(has, part.options)))
        return part if isinstance(part, str) else name(part)

    return redact("".join(map(word, _parts(text))))


def listed(options: Iterable[Mention], joint: str) -> tuple[Part, ...]:
    """Return options for a message, with a joint such as ` or ` between them."""
    parts = [part for option in options for part in (joint, option)]
    return tuple(parts[1:])


def _parts(text: Text) -> tuple[Part, ...]:
    return text if isinstance(text, tuple) else (text,)


class VidsumError(Exception):
    """Base of all errors that vidsum raises on purpose.

    Args:
        text: the reason; with a subject, the message goes on with it after a colon.
        hint: what to do about it.
        option: the name of the field whose value is at fault, if it is one option's.
        subject: what the error is about: a file, a URL, an archive.
    """

    exit_code = 1
    ends_batch = False  # whether every input that follows would meet the same fault

    def __init__(
        self,
        text: Text,
        hint: Text | None = None,
        option: str = "",
        subject: str | os.PathLike[str] = "",
    ) -> None:
        self.text, self.hint_text, self.option, self.subject = text, hint, option, os.fspath(subject)
        self.words, self.hint = words_of(text), words_of(hint) if hint else None
        super().__init__(self.message)
        if self.hint:
            self.add_note(f"try: {self.hint}")  # tracebacks show it

    @property
    def message(self) -> str:
        """The error in one line."""
        return message_of(self.subject, self.words)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The whole message with its options as values, for another error that quotes it."""
        return (f"{self.subject}: ", *_parts(self.text)) if self.subject else _parts(self.text)

    def name_options(
        self,
        name: Callable[[Mention], str],
        origin: str = "",
        remedy: Text | None = None,
        has: Callable[[Mention], bool] = lambda _: True,
    ) -> None:
        """Put text and hint into a caller's words: names of the options that it has, `origin` at the end.

        `remedy` is the hint where there is none, or where it names options of other commands alone.
        """
        self.words = words_of(self.text, name, has) + redact(origin)
        hints = [words_of(hint, name, has) for hint in (self.hint_text, remedy) if hint]
        self.hint = next(filter(None, hints), None)


def message_of(subject: str, text: str) -> str:
    """Return a text with its subject, if it has one, in front."""
    return f"{redact(subject)}: {text}" if subject else text


def is_disk_fault(error: OSError) -> bool:
    """Return whether a disk or a quota is used up, or may only be read: what is written next fails too."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class UsageError(VidsumError, ValueError):
    """An option, argument or parameter value makes no sense."""

    exit_code = 2


class StaleError(UsageError):
    """A page asks to change a state that another page has changed."""


class InputError(VidsumError):
    """The input cannot be read, is not a video or has no video stream."""

    exit_code = 3


class EmptyResultError(InputError):
    """The result has no moments, and the format cannot express that."""


class MissingError(InputError):
    """The archive lacks what is asked for, or the disk lacks the file."""


class DamagedArchiveError(InputError):
    """An archive holds what vidsum does not write."""

    ends_batch = True


class ForeignFileError(MissingError):
    """An archive names a file that is not the video that it describes."""


class WeightsError(VidsumError):
    """Weights are missing, cannot be fetched, or do not have the recorded SHA-256."""

    exit_code = 4


class PackageError(VidsumError):
    """A package of an extra is not installed; `hint` is the command that installs it."""

    ends_batch = True


class OutputError(VidsumError):
    """An output already exists, or cannot be written."""


@dataclass(frozen=True)
class Problem:
    """An error as data: class name, what it is about, why, and what to do about it."""

    kind: str
    text: str
    hint: str | None = None
    subject: str = ""
    error: VidsumError | None = field(default=None, compare=False, repr=False)
    """The error itself, for callers that name its options otherwise."""

    @classmethod
    def of(cls, error: Exception) -> "Problem":
        """Convert an exception."""
        kind = type(error).__name__
        if isinstance(error, VidsumError):
            return cls(kind, error.words, error.hint, redact(error.subject), error)
        if isinstance(error, OSError) and error.strerror:  # a fault of the machine, not of vidsum
            return cls(kind, redact(error.strerror.lower()), subject=redact(str(error.filename or "")))
        fault = VidsumError(
            f"internal fault: {str(error) or kind}", (Mention("verbose", True), " shows the traceback")
        )
        return cls(kind, fault.words, fault.hint, error=fault)

    @property
    def message(self) -> str:
        """The error in one line."""
        return message_of(self.subject, self.text)


def show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """Print a warning as a line on stderr; takes the place of `warnings.showwarning`."""
    print(f"warning: {message}", file=sys.stderr)


def is_one_line(text: str) -> bool:
    """Return whether a text can stand on one line of a file in UTF-8."""
    return not _LINE_BREAKERS.search(text)


def printable(text: str) -> str:
    r"""Return a text for one line of a terminal: control characters as escapes such as `\x1b`."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def redact(text: str) -> str:
    """Return a text whose URLs show no user, password, query or fragment."""
    return _IN_TEXT.sub(lambda match: split_url(match[0])[0], text)


def split_url(raw: str) -> tuple[str, str, list[str]]:
    """Return what may be shown of a URL, its path, and the parts that are hidden."""
    start = re.match(URL_START, raw)
    assert start
    address = raw[start.end() :]
    authority = re.split(r"[/?#]", address, maxsplit=1)[0]
    # a colon that no port follows: the password holds a slash or the like
    if "@" not in authority and re.search(r"^[^\[]*:[0-9]*[^0-9]", authority):
        authority = address
    user, at, _ = authority.rpartition("@")
    host, path, more = re.findall(r"(?s)([^/?#]*)([^?#;]*)(.*)", address[len(user + at) :])[0]
    host = re.findall(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)*", host)[0]
    safe = f"{start[0]}{'' if user else at}{host}{path}"
    values = [part.partition("=")[2] or part for part in re.split(r"[?#&;]", more)]
    values = [value for value in (more[1:], *values) if len(value) >= _MIN_SECRET_LETTERS]
    hidden = [part for part in (user, user.partition(":")[2], *values) if part]
    return safe if safe == raw else f"{safe} ({digest_of_url(raw)})", path, hidden


def digest_of_url(raw: str, digits: int = 8) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a URL."""
    return hashlib.sha256(os.fsencode(raw)).hexdigest()[:digits]


def quote(value: Any) -> str:
    """Return a value of a file as messages quote it: in one line, and short whatever it is."""
    return _quoted.repr(value)


def safe_name(text: str) -> str:
    """Return a name from a file as messages have it: quoted where it does not fit into a line."""
    return text if is_one_line(text) and len(text) <= _MAX_NAME_LETTERS else quote(text)


def require_type(value: object, *kinds: Any) -> None:
    """Raise UsageError unless an argument is of one of these classes, or unions of classes."""
    if not isinstance(value, kinds):
        names = " or ".join(choice.__name__ for kind in kinds for choice in get_args(kind) or (kind,))
        raise UsageError(f"{names} expected, not {type(value).__name__}")


def unknown_name_error(what: str, name: str, known: Iterable[str], more: str = "") -> UsageError:
    """Return the error for an unknown name; the hint lists the known names and ends with `more`."""
    names = list(known)
    hint = f"choose from {', '.join(names)}{more}"
    return UsageError(f"unknown {what} {name!r}{did_you_mean(name, names)}", hint, option=what)


def did_you_mean(name: str, known: Iterable[str], *, quoted: bool = True) -> str:
    """Return `; did you mean 'ridge'?`, the end of an error; empty if no known name is near."""
    near = [repr(match) if quoted else match for match in find_nearest(name, known)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def find_nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most alike; case and leading dashes do not count.

    Without any, return those that begin with the name or have it as a word (`dir` of `--output-dir`).
    """
    from difflib import get_close_matches

    typed, meant = _plain(name), {_plain(candidate): candidate for candidate in known}
    if len(typed) > _MAX_LETTERS:
        return []
    if matches := get_close_matches(typed, meant, n=_MAX_GUESSES, cutoff=_MIN_LIKENESS):
        return [meant[match] for match in matches]
    words = [plain for plain in meant if typed in (plain[: len(typed)], *re.split("[-_]", plain))]
    return [meant[word] for word in words] if len(typed) > 2 and len(words) <= _MAX_GUESSES else []


def _plain(name: str) -> str:
    return name.lower().lstrip("-")
