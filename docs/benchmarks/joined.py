"""Films joined from real clips, whose moments are known.

The queries of a film are those of its clips: of each kind, one per clip that has it. A short query can be
true of several clips; `joined_queries.json` lists those, and queries that are true of none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from docs.benchmarks import SHARED
from docs.benchmarks.join_clips import join_clips
from vidsum.device import Precision
from vidsum.features.settings import Extraction
from vidsum.grounding.spaces import STEP_S, ClassMixture, ClipEmbeddings
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query
from vidsum.models.scaling import unit_rows
from vidsum.pipelines.embedding import open_in_space, plan_embedding
from vidsum.types import TimeArray

HALVES = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
FIRST = SHARED / "videos"
FOLDERS = (FIRST, FIRST / "wide")
"""Where the clips are, each folder with its clips.json."""
KINDS = ("query", "paraphrase", "short", "uncovered")
"""Keys in a clip's file: its caption, another wording of it, one to four words, and a text that names
nothing that the classes cover."""
_NOTES = Path(__file__).with_name("joined_queries.json")


Value = TypeVar("Value", int, str)
VideoWithQueries = tuple[ClipEmbeddings, MomentVideo]
"""A video, and its queries."""


def known_clips(folders: Sequence[Path] = FOLDERS) -> list[dict[str, str]]:
    """The clips of some folders with all their queries, in the order of the files."""
    listed = [(folder, json.loads((folder / "clips.json").read_text())["clips"]) for folder in folders]
    return [{**clip, "file": str(folder / clip["file"])} for folder, clips in listed for clip in clips]


def names_of(half: str) -> set[str]:
    """The file names of every clip, or of every second one."""
    return {Path(clip["file"]).name for clip in known_clips()[HALVES[half]]}


def composite(
    folder: Path, clips: str, seconds: int, seed: int, folders: Sequence[Path] = FOLDERS
) -> tuple[Path, MomentVideo]:
    """A film of joined clips, made once, and where each caption is true in it.

    Of made-up clips it is as long as their file says.
    """
    seconds = made_up("film_s", seconds)
    target = folder / f"{clips}_{seconds}_{seed}.mp4"
    join(folder / f"{clips}.json", known_clips(folders)[HALVES[clips]], target, seconds, seed)
    return target, truth_of(target)


def ten_films(folder: Path) -> list[Path]:
    """The ten joined films of 120 s that most figures are of, made once; few and short of made-up clips."""
    return [composite(folder, "all", 120, seed)[0] for seed in range(made_up("films", 10))]


def made_up(key: str, usual: Value) -> Value:
    """Return a value that the file of made-up clips sets, or the usual one."""
    listed: dict[str, Any] = json.loads((FIRST / "clips.json").read_text())
    return type(usual)(listed.get(key, usual))


def join(listed: Path, clips: Sequence[Mapping[str, str]], target: Path, seconds: int, seed: int) -> None:
    """Join clips to a film, once; `listed` records them, and the JSON beside the film where each is."""
    chosen = {"clips": list(clips)}
    if listed.exists() and json.loads(listed.read_text()) != chosen:
        raise SystemExit(f"{listed.parent} holds films of other clips: give another folder")
    if not target.with_suffix(".json").exists():
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text(json.dumps(chosen))
        joined = join_clips(clips, target, seconds, seed, made_up("preset", "veryfast"))
        target.with_suffix(".json").write_text(json.dumps(joined, indent=1))


def truth_of(film: Path, kind: str = "query") -> MomentVideo:
    """Where the queries of a kind are true in a film, from the JSON beside it."""
    truth: dict[str, Any] = json.loads(film.with_suffix(".json").read_text())
    clips = [(Path(moment["file"]).name, (moment["start"], moment["end"])) for moment in truth["moments"]]
    present, fits = {name for name, _ in clips}, notes()["fits"]
    queries = []
    for clip in known_clips():
        name, text = Path(clip["file"]).name, clip.get(kind)
        if name in present and text:
            true_of = {name, *(fits.get(text, ()) if kind == "short" else ())}
            windows = tuple(window for file, window in clips if file in true_of)
            queries.append(Query(name, text, film.stem, truth["duration"], windows))
    return MomentVideo(film.stem, truth["duration"], tuple(queries))


def joins_of(film: Path) -> tuple[TimeArray, float]:
    """Seconds at which one clip of a joined film gives way to the next, and the film's length."""
    truth: dict[str, Any] = json.loads(film.with_suffix(".json").read_text())
    return np.array([moment["start"] for moment in truth["moments"][1:]]), truth["duration"]


def notes() -> dict[str, Any]:
    """Which clips a short query fits, and the captions that are nearly true."""
    read: dict[str, Any] = json.loads(_NOTES.read_text())
    return read


def embed(path: Path, space: str, precision: Precision = "fp32") -> ClipEmbeddings:
    """A film in a space; its features stay in the cache."""
    opened = open_in_space(space, path, Extraction(precision=precision), actions=True)
    return plan_embedding(opened, space).run().clips


def hide_joins(video: ClipEmbeddings, every: int, first: int) -> ClipEmbeddings:
    """A film whose joins are faded over two clips; only every so many are known, from `first` on."""
    assert video.shots_s is not None
    rows, joins = video.rows.copy(), video.shots_s[1:-1]
    for number in np.unique(np.rint(joins).astype(np.int64).clip(1, len(rows) - 1)):
        rows[number] += rows[number - 1]
        rows[number - 1] += rows[number] / 2
    known = joins[np.arange(len(joins)) % every == first % every]
    shots_s = np.array([0, *known, video.duration_s])
    # no scene begins at a join that is not known
    scenes_s = None if video.scenes_s is None else video.scenes_s[np.isin(video.scenes_s, shots_s)]
    return replace(video, rows=unit_rows(rows), shots_s=shots_s, scenes_s=scenes_s)


def one_after_another(videos: Sequence[ClipEmbeddings], truths: Sequence[MomentVideo]) -> VideoWithQueries:
    """One long film of several: their clips one after another, and all that is true of any query."""
    offsets = np.cumsum([0, *(len(video) * STEP_S for video in videos)]).tolist()
    duration_s = offsets[-1]
    queries: dict[str, Query] = {}
    for truth, offset in zip(truths, offsets, strict=False):
        for query in truth.queries:
            before = queries[query.text].windows if query.text in queries else ()
            windows = tuple((offset + start, offset + end) for start, end in query.windows)
            queries[query.text] = Query(query.qid, query.text, "long", duration_s, (*before, *windows))

    def joined_edges(kind: str) -> TimeArray:
        parts = [offset + getattr(video, kind)[:-1] for video, offset in zip(videos, offsets, strict=False)]
        return np.append(np.concatenate(parts), duration_s)

    def joined_mixture(kind: str) -> ClassMixture | None:
        mixtures = [mixture for video in videos if (mixture := getattr(video, kind))]
        probabilities = [mixture.probabilities for mixture in mixtures]
        return replace(mixtures[0], probabilities=np.concatenate(probabilities)) if mixtures else None

    video = ClipEmbeddings(
        np.concatenate([video.rows for video in videos]),
        np.arange(int(duration_s / STEP_S), dtype=np.float64) * STEP_S,
        STEP_S,
        duration_s,
        joined_mixture("objects"),
        joined_edges("shots_s"),
        scenes_s=joined_edges("scenes_s"),
        actions=joined_mixture("actions"),
    )
    return video, MomentVideo("long", duration_s, tuple(queries.values()))
