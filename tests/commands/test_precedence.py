"""For every command and option: a flag is over a variable, a variable over a file, and each is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docs.options import commands
from vidsum.commands.app import program
from vidsum.commands.config import SHARED, OptionNames, Source, find_sources, typed_sources, variable_for
from vidsum.commands.options import settings_of
from vidsum.errors import Mention, UsageError
from vidsum.options import Leaf, item_of

OPTIONS = [(words, leaf) for words, command in commands() for leaf in settings_of(command)]
PLACES = ("flag", "variable", "shared variable", "file", "shared key")
used = st.sampled_from([(words, leaf) for words, leaf in OPTIONS if leaf.parameter != "config"])


def context_of(words: str) -> Any:
    """The context of a command such as `train mrnet`."""
    command = program()
    context: Any = typer.Context(command, info_name="vidsum")
    for word in words.split():
        command = command.resolve_command(context, [word])[1]
        context = typer.Context(command, info_name=word, parent=context)
    return context


def write_file(path: Path, words: str, leaf: Leaf, places: set[str]) -> None:
    """A file with the option at the top, under its command, or both, in JSON, which YAML includes."""
    section: dict[str, Any] = {leaf.parameter: "file"} if "file" in places else {}
    for word in reversed(words.split()):
        section = {word: section}
    document = {leaf.parameter: "shared key", **section} if "shared key" in places else section
    path.write_text(json.dumps(document, indent=1))


@given(used, st.sets(st.sampled_from(PLACES)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_source_of_an_option_wins(
    tmp_path: Path, option: tuple[str, Leaf], places: set[str]
) -> None:
    words, leaf = option
    if leaf.parameter not in SHARED:
        places -= {"shared variable", "shared key"}
    write_file(tmp_path / "c.yaml", words, leaf, places)
    variables = {"variable": variable_for(leaf, words), "shared variable": variable_for(leaf, "")}
    typed: dict[str, Any] = {"config": [str(tmp_path / "c.yaml")]}
    typed |= {leaf.parameter: ["flag"]} if "flag" in places else {}
    with pytest.MonkeyPatch.context() as patch:
        for place in places & variables.keys():
            patch.setenv(variables[place], place.replace(" ", "_"))
        leaves = [leaf for name, leaf in OPTIONS if name == words]
        by_hand = typed_sources(words, leaves, typed)
        source = find_sources(context_of(words), leaves, by_hand).get(leaf.name)
    place = next((place for place in PLACES if place in places), None)
    if place is None:
        assert source is None
        return
    assert source is not None
    first = source.values[0] if isinstance(source.values, list) else source.values
    assert first == (place if place in ("file", "shared key") else place.replace(" ", "_"))
    depth = len(words.split())
    line = {"shared key": 2, "file": 2 + depth + ("shared key" in places)}.get(place)
    assert source.origin == {"flag": ""}.get(place, variables.get(place, f"{tmp_path / 'c.yaml'}:{line}"))


@given(used, st.sampled_from(["", "VIDSUM_SOMETHING", "c.yaml:3"]))
def test_an_error_about_a_value_names_its_source(option: tuple[str, Leaf], origin: str) -> None:
    words, leaf = option
    leaves = [leaf for name, leaf in OPTIONS if name == words]
    names = OptionNames.of(words, leaves, {leaf.name: Source("x", origin)})
    end = f" (from {origin})" if origin else ""
    for text in ((Mention(leaf.name), " is wrong"), "it is wrong"):
        error = UsageError(text, option=leaf.name)
        names.explain(error)
        assert error.message.endswith(f" is wrong{end}")
    assert item_of(leaf.kind) or error.message.count("(from ") == bool(origin)


@given(used)
def test_a_bare_option_is_named_by_the_variable_that_sets_it(option: tuple[str, Leaf]) -> None:
    words, leaf = option
    leaves = [leaf for name, leaf in OPTIONS if name == words]
    variable = variable_for(leaf, words)
    names = OptionNames.of(words, leaves, {leaf.name: Source("x", variable)})
    error = UsageError((Mention(leaf.name), " is wrong"), option=leaf.name)
    names.explain(error)
    assert error.message.count(variable) == 1
