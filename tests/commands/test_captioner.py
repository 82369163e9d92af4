"""`vidsum train captioner`: what it prints, and bad input in a line."""

from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.lab.training.conftest import one_thread, quick_curves  # noqa: F401 (fixtures)
from tests.pictures import EXTRACTOR, make_pictures, use_stand_ins

TRAIN = ("train", "captioner", "--pictures", "images", "-e", EXTRACTOR, "--out", "run", "--device", "cpu")
SIZES = ("--d", 16, "--heads", 2, "--layers", 1, "--d-ff", 16, "--epochs", 1)


@pytest.fixture(autouse=True)
def made(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`captions.csv` and `images` of 48 pictures in the current folder, and an extractor without weights."""
    use_stand_ins(monkeypatch)
    make_pictures(Path(), 48)


def test_a_run_says_how_well_it_writes(run: Run) -> None:
    ran = run(*TRAIN, *SIZES, "--captions", "captions.csv", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["data"]["n_validation"] == 3
    assert ran.json["data"]["validation"].keys() == {"cider"}
    ran = run(*TRAIN, *SIZES, "--captions", "captions.csv")
    assert ran.out.startswith("run: CIDEr 0.")
    assert ran.out.endswith(" on 3 validation pictures (up to date)\n")


def test_bad_input_is_one_line(run: Run) -> None:
    Path("wrong.csv").write_text("name,words\n001.png,a dog\n")
    for captions, fault in (("none.csv", "no such file"), ("wrong.csv", "has the columns 'name, words'")):
        ran = run(*TRAIN, "--captions", captions)
        assert ran.code == 3
        assert fault in ran.err
        assert len(ran.err.splitlines()) <= 2
