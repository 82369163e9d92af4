"""Settings whose fields are options: name, type, default, range and help are declared once, at the field.

    @dataclass(frozen=True)
    class Selection:
        seed: int = option("Random seed.", 0, min=0)
        def __post_init__(self) -> None:
            check(self)

A type that several settings share may hold its `Option`: `Annotated[int, Option("Random seed.", min=0)]`.

`check` refuses values that a field does not allow, `build` makes settings from values by name, and `leaves`
lists the options for a command line, a file, Python keywords or a page of the documentation.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from inspect import signature
from numbers import Integral, Real
from operator import ge, gt, le, lt
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from vidsum.errors import Mention, UsageError, did_you_mean, listed
from vidsum.io.file_names import existing_path

Settings = TypeVar("Settings")

ADVANCED = "Advanced"  # the panel of options that few users need; it ends the help of a command


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The range of a number, or of each number of a tuple; `above` and `below` leave out the limit itself."""

    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None

    def words(self, *, as_signs: bool = False) -> str:
        """Return the range in words, `at least 1`, or in signs, `>= 1`."""
        lower = [("at least", ">=", self.min), ("above", ">", self.above)]
        limits = [*lower, ("at most", "<=", self.max), ("below", "<", self.below)]
        parts = [f"{(words, sign)[as_signs]} {limit:g}" for words, sign, limit in limits if limit is not None]
        return (" " if as_signs else " and ").join(parts)

    def hold(self, value: float) -> bool:
        """Return whether a number is in the range."""
        pairs = ((ge, self.min), (gt, self.above), (le, self.max), (lt, self.below))
        return all(holds(value, limit) for holds, limit in pairs if limit is not None)


@dataclass(frozen=True)
class Option(Limits):
    """Details of a field that users choose."""

    help: str  # a sentence
    more: str = ""  # further ones, for the full help
    flags: tuple[str, ...] = ()
    """`--field-name` if empty; the first long one names the environment variable and the key in a file."""
    panel: str = ""  # heading in `--help`; the settings' heading (`PANEL`) if empty
    default_text: str = ""  # the default in words, if it is not a number
    metavar: str | None = None
    choices: tuple[str, ...] = ()  # on the command line, if not all of a Literal or the type is none
    names: tuple[str, ...] = ()  # names that a shell completes, if it takes others or files, too
    parse: Callable[[str], Any] | None = None  # turns a text of the command line into a value of the field
    flag_on: tuple[str, ...] | None = None
    """Commands that have a flag for it; None: all. In others, a variable or a configuration file sets it."""
    writes: bool = False  # whether it names a file to write: any other option that names a file has it read


def option(help: str, default: Any, **details: Any) -> Any:
    """Return a dataclass field that users choose; `details` are the other fields of `Option`."""
    return field(default=default, metadata={Option: Option(help, **details)})


@dataclass(frozen=True)
class Leaf:
    """One option of settings or of settings nested in them."""

    name: str  # as `build` takes it: the field's name; in optional nested settings `{field}_{name}`
    kind: Any  # the field's type
    option: Option
    default: Any  # MISSING where a value must be given

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Its flags on a command line; of a switch that is on by default, and of others, as `--on/--off`."""
        words = self.name.replace("_", "-")
        return self.option.flags or (f"--{words}/--no-{words}" if self.default is True else f"--{words}",)

    @cached_property
    def parameter(self) -> str:
        """Its name on a command line and in a file: the first long flag, with underscores."""
        long = next(flag for flag in self.flags if flag.startswith("--"))
        return long.split("/")[0].removeprefix("--").replace("-", "_")

    @property
    def text(self) -> str:
        """The sentences about it."""
        return f"{self.option.help} {self.option.more}".rstrip()

    @property
    def is_inverted(self) -> bool:
        """Whether its flag turns the field off: `--no-cache` of `cache`."""
        return self.parameter == f"no_{self.name}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that a command line allows; none where it allows others."""
        return () if self.option.parse else self.option.choices or choices_of(self.kind)

    def read(self, text: str) -> Any:
        """Return the value that a text denotes (one item of a tuple). Raises UsageError: not allowed."""
        kind, value, limits = item_of(self.kind) or required(self.kind), cast("Any", text), self.option
        is_none = text == "none" and kind in (int, float) and NoneType in get_args(self.kind)
        if limits.parse or is_none:
            value = limits.parse(text) if limits.parse else None
        else:
            with suppress(ValueError, KeyError):
                value = _TYPES[kind][2](text)
        if fault := "" if value is None else _fault(value, kind, limits, self.choices):
            near = did_you_mean(text, self.choices)
            raise UsageError((Mention(self.name), f" must be {fault}, not {text}{near}"), option=self.name)
        return Path(existing_path(text)) if kind is Path and not limits.writes else value


def check(settings: Any) -> None:
    """Refuse with a UsageError a value of another type, out of its range, or not among its choices."""
    for entry, (kind, limits) in _declared(type(settings)).items():
        name, value, item = entry.name, getattr(settings, entry.name), item_of(kind)
        if is_dataclass(kind) or _optional(kind) or (value is None and NoneType in get_args(kind)):
            continue
        said = Mention(name) if isinstance(limits, Option) else name
        if item is not None and not isinstance(value, tuple | list):
            raise UsageError((said, f" must be a list, not {value!r}"), option=name)
        choices = choices_of(kind) or getattr(limits, "choices", ())
        for part in (value,) if item is None else value:
            if fault := _fault(part, item or required(kind), limits, choices):
                near = did_you_mean(part, choices) if isinstance(part, str) else ""
                raise UsageError((said, f" must be {fault}, not {part!r}{near}"), option=name)


class Checked:
    """Settings that check their fields when they are made."""

    def __post_init__(self) -> None:
        check(self)


def _read_number(text: str) -> float:
    """Return a number, or a percentage (`90%`) as a fraction. Raises ValueError: it is neither."""
    number = text.strip().removesuffix("%")
    return float(number) / (1 if number == text.strip() else 100)


_BOOLS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}
_TYPES: Mapping[Any, tuple[Any, str, Callable[[str], Any]]] = {
    bool: (bool, "true or false", lambda text: _BOOLS.get(text.strip().lower(), text)),
    int: (Integral, "a whole number", int),
    float: (Real, "a number", _read_number),
    str: (str, "a text", str),
    Path: (Path, "a path", Path),
}
"""The accepted base class of a type, its name in errors, and the function that reads its text."""


def _fault(value: Any, kind: Any, limits: Limits | None, choices: Sequence[str]) -> str:
    """Return the rule that a value breaks, such as `at least 1`; empty if it is allowed."""
    if choices:
        return "" if value in choices else f"one of {', '.join(choices)}"
    if kind not in _TYPES:
        return ""
    allowed, words, _ = _TYPES[kind]
    is_bool = isinstance(value, bool) and kind is not bool
    if is_bool or not isinstance(value, allowed) or value != value:  # NaN
        return words
    return limits.words() if limits and kind in (int, float) and not limits.hold(value) else ""


def choices_of(kind: Any) -> tuple[str, ...]:
    """Return the texts of a Literal, which may be optional or the item of a tuple; of other types none."""
    kind = item_of(kind) or required(kind)
    return get_args(kind) if get_origin(kind) is Literal else ()


def from_mapping(kind: type[Settings], value: "Settings | Mapping[str, Any] | None") -> Settings | None:
    """Return optional settings from a mapping, as JSON has them; settings and None pass through."""
    if value is None or isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise UsageError(f"{kind.__name__} must be a mapping, not {value!r}")
    names = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    if unknown := sorted(set(value) - set(names)):
        raise UsageError(f"{kind.__name__} has no option {unknown[0]!r}{did_you_mean(unknown[0], names)}")
    return kind(**value)


def leaves(kind: type[Any], settings: Any = None) -> Iterator[Leaf]:
    """Yield the options of settings and of those nested in them; `settings` has the defaults."""
    for entry, (hint, limits) in _declared(kind).items():
        default = _default(entry) if settings is None else getattr(settings, entry.name)
        if isinstance(limits, Option):
            panel = limits.panel or getattr(kind, "PANEL", "")
            yield Leaf(entry.name, hint, replace(limits, panel=panel), default)
        elif is_dataclass(hint):
            yield from leaves(hint, default)  # type: ignore[arg-type]
        elif nested := _optional(hint):
            yield from _optional_leaves(entry.name, nested)


def _optional_leaves(prefix: str, kind: type[Any]) -> Iterator[Leaf]:
    """Yield the options of optional settings: the first switches them on and has their name."""
    for number, leaf in enumerate(leaves(kind)):
        yield replace(leaf, name=f"{prefix}_{leaf.name}" if number else prefix, default=None)


def build(
    kind: type[Settings], choices: Mapping[str, Any], preset: Mapping[str, Any] | None = None
) -> Settings:
    """Return settings from values by name, whichever nested settings they belong to.

    `preset` has other values, for optional settings only if they are switched on. Raises UsageError.
    """
    left = {**(preset or {}), **choices}
    settings = _build(kind, left, choices, None)
    if unknown := sorted(set(left) - set(preset or ())):
        raise UsageError(f"{kind.__name__} has no option {unknown[0]!r}")
    return settings


def from_keywords(
    function: Callable[..., Any], kind: type[Settings], keywords: Mapping[str, Any]
) -> Settings:
    """Return settings from the keyword arguments of a function call; see `all_from_keywords`."""
    return cast("Settings", all_from_keywords(function, (kind,), keywords)[0])


def all_from_keywords(
    function: Callable[..., Any], kinds: Sequence[type[Any]], keywords: Mapping[str, Any]
) -> list[Any]:
    """Return several settings from the keyword arguments of a function call, except its own parameters.

    Raises TypeError: the function has no such argument; UsageError: a value is not allowed.
    """
    known = {leaf.name: leaf for kind in kinds for leaf in leaves(kind)}
    if unknown := next((name for name in keywords if name not in known), None):
        hint = did_you_mean(unknown, [*signature(function).parameters, *known])
        raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {unknown!r}{hint}")
    values = {name: _several(known[name].kind, value) for name, value in keywords.items()}
    parts = [{leaf.name: values[leaf.name] for leaf in leaves(kind) if leaf.name in values} for kind in kinds]
    return [build(kind, part) for kind, part in zip(kinds, parts, strict=True)]


def _several(kind: Any, value: Any) -> Any:
    """Return a list, another iterable or a single text as a tuple, if the field holds a tuple."""
    if item_of(kind) is str and isinstance(value, str):
        return (value,)
    return tuple(value) if item_of(kind) and isinstance(value, Iterable) else value


def as_record(settings: Any) -> dict[str, Any]:
    """Return settings as JSON has them: tuples as lists."""
    text = json.dumps(asdict(settings), default=lambda number: number.item())  # NumPy's numbers
    return cast("dict[str, Any]", json.loads(text))


def without_defaults(settings: Any, *excluded: str) -> dict[str, Any]:
    """Return the non-default fields, except `excluded`, so that a new option leaves old records valid."""
    defaults, record = as_record(type(settings)()), as_record(settings)
    return {name: value for name, value in record.items() if name not in excluded and value != defaults[name]}


def _build(kind: type[Settings], left: dict[str, Any], chosen: Mapping[str, Any], default: Any) -> Settings:
    """Return settings from the values of `left`, which are removed from it; other fields are `default`'s."""
    values = {}
    for entry, (hint, _) in _declared(kind).items():
        name = entry.name
        if is_dataclass(hint) and name not in left:
            before = _default(entry) if default is None else getattr(default, name)
            values[name] = _build(hint, left, chosen, before)  # type: ignore[arg-type]
        elif nested := _optional(hint):
            values |= _build_optional(name, nested, left, chosen)
        elif name in left:
            values[name] = left.pop(name)
    return kind(**values) if default is None else replace(default, **values)


def _build_optional(
    name: str, kind: type[Any], left: dict[str, Any], chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the optional settings of a field, if they are switched on; refuse their parts alone."""
    names = [entry.name for entry in fields(kind)]
    parts = {part: left.pop(f"{name}_{part}") for part in names if f"{name}_{part}" in left}
    switch = left.pop(name, MISSING)
    if isinstance(switch, str):
        return {name: kind(**{names[0]: switch, **parts})}
    if isinstance(switch, Mapping):
        return {name: from_mapping(kind, {**parts, **switch})}
    first, *others = _optional_leaves(name, kind)
    parts_alone = [
        Mention(leaf.name, False if chosen[leaf.name] is False else None)
        for leaf in others
        if leaf.name in chosen
    ]
    if parts_alone:
        hint = listed((Mention(name, choice) for choice in first.choices), " or ")
        raise UsageError((*listed(parts_alone, " and "), f": there is no {name}"), hint)
    return {} if switch is MISSING else {name: switch}


def _read_fields(kind: Any) -> dict[Field[Any], tuple[Any, Limits | None]]:
    hints, declared = get_type_hints(kind, include_extras=True), {}
    for entry in fields(kind):
        hint, notes = hints[entry.name], tuple(entry.metadata.values())
        if get_origin(hint) is Annotated:
            hint, notes = hint.__origin__, hint.__metadata__
        declared[entry] = (hint, next((note for note in notes if isinstance(note, Limits)), None))
    return declared


_declared: Callable[[Any], dict[Field[Any], tuple[Any, Limits | None]]] = lru_cache(_read_fields)
"""Type and limits, or option, of each field; cached, since a command line reads them again and again."""


def _default(entry: "Field[Any]") -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def required(kind: Any) -> Any:
    """Return X of `X | None`; other types as they are."""
    inner = [] if isinstance(kind, type) else [part for part in get_args(kind) if part is not NoneType]
    return inner[0] if len(inner) == 1 and get_origin(kind) in (Union, UnionType) else kind


def item_of(kind: Any) -> Any:
    """Return X of `tuple[X, ...]`, which may be optional; None for other types."""
    kind = required(kind)
    return get_args(kind)[0] if get_origin(kind) is tuple and get_args(kind)[1:] == (...,) else None


def _optional(hint: Any) -> Any:
    return required(hint) if required(hint) is not hint and is_dataclass(required(hint)) else None
