"""A film of a fixed camera, made and summarised with the real network; and when it is not treated as one."""

from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.media import make_video
from vidsum.pipelines.plan import Plan
from vidsum.results.transcript import Segment, Transcript, Word

pytestmark = pytest.mark.weights

VISITS = ((9.0, 13.0), (23.0, 27.0))
FPS = 8


def room_with_visits(number: int, width: int, height: int) -> np.ndarray:
    """A wall with noise, in front of which a dark shape walks in and out."""
    rng = np.random.default_rng(number)
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([150 + 40 * rows / height, 140 + 30 * columns / width, 130 + 0 * rows], axis=2)
    picture[height * 3 // 4 :] = (120, 80, 50)
    for start_s, end_s in VISITS:
        if start_s <= number / FPS < end_s:
            reach = min(number / FPS - start_s, end_s - number / FPS, 1.0)
            middle = width * (0.1 + 0.4 * reach)
            body = ((columns - middle) / (0.12 * width)) ** 2 + (
                (rows - 0.6 * height) / (0.4 * height)
            ) ** 2 < 1
            picture[body] = np.stack([30 + 20 * (rows // 8 % 2), 40 + 0 * rows, 90 + 0 * rows], axis=2)[body]
    return np.clip(picture + rng.normal(0, 2, picture.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixed") / "room.mp4"
    return make_video(path, n_frames=36 * FPS, fps=FPS, width=240, height=136, paint=room_with_visits).path


def in_a_visit(span: tuple[float, float]) -> bool:
    return any(start <= (span[0] + span[1]) / 2 < end for start, end in VISITS)


def test_summary_shows_the_visits(film: Path) -> None:
    summary = vidsum.summarize(film, device="cpu")
    assert "the camera is fixed" in summary.model_reason
    assert all(map(in_a_visit, summary.segments))


def test_highlights_are_the_visits(film: Path) -> None:
    moments = vidsum.find_highlights(film, device="cpu").moments
    assert moments
    assert all(in_a_visit(moment.interval) for moment in moments)


@pytest.mark.parametrize("model", ["uniform", lambda features: features.timestamps], ids=["uniform", "mine"])
def test_baselines_and_scores_of_the_user_are_left_as_they_are(film: Path, model: object) -> None:
    summary = vidsum.summarize(film, model=model, device="cpu")  # type: ignore[arg-type]
    assert "camera" not in summary.model_reason


def test_speech_decides_where_somebody_speaks(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    word = Word(15.0, 18.0, "Hello.", 0.9)
    said = Transcript((Segment(15.0, 18.0, "Hello.", 0.9, 0.0, (word,)),), "en", 1.0, 36.0)
    plan = Plan({"speech": {}}, lambda _: said)
    for verb in ("summarize", "highlights"):
        monkeypatch.setattr(f"vidsum.pipelines.{verb}.plan_summary_speech", lambda *_: plan)
    assert "camera" not in vidsum.summarize(film, device="cpu").model_reason
    assert "camera" not in vidsum.find_highlights(film, device="cpu").model_reason


def test_texts_decide_where_they_are_given(film: Path) -> None:
    summary = vidsum.summarize(film, about="an empty room", device="cpu")
    assert "camera" not in summary.model_reason
