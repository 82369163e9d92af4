"""Films that are asked for actions: uncut footage, and films joined from clips (action_moments.json).

The queries of a half are about its own videos; choose on one half, and report the other. Videos that this
machine does not have are left out, with a note. The clips of `actions/` come from the repositories that the
file names, and lie in a folder of their own, `EXTRA` if no other is given.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from docs.benchmarks import SAMPLE
from docs.benchmarks.joined import FIRST, join, made_up
from docs.benchmarks.natural import Film
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query

Half = Literal["a", "b"]

EXTRA = FIRST / "actions"
_NOTES = Path(__file__).with_name("action_moments.json")


def noted_videos() -> list[dict[str, Any]]:
    """The videos with their queries, in the order of the file."""
    videos: list[dict[str, Any]] = json.loads(_NOTES.read_text())["videos"]
    return videos


def path_of(name: str, extra: Path = EXTRA) -> Path:
    """The file of a video by its name in action_moments.json."""
    folders, file = {"sample": SAMPLE, "actions": extra}, Path(name)
    return folders.get(file.parts[0], FIRST / file.parent) / file.name


def present_videos(half: Half, extra: Path = EXTRA) -> list[tuple[Path, dict[str, Any]]]:
    """The videos of a half that this machine has, with their files."""
    videos = [video for video in noted_videos() if video["half"] == half]
    files = [path_of(video["file"], extra) for video in videos]
    absent = [path.name for path in files if not path.exists()]
    if absent:
        print(f"half {half}, left out because they are not here: {', '.join(absent)}", file=sys.stderr)
    return [(path, video) for path, video in zip(files, videos, strict=True) if path.exists()]


def action_films(half: Half, extra: Path = EXTRA) -> list[Film]:
    """The uncut footage of a half, with the moments at which an action happens."""
    films = []
    for path, video in present_videos(half, extra):
        duration_s, moments = video["duration_s"], video["moments"]
        queries = tuple(
            Query(path.name, moment["query"], path.stem, duration_s, tuple(map(tuple, moment["windows"])))
            for moment in moments
        )
        if queries:
            films.append(Film(path, MomentVideo(path.stem, duration_s, queries)))
    return films


def joined_action_films(
    folder: Path, half: Half, seeds: Sequence[int], seconds: int = 120, extra: Path = EXTRA
) -> list[Film]:
    """Films joined from the clips of a half that show an action throughout, made once.

    Of made-up clips they are as long as their file says.
    """
    clips = [
        {"file": str(path), "query": video["whole"][0]["query"]}
        for path, video in present_videos(half, extra)
        if video["whole"]
    ]
    seconds = made_up("film_s", seconds)
    targets = [folder / f"actions_{half}_{seconds}_{seed}.mp4" for seed in seeds]
    for seed, target in zip(seeds, targets, strict=True):
        join(folder / f"actions_{half}.json", clips, target, seconds, seed)
    return [Film(target, actions_in(target, half)) for target in targets]


def files_in(film: Path) -> set[str]:
    """The file names of the clips of a joined film, from the JSON beside it."""
    truth: dict[str, Any] = json.loads(film.with_suffix(".json").read_text())
    return {Path(moment["file"]).name for moment in truth["moments"]}


def actions_in(film: Path, half: Half) -> MomentVideo:
    """Where the actions of whole clips of a half are in a joined film, from the JSON beside it."""
    truth: dict[str, Any] = json.loads(film.with_suffix(".json").read_text())
    clips = [(Path(moment["file"]).name, (moment["start"], moment["end"])) for moment in truth["moments"]]
    queries = []
    for video in noted_videos():
        name = Path(video["file"]).name
        if video["half"] == half and name in {file for file, _ in clips}:
            for action in video["whole"]:
                shown_in = {name, *action.get("also", ())}
                windows = tuple(window for file, window in clips if file in shown_in)
                queries.append(Query(name, action["query"], film.stem, truth["duration"], windows))
    return MomentVideo(film.stem, truth["duration"], tuple(queries))
