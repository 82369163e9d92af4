"""Download a file from the Hugging Face Hub, or a mirror (HF_ENDPOINT), by huggingface_hub."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from vidsum.checkpoints.registry import HubSource, host_of
from vidsum.errors import WeightsError, is_full
from vidsum.io.network import OnBytes

_HUB = "https://huggingface.co"


def download_from_hub(source: HubSource, folder: Path, on_bytes: OnBytes) -> tuple[Path, str]:
    """Download a file into a folder; return its path, and the SHA-256 that the hub states.

    A broken transfer is resumed. Raises WeightsError: the hub is unreachable, refuses, or answers otherwise.
    """
    hub: Any = import_module("huggingface_hub")
    utilities: Any = import_module("huggingface_hub.utils")
    utilities.logging.set_verbosity_error()  # or else it prints each attempt

    class Bar(utilities.tqdm):  # type: ignore[misc]
        """Reports bytes, and prints nothing."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0
            on_bytes(int(self.n), int(self.total or 0))
            return None

    endpoint = os.environ.get("HF_ENDPOINT") or None  # huggingface_hub reads it once, when it is imported
    place = (source.hub, source.file)
    try:
        url = hub.hf_hub_url(*place, revision=source.revision, endpoint=endpoint)
        if not (etag := hub.get_hf_file_metadata(url, endpoint=endpoint).etag):
            raise ValueError("no facts about the file")
        path = hub.hf_hub_download(
            *place, revision=source.revision, endpoint=endpoint, local_dir=folder, tqdm_class=Bar
        )
    except Exception as error:  # its kinds differ from version to version
        if isinstance(error, OSError) and is_full(error):
            raise
        raise WeightsError(f"{host_of(endpoint or _HUB)} {_reason_of(error)}") from error
    if not re.fullmatch("[0-9a-f]{64}", etag):
        raise WeightsError(f"{host_of(endpoint or _HUB)} states no SHA-256 of {source.file}")
    return Path(path), etag


def _reason_of(error: Exception) -> str:
    """Return the reason of a failed download, as words that follow the host's name."""
    from huggingface_hub.errors import FileMetadataError

    response = getattr(error, "response", None)
    if response is not None and response.status_code >= 400:
        return f"answers {response.status_code}"
    if isinstance(error, FileMetadataError | KeyError | ValueError):
        return "does not answer as a hub does"
    return "broke off the transfer" if "onsistency check" in str(error) else "cannot be reached"
