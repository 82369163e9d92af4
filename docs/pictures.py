"""Make the pictures of the documentation from the sample video, by the commands as they are now.

    python -m docs.pictures [NAME ...]

Pages are shown by Chromium, through Playwright (extra `test`). Annotators and subtitles are made up.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import vidsum
from vidsum.results.feature_h5 import write_h5
from vidsum.types import Picture
from vidsum.video.style import load_font
from vidsum.video.write import write_segments

FOLDER = Path(__file__).parent / "images"
_VIDEO = Path("big_buck_bunny.mp4")
LARGEST = 300_000
"""Bytes of a picture. Larger ones get 256 colours, which may change the colour of something small."""
_PIECE_S = 2.0
_CHOSEN_PIECES = ((2, 8), (4, 8), (7, 8), (8, 12), (8, 9))
"""Two pieces of `_PIECE_S`, by their numbers, that each of five made-up annotators chose."""
_SUBTITLES = (
    (4.0, 6.6, "Nobody is awake yet."),
    (6.8, 9.4, "A tall fir tree stands at the edge of the wet meadow."),
    (9.6, 11.5, "The fir tree is older than the meadow."),
    (12.2, 15.2, "The grey bird wakes up first in spring."),
    (15.6, 20.6, "The grey bird on the branch sings before the sun is up."),
)


def _run(line: str) -> None:
    """Run a command of vidsum in the current folder."""
    subprocess.run([sys.executable, "-m", "vidsum", *shlex.split(line)], check=True)


def _made(line: str, name: str) -> Image.Image:
    """Return the picture that a command writes."""
    _run(line)
    return Image.open(name)


@contextmanager
def _serving(line: str) -> Iterator[str]:
    """Run a command that serves a page until the end of the block, and return the page's address."""
    command = [sys.executable, "-m", "vidsum", *shlex.split(line), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["data"]["url"]
        finally:
            server.terminate()


@contextmanager
def _page(url: str, width: int) -> Iterator[Any]:
    """Open a page in Chromium."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900}, bypass_csp=True)
        tab.goto(url)
        yield tab
        browser.close()


def _photograph(tab: Any, height: int, seek_s: float) -> Image.Image:
    """Return the upper part of a page, its player stopped at a time, without this machine's folders."""
    tab.evaluate(
        "time => { const v = document.querySelector('video'); v.pause(); v.currentTime = time }", seek_s
    )
    replace = """folder => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode())
        node.data = node.data.replaceAll(folder, "/home/me/Videos");
    }"""
    tab.evaluate(replace, str(Path.cwd()))
    tab.wait_for_timeout(1500)  # pictures and the player load
    width = tab.viewport_size["width"]
    tab.screenshot(path="page.png", full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
    return Image.open("page.png")


def storyboard() -> Image.Image:
    """Return what the README's first command writes."""
    return _made(f"summarize {_VIDEO} --budget 25% --storyboard", "big_buck_bunny_storyboard.png")


def shots() -> Image.Image:
    """Return the contact sheet of the page of `shots`."""
    return _made(f"shots {_VIDEO} --sheet", "big_buck_bunny_shots_sheet.png")


def highlights() -> Image.Image:
    """Return the curve of the page of `highlights`."""
    return _made(f"highlights {_VIDEO} --plot", "big_buck_bunny_highlights.png")


def moments() -> Image.Image:
    """Return the curves of the page of `ground`."""
    line = f"ground {_VIDEO} --query 'a meadow with flowers' --query 'a cave under a tree' --plot"
    return _made(line, "big_buck_bunny_moments.png")


def attention() -> Image.Image:
    """Return the attention of the FullTransNet that ships."""
    return _made(f"evaluate attention {_VIDEO}", "big_buck_bunny_attention.png")


def _write_annotated(path: Path) -> None:
    """Write features of the sample and the choices of annotators, in TVSum's layout."""
    features = vidsum.extract(_VIDEO)
    info = vidsum.probe(_VIDEO)
    n_frames = round(info.duration_s * info.fps)
    edges = np.append(np.arange(0, n_frames, round(_PIECE_S * info.fps)), n_frames)
    chosen = np.zeros((len(_CHOSEN_PIECES), n_frames), np.float32)
    for row, pieces in zip(chosen, _CHOSEN_PIECES, strict=True):
        for piece in pieces:
            row[edges[piece] : edges[piece + 1]] = 1
    picks = (features.timestamps * info.fps).astype(int)
    annotations = {
        "change_points": np.stack([edges[:-1], edges[1:] - 1], axis=1),
        "gtscore": chosen.mean(axis=0)[picks],
        "user_summary": chosen,
        "picks": picks,
        "n_frames": n_frames,
    }
    write_h5({"video_1": features}, path, {"video_1": annotations})


def _evaluated(content: str) -> Image.Image:
    _write_annotated(Path("sample.h5"))
    line = f"evaluate summary --data sample.h5 -m ridge -m contrastive --plot-of {content}"
    return _made(f"{line} --plot-file {content}.png", f"{content}.png")


def scores() -> Image.Image:
    """Return scores of two models, and the annotators' mean."""
    return _evaluated("scores")


def segments() -> Image.Image:
    """Return key shots of two models, and how many annotators chose each frame."""
    return _evaluated("segments")


def edit() -> Image.Image:
    """Return the page of a summary after a click on a shot."""
    _run(f"summarize {_VIDEO} --budget 8s")
    with _serving("edit big_buck_bunny_summary.json") as url, _page(url, 1200) as tab:
        tab.locator(".cell .shot[aria-pressed='false']").last.click()
        tab.locator("#status", has_text="Taken").wait_for()
        return _photograph(tab, 835, 13.5)


def edit_shorts() -> Image.Image:
    """Return the page of two shorts while one plays as it is saved."""
    write_subtitles()
    _run(f"shorts {_VIDEO} -n 2 --length 5s-12s")
    with _serving("edit big_buck_bunny_shorts.json") as url, _page(url, 1300) as tab:
        tab.get_by_role("button", name="As saved: short 2").click()
        tab.wait_for_function("document.getElementById('clip').readyState > 1")
        tab.evaluate("document.getElementById('clip').pause()")
        tab.evaluate("document.getElementById('clip').currentTime = 5")
        tab.locator("#word1").click()
        return _photograph(tab, 1000, 12.0)


def report() -> Image.Image:
    """Return the page of a summary and of moments, with the mouse on a curve."""
    _run(f"summarize {_VIDEO} --budget 8s")
    line = f"ground {_VIDEO} -q 'a bird' -q 'a green meadow' -q 'a cave under a tree'"
    _run(line.replace("-q", "--query"))
    _run("report big_buck_bunny_summary.json big_buck_bunny_moments.json")
    with _page(Path("report.html").resolve().as_uri(), 1100) as tab:
        tab.locator(".cut").nth(2).click()
        tab.mouse.wheel(0, -10_000)
        tab.wait_for_timeout(1000)  # it scrolls, and the mouse must find the curve in its place
        curve = tab.locator(".chart svg").first.bounding_box()
        tab.mouse.move(curve["x"] + 0.62 * curve["width"], curve["y"] + curve["height"] / 2)
        return _photograph(tab, 1180, 18.5)


def serve() -> Image.Image:
    """Return the page of an archive after a search, with its filters and the player."""
    _run(f"index {_VIDEO} --archive films.vidsum --sounds")
    with _serving("serve --archive films.vidsum") as url, _page(f"{url}#q=a+bird+on+a+branch", 1240) as tab:
        tab.get_by_role("button", name="Filters").click()
        tab.locator(".moment .cut").first.click()
        return _photograph(tab, 990, 18.0)


def write_subtitles(path: Path = Path("big_buck_bunny.srt")) -> None:
    """Write made-up subtitles of the sample."""
    stamps = [tuple(f"00:00:{seconds:06.3f}".replace(".", ",") for seconds in cue[:2]) for cue in _SUBTITLES]
    lines = [
        f"{number}\n{start} --> {end}\n{cue[2]}\n"
        for number, ((start, end), cue) in enumerate(zip(stamps, _SUBTITLES, strict=True), 1)
    ]
    path.write_text("\n".join(lines))


def shorts() -> Image.Image:
    """Return four pictures of each of two shorts, with captions."""
    write_subtitles()
    _run(f"shorts {_VIDEO} -n 2 --length 5s-12s")
    rows = []
    for path in sorted(Path().glob("big_buck_bunny_short_*.mp4")):
        length_s = vidsum.probe(path).duration_s
        frames = vidsum.read_frames(path, [length_s * part for part in (0.1, 0.37, 0.63, 0.9)], max_side=400)
        rows.append(np.concatenate(frames, axis=1))
    return Image.fromarray(np.concatenate(rows))


def reel() -> Image.Image:
    """Return the inputs of a reel, and below them what it shows of them.

    They are ten clips of the sample, of which some are of one scene, and three photographs.
    """
    folder = Path("inputs")
    folder.mkdir()
    info = vidsum.probe(_VIDEO)
    clip_s = 5.0
    for start_s in np.linspace(0, info.duration_s - clip_s, 10):
        write_segments(info, [(start_s, start_s + clip_s)], folder / f"{start_s:04.1f}.mp4")
    times_s = (3.0, 12.0, 26.0)
    for time_s, picture in zip(times_s, vidsum.read_frames(_VIDEO, times_s), strict=True):
        Image.fromarray(picture).save(folder / f"{time_s:04.1f}.jpg")
    made = vidsum.make_reel([folder], "20s", order="name", cache=False)
    names = [Path(source.path) for source in made.sources]
    inputs = [(_picture_at(path, clip_s / 2), path.name) for path in names]
    film = []
    for segment in made.segments:
        path = names[segment.source]
        picture = _picture_at(path, (segment.start_s + segment.end_s) / 2)
        film.append((picture, f"{path.name}, {segment.length_s:.1f} s"))
    return _draw_rows([inputs, film])


def _picture_at(path: Path, time_s: float) -> Picture:
    """Return the picture of a clip at a time, or a photograph."""
    (picture,) = vidsum.read_frames(path, [time_s * (path.suffix == ".mp4")])
    return picture


def _draw_rows(rows: Sequence[Sequence[tuple[Picture, str]]]) -> Image.Image:
    """Return rows of pictures with a line of text below each, and a space between two rows."""
    wide, columns, text_high = 150, 7, 16
    high = wide * 9 // 16
    lines = [[row[at : at + columns] for at in range(0, len(row), columns)] for row in rows]
    n_lines = sum(map(len, lines))
    sheet = Image.new(
        "RGB", (columns * wide, n_lines * (high + text_high) + (len(rows) - 1) * text_high), "white"
    )
    draw, top = ImageDraw.Draw(sheet), 0
    for group in lines:
        for line in group:
            for column, (picture, text) in enumerate(line):
                sheet.paste(Image.fromarray(picture).resize((wide - 4, high)), (column * wide, top))
                draw.text((column * wide, top + high), text, "black", load_font(11))
            top += high + text_high
        top += text_high
    return sheet


PICTURES: Mapping[str, Callable[[], Image.Image]] = {
    function.__name__: function
    for function in (
        attention, edit, edit_shorts, highlights, moments, reel, report, scores, segments, serve, shorts,
        shots, storyboard,
    )
}  # fmt: skip


def main(names: Sequence[str]) -> None:
    """Make the pictures that are named, or all, each in a folder of its own and with an empty cache."""
    video = Path(__file__).parent / "sample" / _VIDEO
    for name in names or PICTURES:
        with TemporaryDirectory() as folder:
            shutil.copy(video, folder)
            os.chdir(folder)
            os.environ["VIDSUM_HOME"] = str(Path(folder, "home"))
            picture, file = PICTURES[name]().convert("RGB"), FOLDER / f"{name}.png"
            picture.save(file, optimize=True)
            if file.stat().st_size > LARGEST:
                picture.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
            os.chdir(FOLDER)
        print(f"{name}.png: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
