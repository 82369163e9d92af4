"""Captions of clips as features: each layout is read, each fault is named, each caption is embedded once."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.lab.datasets import clip_captions
from vidsum.lab.datasets.clip_captions import embed_captions, is_captions, read_clip_captions
from vidsum.lab.datasets.published_features import check_features, read_moment_features, read_parts

VIDEOS = {"v_a": ["a dog runs", 'it\'s a "dog"'], "v_b": ["a dog runs", "", "snow\\d"]}


def lines_of(videos: dict[str, Any], write: Callable[[Any], Any] = list) -> str:
    return "".join(json.dumps({"vid": name, "captions": write(each)}) + "\n" for name, each in videos.items())


def stored(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["captions.jsonl", "captions.jsonl.gz"])
@pytest.mark.parametrize("write", [list, str])
def test_a_list_or_a_list_in_a_text_is_read(tmp_path: Path, name: str, write: Callable[[Any], Any]) -> None:
    path = stored(tmp_path / name, lines_of(VIDEOS, write))
    assert read_clip_captions(path) == {video: tuple(each) for video, each in VIDEOS.items()}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "line 1: is not a JSON object"),
        ('{"captions": ["a"]}', "line 1: has no text vid"),
        ('{"vid": "v"}', "line 1: has no list of captions: None"),
        ('{"vid": "v", "captions": "a dog"}', "has captions that are not a list"),
        ('{"vid": "v", "captions": "' + "[" * 5000 + '"}', "has captions that are not a list"),
        ('{"vid": "v", "captions": "{1: 2}"}', "has no list of captions"),
        ('{"vid": "v", "captions": ["a", 2]}', "has no text as caption 1: 2"),
        ('{"vid": "v", "captions": ["\\ud800"]}', "has no text as caption 0"),
        ('{"vid": "v", "captions": ["a"]}\n{"vid": "v", "captions": ["a"]}', "line 2: has the video v again"),
        ("", "holds no captions"),
        ("{", "line 1: cannot be read as JSON"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, line: str, reason: str) -> None:
    for name in ("bad.jsonl", "bad.jsonl.gz"):
        path = stored(tmp_path / name, line)
        with pytest.raises(InputError) as raised:
            read_clip_captions(path)
        assert name in str(raised.value)
        assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"text", "not a gzip file"),
        (gzip.compress(lines_of(VIDEOS).encode())[:-9], "damaged"),
        (gzip.compress(b"\xfa\xfb"), "not a text file in UTF-8"),
    ],
    ids=["text", "cut", "bytes"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "bad.jsonl.gz").write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read_clip_captions(tmp_path / "bad.jsonl.gz")


def test_a_file_that_is_absent_is_named(tmp_path: Path) -> None:
    for name in ("none.jsonl.gz", "none.jsonl"):
        with pytest.raises(InputError, match=f"{name}: no such file"):
            read_clip_captions(tmp_path / name)
        with pytest.raises(InputError, match=name):
            embed_captions(tmp_path / name)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A text encoder of a few numbers in MiniLM's place; the texts that it was given."""
    texts: list[str] = []

    def encode(batch: Sequence[str]) -> np.ndarray:
        texts.extend(batch)
        return np.array([vector_of(text) for text in batch], np.float32)

    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(clip_captions.checkpoints, "sha256_of", lambda name: f"sha of {name}")
    monkeypatch.setattr(clip_captions, "load_text_encoder", lambda *_: SimpleNamespace(encode=encode))
    monkeypatch.setattr(clip_captions, "_last", {})
    return texts


def vector_of(text: str) -> list[float]:
    numbers = np.array([1.0 + len(text), text.count("d"), text.count("o")])
    return list(numbers / np.linalg.norm(numbers))


def test_each_distinct_caption_is_embedded_once_and_kept(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.grounding.text._TEXTS_PER_REPORT", 2)
    path = stored(tmp_path / "captions.jsonl", lines_of(VIDEOS))
    done: list[tuple[str, float, float]] = []
    embedded = embed_captions(path, "cpu", lambda *given: done.append(given))
    for video, captions in VIDEOS.items():
        assert np.allclose(embedded[video], [vector_of(caption) for caption in captions])
    assert sorted(asked) == sorted({text for captions in VIDEOS.values() for text in captions})
    assert done == [("captions embedded", 2, 4), ("captions embedded", 4, 4)]
    asked.clear()
    clip_captions._last.clear()
    again = embed_captions(path)
    assert all(np.array_equal(again[video], embedded[video]) for video in VIDEOS)
    assert asked == []
    stored(path, lines_of({"v_a": ["a cat"]}))  # another file of the same name
    assert np.allclose(embed_captions(path)["v_a"], [vector_of("a cat")])


def test_they_are_features_beside_others(tmp_path: Path, asked: list[str]) -> None:
    path = stored(tmp_path / "captions.jsonl.gz", lines_of(VIDEOS))
    assert is_captions(path)
    assert not is_captions(tmp_path / "features.hdf5")
    check_features([path], list(VIDEOS))
    assert asked == []
    folder = tmp_path / "features"
    folder.mkdir()
    np.save(folder / "v_b.npy", np.eye(3, 4, dtype=np.float32))
    first, second = read_parts([path, folder], "v_b")
    assert np.allclose(first, [vector_of(caption) for caption in VIDEOS["v_b"]])
    assert np.array_equal(read_moment_features([path, folder], "v_b"), np.concatenate([first, second], 1))
    with pytest.raises(InputError, match="has no features of 1 of 2 videos, such as v_c"):
        check_features([path], ["v_a", "v_c"])
    with pytest.raises(InputError, match="has no features of v_c"):
        read_parts([path], "v_c")
