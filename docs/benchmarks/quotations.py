"""Quotations in films whose pictures compete with what is said, and queries about the pictures.

    python -m docs.benchmarks.quotations FOLDER

Five joined films (docs.benchmarks.grounding) get a sound track of the nine shared recordings, which begin
with another one in each film, with pauses of .7 and 1.2 s. All quotations of `quotations.json` are asked of
each film, `--in both`; the right answer is said in the recording. All queries about the clips of a film are
asked with `both` and `picture`: the per cent whose first answer, or any that is listed, has an IoU of .5 with
the clip, and how many queries gain and lose one. In brackets are 95 % of a bootstrap over clips.
"""

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, composite, truth_of
from tests.conftest import SHARED
from vidsum.pipelines.moments import ground
from vidsum.results.moments import Moment
from vidsum.types import Interval
from vidsum.video.probe import probe

_QUOTATIONS = Path(__file__).with_name("quotations.json")
_FILMS, _PAUSES_S = 5, (0.7, 1.2)
_DRAWS = 1000


class SpokenFilm(NamedTuple):
    """A film, the joined film that has its pictures, and where each recording is."""

    path: Path
    pictures: Path
    said: dict[str, Interval]


def add_speech(folder: Path, number: int) -> SpokenFilm:
    """A joined film with the recordings as its sound, made once."""
    pictures = composite(folder, "all", 120, number)[0]
    names = [entry["file"] for entry in json.loads((SHARED / "speech" / "transcripts.json").read_text())]
    names = names[number:] + names[:number]
    target, at_s, said, filters = folder / f"spoken_{number}.mp4", 1.0, {}, []
    for order, name in enumerate(names):
        length_s = _length_s(SHARED / "speech" / name)
        said[name] = (at_s, at_s + length_s)
        filters.append(f"[{order + 1}:a]aresample=16000,adelay={round(1000 * at_s)}[a{order}]")
        at_s += length_s + _PAUSES_S[order % 2]
    if not target.exists():
        mixed = "".join(f"[a{order}]" for order in range(len(names)))
        filters.append(f"{mixed}amix=inputs={len(names)}:normalize=0,apad[out]")
        inputs = [part for name in names for part in ("-i", str(SHARED / "speech" / name))]
        command = ["ffmpeg", "-v", "error", "-i", str(pictures), *inputs]
        command += ["-filter_complex", ";".join(filters), "-map", "0:v", "-map", "[out]"]
        subprocess.run([*command, "-c:v", "copy", "-c:a", "aac", "-shortest", str(target)], check=True)
    return SpokenFilm(target, pictures, said)


def _length_s(recording: Path) -> float:
    command = ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(recording)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def is_right(moment: Moment, windows: list[Interval]) -> bool:
    """Whether a moment has an IoU of .5 with a window."""
    for start_s, end_s in windows:
        shared_s = min(end_s, moment.end_s) - max(start_s, moment.start_s)
        if shared_s >= 0.5 * (max(end_s, moment.end_s) - min(start_s, moment.start_s)):
            return True
    return False


def ask_quotations(film: SpokenFilm, listed: list[tuple[str, str]]) -> list[str]:
    """The quotations whose first answer is not said in the recording."""
    answers = ground(film.path, [text for text, _ in listed], evidence="both").queries
    of_query = {answer.query: answer for answer in answers}
    missed = []
    for text, name in listed:
        start_s, end_s = film.said[name]
        first = of_query[text].moments[:1]
        # a sentence may go on in the next recording
        if not any(m.evidence == "speech" and m.start_s < end_s and start_s < m.end_s for m in first):
            missed.append(f"{text!r}: {[(m.evidence, m.start_s, m.end_s) for m in first]}")
    return missed


def ask_pictures(film: SpokenFilm) -> list[tuple[str, str, list[bool], list[bool]]]:
    """Kind and clip of each query, and whether `picture` and `both` are right, at first and among all."""
    rows_of_films = []
    for kind in KINDS:
        queries = truth_of(film.pictures, kind).queries
        texts = [query.text for query in queries]
        seen, both = (
            {answer.query: answer.moments for answer in ground(film.path, texts, evidence=name).queries}
            for name in ("picture", "both")
        )
        for query in queries:
            right = [
                [any(is_right(moment, list(query.windows)) for moment in answers[query.text][:most])]
                for answers in (seen, both)
                for most in (1, None)
            ]
            hits = [flag for row in right for flag in row]
            rows_of_films.append((kind, query.qid, hits[:2], hits[2:]))
    return rows_of_films


def interval(values: dict[str, list[float]]) -> str:
    """The mean over queries and its interval over clips."""
    groups = [np.array(row, float) for row in values.values()]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(_DRAWS):
        drawn = [groups[n] for n in rng.integers(0, len(groups), len(groups))]
        draws.append(np.concatenate(drawn).mean())
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{100 * np.concatenate(groups).mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def main() -> None:
    """Print both tables."""
    options = argument_parser(__doc__, "folder").parse_args()
    listed = [(text, name) for text, name in json.loads(_QUOTATIONS.read_text())["quotations"]]
    rows_of_films = []
    for number in range(_FILMS):
        film = add_speech(options.folder, number)
        assert probe(film.path).duration_s > max(end_s for _, end_s in film.said.values())
        missed = ask_quotations(film, listed)
        print(f"film {number}: {len(listed) - len(missed)} of {len(listed)} quotations first", flush=True)
        print("\n".join(f"  {line}" for line in missed))
        rows_of_films += ask_pictures(film)
    print("\n| | queries | seen | both | difference | gained | lost |\n|---|---|---|---|---|---|---|")
    for place, name in enumerate(("first", "listed")):
        for kind in KINDS:
            rows = [row for row in rows_of_films if row[0] == kind]
            columns = [defaultdict[str, list[float]](list) for _ in range(3)]
            for _, clip, seen, both in rows:
                for column, value in zip(
                    columns, (seen[place], both[place], both[place] - seen[place]), strict=True
                ):
                    column[clip].append(value)
            changes = [both[place] - seen[place] for _, _, seen, both in rows]
            counts = f"{changes.count(1)} | {changes.count(-1)}"
            print(f"| {name}, {kind} | {len(rows)} | {' | '.join(map(interval, columns))} | {counts} |")


if __name__ == "__main__":
    main()
