"""How fast, how complete and how right a search through an archive is.

    python -m docs.benchmarks.archive speed FILE [--hours 1000] [--stored 1000]
    python -m docs.benchmarks.archive answers FILE FILMS [--ask odd]

`speed` fills FILE, once, with simulated videos of half an hour: shots of five of the shared clips each, with
noise of their own, in rows (half the deviation of photographs) and in the logarithms of class probabilities
(.4). It then times whole processes, and compares what is found first with an exact look at every clip.
`answers` indexes the shared clips and the films that docs.benchmarks.grounding joins of them, and counts how
often the right clip and the right moment (IoU .5) are among the first, beside `ground` on each file ranked by
`present`, and file names. Intervals are of a bootstrap over clips, 95 per cent.
"""

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import intervals
from docs.benchmarks.joined import HALVES, KINDS, embed, known_clips, names_of
from vidsum.archive.archive import Archive
from vidsum.archive.index import _axes
from vidsum.archive.packed import Records, clip_type, pack_clips, pack_pieces, rows_of, set_rows, unpack_clips
from vidsum.archive.store import Database, connect, made_from, space_of
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.find import Request, locate
from vidsum.grounding.presence import evidence, probabilities
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.intervals import iou
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray, Interval
from vidsum.video.probe import probe

IntArray = npt.NDArray[np.int64]
_HALF_HOUR = 1800
_SHOT = 6
"""Seconds of a simulated shot, on average."""
_SCENES = 5
"""Clips that a simulated video is made of."""
_ROW_NOISE, _LOG_NOISE = 0.5, 7
"""Deviations: of the cohort's, and in steps of 0.054 of a logarithm (.4)."""
_MOST_INDEXED = 100_000
"""Rows of which usearch makes an index: it takes minutes."""
_TEXTS = ("a dog", "a guitar", "a bicycle in the street", "someone cooks in a kitchen", "a beach")
_CUTS = (1, 5, 10)


def simulated(
    real: Records, videos: IntArray, rng: np.random.Generator, factor: FloatArray
) -> tuple[Records, IntArray]:
    """The clips of half an hour, and where its shots begin: runs of clips of one of the real videos, which
    `videos` numbers, with noise for each shot.
    """
    lengths = rng.integers(_SHOT - 2, _SHOT + 3, size=_HALF_HOUR // _SHOT)
    most = _SHOT + 2
    whole = np.flatnonzero(videos[: -most + 1] == videos[most - 1 :])
    whole = whole[np.isin(videos[whole], rng.choice(videos.max() + 1, _SCENES, replace=False))]
    firsts = whole[rng.integers(len(whole), size=len(lengths))]
    starts = np.cumsum(lengths) - lengths
    within = np.arange(lengths.sum()) - np.repeat(starts, lengths)
    clips = real[np.repeat(firsts, lengths) + within]
    noise = rng.normal(size=(len(lengths), len(factor))).astype(np.float32) @ (_ROW_NOISE * factor)
    set_rows(clips, unit_rows(rows_of(clips) + np.repeat(noise, lengths, axis=0)))
    steps = np.rint(rng.normal(size=(len(lengths), clips["classes"].shape[1])) * _LOG_NOISE).astype(np.int16)
    clips["classes"] = (clips["classes"] + np.repeat(steps, lengths, axis=0)).clip(0, 255)
    return clips, starts


def fill(file: Path, hours: int, stored: int) -> None:
    """Make an archive of simulated videos, and rows of their shots [N, D] beside it, unless they are there.

    The clips of `stored` hours are written. Videos after those have records of their own, made of the
    records of one of the first with noise, and share its clips: a search reads as much, in less space.
    """
    if file.exists():
        return
    names, rng = name_embeddings(EXTRACTOR), np.random.default_rng(0)
    packed = [pack_clips(embed(Path(clip["file"]), "vse", "auto")) for clip in known_clips()]
    real, videos = np.concatenate(packed), np.repeat(np.arange(len(packed)), [len(each) for each in packed])
    factor = load_map().tensors["cohort.weight"].T
    connection, kept = connect(file, create=True), list[tuple[int, bytes, Records]]()
    shape = (2 * stored * (_HALF_HOUR // _SHOT), factor.shape[1])
    rows = np.lib.format.open_memmap(file.with_suffix(".npy"), "w+", np.float32, shape)
    for number in range(2 * hours):
        with connection.transaction():
            if number < 2 * stored:
                kept.append(_store(connection, simulated(real, videos, rng, factor), names, rows, number))
            first, edges, pieces = kept[number % len(kept)]
            if number >= 2 * stored:
                pieces = pieces.copy()
                noise = rng.normal(size=pieces["row"].shape) * np.std(pieces["row"]) * _ROW_NOISE
                pieces["row"] = np.rint(pieces["row"] + noise).clip(-127, 127)
            n_shots = shape[0] // stored // 2
            facts = (number + 1, str(number), 0, float(_HALF_HOUR), 1, 0.0, edges, first, n_shots)
            columns = "id, sha256, bytes, duration_s, space, added_s, edges, first_shot, n_shots, scan"
            marks = ", ".join("?" * 10)
            connection.execute(f"INSERT INTO videos ({columns}) VALUES ({marks})", (*facts, pieces.tobytes()))
            connection.execute(
                "INSERT INTO files VALUES (?, ?, 0, 0, NULL)",
                (f"/simulated/{number:05}.mp4".encode(), number + 1),
            )
    connection.close()


def _store(
    connection: Database, video: tuple[Records, IntArray], names: FloatArray, rows: FloatArray, number: int
) -> tuple[int, bytes, Records]:
    """Write the shots of a video; its first shot, edges and records of pieces."""
    clips, starts = video
    unpacked = unpack_clips(clips, names, float(len(clips)), 1.0)
    _, axes = space_of(connection, made_from(), rows.shape[1], _axes)
    bounds = [*starts.tolist(), len(clips)]
    first = 1 + number * len(starts)
    for place, (start, end) in enumerate(pairwise(bounds)):
        values = (first + place, start, end, clips[start:end].tobytes())
        connection.execute("INSERT INTO shots VALUES (?, ?, ?, ?)", values)
    means = np.add.reduceat(unpacked.rows, starts) / np.diff(bounds)[:, None]
    rows[first - 1 : first - 1 + len(starts)] = unit_rows(np.asarray(means, np.float32))
    return first, np.array(bounds, np.float64).tobytes(), pack_pieces(unpacked, starts, axes)


_LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
"""A small process: one that is started by a large one counts its memory too."""


def timed(command: Sequence[str]) -> list[float]:
    """Seconds, seconds of processors and MiB of a process."""
    answer = subprocess.run([sys.executable, "-c", _LAUNCHER, *command], check=True, capture_output=True)
    return [float(number) for number in answer.stdout.split()]


def exact(file: Path, vectors: FloatArray) -> FloatArray:
    """[M, V] evidence of each query in each video, by a look at every clip."""
    connection, names = connect(file, create=False), name_embeddings(EXTRACTOR)
    found = []
    for first, count, duration_s in connection.execute(
        "SELECT first_shot, n_shots, duration_s FROM videos ORDER BY id"
    ).fetchall():
        query = "SELECT clips FROM shots WHERE id >= ? AND id < ? ORDER BY id"
        content = b"".join(row[0] for row in connection.execute(query, (first, first + count)))
        records = np.frombuffer(content, clip_type(vectors.shape[1], len(names)))
        found.append(evidence(unpack_clips(records, names, duration_s, 1.0), vectors))
    return np.stack(found, axis=1)


_ENCODED = """
import sqlite3, sys
import numpy as np
from vidsum.grounding.text import load_text_encoder
vector = load_text_encoder("minilm", "cpu").encode([sys.argv[2]])[0]
"""
_PLAIN = {
    "NumPy": """
rows = np.load(sys.argv[1] + ".npy", mmap_mode="r")
print(np.argsort(-(rows @ vector))[:20])
""",
    "SQLite alone, a row at a time": """
rows = sqlite3.connect(sys.argv[1] + ".db").execute("SELECT id, row FROM shots")
print(sorted((-float(np.frombuffer(row, np.float32) @ vector), number) for number, row in rows)[:20])
""",
    "usearch, exact": """
from usearch.index import MetricKind, search
print(search(np.load(sys.argv[1] + ".npy", mmap_mode="r"), vector, 20, MetricKind.IP, exact=True).keys)
""",
    "usearch, HNSW (i8)": """
from usearch.index import Index
print(Index.restore(sys.argv[1] + ".usearch", view=True).search(vector, 20).keys)
""",
}
"""Cosines with a float32 row per shot, without classes, presence or edges: what each would do alone."""


def prepare(rows: FloatArray, stem: str) -> None:
    """Write the rows for SQLite, and an index for usearch if it is installed and there is time for it."""
    if not Path(f"{stem}.db").exists():
        with sqlite3.connect(f"{stem}.db") as connection:
            connection.execute("CREATE TABLE shots (id INTEGER PRIMARY KEY, row BLOB)")
            packed = ((number, row.tobytes()) for number, row in enumerate(rows))
            connection.executemany("INSERT INTO shots VALUES (?, ?)", packed)
        connection.close()
    if find_spec("usearch") and not Path(f"{stem}.usearch").exists() and len(rows) <= _MOST_INDEXED:
        from usearch.index import Index

        began, index = time.perf_counter(), Index(ndim=rows.shape[1], metric="ip", dtype="i8")
        index.add(np.arange(len(rows)), np.asarray(rows))
        index.save(f"{stem}.usearch")
        print(f"usearch: an index of {len(rows)} rows took {time.perf_counter() - began:.0f} s")


def speed(file: Path, hours: int, stored: int) -> None:
    """Print seconds, memory, size and recall."""
    fill(file, hours, stored)
    connection, stem = connect(file, create=False), str(file.with_suffix(""))
    n_shots, seconds = connection.execute("SELECT sum(n_shots), sum(duration_s) FROM videos").fetchone()
    size, rows = file.stat().st_size / 1e6 / stored, np.load(f"{stem}.npy", mmap_mode="r")
    print(f"{seconds / 3600:.0f} h, {n_shots} shots; {stored} h of clips, {size:.2f} MB per hour of these")
    search = [sys.executable, "-m", "vidsum", "search", "--archive", str(file), "--per-video", "1", "-q"]
    commands = {"vidsum search": search}
    if stored == hours:
        prepare(rows, stem)
        commands |= {name: [sys.executable, "-c", _ENCODED + code, stem] for name, code in _PLAIN.items()}
    for name, command in commands.items():
        is_made = "HNSW" not in name or Path(f"{stem}.usearch").exists()
        if "usearch" in name and not (find_spec("usearch") and is_made):
            continue
        for path in file.parent.glob(f"{file.stem}.*"):  # out of the memory of the system
            subprocess.run(["dd", f"if={path}", "iflag=nocache", "count=0"], check=True, capture_output=True)
        cold, *runs = (timed([*command, text]) for text in (_TEXTS[0], *_TEXTS, *_TEXTS))
        (median, cpu, _), (best, least, _) = np.median(runs, axis=0), np.min(runs, axis=0)
        times = f"cold {cold[0]:.2f} s, median {median:.2f} s, best {best:.2f} s"
        print(f"{name}: {times}; processor {cpu:.2f}, {least:.2f} s; {max(run[2] for run in runs):.0f} MiB")
    if stored == hours:
        recalls(file, rows)


def recalls(file: Path, rows: FloatArray) -> None:
    """Print how many of the 20 videos that an exact look at every clip ranks first are found."""
    texts = [*_TEXTS, *(clip["query"] for clip in known_clips()[:15])]
    vectors, found = embed_queries("vse", texts), list[tuple[set[int], ...]]()
    truth = np.argsort(-exact(file, vectors), axis=1, kind="stable")[:, :20]
    with Archive(file, create=False) as archive:
        for text, vector in zip(texts, vectors, strict=True):
            matches = archive.search(text, 20, per_video=1, duplicates=True)
            videos = np.argsort(-(rows @ vector))[:20_000] // (_HALF_HOUR // _SHOT)
            searched = {int(re.findall(r"\d+", match.video)[0]) for match in matches}
            found.append((searched, {*list(dict.fromkeys(videos.tolist()))[:20]}))
    for name, sets in zip(("vidsum search", "cosines of shots"), zip(*found, strict=True), strict=True):
        shares = [len(one & {*right.tolist()}) / 20 for one, right in zip(sets, truth, strict=True)]
        print(f"{name}: recall@20 of videos {np.mean(shares):.4f}, {len(texts)} queries")


Place = tuple[str, Interval]


def places(films: Sequence[Path]) -> dict[str, list[Place]]:
    """Where each clip is shown, by its file name: in its own file, and in films."""
    found = {
        Path(clip["file"]).name: [(clip["file"], (0.0, probe(clip["file"]).duration_s))]
        for clip in known_clips()
    }
    for film in films:
        for shown in json.loads(film.with_suffix(".json").read_text())["moments"]:
            found[Path(shown["file"]).name].append((str(film), (shown["start"], shown["end"])))
    return found


def ranks(answer: Sequence[Place], right: Sequence[Place]) -> tuple[int, int]:
    """Rank, from 0, of the first that shows the clip in half of its time, and of the first with IoU .5."""
    clip = moment = len(answer) + 1000
    for rank, (video, (start, end)) in enumerate(answer):
        for where, (a, b) in right:
            common = max(0.0, min(end, b) - max(start, a)) if video == where else 0.0
            if common >= 0.5 * (end - start) and common > 0:
                clip = min(clip, rank)
            if common > 0 and iou([(start, end)], [(a, b)]).max() >= 0.5:
                moment = min(moment, rank)
    return clip, moment


def by_ground(seen: Mapping[str, ClipEmbeddings], texts: Sequence[str]) -> list[list[Place]]:
    """The best moment of each video, ranked by how likely the query is present."""
    vectors, rows = embed_queries("vse", texts), [list[tuple[float, Place]]() for _ in texts]
    for path, video in seen.items():
        present = probabilities("vse", video, vectors)
        assert present is not None
        for row, answer, share in zip(
            rows, locate("similarity", video, Request(texts, vectors), 1), present, strict=True
        ):
            best = answer.moments[0]
            row.append((float(share), (path, (best.start_s, best.end_s))))
    return [[place for _, place in sorted(row, key=lambda each: -each[0])] for row in rows]


def by_names(seen: Mapping[str, ClipEmbeddings], texts: Sequence[str]) -> list[list[Place]]:
    """Whole videos, ranked by the words of the query in the file's name."""

    def words(text: str) -> set[str]:
        return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 2}

    def ranked(text: str) -> list[Place]:
        shared = {path: len(words(text) & words(Path(path).stem)) for path in seen}
        return [
            (path, (0.0, seen[path].duration_s))
            for path in sorted(seen, key=lambda path: -shared[path])
            if shared[path]
        ]

    return [ranked(text) for text in texts]


def answers(file: Path, folder: Path, half: str) -> None:
    """Print a table for each kind of query."""
    films = sorted(folder.glob("*.mp4"))
    paths = [*(clip["file"] for clip in known_clips()), *map(str, films)]
    with Archive(file) as archive:
        archive.add(paths)
        seen = {path: embed(Path(path), "vse", "auto") for path in paths}
        right, chosen = places(films), names_of(half)
        for kind in KINDS:
            asked = [(Path(clip["file"]).name, clip[kind]) for clip in known_clips() if clip.get(kind)]
            asked = [(name, text) for name, text in asked if half == "all" or name in chosen]
            texts = [text for _, text in asked]
            of_search = [
                [(match.video, (match.start_s, match.end_s)) for match in archive.search(text, 20)]
                for text in texts
            ]
            rows = {
                "vidsum search": of_search,
                "ground on each file, by present": by_ground(seen, texts),
                "words in file names": by_names(seen, texts),
            }
            print(f"\n{kind}, {half} clips: {len(paths)} videos, {len(texts)} queries\n")
            print(
                "| | " + " | ".join(f"{what} R@{cut}" for what in ("clip", "moment") for cut in _CUTS) + " |"
            )
            for row, found in rows.items():
                got = np.array(
                    [ranks(answer, right[name]) for answer, (name, _) in zip(found, asked, strict=True)]
                )
                hits = np.concatenate([[got[:, part] < cut for cut in _CUTS] for part in (0, 1)]).T.astype(
                    np.float64
                )
                means, (low, high) = intervals(hits, [name for name, _ in asked])
                cells = (
                    f"{100 * m:.0f} [{100 * a:.0f}, {100 * b:.0f}]"
                    for m, a, b in zip(means, low, high, strict=True)
                )
                print(f"| {row} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argument_parser(__doc__)
    parser.add_argument("what", choices=("speed", "answers"))
    parser.add_argument("file", type=Path)
    parser.add_argument("films", type=Path, nargs="?")
    parser.add_argument("--hours", type=int, default=1000)
    parser.add_argument("--stored", type=int, help="hours of which clips are written (all)")
    parser.add_argument("--ask", choices=HALVES, default="all")
    options = parser.parse_args()
    if options.what == "speed":
        speed(options.file, options.hours, options.stored or options.hours)
    else:
        answers(options.file, options.films, options.ask)


if __name__ == "__main__":
    main()
