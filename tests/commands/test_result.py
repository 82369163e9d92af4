"""Documents on stdout: readable alone, a line each for several inputs."""

import json

import pytest

from vidsum.batch.reply import Reply
from vidsum.batch.settings import CommonOptions
from vidsum.commands.result import render

DOCUMENT = {"shots": [1, 2], "name": "film"}


@pytest.mark.parametrize(("n_inputs", "is_a_line"), [(0, False), (1, False), (2, True)])
def test_document_takes_one_line_where_there_are_several_inputs(
    n_inputs: int, is_a_line: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    render(Reply(document=DOCUMENT), CommonOptions(), n_inputs=n_inputs)
    text = capsys.readouterr().out
    assert json.loads(text) == DOCUMENT
    assert (text.count("\n") == 1) == is_a_line
