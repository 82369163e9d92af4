"""Files of a result that are gone or were edited."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.outputs.alone import write_json
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.edited_files import lost_files
from vidsum.pipelines.summarize import summarize
from vidsum.results.features import Features
from vidsum.results.summary import Summary


@pytest.fixture
def summary() -> Summary:
    return summarize(Features.from_array(np.eye(12)), model="uniform")


def test_files_that_were_never_written_are_not_lost(summary: Summary, tmp_path: Path) -> None:
    write_json(summary, tmp_path / "film_summary.json")
    assert lost_files(summary, tmp_path / "film_summary.json") == {}


def test_export_that_was_edited_or_deleted_is_lost(summary: Summary, tmp_path: Path) -> None:
    record, export = tmp_path / "film_summary.json", tmp_path / "film_summary.csv"
    Artifacts(record, {"csv": export}).write(
        summary,
        {"csv": lambda result, path: path.write_text("cuts") and ()},
        compose=lambda _: (summary.to_dict(), lambda name: True),
    )
    assert lost_files(summary, record) == {}
    export.write_text("mine")
    assert lost_files(summary, record) == {"csv": export}
    export.unlink()
    assert lost_files(summary, record) == {"csv": export}
