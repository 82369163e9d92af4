"""Settings of descriptions; fields are options, see `vidsum.options`."""

from dataclasses import dataclass

from vidsum.errors import Mention, UsageError, did_you_mean, fill, is_one_line
from vidsum.grounding.settings import ACTIONS_HELP, SPACE_CHOICE, SPACE_HELP, EmbeddingSpace
from vidsum.io.urls import is_loopback, is_url, split_server
from vidsum.options import Checked, option
from vidsum.times import TIME, parse_every

WRITERS = ("auto", "words", "retrieve")  # writers of descriptions; the address of a server is another
VLM_PROMPT = (
    "Describe this frame of a film in one plain English sentence of at most 20 words, in the present tense. "
    "Say only what can be seen. Do not mention the frame, the picture or the camera."
)


@dataclass(frozen=True, kw_only=True)
class Describing(Checked):
    """Settings of the descriptions."""

    PANEL = "Descriptions"

    every_s: float | None = option(
        "Describe every shot, or a time such as 5s.",
        None,
        above=0,
        flags=("--every",),
        default_text="shot",
        metavar="shot|TIME",
        parse=parse_every,
    )  # None: shots, the long ones split
    writer: str = option(
        "Author of the sentences.",
        "auto",
        metavar="NAME|URL",
        names=WRITERS,
        more="auto: retrieve with --sentences, else words. URL: the model --vlm of that server.",
    )
    vlm: str | None = option(
        "Vision-language model at --writer URL, an OpenAI-compatible server (Ollama, llama.cpp, vLLM).",
        None,
        metavar="MODEL",
    )
    allow_remote: bool = option("Let --writer send frames to another machine.", False)
    vlm_prompt: str = option("Prompt for the model.", VLM_PROMPT, flag_on=())
    vlm_timeout_s: float = option(
        "Maximum time for a reply of the model.",
        300.0,
        above=0,
        flags=("--vlm-timeout",),
        default_text="5m",
        flag_on=(),
        **TIME,
    )
    sentences: str | None = option(
        "Sentences to choose from.",
        None,
        metavar="FILE",
        more="CSV with a column caption, or text with one per line.",
    )
    min_sure: float | None = option(
        "Leave out descriptions of lower confidence.",
        None,
        min=0,
        max=1,
        default_text="by writer, higher with --in-gaps",
    )
    space: EmbeddingSpace = option(SPACE_HELP, "auto", flag_on=(), more=SPACE_CHOICE)
    actions: bool = option(ACTIONS_HELP, True, flag_on=())
    in_gaps: bool = option("Place descriptions in the pauses between speech.", False)
    texts: str | None = option("Use these corrected descriptions (.srt, .vtt).", None, metavar="FILE")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_by_vlm:
            if self.writer not in WRITERS:
                names = f"one of {', '.join(WRITERS)} or the URL of a server"
                near = did_you_mean(self.writer, WRITERS)
                raise UsageError(
                    (Mention("writer"), f" must be {names}, not {self.writer}{near}"), option="writer"
                )
            if self.vlm is not None:
                fault = fill(
                    "{} is a model of a server, and {} does not name one", Mention("vlm"), Mention("writer")
                )
                raise UsageError(fault, hint=Mention("writer", "http://localhost:11434/v1"))
            return
        _, host = split_server(self.writer)
        name = (self.vlm or "").strip()
        if not (name and is_one_line(name)):
            raise UsageError(
                (Mention("writer", "URL"), " needs the name of a model"), hint=Mention("vlm", "MODEL")
            )
        if self.min_sure is not None:
            fault = "a vision-language model gives no confidence"
            raise UsageError(fault, hint=("leave out ", Mention("min_sure")))
        if not is_loopback(host) and not self.allow_remote:
            fault = f"{host} is not this machine, and would get frames of the video"
            raise UsageError(fault, hint=(Mention("allow_remote", True), ", if that is what you want"))

    @property
    def is_by_vlm(self) -> bool:
        """Whether a vision-language model on a server is the writer."""
        return is_url(self.writer)
