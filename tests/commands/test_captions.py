"""`vidsum evaluate captions`: from files to a report, and bad input in a line."""

import json
from pathlib import Path

import pytest

from tests.program import Run, read_valid

WORDS = ["dog", "cat", "man", "woman", "ball", "tree", "car", "bird", "boat", "child"]
SENTENCES = {
    f"{number}.jpg": [f"a {WORDS[number % 9]} by a {WORDS[number // 4]}", f"the {WORDS[number % 9]} is small"]
    for number in range(40)
}
NAMES = ["CIDEr-D", *(f"BLEU-{n}" for n in range(1, 5)), "ROUGE-L"]


@pytest.fixture(autouse=True)
def made(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`people.csv`, `good.csv` with a sentence of each item, and `flat.csv` with one for all."""
    monkeypatch.setattr("vidsum.lab.evaluation.captions._DRAWS", 40)
    rows = [f"{name},{text}" for name, values in SENTENCES.items() for text in values]
    Path("people.csv").write_text("\n".join(["image,caption", *rows]))
    good = [f"{name},{values[0]}" for name, values in SENTENCES.items()]
    Path("good.csv").write_text("\n".join(["id,caption", *good]))
    Path("flat.csv").write_text("\n".join(["id,caption", *(f"{name},a man" for name in SENTENCES)]))


def test_report_ranks_captions(run: Run) -> None:
    ran = run("evaluate", "captions", "good.csv", "flat.csv", "--data", "people.csv", "-o", "report.json")
    assert ran.err == ""
    assert ran.out.splitlines()[0] == "people.csv: 40 captions against 80 sentences of people, times 100"
    document = read_valid("report.json", "caption_evaluation")
    rows = {row["name"]: row["measures"] for row in document["rows"]}
    assert list(rows) == ["good", "flat", "others", "people"]
    assert list(rows["good"]) == NAMES
    for name in NAMES:
        good, flat, others = (rows[row][name]["value"] for row in ("good", "flat", "others"))
        assert good > max(flat, others)
        assert rows["good"][name]["low"] <= good <= rows["good"][name]["high"]
    assert rows["good"]["BLEU-4"]["value"] == pytest.approx(1)
    again = run("evaluate", "captions", "good.csv", "flat.csv", "--data", "people.csv", "-o", "report.json")
    assert "(unchanged)" in again.out


def test_chosen_metrics(run: Run) -> None:
    ran = run("evaluate", "captions", "good.csv", "--data", "people.csv", "--metric", "rouge-l", "-o", "-")
    assert [list(row["measures"]) for row in ran.json["rows"]] == [["ROUGE-L"]] * 3
    texts = [f"the {word}" for word in WORDS]
    times = [[2 * number, 2 * number + 1] for number in range(10)]
    films = {f"film{n}": {"duration": 30, "timestamps": times, "sentences": texts} for n in range(3)}
    Path("films.json").write_text(json.dumps(films))
    for name in films:
        said = [
            {"start_s": start, "end_s": end, "text": text, "confidence": 1}
            for (start, end), text in zip(times[:9], texts, strict=False)
        ]
        document = {"video": {"path": f"{name}.mp4"}, "descriptions": said}
        Path("said").mkdir(exist_ok=True)
        Path(f"said/{name}_descriptions.json").write_text(json.dumps(document))
    ran = run("evaluate", "captions", "said", "--data", "films.json", "--metric", "rouge-l", "-o", "-")
    assert ran.err == "warning: films.json: 3 of 30 items have no caption and are left out, such as film0#9\n"
    assert (ran.json["n_items"], ran.json["n_videos"]) == (27, 3)
    said, _ = ran.json["rows"]
    assert said["measures"]["ROUGE-L"] == {"value": 1, "low": 1, "high": 1}


def test_captions_without_words(run: Run) -> None:
    rows = Path("good.csv").read_text().splitlines()
    Path("good.csv").write_text("\n".join([*rows[:-1], "39.jpg,..."]))
    ran = run("evaluate", "captions", "good.csv", "--data", "people.csv", "--metric", "bleu")
    assert "good: 1 captions have no word, such as that of 39.jpg" in ran.err
    Path("people.csv").write_text("image,caption\na.jpg,a dog runs\n")
    Path("mine.csv").write_text("image,caption\na.jpg,a dog\n")
    ran = run("evaluate", "captions", "mine.csv", "--data", "people.csv")
    assert ran.out.startswith("people.csv: 1 caption against 1 sentence of people, times 100\n")


def test_evaluate_captions_errors(run: Run) -> None:
    rows = Path("good.csv").read_text().splitlines()
    Path("good.csv").write_text("\n".join(rows[:-1]))
    Path("other.csv").write_text("\n".join([rows[0], rows[-1]]))
    Path("others.csv").write_text("\n".join(rows))
    for name, message in {
        "good.csv": "good.csv: another row is called 'good' too",
        "other.csv": "people.csv: the predictions have captions of different items",
        "others.csv": "another row is called 'others' too",
    }.items():
        run("evaluate", "captions", "good.csv", name, "--data", "people.csv", code=2, error=message)
