"""How long, how large and how complete searches are in archives of hundreds and thousands of hours.

    python -m docs.benchmarks.archive_sizes search FOLDER --hours 100 1000 2000
    python -m docs.benchmarks.archive_sizes postgres FOLDER --hours 100
    python -m docs.benchmarks.archive_sizes hnsw FOLDER --shots 100000 1000000

Videos of half an hour are simulated: shots of 4 to 8 s, each from one of five of the shared clips, with
noise of its own in the rows (half the deviation of photographs) and in the logarithms of the probabilities
of objects and actions (.4). `search` times whole processes, the first one with the file out of the system's
memory, and counts how many of the 20 videos that an exact look at every second ranks first are among the 20
that it returns, and how much less probable these are on average. `postgres` does the same on a server of
`pgserver`, and `hnsw` compares an exact scan by pgvector with its HNSW index, over one row per shot: cosines
alone, without classes, windows or edges. Archives that exist in FOLDER are used again.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import embed, known_clips
from vidsum.archive.archive import Archive
from vidsum.archive.checked_records import read_clips
from vidsum.archive.rows import list_files, list_shots
from vidsum.archive.search_queries import build_search
from vidsum.archive.settings import SearchOptions
from vidsum.archive.store import Database, connect
from vidsum.archive.stored_videos import VideoContent, insert_video
from vidsum.evidence.match_probability import Condition, Usual, embed_background
from vidsum.evidence.picture import PackedPicture, Picture
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.grounding.vse_map import load_map
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, TimeArray

_SHOTS = 300  # of a simulated video, of 6 s on average: half an hour
_SHOT_S = (4, 8)
_SCENES = 5  # clips that a simulated video is made of
_ROW_NOISE, _LOG_NOISE = 0.5, 0.4
_TOP_K = 20
_TEXTS = ("a dog", "a guitar", "a bicycle in the street", "someone cooks in a kitchen", "a beach")
_N_CAPTIONS = 15
_RUNS = 2  # of each text, after the first search
_LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
"""A small process: one that is started by a large one counts its memory too."""


def simulate(real: Sequence[ClipEmbeddings], factor: FloatArray, rng: np.random.Generator) -> ClipEmbeddings:
    """Return the clips of a simulated video; `factor` [D, d] gives noise the covariance of photographs."""
    rows, objects, actions, starts_s = list[FloatArray](), list[FloatArray](), list[FloatArray](), [0]
    scenes = rng.choice(len(real), min(_SCENES, len(real)), replace=False)
    for _ in range(_SHOTS):
        clip = real[rng.choice(scenes)]
        length = min(int(rng.integers(_SHOT_S[0], _SHOT_S[1] + 1)), len(clip))
        start = int(rng.integers(len(clip) - length + 1))
        noise = _ROW_NOISE * factor @ rng.normal(size=factor.shape[1]).astype(np.float32)
        rows.append(unit_rows(clip.rows[start : start + length] + noise))
        for mixture, parts in ((clip.objects, objects), (clip.actions, actions)):
            assert mixture is not None
            shares = mixture.probabilities[start : start + length]
            shares = shares * np.exp(_LOG_NOISE * rng.normal(size=shares.shape[1])).astype(np.float32)
            parts.append(shares / shares.sum(axis=1, keepdims=True))
        starts_s.append(starts_s[-1] + length)
    times, first = np.arange(starts_s[-1], dtype=np.float64), real[0]
    assert first.objects
    assert first.actions
    return ClipEmbeddings(
        np.concatenate(rows),
        times,
        1.0,
        float(len(times)),
        replace(first.objects, probabilities=np.concatenate(objects)),
        np.array(starts_s, np.float64),
        actions=replace(first.actions, probabilities=np.concatenate(actions)),
    )


def simulate_videos(n_videos: int) -> Iterator[ClipEmbeddings]:
    """Yield simulated videos, the same ones each time."""
    real = [embed(Path(clip["file"]), "vse") for clip in known_clips()]
    factor, rng = np.asarray(load_map().tensors["cohort.weight"]).T, np.random.default_rng(0)
    for _ in range(n_videos):
        yield simulate(real, factor, rng)


def fill(archive: str, hours: int) -> None:
    """Add simulated videos to an archive that has none."""
    with Archive(archive) as opened:
        if opened.is_there and opened.videos():
            return
    connection, background = connect(_where(archive), create=True), embed_background("vse")
    began = time.perf_counter()
    for number, clips in enumerate(simulate_videos(2 * hours), 1):
        assert clips.shots_s is not None
        starts = clips.shots_s[:-1].astype(int).tolist()
        picture = Picture.of(clips, "vse", background)
        content = VideoContent(picture, starts, [b""] * len(starts), False, 0.0, ())
        with connection.transaction():
            insert_video(connection, f"{number:064}", 0, "vse", content, "1,0")
            path = f"/simulated/{number:05}.mp4".encode()
            connection.execute("INSERT INTO files VALUES (?, ?, 0, 0, NULL)", (path, number))
    connection.close()
    print(f"{hours} h were written in {time.perf_counter() - began:.0f} s")


def _where(archive: str) -> Path | str:
    return archive if "://" in archive else Path(archive)


def match_exactly(connection: Database, texts: Sequence[str]) -> dict[int, TimeArray]:
    """Return, by the id of a video, the probability [M] of each text by a look at every second."""
    search = build_search(connection, "vse", None, SearchOptions(also=tuple(texts)))
    dim = search.queries.vectors.shape[1]
    _, videos = list_files(connection)
    columns = "usual_mean, usual_deviation, usual_best, duration_s"
    present = dict[int, TimeArray]()
    for video in videos:
        (row,) = connection.execute(f"SELECT {columns} FROM videos WHERE id = ?", (video,)).fetchall()
        shots = list_shots(connection, video, row[3], with_clips=True)
        records = read_clips(shots, dim, search.names)
        edges_s = np.array([*(shot.start_s for shot in shots), row[3]])
        packed = PackedPicture(*records, edges_s, Usual(*row[:3]), "vse", search.names)
        matches = Picture.unpack(packed, row[3]).match(search.queries)
        present[video] = np.array([matches.best(Condition((number,))) for number in range(len(texts))])
    return present


def recall(archive: str) -> str:
    """Return two cells of a table: the share of the videos that an exact look ranks first that a search
    returns, and how much less probable on average the videos are that it returns.
    """
    texts = [*_TEXTS, *(clip["query"] for clip in known_clips()[:_N_CAPTIONS])]
    options = SearchOptions(top_k=_TOP_K, per_video=1, duplicates=True)
    shares, losses = list[float](), list[float]()
    with Archive(archive, create=False) as opened:
        exact = match_exactly(opened._connection, texts)
        for number, text in enumerate(texts):
            ids = [int(Path(match.video).stem) for match in opened.find(text, options)]
            first = sorted(exact, key=lambda video: -exact[video][number])[:_TOP_K]
            shares.append(len({*ids} & {*first}) / len(first))
            means = [np.mean([exact[video][number] for video in videos]) for videos in (first, ids)]
            losses.append(means[0] - means[1])
    return f"{np.mean(shares):.4f} | {np.mean(losses):.4f}"


def time_processes(archives: Sequence[str], files: Sequence[Path]) -> str:
    """Return the times of whole searches as cells of a table."""
    command = [sys.executable, "-m", "vidsum", "search", "-k", str(_TOP_K), "--per-video", "1", "-q"]
    command += [word for archive in archives for word in ("--archive", archive)]
    for path in files:  # out of the memory of the system
        subprocess.run(["dd", f"if={path}", "iflag=nocache", "count=0"], check=True, capture_output=True)
    runs = list[list[float]]()
    for text in (_TEXTS[0], *_TEXTS * _RUNS):
        launched = [sys.executable, "-c", _LAUNCHER, *command, text]
        printed = subprocess.run(launched, check=True, capture_output=True).stdout
        runs.append([float(number) for number in printed.split()])
    second_s, processor_s, _ = np.median(runs[1:], axis=0)
    return f"{runs[0][0]:.1f} | {second_s:.1f} | {processor_s:.1f} | {max(run[2] for run in runs):.0f}"


def print_searches(folder: Path, hours: Sequence[int]) -> None:
    """Print a row per size, and a row of the archives of all sizes together."""
    print(
        "| hours | shots | GB | first, s | second, s | processor, s | MiB | recall | less |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    files = [folder / f"{size}.vidsum" for size in hours]
    for size, file in zip(hours, files, strict=True):
        fill(str(file), size)
        cells = time_processes([str(file)], [file])
        gb = file.stat().st_size / 1e9
        print(f"| {size} | {2 * size * _SHOTS} | {gb:.2f} | {cells} | {recall(str(file))} |", flush=True)
    if len(files) > 1:
        gb = sum(file.stat().st_size for file in files) / 1e9
        cells = time_processes([str(file) for file in files], files)
        print(f"| {' + '.join(map(str, hours))} | {2 * sum(hours) * _SHOTS} | {gb:.2f} | {cells} | | |")


def print_server(folder: Path, hours: Sequence[int]) -> None:
    """Print a row per size of archives on a PostgreSQL server, started anew before the first search."""
    import pgserver

    print(
        "| hours | first, s | second, s | processor, s | MiB | recall | less |\n|---|---|---|---|---|---|---|"
    )
    for size in hours:
        with ExitStack() as stack:
            for is_filled in (False, True):
                server = stack.enter_context(pgserver.get_server(folder / f"postgres-{size}"))
                if not is_filled:
                    fill(server.get_uri(), size)
                    stack.pop_all().close()
            cells = time_processes([server.get_uri()], [])
            print(f"| {size} | {cells} | {recall(server.get_uri())} |", flush=True)


def print_hnsw(folder: Path, sizes: Sequence[int]) -> None:
    """Print times and recall of cosines by pgvector, exact and with an HNSW index of its own settings."""
    import pgserver
    import psycopg

    texts = [*_TEXTS, *(clip["query"] for clip in known_clips()[:_N_CAPTIONS])]
    vectors = embed_queries("vse", texts)
    print(
        "| shots | scan | first, s | second, s | recall | index, GB | made in, s |\n"
        "|---|---|---|---|---|---|---|"
    )
    for size in sizes:
        rows = np.concatenate(
            [
                unit_rows(np.add.reduceat(clips.rows, clips.shots_s[:-1].astype(int)))
                for clips in simulate_videos(-(-size // _SHOTS))
                if clips.shots_s is not None
            ]
        )[:size]
        truth = np.argsort(-(rows @ vectors.T), axis=0, kind="stable")[:_TOP_K].T
        with ExitStack() as stack:
            server = stack.enter_context(pgserver.get_server(folder / f"hnsw-{size}"))
            connection = stack.enter_context(psycopg.connect(server.get_uri(), autocommit=True))
            _store_rows(connection, rows)
            print(f"| {size} | exact | {_ask(connection, vectors, truth)} | | |", flush=True)
            connection.execute("SET maintenance_work_mem = '4GB'")
            began = time.perf_counter()
            connection.execute("CREATE INDEX by_cosine ON shots USING hnsw (row vector_ip_ops)")
            made_s = time.perf_counter() - began
            (size_bytes,) = connection.execute("SELECT pg_relation_size('by_cosine')").fetchone() or (0,)
            about = f"{size_bytes / 1e9:.2f} | {made_s:.0f}"
            for ef in (40, 200):
                connection.execute(f"SET hnsw.ef_search = {ef}")
                print(
                    f"| {size} | HNSW, ef {ef} | {_ask(connection, vectors, truth)} | {about} |", flush=True
                )


def _store_rows(connection: Any, rows: FloatArray) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("DROP TABLE IF EXISTS shots")
    connection.execute(f"CREATE TABLE shots (id BIGINT, row vector({rows.shape[1]}))")
    with connection.cursor() as cursor, cursor.copy("COPY shots FROM STDIN") as copy:
        for number, row in enumerate(rows):
            copy.write_row((number, _literal(row)))


def _literal(row: FloatArray) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in row.tolist()) + "]"


def _ask(connection: Any, vectors: FloatArray, truth: Any) -> str:
    """Return the seconds of the first and a later search, and the recall, as cells of a table."""
    seconds, shares = list[float](), list[float]()
    for vector, right in zip(vectors, truth, strict=True):
        began = time.perf_counter()
        query = "SELECT id FROM shots ORDER BY row <#> %s LIMIT %s"
        ids = {number for (number,) in connection.execute(query, (_literal(vector), _TOP_K)).fetchall()}
        seconds.append(time.perf_counter() - began)
        shares.append(len(ids & {*right.tolist()}) / _TOP_K)
    return f"{seconds[0]:.3f} | {np.median(seconds[1:]):.3f} | {np.mean(shares):.4f}"


def main() -> None:
    parser = argument_parser(__doc__, small="search archives --hours 1")
    parser.add_argument("what", choices=("search", "postgres", "hnsw"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hours", type=int, nargs="+", default=[100])
    parser.add_argument("--shots", type=int, nargs="+", default=[100_000])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "hnsw":
        print_hnsw(options.folder, options.shots)
    else:
        {"search": print_searches, "postgres": print_server}[options.what](options.folder, options.hours)


if __name__ == "__main__":
    main()
