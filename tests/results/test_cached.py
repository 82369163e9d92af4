"""Results in the cache: hits, misses, damaged entries, the limit, and a cache that cannot be used."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.io.cache import cache_state, clear_cache, find_bytes, store_bytes
from vidsum.results.cached import find_cached, find_features, store_cached
from vidsum.results.features import Features
from vidsum.results.transcript import Segment, Transcript

PROVENANCE = {"fps": 2.0, "video": 1}
DIM = 30_000  # an entry of 360 kB


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of features in a home of its own."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.delenv("VIDSUM_CACHE_LIMIT", raising=False)
    return tmp_path / "features"


def features_of(number: int, dim: int = 4) -> Features:
    return replace(Features.from_array(np.full((3, dim), number)), provenance={"video": number, "fps": 2.0})


def test_features_are_found_by_provenance_in_any_order() -> None:
    store_cached(features_of(1))
    found = find_features({"fps": 2.0, "video": 1})
    assert found is not None
    assert (found.array == 1).all()
    assert find_features({"fps": 1.0, "video": 1}) is None


def test_name_of_an_entry_is_the_digest_of_its_provenance(folder: Path) -> None:
    """Caches of earlier versions stay valid."""
    store_cached(features_of(1))
    assert [path.name for path in folder.iterdir()] == ["17cf8bf4885636ad5d74e80e3f17c899.npz"]


def test_transcript_is_found_without_its_video() -> None:
    provenance = {"speech": "base"}
    said = (Segment(0.0, 1.0, "hello", 0.9, 0.1),)
    transcript = Transcript(said, "en", 1.0, 2.0, provenance=provenance)
    store_cached(transcript)
    assert find_cached(Transcript, provenance) == transcript
    assert find_cached(Transcript, {"speech": "small"}) is None


def test_damaged_features_are_removed(folder: Path) -> None:
    store_cached(features_of(1))
    (entry,) = folder.glob("*.npz")
    entry.write_bytes(entry.read_bytes()[:100])
    assert find_features(PROVENANCE) is None
    assert cache_state()["entries"] == 0


def test_folder_in_place_of_an_entry_is_a_miss(folder: Path) -> None:
    store_cached(features_of(1))
    (entry,) = folder.glob("*.npz")
    entry.unlink()
    entry.mkdir()
    assert find_features(PROVENANCE) is None
    store_cached(features_of(1))
    assert [path.name for path in folder.iterdir()] == [entry.name]


def test_limit_0_neither_reads_nor_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    store_cached(features_of(1))
    store_bytes("texts", PROVENANCE, b"text")
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "0")
    assert find_features(PROVENANCE) is None
    assert find_bytes("texts", PROVENANCE) is None
    before = cache_state()["entries"]
    store_cached(features_of(2))
    store_bytes("texts", {"other": 1}, b"text")
    assert cache_state()["entries"] == before


def test_limit_that_is_no_number_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "lots")
    with pytest.raises(UsageError, match="VIDSUM_CACHE_LIMIT"):
        store_cached(features_of(1))
    with pytest.raises(UsageError, match="VIDSUM_CACHE_LIMIT"):
        find_features(PROVENANCE)
    with pytest.raises(UsageError, match="VIDSUM_CACHE_LIMIT"):
        find_bytes("texts", PROVENANCE)


def test_least_recently_used_entry_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    for number in (1, 2):
        store_cached(features_of(number, DIM))
    for number, path in enumerate(sorted(folder.glob("*.npz"), key=os.path.getmtime)):
        os.utime(path, (number, number))
    assert find_features(PROVENANCE) is not None  # now used later than 2
    store_cached(features_of(3, DIM))
    assert find_features({"fps": 2.0, "video": 2}) is None
    assert find_features(PROVENANCE) is not None
    assert find_features({"fps": 2.0, "video": 3}) is not None
    assert cache_state()["bytes"] <= cache_state()["limit_bytes"]


def test_features_and_bytes_share_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    store_cached(features_of(1, DIM))
    (entry,) = folder.glob("*.npz")
    os.utime(entry, (1, 1))
    store_bytes("texts", {"of": "a long text"}, bytes(900_000))
    assert not entry.exists()
    assert cache_state()["entries"] == 1


def test_bytes_in_use_outlive_features(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    store_bytes("texts", PROVENANCE, bytes(400_000))
    store_cached(features_of(1, DIM))
    for path in tmp_path.glob("*/*"):
        os.utime(path, (1, 1))
    assert find_bytes("texts", PROVENANCE) is not None
    store_cached(features_of(2, DIM))
    assert find_bytes("texts", PROVENANCE) is not None
    assert find_features(PROVENANCE) is None


def other_file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(2**20))
    os.utime(path, (0, 0))
    return path


@pytest.mark.parametrize("name", ["features/film.npz", "weights/vse.safetensors", "videos/ab/film.mp4"])
def test_other_files_are_never_removed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    other = other_file(tmp_path / name)
    for number in range(4):
        store_cached(features_of(number, DIM))
    clear_cache()
    assert other.exists()


def test_clear_removes_all_entries() -> None:
    store_cached(features_of(1))
    store_bytes("texts", PROVENANCE, b"text")
    clear_cache()
    assert cache_state()["entries"] == 0
    assert find_features(PROVENANCE) is None
    assert find_bytes("texts", PROVENANCE) is None


def test_file_in_place_of_the_folder_stores_nothing(folder: Path) -> None:
    folder.write_text("in the way")
    store_cached(features_of(1))
    assert find_features(PROVENANCE) is None


def test_threads_read_and_write_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")  # room for two of three

    def use(number: int) -> None:
        for turn in range(10):
            video = (number + turn) % 3
            store_cached(features_of(video, DIM))
            found = find_features({"fps": 2.0, "video": video})
            assert found is None or (found.array == video).all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(6)))
    assert all(path.suffix == ".npz" and path.is_file() for path in folder.iterdir())
