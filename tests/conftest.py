"""Fixtures that all tests share."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[2] / "shared"))


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
