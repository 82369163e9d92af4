"""`vidsum describe --in-gaps` on films in which somebody speaks: does it keep to the pauses?

    python -m docs.benchmarks.described_films FOLDER captions.csv.gz [--speak espeak-ng]

Five films of joined clips (docs.benchmarks.joined) get LJ Speech's recordings of ../shared/speech, in random
order with pauses of .5 to 9 s, over the clips' own tones at a tenth of their level. Where somebody speaks is
known: where a recording is above -40 dB for 10 ms, pauses of up to .5 s included. The least confidence is 0.
"""

import random
from itertools import pairwise
from pathlib import Path

import av
import numpy as np

from docs.benchmarks import argument_parser, shared_s
from docs.benchmarks.joined import composite
from tests.conftest import SHARED
from vidsum.pipelines.description import describe
from vidsum.pipelines.spoken import write_spoken
from vidsum.speech.gaps import LEAST_S, WORDS_A_MINUTE
from vidsum.types import FloatArray, Interval
from vidsum.video.audio import open_sound
from vidsum.video.jumps import Jumps

RATE, _FRAME, _QUIET, _JOIN_S = 16_000, 160, 0.01, 0.5


def samples_of(path: Path, seconds: float = 200.0) -> FloatArray:
    """[N] mono."""
    with open_sound(path, Jumps(), RATE) as source:
        assert source is not None
        return source.read(0, round(seconds * RATE))[0]


def speaking(samples: FloatArray) -> list[Interval]:
    """Where samples are loud, in frames of 10 ms."""
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    loud = np.flatnonzero(np.sqrt((frames**2).mean(axis=1)) > _QUIET) * _FRAME / RATE
    breaks = np.flatnonzero(np.diff(loud) > _JOIN_S)
    starts, ends = [loud[0], *loud[breaks + 1]], [*loud[breaks], loud[-1]]
    return [(float(low), float(high)) for low, high in zip(starts, ends, strict=True)]


def talking_film(folder: Path, seed: int) -> tuple[Path, list[Interval], float]:
    """A film with speech, when somebody speaks in it, and its length."""
    film, truth = composite(folder, "all", 120, seed)
    target, rng = folder / f"talking_{seed}.mp4", random.Random(seed)
    recordings = sorted((SHARED / "speech").glob("LJ*.flac"))
    rng.shuffle(recordings)
    voice, at = np.zeros(round(truth.duration_s * RATE), np.float32), rng.uniform(0, 4)
    for path in recordings:
        heard = np.trim_zeros(samples_of(path, 20))
        first = round(at * RATE)
        if first + len(heard) >= len(voice):
            break
        voice[first : first + len(heard)] += heard
        at += len(heard) / RATE + rng.uniform(0.5, 9)
    sound = np.clip(voice + 0.1 * samples_of(film, truth.duration_s)[: len(voice)], -1, 1)
    with av.open(str(film)) as source, av.open(str(target), "w") as box:
        pictures = box.add_stream_from_template(source.streams.video[0])
        track = box.add_stream("aac", rate=RATE, layout="mono")
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = pictures
                box.mux(packet)
        frame = av.AudioFrame.from_ndarray(sound[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = RATE, 0
        box.mux([*track.encode(frame), *track.encode(None)])
    return target, speaking(voice), truth.duration_s


def main() -> None:
    """Print a row per film."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("sentences")
    parser.add_argument("--speak")
    options = parser.parse_args()
    print("| film | pauses | descriptions | words | over speech | words per minute, at most | found pauses |")
    for seed in range(5):
        film, speech, duration_s = talking_film(options.folder, seed)
        found = describe(film, sentences=options.sentences, min_sure=0, in_gaps=True)
        if options.speak:
            found = write_spoken(found, film.with_name(f"{film.stem}_described.mp4"), options.speak)
        said = [(one.start_s, one.end_s) for one in found.descriptions]
        words = [len(one.text.split()) for one in found.descriptions]
        over = sum(n for n, one in zip(words, said, strict=True) if shared_s([one], speech) > 0)
        rates = [60 * n / (end - start) for n, (start, end) in zip(words, said, strict=True)]
        edges = [(0.0, 0.0), *speech, (duration_s, duration_s)]
        pauses = [(a[1], b[0]) for a, b in pairwise(edges) if b[0] - a[1] >= LEAST_S]
        hit = sum(any(shared_s([pause], [gap]) for gap in found.gaps or ()) for pause in pauses)
        print(
            f"| {film.stem} | {len(pauses)} | {len(said)} | {sum(words)} | {over} |",
            f"{max(rates, default=0):.0f} (bound {WORDS_A_MINUTE}) | {hit} |",
            *found.warnings,
        )


if __name__ == "__main__":
    main()
