"""How large the page of an hour of talk is, and how fast Chromium opens and searches it.

    python -m docs.benchmarks.reading [--minutes 60]

The talk is synthetic: 400 slides at random times and 900 sentences of random words an hour, 5 pictures a
second, with a tone. It needs the packages of the tests and Chromium.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from docs.benchmarks import argument_parser
from tests.browsing import chromium
from tests.media import make_video
from vidsum.pipelines.bundle import write_report
from vidsum.results.shots import Shots
from vidsum.results.transcript import Segment, Transcript
from vidsum.video.probe import probe

WORDS = ("we show", "this method", "finds", "the speech", "sound", "noise", "a curve", "errors", "of a model")
SEARCH = """() => {
  const input = document.querySelector("article .filter input"), start = performance.now();
  input.value = "noise";
  input.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return (performance.now() - start) / 1000;
}"""


def make_talk(folder: Path, minutes: float) -> tuple[Shots, Transcript]:
    """The shots and the transcript of a talk that is written to a folder."""
    rng, length_s, path = np.random.default_rng(0), 60 * minutes, folder / "talk.mp4"
    edges = np.sort(np.r_[0, rng.uniform(0, length_s, round(400 * minutes / 60) - 1)])
    slides = dict[int, np.ndarray]()

    def paint(number: int, width: int, height: int) -> np.ndarray:
        slide = int(np.searchsorted(edges, number / 5, "right"))
        if slide not in slides:
            slides.clear()
            picture = Image.new("RGB", (width, height), tuple(rng.integers(150, 256, 3).tolist()))
            lines = [f"Slide {slide}", *(" ".join(rng.choice(WORDS, 5)) for _ in range(6))]
            text, font = "\n".join(lines), ImageFont.load_default(size=32)
            ImageDraw.Draw(picture).multiline_text((40, 20), text, fill="black", font=font)
            slides[slide] = np.asarray(picture)
        return slides[slide]

    fast = {"preset": "ultrafast"}
    size = {"n_frames": round(5 * length_s), "fps": 5, "width": 640, "height": 360}
    make_video(path, **size, sound=True, paint=paint, codec_options=fast)  # type: ignore[arg-type]
    video = probe(path)
    starts = np.linspace(0, length_s - 4, round(900 * minutes / 60)).tolist()
    said = (" ".join(rng.choice(WORDS, 11)).capitalize() for _ in starts)
    parts = tuple(
        Segment(start, start + 3.2, f"{text}.", 0.9, 0.1) for start, text in zip(starts, said, strict=True)
    )
    about: Any = {"video": video, "provenance": {"vidsum": "0"}}
    return (
        Shots(np.append(edges, video.duration_s), "kts", video_fps=5.0, **about),
        Transcript(parts, "en", 0.9, video.duration_s, **about),
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    with TemporaryDirectory() as name, chromium() as browser:
        results, page = make_talk(Path(name), minutes), Path(name, "talk.html")
        print("| page | size | to write | to open | to search |\n|---|--:|--:|--:|--:|")
        for embed in (False, True):
            begin = time.perf_counter()
            write_report(results, page, embed=embed, overwrite=True)
            written = time.perf_counter() - begin
            opened, searched = map(max, zip(*(open_page(browser, page) for _ in range(3)), strict=True))
            size = page.stat().st_size / 1e6
            kind = "`--embed`" if embed else "video beside it"
            print(f"| {kind} | {size:.1f} MB | {written:.0f} s | {opened:.1f} s | {searched:.2f} s |")


def open_page(browser: Any, page: Path) -> tuple[float, float]:
    """The seconds until a page is loaded in a new window, and those of a search in it."""
    tab = browser.new_page()
    begin = time.perf_counter()
    tab.goto(page.as_uri())
    opened = time.perf_counter() - begin
    searched = float(tab.evaluate(SEARCH))
    tab.close()
    return opened, searched


if __name__ == "__main__":
    main()
