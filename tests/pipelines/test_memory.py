"""Peak memory of commands, each in a process of its own: two hours of video, and screens full of text."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import av
import cv2
import numpy as np
import pytest
from PIL import Image

from tests.conftest import real_weights
from tests.media import colour_picture, make_video
from vidsum.types import Picture

pytestmark = [
    pytest.mark.deep,
    pytest.mark.weights,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of a process from Linux"),
]

LIMIT_MB, ACTIONS_LIMIT_MB, TEXT_LIMIT_MB = 350.0, 420.0, 500.0
_PICTURES, _STAYS = 7200, 30  # pictures in two hours, and how many are the same: those are encoded once
_SCENE_STAYS = 4  # of a film of 1,800 scenes


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_film(tmp_path_factory.mktemp("memory") / "film.mp4", _STAYS)


def write_film(path: Path, stays: int) -> Path:
    """Write two hours of pictures that stay for so many seconds."""
    rng = np.random.default_rng(0)
    with av.open(path, "w") as container:
        container.metadata["comment"] = uuid4().hex  # another file each time: no cache knows it
        stream = container.add_stream("libx264", rate=1, options={"qp": "0", "preset": "ultrafast"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(_PICTURES):
            if number % stays == 0:
                blocks = rng.integers(0, 256, (6, 8, 3), np.uint8)
                picture = np.kron(blocks, np.ones((8, 8, 1), np.uint8))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())
    return path


def peak_mb(folder: Path, *arguments: str) -> float:
    """Return the peak of a command, whose process is waited for by itself."""
    program = """
        import os, sys
        number = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "vidsum", *sys.argv[1:]])
        _, status, usage = os.wait4(number, 0)
        print(status, usage.ru_maxrss)
    """
    command = [sys.executable, "-c", dedent(program), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=os.environ)
    status, kibibytes = done.stdout.split()[-2:]
    assert status == "0", done.stderr
    return int(kibibytes) * 1024 / 1e6


@pytest.mark.parametrize(
    "runs",
    [
        [["ground", "--query", "a dog"], ["ground", "--query", "a man in a red coat", "--query", "snow"]],
        [["shots"]],
    ],
    ids=["ground", "shots"],
)
def test_two_hours_stay_below_the_limit(
    runs: Sequence[Sequence[str]], film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both decode the film first; another query finds its features in the cache."""
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    for verb, *options in runs:
        peak = peak_mb(tmp_path, verb, str(film), *options, "-q")
        limit = ACTIONS_LIMIT_MB if verb == "ground" else LIMIT_MB
        assert peak < limit, f"{verb} {options}: {peak:.0f} MB"


def test_a_query_in_another_language_stays_below_the_limit(film: Path, tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "minilm", "e5"):
        real_weights(name)
    assert peak_mb(tmp_path, "ground", str(film), "--query", "ein Hund im Schnee", "-q") < ACTIONS_LIMIT_MB


def test_a_search_stays_below_the_limit(film: Path, tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    peak_mb(tmp_path, "index", str(film), "--archive", "a.db", "-q")
    assert peak_mb(tmp_path, "search", "a dog in the snow", "--archive", "a.db") < LIMIT_MB


def test_a_reel_of_three_hundred_inputs_stays_below_the_limit(tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    folder = tmp_path / "Holiday"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(300):
        picture = np.kron(rng.integers(0, 256, (6, 8, 3), np.uint8), np.ones((60, 60, 1), np.uint8))
        if number % 5 == 0:
            Image.fromarray(picture).save(folder / f"{number}.jpg")
            continue
        make_video(folder / f"{number}.mp4", n_frames=50, width=480, height=360, paint=colour_picture)
    peak = peak_mb(tmp_path, "reel", str(folder), "-o", "film.mp4", "--budget", "1m", "-q")
    assert peak < TEXT_LIMIT_MB, f"{peak:.0f} MB"


def test_a_summary_of_many_scenes_stays_below_the_limit(tmp_path: Path) -> None:
    real_weights("efficientnet_lite0")
    film = write_film(tmp_path / "scenes.mp4", _SCENE_STAYS)
    assert peak_mb(tmp_path, "summarize", str(film), "-q") < LIMIT_MB


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty seconds of small text in full HD; another page after ten seconds."""
    path = tmp_path_factory.mktemp("memory") / "pages.mp4"
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        for number in range(500):
            if number % 250 == 0:
                page = draw_page(number)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(page, "rgb24")))
        container.mux(stream.encode())
    return path


def draw_page(seed: int) -> Picture:
    rng = np.random.default_rng(seed)
    words = ["invoice", "total", "north", "river", "committee", "signal", "harvest", "platform", "balance"]
    page = np.full((1080, 1920, 3), 240, np.uint8)
    for top in range(40, 1060, 42):
        line = " ".join(f"{word} {rng.integers(10, 9999)}" for word in rng.choice(words, 6))
        cv2.putText(page, line, (30, top), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (20, 20, 20), 1, cv2.LINE_AA)
    return page


def test_a_search_for_small_text_stays_below_the_limit(pages: Path, tmp_path: Path) -> None:
    """The text is read first, and then comes from the cache."""
    for name in ("pp_ocr", "minilm"):
        real_weights(name)
    for query in ("committee signal", "the balance of a river"):
        peak = peak_mb(tmp_path, "ground", str(pages), "--query", query, "--in", "text", "--overwrite", "-q")
        assert peak < TEXT_LIMIT_MB, f"{query}: {peak:.0f} MB"
    (document,) = tmp_path.glob("*.json")
    assert "committee" in document.read_text()
