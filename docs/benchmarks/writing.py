"""How long it takes to write a summary, as a ratio to decoding the whole video, all in one run.

python -m docs.benchmarks.writing VIDEO --segments 6 --share 0.15 --repeat 3

"decode cuts" decodes the frames of the segments alone, "x264" encodes them from memory, "sound" decodes and
encodes what is heard in them, as every writer must. Wall and processor seconds, the least of each.
ffmpeg's trim and concat, with the same encoder settings, stands beside where ffmpeg is installed.
"""

import argparse
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import av
from av.video.frame import PictureType

from docs.benchmarks import processor_s
from vidsum.types import Interval, VideoInfo
from vidsum.video.audio import SoundTrack, open_sound
from vidsum.video.copy import copy_segments
from vidsum.video.damage import DecodeLog
from vidsum.video.encoders import choose_encoder
from vidsum.video.probe import probe
from vidsum.video.pyav_reader import decode_frames, open_source, open_video, video_stream
from vidsum.video.segments import in_ticks, segment_frames
from vidsum.video.timing import jumps_of
from vidsum.video.write import write_segments


def even_segments(duration_s: float, n_segments: int, share: float) -> list[Interval]:
    """Segments of one length, spread evenly, that make up a share of the video."""
    length_s, every_s = duration_s * share / n_segments, duration_s / n_segments
    return [
        ((i + 0.5) * every_s - length_s / 2, (i + 0.5) * every_s + length_s / 2) for i in range(n_segments)
    ]


def decode_alone(path: Path) -> None:
    """Decode every frame with all threads, and look at none."""
    with open_video(path) as container:
        for _ in decode_frames(container, video_stream(container, path)):
            pass


def frames_of(info: VideoInfo, segments: Sequence[Interval]) -> list[av.VideoFrame]:
    """The decoded frames of the segments."""
    with open_source(info) as container:
        stream = video_stream(container, info.path)
        ticks = in_ticks(segments, stream.time_base or Fraction(1))
        frames = segment_frames(container, stream, ticks, jumps_of(info), DecodeLog())
        return [each.decoded.frame for each in frames]


def encode_alone(frames: Sequence[av.VideoFrame], info: VideoInfo, target: Path) -> None:
    """Encode pictures with the writer's settings."""
    choice = choose_encoder("h264", None, None, None, (info.display_width, info.display_height))
    rate = Fraction(info.fps).limit_denominator(1001)
    with av.open(str(target), "w") as output:
        stream = cast(av.VideoStream, output.add_stream("libx264", rate=rate, options=choice.options))
        stream.width, stream.height, stream.pix_fmt = frames[0].width, frames[0].height, "yuv420p"
        for number, frame in enumerate(frames):
            frame.pts, frame.time_base, frame.pict_type = number, 1 / rate, PictureType.NONE
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def write_sound(info: VideoInfo, segments: Sequence[Interval], target: Path) -> None:
    """The sound of the segments, without pictures."""
    end_s = Fraction(0)
    with open_sound(info, jumps_of(info)) as sound, av.open(str(target), "w") as output:
        if sound is None:
            return
        track = SoundTrack(sound, output)
        for start, end in segments:
            track.start_segment(Fraction(start), end_s)
            end_s += Fraction(end) - Fraction(start)
            track.end_segment(end_s)
        track.finish()


def write_with_ffmpeg(info: VideoInfo, segments: Sequence[Interval], target: Path) -> None:
    """The same segments with ffmpeg's trim, atrim and concat filters."""
    chains, labels = [], ""
    for number, (start, end) in enumerate(segments):
        chains.append(f"[0:v]trim={start}:{end},setpts=PTS-STARTPTS[v{number}]")
        labels += f"[v{number}]"
        if info.has_audio:
            chains.append(f"[0:a]atrim={start}:{end},asetpts=PTS-STARTPTS[a{number}]")
            labels += f"[a{number}]"
    outputs = "[v][a]" if info.has_audio else "[v]"
    chains.append(f"{labels}concat=n={len(segments)}:v=1:a={int(info.has_audio)}{outputs}")
    maps = ["-map", "[v]", *(["-map", "[a]"] if info.has_audio else [])]
    command = ["ffmpeg", "-v", "error", "-y", "-i", info.path, "-filter_complex", ";".join(chains), *maps]
    subprocess.run([*command, "-preset", "veryfast", "-crf", "20", str(target)], check=True)


def frames_in(path: Path) -> int:
    """Frames that a file shows."""
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios, and how many frames each way has written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("video", type=Path)
    parser.add_argument("--segments", type=int, default=6)
    parser.add_argument("--share", type=float, default=0.15)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    info = probe(options.video)
    segments = even_segments(info.duration_s, options.segments, options.share)
    with TemporaryDirectory() as folder:
        targets = {
            name: Path(folder) / f"{name}.mp4" for name in ("write", "x264", "sound", "copy", "ffmpeg")
        }
        frames = frames_of(info, segments)
        runs: dict[str, Callable[[], object]] = {
            "decode": lambda: decode_alone(options.video),
            "write": lambda: write_segments(options.video, segments, targets["write"]),
            "decode cuts": lambda: frames_of(info, segments),
            "x264": lambda: encode_alone(frames, info, targets["x264"]),
            "sound": lambda: write_sound(info, segments, targets["sound"]),
            "copy": lambda: copy_segments(options.video, segments, targets["copy"]),
        }
        if shutil.which("ffmpeg"):
            runs["ffmpeg"] = lambda: write_with_ffmpeg(info, segments, targets["ffmpeg"])
        else:
            print("ffmpeg is not installed: its row is left out")
        seconds = dict.fromkeys(runs, (float("inf"), float("inf")))
        for _ in range(options.repeat):
            for name, run in runs.items():
                begin, begin_processor = time.perf_counter(), processor_s()
                run()
                wall_s, used_s = seconds[name]
                spent = time.perf_counter() - begin, processor_s() - begin_processor
                seconds[name] = min(wall_s, spent[0]), min(used_s, spent[1])
        length_s = sum(end - start for start, end in segments)
        print(f"{len(segments)} segments, {length_s:.1f} s of {info.duration_s:.1f} s")
        print(f"{'':11} {'wall':>9}  {'ratio':>5} {'processor':>11}")
        for name, (wall_s, used_s) in seconds.items():
            shows = name in targets and name != "sound"
            written = f"{frames_in(targets[name]):6} frames written" if shows else ""
            ratio = wall_s / seconds["decode"][0]
            print(f"{name:11} {wall_s:7.2f} s  {ratio:5.2f} {used_s:9.2f} s  {written}")


if __name__ == "__main__":
    main()
