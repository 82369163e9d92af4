"""Ownership: only what a record lists and a hash confirms is replaced or deleted."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import deep_but
from vidsum.errors import OutputError, UsageError
from vidsum.io.paths import files_read
from vidsum.outputs import artifacts as module
from vidsum.outputs.alone import own_record, save_text, write_alone
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.output_records import hash_of, record_of

ROOT = Path(__file__).parents[2]
NAMES = ("a.txt", "b.txt", "folder/1.txt", "folder/2.txt", "r.txt.vidsum.json", "s.txt.vidsum.json")


def write_file(text: str, path: Path) -> tuple[str, ...]:
    path.write_text(text)
    return ()


def write_folder(text: str, path: Path) -> tuple[str, ...]:
    path.mkdir()
    for number in range(1, 2 + len(text) % 2):
        (path / f"{number}.txt").write_text(f"{text} {number}")
    return ()


WRITERS = {"a": write_file, "b": write_file, "folder": write_folder}


def result_at(root: Path, record: str) -> Artifacts:
    """Return a result with two files and a folder; two results share them."""
    files = {"a": root / "a.txt", "b": root / "b.txt", "folder": root / "folder"}
    return Artifacts(root / f"{record}.txt.vidsum.json", files)


def write(root: Path, record: str, kinds: list[str], text: str) -> None:
    """Write some files of a result."""
    document = {"provenance": {"text": text}}
    result_at(root, record).write(
        text, {kind: WRITERS[kind] for kind in kinds}, compose=lambda _: (document, lambda name: False)
    )


class Killed(BaseException):
    """The end of a process, in the middle of its work."""


@contextmanager
def killed_after(n_steps: int) -> Iterator[None]:
    """End a run before one of its steps on the disk: a record, a rename, a deletion."""
    left = [n_steps]

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*values: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return step(*values, **named)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "move", counted(module.move))
        patch.setattr(module, "write_record", counted(module.write_record))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        with suppress(Killed):
            yield


KINDS = st.lists(st.sampled_from(sorted(WRITERS)), unique=True, min_size=1)
STEPS = st.one_of(
    st.tuples(st.just("run"), st.sampled_from("rs"), KINDS),
    st.tuples(st.just("kill"), st.sampled_from("rs"), KINDS, st.integers(0, 8)),
    st.tuples(st.just("edit"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("copy"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("forge"), st.sampled_from(NAMES[-2:]), st.sampled_from(NAMES)),
)


class User:
    """A folder in which somebody writes, renames and deletes files between the runs."""

    def __init__(self, root: Path) -> None:
        self.root, self.number = root, 0
        self.foreign: dict[str, bytes] = {}
        """The files that vidsum did not write."""

    def edit(self, name: str) -> None:
        self.number += 1
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(f"mine {self.number}")
        self.foreign[name] = (self.root / name).read_bytes()

    def rename(self, name: str, other: str) -> None:
        self.copy(name, other)
        if name != other:
            self.delete(name)

    def copy(self, name: str, other: str) -> None:
        if (self.root / name).is_file() and name != other:
            (self.root / other).parent.mkdir(exist_ok=True)
            (self.root / other).write_bytes((self.root / name).read_bytes())
            self.foreign.pop(other, None)
            if name in self.foreign:
                self.foreign[other] = self.foreign[name]

    def forge(self, record: str, name: str) -> None:
        """List a file as it is in a record, which is otherwise left as it was."""
        path, listed = self.root / record, self.root / name
        if not listed.is_file():
            return
        document: dict[str, Any] = {"schema": "vidsum.outputs/1"}
        with suppress(OSError, ValueError):
            document = json.loads(path.read_text())
        sha256 = hashlib.sha256(listed.read_bytes()).hexdigest()
        if document.get("outputs", {}).get(name) != sha256:
            document["outputs"] = {**document.get("outputs", {}), name: sha256}
            path.write_text(json.dumps(document))
            self.foreign[record] = path.read_bytes()

    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        self.foreign.pop(name, None)

    def check(self) -> None:
        """See that the files that vidsum did not write are as they were."""
        assert {name: (self.root / name).read_bytes() for name in self.foreign} == self.foreign


def test_record_of_replaced_files_exists_while_they_are_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "r", ["a"], "first")
    second, seen, move = record_of(tmp_path / "r.txt.vidsum.json"), list[bool](), module.move

    def watched(shadow: Path, target: Path) -> None:
        seen.append(second.exists())
        move(shadow, target)

    monkeypatch.setattr(module, "move", watched)
    write(tmp_path, "r", ["a"], "second")
    assert (seen, second.exists()) == ([True], False)


def test_file_that_changed_is_no_longer_held_by_its_record(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a"], "first")
    made = result_at(tmp_path, "r")
    assert made.holds(tmp_path / "a.txt", made.read()[1])
    (tmp_path / "a.txt").write_text("mine")
    assert not made.holds(tmp_path / "a.txt", made.read()[1])


def test_folder_is_held_while_each_of_its_listed_files_is_unchanged(tmp_path: Path) -> None:
    write(tmp_path, "r", ["folder"], "text")
    made = result_at(tmp_path, "r")
    assert made.holds(tmp_path / "folder", made.read()[1])
    (tmp_path / "folder/1.txt").write_text("mine")
    assert not made.holds(tmp_path / "folder", made.read()[1])


def test_file_is_foreign_although_its_record_lists_others(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a"], "first")
    (tmp_path / "b.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"b\.txt: already exists"):
        result_at(tmp_path, "r").require_ours([tmp_path / "b.txt"])
    result_at(tmp_path, "r").require_ours([tmp_path / "a.txt"])


def test_file_that_its_result_no_longer_has_is_deleted(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a", "b"], "first")
    write(tmp_path, "r", ["a"], "second")
    assert not (tmp_path / "b.txt").exists()


def test_file_that_belongs_to_the_new_result_stays(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a", "b"], "first")
    document = {"provenance": {"text": "second"}}
    made = result_at(tmp_path, "r")
    made.write("second", {"a": write_file}, compose=lambda _: (document, lambda name: name == "b.txt"))
    assert (tmp_path / "b.txt").read_text() == "first"
    assert made.owns(tmp_path / "b.txt")


def test_file_with_other_content_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a"], "first")
    write(tmp_path, "r", ["a"], "second")
    assert (tmp_path / "a.txt").read_text() == "second"


def test_a_record_that_was_edited_owns_nothing(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a"], "first")
    assert result_at(tmp_path, "r").owns(tmp_path / "a.txt")
    (tmp_path / "r.txt.vidsum.json").write_text("{}")
    assert not result_at(tmp_path, "r").owns(tmp_path / "a.txt")
    with pytest.raises(OutputError, match=r"r.txt.vidsum.json: already exists"):
        write(tmp_path, "r", ["a"], "second")
    assert (tmp_path / "a.txt").read_text() == "first"


def test_a_file_that_another_record_lists_is_owned_but_not_deleted(tmp_path: Path) -> None:
    write(tmp_path, "r", ["a"], "first")
    write(tmp_path, "s", ["a"], "second")
    write(tmp_path, "r", ["a"], "third")
    write(tmp_path, "s", ["a"], "third")
    write(tmp_path, "s", ["b"], "fourth")
    assert (tmp_path / "a.txt").read_text() == "third"


def test_a_file_outside_the_folder_of_its_record_is_not_deleted(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "a.txt"
    inner.mkdir()
    first = Artifacts(inner / "r.vidsum.json", {"a": outer})
    first.write("text", {"a": write_file})
    write(inner, "r", ["b"], "text")
    Artifacts(inner / "r.vidsum.json", {"b": inner / "b.txt"}).write("text", {"b": write_file})
    assert outer.read_text() == "text"
    first.write("again", {"a": write_file})  # and stays known
    assert outer.read_text() == "again"


def test_no_writer_touches_an_input(tmp_path: Path) -> None:
    film, link = tmp_path / "film.txt", tmp_path / "a.txt"
    film.write_text("film")
    os.link(film, link)
    with pytest.raises(UsageError, match="over the input"):
        result_at(tmp_path, "r").write(
            "text", {"a": write_file}, overwrite=True, reads=files_read([("", film)])
        )
    assert film.read_text() == "film"


def test_errors_of_writers_name_the_target(tmp_path: Path) -> None:
    def fail(text: str, path: Path) -> tuple[str, ...]:
        raise OutputError("cannot be written (disk full)", subject=path / "1.jpg")

    with pytest.raises(OutputError) as error:
        result_at(tmp_path, "r").write("text", {"folder": fail})
    assert error.value.message == f"{tmp_path / 'folder' / '1.jpg'}: cannot be written (disk full)"


@pytest.mark.parametrize(
    ("answers", "text"),
    [((True, True), "old"), ((True, False), "new"), ((False,), "new")],
    ids=["fresh", "replaced meanwhile", "not fresh"],
)
def test_file_is_written_again_unless_it_is_fresh_to_the_end(
    answers: tuple[bool, ...], text: str, tmp_path: Path
) -> None:
    write(tmp_path, "r", ["a"], "old")
    left = iter(answers)
    result_at(tmp_path, "r").write(
        "new",
        {"a": write_file},
        compose=lambda _: ({"provenance": {}}, lambda name: True),
        is_fresh=lambda *_: next(left),
    )
    assert (tmp_path / "a.txt").read_text() == text


def test_optional_file_that_cannot_be_made_is_left_out_with_a_notice(tmp_path: Path) -> None:
    def fail(text: str, path: Path) -> tuple[str, ...]:
        raise UsageError("no such thing")

    writers = {"a": write_file, "b": fail}
    changed, _, notices = result_at(tmp_path, "r").write("text", writers, optional=["b"])
    assert (changed >= {tmp_path / "a.txt"}, (tmp_path / "b.txt").exists()) == (True, False)
    assert [(kind, str(notice)) for kind, notice in notices] == [("b", "no such thing")]


def test_a_json_document_takes_over_the_record_of_a_file(tmp_path: Path) -> None:
    save_text("text", tmp_path / "a.txt", overwrite=False)
    assert record_of(tmp_path / "a.txt").exists()
    write(tmp_path, "r", ["a"], "other")
    assert not record_of(tmp_path / "a.txt").exists()


@pytest.mark.skipif(os.name != "posix", reason="there are no devices")
def test_a_device_is_written_into_and_has_no_record(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("/dev/null")
    assert save_text("text", tmp_path / "a.txt", overwrite=False) == str(tmp_path / "a.txt")
    assert ([*tmp_path.iterdir()], Path("/dev/null").is_file()) == ([tmp_path / "a.txt"], False)


RECORD_EDITS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another file": lambda record: {**record, "outputs": {**record["outputs"], "mine.txt": "0" * 64}},
    "another hash": lambda record: {**record, "outputs": dict.fromkeys(record["outputs"], "0" * 64)},
    "another fact": lambda record: {**record, "note": "checked"},
    "no digest": lambda record: {name: part for name, part in record.items() if name != "digest"},
}


@pytest.mark.parametrize("edit", RECORD_EDITS)
def test_edited_record_is_neither_believed_nor_replaced(tmp_path: Path, edit: str) -> None:
    film = tmp_path / "film.mp4"
    write_alone(own_record(film), lambda path: path.write_text("first"), overwrite=False)
    record = record_of(film)
    edited = json.dumps(RECORD_EDITS[edit](json.loads(record.read_text())))
    record.write_text(edited)
    with pytest.raises(OutputError):
        write_alone(own_record(film), lambda path: path.write_text("second"), overwrite=False)
    assert (film.read_text(), record.read_text()) == ("first", edited)


def test_record_written_by_hand_costs_no_file(tmp_path: Path) -> None:
    mine, film = tmp_path / "mine.txt", tmp_path / "film.mp4"
    mine.write_text("mine")
    listed = {"schema": "vidsum.outputs/1", "outputs": {"mine.txt": hash_of(mine)}}
    record_of(film).write_text(json.dumps(listed))
    write_alone(own_record(film), lambda path: path.write_text("film"), overwrite=True)
    assert mine.read_text() == "mine"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_no_sequence_costs_a_foreign_file(
    steps: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    user = User(tmp_path_factory.mktemp("work"))
    for number, (what, *values) in enumerate(steps):
        if what == "run":
            with suppress(OutputError):
                write(user.root, *values, f"run {number}")
        elif what == "kill":
            *values, n_steps = values
            with killed_after(n_steps), suppress(OutputError):
                write(user.root, *values, f"run {number}")
        else:
            getattr(user, what)(*values)
        user.check()


@pytest.mark.deep
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.lists(st.tuples(KINDS, st.integers(0, 9)), max_size=6), last=KINDS)
def test_runs_that_were_killed_leave_nothing_foreign(
    runs: list[tuple[list[str], int]], last: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("work")
    for number, (kinds, n_steps) in enumerate(runs):
        with killed_after(n_steps):
            write(root, "r", kinds, f"run {number}")
    write(root, "r", last, "the last")
    names = visible_files(root)
    expected = {"a": {"a.txt"}, "b": {"b.txt"}, "folder": {"folder/1.txt"}}
    record = "r.txt.vidsum.json"
    assert names == {record, *(name for kind in last for name in expected[kind])}
    assert {*json.loads((root / record).read_text())["outputs"]} == names - {record}


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from tests.outputs.test_artifacts import write
for number in range(100_000):  # of another size each, as clocks of file systems are slower than the loop
    kinds = [["a", "folder"], ["a", "b"], ["b", "folder"]][number % 3]
    write(Path(sys.argv[1]), "r", kinds, "run " + "x" * (number % 1000))
"""


def visible_files(root: Path) -> set[str]:
    """Return the files that are not hidden."""
    names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    return {name for name in names if not any(part.startswith(".") for part in name.split("/"))}


def has_begun(path: Path) -> bool:
    """Return whether a process has written a file by now; it also deletes it between two runs."""
    with suppress(FileNotFoundError):
        return path.read_text().startswith("run ")
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals are sent")
@pytest.mark.parametrize("seed", deep_but([0], range(5)))
def test_a_process_that_is_killed_leaves_whole_files_that_are_known(tmp_path: Path, seed: int) -> None:
    draw, mine = random.Random(seed), tmp_path / "folder" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for _ in range(3):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)]
        with subprocess.Popen(command, env=environment) as process:
            while not has_begun(tmp_path / "a.txt") and process.poll() is None:
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.2))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        for name in visible_files(tmp_path) - {"folder/mine.txt"}:
            is_text = name.endswith(".txt")
            assert not is_text or (tmp_path / name).read_text().startswith(("run ", "the last"))
        write(tmp_path, "r", ["a"], "the last")  # is not refused
        assert visible_files(tmp_path) == {"a.txt", "folder/mine.txt", "r.txt.vidsum.json"}
    assert mine.read_text() == "mine"
