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
from vidsum.pipelines.cut_shots import plan_shots
from vidsum.pipelines.plan import extract, open_input
from vidsum.pipelines.summarize import plan_summary, summarize
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


def test_features_are_taken_from_the_cache_unless_rate_or_reader_differ(
    film: Path, passes: list[int]
) -> None:
    extract(film, device="cpu")
    extract(film, device="cpu")
    assert passes == [1]
    extract(film, device="cpu", fps=4.0)
    extract(film, device="cpu", reader="opencv")
    assert passes == [1] * 3


def test_without_a_cache_a_film_is_decoded_again(film: Path, passes: list[int]) -> None:
    extract(film, device="cpu")
    extract(film, device="cpu", cache=False)
    assert passes == [1] * 2


def test_summary_has_the_provenance_of_its_plan(film: Path, passes: list[int]) -> None:
    selection = Selection(keep=((1.0, 1.5),), budget="50%")
    plan = plan_summary(open_input(film, Extraction(device="cpu")), selection, ShotSettings(max_shots=3))
    assert plan.provenance == plan.run().provenance


def test_shots_have_the_provenance_of_their_plan(film: Path, passes: list[int]) -> None:
    shots = plan_shots(film, ShotSettings(max_shots=3), Extraction(device="cpu"))
    assert shots.provenance["shots"] == {"max_shots": 3}
    assert shots.run().provenance == shots.provenance


def test_provenance_is_written_as_it_is(film: Path, passes: list[int], tmp_path: Path) -> None:
    summary = summarize(film, device="cpu")
    write_json(summary, tmp_path / "s.json")
    recorded = read_record(tmp_path / "s.json")
    assert recorded is not None
    assert recorded["provenance"] == summary.provenance


def test_summary_of_a_feature_file_is_that_of_its_video(
    film: Path, passes: list[int], tmp_path: Path
) -> None:
    write_features(extract(film, device="cpu"), tmp_path / "f.npz")
    of_file = summarize(tmp_path / "f.npz").to_dict()
    of_video = summarize(film, device="cpu").to_dict()
    assert documents.to_text(of_file) == documents.to_text(of_video)


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A film of 10 s without its last part."""
    options = {"movflags": "+faststart"}
    whole = media.make_video(tmp_path / "whole.mp4", n_frames=250, container_options=options)
    return media.cut_short(whole.path, tmp_path / "half.mp4", 0.6)


def test_features_of_a_truncated_video_end_early_with_a_warning(half: Path, passes: list[int]) -> None:
    features = extract(half, device="cpu")
    assert features.duration_s < 9
    assert features.warnings


def test_shots_of_a_truncated_video_have_its_warnings(half: Path, passes: list[int]) -> None:
    shots = plan_shots(half, ShotSettings(), Extraction(device="cpu")).run()
    assert shots.warnings == extract(half, device="cpu").warnings != ()


def test_features_of_a_truncated_video_are_not_cached(half: Path, passes: list[int]) -> None:
    """The warning has to come again."""
    extract(half, device="cpu")
    extract(half, device="cpu")
    assert passes == [1, 1]


def test_provenance_tells_features_apart_by_their_content() -> None:
    features = Features.from_array(np.ones((5, 2)))
    other = replace(features, array=features.array * 2)
    digests = {summarize(item).provenance["features"]["sha256"] for item in (features, other)}
    assert len(digests) == 2


SIX_SECONDS = Features.from_array(np.random.default_rng(0).normal(size=(12, 4)))


def test_share_of_a_short_video_is_raised_to_two_seconds_with_a_warning() -> None:
    summary = summarize(SIX_SECONDS, "15%", model="contrastive")
    assert summary.duration_s == pytest.approx(2)
    assert any("15% is only 0:00.90: took 0:02.00" in line for line in summary.warnings)


def test_summary_without_a_budget_takes_most_of_six_seconds() -> None:
    assert 4.5 <= summarize(SIX_SECONDS, model="contrastive").duration_s <= 5


def test_budget_in_seconds_is_not_raised() -> None:
    assert summarize(SIX_SECONDS, "0.4s", model="contrastive").duration_s == pytest.approx(0.4)


def test_share_for_whole_shots_is_not_raised() -> None:
    made = summarize(SIX_SECONDS, model="contrastive", max_segment_s=None, budget="15%")
    assert made.duration_s < 0.91


def test_video_shorter_than_the_least_summary_is_kept_whole() -> None:
    short = summarize(Features.from_array(np.ones((3, 4))), model="uniform")
    assert short.segments == ((0, 1.5),)


def test_video_of_one_sample_is_kept_whole_and_says_so() -> None:
    summary = summarize(Features.from_array(np.ones((1, 4))), model="uniform")
    assert summary.segments == ((0, 0.5),)
    assert [line for line in summary.warnings if "budget" in line] == [
        "the video is not longer than the budget (0:00.50): keeping all of it"
    ]


@pytest.mark.parametrize("fps", [Fraction(1, 2), deep(1)])
def test_video_of_few_frames_has_one_summary_at_any_sampling_rate(
    passes: list[int], tmp_path: Path, fps: Fraction | int
) -> None:
    film = media.make_video(tmp_path / "slow.mp4", n_frames=40, fps=fps, paint=media.colour_picture).path
    rates = [float(fps), 1.0, 2.0, 7.0]
    summaries = [summarize(film, cache=False, fps=rate).to_dict() for rate in rates]
    assert all(summary == summaries[0] for summary in summaries)
    assert len(summaries[0]["importance"]["scores"]) == 40
    assert summaries[0]["model"] != "uniform"


def test_steps_of_features_are_those_of_the_sampling_at_varying_frame_rate(
    passes: list[int], tmp_path: Path
) -> None:
    times = [0.0, 10.0, 10.04, 10.08, 30.0]
    film = media.make_video(tmp_path / "vfr.mp4", times_s=times).path
    assert extract(film, cache=False).step_s == 0.5
