"""Writing results as pictures: storyboards with key frames, contact sheets, plots."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np

from vidsum.errors import require_type
from vidsum.io.atomic import as_utf8
from vidsum.io.provenance import label_of
from vidsum.outputs.alone import PathLike, write_public
from vidsum.outputs.artifacts import Writer
from vidsum.outputs.timelines import result_video
from vidsum.results.clock import to_player_time
from vidsum.results.cut_list import cuts_of
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import load_text_for
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.times import format_time
from vidsum.types import Picture
from vidsum.video.frames import Frame, LongSide
from vidsum.video.probe import start_offset_s
from vidsum.video.read import read_frames_at


def write_storyboard(summary: Summary, path: PathLike, folder: PathLike, *, overwrite: bool = False) -> None:
    """Draw a summary's key frames, one a segment, on one PNG, and write each as JPEG into a folder.

    Descriptions of the video next to the PNG (`vidsum describe`) appear under the pictures.

    Raises UsageError: the summary is of features made elsewhere. InputError: the video is not there any more.
    OutputError: a file is in the way (`overwrite` replaces it), or cannot be written.
    """
    require_type(summary, Summary)
    files = {"storyboard": Path(path), "key_frames": Path(folder)}
    write_public(summary, files, storyboard_writers(), overwrite=overwrite)


def storyboard_writers() -> dict[str, Writer]:
    """Return the writers of a storyboard and of its key frames, which are decoded once."""
    decoded = list[Frame]()

    def key_frames(summary: Summary) -> list[Frame]:
        if not decoded:
            decoded.extend(read_frames_at(result_video(summary), choose_key_frames(summary)))
        return decoded

    def write_board(summary: Summary, path: Path) -> tuple[str, ...]:
        from vidsum.summary.storyboard import save_picture, storyboard

        descriptions = load_text_for(path, summary.video, Descriptions) if summary.video else None
        frames = key_frames(summary)
        captions = [descriptions.at(frame.time_s) for frame in frames] if descriptions else ()
        board = storyboard(to_player_time(summary), [frame.image for frame in frames], captions)
        save_picture(board, path, label_of(summary.provenance))
        return ()

    def write_frames(summary: Summary, folder: Path) -> tuple[str, ...]:
        from vidsum.summary.storyboard import save_key_frames

        frames = key_frames(summary)
        save_key_frames([frame.image for frame in frames], [frame.time_s for frame in frames], folder)
        return ()

    return {"storyboard": write_board, "key_frames": write_frames}


_SMALL_SIDE = 320  # pixels of a picture that may be a key frame


def choose_key_frames(summary: Summary) -> list[float]:
    """Return the time of the key frame of each segment: a whole face comes first, then the sharpest picture.

    Raises the errors of `write_storyboard`.
    """
    from vidsum.crop.faces import load_face_detector
    from vidsum.summary.storyboard import key_frame_candidates
    from vidsum.video.changes import sharpness

    detect = load_face_detector()

    def rank(picture: Picture) -> tuple[bool, float]:
        sides = detect(picture)[:, :4]
        is_whole = bool(((sides > 0) & (sides < 1)).all(axis=1).any())
        grey: Picture = picture.mean(axis=2).astype(np.uint8)
        return is_whole, sharpness(grey)

    candidates = key_frame_candidates(summary)
    frames = iter(read_frames_at(result_video(summary), [*chain(*candidates)], LongSide(_SMALL_SIDE)))
    ranked = [[(rank(next(frames).image), time_s) for time_s in times] for times in candidates]
    return [max(of_segment)[1] for of_segment in ranked]


_MAX_PICTURES = 120
_SHEET_SIDE = 320  # pixels of a picture on a contact sheet


def draw_sheet(result: Grounding | Highlights | Shots, path: Path) -> tuple[str, ...]:
    """Write a contact sheet of moments or shots as PNG: a picture from the middle of each, the first 120.

    Raises UsageError: the result is of features. InputError: the video is not there any more. OutputError:
    the file cannot be written.
    """
    from vidsum.summary.storyboard import contact_sheet, save_picture

    video, cuts = result_video(result), cuts_of(result)
    pictured, length = cuts[:_MAX_PICTURES], format_time(video.duration_s)
    times = [(cut.start_s + cut.end_s) / 2 for cut in pictured]
    size = LongSide(min(_SHEET_SIDE, max(video.display_width, video.display_height)))
    images = [frame.image for frame in read_frames_at(video, times, size)]
    facts = (
        f"{result.kind}: {f'{len(pictured)} of ' if cuts[len(pictured) :] else ''}{len(cuts)}, of {length}"
    )
    header, captions = (as_utf8(Path(video.path).name), facts), [cut.label for cut in pictured]
    begin_s, played = start_offset_s(video), cuts_of(to_player_time(result))[: len(pictured)]
    end_s = begin_s + video.duration_s
    sheet = contact_sheet(header, played, images, captions, [(begin_s, end_s)], end_s)
    save_picture(sheet, path, label_of(result.provenance))
    return ()


def write_plot(
    result: Summary | Grounding | Highlights, path: PathLike, *, overwrite: bool = False
) -> tuple[str, ...]:
    """Plot a result as PNG or SVG by the suffix, and return warnings.

    Raises OutputError: a file is in the way (`overwrite` replaces it), or cannot be written.
    """
    require_type(result, Summary, Grounding, Highlights)
    return write_public(result, {"plot": Path(path)}, {"plot": draw_plot}, overwrite=overwrite)


def draw_plot(result: Summary | Grounding | Highlights, path: Path) -> tuple[str, ...]:
    """Plot a result, whatever is in the way. See `write_plot`."""
    result = to_player_time(result)
    if isinstance(result, Grounding | Highlights):
        from vidsum.grounding.plot import moments_plot

        return moments_plot(result, path)
    from vidsum.summary.storyboard import importance_plot

    importance_plot(result, path)
    return ()
