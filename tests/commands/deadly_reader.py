"""A worker that dies when it looks at a file, decodes its pictures or its sound, by the file's name."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.commands.conftest import use_mean_colours
from vidsum.batch.workers import _prepare
from vidsum.pipelines import make_reel, reel_inputs, reel_photographs


def prepare(*values: Any) -> None:
    use_mean_colours(pytest.MonkeyPatch())
    for module, name, word in (
        (reel_inputs, "identify_file", "unreadable"),
        (make_reel, "_plan_clip", "undecodable"),
        (make_reel, "decode_all_sound", "deafening"),
        (reel_photographs, "read_photograph", "undecodable"),
    ):
        setattr(module, name, _dying(getattr(module, name), word))
    _prepare(*values)


def _dying(function: Callable[..., Any], word: str) -> Callable[..., Any]:
    def run(path: Any, *arguments: Any, **more: Any) -> Any:
        if word in str(path):
            os.kill(os.getpid(), signal.SIGSEGV)
        return function(path, *arguments, **more)

    return run
