"""Small runs: a script's own command line on made-up data, to see that it works. Its figures mean nothing.

Clips are parts of the sample film under names of the shared clips, so that queries, phrases and moments fit;
annotations and captions are the tests'.
"""

import json
import os
import shlex
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np

ROOT = Path(__file__).parents[2]
_SAMPLE = ROOT / "docs" / "sample" / "big_buck_bunny.mp4"
_FPS, _CLIP_S, _FILM_S = 25, 4, 8
_WIDTH, _HEIGHT = 320, 180
_CLIPS = {"": ("basketball.mp4", "baby_reading.mp4"), "wide": ("cups.mp4", "teddy.mp4")}
"""File names by folder of `videos`: some with moments, some with actions that are true of the whole clip."""
_CAMERAS = ("cameras/table_visits.mp4", "cameras/charades.mp4")
"""Footage of a fixed and of a moving camera, by their names."""
_TEXTS = ("a bird", "a green meadow", "a rabbit", "a tree")
_SAID = ("Ask", "not", "what", "your", "country", "can", "do", "for", "you.")
_KINDS = ("query", "paraphrase", "short", "uncovered")


def make_up(folder: Path, arguments: str) -> list[str]:
    """Make up the data that a script's arguments name, go to its folder, and return the arguments.

    The folder holds `shared` and what the arguments name of `data/tvsum`, `data/summe`, `data/highlights`,
    `pictures` and `speech`; `{root}` stands for the checkout.
    """
    make_clips(folder / "shared" / "videos")
    for part, make in _PARTS.items():
        if part in arguments:
            make(folder / part)
    paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # of the processes that a script starts
    os.chdir(folder)
    return shlex.split(arguments.format(root=ROOT))


def make_clips(folder: Path) -> None:
    """Cut the sample film into clips, and list them with their texts as the shared clips are."""
    pictures, texts, number = _pictures(), iter(_TEXTS), 0
    sample = folder.with_name("sample")
    sample.mkdir(parents=True)
    _write(sample / _SAMPLE.name, pictures[-_CLIP_S * _FPS :])
    for path in _CAMERAS:
        (folder.parent / path).parent.mkdir(exist_ok=True)
        _write(folder.parent / path, pictures[-_CLIP_S * _FPS :])
    for part, names in _CLIPS.items():
        (folder / part).mkdir(parents=True, exist_ok=True)
        clips = []
        for name in names:
            _write(folder / part / name, pictures[number : number + _CLIP_S * _FPS])
            number += _CLIP_S * _FPS
            text = next(texts)
            clips.append({"file": name, **{kind: f"{text}, {kind}" for kind in _KINDS}, "short": text})
        (folder / part / "clips.json").write_text(
            json.dumps({"clips": clips, "film_s": _FILM_S, "films": 1, "preset": "ultrafast"})
        )


def make_tvsum(folder: Path) -> None:
    """Write captions and scores of twelve videos in the layout of TVSum, and a split of them."""
    from tests.lab.datasets.made import write_tvsum

    folder.mkdir(parents=True)
    captions, annotations = write_tvsum(folder, 12)
    captions.rename(folder / "frame_captions.json")
    annotations.rename(folder / "ydata-tvsum50.mat")
    keys = [f"tvsum/video_{number}" for number in range(1, 13)]
    (folder / "split.json").write_text(json.dumps([{"train_keys": keys[4:], "test_keys": keys[:2]}]))


def make_summe(folder: Path) -> None:
    """Write captions and summaries of five videos in the layout of SumMe."""
    from tests.lab.datasets.made import captions_of, write_captions, write_protocol

    folder.mkdir(parents=True)
    titles = [f"title {number}" for number in range(5)]
    write_protocol(folder / "summe_protocol.npz", titles, n_frames := 600)
    of_frames = {title: captions_of(n_frames // 15, seed) for seed, title in enumerate(titles)}
    write_captions(folder / "frame_captions.json", of_frames)


def make_recordings(folder: Path) -> None:
    """Write the name of a recording, and its transcript beside it: the recording itself is not read then."""
    from vidsum.outputs.alone import write_json
    from vidsum.results.transcript import Segment, Transcript, Word

    folder.mkdir()
    (folder / "jfk.flac").touch()
    words = tuple(Word(number / 2, number / 2 + 0.4, f" {text}", 1.0) for number, text in enumerate(_SAID))
    said = Segment(0.0, words[-1].end_s, " ".join(_SAID), 1.0, 0.0, words)
    write_json(Transcript((said,), "en", 1.0, words[-1].end_s), folder / "jfk_transcript.json")


def make_highlights(folder: Path) -> None:
    """Write queries and captions of clips of ten videos in the layout of QVHighlights."""
    folder.mkdir(parents=True)
    rng, queries, captions = np.random.default_rng(0), list[Any](), list[Any]()
    for number in range(10):
        video, first = f"{number}_0_150", int(rng.integers(65))
        topics = [[f"{name}{word}" for word in rng.integers(2000, size=4)] for name in ("act", "thing")]
        for qid, topic in enumerate(topics):
            clips = list(range(first + 5 * qid, first + 5 * qid + 5))
            facts = {"qid": 2 * number + qid, "query": " ".join(topic), "vid": video, "duration": 150}
            windows = [[2 * clips[0], 2 * clips[-1] + 2]]
            scores = [[3, 3, 3]] * len(clips)
            facts |= {"relevant_windows": windows, "relevant_clip_ids": clips, "saliency_scores": scores}
            queries.append(facts)
        words = np.concatenate(topics)
        texts = [" ".join(rng.permutation(words)) for _ in range(6)]
        captions.append({"vid": video, "captions": [texts[clip % len(texts)] for clip in range(75)]})
    for name, lines in ("queries", queries), ("captions", captions):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_pictures(folder: Path) -> None:
    """Write photographs and frames with sentences, as `vidsum.weights.recipes.vse_pictures` collects them."""
    pictures = _pictures()
    for part in ("pictures/flickr8k", "pictures/msrvtt", "sentences"):
        (folder / part).mkdir(parents=True)
    names = [f"photograph_{number:02}" for number in range(25)]  # every eighth is for testing
    rows = [f"{name}.jpg,{text}" for name in names for text in _TEXTS]
    (folder / "sentences/flickr8k.csv").write_text("\n".join(["image,caption", *rows]))
    videos = [f"video{number}" for number in range(4)]
    sentences = [{"video_id": video, "caption": text} for video in videos for text in (*_TEXTS, *_TEXTS)]
    document = {"videos": [{"video_id": video, "split": "test"} for video in videos], "sentences": sentences}
    (folder / "sentences/msrvtt.json").write_text(json.dumps(document))
    frames = [f"flickr8k/{name}.jpg" for name in names[::8]]
    frames += [f"msrvtt/{video}-shot0.0.jpg" for video in videos]
    for number, frame in enumerate(frames):
        pictures[100 * number].to_image().save(folder / "pictures" / frame)


_PARTS = {
    "data/tvsum": make_tvsum,
    "data/summe": make_summe,
    "data/highlights": make_highlights,
    "pictures": make_pictures,
    "speech": make_recordings,
}
"""Data that the arguments of a small run may name, in addition to `shared`."""


@cache
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
