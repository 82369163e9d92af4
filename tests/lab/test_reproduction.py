"""The tables of the papers: what their files say, and that docs/papers.md says the same."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from docs.options import commands, flags_of
from vidsum.commands.options import settings_of
from vidsum.errors import UsageError
from vidsum.io.text import read_yaml
from vidsum.lab.made_up import KINDS
from vidsum.lab.reproduction import (
    FOLDER,
    PaperTable,
    costs,
    figure,
    figures_of,
    find_tables,
    folder_name,
    read_tables,
)

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(r"\| Table ([IVA]*\d*[a-z]?(?:, \d[a-z])?),? [^|]*\| (here|not here)")
PAPERS = {"FullTransNet": "fulltransnet", "MRNet": "mrnet", "LAM and STAMP": "stamp"}


def test_page_has_the_tables_and_their_states() -> None:
    """`| Table 3, Charades-STA | here: ... |` in the part of its paper; STAMP's numbers for LAM's."""
    on_page = {}
    for part in (DOCS / "papers.md").read_text().split("\n## ")[1:]:
        paper = PAPERS.get(part.splitlines()[0])
        for numbers, state in re.findall(_ROW, part):
            on_page[paper, numbers] = state
    tables = {
        (paper, ", ".join(table.tables[paper])): table.state
        for table in read_tables()
        for paper in PAPERS.values()
        if paper in table.tables
    }
    assert on_page == tables


each_table = pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, id=path.stem)
        for path, table in zip(sorted(FOLDER.glob("*.yaml")), read_tables(), strict=True)
    ],
)


@each_table
def test_table_with_runs_has_data_and_a_layout_of_the_formats_page(table: PaperTable) -> None:
    headings = re.findall(r"^## (.*)", (DOCS / "formats.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    has_runs = any(row.evaluate for row in table.rows)
    assert has_runs == bool(table.data) == (table.layout in anchors)


@each_table
def test_data_of_a_table_can_be_made_up_and_are_used(table: PaperTable) -> None:
    assert set(table.data.values()) <= set(KINDS)
    assert {name for row in table.rows if row.evaluate for name in row.data} == set(table.data)


@each_table
def test_table_has_the_notes_of_its_file(table: PaperTable) -> None:
    (path,) = (path for path in FOLDER.glob("*.yaml") if read_yaml(path)["title"] == table.title)
    assert list(table.notes) == read_yaml(path).get("notes", [])


@each_table
def test_row_without_a_run_says_why_or_is_computed(table: PaperTable) -> None:
    assert all(row.why or row.computed for row in table.rows if not row.evaluate)


@each_table
def test_each_row_has_a_published_figure(table: PaperTable) -> None:
    assert all(any(value is not None for value in row.published.values()) for row in table.rows)


@each_table
def test_tables_that_are_here_print_our_figures_or_name_the_data_they_need(table: PaperTable) -> None:
    for row in table.rows if table.state == "here" else ():
        if not row.computed and not row.data:
            assert re.search(r"vidsum evaluate .*[\w-]+\.(h5|json|jsonl)\b", row.why, re.DOTALL)


def test_figure_is_here_only_if_a_command_prints_it() -> None:
    """In docs/papers.md: a row that is here, and no table, names a command and options that this has."""
    options = {
        words: {leaf.parameter: leaf for leaf in settings_of(command)} for words, command in commands()
    }
    for name, text in re.findall(
        r"^\| (?!Table)([^|]+) \| here[:,]([^|]+) \|$", (DOCS / "papers.md").read_text(), re.M
    ):
        spans = re.findall(r"`([^`]+)`", text)
        called = [words for words in options for span in spans if re.match(rf"(vidsum )?{words}\b", span)]
        assert called, name
        known = {key for words in called for key in options[words]}
        flags = {flag for words in called for leaf in options[words].values() for flag in flags_of(leaf)}
        for span in spans:
            assert set(re.findall(r"--[\w-]+", span)) <= flags, (name, span)
            if re.fullmatch(r"\w+(: .+)?", span):
                assert span.split(":")[0] in known, (name, span)


def layer(d: int, d_ff: int, attentions: int) -> int:
    """Weights of a transformer's layer: attentions, a network, and a norm for each of these."""
    return attentions * 4 * (d * d + d) + 2 * d * d_ff + d_ff + d + (attentions + 1) * 2 * d


@pytest.mark.parametrize(
    ("paper", "number", "millions"),
    [
        (
            "fulltransnet",
            "III",
            {6 * (layer(64, 2048, 1) + layer(64, 2048, 2)) + 64 * (1024 + 3) + 64 + 64 * 1536 + 65},
        ),
        ("mrnet", "A3", {77_158_376}),
    ],
)
def test_parameters_are_those_of_the_published_sizes(paper: str, number: str, millions: set[int]) -> None:
    rows = [row for _, table in find_tables([paper], number) for row in table.rows if row.computed]
    counted = [costs(row.computed, row.sizes) for row in rows]
    assert {round(1e6 * row["million parameters"]) for row in counted} == millions
    assert all(set(figures) & set(row.published) for figures, row in zip(counted, rows, strict=True))


@pytest.fixture(scope="module")
def audio_costs() -> dict[str, dict[str, float]]:
    """The costs of STAMP's Table 4: of the plain model, and with linear layers, with layers, with masks."""
    ((_, table),) = find_tables(["stamp"], "4")
    names = ("plain", "linear", "layers", "masked")
    return {name: costs(row.computed, row.sizes) for name, row in zip(names, table.rows, strict=True)}


@pytest.mark.deep
def test_parameters_of_audio_description_are_the_papers(audio_costs: dict[str, dict[str, float]]) -> None:
    weights = [round(1e6 * row["million parameters"]) for row in audio_costs.values()]
    more = 39 * layer(768, 3072, 1)
    assert weights == [6_923_449_856, 7_065_191_936, 6_923_449_856 + more, 7_065_807_136]


@pytest.mark.deep
def test_operations_of_audio_description_are_the_papers(audio_costs: dict[str, dict[str, float]]) -> None:
    plain = audio_costs["plain"]
    assert plain["TFLOPs"] == pytest.approx(3.393, abs=5e-4)
    assert plain["TMACs"] == plain["TFLOPs"] / 2


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("linear", 16 * 50 * 15 * 768**2),
        ("masked", 16 * 50 * (15 * 768**2 + 768 * 50)),
        ("layers", 39 * 50 * (4 * 768**2 + 2 * 768 * 3072 + 2 * 50 * 768)),
    ],
)
def test_operations_that_are_added_are_sums_by_hand(
    audio_costs: dict[str, dict[str, float]], name: str, added: int
) -> None:
    """A product of [n, a] and [a, b] has 2 n a b operations."""
    more = audio_costs[name]["TMACs"] - audio_costs["plain"]["TMACs"]
    assert more * 1e12 == pytest.approx(added, rel=1e-6)


def test_row_has_the_words_of_its_two_commands() -> None:
    ((_, table),) = find_tables(["mrnet"], "3")
    single, multi = table.rows
    assert (single.name, single.published["R@1 .5"]) == ("Charades-STA: MRNet-S", 60.03)
    assert single.train[-2:] == ("--queries-per-video", "1")
    assert "{data}/charades_train.json" in single.train
    assert "{run}" in single.evaluate
    assert multi.train == single.train[:-2]
    assert multi.data == ("charades_train.json", "i3d", "charades_test.json")


def test_same_training_is_one_run_in_all_tables() -> None:
    rows = [row for number in ("2", "6", "7", "8", "A1") for row in find_tables(["mrnet"], number)[0][1].rows]
    whole = {folder_name(row.train) for row in rows if row.published.get("R@1 .5") == 63.30}
    assert len(whole) == 1


def test_number_of_a_part_finds_the_table_that_has_it() -> None:
    assert [table.tables["lam"] for _, table in find_tables(["lam"], "1b")] == [["1b", "1c"]]


def test_number_finds_all_its_parts() -> None:
    parts = [number for _, table in find_tables(["lam"], "1") for number in table.tables["lam"]]
    assert sorted(parts) == ["1a", "1b", "1c", "1d", "1e"]


def test_no_number_finds_all_tables_of_a_paper() -> None:
    assert {table.tables["stamp"][0] for _, table in find_tables(["stamp"])} == {"1a", "1b", *"2345678"}


def test_number_that_a_paper_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="lam has no table 9"):
        find_tables(["lam"], "9")


def test_unknown_paper_is_refused_with_a_similar_one() -> None:
    with pytest.raises(UsageError, match="unknown paper 'mrnt'; did you mean 'mrnet'"):
        find_tables(["mrnt"])


def test_number_of_several_papers_is_of_those_that_have_it() -> None:
    assert [paper for paper, _ in find_tables(["fulltransnet", "mrnet", "stamp"], "3")] == ["mrnet", "stamp"]


def test_number_that_no_paper_has_is_refused() -> None:
    with pytest.raises(UsageError, match="no paper has a table 9"):
        find_tables(["mrnet", "stamp"], "9")


def test_figure_is_found_by_its_path() -> None:
    recall = [{"top": 1, "iou": 0.3, "share": 0.5}, {"top": 1, "iou": 0.5, "share": 0.25}]
    report = {"n_queries": 7, "rows": [{"recall": recall, "short": None}]}
    assert figure(report, "rows/0/recall/top=1,iou=0.5/share") == 25.0
    assert figure(report, "n_queries") == 7
    assert figure(report, "rows/0/short/mean_map") is None


def summary_report(**values: Mapping[str, float]) -> dict[str, Any]:
    """A report of rows, each with the F of its videos."""
    return {
        "rows": [
            {
                "name": name,
                "f": sum(of_videos.values()) / len(of_videos),
                "videos": {video: {"f": value} for video, value in of_videos.items()},
            }
            for name, of_videos in values.items()
        ]
    }


SPLITS = [{"name": "one", "test": ["d/a", "d/b"]}, {"name": "two", "test": ["d/c", "d/b"]}]
"""Both splits test video d/b, which has two names in a report."""


def test_interval_is_of_the_means_of_the_splits() -> None:
    report = summary_report(run={"d/a": 0.1, "d/b (one)": 0.3, "d/c": 0.6, "d/b (two)": 0.8})
    ours = figures_of(report, {"F": "rows/name=run/f"}, SPLITS)
    side = stats.t.ppf(0.975, 1) * stats.sem([20, 70])
    assert ours.ours["F"] == pytest.approx(45)
    assert ours.intervals["F"] == pytest.approx((45 - side, 45 + side))


@pytest.mark.parametrize("splits", [(), SPLITS[:1]], ids=["none", "one"])
def test_fewer_than_two_splits_have_no_interval(splits: list[dict[str, Any]]) -> None:
    report = summary_report(run={"d/a": 0.1, "d/b": 0.3})
    assert figures_of(report, {"F": "rows/name=run/f"}, splits).intervals == {}


def test_baselines_of_a_report_have_the_columns_of_the_row() -> None:
    report = summary_report(run={"a": 0.5}, random={"a": 0.2}, uniform={"a": 0.3}, human={"a": 0.9})
    ours = figures_of(report, {"F": "rows/0/f"}, ())
    assert ours.baselines == {"random": {"F": 20.0}, "uniform": {"F": 30.0}}


def test_tables_of_fulltransnet_train_as_its_public_code() -> None:
    rows = [
        row for number in ("II", "IV") for _, t in find_tables(["fulltransnet"], number) for row in t.rows
    ]
    patterns = [row for _, t in find_tables(["fulltransnet"], "III") for row in t.rows if row.train]
    assert all(row.train[row.train.index("--target") + 1] == "same-step" for row in (*rows, *patterns))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_rows_of_a_file_have_a_figure_for_each_column(path: Path) -> None:
    read = read_yaml(path)
    for row in read["rows"].values():
        groups = [*row["published"].values()] if "groups" in read else [row["published"]]
        assert all(len(figures) == len(read["columns"]) for figures in groups)
