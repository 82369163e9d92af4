"""A name that a user types means one thing: an option has one type and one subject in all commands."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from docs.options import commands, meaning_of
from vidsum.commands.config import variable_for
from vidsum.commands.options import metavar_of, settings_of
from vidsum.options import Leaf, choices_of, item_of, required

OPTIONS = [(words, leaf) for words, command in commands() for leaf in settings_of(command)]
SAME_SUBJECT = {
    "annotations": "scores of annotators",
    "archive": "files or databases of videos",
    "budget": "largest length of what is made",
    "captions": "captions of frames",
    "captions_as": "features made from captions",
    "clips": "an MP4 of each result",
    "clips_dir": "folder for an MP4 of each result",
    "data": "annotated data",
    "dry_run": "print, write nothing",
    "export": "formats in addition",
    "features": "features of the videos",
    "format": "format of the output",
    "head": "head of the model",
    "in": "the evidence",
    "layers": "layers of the model",
    "like": "a picture of what to find",
    "lr": "learning rate",
    "min_present": "lowest match probability",
    "model": "the model that does the work",
    "not": "what must not be seen",
    "on_screen_text": "read the text on the screen",
    "order": "order of the segments that are chosen",
    "out": "folder for runs",
    "output": "output file",
    "output_dir": "folder for outputs",
    "overwrite": "replace what is there",
    "plot": "a plot next to each result",
    "plot_format": "format of plots",
    "precision": "numeric precision",
    "preset": "published settings of the model",
    "query_features": "folder of vectors of queries",
    "run": "a run of `vidsum train`",
    "seed": "random seed",
    "space": "space of the features",
    "text_features": "folder of words of queries",
    "top_k": "largest number of results",
    "validation": "what chooses the best epoch",
    "weight_decay": "weight decay",
}
"""Options whose help says more in one command than in another, and the one subject that they have."""


def types_of(leaf: Leaf) -> set[str]:
    """Return the kinds of values that users can type: a switch, a number, a path or a text."""
    kind: Any = item_of(leaf.kind) or required(leaf.kind)
    if kind is bool:
        return {"switch"}
    typed = set[str]()
    for word in (leaf.option.metavar or metavar_of(leaf)).split("|"):
        is_path = kind is Path or word.startswith(("FILE", "FOLDER"))
        is_number = not is_path and (kind in (int, float) or word == "FRACTION")
        typed.add("path" if is_path else "number" if is_number else "text")
    return {"text"} if choices_of(kind) else typed


def by_name() -> dict[str, list[tuple[str, Leaf]]]:
    named = defaultdict[str, list[tuple[str, Leaf]]](list)
    for words, leaf in OPTIONS:
        named[leaf.parameter].append((words, leaf))
    return {name: uses for name, uses in named.items() if len(uses) > 1}


@pytest.mark.parametrize("name", by_name())
def test_an_option_name_has_one_type(name: str) -> None:
    typed = {words: types_of(leaf) for words, leaf in by_name()[name]}
    assert set.intersection(*typed.values()), typed


@pytest.mark.parametrize("name", by_name())
def test_an_option_name_has_one_subject(name: str) -> None:
    helps = {meaning_of(leaf): words for words, leaf in by_name()[name]}
    assert len(helps) == 1 or name in SAME_SUBJECT, helps


def test_every_subject_is_of_an_option_with_several_helps() -> None:
    several = {name for name, uses in by_name().items() if len({meaning_of(leaf) for _, leaf in uses}) > 1}
    assert several == {*SAME_SUBJECT}


def test_no_two_options_have_one_variable() -> None:
    variables = [variable_for(leaf, words) for words, leaf in OPTIONS]
    assert len(variables) == len({*variables})
