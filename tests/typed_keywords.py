"""Python keywords for a type checker: `mypy --strict tests/typed_keywords.py`.

An `ignore` that is not needed is an error, so mypy must refuse each of these lines.
"""

import vidsum


def wrong() -> None:
    """Wrong values, and a wrong name."""
    vidsum.ground("film.mp4", "a dog", space="clipp")  # type: ignore[arg-type]
    vidsum.summarize("film.mp4", snap="kts")  # type: ignore[arg-type]
    vidsum.summarize("film.mp4", max_shot=3)  # type: ignore[call-arg]
    vidsum.find_shots("film.mp4", max_shots="3")  # type: ignore[arg-type]
    vidsum.find_highlights("film.mp4", reader="ffmpeg")  # type: ignore[arg-type]
    vidsum.extract("film.mp4", fps="2")  # type: ignore[arg-type]
    vidsum.transcribe("film.mp4", translate="yes")  # type: ignore[arg-type]
    vidsum.ground("film.mp4", "a dog", evidence="picturs")  # type: ignore[arg-type]


def right() -> None:
    """Allowed values: lists, and a single text."""
    vidsum.summarize("film.mp4", "20%", keep=[(1.0, 2.0)], about=["a dog"], fps=2.0)
    vidsum.summarize("film.mp4", 0.2, shots="uniform", drop=((0.0, 1.0),))
    vidsum.ground("film.mp4", ["a dog", "snow"], 1, space="vse")
