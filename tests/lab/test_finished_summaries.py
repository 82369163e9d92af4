"""Finished summaries as rows, measured against direct computations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import f1_score

from tests.lab.evaluation.annotated import dataset
from vidsum.errors import InputError
from vidsum.lab.datasets.labels import Labels
from vidsum.lab.evaluation.reference import key_shots
from vidsum.lab.evaluation.settings import HighlightsRequest
from vidsum.lab.evaluation.summary_evaluation import evaluate_summaries
from vidsum.lab.finished_summaries import Finished, provenance, read_finished
from vidsum.results.result import write_json
from vidsum.results.summary import ScoredShot, Summary

VIDEOS = dataset()  # of 600 frames, at 30 a second
FPS, SECONDS = 30.0, 20.0
SEGMENTS = ((1.0, 2.5), (10.02, 11.5))
"""A frame is .033 s: the second segment begins with frame 301."""


def summary(seed: int = 0, **changes: Any) -> Summary:
    made = Summary(
        segments=SEGMENTS,
        shots=(ScoredShot(0.0, SECONDS, 0.5, selected=True),),
        importance=np.random.default_rng(seed).random(20, np.float32),
        timestamps=np.arange(20.0),
        budget_s=3.0,
        video_duration_s=SECONDS,
        video_fps=FPS,
        model="mine",
        shot_method="kts",
        provenance={"vidsum": "0"},
    )
    return replace(made, **changes)


def save(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate(names):
        write_json(summary(seed), folder / f"{name}_summary.json")
    return folder


def mask() -> np.ndarray:
    frames = np.zeros(600, bool)
    frames[30:75] = frames[301:345] = True
    return frames


def test_segments_are_compared_as_they_are_and_curves_at_the_picks(tmp_path: Path) -> None:
    folder = save(tmp_path / "mine", "video_1", "video_2", "video_3")
    (folder / "film_moments.json").write_text('{"schema": "vidsum.moments/1"}')  # passed over
    finished = read_finished(folder, VIDEOS, {})
    assert list(finished.scores) == list(VIDEOS)
    chosen = {"mine": finished.selections}
    report = evaluate_summaries(VIDEOS, {"mine": finished.scores}, selections=chosen, n_seeds=1)
    row = report.rows["mine"]
    for seed, (name, video) in enumerate(VIDEOS.items()):
        np.testing.assert_array_equal(finished.selections[name], mask())
        held = summary(seed).importance.repeat(2)  # of a second, at two picks
        np.testing.assert_allclose(finished.scores[name], held, atol=1e-6)
        assert video.user_summary is not None
        assert video.user_scores is not None
        by_annotator = [f1_score(one, mask()) for one in video.user_summary]
        for measures in row.videos[name].key_shots:
            assert measures.f_avg == pytest.approx(np.mean(by_annotator))
            assert measures.f_max == pytest.approx(max(by_annotator))
        taus = [kendalltau(held, scores).statistic for scores in video.user_scores]
        assert row.videos[name].tau == pytest.approx(np.mean(taus))


def test_other_rows_are_measured_as_without_them(tmp_path: Path) -> None:
    finished = read_finished(save(tmp_path / "mine", "video_1", "video_2", "video_3"), VIDEOS, {})
    good = {name: video.gtscore for name, video in VIDEOS.items()}
    rows = {"good": good, "mine": finished.scores}
    for shots in ("change-points", "two-peak"):
        settings: Any = {"segmentations": (shots,), "n_seeds": 2}
        alone = evaluate_summaries(VIDEOS, {"good": good}, **settings)
        beside = evaluate_summaries(VIDEOS, rows, selections={"mine": finished.selections}, **settings)
        assert all(row == beside.rows[name] for name, row in alone.rows.items())
        assert set(beside.rows) == {"mine", *alone.rows}
        assert {each.f_avg for each in beside.rows["mine"].mean.key_shots} != {None}


def labels(**changes: Any) -> dict[str, Labels]:
    scores = np.random.default_rng(1).integers(1, 6, (3, 600)).astype(np.float32)
    made = {"user_scores": scores, "length_s": SECONDS, **changes}
    return {f"tvsum/video_{n}": Labels(f"tvsum/video_{n}", f"Id {n}", 600, **made) for n in (1, 2)}


@pytest.mark.parametrize("names", [("Id_1", "Id 2"), ("video_1", "video_2")])
def test_videos_go_by_the_names_of_their_files_too(tmp_path: Path, names: tuple[str, ...]) -> None:
    finished = read_finished(save(tmp_path / "mine", *names), labels(), labels())
    assert sorted(finished.scores) == ["tvsum/video_1", "tvsum/video_2"]
    assert len(finished.scores["tvsum/video_1"]) == 40
    rows, chosen = {"mine": finished.scores}, {"mine": finished.selections}
    report = evaluate_summaries(labels(), rows, segmentations=["uniform-60"], selections=chosen, n_seeds=1)
    by_hand = [
        f1_score(one, mask())
        for label in labels().values()
        for one in key_shots(label.user_scores, np.arange(600).reshape(-1, 60)[:, [0, -1]], "pgl-sum")
    ]
    mine = report.rows["mine"]
    assert mine.mean.key_shots[1].f_avg == pytest.approx(np.mean(by_hand))


def test_a_warning_where_the_lengths_do_not_compare() -> None:
    finished = Finished({}, {"a": np.arange(100) < 30, "b": np.arange(100) < 20})
    assert "keep 25% of the videos" in finished.warnings[0]
    assert Finished({}, {"a": np.arange(100) < 14, "b": np.arange(100) < 16}).warnings == ()


def test_what_is_not_a_summary_of_the_data_is_refused(tmp_path: Path) -> None:
    def refused(folder: Path) -> str:
        with pytest.raises(InputError) as error:
            read_finished(folder, VIDEOS, {})
        return error.value.message

    assert "its video is not in the data" in refused(save(tmp_path / "a", "film"))
    folder = save(tmp_path / "b", "video_1")
    write_json(summary(), folder / "video_1.json")
    assert "second summary of made/video_1" in refused(folder)
    empty = tmp_path / "c"
    empty.mkdir()
    assert "has no summary" in refused(empty)
    shots = (ScoredShot(0.0, 40.0, 0.5, selected=True),)
    write_json(summary(video_duration_s=40.0, shots=shots), empty / "video_1_summary.json")
    assert "of 40 s, but made/video_1 has 20 s" in refused(empty)
    (tmp_path / "d.json").write_text("{}")
    assert "d.json" in refused(tmp_path / "d.json")


def test_a_stored_checkpoint_goes_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `weights add --as` stores it."""
    stored = tmp_path / "stored.safetensors"
    stored.write_bytes(b"weights")
    monkeypatch.setattr("vidsum.checkpoints.named.checkpoint_file", lambda name: stored)
    annotations = tmp_path / "a.jsonl"
    annotations.write_text("")
    request = HighlightsRequest(annotations=annotations, run=Path("mrnet-charades"), features=(annotations,))
    files = {file["name"]: file["bytes"] for file in provenance(request)["files"]}
    assert files == {"a.jsonl": 0, "mrnet-charades": 7}
    monkeypatch.setattr("vidsum.checkpoints.named.checkpoint_file", Path)
    with pytest.raises(InputError, match="mrnet-charades: no such run"):
        provenance(request)
