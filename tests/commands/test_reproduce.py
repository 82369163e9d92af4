"""`vidsum reproduce`: the list, what to bring, rows made once, published figures beside ours."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.conftest import deep
from tests.program import Run
from vidsum.commands.app import INTERRUPTED, find_command
from vidsum.commands.reproduce import _run, without_flags
from vidsum.errors import VidsumError
from vidsum.lab.reproduction import read_tables


@pytest.fixture(autouse=True)
def text_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = SimpleNamespace(encode=lambda texts: np.ones((len(texts), 4), np.float32))
    for module in ("training.annotated", "evaluation.models"):
        monkeypatch.setattr(f"vidsum.lab.{module}.load_text_encoder", lambda name: encoder)


def toy(run: Run, paper: str, number: str) -> dict[str, dict[str, float]]:
    ran = run("reproduce", paper, "--paper-table", number, "--toy", "--out", "runs", "--json")
    return {row["row"]: row["ours"] for item in ran.json_lines for row in item["data"]["rows"]}


def test_every_table_of_a_paper_is_listed_with_its_state(run: Run) -> None:
    lines = run("reproduce").out.splitlines()
    assert lines[0].split() == ["paper", "table", "state", "title"]
    assert "mrnet         Table 3       here      Charades-STA" in lines
    assert sum("Table" in line for line in lines) == sum(len(item.tables) for item in read_tables())
    (listed,) = run("reproduce", "--paper-table", "1d", "--json").json["data"]["tables"]
    assert (listed["paper"], listed["state"]) == ("lam", "not here")


def test_options_of_all_rows_are_known() -> None:
    """Only the deep tests run all rows; this one reads their words, and runs nothing."""
    rows = [row for table in read_tables() for row in table.rows]
    read = 0
    for verb, words in [("train", row.train) for row in rows] + [("evaluate", row.evaluate) for row in rows]:
        if words:
            leaf = find_command([verb, words[0]])
            leaf.make_context(words[0], without_flags(leaf, words[1:])[0])
            read += 1
    assert read > len(rows) // 2


@pytest.mark.deep
def test_costs_of_a_table_need_no_data(run: Run) -> None:
    ran = run("reproduce", "stamp", "--paper-table", "4", "--toy", "--out", "runs")
    assert re.search(r"baseline +ours +3\.393 +1\.697 +-", ran.out)
    assert "mean nothing" not in ran.out


def test_table_without_its_data_says_what_to_bring(run: Run, tmp_path: Path) -> None:
    ran = run("reproduce", "stamp", "--paper-table", "6")
    assert "not comparable: VidSwin's weights and MSR-VTT were not available" in ran.out
    assert "SwinBERT    published   42.82" in ran.out
    ran = run("reproduce", "mrnet", "--paper-table", "3")
    what = "charades_train.json, charades_test.json, i3d"
    layout = "docs/formats.md#features-of-timed-videos-hdf5-folders"
    assert ran.code == 0
    assert f"not comparable: bring {what} in --data FOLDER (layout: {layout})" in ran.out.splitlines()
    assert "Charades-STA: MRNet-S  published   74.17" in ran.out
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "charades_train.json").write_text("{}")
    ran = run("reproduce", "mrnet", "--paper-table", "3", "--data", tmp_path / "data", "--out", "runs")
    assert "not comparable: bring i3d, charades_test.json in" in ran.out
    assert not Path("runs").exists()


@pytest.mark.deep
def test_finished_row_is_not_trained_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = toy(run, "mrnet", "3")
    assert all(0 <= item <= 100 for row in first.values() for item in row.values())

    def fail(*arguments: object, **more: object) -> None:
        raise AssertionError("trains")

    monkeypatch.setattr("vidsum.lab.training.train_mrnet.train_mrnet", fail)
    assert toy(run, "mrnet", "3") == first
    ran = run("reproduce", "mrnet", "--paper-table", "3", "--toy", "--out", "runs")
    assert ran.err == ""
    assert "made-up data: our figures mean nothing" in ran.out.splitlines()


@pytest.mark.deep
def test_stopped_row_goes_on_with_its_weights(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from vidsum.lab.evaluate import evaluate

    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vidsum.lab.evaluate.evaluate", stop)
    run("reproduce", "mrnet", "--paper-table", "3", "--toy", "--out", "runs", code=130)
    monkeypatch.setattr("vidsum.lab.evaluate.evaluate", evaluate)
    (made,) = Path("runs/runs").iterdir()
    (weights,) = made.glob("best.safetensors")
    before = weights.stat().st_mtime_ns
    assert all(toy(run, "mrnet", "3").values())
    assert weights.stat().st_mtime_ns == before
    assert len(list(Path("runs/reports").iterdir())) == 2


def test_command_that_is_interrupted_ends_the_reproduction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.commands.app.run", lambda words: INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        _run("train", ["ridge", "--out", "run"], {}, tmp_path, quiet=True)


def test_command_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.commands.app.run", lambda words: 1)
    with pytest.raises(VidsumError, match="vidsum train ridge failed"):
        _run("train", ["ridge", "--out", "run"], {}, tmp_path, quiet=True)


def test_row_whose_training_fails_costs_no_other(run: Run) -> None:
    toy(run, "mrnet", "3")
    first, _ = sorted(Path("runs/runs").iterdir())
    for report in Path("runs/reports").iterdir():
        report.unlink()
    (first / "best.safetensors").write_bytes(b"damaged")
    (first / "last.safetensors").write_bytes(b"damaged")
    ran = run("reproduce", "mrnet", "--paper-table", "3", "--toy", "--out", "runs", "--json", code=1)
    (failed,) = (row for row in ran.json["data"]["rows"] if not row["ours"])
    assert (ran.json["exit_code"], ran.json["ok"]) == (1, False)
    assert failed["why"] == "vidsum train mrnet failed, as said above"
    assert "safetensors" in ran.err


def test_row_of_a_submission_has_figures(run: Run, tmp_path: Path) -> None:
    assert set(toy(run, "qvhighlights", "val")) == {"Moment-DETR"}
    assert not Path("runs/runs").exists()
    made = toy(run, "qvhighlights", "val")["Moment-DETR"]
    shutil.copytree("runs/made-up", tmp_path / "data")
    submission = tmp_path / "data" / "sample_val_preds.jsonl"
    lines = [json.loads(line) for line in submission.read_text().splitlines()]
    for line in lines:
        line["pred_relevant_windows"] = [[0, 2, 1.0]]
    submission.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ran = run("reproduce", "qvhighlights", "--data", tmp_path / "data", "--out", "runs", "--json")
    (row,) = ran.json["data"]["rows"]
    assert row["ours"] != made


def test_baselines_stand_below_the_first_row_of_their_data(run: Run) -> None:
    ran = run("reproduce", "mrnet", "--paper-table", "3", "--toy", "--out", "runs")
    kinds = [kind for line in ran.out.splitlines() for kind in re.findall(r"MRNet-\w +(\w+)", line)]
    assert kinds == ["ours", "published", "random", "whole", "ours", "published"]


@pytest.mark.parametrize(
    ("paper", "number"), [("mrnet", "5"), deep("lam", "1b"), deep("fulltransnet", "III")]
)
def test_table_is_made_of_toy_data(run: Run, paper: str, number: str) -> None:
    assert all(toy(run, paper, number).values())


@pytest.mark.deep
def test_figures_are_those_of_the_run_and_differ_by_pattern(run: Run) -> None:
    ran = run("reproduce", "fulltransnet", "--paper-table", "III", "--toy", "--out", "runs", "--json")
    (table,) = (item["data"] for item in ran.json_lines if item["data"]["title"] == "attention patterns")
    made = {row["row"]: row["ours"]["F"] for row in table["rows"]}
    files = [*Path("runs").rglob("best.safetensors")]
    assert len({b"".join(array.tobytes() for array in load_file(file).values()) for file in files}) == 8
    reports = [json.loads(path.read_text()) for path in Path("runs/reports").iterdir()]
    rows = [row for report in reports for row in report["rows"] if row["name"].startswith("fulltransnet-")]
    assert len({(row["tau"], row["rho"]) for row in rows}) == 8  # F is coarse: two may have the same shots
    assert set(made.values()) <= {100 * row["key_shots"][0][f] for row in rows for f in ("f_max", "f_avg")}
    human = {document["rows"][0]["key_shots"][0][f] for document in reports for f in ("f_max", "f_avg")}
    assert human.isdisjoint(figure / 100 for figure in made.values())


@pytest.mark.deep
def test_all_tables_are_made_of_toy_data(run: Run) -> None:
    for table in read_tables():
        if table.data:
            paper, (number, *_) = next(iter(table.tables.items()))
            made = toy(run, paper, number)
            assert [row.name for row in table.rows if not (row.why or made[row.name])] == []


@pytest.mark.shared
def test_published_submission_has_its_published_figures(run: Run, shared: Path) -> None:
    folder = shared / "data" / "qvhighlights"
    ran = run("reproduce", "qvhighlights", "--data", folder, "--out", "runs", "--json")
    (row,) = ran.json["data"]["rows"]
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())["brief"]
    assert sorted(row["published"].values()) == sorted(published.values())
    assert {head: round(value, 2) for head, value in row["ours"].items()} == row["published"]
