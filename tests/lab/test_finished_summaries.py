"""Finished summaries as rows, measured against direct computations."""

from contextlib import nullcontext
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
from vidsum.lab.evaluation.summary_metrics import SummaryMeasures
from vidsum.lab.finished_summaries import Finished, provenance, read_finished
from vidsum.outputs.alone import write_json
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A summary of each video, and another document."""
    folder = save(tmp_path / "mine", "video_1", "video_2", "video_3")
    (folder / "film_moments.json").write_text('{"schema": "vidsum.moments/1"}')
    return folder


@pytest.fixture
def row(folder: Path) -> SummaryMeasures:
    """The measures of the summaries."""
    finished = read_finished(folder, VIDEOS, {})
    chosen = {"mine": finished.selections}
    return evaluate_summaries(VIDEOS, {"mine": finished.scores}, selections=chosen, n_seeds=1).rows["mine"]


def held_scores(seed: int) -> np.ndarray:
    """The scores of a summary, one a second, at the picks, two a second."""
    return summary(seed).importance.repeat(2)


@pytest.mark.parametrize(("off_s", "is_refused"), [(2.0, False), (2.1, True)])
def test_summary_may_be_of_a_length_that_is_off_by_the_odd_seconds_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off_s: float, is_refused: bool
) -> None:
    monkeypatch.setattr("vidsum.lab.finished_summaries.ODD_S", 2.0)
    path = tmp_path / "video_1_summary.json"
    write_json(summary(video_duration_s=SECONDS + off_s), path)
    with pytest.raises(InputError, match="is of a video of") if is_refused else nullcontext():
        read_finished(path, VIDEOS, {})


def test_documents_that_are_no_summaries_are_passed_over(folder: Path) -> None:
    assert list(read_finished(folder, VIDEOS, {}).scores) == list(VIDEOS)


def test_segments_become_frames(folder: Path) -> None:
    for selection in read_finished(folder, VIDEOS, {}).selections.values():
        np.testing.assert_array_equal(selection, mask())


def test_scores_hold_at_the_picks(folder: Path) -> None:
    scores = read_finished(folder, VIDEOS, {}).scores
    for seed, name in enumerate(VIDEOS):
        np.testing.assert_allclose(scores[name], held_scores(seed), atol=1e-6)


def test_f_measure_is_of_the_segments_as_they_are(row: SummaryMeasures) -> None:
    for name, video in VIDEOS.items():
        assert video.user_summary is not None
        by_annotator = [f1_score(selection, mask()) for selection in video.user_summary]
        for measures in row.videos[name].key_shots:
            assert measures.f_avg == pytest.approx(np.mean(by_annotator))
            assert measures.f_max == pytest.approx(max(by_annotator))


def test_rank_correlation_is_of_the_scores_at_the_picks(row: SummaryMeasures) -> None:
    for seed, (name, video) in enumerate(VIDEOS.items()):
        assert video.user_scores is not None
        taus = [kendalltau(held_scores(seed), scores).statistic for scores in video.user_scores]
        assert row.videos[name].tau == pytest.approx(np.mean(taus))


@pytest.mark.parametrize("shots", ["change-points", "two-peak"])
def test_other_rows_are_measured_as_without_finished_summaries(folder: Path, shots: Any) -> None:
    finished = read_finished(folder, VIDEOS, {})
    good = {name: video.gtscore for name, video in VIDEOS.items()}
    rows = {"good": good, "mine": finished.scores}
    settings: Any = {"segmentations": (shots,), "n_seeds": 2}
    alone = evaluate_summaries(VIDEOS, {"good": good}, **settings)
    together = evaluate_summaries(VIDEOS, rows, selections={"mine": finished.selections}, **settings)
    assert all(row == together.rows[name] for name, row in alone.rows.items())
    assert set(together.rows) == {"mine", *alone.rows}
    assert all(measures.f_avg is not None for measures in together.rows["mine"].mean.key_shots)


def labels(**changes: Any) -> dict[str, Labels]:
    scores = np.random.default_rng(1).integers(1, 6, (3, 600)).astype(np.float32)
    made = {"user_scores": scores, "length_s": SECONDS, **changes}
    return {f"tvsum/video_{n}": Labels(f"tvsum/video_{n}", f"Id {n}", 600, **made) for n in (1, 2)}


@pytest.mark.parametrize("names", [("Id_1", "Id 2"), ("video_1", "video_2")])
def test_summaries_are_found_by_number_or_file_name(tmp_path: Path, names: tuple[str, ...]) -> None:
    finished = read_finished(save(tmp_path / "mine", *names), labels(), labels())
    assert sorted(finished.scores) == ["tvsum/video_1", "tvsum/video_2"]
    assert len(finished.scores["tvsum/video_1"]) == 40


def test_summaries_are_measured_against_annotations_alone(tmp_path: Path) -> None:
    finished = read_finished(save(tmp_path / "mine", "video_1", "video_2"), labels(), labels())
    rows, chosen = {"mine": finished.scores}, {"mine": finished.selections}
    report = evaluate_summaries(labels(), rows, segmentations=["uniform-60"], selections=chosen, n_seeds=1)
    by_hand = [
        f1_score(selection, mask())
        for label in labels().values()
        for selection in key_shots(label.user_scores, np.arange(600).reshape(-1, 60)[:, [0, -1]], "pgl-sum")
    ]
    assert report.rows["mine"].mean.key_shots[1].f_avg == pytest.approx(np.mean(by_hand))


def test_summaries_of_another_length_than_the_fields_are_a_warning() -> None:
    finished = Finished({}, {"a": np.arange(100) < 30, "b": np.arange(100) < 20})
    assert "keep 25% of the videos" in finished.warnings[0]


def test_summaries_of_the_fields_length_are_no_warning() -> None:
    assert Finished({}, {"a": np.arange(100) < 14, "b": np.arange(100) < 16}).warnings == ()


def test_summary_of_another_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its video is not in the data"):
        read_finished(save(tmp_path / "a", "film"), VIDEOS, {})


def test_second_summary_of_a_video_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "b", "video_1")
    write_json(summary(), folder / "video_1.json")
    with pytest.raises(InputError, match="second summary of made/video_1"):
        read_finished(folder, VIDEOS, {})


def test_folder_without_a_summary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no summary"):
        read_finished(tmp_path, VIDEOS, {})


def test_summary_of_another_length_of_the_video_is_refused(tmp_path: Path) -> None:
    shots = (ScoredShot(0.0, 40.0, 0.5, selected=True),)
    write_json(summary(video_duration_s=40.0, shots=shots), tmp_path / "video_1_summary.json")
    with pytest.raises(InputError, match="of 40 s, but made/video_1 has 20 s"):
        read_finished(tmp_path, VIDEOS, {})


def test_document_that_is_no_summary_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("{}")
    with pytest.raises(InputError, match=r"d\.json"):
        read_finished(tmp_path / "d.json", VIDEOS, {})


def request_for(folder: Path) -> HighlightsRequest:
    """A request that names a checkpoint stored by `weights add --as`."""
    (folder / "a.jsonl").write_text("")
    return HighlightsRequest(
        annotations=folder / "a.jsonl", run=Path("mrnet-charades"), features=(folder / "a.jsonl",)
    )


def test_provenance_has_a_stored_checkpoint_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "stored.safetensors"
    stored.write_bytes(b"weights")
    monkeypatch.setattr("vidsum.checkpoints.named.checkpoint_file", lambda name: stored)
    files = {file["name"]: file["bytes"] for file in provenance(request_for(tmp_path))["files"]}
    assert files == {"a.jsonl": 0, "mrnet-charades": 7}


def test_unknown_checkpoint_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.checkpoints.named.checkpoint_file", Path)
    with pytest.raises(InputError, match="mrnet-charades: no such run"):
        provenance(request_for(tmp_path))
