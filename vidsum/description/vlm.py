"""Sentences from a vision-language model of the user's choice, on a server that takes OpenAI's requests.

POST {server}/chat/completions with a prompt and a picture as a `data:` URL, as Ollama, llama.cpp and vLLM
answer it. Each sentence is cached when it comes, by server, model, prompt and picture. A key, where the
server wants one, is in the environment (`KEY`) and nowhere else: no text of a server that got it is shown, as
it may repeat the key in some form.
"""

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from vidsum.description.writers import tidy
from vidsum.errors import InputError, Mention, Text, UsageError, VidsumError, fill, printable, quote
from vidsum.io.cache import find_bytes, store_bytes
from vidsum.io.network import ATTEMPTS, PAUSE_S, TIMEOUTS_S, Session, failure_reason, status_text
from vidsum.io.text import parse_json
from vidsum.types import Progress

KEY: Final = "VIDSUM_DESCRIBE_VLM_KEY"  # the environment variable with the server's API key
N_PARALLEL = 4  # requests at a time
_MAX_TOKENS = 1000  # of a reply: a sentence, and what some models think before it
_MAX_LETTERS = 300  # of a sentence
_MAX_BYTES = 1 << 20  # of a reply
_MAX_PAUSE_S = 30.0  # before another attempt, whatever the server asks for
_MAX_FAULTS = 3  # frames in a row without a sentence: the others are not sent
_FOLDER = "answers"  # in the cache
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_HINTS: dict[int, Text] = {
    401: f"the server's key in the variable {KEY}",
    403: f"the server's key in the variable {KEY}",
    404: fill(
        "{} with the path too, such as http://localhost:11434/v1, and a {} that the server has",
        Mention("writer"),
        Mention("vlm"),
    ),
}


@dataclass(frozen=True)
class VisionModel:
    """A model on a server, and its prompt."""

    server: str  # http://localhost:11434/v1
    name: str
    prompt: str
    max_reply_s: float  # for one frame
    use_cache: bool = True

    @property
    def host(self) -> str:
        """The server's name and port."""
        return urlsplit(self.server).netloc


@dataclass
class Replies:
    """Sentences about frames, in their order; empty where the model gave none."""

    sentences: list[str] = field(default_factory=list)
    n_sent: int = 0  # frames that were sent: the others were in the cache
    faults: list[str] = field(default_factory=list)  # why some frames have no sentence


@dataclass(eq=False)
class _FaultError(Exception):
    """There is no sentence."""

    reason: str
    hint: Text = "run the same command again once it answers"
    is_passing: bool = False  # whether another attempt may bring it
    is_final: bool = False  # whether no frame has one
    pause_s: float = 0.0  # before another attempt

    def __str__(self) -> str:
        return self.reason


_Answer = str | _FaultError


def describe_frames(
    model: VisionModel, blocks: Iterable[Sequence[bytes]], n_frames: int, progress: Progress | None = None
) -> Replies:
    """Ask the model about frames (JPEG), which come in blocks, `N_PARALLEL` at a time.

    Raises VidsumError: the server cannot be reached, refuses, does not answer in time, or gives no sentence
    for several frames in a row. The sentences that came before are in the cache.
    """
    replies, n_in_row = Replies(), 0
    with closing(_Client(model)) as client:
        for block in blocks:
            answers: dict[bytes, _Answer] = {frame: text for frame in block if (text := client.find(frame))}
            missing = [frame for frame in dict.fromkeys(block) if frame not in answers]
            for frame, answer in client.ask_all(missing):
                answers[frame] = answer
                n_done = len(replies.sentences) + len(answers)
                n_in_row = 0 if isinstance(answer, str) else n_in_row + 1
                if isinstance(answer, _FaultError):
                    replies.faults.append(str(answer))
                    if answer.is_final or n_in_row == _MAX_FAULTS:
                        raise _give_up(model, answer, n_done - len(replies.faults), n_frames)
                if progress:
                    progress(f"frames described by {model.host}", n_done, n_frames)
            replies.n_sent += len(missing)
            said = (answers[frame] for frame in block)
            replies.sentences += (answer if isinstance(answer, str) else "" for answer in said)
    if replies.faults and not any(replies.sentences):
        raise VidsumError(f"{model.host} {replies.faults[0]}")
    return replies


def _give_up(model: VisionModel, fault: _FaultError, n_described: int, n_frames: int) -> VidsumError:
    where = " and in the cache" if n_described and model.use_cache else ""
    done = f"{n_described} of {n_frames} frames are described{where}"
    error = VidsumError(f"{model.host} {fault}: {done}", fault.hint)
    error.ends_batch = True
    return error


class _Client:
    """Connections to a server, and threads that use them."""

    def __init__(self, model: VisionModel) -> None:
        self._model, self._headers = model, _authorization()
        self._pool, self._stop = ThreadPoolExecutor(N_PARALLEL), Event()
        self._sessions = [Session(model.server) for _ in range(N_PARALLEL)]
        self._free = SimpleQueue[Session]()
        for session in self._sessions:
            self._free.put(session)

    def find(self, frame: bytes) -> str | None:
        """Return the sentence about a frame from the cache."""
        content = find_bytes(_FOLDER, self._key(frame)) if self._model.use_cache else None
        return None if content is None else content.decode()

    def _key(self, frame: bytes) -> dict[str, Any]:
        picture = hashlib.sha256(frame).hexdigest()
        model = self._model
        server = model.server.rstrip("/")
        return {"server": server, "model": model.name, "prompt": model.prompt, "frame": picture}

    def ask_all(self, frames: Iterable[bytes]) -> Iterator[tuple[bytes, _Answer]]:
        """Yield the frames with their answers as these come."""
        futures = {self._pool.submit(self._ask, frame): frame for frame in frames}
        for future in as_completed(futures):
            yield futures[future], future.result()

    def close(self) -> None:
        """Break off what is under way: after an error or an interrupt, nothing waits for a slow server."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for session in self._sessions:
            session.abort()
            session.close()

    def _ask(self, frame: bytes) -> _Answer:
        """Return the sentence about a frame, or why there is none, after some attempts."""
        session = self._free.get()
        try:
            for attempt in count(1):
                try:
                    sentence = self._request(session, frame)
                    break
                except _FaultError as fault:
                    if attempt == ATTEMPTS or not fault.is_passing or self._stop.is_set():
                        return fault
                    self._stop.wait(max(fault.pause_s, PAUSE_S * 2**attempt))
        finally:
            self._free.put(session)
        if self._model.use_cache:
            store_bytes(_FOLDER, self._key(frame), sentence.encode())
        return sentence

    def _request(self, session: Session, frame: bytes) -> str:
        limit_s = self._model.max_reply_s
        try:
            response, content = session.within(limit_s, lambda: self._post(session, frame))
        except (TimeoutError, requests.ReadTimeout):
            hint = ("a smaller model, or a longer ", Mention("vlm_timeout_s"))
            raise _FaultError(f"has not answered within {limit_s:g} s", hint, is_final=True) from None
        except requests.RequestException as error:
            raise _FaultError(failure_reason(error), is_passing=True, is_final=True) from None
        if response.status_code != requests.codes.ok:
            raise self._refusal(response, content)
        return read_sentence(content)

    def _post(self, session: Session, frame: bytes) -> tuple[requests.Response, bytes]:
        picture = f"data:image/jpeg;base64,{base64.b64encode(frame).decode()}"
        parts = [
            {"type": "text", "text": self._model.prompt},
            {"type": "image_url", "image_url": {"url": picture}},
        ]
        body = {
            "model": self._model.name,
            "messages": [{"role": "user", "content": parts}],
            "temperature": 0,
            "max_tokens": _MAX_TOKENS,
            "stream": False,
        }
        content = b""
        with session.post(
            f"{self._model.server.rstrip('/')}/chat/completions",
            json=body,
            auth=self._authorize,
            timeout=(TIMEOUTS_S[0], self._model.max_reply_s),
            stream=True,
            allow_redirects=False,
        ) as response:
            for chunk in response.iter_content(_MAX_BYTES):
                content += chunk
                if len(content) > _MAX_BYTES:
                    break
        return response, content

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the key; without this function, requests would send a password of ~/.netrc."""
        request.headers.update(self._headers)
        return request

    def _refusal(self, response: requests.Response, content: bytes) -> _FaultError:
        status, has_key = response.status_code, bool(self._headers)
        reason = f"answers {status_text(status)}"
        if (message := _error_message(content)) and not has_key:
            reason += f", {quote(message)}"
        if status in (requests.codes.too_many_requests, requests.codes.request_timeout) or status >= 500:
            return _FaultError(reason, is_passing=True, pause_s=parse_pause(response.headers))
        if response.is_redirect:
            host = urlsplit(response.headers["Location"]).hostname
            reason = "redirects elsewhere" if has_key else f"redirects to {host or 'another path'}"
        hint = _HINTS.get(
            status, fill("another address ({}) or model ({})", Mention("writer"), Mention("vlm"))
        )
        return _FaultError(reason, hint, is_final=True)


def _authorization() -> dict[str, str]:
    """Return the header with the key of the environment, if there is one."""
    key = os.environ.get(KEY, "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{KEY} is not a key: it holds other characters than letters, digits and signs")
    return {"Authorization": f"Bearer {key}"}


def parse_pause(headers: Mapping[str, str]) -> float:
    """Return the seconds for which a server wants no request, within limits; 0 if it does not say."""
    text = headers.get("Retry-After", "").strip()
    return min(float(text), _MAX_PAUSE_S) if re.fullmatch(r"[0-9]{1,9}([.][0-9]{1,9})?", text) else 0.0


def read_sentence(content: bytes) -> str:
    """Return the sentence of a reply, as it is printed. Raises an error: it is malformed, or has none."""
    try:
        text = parse_json(content.decode(), "it")["choices"][0]["message"]["content"]
    except (InputError, UnicodeDecodeError, LookupError, TypeError):
        raise _FaultError("answers with something else than a chat completion", is_passing=True) from None
    sentence = clean(text) if isinstance(text, str) else ""
    if not sentence:
        raise _FaultError("answers without a sentence")
    return sentence


def clean(text: str) -> str:
    """Return a model's text as a sentence: one line, without thoughts, Markdown and quotes, not too long."""
    text = "".join(letter if printable(letter) == letter else " " for letter in _THOUGHTS.sub(" ", text))
    text = tidy(re.sub(r"[*`]+|^\s*#+", "", text).strip().strip("\"'“”"))
    if len(text) <= _MAX_LETTERS:
        return text
    whole, stop, _ = text[:_MAX_LETTERS].rpartition(". ")
    return whole + stop.strip() if stop else tidy(text[:_MAX_LETTERS].rpartition(" ")[0])


def _error_message(content: bytes) -> str:
    """Return the text of an error, as servers word it; empty where there is none."""
    with suppress(InputError, UnicodeDecodeError, LookupError, TypeError):
        error = parse_json(content.decode(), "it")["error"]
        text = error if isinstance(error, str) else error["message"]
        return " ".join(text.split()) if isinstance(text, str) else ""
    return ""
