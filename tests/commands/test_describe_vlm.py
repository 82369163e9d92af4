"""`vidsum describe --writer URL --vlm MODEL`, with a server on this machine."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vidsum
from tests.grounding.colours import COLOURS
from tests.program import Run, read_valid
from tests.vlm_server import Reply, VLMServer, completion, serving
from vidsum.description import vlm
from vidsum.description.settings import Describing
from vidsum.errors import UsageError
from vidsum.pipelines import describe, embedding
from vidsum.results.descriptions import Descriptions

SENTENCES = dict(
    zip(COLOURS, ("A red wall, by a lake", "a green field.", "The blue sky.", "A yellow car"), strict=True)
)


def colour_of(picture: bytes) -> str:
    pixel = Image.open(io.BytesIO(picture)).resize((1, 1)).getpixel((0, 0))
    assert isinstance(pixel, tuple)
    return min(COLOURS, key=lambda name: sum((a - b) ** 2 for a, b in zip(pixel, COLOURS[name], strict=True)))


@pytest.fixture(autouse=True)
def small_pauses(loads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The extractor needs no weights, and no attempt waits."""
    monkeypatch.setattr(vlm, "PAUSE_S", 0.0)
    for module in (describe, embedding):
        monkeypatch.setattr(module, "extraction_for", lambda space, options: options)
    monkeypatch.setattr("vidsum.summary.score._SHIPPED_READS", ("pictures", 2.0))


@pytest.fixture
def server() -> "VLMServer":
    """A model that sees colours."""
    with serving(lambda number: see(server_, number)) as server_:
        yield server_


def see(server: VLMServer, number: int) -> Reply:
    url = server.requests[number - 1][2]["messages"][0]["content"][1]["image_url"]["url"]
    picture = base64.b64decode(url.removeprefix("data:image/jpeg;base64,"))
    return completion(SENTENCES[colour_of(picture)])


def test_a_model_describes_shots(run: Run, film: Path, server: VLMServer) -> None:
    model = ("--writer", server.address, "--vlm", "tiny:3b", "--device", "cpu")
    host = server.address.removeprefix("http://").removesuffix("/v1")
    ran = run("describe", film, *model)
    assert f"4 descriptions by vlm:tiny:3b; 4 frames sent to {host}" in ran.out
    assert "sure" in ran.out
    document = read_valid("film_descriptions.json", "descriptions")
    texts = ["A red wall, by a lake.", "A green field.", "The blue sky.", "A yellow car."]
    assert [item["text"] for item in document["descriptions"]] == texts
    assert {item["confidence"] for item in document["descriptions"]} == {None}
    facts = document["provenance"]["descriptions"]
    assert facts == {
        "writer": "vlm:tiny:3b", "every_s": None, "server": server.address, "prompt": vlm_prompt(server),
    }  # fmt: skip
    assert "A green field." in Path("film_descriptions.srt").read_text()
    loaded = vidsum.load("film_descriptions.json")
    assert isinstance(loaded, Descriptions)
    assert loaded.is_by_vlm
    run("shots", film, "--device", "cpu", "--report")
    assert "Descriptions by vlm:tiny:3b" in Path("film_shots.html").read_text()
    ran = run("describe", film, *model)
    assert "unchanged" in ran.out
    ran = run("describe", film, *model, "--every", "2.5s", "--no-cache")
    assert f"4 frames sent to {host}" in ran.out
    ran = run("describe", film, *model, "-o", "again.json", "--quiet")
    assert len(server.requests) == 8
    again = json.loads(Path("again.json").read_text())
    assert again["descriptions"] == document["descriptions"]


def vlm_prompt(server: VLMServer) -> str:
    return str(server.requests[0][2]["messages"][0]["content"][0]["text"])


def test_a_configuration_file_names_the_model(
    run: Run, film: Path, server: VLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = f"  writer: {server.address}\n  vlm: tiny\n  vlm_prompt: Nur ein Wort.\n  vlm_timeout: 2m\n"
    Path("c.yaml").write_text(f"describe:\n{keys}")
    run("describe", film, "--config", "c.yaml", "--device", "cpu")
    assert vlm_prompt(server) == "Nur ein Wort."
    assert server.requests[0][2]["model"] == "tiny"
    monkeypatch.setattr(describe, "find_speech", lambda blocks: [*blocks] and [])
    # pictures of one colour are worth as much as others
    monkeypatch.setattr(describe, "quality_at", lambda changes, times_s: np.ones(len(times_s), np.float32))
    run("describe", film, "--writer", server.address, "--vlm", "tiny", "--device", "cpu", "--in-gaps")
    document = read_valid("film_descriptions.json", "descriptions")
    assert document["writer"] == "vlm:tiny"
    texts = [item["text"] for item in document["descriptions"]]
    assert texts == ["A red wall, by a lake.", "The blue sky.", "A yellow car."]


def test_frames_without_a_sentence(run: Run, film: Path) -> None:
    with serving(lambda number: completion("" if number == 2 else f"Shot {number}")) as server:
        command = ("--writer", server.address, "--vlm", "tiny", "--device", "cpu")
        ran = run("describe", film, *command, error="1 of 4 frames have no sentence")
    assert "1 segment left out: the model gave no sentence" in ran.out
    document = json.loads(Path("film_descriptions.json").read_text())
    assert (len(document["descriptions"]), document["unsure"]) == (3, 1)


def test_a_server_dies_midway(run: Run, film: Path) -> None:
    """The first run ends with one error, and the second asks for what is missing."""

    def script(number: int) -> Reply:
        return see(dying, number) if number <= 3 else Reply(body=b"x" * 99, breaks=True)

    with serving(script) as dying:
        command = ("--writer", dying.address, "--vlm", "tiny", "--device", "cpu")
        ran = run("describe", film, *command, code=1)
        assert "3 of 4 frames are described and in the cache" in ran.err
        assert "Traceback" not in ran.err
        assert not Path("film_descriptions.json").exists()
        dying.script = lambda number: see(dying, number)
        ran = run("describe", film, *command)
    assert "4 descriptions by vlm:tiny; 1 frame sent" in ran.out


def test_a_batch_ends_with_its_server(run: Run, film: Path) -> None:
    other = film.with_name("other.mp4")
    other.write_bytes(film.read_bytes() + b"\0")
    with serving(lambda number: Reply(401)) as server:
        command = ("--writer", server.address, "--vlm", "tiny", "--device", "cpu")
        run("describe", film, other, *command, code=1)
    assert len(server.requests) <= 4


def test_offline_allows_this_machine(
    run: Run, film: Path, server: VLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    run("describe", film, "--writer", server.address, "--vlm", "tiny", "--device", "cpu")
    remote = ("--writer", "http://models.example/v1", "--vlm", "tiny", "--allow-remote", "--overwrite")
    ran = run("describe", film, *remote, "--device", "cpu", code=2)
    assert "VIDSUM_OFFLINE forbids sending frames to models.example" in ran.err


def test_secrets_appear_nowhere(
    run: Run, film: Path, server: VLMServer, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(vlm.KEY, "sk-hush-hush")
    start, rest = server.address.split("//")
    for address in (f"{start}//me:hunter2@{rest}", f"{server.address}?token=hunter2"):
        ran = run("-v", "describe", film, "--writer", address, "--vlm", "tiny", "--json", code=2)
        assert "hunter2" not in ran.out + ran.err
    ran = run("describe", film, "--writer", server.address, "--vlm", "tiny", "--device", "cpu", "--json")
    assert server.requests[0][1]["Authorization"] == "Bearer sk-hush-hush"
    files = [path for folder in (own_home, Path()) for path in folder.rglob("*") if path.is_file()]
    assert any(path.parent.name == "answers" for path in files)
    assert not [path for path in files if b"hush" in path.read_bytes() or b"hunter2" in path.read_bytes()]
    assert "hush" not in ran.out + ran.err


def test_settings_that_do_not_go_together() -> None:
    for options, fault in (
        ({"writer": "wrds"}, "or the URL of a server, not wrds; did you mean 'words'"),
        ({"vlm": "tiny"}, "writer does not name one"),
        ({"writer": "http://localhost/v1"}, "needs the name of a model"),
        ({"writer": "http://localhost/v1", "vlm": "a\nb"}, "needs the name of a model"),
        ({"writer": "http://localhost/v1", "vlm": "tiny", "min_sure": 0.5}, "gives no confidence"),
        ({"writer": "http://10.0.0.7/v1", "vlm": "tiny"}, "10.0.0.7 is not this machine"),
        ({"writer": "ftp://localhost/v1", "vlm": "tiny"}, "is http:// or https://"),
    ):
        with pytest.raises(UsageError, match=fault):
            Describing(**options)  # type: ignore[arg-type]
    assert Describing(writer="https://10.0.0.7/v1", vlm="tiny", allow_remote=True).is_by_vlm
