"""The tables of the papers: what their files say, and that docs/papers.md says the same."""

import re
from pathlib import Path

import pytest

from docs.options import commands, flags_of
from vidsum.commands.options import settings_of
from vidsum.errors import UsageError
from vidsum.io.text import read_yaml
from vidsum.lab.made_up import KINDS
from vidsum.lab.reproduction import FOLDER, costs, figure, find_tables, folder_name, read_tables

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(r"\| Table ([IVA]*\d*[a-z]?(?:, \d[a-z])?),? [^|]*\| (here|small|not here)")
PAPERS = {"FullTransNet": "fulltransnet", "MRNet": "mrnet", "LAM and STAMP": "stamp"}


def test_the_page_has_the_tables_and_their_states() -> None:
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


def test_sections_kinds_and_figures_exist() -> None:
    headings = re.findall(r"^## (.*)", (DOCS / "formats.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for path, table in zip(sorted(FOLDER.glob("*.yaml")), read_tables(), strict=True):
        runs = [row for row in table.rows if row.evaluate]
        assert bool(runs) == bool(table.data) == (table.layout in anchors), path
        assert set(table.data.values()) <= set(KINDS), path
        assert {each for row in runs for each in row.data} == set(table.data), path
        assert all(row.why or row.computed for row in table.rows if not row.evaluate), path
        assert all(any(value is not None for value in row.published.values()) for row in table.rows)


def test_tables_that_are_here_print_our_figures_or_name_the_data_they_need() -> None:
    for path, table in zip(sorted(FOLDER.glob("*.yaml")), read_tables(), strict=True):
        rows = table.rows if table.state == "here" else ()
        for row in rows:
            if not row.computed and not row.data:
                assert re.search(r"vidsum evaluate .*[\w-]+\.(h5|json|jsonl)\b", row.why, re.DOTALL), path


def test_a_figure_is_here_only_if_a_command_prints_it() -> None:
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


def test_costs_are_those_of_the_published_sizes() -> None:
    """Against sums by hand: a product of [n, a] and [a, b] has 2 n a b operations."""
    ((_, table),) = find_tables(["stamp"], "4")
    plain, linear, layers, masked = (costs(row.computed, row.sizes) for row in table.rows)
    weights = [round(1e6 * row["million parameters"]) for row in (plain, linear, layers, masked)]
    more = 39 * layer(768, 3072, 1)
    assert weights == [6_923_449_856, 7_065_191_936, 6_923_449_856 + more, 7_065_807_136]
    assert plain["TFLOPs"] == pytest.approx(3.393, abs=5e-4)
    assert plain["TMACs"] == plain["TFLOPs"] / 2
    added = {"linear": 16 * 50 * 15 * 768**2, "masked": 16 * 50 * (15 * 768**2 + 768 * 50)}
    added["layers"] = 39 * 50 * (4 * 768**2 + 2 * 768 * 3072 + 2 * 50 * 768)
    for name, row in (("linear", linear), ("masked", masked), ("layers", layers)):
        assert (row["TMACs"] - plain["TMACs"]) * 1e12 == pytest.approx(added[name], rel=1e-6), name


def test_a_row_is_the_words_of_two_commands() -> None:
    ((_, table),) = find_tables(["mrnet"], "3")
    single, multi = table.rows
    assert (single.name, single.published["R@1 .5"]) == ("Charades-STA: MRNet-S", 60.03)
    assert single.train[-2:] == ("--queries-per-video", "1")
    assert "{data}/charades_train.json" in single.train
    assert "{run}" in single.evaluate
    assert multi.train == single.train[:-2]
    assert multi.data == ("charades_train.json", "i3d", "charades_test.json")


def test_the_same_training_is_one_run_in_all_tables() -> None:
    rows = [row for number in ("2", "6", "7", "8", "A1") for row in find_tables(["mrnet"], number)[0][1].rows]
    whole = {folder_name(row.train) for row in rows if row.published.get("R@1 .5") == 63.30}
    assert len(whole) == 1


def test_a_number_may_stand_for_its_parts() -> None:
    assert [table.tables["lam"] for _, table in find_tables(["lam"], "1b")] == [["1b", "1c"]]
    parts = [number for _, table in find_tables(["lam"], "1") for number in table.tables["lam"]]
    assert sorted(parts) == ["1a", "1b", "1c", "1d", "1e"]
    assert {table.tables["stamp"][0] for _, table in find_tables(["stamp"])} == {"1a", "1b", *"2345678"}
    with pytest.raises(UsageError, match="lam has no table 9"):
        find_tables(["lam"], "9")
    with pytest.raises(UsageError, match="unknown paper 'mrnt'; did you mean 'mrnet'"):
        find_tables(["mrnt"])


def test_a_number_without_a_paper_is_of_those_that_have_it() -> None:
    assert [paper for paper, _ in find_tables(["fulltransnet", "mrnet", "stamp"], "3")] == ["mrnet", "stamp"]
    with pytest.raises(UsageError, match="no paper has a table 9"):
        find_tables(["mrnet", "stamp"], "9")


def test_a_figure_is_found_by_its_path() -> None:
    recall = [{"top": 1, "iou": 0.3, "share": 0.5}, {"top": 1, "iou": 0.5, "share": 0.25}]
    report = {"n_queries": 7, "rows": [{"recall": recall, "short": None}]}
    assert figure(report, "rows/0/recall/top=1,iou=0.5/share") == 25.0
    assert figure(report, "n_queries") == 7
    assert figure(report, "rows/0/short/mean_map") is None


def test_files_are_yaml_with_a_figure_per_column() -> None:
    for path in FOLDER.glob("*.yaml"):
        read = read_yaml(path)
        for row in read["rows"].values():
            figures = [*row["published"].values()] if "groups" in read else [row["published"]]
            assert all(len(each) == len(read["columns"]) for each in figures), path
