"""`vidsum watch`: lines of seconds and alerts, clips, and the summary at the end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.archive.made import film, use_live
from tests.program import Run
from vidsum.pipelines.watch import Alert

QUERIES = ("--query", "green", "--query", "red", "--min-present", "0.3")


@pytest.fixture
def colours(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seconds each of red, green and blue, then yellow."""
    use_live(monkeypatch)
    return film(tmp_path / "film.mp4")


def alerts(n_alerts: int) -> Iterator[Alert]:
    """Alerts that begin and end."""
    for number in range(n_alerts):
        yield Alert("green", 2.0 * number, None, 0.9)
        yield Alert("green", 2.0 * number, 2.0 * number + 1, 0.9)


@pytest.mark.parametrize(("n_alerts", "words"), [(0, "0 alerts"), (1, "1 alert"), (2, "2 alerts")])
def test_summary_counts_alerts_with_the_right_plural(
    run: Run, monkeypatch: pytest.MonkeyPatch, n_alerts: int, words: str
) -> None:
    monkeypatch.setattr("vidsum.pipelines.watch.watch", lambda *_, **__: alerts(n_alerts))
    ran = run("watch", "film.mp4", "--query", "green")
    assert ran.out.splitlines()[-1] == f"0 s watched, {words}"


@pytest.fixture
def lines(run: Run, colours: Path) -> list[dict[str, Any]]:
    return [line["data"] for line in run("watch", colours, *QUERIES, "--json").json_lines]


def test_each_second_is_a_line_of_json_with_the_match_of_each_query(lines: list[dict[str, Any]]) -> None:
    seconds = [line for line in lines if "time_s" in line]
    assert [second["time_s"] for second in seconds] == list(range(10))
    assert set(seconds[0]["present"]) == {"green", "red"}
    assert seconds[0]["present"]["red"] > 0.3 > seconds[0]["present"]["green"]


def test_alerts_are_lines_of_json_where_they_begin_and_end(lines: list[dict[str, Any]]) -> None:
    assert [line["alert"]["query"] for line in lines if "alert" in line] == ["red", "green", "red", "green"]


def test_last_line_of_json_counts_the_seconds(lines: list[dict[str, Any]]) -> None:
    assert lines[-1]["ended"]["seconds"] == 10


def test_clip_of_an_alert_is_written_when_it_is_over(run: Run, colours: Path) -> None:
    ran = run("watch", colours, "--query", "green", "--min-present", "0.3", "--clips-dir", "alerts")
    began, ended, summary = ran.out.splitlines()
    assert began.startswith("0:02.00  green (0.")
    assert ended.startswith("0:02.00-0:04.00  green: over")
    assert ended.endswith("alerts/green_0h00m02s.mp4")
    assert summary == "10 s watched, 1 alert"
    assert Path("alerts/green_0h00m02s.mp4").is_file()
