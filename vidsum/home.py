"""Where vidsum keeps what it fetched and computed: `$VIDSUM_HOME`, or the user's cache folder."""

import os
from pathlib import Path


def home() -> Path:
    """The folder that holds `weights/`, `features/`, `onnx/` and `class_names/`; not made here."""
    if named := os.environ.get("VIDSUM_HOME"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vidsum", appauthor=False))
