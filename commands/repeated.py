"""Options with one value that a command line has twice."""

from collections.abc import Sequence
from typing import Any

from vidsum.errors import UsageError, quote


def require_single(command: Any, context: Any, words: Sequence[str]) -> None:
    """Raise UsageError where an option that has one value gets several: Typer would drop all but the last."""
    parser: Any = command.make_parser(context)
    for option in (*parser._long_opt.values(), *parser._short_opt.values()):
        option.action = "append" if option.action == "store" else option.action
    lists, _, _ = parser.parse_args([*words])
    for parameter in filter(is_single, command.params):
        values = dict.fromkeys(lists.get(parameter.name) or ())
        if len(values) > 1:
            flag = parameter.opts[0]
            fault = f"{flag} is given {len(values)} times: {', '.join(map(quote, values))}"
            raise UsageError(fault, hint=f"one {flag}")


def is_single(parameter: Any) -> bool:
    """Return whether a parameter of Typer is an option with one value."""
    return parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag)
