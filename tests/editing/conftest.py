"""A summary of a film of colours, made without weights, and the page that corrects it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests.archive.made import film
from tests.commands.conftest import use_mean_colours
from tests.server.serving import running
from vidsum.editing.edit_server import EditServer
from vidsum.editing.reel_session import ReelSession
from vidsum.editing.session import EditSession
from vidsum.results.decisions import decisions_path
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.shots import Chapter, Chapters
from vidsum.results.summary import Removal, Trim
from vidsum.results.transcript import Segment, Transcript, Word

NO_CURVE = np.zeros(0, np.float32)

COLOURS = ("red", "green", "blue", "yellow", "green", "red", "yellow", "blue", "red", "green")
"""Three times over: a minute."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `film.mp4`, `film_summary.json` and `film_highlights.json`."""
    folder = tmp_path_factory.mktemp("edited")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_mean_colours(patch)
        path = film(folder / "film.mp4", 3 * COLOURS)
        vidsum.write_json(vidsum.summarize(path, "12s"), folder / "film_summary.json")
        vidsum.write_json(vidsum.find_highlights(path), folder / "film_highlights.json")
        yield folder


@contextmanager
def restored(path: Path, *endings: str) -> Iterator[Path]:
    """The JSON of a result as it was made; decisions and files with other endings are removed at the end."""
    content = path.read_bytes()
    yield path
    path.write_bytes(content)
    for other in (decisions_path(path), *map(path.with_suffix, endings)):
        other.unlink(missing_ok=True)


@pytest.fixture
def record(made: Path) -> Iterator[Path]:
    """The summary as it was made, without decisions; its MP4 is removed at the end."""
    with restored(made / "film_summary.json", ".mp4", ".edl") as path:
        yield path


@pytest.fixture
def highlights_record(made: Path) -> Iterator[Path]:
    """The highlights as they were made, without decisions."""
    with restored(made / "film_highlights.json") as path:
        yield path


def check_undo(
    session: EditSession | ReelSession, steps: Sequence[Any], parts_of: Callable[[dict[str, Any]], Any]
) -> None:
    """Decide, undo and redo, and then undo everything: each state is the one before the step."""
    states, undone = [parts_of(session.describe())], list[Any]()
    for step in steps:
        if step == "undo":
            undone += [states.pop()] if states[1:] else []
            state = session.undo()
        elif step == "redo":
            states += [undone.pop()] if undone else []
            state = session.redo()
        else:
            state, undone = session.decide(step), []
            states.append(parts_of(state))
        assert parts_of(state) == parts_of(session.describe()) == states[-1]
        assert (state["undo"], state["redo"]) == (len(states) - 1, len(undone))
    for before in reversed(states[:-1]):
        assert parts_of(session.undo()) == before
    assert session.describe()["redo"] == len(states) - 1 + len(undone)


@contextmanager
def editing(record: Path, token: str | None = None, **options: bool) -> Iterator[EditServer]:
    """The page of a result, at a free port."""
    with running(EditServer(EditSession(record, **options), 0, token)) as server:
        yield server


@pytest.fixture
def server(record: Path) -> Iterator[EditServer]:
    with editing(record) as started:
        yield started


@pytest.fixture(scope="module")
def spoken(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the film, what is said in it, and a trimmed film, moments and chapters of it."""
    folder = tmp_path_factory.mktemp("spoken")
    shutil.copy(made / "film.mp4", folder)
    video: Any = {"video": vidsum.probe(folder / "film.mp4")}
    words = [Word(2.0 * n, 2.0 * n + 1, f"word{n}{'.' * (n % 5 == 4)}", 0.9) for n in range(30)]
    lines = [words[n : n + 5] for n in range(0, 30, 5)]
    said = tuple(
        Segment(line[0].start_s, line[-1].end_s, " ".join(word.text for word in line), 0.9, 0.0, tuple(line))
        for line in lines
    )
    digest = "0" * 64
    by = {"model": "m", "weights_sha256": digest, "language": None, "translate": False, "beams": 1}
    source = {"bytes": 1, "sha256": digest}
    speech: Any = {"vidsum": "0", "video": source, "speech": {**by, "precision": "int8"}}
    removed = (Removal(19, 22, "filler", "word10"), Removal(50, 60, "silence"))
    facts = {"prices": {"speech": 1.0}, "map_sha256": digest}
    grounding = {"model": "similarity", "space": "vse", "queries": {"count": 2, "sha256": digest}}
    evidence = {"extractor": "efficientnet_lite0"}
    queries = (
        QueryMoments("a dog", (Moment(12.0, 14.0, 3.0, present=0.9), Moment(30.0, 32.0, 2.0)), NO_CURVE, 0.9),
        QueryMoments("snow", (Moment(4.0, 6.0, 1.0),), NO_CURVE, 0.4),
    )
    parts = tuple(Chapter(start, start + 15.0, f"Part {start / 15:g}") for start in (0.0, 15.0, 30.0, 45.0))
    results = {
        "transcript": Transcript(said, "en", 0.9, 60.0, provenance=speech, **video),
        "trim": Trim(
            ((0.0, 19.0), (22.0, 50.0)), removed, "loudness", -40.0, 60.0, provenance=speech, **video
        ),
        "chapters": Chapters(
            parts, "speech", 60.0, provenance={"vidsum": "0", **evidence, "chapters": facts}, **video
        ),
        "moments": Grounding(
            *(queries, np.zeros(0), 2.0, 60.0, "similarity", "vse"),
            provenance={"vidsum": "0", **evidence, "grounding": grounding},
            **video,
        ),
    }
    for name, result in results.items():
        vidsum.write_json(result, folder / f"film_{name}.json")
    return folder


@pytest.fixture
def spoken_record(spoken: Path) -> Iterator[Callable[[str], Path]]:
    """Gives the JSON of a kind as it was made, without decisions."""
    contents = {path: path.read_bytes() for path in spoken.glob("*.json")}
    yield lambda kind: spoken / f"film_{kind}.json"
    for path in spoken.iterdir():
        if path.suffix != ".mp4" or path.name != "film.mp4":
            path.unlink()
    for path, content in contents.items():
        path.write_bytes(content)
