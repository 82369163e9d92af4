"""Descriptions spoken by a program, and mixed into a copy of the film."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vidsum.errors import InputError, Mention, OutputError, UsageError, quote, require_type
from vidsum.io.provenance import label_of
from vidsum.outputs.alone import own_record, write_alone
from vidsum.outputs.timelines import reopen_video
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.result import reads_of_results
from vidsum.speech.gaps import MARGIN_S, spoken_forms
from vidsum.speech.speak import Speaker, speak
from vidsum.speech.speak import find_speaker as find_speaker
from vidsum.times import format_timestamp
from vidsum.types import FloatArray, Progress
from vidsum.video.description_track import Spoken, sound_rate, write_described
from vidsum.video.probe import start_offset_s

_WORDS_PER_MINUTE, _PACE_TOLERANCE = 150, 0.02  # just below the limit of `fit_descriptions`


def write_audio_description(
    descriptions: Descriptions,
    path: str | os.PathLike[str],
    speaker: str | Speaker = "espeak-ng",
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Descriptions:
    """Write a copy of the film with descriptions as its second sound track (MP4).

    Pictures and the first sound track are copied. In the second one, the film is 12 dB lower where a
    description is spoken.

    Args:
        descriptions: of `vidsum.describe(path, in_gaps=True)`.
        path: the MP4.
        speaker: `espeak-ng`, `flite`, or a command with the places {text} and {output}.
        overwrite: replace a file that vidsum did not write too.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.

    Returns the descriptions as they are spoken: each ends with its sound, long sentences shortened unless
    people wrote them. Those that do not fit, or that the program cannot speak, are left out, with a warning.
    Raises UsageError: the program is not installed; the descriptions are not of pauses; the film cannot
    be copied into an MP4. InputError: the film is not there any more. OutputError: the program hangs or
    speaks no text at all, or the file cannot be written.
    """
    require_type(descriptions, Descriptions)
    write = partial(speak_descriptions, descriptions, speaker=speaker, progress=progress)
    reads = reads_of_results(descriptions)
    return write_alone(own_record(Path(path)), write, overwrite=overwrite, reads=reads)[0]


def speak_descriptions(
    descriptions: Descriptions, path: Path, speaker: str | Speaker, progress: Progress | None
) -> Descriptions:
    """Write a film with spoken descriptions, whatever is in the way. See `write_audio_description`."""
    if descriptions.gaps is None or descriptions.video is None:
        raise UsageError("only descriptions for pauses can be spoken", hint=Mention("in_gaps", True))
    if isinstance(speaker, str):
        speaker = find_speaker(speaker)
    info = reopen_video(descriptions.video)
    rate = sound_rate(info)
    with TemporaryDirectory() as folder:
        spoken, included, lost = list[Spoken](), list[Description](), list[str]()
        for number, description in enumerate(descriptions.descriptions):
            if progress:
                progress("speaking", number, len(descriptions.descriptions))
            try:
                texts = spoken_forms(description.text, descriptions.writer)
                room_s = _room_s(descriptions, number)
                text, samples = _speak_fitting(texts, room_s, speaker, rate, Path(folder))
            except InputError as error:
                time = format_timestamp(description.start_s + start_offset_s(info))
                lost.append(f"{quote(description.text)} ({time}): {error.message}")
            else:
                np.save(file := Path(folder, f"{number}.npy"), samples)  # all of them would fill the memory
                spoken.append((description.start_s, np.load(file, mmap_mode="r")))
                end_s = description.start_s + len(samples) / rate
                included.append(replace(description, end_s=end_s, text=text))
        if lost and not included:
            raise OutputError(f"{speaker.name} speaks none of the descriptions, such as {lost[0]}")
        written = write_described(
            info, spoken, path, comment=label_of(descriptions.provenance), progress=progress
        )
    more = f", and {len(lost) - 1} more" * (len(lost) > 1)
    losses = [f"not spoken: {lost[0]}{more}"] if lost else []
    return replace(
        descriptions,
        descriptions=tuple(included),
        warnings=(*descriptions.warnings, *written.warnings, *losses),
    )


def _room_s(descriptions: Descriptions, number: int) -> float:
    """Return seconds from a description's start to the next one, or the end of its pause or own time."""
    current = descriptions.descriptions[number]
    ends = [end_s for low_s, end_s in descriptions.gaps or () if low_s <= current.start_s + 1e-6 <= end_s]
    starts = [
        description.start_s - MARGIN_S for description in descriptions.descriptions[number + 1 : number + 2]
    ]
    return min([max([current.end_s, *ends]), *starts]) - current.start_s


def _speak_fitting(
    texts: Iterable[str], room_s: float, speaker: Speaker, rate: int, folder: Path
) -> tuple[str, FloatArray]:
    """Return the first text that fits into the room, and its sound at a pace of people, else InputError."""
    why = InputError("")
    for text in texts:
        try:
            samples = speak(speaker, text, rate, folder)
            aim_s = len(text.split()) * 60 / _WORDS_PER_MINUTE
            if speaker.has_pace and abs(len(samples) / rate / aim_s - 1) > _PACE_TOLERANCE:
                samples = speak(speaker, text, rate, folder, len(samples) / rate / aim_s)
        except InputError as error:
            why = error
            continue
        if len(samples) <= room_s * rate:
            return text, samples
        why = InputError(f"takes {len(samples) / rate:.1f} s, but there are {room_s:.1f} s")
    raise why
