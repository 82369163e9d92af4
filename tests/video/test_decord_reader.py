"""Reading with decord: the size in which it decodes."""

from dataclasses import replace
from typing import Any

import pytest

from tests.media import video_info
from vidsum.video.damage import CannotReadError, DecodeLog
from vidsum.video.frames import Exact, Sampling
from vidsum.video.jumps import Jumps

reader = pytest.importorskip("vidsum.video.decord_reader")
INFO = replace(video_info("film.mkv", width=640, height=480), container="matroska")


def decoded_size(monkeypatch: pytest.MonkeyPatch, *sizes: tuple[int, int]) -> tuple[int, int]:
    """The size in which decord is to decode."""
    sizes_read = list[tuple[int, int]]()

    def refuse(path: str, width: int, height: int) -> Any:
        sizes_read.append((width, height))
        raise RuntimeError

    monkeypatch.setattr(reader.decord, "VideoReader", refuse)
    samplings = [Sampling(2.0, Exact(*size)) for size in sizes]
    with pytest.raises(CannotReadError, match="decord fails on it"):
        list(reader.read_samples(INFO, samplings, Jumps(), DecodeLog()))
    return sizes_read[0]


def test_decord_decodes_in_the_size_that_all_samplings_share(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decoded_size(monkeypatch, (224, 224), (224, 224)) == (224, 224)


def test_decord_decodes_in_full_size_for_samplings_of_several_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decoded_size(monkeypatch, (224, 224), (112, 112)) == (640, 480)


def test_decord_decodes_in_full_size_what_is_too_narrow_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decoded_size(monkeypatch, (64, 64)) == (640, 480)
