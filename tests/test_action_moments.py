"""The queries about actions are well formed, and the films that ask them know where they are true."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from docs.benchmarks.action_moments import Half, action_films, actions_in, noted_videos, present_videos

VIDEOS = noted_videos()


def queries_of(video: dict[str, Any]) -> list[dict[str, Any]]:
    return [*video["moments"], *video["whole"]]


def test_at_least_120_queries_in_halves_of_similar_size() -> None:
    n_queries = Counter[str]()
    for video in VIDEOS:
        n_queries[video["half"]] += len(queries_of(video))
    assert set(n_queries) == {"a", "b"}
    assert n_queries.total() >= 120
    assert abs(n_queries["a"] - n_queries["b"]) <= n_queries.total() / 10


def test_no_video_is_in_both_halves() -> None:
    """Nor twice in one: neither its name nor its bytes."""
    assert len({Path(video["file"]).name for video in VIDEOS}) == len(VIDEOS)
    assert len({video["sha256"] for video in VIDEOS}) == len(VIDEOS)


def test_texts_are_unique() -> None:
    """A query of both halves would carry a choice from one to the other."""
    texts = Counter(query["query"] for video in VIDEOS for query in queries_of(video))
    assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("video", VIDEOS, ids=lambda video: video["file"])
def test_windows_are_a_part_of_the_video(video: dict[str, Any]) -> None:
    assert queries_of(video)
    for moment in video["moments"]:
        edges = [edge for window in moment["windows"] for edge in window]
        assert edges
        assert edges == sorted(edges)
        assert all(start_s < end_s for start_s, end_s in moment["windows"])
        assert edges[0] >= 0
        assert edges[-1] <= video["duration_s"]
        assert sum(end_s - start_s for start_s, end_s in moment["windows"]) < 0.9 * video["duration_s"]


def test_also_names_known_videos() -> None:
    names = {Path(video["file"]).name for video in VIDEOS}
    for video in VIDEOS:
        for action in video["whole"]:
            assert set(action.get("also", ())) <= names - {Path(video["file"]).name}


def test_clips_from_repositories_say_where_from() -> None:
    for video in VIDEOS:
        if video["file"].startswith("actions/"):
            assert set(video["source"]) == {"repository", "commit", "path"}


def test_absent_videos_are_left_out_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    films = action_films("a", tmp_path)
    assert all(not film.path.is_relative_to(tmp_path) for film in films)
    assert "soldiers.mp4" in capsys.readouterr().err


@pytest.mark.parametrize("half", ["a", "b"])
def test_films_have_the_noted_moments(half: Half, tmp_path: Path) -> None:
    for video in VIDEOS:
        if video["file"].startswith("actions/"):
            (tmp_path / Path(video["file"]).name).touch()
    truths = {film.path.name: film.truth for film in action_films(half, tmp_path)}
    for path, video in present_videos(half, tmp_path):
        queries = truths[path.name].queries if video["moments"] else ()
        assert [[query.text, [*map(list, query.windows)]] for query in queries] == [
            [moment["query"], moment["windows"]] for moment in video["moments"]
        ]
        assert all(query.duration_s == video["duration_s"] for query in queries)


def test_a_joined_film_shows_an_action_in_all_clips_that_do(tmp_path: Path) -> None:
    """Of its own half; clips of the other half may show it too."""
    film = tmp_path / "film.mp4"
    names = ("x/jesse_dance.mp4", "x/cups.mp4", "y/bear_suit.mp4", "x/jesse_dance.mp4", "x/throne.mp4")
    moments = [{"file": name, "start": 5 * i, "end": 5 * i + 5} for i, name in enumerate(names)]
    film.with_suffix(".json").write_text(json.dumps({"duration": 25, "moments": moments}))
    windows = {query.text: query.windows for query in actions_in(film, "a").queries}
    assert windows == {"someone dancing": ((0, 5), (10, 15), (15, 20)), "shuffling cups": ((5, 10),)}
    assert [query.text for query in actions_in(film, "b").queries] == ["someone in a bear costume dances"]


@pytest.mark.shared
def test_classes_are_those_of_kinetics(shared: Path) -> None:
    classes = set((shared / "models" / "kinetics_600.txt").read_text().splitlines())
    named = {name for video in VIDEOS for query in queries_of(video) for name in query["kinetics"]}
    assert named <= classes
