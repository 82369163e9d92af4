"""Write the manual pages vidsum.1, vidsum-summarize.1, ... of the program's help into a folder.

    python -m docs.man FOLDER

`man -l FOLDER/vidsum.1` shows one; in ~/.local/share/man/man1, `man vidsum-summarize` finds it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.options import commands, flags_of, meaning_of, value_of
from vidsum.commands.app import program
from vidsum.commands.options import leaves_of
from vidsum.commands.usage import CommandHelp
from vidsum.options import Leaf
from vidsum.version import __version__


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each page: one for the program, one for each command."""
    inner = dict(commands())
    whole = program()
    summaries = {f"vidsum {words}": _texts(command).summary for words, command in inner.items()}
    listed = "".join(f".TP\n.B {_text(name)}\n{_text(summary)}\n" for name, summary in summaries.items())
    epilog = f".SH SETTING OPTIONS\n{_text(whole.epilog)}\n"
    yield "vidsum", _page("vidsum", whole, f".SH COMMANDS\n{listed}{epilog}")
    for words, command in inner.items():
        yield f"vidsum-{words.replace(' ', '-')}", _page(f"vidsum {words}", command, "")


def _page(words: str, command: Any, rest: str) -> str:
    name = words.replace(" ", "-")
    texts = _texts(command)
    options = leaves_of(command)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    places = " ".join(_metavar(argument) for argument in arguments)
    examples = "\n".join(f"  {example}" for example in texts.examples)
    paragraphs = "".join(f".PP\n{_text(paragraph)}\n" for paragraph in (texts.summary, *texts.details))
    parts = [
        f'.TH "{_text(name).upper()}" 1 "" "vidsum {__version__}"\n',
        f".SH NAME\n{_text(name)} \\- {_text(texts.summary.rstrip('.'))}\n",
        f".SH SYNOPSIS\n.B {_text(words)}\n[OPTIONS] {_text(places)}\n",
        f".SH DESCRIPTION\n{paragraphs}",
        rest,
        ".SH OPTIONS\n" + "".join(map(_option, options)) if options else "",
        f".SH EXAMPLES\n.nf\n{_text(examples)}\n.fi\n" if examples else "",
        "" if name == "vidsum" else ".SH SEE ALSO\n.BR vidsum (1)\n",
    ]
    return "".join(parts)


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _option(leaf: Leaf) -> str:
    flags = ", ".join(flags_of(leaf))
    return f".TP\n\\fB{_text(flags)}\\fR \\fI{_text(value_of(leaf))}\\fR\n{_text(meaning_of(leaf))}\n"


def _texts(command: Any) -> CommandHelp:
    """Return the texts of a command's help; of the program and of `help`, its summary."""
    texts: CommandHelp = getattr(command.callback, "texts", CommandHelp(command.help or ""))
    return texts


def _text(text: str) -> str:
    """Return a text for roff, with requests and escapes quoted."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def main() -> None:
    """Write all pages."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
