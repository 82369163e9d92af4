"""Fixtures that all tests share."""

import os
from pathlib import Path

# before torch and NumPy are imported: threads of several test processes wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("vidsum", deadline=None)  # on a busy machine any test may take long
settings.load_profile("vidsum")

SHARED = Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, which is empty."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real clips and annotations beside the checkout; VIDSUM_SHARED names another."""
    if not SHARED.is_dir():
        pytest.skip("no shared folder beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def shared_videos(shared: Path) -> Path:
    """The real clips."""
    return shared / "videos"


@pytest.fixture(scope="session")
def default_weights() -> Path:
    """The weights of the default extractor, fetched if need be."""
    from vidsum.settings import DEFAULT_EXTRACTOR

    return real_weights(DEFAULT_EXTRACTOR)


def real_weights(name: str) -> Path:
    """A checkpoint in the cache, fetched if need be; the test is skipped where it cannot be had.

    Weights that can be had but are not the right ones are no reason to skip.
    """
    from vidsum import checkpoints
    from vidsum.errors import WeightsError

    try:
        return checkpoints.path_of(name)
    except WeightsError as error:
        if "SHA-256" in error.message:
            raise
        pytest.skip(f"no weights of {name}: {error}")
