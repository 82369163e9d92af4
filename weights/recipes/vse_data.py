"""The pictures of the map `vse` with their sentences, and which of them train it.

FOLDER/pictures/SET/KEY.jpg are those of vse_pictures.py. FOLDER/sentences holds the published files of each
set: flickr8k.csv (`image`, `caption`), coco.json (COCO's captions), msrvtt.json (`videos`, `sentences`), and
msvd.json (a list of `id` and `caption`).
"""

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BENCHMARK = "video2104"  # of MSR-VTT; it shows a clip of our benchmark
_FRAMES, _PER_FRAME = 4, 3  # frames of a video, and sentences of each
_COCO_TESTED = 2400  # of the first photographs by number, every fourth is for testing

Texts = Mapping[str, list[str]]  # sentences by key


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture, its sentences, and its part: train, val or test."""

    path: Path
    sentences: tuple[str, ...]
    split: str


def read_pictures(folder: Path, sets: tuple[str, ...]) -> list[CaptionedPicture]:
    """Return the pictures of sets that have sentences, in order of set and name."""
    readers = {"flickr8k": _flickr8k, "coco": _coco, "msrvtt": _msrvtt, "msvd": _msvd}
    pictures = [picture for name in sets for picture in readers[name](folder)]
    return [picture for picture in pictures if picture.path.is_file() and picture.sentences]


def _flickr8k(folder: Path) -> list[CaptionedPicture]:
    texts = defaultdict[str, list[str]](list)
    with (folder / "sentences/flickr8k.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            texts[Path(row["image"]).stem].append(row["caption"].strip())
    split_of = {name: "train" if number % 8 else "test" for number, name in enumerate(sorted(texts))}
    train = [name for name, split in split_of.items() if split == "train"]
    split_of |= dict.fromkeys(train[::16], "val")
    return [_picture(folder, "flickr8k", name, texts[name], split_of[name]) for name in split_of]


def _coco(folder: Path) -> list[CaptionedPicture]:
    texts = defaultdict[str, list[str]](list)
    for annotation in _read(folder, "coco")["annotations"]:
        texts[str(annotation["image_id"])].append(annotation["caption"].strip())
    here = sorted((path.stem for path in (folder / "pictures/coco").glob("*.jpg")), key=int)
    tested = set(here[:_COCO_TESTED:4])
    return [
        _picture(folder, "coco", key, texts.get(key, []), "test" if key in tested else "train")
        for key in here
    ]


def _msrvtt(folder: Path) -> list[CaptionedPicture]:
    document = _read(folder, "msrvtt")
    texts = defaultdict[str, list[str]](list)
    for sentence in document["sentences"]:
        texts[sentence["video_id"]].append(sentence["caption"].strip())
    split_of = {video["video_id"]: video["split"] for video in document["videos"]}
    trained = {name: texts[name] for name, split in split_of.items() if split == "train"}
    trained.pop(_BENCHMARK, None)
    return _frames(folder, "msrvtt", trained)


def _msvd(folder: Path) -> list[CaptionedPicture]:
    clips = {Path(clip["id"]).stem: clip["caption"] for clip in _read(folder, "msvd")}
    return _frames(folder, "msvd", clips)


def _frames(folder: Path, name: str, texts: Texts) -> list[CaptionedPicture]:
    """Return up to four frames of each video, each with other sentences."""
    frames = defaultdict[str, list[Path]](list)
    for path in sorted((folder / "pictures" / name).glob("*.jpg")):
        video = path.name.split(".")[0]
        frames[video.split("-shot")[0] if name == "msrvtt" else video].append(path)
    pictures = []
    for video in sorted(frames.keys() & texts.keys()):
        every = max(1, len(frames[video]) // _FRAMES)
        for number, path in enumerate(frames[video][::every][:_FRAMES]):
            first = _PER_FRAME * number
            pictures.append(CaptionedPicture(path, tuple(texts[video][first : first + _PER_FRAME]), "train"))
    return pictures


def _picture(folder: Path, name: str, key: str, texts: list[str], split: str) -> CaptionedPicture:
    return CaptionedPicture(folder / "pictures" / name / f"{key}.jpg", tuple(texts), split)


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / f"sentences/{name}.json").read_text("utf-8"))
