"""The public function that finds what stands out with no query: clips, segments, cache, provenance."""

from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.conftest import real_weights
from tests.grounding.colours import use_colours
from tests.program import check_schema
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.outputs.alone import write_features
from vidsum.pipelines.highlights import find_highlights, plan_highlights
from vidsum.pipelines.plan import Plan, extract
from vidsum.pipelines.summarize import summarize
from vidsum.results.feature_files import read_features
from vidsum.results.features import Features
from vidsum.results.transcript import Segment, Transcript, Word

ROOT = Path(__file__).parents[2]
HOW = Extraction(device="cpu")


@pytest.fixture(autouse=True)
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature is a picture's mean colour, and no weights are needed."""
    use_colours(monkeypatch)


def paint(number: int, width: int, height: int) -> np.ndarray:
    """Dark and still for 4 s; stripes, of another colour each half second, for 4 s; dark again for 4 s."""
    picture = np.full((height, width, 3), 20, np.uint8)
    if 100 <= number < 200:
        picture[:] = 60
        picture[..., number // 12 % 3] = 230
        picture[::8] = picture[1::8] = 20  # a picture of one colour is none
    return picture


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(
        tmp_path_factory.mktemp("film") / "film.mp4", n_frames=300, fps=25, paint=paint
    ).path


def test_lively_segment(film: Path) -> None:
    result = find_highlights(film, device="cpu")
    assert result.timestamps.tolist() == [0, 2, 4, 6, 8, 10]
    assert result.clip_s == 2
    assert result.saliency[2:4].min() > 0.5
    assert result.saliency[[0, 5]].max() < 0.05
    assert (result.moments[0].start_s, result.moments[0].end_s) == (4, 8)
    assert result.warnings == ()
    document = result.to_dict()
    assert document["model"] == "highlights"
    assert document["model_reason"].startswith("auto: ")


def test_clips_are_means_of_importance(film: Path) -> None:
    summary = summarize(film, model="highlights", device="cpu", min_segment_s=0.5)
    result = find_highlights(film, device="cpu")
    assert summary.model == "highlights"
    assert len(summary.importance) == 24
    means = summary.importance.reshape(6, 4).mean(axis=1)
    means[[0, 1, 4, 5]] = 0  # pictures of one colour
    np.testing.assert_allclose(result.saliency, means, atol=1e-6)
    assert any(4 <= start < end <= 8 for start, end in summary.segments)


def test_highlights_of_features(film: Path, tmp_path: Path) -> None:
    features = extract(film, device="cpu")
    write_features(features, tmp_path / "film.npz")
    result, again = find_highlights(film, device="cpu"), find_highlights(read_features(tmp_path / "film.npz"))
    with_pictures = [0, 2, 3, 5]  # features do not tell that the rest is of one colour
    np.testing.assert_array_equal(result.saliency[with_pictures], again.saliency[with_pictures])
    assert [moment.interval for moment in result.moments] == [moment.interval for moment in again.moments]
    summary = summarize(tmp_path / "film.npz", model="highlights")
    np.testing.assert_array_equal(summary.importance, summarize(film, model="highlights").importance)


@pytest.mark.parametrize(
    ("seconds", "clips", "end_s"),
    [(0.5, 1, 0.5), (1.0, 1, 1.0), (2.0, 1, 2.0), (2.8, 1, 2.8), (3.2, 2, 3.2), (5.0, 3, 5.0)],
)
def test_last_clip_of_a_video(seconds: float, clips: int, end_s: float, tmp_path: Path) -> None:
    short = media.make_video(tmp_path / "short.mp4", n_frames=round(25 * seconds), fps=25, paint=paint).path
    result = find_highlights(short, device="cpu")
    assert len(result.saliency) == len(result.timestamps) == clips
    assert max((moment.end_s for moment in result.moments), default=0.0) <= end_s + 1e-3
    check_schema(result.to_dict(), "highlights")


def test_highlights_of_still_video_and_noise(tmp_path: Path) -> None:
    def grey(number: int, width: int, height: int) -> np.ndarray:
        return np.full((height, width, 3), 90, np.uint8)

    still = media.make_video(tmp_path / "still.mp4", n_frames=200, fps=25, paint=grey).path
    noise = np.ones((40, 64)) + np.random.default_rng(0).normal(0, 0.004, (40, 64))
    results = find_highlights(still, device="cpu"), find_highlights(Features.from_array(noise))
    assert results[0].saliency.max() < 0.05
    assert np.ptp(results[1].saliency) < 0.1
    for result in results:
        assert result.warnings == ("nothing stands out: this video looks much the same throughout",)
        assert result.moments == ()


def test_highlights_keep_sentences_whole(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = Segment(2.5, 5.5, "It begins here.", 1.0, 0.0, (Word(2.5, 5.5, "here.", 1.0),))
    said = Transcript(segments=(segment,), language="en", language_probability=1.0, duration_s=12.0)
    plan = Plan({"speech": {"model": "whisper_base"}}, lambda progress: said)
    monkeypatch.setattr("vidsum.pipelines.highlights.plan_summary_speech", lambda *_: plan)
    result = find_highlights(film, device="cpu", max_length_s=14)
    check_schema(result.to_dict(), "highlights")
    assert result.provenance["highlights"]["max_length_s"] == 14
    assert result.provenance["highlights"]["speech"] == {"model": "whisper_base"}
    assert result.moments[0].interval == (2.5, 8)  # the peak is before 5.5 s


def test_highlights_provenance(film: Path) -> None:
    result = find_highlights(film, 3, device="cpu")
    assert result.provenance == plan_highlights(film, HighlightSettings(top_k=3), HOW).provenance
    facts = {"top_k": 3, "clip_s": 2.0, "candidates": ["highlights"]}
    assert result.provenance["highlights"] == facts
    assert result.provenance != plan_highlights(film, HighlightSettings(top_k=4), HOW).provenance
    other = Extraction(device="cpu", precision="bf16")
    assert result.provenance != plan_highlights(film, HighlightSettings(top_k=3), other).provenance


@pytest.mark.parametrize(("top_k", "rule"), [("a", "a whole number, not 'a'"), (0, "at least 1, not 0")])
def test_number_of_highlights(top_k: int, rule: str) -> None:
    with pytest.raises(UsageError, match=f"^top_k must be {rule}$"):
        find_highlights(Features.from_array(np.ones((40, 64))), top_k)


@pytest.mark.deep
@pytest.mark.weights
def test_highlights_of_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    real_weights("efficientnet_lite0")
    result = find_highlights(ROOT / "docs" / "sample" / "big_buck_bunny.mp4", device="cpu")
    assert len(result.saliency) == 15
    assert result.moments[0].interval == (11.875, 15.75)  # one shot; the bird is there from 15.75 on
