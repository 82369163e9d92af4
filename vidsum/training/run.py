"""`run.json`: what a run over several splits is made from, and which videos each model may be tested on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.outputs import as_utf8, atomic_write
from vidsum.text_files import read_json
from vidsum.training.state import BEST, CURVES, LAST, clear, make_folder, require_same

SCHEMA = "vidsum.training_run/1"
NAME = "run.json"


def claim_run(out: Path, facts: Mapping[str, Any], *, overwrite: bool) -> None:
    """Make the folder of a run and write the facts to `run.json`, unless it is there and says the same.

    With `overwrite`, all splits of a run with other facts are dropped.

    Raises:
        OutputError: the folder holds a run with other facts, or cannot be written to.
        InputError: `run.json` is damaged.
    """
    document = {"schema": SCHEMA, **facts}
    make_folder(out)
    if (out / NAME).exists() and not overwrite:
        require_same(read_run(out), document, out)
        return
    if (out / NAME).exists() and not _is_same(out, document):
        for folder in {file.parent for name in (LAST, BEST) for file in out.glob(f"*/{name}")}:
            clear(folder)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    with atomic_write(out / NAME) as part:
        part.write_text(as_utf8(text) + "\n", encoding="utf-8")


def read_run(out: Path) -> dict[str, Any]:
    """The `run.json` in a folder: `model`, `data`, `features`, `settings` and `splits`.

    A split has `folder`, `name`, `train`, `validation` and `test`. Raises InputError where the file is
    missing or of another kind.
    """
    path = out / NAME
    if not path.is_file():
        raise InputError(f"{out}: holds no training run ({NAME})", hint="give the --out of `vidsum train`")
    try:
        document = read_json(path)
    except InputError as error:
        raise InputError(error.message, hint="train anew with --overwrite") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"{path}: does not describe a training run ({SCHEMA})")
    return document


def unfinished_splits(out: Path) -> list[int]:
    """Numbers of the splits of a run whose training is not finished; errors as `read_run`."""
    run = read_run(out)
    last = BEST if run.get("model") == "ridge" else CURVES  # the file that a training writes last
    folders = [out / split["folder"] for split in run["splits"]]
    return [number for number, folder in enumerate(folders) if not (folder / last).is_file()]


def _is_same(out: Path, document: Mapping[str, Any]) -> bool:
    try:
        return read_run(out) == document
    except InputError:
        return False
