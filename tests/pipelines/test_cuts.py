"""Shots, summaries, highlights and clips of joined films begin and end at the frames of the cuts."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import vidsum
from tests import media
from tests.conftest import deep, deep_but
from tests.pictures import cells
from vidsum.pipelines import decoding as jobs
from vidsum.results.shots import Shots
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

CUTS = (31, 77, 119, 164)
"""Frames at which a new shot begins; none is a sample of two a second at 25 frames a second."""
N_FRAMES = 210

NO_KEY_FRAMES = {"x264-params": "scenecut=0:keyint=250:bframes=3:b-adapt=0:b-pyramid=none"}
KINDS: dict[str, dict[str, Any]] = {
    "usual": {},
    "all decoded": {"b_frames": 0},
    "key frames": {"gop": 1},
    "no key frames at cuts": {"codec_options": NO_KEY_FRAMES},
    "open groups": {"codec_options": {"x264-params": "scenecut=0:open-gop=1:keyint=12:bframes=3:b-adapt=0"}},
    "uneven": {
        "times_s": np.cumsum([0, *np.random.default_rng(3).choice([0.02, 0.04, 0.06], N_FRAMES - 1)]).tolist()
    },
    "matroska": {"suffix": ".mkv", "fps": media.NTSC},
    "transport stream": {"suffix": ".ts", "codec_options": NO_KEY_FRAMES},
    "raw": {"suffix": ".h264", "codec_options": NO_KEY_FRAMES},
    "mpeg2": {"codec": "mpeg2video", "suffix": ".mxf", "b_frames": 2},
    "hevc": {"codec": "libx265", "codec_options": {"x265-params": "log-level=0:bframes=4:scenecut=0"}},
    "vp9": {"codec": "libvpx-vp9", "suffix": ".webm"},
    "late": {"start_s": 5.0},
    "rotated": {"rotation_deg": 90},
}


def shot_at(number: int) -> int:
    return int(np.searchsorted(CUTS, number, side="right"))


def paint(number: int, width: int, height: int) -> np.ndarray:
    """A picture of the shot's colours that moves a little, and a corner whose brightness tells the shot."""
    shot = shot_at(number)
    coarse = np.random.default_rng(shot).integers(40, 216, (3, 4, 3), dtype=np.uint8)
    picture = np.kron(coarse, np.ones((height // 3 + 1, width // 4 + 1, 1), np.uint8))[:height, :width].copy()
    picture[:, (number * 2) % width] = 128
    picture[: height // 4, : width // 4] = 20 + 50 * shot
    return picture


def film_of(folder: Path, kind: str) -> media.MadeVideo:
    options = {"n_frames": N_FRAMES, "width": 128, "height": 96, "paint": paint, **KINDS[kind]}
    return media.make_video(folder / f"film{options.pop('suffix', '.mp4')}", **options)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    vidsum.register_extractor(
        vidsum.CustomExtractor("cells", lambda pictures: cells(pictures) - 127, dim=48, size=32)
    )


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names each decode pass and each closer look."""
    seen: list[str] = []

    def message(name: str, function: Any) -> Any:
        def call(*arguments: Any, **settings: Any) -> Any:
            seen.append(name)
            return function(*arguments, **settings)

        return call

    monkeypatch.setattr(jobs, "read_frames", message("pass", jobs.read_frames))
    monkeypatch.setattr(
        "vidsum.pipelines.plan.measure_changes", message("look", vidsum.pipelines.plan.measure_changes)
    )
    return seen


def shots_of(film: Path, **settings: Any) -> Shots:
    return vidsum.find_shots(film, extractor="cells", **settings)


def shots_in(clip: Path) -> set[int]:
    """The shots whose frames a clip shows, told by the corner."""
    with av.open(str(clip)) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return {round((float(picture[4:16, 4:24].mean()) - 20) / 50) for picture in pictures}


USUAL = ("usual", "no key frames at cuts", "open groups", "uneven")


@pytest.mark.parametrize("kind", deep_but(USUAL, KINDS))
def test_shots_at_cuts(kind: str, tmp_path: Path) -> None:
    film = film_of(tmp_path, kind)
    result = shots_of(film.path)
    assert result.edges_s[1:-1] == pytest.approx([film.times_s[cut] for cut in CUTS], abs=0.0011)
    assert shots_of(film.path, cache=False).edges_s.tolist() == result.edges_s.tolist()


@pytest.mark.parametrize("kind", [deep("no key frames at cuts"), "uneven"])
def test_readers_find_same_shots(kind: str, tmp_path: Path) -> None:
    film = film_of(tmp_path, kind)
    assert shots_of(film.path, reader="opencv").edges_s.tolist() == shots_of(film.path).edges_s.tolist()


@pytest.mark.parametrize("kind", ["all decoded", deep("no key frames at cuts")])
def test_second_command_decodes_nothing(kind: str, tmp_path: Path, passes: list[str]) -> None:
    film = film_of(tmp_path, kind).path
    first = shots_of(film)
    assert passes == ["pass", "look"][: 1 + (kind != "all decoded")]
    passes.clear()
    assert shots_of(film).edges_s.tolist() == first.edges_s.tolist()
    vidsum.summarize(film, "30%", extractor="cells")
    vidsum.find_highlights(film, extractor="cells")
    assert passes == []


def test_cached_features_stay(tmp_path: Path, passes: list[str]) -> None:
    film = film_of(tmp_path, "all decoded").path
    features = vidsum.extract(film, extractor="cells")
    folder = tmp_path / "home" / "features"
    entries = sorted(folder.glob("*.npz"), key=lambda entry: entry.stat().st_size)
    assert len(entries) == 2  # features and changes
    entries[0].unlink() if b"changes" in entries[0].read_bytes() else entries[1].unlink()
    first = shots_of(film)
    assert passes == ["pass", "pass"]
    assert shots_of(film).edges_s.tolist() == first.edges_s.tolist()
    assert vidsum.extract(film, extractor="cells").array.tolist() == features.array.tolist()


def test_fast_shots(tmp_path: Path, passes: list[str]) -> None:
    film = film_of(tmp_path, "key frames")
    result = shots_of(film.path, fast=True)
    assert result.edges_s[1:-1] == pytest.approx([film.times_s[cut] for cut in CUTS], abs=0.0011)
    assert passes == ["pass"]


def test_fast_decodes_all_frames_where_key_frames_are_far_apart(tmp_path: Path, passes: list[str]) -> None:
    film = media.make_video(
        tmp_path / "film.mp4",
        n_frames=N_FRAMES,
        width=128,
        height=96,
        paint=paint,
        gop=999,
        codec_options={"x264-params": "scenecut=0"},
    )
    result, whole = shots_of(film.path, fast=True), shots_of(film.path)
    assert result.edges_s.tolist() == whole.edges_s.tolist()
    assert ["all frames are decoded" in warning for warning in result.warnings] == [True]
    assert "fast" not in result.provenance["parameters"]
    assert passes.count("pass") == 1  # both have the same features


def test_shots_of_feature_file(tmp_path: Path) -> None:
    film = film_of(tmp_path, "usual").path
    features = vidsum.extract(film, extractor="cells")
    vidsum.write_features(features, tmp_path / "f.npz")
    cuts = vidsum.find_shots(tmp_path / "f.npz").edges_s[1:-1]
    assert np.abs(cuts - np.array(CUTS) / 25).max() < 0.25
    assert ((cuts * 4) % 2 == 1).all()


def test_shots_of_damaged_film(tmp_path: Path) -> None:
    whole = film_of(tmp_path, "no key frames at cuts")
    path = media.damage(whole.path, tmp_path / "damaged.mp4", at=0.6, n_bytes=2000)
    result = shots_of(path)
    assert result.warnings
    errors = [np.abs(result.edges_s - whole.times_s[cut]).min() for cut in CUTS]
    assert sorted(errors)[1] < 0.0011


@pytest.mark.parametrize("kind", ["no key frames at cuts", deep("matroska")])
def test_clips_of_shots(kind: str, tmp_path: Path) -> None:
    film = film_of(tmp_path, kind).path
    for number, shot in enumerate(shots_of(film).intervals):
        clip = tmp_path / f"{number}.mp4"
        write_segments(probe(film), [shot], clip)
        assert shots_in(clip) == {number}


@pytest.mark.parametrize("kind", ["usual", deep("uneven")])
def test_summary_of_whole_shots(kind: str, tmp_path: Path) -> None:
    film = film_of(tmp_path, kind)
    displayed = np.searchsorted(film.times_s, np.arange(0, film.duration_s, 0.5))
    numbers = np.array([shot_at(int(number)) for number in displayed])
    for wanted in range(len(CUTS) + 1):
        scores = (numbers == wanted).astype(np.float32)
        result = vidsum.summarize(film.path, "30%", model=scores, extractor="cells", min_segment_s=0.2)
        assert len(result.segments) == 1
        write_segments(probe(film.path), result.segments, tmp_path / "summary.mp4")
        assert shots_in(tmp_path / "summary.mp4") == {wanted}
    edges = np.array([shot.start_s for shot in result.shots])
    assert np.abs(edges[:, None] - shots_of(film.path).edges_s[:-1]).min(axis=0).max() < 0.0011


def test_highlight_edges(tmp_path: Path) -> None:
    film = film_of(tmp_path, "usual").path
    edges = shots_of(film).edges_s
    for moment in vidsum.find_highlights(film, extractor="cells").moments:
        for time_s in (moment.start_s, moment.end_s):
            nearest = float(np.abs(edges - time_s).min())
            assert nearest == 0 or nearest > 1


@pytest.mark.deep
@pytest.mark.shared
@pytest.mark.weights
def test_clips_of_real_composite(
    shared: Path, default_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--seconds=40", "--seed=3", "--size=320x180")
    film, moments = media.join_clips(shared, tmp_path, None, *options)
    joins = np.array([moment["start"] for moment in moments[1:]])
    monkeypatch.delenv("VIDSUM_HOME")  # where the weights are
    edges = vidsum.find_shots(film, cache=False).edges_s
    assert np.abs(joins[:, None] - edges).min(axis=1).max() < 1e-6
    for result in (vidsum.summarize(film, "40%", cache=False), vidsum.find_highlights(film, cache=False)):
        segments = (
            sorted((item.start_s, item.end_s) for item in result.moments)
            if isinstance(result, vidsum.Highlights)
            else result.segments
        )
        written = write_segments(probe(film), segments, tmp_path / "out.mp4").segments
        for start, end in written:
            assert not ((joins - 0.5 < start) & (start < joins - 1e-6)).any()
            assert not ((joins + 1e-6 < end) & (end < joins + 0.5)).any()
