"""`vidsum watch`."""

from pathlib import Path

import pytest

from tests.archive.made import film, use_live
from tests.program import Run


@pytest.fixture
def colours(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seconds each of red, green and blue, then yellow."""
    use_live(monkeypatch)
    return film(tmp_path / "film.mp4")


def test_alerts_for_people(run: Run, colours: Path) -> None:
    ran = run("watch", colours, "--query", "green", "--min-present", "0.3", "--clips-dir", "alerts")
    began, ended, summary = ran.out.splitlines()
    assert began.startswith("0:02.00  green (0.")
    assert ended.startswith("0:02.00-0:04.00  green: over")
    assert ended.endswith("alerts/green_0h00m02s.mp4")
    assert summary == "10 s watched, 1 alert"
    assert Path("alerts/green_0h00m02s.mp4").is_file()


def test_a_line_of_json_per_second(run: Run, colours: Path) -> None:
    queries = ("--query", "green", "--query", "red")
    ran = run("watch", colours, *queries, "--min-present", "0.3", "--json")
    lines = [line["data"] for line in ran.json_lines]
    seconds = [line for line in lines if "time_s" in line]
    assert ran.code == 0
    assert [second["time_s"] for second in seconds] == list(range(10))
    assert set(seconds[0]["present"]) == {"green", "red"}
    assert seconds[0]["present"]["red"] > 0.3 > seconds[0]["present"]["green"]
    assert [line["alert"]["query"] for line in lines if "alert" in line] == ["red", "green", "red", "green"]
    assert lines[-1]["ended"]["seconds"] == 10
