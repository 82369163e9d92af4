"""Files that several processes add at a time, some of which are killed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.archive.made import claim, film
from vidsum.archive import claims, index
from vidsum.archive.archive import Archive
from vidsum.features.settings import Extraction

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("left_s", [12, 17], ids=["in time", "by a clock that is 2 s ahead"])
def test_file_with_a_live_claim_of_another_process_is_left_to_it(
    place: str, tmp_path: Path, left_s: float
) -> None:
    video = film(tmp_path / "a.mp4")
    with Archive(place) as archive:
        claim(archive, video, left_s)
        assert archive.add_video(str(video), Extraction()).state == "claimed"
        assert len(archive.rows("SELECT path FROM claims")) == 1


ENDED = pytest.mark.parametrize("left_s", [-1, 3600], ids=["past", "by a clock that was set back"])


@ENDED
def test_file_whose_claim_has_ended_is_added(place: str, tmp_path: Path, left_s: float) -> None:
    video = film(tmp_path / "a.mp4")
    with Archive(place) as archive:
        claim(archive, video, left_s)
        assert archive.add_video(str(video), Extraction()).state == "added"


@ENDED
def test_claim_that_has_ended_gets_a_new_owner_who_removes_it(
    place: str, tmp_path: Path, left_s: float
) -> None:
    video = film(tmp_path / "a.mp4")
    with Archive(place) as archive:
        claim(archive, video, left_s)
        archive.add_video(str(video), Extraction())
        assert archive.rows("SELECT path FROM claims") == []


@pytest.mark.parametrize(("owner", "state"), [("mine", "added"), ("another", "claimed"), (None, "claimed")])
def test_a_second_try_takes_over_the_claim_of_the_first(
    place: str, tmp_path: Path, owner: str | None, state: str
) -> None:
    video = film(tmp_path / "a.mp4")
    with Archive(place) as archive:
        claim(archive, video, 12, "mine")
        assert archive.add_video(str(video), Extraction(), owner=owner).state == state


@pytest.mark.parametrize(("until_s", "state"), [("0", "added"), ("until_s + 1", "claimed")])
def test_claimed_file_is_added_when_its_claim_ends_and_left_when_it_is_renewed(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until_s: str, state: str
) -> None:
    videos = [film(tmp_path / f"{name}.mp4", seed=seed) for seed, name in enumerate("ab")]
    with Archive(place) as archive:
        claim(archive, videos[0], 12)
        change = f"UPDATE claims SET until_s = {until_s}"
        monkeypatch.setattr(claims.time, "sleep", lambda _: archive._connection.execute(change))
        assert [video.state for video in archive.add(videos)] == [state, "added"]


def test_slow_owner_renews_its_claim_until_the_file_is_added(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_LEASE_S", 2.0)
    monkeypatch.setattr(claims, "_RENEW_S", 0.05)
    goes_on, see, video = Event(), index._embed_video, film(tmp_path / "a.mp4")
    monkeypatch.setattr(index, "_embed_video", lambda *values: (goes_on.wait(20), see(*values))[1])
    with Archive(place) as archive, Archive(place) as other:
        added: list[Any] = []
        slow = Thread(target=lambda: added.extend(archive.add(video)))
        slow.start()
        while not (rows := other.rows("SELECT until_s FROM claims")):
            assert slow.is_alive()
            time.sleep(0.01)
        while other._connection.clock() < rows[0][0] + 0.5:
            time.sleep(0.2)
            assert other.add_video(str(video), Extraction()).state == "claimed"
        goes_on.set()
        slow.join()
        assert [video.state for video in added] == ["added"]
        assert other.rows("SELECT * FROM claims") == []


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux")
def test_closing_a_second_connection_keeps_the_locks_of_the_first(archive: Archive, tmp_path: Path) -> None:
    def locks() -> int:
        number = f":{(tmp_path / 'a.vidsum').stat().st_ino} "
        return sum(number in line for line in Path("/proc/locks").read_text().splitlines())

    assert archive.videos() == []
    if not (before := locks()):
        pytest.skip("this system does not list them")
    Archive(tmp_path / "a.vidsum").close()
    assert locks() == before


INDEX = """
import sys, time, pytest
from vidsum.archive import index
from vidsum.archive.archive import Archive
from tests.archive.made import use_archive
use_archive(pytest.MonkeyPatch())
see = index._embed_video
index._embed_video = lambda *values: time.sleep(0.2) or see(*values)
print(flush=True)
with Archive(sys.argv[1]) as archive:
    print([video.state for video in archive.add(sys.argv[2])], flush=True)
"""


KILLS = int(os.environ.get("VIDSUM_TEST_KILLS", "8"))


@pytest.mark.deep
def test_files_of_killed_processes_are_all_added_once(tmp_path: Path, colours: None) -> None:
    kills, draw = KILLS, random.Random(0)
    for number in range(2 * kills):
        film(tmp_path / "videos" / f"{number}.mp4", ("red", "blue"), seed=number)
    arguments = [sys.executable, "-c", INDEX, str(tmp_path / "a.vidsum"), str(tmp_path / "videos")]

    def start() -> "subprocess.Popen[str]":
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)

    for _ in range(kills):
        with start() as process:
            assert process.stdout is not None
            process.stdout.readline()  # it begins
            time.sleep(draw.uniform(0, 0.6))
            process.kill()
    with Archive(tmp_path / "a.vidsum") as archive:
        done, left = len(archive.videos()), len(archive.rows("SELECT * FROM claims"))
    with start() as process:
        states = process.communicate()[0]
    print(f"{kills} kills: {done} of {2 * kills} videos were in, {left} claims were left")
    assert done < 2 * kills
    assert "claimed" not in states
    with Archive(tmp_path / "a.vidsum") as archive:
        assert len(archive.videos()) == 2 * kills
