"""Small runs: a script's own command line on made-up data, to see that it works. Its figures mean nothing.

Clips are parts of the sample film under names of the shared clips, so that queries, phrases and moments fit;
annotations and captions are the tests'.
"""

import json
import os
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av

ROOT = Path(__file__).parents[2]
_SAMPLE = ROOT / "docs" / "sample" / "big_buck_bunny.mp4"
_FPS, _CLIP_S, _FILM_S = 25, 4, 8
_WIDTH, _HEIGHT = 320, 180
_CLIPS = {"": ("basketball.mp4", "baby_reading.mp4"), "wide": ("cups.mp4", "teddy.mp4")}
"""File names by folder of `videos`: some with moments, some with actions that are true of the whole clip."""
_TEXTS = ("a bird", "a green meadow", "a rabbit", "a tree")
_KINDS = ("query", "paraphrase", "short", "uncovered")


def run_small(module: str, arguments: str) -> int:
    """Run a script on made-up data, which its arguments name, and return its exit code.

    The current folder holds `shared`, as `VIDSUM_SHARED`, and `data/tvsum` and `data/summe`; `{root}` stands
    for the checkout.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_clips(folder / "shared" / "videos")
        make_annotations(folder / "data")
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "VIDSUM_SHARED": str(folder / "shared"), "PYTHONPATH": paths}
        command = [sys.executable, "-m", module, *shlex.split(arguments.format(root=ROOT))]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def make_clips(folder: Path) -> None:
    """Cut the sample film into clips, and list them with their texts as the shared clips are."""
    pictures, texts, number = _pictures(), iter(_TEXTS), 0
    sample = folder.with_name("sample")
    sample.mkdir(parents=True)
    _write(sample / _SAMPLE.name, pictures[-_CLIP_S * _FPS :])
    for part, names in _CLIPS.items():
        (folder / part).mkdir(parents=True, exist_ok=True)
        clips = []
        for name in names:
            _write(folder / part / name, pictures[number : number + _CLIP_S * _FPS])
            number += _CLIP_S * _FPS
            text = next(texts)
            clips.append({"file": name, **{kind: f"{text}, {kind}" for kind in _KINDS}, "short": text})
        (folder / part / "clips.json").write_text(json.dumps({"clips": clips, "film_s": _FILM_S, "films": 1}))


def make_annotations(folder: Path) -> None:
    """Write captions and scores of twelve videos in the layout of TVSum, and of five in that of SumMe."""
    from tests.lab.datasets.made import captions_of, write_captions, write_protocol, write_tvsum

    tvsum, summe = folder / "tvsum", folder / "summe"
    for part in (tvsum, summe):
        part.mkdir(parents=True)
    captions, annotations = write_tvsum(tvsum, 12)
    captions.rename(tvsum / "frame_captions.json")
    annotations.rename(tvsum / "ydata-tvsum50.mat")
    titles = [f"title {number}" for number in range(5)]
    write_protocol(summe / "summe_protocol.npz", titles, n_frames := 600)
    of_frames = {title: captions_of(n_frames // 15, seed) for seed, title in enumerate(titles)}
    write_captions(summe / "frame_captions.json", of_frames)


def _pictures() -> list[Any]:
    with av.open(str(_SAMPLE)) as film:
        return [frame.reformat(_WIDTH, _HEIGHT, "yuv420p") for frame in film.decode(video=0)]


def _write(path: Path, pictures: list[Any]) -> None:
    with av.open(str(path), "w") as clip:
        stream: Any = clip.add_stream("libx264", rate=_FPS, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
        for number, picture in enumerate(pictures):
            picture.pts, picture.time_base = number, Fraction(1, _FPS)
            clip.mux(stream.encode(picture))
        clip.mux(stream.encode())
