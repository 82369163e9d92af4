"""How fast Chromium shows the page of `vidsum edit` for two hours of film with 1,500 shots.

    python -m docs.benchmarks.edit_page [--minutes 120] [--shots 1500] [--folder FOLDER]

The film is synthetic: shots of random lengths, each with a colour and its number, 10 pictures a second. Its
summary has every seventh shot. "Row" is the time from the request of the page until the row of pictures is
there and can be clicked, "pictures" until all pictures in sight are loaded, "jump" the same after a jump into
the middle. The largest of three runs, each of a new server. It needs the packages of the tests and Chromium.
"""

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import sync_playwright

from docs.benchmarks import argument_parser
from tests.browsing import launch
from tests.media import make_video
from vidsum.editing.edit_server import EditServer
from vidsum.editing.session import EditSession
from vidsum.outputs.alone import write_json
from vidsum.results.summary import ScoredShot, Summary
from vidsum.video.probe import probe

_FPS = 10
_LOADED = """() => {
  const cells = [...document.querySelectorAll(".cell")].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.right > 0 && box.left < innerWidth;
  });
  return cells.length > 5 && cells.every(cell => cell.querySelector("img").naturalWidth > 0);
}"""


def make_summary(folder: Path, minutes: float, n_shots: int) -> None:
    """Write a film and its summary to a folder."""
    rng, length_s, path = np.random.default_rng(0), 60 * minutes, folder / "film.mp4"
    edges = np.sort(np.r_[0, rng.uniform(0, length_s, n_shots - 1), length_s])
    edges = np.unique(np.round(edges * _FPS)) / _FPS
    drawn = dict[int, np.ndarray]()

    def paint(number: int, width: int, height: int) -> np.ndarray:
        shot = int(np.searchsorted(edges, number / _FPS, "right"))
        if shot not in drawn:
            drawn.clear()
            picture = Image.new("RGB", (width, height), tuple(rng.integers(40, 216, 3).tolist()))
            ImageDraw.Draw(picture).text((40, 20), str(shot), fill="white", font=ImageFont.load_default(120))
            drawn[shot] = np.asarray(picture)
        return drawn[shot]

    size = {"n_frames": round(_FPS * length_s), "fps": _FPS, "width": 640, "height": 360, "gop": 100}
    make_video(path, **size, paint=paint, codec_options={"preset": "ultrafast"})  # type: ignore[arg-type]
    spans = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    shots = tuple(ScoredShot(*span, 0.5, number % 7 == 0) for number, span in enumerate(spans))
    times = np.arange(0, length_s, 0.5)
    provenance: Any = {"vidsum": "0", "extractor": "efficientnet_lite0", "summary": {}}
    summary = Summary(
        segments=tuple((start, min(end, start + 5)) for start, end in spans[::7]),
        shots=shots,
        importance=rng.random(len(times)).astype(np.float32),
        timestamps=times,
        budget_s=0.15 * length_s,
        video_duration_s=length_s,
        video_fps=_FPS,
        model="ridge",
        shot_method="kts",
        video=probe(path),
        provenance=provenance,
    )
    write_json(summary, folder / "film_summary.json")


def measure(browser: Any, record: Path) -> tuple[float, float, float, float, int]:
    """Return seconds to start, to the row, to its pictures, after a jump; and the most pictures."""
    begin = time.perf_counter()
    server = EditServer(EditSession(record), 0)
    started = time.perf_counter() - begin
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    begin = time.perf_counter()
    tab.goto(server.url, wait_until="commit")
    tab.wait_for_selector(".cell .shot")
    row = time.perf_counter() - begin
    wait(tab)
    pictures = time.perf_counter() - begin
    begin = time.perf_counter()
    tab.evaluate(
        "document.getElementById('strip').scrollLeft = document.getElementById('strip').scrollWidth / 2"
    )
    tab.wait_for_timeout(50)
    wait(tab)
    jump, most = time.perf_counter() - begin, tab.evaluate("document.images.length")
    tab.close()
    server.shutdown()
    server.server_close()
    return started, row, pictures, jump, most


def wait(tab: Any) -> None:
    while not tab.evaluate(_LOADED):
        tab.wait_for_timeout(20)


def main() -> None:
    parser = argument_parser(__doc__, small="--minutes 0.2 --shots 10")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--shots", type=int, default=1500)
    parser.add_argument("--folder", type=Path, help="where the film is, or is to be for the next run")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = arguments.folder or Path(name)
        record = folder / "film_summary.json"
        if not record.exists():
            make_summary(folder, arguments.minutes, arguments.shots)
        browser = launch(playwright.chromium, "no-user-gesture-required")
        runs = [measure(browser, record) for _ in range(3)]
        started, row, pictures, jump, most = map(max, zip(*runs, strict=True))
        print("| to start | row | pictures | jump | most pictures |\n|--:|--:|--:|--:|--:|")
        print(f"| {started:.1f} s | {row:.1f} s | {pictures:.1f} s | {jump:.1f} s | {most} |")
        browser.close()


if __name__ == "__main__":
    main()
