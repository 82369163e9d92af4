"""The benchmark of what summaries show: shares of time by hand, and phrases that name clips."""

import json
from pathlib import Path

import numpy as np
import pytest

from docs.benchmarks.joined import known_clips
from docs.benchmarks.shown import FilmClip, clips_of, phrases, ratio, shared_with, times_of


def test_phrases_are_twenty() -> None:
    assert len(phrases()) == 20


@pytest.mark.shared
def test_every_phrase_names_joined_clips(shared: Path) -> None:
    names = {Path(clip["file"]).name for clip in known_clips((shared / "videos", shared / "videos/wide"))}
    assert {clip for clips in phrases().values() for clip in clips} <= names


def test_seconds_shared_with_segments() -> None:
    assert shared_with((2.0, 6.0), [(0.0, 3.0), (5.0, 9.0), (20.0, 30.0)]) == pytest.approx(2.0)


def test_ratio_is_the_share_of_the_summary_over_the_share_of_the_film() -> None:
    # 10 of 40 s are dogs; of 8 s that were chosen 4 are
    film = [FilmClip("dog", (0, 10), 4.0), FilmClip("cat", (10, 40), 4.0)]
    assert ratio(times_of([film], ["dog"])) == pytest.approx((4 / 8) / (10 / 40))


def test_ratio_of_a_phrase_that_no_film_shows_is_not_a_number() -> None:
    assert np.isnan(ratio(times_of([[FilmClip("dog", (0, 10), 4.0)]], [])))


def test_clips_of_a_film_carry_the_seconds_that_were_chosen(tmp_path: Path) -> None:
    moments = [{"file": "a/dog.mp4", "start": 0, "end": 4}, {"file": "cat.mp4", "start": 4, "end": 9}]
    (tmp_path / "film.json").write_text(json.dumps({"moments": moments}))
    clips = clips_of(tmp_path / "film.mp4", [(3.0, 6.0)])
    assert [(clip.name, clip.chosen_s) for clip in clips] == [("dog.mp4", 1.0), ("cat.mp4", 2.0)]
