"""The public functions: one decode pass, the cache, and what a result was made from."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.conftest import deep
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.settings import Extraction
from vidsum.outputs.alone import write_features, write_json
from vidsum.pipelines import decoding as jobs
from vidsum.pipelines.plan import extract, open_input
from vidsum.pipelines.summarize import plan_shots, plan_summary, summarize
from vidsum.results import result as documents
from vidsum.results.features import Features
from vidsum.results.load import read_record
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def passes(served: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Networks without weights; lists the decode passes."""

    def extractor(settings: Extraction) -> Extractor:
        spec = describe(settings.extractor, fps=settings.fps)
        return Extractor(spec, _mean_colour, device="cpu", precision="fp32", backend="torch")

    monkeypatch.setattr(jobs, "load_extractor", extractor)
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: Path(name))
    return served


def _mean_colour(clips: np.ndarray) -> np.ndarray:
    return np.tile(clips.mean(axis=(1, 2, 3)).astype(np.float32) + 1, 1195)[:, :3584].copy()


def test_cache_entries(film: Path, passes: list[int]) -> None:
    extract(film, device="cpu")
    extract(film, device="cpu", fps=4.0)
    extract(film, device="cpu", reader="opencv")
    extract(film, device="cpu", cache=False)
    assert passes == [1] * 4


def test_planned_provenance(film: Path, passes: list[int], tmp_path: Path) -> None:
    settings, cutting = Extraction(device="cpu"), ShotSettings(max_shots=3)
    selection = Selection(keep=((1.0, 1.5),), budget="50%")
    plan = plan_summary(open_input(film, settings), selection, cutting)
    summary = plan.run()
    assert plan.provenance == summary.provenance
    shots = plan_shots(film, cutting, settings)
    assert shots.run().provenance == shots.provenance
    write_json(summary, tmp_path / "s.json")
    recorded = read_record(tmp_path / "s.json")
    assert recorded is not None
    assert recorded["provenance"] == summary.provenance


def test_summary_of_feature_file(film: Path, passes: list[int], tmp_path: Path) -> None:
    write_features(extract(film, device="cpu"), tmp_path / "f.npz")
    identify_file = summarize(tmp_path / "f.npz").to_dict()
    of_video = summarize(film, device="cpu").to_dict()
    assert documents.to_text(identify_file) == documents.to_text(of_video)


def test_truncated_video(passes: list[int], tmp_path: Path) -> None:
    options = {"movflags": "+faststart"}
    whole = media.make_video(tmp_path / "whole.mp4", n_frames=250, container_options=options)
    half = media.cut_short(whole.path, tmp_path / "half.mp4", 0.6)
    features = extract(half, device="cpu")
    assert features.duration_s < 9
    assert features.warnings
    extract(half, device="cpu")
    assert passes == [1, 1]  # the warning has to come again: nothing damaged is cached


def test_features_digest() -> None:
    features = Features.from_array(np.ones((5, 2)))
    other = replace(features, array=features.array * 2)
    digests = {summarize(item).provenance["features"]["sha256"] for item in (features, other)}
    assert len(digests) == 2


def test_short_share() -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(12, 4)))
    summary = summarize(features, "15%", model="contrastive")
    assert summary.duration_s == pytest.approx(2)
    assert any("15% is only 0:00.90: took 0:02.00" in line for line in summary.warnings)
    assert 4.5 <= summarize(features, model="contrastive").duration_s <= 5
    assert summarize(features, "0.4s", model="contrastive").duration_s == pytest.approx(0.4)
    assert summarize(features, model="contrastive", max_segment_s=None, budget="15%").duration_s < 0.91
    short = summarize(Features.from_array(np.ones((3, 4))), model="uniform")
    assert short.segments == ((0, 1.5),)


def test_short_video() -> None:
    features = Features.from_array(np.ones((1, 4)))
    summary = summarize(features, model="uniform")
    assert summary.segments == ((0, 0.5),)
    assert [line for line in summary.warnings if "budget" in line] == [
        "the video is not longer than the budget (0:00.50): keeping all of it"
    ]


@pytest.mark.parametrize("fps", [Fraction(1, 2), deep(1)])
def test_slow_video_at_any_rate(passes: list[int], tmp_path: Path, fps: Fraction | int) -> None:
    film = media.make_video(tmp_path / "slow.mp4", n_frames=40, fps=fps, paint=media.colour_picture).path
    rates = [float(fps), 1.0, 2.0, 7.0]
    summaries = [summarize(film, cache=False, fps=rate).to_dict() for rate in rates]
    assert all(summary == summaries[0] for summary in summaries)
    assert len(summaries[0]["importance"]["scores"]) == 40
    assert summaries[0]["model"] != "uniform"


def test_variable_frame_rate(passes: list[int], tmp_path: Path) -> None:
    times = [0.0, 10.0, 10.04, 10.08, 30.0]
    film = media.make_video(tmp_path / "vfr.mp4", times_s=times).path
    assert extract(film, cache=False).step_s == 0.5
