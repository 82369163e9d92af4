"""The recipe of the moment models that ship: what it learns from, what it writes, and that it resumes."""

import json
from pathlib import Path

import pytest
import torch

from docs.benchmarks.small import make_highlights
from tests.conftest import deep
from vidsum.checkpoints.trained import read_trained
from vidsum.io.text import read_packed_text
from vidsum.weights.recipes import moments

SMALL = {"d": 16, "d_ff": 16, "layers": 1, "heads": 2, "clips": 8, "epochs": 1, "decay_at": ()}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Queries and captions of ten videos; two segments are of one video of YouTube."""
    make_highlights(tmp_path / "made")
    queries, captions = (tmp_path / "made" / f"{name}.jsonl" for name in ("queries", "captions"))
    for path in queries, captions:
        path.write_text(path.read_text().replace('"9_0_150"', '"0_150_300"'))
    return queries, captions


def videos_of(path: Path) -> list[str]:
    return [json.loads(line)["vid"] for line in read_packed_text(path).splitlines()]


def test_no_youtube_video_is_both_learned_from_and_tested(files: tuple[Path, Path], tmp_path: Path) -> None:
    learned, described = tmp_path / "train.jsonl", tmp_path / "captions.jsonl.gz"
    moments.write_split(*files, learned, described)
    ids = {moments.youtube_id(video) for video in videos_of(learned)}
    left_out = [video for video in videos_of(files[0]) if moments.youtube_id(video) not in ids]
    assert len(ids) == 8  # of nine
    assert set(left_out).isdisjoint(videos_of(described))


def test_captions_are_of_the_first_videos_learned_from(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "DESCRIBED", 3)
    learned, described = tmp_path / "train.jsonl", tmp_path / "captions.jsonl.gz"
    moments.write_split(*files, learned, described)
    among = [video for video in videos_of(files[1]) if video in videos_of(learned)]
    assert videos_of(described) == among[:3]


def test_the_split_has_the_same_bytes_each_time(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Else the checkpoint, which records their digests, would not resume."""
    written = []
    for number in range(2):
        paths = tmp_path / f"{number}.jsonl", tmp_path / f"{number}.jsonl.gz"
        moments.write_split(*files, *paths)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]


@pytest.mark.parametrize(("name", "mask"), [deep("mrnet-vse", None), ("qd-detr-stamp-vse", "stamp")])
def test_a_file_is_written_in_half_precision_and_again_from_the_same_run(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mask: str | None
) -> None:
    sizes = {**SMALL, "n_moments": 2, "decoder_layers": 1} if mask else {**SMALL, "dim_pool": 8}
    monkeypatch.setattr(moments, "OURS", {**moments.OURS, **sizes})
    monkeypatch.setattr(moments, "MRNET_LENGTH", {})
    monkeypatch.setattr(moments, "MRNET_VIDEOS", 4)
    monkeypatch.setattr("vidsum.lab.training.training_examples._VIDEOS", 4)
    target = tmp_path / f"{name}.safetensors"
    moments.main(target, *files, tmp_path / "runs")
    trained, written = read_trained(target), target.read_bytes()
    assert {tensor.dtype for tensor in trained.tensors.values()} == {torch.float16}
    assert (trained.features["space"], trained.training["warmup"]) == ("vse", 2.0)
    assert (trained.config["mask"] or {}).get("kind") == mask
    target.unlink()
    moments.main(target, *files, tmp_path / "runs")
    assert target.read_bytes() == written
