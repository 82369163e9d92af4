"""The cache of features: hits, misses, eviction, and a cache that cannot be used."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.features import cache
from vidsum.results.features import Features


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.delenv("VIDSUM_CACHE_LIMIT", raising=False)


def features_of(number: int, dim: int = 4) -> Features:
    return replace(Features.from_array(np.full((3, dim), number)), provenance={"video": number, "fps": 2.0})


def test_put_and_get(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(features_of(1))
    features = cache.get({"fps": 2.0, "video": 1})
    assert features is not None
    assert (features.array == 1).all()
    assert cache.get({"fps": 1.0, "video": 1}) is None
    cache.put(features_of(1))
    (entry,) = cache.folder().glob("*.npz")
    entry.write_bytes(entry.read_bytes()[:100])
    assert cache.get({"fps": 2.0, "video": 1}) is None
    assert cache.state()["entries"] == 0
    entry.mkdir()
    assert cache.get({"fps": 2.0, "video": 1}) is None
    cache.put(features_of(1))
    assert [path.name for path in cache.folder().iterdir()] == [entry.name]
    cache.put(features_of(1))
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "0")
    assert cache.get({"fps": 2.0, "video": 1}) is None
    cache.put(features_of(2))
    assert cache.state()["entries"] < 2
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "lots")
    with pytest.raises(UsageError, match="VIDSUM_CACHE_LIMIT"):
        cache.put(features_of(1))
    with pytest.raises(UsageError, match="VIDSUM_CACHE_LIMIT"):
        cache.get({"fps": 2.0, "video": 1})


def test_put_removes_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    dim = 30_000  # 360 kB an entry
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    for number in (1, 2):
        cache.put(features_of(number, dim))
    for number, path in enumerate(sorted(cache.folder().glob("*.npz"), key=os.path.getmtime)):
        os.utime(path, (number, number))
    own = cache.folder() / "film_features.npz"
    own.write_bytes(bytes(2**20))
    os.utime(own, (0, 0))
    assert cache.get({"fps": 2.0, "video": 1}) is not None  # now used later than 2
    cache.put(features_of(3, dim))
    assert cache.get({"fps": 2.0, "video": 2}) is None
    assert cache.get({"fps": 2.0, "video": 1}) is not None
    assert cache.get({"fps": 2.0, "video": 3}) is not None
    assert cache.state()["bytes"] <= cache.state()["limit_bytes"]
    assert own.exists()


def test_put_without_a_folder(tmp_path: Path) -> None:
    (tmp_path / "features").write_text("in the way")
    cache.put(features_of(1))
    assert cache.get({"fps": 2.0, "video": 1}) is None


def test_put_and_get_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    dim = 30_000  # 360 kB an entry: there is room for two of three

    def use(number: int) -> None:
        for turn in range(10):
            video = (number + turn) % 3
            cache.put(features_of(video, dim))
            found = cache.get({"fps": 2.0, "video": video})
            assert found is None or (found.array == video).all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(6)))
    assert all(path.suffix == ".npz" and path.is_file() for path in cache.folder().iterdir())
