"""Download a file from the Hugging Face Hub, or a mirror (HF_ENDPOINT), by huggingface_hub."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from vidsum.checkpoints.registry import HubSource, host_of
from vidsum.checkpoints.transfer import PAGE_S, download
from vidsum.errors import WeightsError
from vidsum.io.network import OnBytes, Session

_HUB = "https://huggingface.co"


def download_from_hub(session: Session, source: HubSource, target: Path, on_bytes: OnBytes) -> str:
    """Download a file to `target`; return the SHA-256 that the hub states.

    No token is sent: none of the registry's models needs one, and HF_ENDPOINT may be anybody's server.
    Raises WeightsError: the hub is unreachable, refuses, or answers otherwise.
    """
    hub: Any = import_module("huggingface_hub")
    utilities: Any = import_module("huggingface_hub.utils")
    utilities.logging.set_verbosity_error()  # or else it prints each attempt
    endpoint = os.environ.get("HF_ENDPOINT") or _HUB  # huggingface_hub reads it once, when it is imported
    url = hub.hf_hub_url(source.hub, source.file, revision=source.revision, endpoint=endpoint)
    try:
        facts = session.within(PAGE_S, lambda: hub.get_hf_file_metadata(url, endpoint=endpoint, token=False))
        if not (facts.etag and facts.size):
            raise ValueError("no facts about the file")
    except Exception as error:  # its kinds differ from version to version
        raise WeightsError(f"{host_of(endpoint)} {_reason_of(error)}") from error
    if not re.fullmatch("[0-9a-f]{64}", facts.etag):
        raise WeightsError(f"{host_of(endpoint)} states no SHA-256 of {source.file}")
    download(session, url, target, on_bytes)
    if target.stat().st_size != facts.size:
        raise WeightsError(f"{host_of(endpoint)} broke off the transfer")
    return str(facts.etag)


def _reason_of(error: Exception) -> str:
    """Return the reason of a failed download, as words that follow the host's name."""
    from huggingface_hub.errors import FileMetadataError

    response = getattr(error, "response", None)
    if response is not None and response.status_code >= 400:
        return f"answers {response.status_code}"
    if isinstance(error, FileMetadataError | KeyError | ValueError):
        return "does not answer as a hub does"
    return "does not answer in time" if isinstance(error, TimeoutError) else "cannot be reached"
