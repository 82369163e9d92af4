"""Names of files in all the letters that people use: in exports, lists, tables and archives."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.archive.made import use_archive
from tests.commands.conftest import copies, csv_rows
from tests.conftest import deep_but
from tests.program import Run
from vidsum.archive.archive import Archive
from vidsum.description.writers import read_sentences
from vidsum.io.text import csv_text

NAMES = {
    "narrow no-break space": "Recording 3.45.12\u202fPM",
    "no-break space": "a\u00a0b",
    "ideographic space": "東京\u3000散歩",
    "joiners": "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "non-joiner": "می\u200cخواهم",
    "decomposed": "cafe\u0301",
    "marks of direction": "\u200fעברית\u200e",
    "unassigned and private": "x\u0378\ue000y",
    "soft hyphen, word joiner": "a\u00adb\u2060c",
    "tag letters": "\U0001f3f4\U000e0067\U000e007f",
}
USUAL = ("narrow no-break space", "decomposed", "tag letters")
"""Names of the default tests."""


@pytest.fixture(autouse=True)
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are colours, and no real network is loaded."""
    use_archive(monkeypatch)


@pytest.fixture(params=deep_but(USUAL, NAMES))
def named(request: pytest.FixtureRequest, film: Path) -> Path:
    """The film under a name."""
    return copies(film, f"{NAMES[request.param]}.mp4")[0]


def test_every_timeline_names_the_file(run: Run, named: Path) -> None:
    otio = pytest.importorskip("opentimelineio")
    formats = ("otio", "edl", "fcpxml", "xml", "kdenlive", "mlt")
    exports = [word for name in formats for word in ("--export", name)]
    run("shots", named, "--shots", "uniform", *exports, "--output-dir", "out")
    place = str(named.resolve())
    made = {name: Path(f"out/{named.stem}_shots.{name}") for name in formats}
    for name in ("otio", "xml"):
        clip = otio.adapters.read_from_file(str(made[name])).video_tracks()[0][0]
        assert unquote(urlsplit(clip.media_reference.target_url).path) == place
    (clip, *_) = otio.adapters.read_from_file(str(made["edl"]), rate=25).video_tracks()[0]
    assert clip.name == named.name
    lines = made["edl"].read_text(encoding="utf-8").splitlines()
    assert f"* FROM CLIP: {place}" in lines
    urls = [item.get("src", "") for item in ElementTree.parse(made["fcpxml"]).iter("media-rep")]
    assert [unquote(urlsplit(url).path) for url in urls] == [place]
    for name in ("mlt", "kdenlive"):
        texts = {item.text for item in ElementTree.parse(made[name]).iter("property")}
        assert place in texts


def test_tables_lists_and_archives_keep_the_name(run: Run, named: Path) -> None:
    Path("list").write_text(f"{named}\n", encoding="utf-8")
    run("shots", "--from-file", "list", "--shots", "uniform", "--table", "all.csv", "--export", "csv")
    assert [row["input"] for row in csv_rows("all.csv")] == [str(named)]
    assert {row["video"] for row in csv_rows(f"{named.stem}_shots.csv")} == {named.name}
    run("index", named, "--archive", "a.vidsum")
    assert Archive("a.vidsum").videos() == [str(named.resolve())]


def test_a_query_keeps_its_letters(run: Run, film: Path) -> None:
    for query in ("green 👨\u200d👩\u200d👧", "green می\u200cخواهم"):
        run("ground", film, "--query", query, "-o", "found.json", "--export", "csv", "--overwrite")
        assert json.loads(Path("found.json").read_text())["queries"][0]["query"] == query
        with Path("found.csv").open(encoding="utf-8", newline="") as file:
            assert {row["query"] for row in csv.DictReader(file)} == {query}


def test_no_name_or_query_is_a_formula_of_a_table(run: Run, film: Path) -> None:
    (odd,) = copies(film, "=HYPERLINK(1).mp4")
    run("ground", odd, "--query", "=green", "-o", "found.csv", "--table", "all.csv")
    rows = csv_rows("found.csv")
    assert {row["query"] for row in rows} == {"'=green"}
    assert {row["video"] for row in rows} == {f"'{odd}"}
    assert all(row["Name"].startswith("'=green") and float(row["Start"]) >= 0 for row in rows)
    assert [row["input"] for row in csv_rows("all.csv")] == [f"'{odd}"]


def test_sentences_of_our_own_table_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text(
        csv_text([["caption"], ["- a dog runs"], ["=a cat sleeps"], ["a bird"]]), encoding="utf-8"
    )
    assert read_sentences(path) == ("- a dog runs.", "=a cat sleeps.", "A bird.")


@pytest.mark.parametrize("breaker", deep_but("\n\u2028", "\n\x85\u2028\u2029\x1b\ufffe"))
def test_a_name_that_ends_a_line_is_refused_where_a_format_has_plain_paths(
    run: Run, film: Path, breaker: str
) -> None:
    (odd,) = copies(film, f"a{breaker}b.mp4")
    for name in ("edl", "mlt", "kdenlive"):
        options = ("--shots", "uniform", "--export", name, "-o", "a.json")
        run("shots", odd, *options, code=3, error="cannot name this file")
    run("shots", odd, "--shots", "uniform", "--export", "fcpxml", "-o", "a.json")
    ElementTree.parse("a.fcpxml")


@pytest.mark.parametrize(
    ("there", "typed"),
    [
        ("Recording 3.45\u202fPM.mp4", "Recording 3.45 PM.mp4"),
        ("cafe\u0301.mp4", "café.mp4"),
        ("café.mp4", "cafe\u0301.mp4"),
        ("東京\u3000散歩.mp4", "東京 散歩.mp4"),
    ],
)
def test_a_file_is_found_by_a_name_typed_otherwise(run: Run, film: Path, there: str, typed: str) -> None:
    Path("fo\u0308r").mkdir()
    copies(film, f"fo\u0308r/{there}")
    line = run("shots", f"för/{typed}", "--shots", "uniform", "--json", "--output-dir", "out").json
    assert line["input"] == f"fo\u0308r/{there}"


def test_a_name_typed_otherwise_that_fits_two_files_is_an_error(run: Run, film: Path) -> None:
    copies(film, "a\u202fb.mp4", "a\u00a0b.mp4")
    ran = run("shots", "a b.mp4", code=3, error="a b.mp4: several names differ from it")
    assert "try: one of 'a\\xa0b.mp4', 'a\\u202fb.mp4'" in ran.err
    copies(film, "a b.mp4")
    run("shots", "a b.mp4", "--shots", "uniform")


@pytest.mark.deep
def test_files_of_options_are_found_by_names_typed_otherwise(run: Run, film: Path) -> None:
    Path("what\u00a0to find.txt").write_text("green\n")
    run("ground", film, "--queries", "what to find.txt", "-o", "found.json")
    run("shots", film, "--shots", "uniform", "-o", "my\u202fshots.json")
    film.rename("moved\u202ffilm.mp4")
    run("export", "my shots.json", "--video", "moved film.mp4", "-o", "cut.edl")
