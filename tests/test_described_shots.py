"""The activities of judged shots are words that descriptions can say, and halves share no video."""

import csv
import json
from itertools import pairwise
from pathlib import Path

from docs.benchmarks.action_moments import noted_videos
from vidsum.description.words import read_words

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
VIDEOS = json.loads((FOLDER / "described_shots.json").read_text("utf-8"))["videos"]


def test_activities_are_words() -> None:
    words = {word.text for word in read_words() if word.kind == "activity"}
    noted = {text for video in VIDEOS for shot in video["shots"] for text in shot["activities"]}
    assert noted <= words


def test_halves_are_those_of_the_queries_about_actions() -> None:
    halves = {video["file"]: video["half"] for video in noted_videos()}
    assert not [
        video["file"] for video in VIDEOS if video["half"] != halves.get(video["file"], video["half"])
    ]
    assert len({video["file"] for video in VIDEOS}) == len(VIDEOS)


def test_shots_follow_each_other() -> None:
    for video in VIDEOS:
        edges = [(shot["start_s"], shot["end_s"]) for shot in video["shots"]]
        assert edges[0][0] == 0
        assert all(end == start for (_, end), (start, _) in pairwise(edges))


def test_clips_without_a_description_are_silent() -> None:
    with (FOLDER / "described_clips.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["judgement"] for row in rows} == {"right", "half", "wrong", "silent"}
    assert [
        row["clip"] for row in rows if (row["judgement"] == "silent") != (row["descriptions"] == "")
    ] == []
