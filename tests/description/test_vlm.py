"""Sentences of a model on a server: its replies, its faults, and where frames may go."""

import base64
import json
import re
import urllib.parse
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.conftest import deep
from tests.vlm_server import Reply, VLMServer, completion, serving
from vidsum.description import vlm
from vidsum.description.vlm import KEY, N_PARALLEL, Replies, VisionModel, clean, describe_frames, parse_pause
from vidsum.errors import UsageError, VidsumError
from vidsum.io.network import Session

FRAMES = [f"frame {number}".encode() for number in range(6)]
BAD = Reply(body=b"<html>proxy</html>")
PASSING = [Reply(429, b"{}", {"Retry-After": "0"}), Reply(500), Reply(503, b"\xff"), BAD, Reply(body=b"[]")]
PAUSES = {"": 0, "7": 7, "0.5": 0.5, "86400": 30, "-1": 0, "nan": 0, "Wed, 21 Oct 2026 07:28:00 GMT": 0}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr(vlm, "PAUSE_S", 0.0)


def model_at(server: VLMServer, max_reply_s: float = 60.0, **facts: Any) -> VisionModel:
    return VisionModel(
        **{"server": server.address, "name": "tiny", "prompt": "Say it."} | facts, max_reply_s=max_reply_s
    )


def ask(server: VLMServer, n_frames: int = 6, **facts: Any) -> Replies:
    blocks = [FRAMES[: min(4, n_frames)], FRAMES[4:n_frames]]
    return describe_frames(model_at(server, **facts), blocks, n_frames)


def test_sentence_is_the_cleaned_reply() -> None:
    with serving(lambda number: completion(f' "**a dog**   runs {number}" ')) as server:
        assert ask(server, 1).sentences == ["A dog runs 1."]


def test_request_has_the_prompt_and_the_frame() -> None:
    with serving(lambda number: completion("A dog")) as server:
        ask(server, 1)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert (body["model"], body["stream"], body["temperature"]) == ("tiny", False, 0)
    text, picture = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "Say it."}
    assert picture["image_url"]["url"] == "data:image/jpeg;base64,ZnJhbWUgMA=="


def test_sentences_come_from_the_cache() -> None:
    with serving(lambda number: completion(f"Dog {number}")) as server:
        first, again = ask(server), ask(server)
    assert len(server.requests) == 6
    assert (first.sentences, first.n_sent, again.n_sent) == (again.sentences, 6, 0)


@pytest.mark.parametrize(
    "facts", [{"use_cache": False}, {"prompt": "Another prompt."}, {"name": "other"}], ids=str
)
def test_another_prompt_or_model_or_no_cache_sends_again(facts: dict[str, Any]) -> None:
    with serving(lambda number: completion(f"Dog {number}")) as server:
        ask(server, 1)
        assert ask(server, 1, **facts).n_sent == 1


def test_equal_frames_are_sent_once() -> None:
    with serving(lambda number: completion(f"Dog {number}")) as server:
        replies = describe_frames(model_at(server, use_cache=False), [[FRAMES[0]] * 3], 3)
    assert (replies.sentences, replies.n_sent) == (["Dog 1."] * 3, 1)


def test_no_more_requests_are_open_than_may_be_and_no_fewer() -> None:
    """All that may be open are open together, and no more."""
    barrier = Barrier(N_PARALLEL)

    def script(number: int) -> Reply:
        if number <= N_PARALLEL:
            barrier.wait(120)
        return completion("A dog")

    with serving(script) as server:
        frames = [str(number).encode() for number in range(3 * N_PARALLEL)]
        assert len(describe_frames(model_at(server), [frames], len(frames)).sentences) == 3 * N_PARALLEL
    assert server.most_open == N_PARALLEL


@pytest.mark.parametrize("reply", PASSING, ids=["busy", "500", "503", "a page", "a list"])
@pytest.mark.parametrize("breaks", [False, True], ids=["whole", "breaks off"])
def test_passing_faults_are_retried(reply: Reply, breaks: bool) -> None:
    fault = Reply(reply.status, b"x" * 40, breaks=True) if breaks else reply
    with serving(lambda number: fault if number <= 3 else completion("A dog")) as server:
        assert ask(server, 1).sentences == ["A dog."]
    assert len(server.requests) == 4


def test_frames_without_a_sentence_are_counted() -> None:
    with serving(lambda number: completion("" if number == 2 else f"Dog {number}")) as server:
        replies = ask(server)
    assert replies.sentences.count("") == 1
    assert replies.faults == ["answers without a sentence"]
    assert len(server.requests) == 6  # a model at temperature 0 would say nothing again


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (completion("  "), "answers without a sentence"),
        (completion(None), "answers without a sentence"),
        (completion("<think>never ends"), "answers without a sentence"),
        (BAD, "answers with something else than a chat completion"),
        (Reply(body=b'data: {"choices": []}\n\n'), "something else than a chat completion"),
        (Reply(body=b"[" * 100_000), "something else than a chat completion"),
        (Reply(500, b'{"error": {"message": "out of memory"}}'), "answers 500 .*, 'out of memory'"),
        (Reply(429, b"{}", {"Retry-After": "0"}), "answers 429 Too Many Requests"),
    ],
    ids=["blank", "none", "thoughts alone", "a page", "a stream", "deep", "error", "busy"],
)
def test_several_faults_in_a_row_end_the_batch(reply: Reply, fault: str) -> None:
    with serving(lambda number: reply) as server, pytest.raises(VidsumError, match=fault) as error:
        ask(server)
    assert (error.value.exit_code, error.value.ends_batch) == (1, True)
    assert len(server.requests) <= 6 * 4


@pytest.mark.parametrize(
    ("reply", "fault", "hint"),
    [
        (Reply(404, b'{"error": "model not found"}'), "answers 404 Not Found, 'model not found'", "a vlm"),
        (Reply(401), "answers 401 Unauthorized", KEY),
        (Reply(400, b"no pictures"), "answers 400 Bad Request", "(vlm)"),
        (
            Reply(302, b"", {"Location": "http://user:pw@evil.example/?t=secret"}),
            "to evil.example:",
            "(writer)",
        ),
        (Reply(307, b"", {"Location": "/v2/chat/completions"}), "redirects to another path", "(writer)"),
    ],
    ids=["404", "401", "400", "another server", "another path"],
)
def test_refusal_ends_the_batch_at_once(reply: Reply, fault: str, hint: str) -> None:
    with serving(lambda number: reply) as server, pytest.raises(VidsumError, match=fault) as error:
        ask(server)
    assert "0 of 6 frames are described" in error.value.message
    assert "secret" not in str(error.value)
    assert hint in str(error.value.hint)
    assert len(server.requests) <= 4  # none was sent twice


def test_slow_reply_ends_the_batch() -> None:
    with serving(lambda number: Reply(hangs=True)) as server:
        with pytest.raises(VidsumError, match=r"has not answered within 0\.3 s: 0 of 6"):
            ask(server, max_reply_s=0.3)
        assert len(server.requests) <= N_PARALLEL


def test_server_that_cannot_be_reached_ends_the_batch() -> None:
    with serving(lambda number: completion("A dog")) as server:
        pass
    with pytest.raises(VidsumError, match=r"127\.0\.0\.1:\d+ cannot be reached: 0 of 6 frames are described"):
        ask(server)


def test_interrupt_does_not_wait_for_replies() -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with serving(lambda number: completion("A dog") if number == 1 else Reply(hangs=True)) as server:
        with pytest.raises(KeyboardInterrupt):
            describe_frames(model_at(server, 600.0), [FRAMES], 6, interrupt)
        assert server.over.is_set() is False


SECRET = "sk-1234567890/+abc"
ECHOES = {
    "plain": SECRET,
    "quoted": json.dumps(SECRET),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of the header": base64.b64encode(f"Bearer {SECRET}".encode()).decode(),
    "url": urllib.parse.quote(SECRET, safe=""),
    "hex": SECRET.encode().hex(),
    "json": "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    "reversed": SECRET[::-1],
    "spaced": " ".join(SECRET),
    "part": f"{SECRET[:8]}***",
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("status", [302, deep(400), 401, deep(429), deep(500)])
def test_no_echo_of_the_key_is_shown(monkeypatch: pytest.MonkeyPatch, echo: str, status: int) -> None:
    monkeypatch.setenv(KEY, f" {SECRET} ")
    host = re.sub("[^A-Za-z0-9]", "-", echo)
    body = json.dumps({"error": {"message": f"bad key {echo}"}}).encode()
    reply = Reply(status, body, {"Location": f"http://{host}.example/", "Retry-After": "0"})
    with serving(lambda number: reply) as server, pytest.raises(VidsumError) as error:
        ask(server)
    said = f"{error.value.message} {error.value.hint}"
    assert echo not in said
    assert host.lower() not in said.lower()
    assert "bad key" not in said
    assert "elsewhere" in said if status == 302 else str(status) in said


def test_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, f" {SECRET} ")
    with serving(lambda number: completion("A dog")) as server:
        assert ask(server, 1).sentences == ["A dog."]
    assert {headers["Authorization"] for _, headers, _ in server.requests} == {f"Bearer {SECRET}"}


def test_key_of_two_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "two\nlines")
    with serving(lambda number: completion("A dog")) as server, pytest.raises(UsageError, match=KEY):
        ask(server)


def test_another_server_answers_for_itself() -> None:
    """A model of the same name may be another one there."""
    with serving(lambda _: completion("A dog")) as one, serving(lambda _: completion("A cat")) as two:
        sentences = [ask(server, 1).sentences for server in (one, two, one)]
    assert sentences == [["A dog."], ["A cat."], ["A dog."]]
    assert (len(one.requests), len(two.requests)) == (1, 1)


def test_address_with_a_slash_is_the_same_server() -> None:
    with serving(lambda _: completion("A dog")) as server:
        ask(server, 1)
        with_slash = replace(model_at(server), server=f"{server.address}/")
        assert describe_frames(with_slash, [FRAMES[:1]], 1).n_sent == 0


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_frames_for_this_machine_use_no_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(lambda number: completion("A dog")) as server:
        assert ask(server, 1).sentences == ["A dog."]


def test_no_password_of_netrc_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(lambda number: completion("A dog")) as server:
        assert ask(server, 1).sentences == ["A dog."]
    assert "Authorization" not in server.requests[0][1]


def test_offline_a_server_on_this_machine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    with serving(lambda number: completion("A dog")) as server:
        assert ask(server, 1).sentences == ["A dog."]


@pytest.mark.parametrize(
    ("offline", "server", "adapters"),
    [
        ("1", "http://localhost:1/v1", ["http://localhost:1/"]),
        ("1", "http://models.example/v1", []),
        ("0", "http://models.example/v1", ["http://models.example/"]),
    ],
)
def test_session_reaches_its_server_and_offline_this_machine_alone(
    offline: str, server: str, adapters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", offline)
    assert [*Session(server).adapters] == adapters


def test_offline_a_session_without_a_server_reaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    assert [*Session().adapters] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a dog", "A dog."),
        ("<think>Hm, a dog?</think>\n\nA dog runs.", "A dog runs."),
        ("# A *red* `car`\non a road", "A red car on a road."),
        ("“A dog runs.”", "A dog runs."),
        ("\x1b[31mA dog\u202e\ud800 --> runs", "[31mA dog --> runs."),
        ("犬が走る。", "犬が走る。"),
        ("...", ""),
        ("A dog runs. " * 60, "A dog runs. " * 24 + "A dog runs."),
        ("word " * 200, "Word " + "word " * 58 + "word."),
    ],
    ids=[
        "plain",
        "thoughts",
        "Markdown",
        "quotes",
        "control signs",
        "Japanese",
        "no words",
        "many sentences",
        "a long sentence",
    ],
)
def test_reply_becomes_a_sentence(text: str, sentence: str) -> None:
    assert clean(text) == sentence


@pytest.mark.parametrize(("text", "pause_s"), PAUSES.items())
def test_pause_that_a_server_asks_for_is_limited(text: str, pause_s: float) -> None:
    assert parse_pause({"Retry-After": text}) == pause_s
