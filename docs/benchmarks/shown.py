"""Compare what summaries show with their films: plain phrases, and clips always or never chosen.

    python -m docs.benchmarks.shown FOLDER [--seeds 601 602 ...] [--model auto uniform ...] [--extra FOLDER]

Joined films of a seed each are made in FOLDER. For each phrase of `shown_phrases.json`: the share of the
summaries' time that shows it over its share of the films' time; 95 % intervals of a bootstrap over films.
1 is what a summary at random gives; phrases with less than a twentieth of the time are left out of the count
at the end. A clip is shown in a film if a second of it is in the summary. Uncut footage (`--extra` has the
clips of action_moments.json) carries no labels: there the figure is the mean cosine of the phrase in the
chosen samples less the film's, in deviations of the film. `clock` scores by the time from both ends alone.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.action_moments import EXTRA, present_videos
from docs.benchmarks.joined import composite
from vidsum import extract, summarize
from vidsum.grounding import vse_map
from vidsum.grounding.spaces import embed_queries
from vidsum.models.scaling import standardise, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, Interval, TimeArray

SEEDS = range(601, 621)
MODELS = ("auto", "uniform", "random", "clock")
FEW = 0.05  # phrases with a smaller share of the films' time are not counted
RANGE = (0.6, 1.6)  # ratios that the issue accepts
_SHOWN_S, _WHOLE, _UNCUT_S, _END_S = 1.0, 0.9, 20.0, 60.0
_PHRASES = Path(__file__).with_name("shown_phrases.json")


def phrases() -> dict[str, list[str]]:
    """The names of the clips that show each phrase."""
    read: dict[str, list[str]] = json.loads(_PHRASES.read_text())
    return {phrase: clips for phrase, clips in read.items() if not phrase.startswith("_")}


def clock(features: Features) -> FloatArray:
    """Return [T] the time from the nearer end of a film, up to a minute."""
    return np.asarray(
        np.minimum(features.timestamps, features.duration_s - features.timestamps).clip(0, _END_S) / _END_S,
        np.float32,
    )


@dataclass(frozen=True)
class FilmClip:
    """A clip in a film, and how much of it the summary has."""

    name: str
    span: Interval
    chosen_s: float


def shared_with(span: Interval, segments: Sequence[Interval]) -> float:
    """Seconds of a span that lie in segments, which do not overlap."""
    return sum(max(0.0, min(span[1], end_s) - max(span[0], start_s)) for start_s, end_s in segments)


def clips_of(film: Path, segments: Sequence[Interval]) -> list[FilmClip]:
    """The clips of a joined film, by the JSON beside it."""
    moments = json.loads(film.with_suffix(".json").read_text())["moments"]
    spans = [(Path(moment["file"]).name, (moment["start"], moment["end"])) for moment in moments]
    return [FilmClip(name, span, shared_with(span, segments)) for name, span in spans]


def times_of(films: Sequence[Sequence[FilmClip]], names: Sequence[str]) -> TimeArray:
    """Return [F, 4] seconds of each film: shown and chosen, shown, chosen, all."""
    rows = []
    for clips in films:
        has = [clip for clip in clips if clip.name in names]
        sums = [
            (sum(clip.chosen_s for clip in some), sum(clip.span[1] - clip.span[0] for clip in some))
            for some in (has, clips)
        ]
        rows.append([*sums[0], *sums[1]])
    return np.array(rows)


def ratio(times: TimeArray) -> float:
    """The share of the summaries' time over the share of the films' time; NaN where nothing is shown."""
    both, shown, chosen, total = times.sum(axis=0)
    return float(both / chosen / (shown / total)) if shown and chosen else float("nan")


def interval_of(times: TimeArray, draws: int = 2000) -> Interval:
    """95 % of the ratios of films that are drawn anew."""
    rng = np.random.default_rng(0)
    picked = rng.integers(0, len(times), (draws, len(times)))
    low, high = np.nanquantile([ratio(times[films]) for films in picked], (0.025, 0.975))
    return float(low), float(high)


def uncut_films(extra: Path, most: int = 10) -> list[Path]:
    """The longest uncut footage that this machine has."""
    found = [
        (video["duration_s"], path) for half in ("a", "b") for path, video in present_videos(half, extra)
    ]
    return [path for seconds, path in sorted(found, reverse=True) if seconds >= _UNCUT_S][:most]


def preference(film: Path, segments: Sequence[Interval], texts: Sequence[str]) -> FloatArray:
    """Return [P] the mean of standardised cosines of each text in the chosen samples."""
    features = extract(film, fps=2.0)
    cosines = embed_queries(vse_map.NAME, texts) @ unit_rows(vse_map.mapped_rows(features)).T
    times = features.timestamps + features.step_s / 2
    is_in = np.any([(start <= times) & (times < end) for start, end in segments], axis=0)
    return np.asarray(standardise(cosines)[:, is_in].mean(axis=1), np.float32)


def summarised(film: Path, model: str) -> list[Interval]:
    """The segments of a summary of the default length."""
    scorer = clock if model == "clock" else model
    chosen = summarize(film, model=scorer, **({"seed": 0} if model == "random" else {}))
    return [(float(start_s), float(end_s)) for start_s, end_s in chosen.segments]


def print_clips(films: Mapping[str, Sequence[Sequence[FilmClip]]]) -> None:
    """Which clips a model always or never shows, among those that films have."""
    for model, of_films in films.items():
        rates: dict[str, list[bool]] = {}
        for clip in (clip for clips in of_films for clip in clips):
            rates.setdefault(clip.name, []).append(clip.chosen_s >= _SHOWN_S)
        always = sorted(name for name, is_shown in rates.items() if all(is_shown))
        never = sorted(name for name, is_shown in rates.items() if not any(is_shown))
        print(f"\n{model}: of {len(rates)} clips, always {len(always)} ({', '.join(always) or '-'}),")
        print(f"  never {len(never)} ({', '.join(never) or '-'})")


def print_phrases(films: Mapping[str, Sequence[Sequence[FilmClip]]]) -> None:
    """The table of phrases, and how many lie outside of the range."""
    print(f"| phrase | share of the films | {' | '.join(films)} |\n|{'---|' * (len(films) + 2)}")
    outside: dict[str, list[str]] = {model: [] for model in films}
    spread: dict[str, list[float]] = {model: [] for model in films}
    for phrase, names in phrases().items():
        cells, share = [], 0.0
        for model, of_films in films.items():
            times = times_of(of_films, names)
            share, value = times[:, 1].sum() / times[:, 3].sum(), ratio(times)
            low, high = interval_of(times) if names else (value, value)
            cells.append(f"{value:.2f} [{low:.2f}, {high:.2f}]" if names else "-")
            if share >= FEW:
                spread[model].append(abs(np.log(max(value, 0.05))))
                outside[model] += [phrase] if not RANGE[0] <= value <= RANGE[1] else []
        print(f"| {phrase} | {share:.3f} | {' | '.join(cells)} |")
    for model, names in outside.items():
        of_phrases = spread[model]
        mean = np.mean(of_phrases)
        print(f"{model}: {len(names)} of {len(of_phrases)} outside {RANGE} ({', '.join(names) or '-'});")
        print(f"  mean |log ratio| {mean:.3f}")


def main() -> None:
    """Print the tables."""
    small = "films --seeds 1 --model auto uniform --extra shared/videos/actions"
    parser = argument_parser(__doc__, "folder", small=small)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--extra", type=Path, default=EXTRA)
    options = parser.parse_args()
    joined = [composite(options.folder, "all", 120, seed)[0] for seed in options.seeds]
    films: dict[str, list[list[FilmClip]]] = {}
    for model in options.model:
        films[model] = [clips_of(film, summarised(film, model)) for film in joined]
        print(f"{model}: {len(joined)} films", file=sys.stderr)
    print_phrases(films)
    print_clips(films)
    texts, uncut = list(phrases()), uncut_films(options.extra)
    if uncut:
        print(f"\n{len(uncut)} uncut films, deviations\n| phrase | {' | '.join(options.model)} |")
        print(f"|{'---|' * (len(options.model) + 1)}")
        means = [
            [preference(film, summarised(film, model), texts) for film in uncut] for model in options.model
        ]
        for number, text in enumerate(texts):
            cells = [np.array(rows)[:, number] for rows in means]
            shown = [f"{v.mean():+.2f} ± {v.std(ddof=1) / np.sqrt(len(v)):.2f}" for v in cells]
            print(f"| {text} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
