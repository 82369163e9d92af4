"""Alerts of `vidsum watch` on joined films: moments that are announced, how late, and false alarms.

    python -m docs.benchmarks.watch FOLDER [--half odd] [--model FILE]

Every query of every clip of the half is watched for in each of ten films (docs.benchmarks.grounding joins
them), at several thresholds; an alert comes after two seconds. A moment counts as announced where an alert
begins in it, or up to two seconds before; one that begins elsewhere is a false alarm. Hours are those of the
films times the queries. The delay is the median from the moment's start to the announcement. AUC is of
seconds. Intervals are 95 % of a bootstrap over clips. Beside them is what alerts announce that come as often
and look at nothing: at random times, and by the clock, evenly spaced from a random time on.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, KINDS, composite, embed, known_clips, notes, truth_of
from vidsum.grounding.live_model import LiveModel
from vidsum.grounding.presence import OFFSET, SLOPE, curves_of
from vidsum.grounding.spaces import embed_queries
from vidsum.pipelines.watch import alerts_in
from vidsum.scaling import logistic
from vidsum.settings import Watching
from vidsum.types import FloatArray, Interval, TimeArray

_GRACE_S = 2.0
_DRAWS = 200
_WORDS = ((1, 3), (4, 6), (7, 30))


class Watched(NamedTuple):
    """One query in one film."""

    clip: str
    kind: str
    text: str
    windows: tuple[Interval, ...]
    """Where it is true."""
    present: FloatArray
    """[T] of each second."""

    @property
    def is_true(self) -> FloatArray:
        """[T] 1 for seconds inside a window."""
        second = np.arange(len(self.present))
        inside = [(second >= start) & (second + 1 <= end) for start, end in self.windows]
        return np.any([np.zeros(len(second), np.bool_), *inside], axis=0).astype(np.float32)


def watch_film(film: Path, half: str, model: str | None = None) -> list[Watched]:
    """Every query of every clip of a half, in one film: by mrnet-live, or by the present rule."""
    video, watched = embed(film, "vse", "auto"), []
    shown = {query.qid for query in truth_of(film).queries}
    for kind in KINDS:
        true = {(query.qid, query.text): query.windows for query in truth_of(film, kind).queries}
        clips = [clip for clip in known_clips()[HALVES[half]] if clip.get(kind)]
        fits = notes()["fits"] if kind == "short" else {}
        queries = embed_queries("vse", [clip[kind] for clip in clips])
        z = curves_of(video, queries)
        if model is None:
            present = logistic(SLOPE * z + OFFSET)
        else:
            live = LiveModel(model, queries)
            seconds = zip(video.rows, z.T, strict=True)
            present = np.stack([live.present(row[None], second) for row, second in seconds], axis=1)
        for clip, curve in zip(clips, present, strict=True):
            windows = true.get((Path(clip["file"]).name, clip[kind]), ())
            if windows or not shown & set(fits.get(clip[kind], ())):
                watched.append(Watched(clip["file"], kind, clip[kind], windows, curve))
    return watched


def row(watched: Sequence[Watched], min_present: float) -> str:
    """Moments announced in per cent, the delay in seconds, false alarms per hour; what chance announces."""
    how = Watching(min_present=min_present)
    delays, counts, lengths = list[float](), [], list[float]()
    for one in watched:
        alerts = alerts_in(one.present.tolist(), how)
        told = [
            [told - start for began, told in alerts if start - _GRACE_S <= began < end]
            for start, end in one.windows
        ]
        n_false = sum(not any(a - _GRACE_S <= began < b for a, b in one.windows) for began, _ in alerts)
        delays += [min(each) for each in told if each]
        lengths += [end - start + _GRACE_S for start, end in one.windows]
        counts.append((sum(map(bool, told)), len(told), n_false, len(one.present) / 3600, len(alerts)))

    def of(total: TimeArray) -> TimeArray:
        return np.array([100 * total[0] / total[1], total[2] / total[3]])

    total = np.sum(counts, axis=0)
    draws = [of(np.sum([counts[i] for i in drawn], axis=0)) for drawn in drawn_clips(watched)]
    (found, false), (low, high) = of(total), np.percentile(draws, [2.5, 97.5], axis=0)
    delay_s = np.median(delays) if delays else math.nan
    expected = np.array(lengths) * total[4] / total[3] / 3600
    chance, clock = (100 * each.mean() for each in (1 - np.exp(-expected), np.minimum(1, expected)))
    found_in, false_in = (f"[{low[i]:.{i}f}, {high[i]:.{i}f}]" for i in (0, 1))
    rates = f"{found:.0f} {found_in} | {delay_s:.1f} | {false:.1f} {false_in}"
    return f"{rates} | {chance:.1f} | {clock:.1f}"


def drawn_clips(watched: Sequence[Watched]) -> Iterator[list[int]]:
    """The places of what is watched for, with clips drawn anew; draws without a moment are left out."""
    clips, rng = np.array([one.clip for one in watched]), np.random.default_rng(0)
    names = np.unique(clips)
    of_clip = {name: np.flatnonzero(clips == name).tolist() for name in names}
    for _ in range(_DRAWS):
        drawn = [place for name in rng.choice(names, len(names)) for place in of_clip[name]]
        if any(watched[place].windows for place in drawn):
            yield drawn


def auc(watched: Sequence[Watched]) -> str:
    """The area under the curve of seconds, with its interval."""

    def area(chosen: Sequence[Watched]) -> float:
        truth, present = ([getattr(one, name) for one in chosen] for name in ("is_true", "present"))
        return float(roc_auc_score(np.concatenate(truth), np.concatenate(present)))

    draws = [area([watched[place] for place in drawn]) for drawn in drawn_clips(watched)]
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{area(watched):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path, help="for the films, about 200 MB")
    parser.add_argument("--half", choices=HALVES, default="odd")
    parser.add_argument("--model", help="a checkpoint of mrnet-live; else the present rule")
    given = parser.parse_args()
    films = [composite(given.folder, "all", 120, seed)[0] for seed in range(10)]
    watched = [one for film in films for one in watch_film(film, given.half, given.model)]
    columns = "announced | delay (s) | false alarms per hour | at random | by the clock"
    print(f"| --min-present | {columns} |\n|---|---|---|---|---|---|")
    for min_present in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        print(f"| {min_present:g} | {row(watched, min_present)} |")
    print(f"\n| at 0.5 | moments | {columns} | AUC |\n|---|---|---|---|---|---|---|---|")
    parts = {kind: [one for one in watched if one.kind == kind] for kind in KINDS}
    for low, high in _WORDS:
        own = [one for one in watched if low <= len(one.text.split()) <= high]
        parts[f"{low} to {high} words"] = own
    for name, own in parts.items():
        n_moments = sum(len(one.windows) for one in own)
        print(f"| {name} | {n_moments} | {row(own, 0.5)} | {auc(own)} |")


if __name__ == "__main__":
    main()
