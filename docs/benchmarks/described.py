"""How often activities that `vidsum describe` would name are right, and what it says of judged clips.

    python -m docs.benchmarks.described [--extra CLIPS] [--independent FOLDER]

First, of the shots of described_shots.json in halves: the activities of a confidence, by movement and by
pictures alone, right and all. Then the descriptions of the clips of described_clips.csv: what was judged, and
what is said now where it differs. Last, how many of the lines of these clips stay the same if the pictures or
the actions of another clip stand for theirs. CLIPS has the clips of `docs.benchmarks.action_moments`, FOLDER
those that the CSV lists with a source, by the names that it gives them.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.action_moments import EXTRA, path_of
from docs.benchmarks.joined import known_clips
from vidsum.description.activities import activity_probabilities
from vidsum.description.words import log_shares, parents_of, read_words, standard_scores, word_probabilities
from vidsum.description.writers import SeenSegments, write_words
from vidsum.features.settings import Extraction
from vidsum.grounding.actions import segment_actions
from vidsum.pipelines.describe import MIN_SURE, SHOTS, describe
from vidsum.pipelines.embedding import open_in_space
from vidsum.pipelines.segment_features import see_segments, segment_rows
from vidsum.shots.segmentation import find
from vidsum.types import FloatArray

_SHOTS_FILE, _CLIPS_FILE = (
    Path(__file__).with_name(name) for name in ("described_shots.json", "described_clips.csv")
)
_STEPS = (0.55, 0.65, 0.75, 0.85, 1.01)
_ACTIVITIES = [number for number, word in enumerate(read_words()) if word.kind == "activity"]


def likeliest(chances: FloatArray) -> int | None:
    """The activity that would be named by probabilities [P], from the first step on."""
    sure = [number for number in _ACTIVITIES if chances[number] >= _STEPS[0]]
    general = {above for number in sure for above in parents_of(number)}
    says = -chances * log_shares()
    return max((number for number in sure if number not in general), key=lambda n: says[n], default=None)


def named_activities(path: Path, noted: dict[str, Any]) -> Iterator[tuple[float, bool, bool]]:
    """The probability of the activity of each shot, whether movement shows it, and whether it is right."""
    words = read_words()
    (features, movement), pictures = open_in_space("vse", path, Extraction(), actions=True).read()
    shots = find(features, SHOTS, pictures)
    scores = standard_scores("vse", segment_rows(features, shots.intervals))
    moving = activity_probabilities(segment_actions(movement, shots.intervals, shots.edges_s))
    rows = zip(shots.intervals, word_probabilities(scores), word_probabilities(scores, moving), strict=True)
    for (start_s, end_s), still, both in rows:
        middle_s, number = (start_s + end_s) / 2, likeliest(both)
        if number is None:
            continue
        shot = next(shot for shot in reversed(noted["shots"]) if shot["start_s"] <= middle_s)
        true = {words[number].text for number in _ACTIVITIES if words[number].text in shot["activities"]}
        true |= {
            words[above].text
            for number in _ACTIVITIES
            if words[number].text in true
            for above in parents_of(number)
        }
        yield float(both[number]), bool(both[number] > still[number]), words[number].text in true


def print_activities(extra: Path) -> None:
    """Print how many activities are right, by their confidence."""
    counts: dict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for noted in json.loads(_SHOTS_FILE.read_text())["videos"]:
        path = path_of(noted["file"], extra)
        if path.exists():
            for probability, moves, is_right in named_activities(path, noted):
                counts[noted["half"], moves].append((probability, is_right))
    print(f"| half, by | {' | '.join(f'from {low:g}' for low in _STEPS[:-1])} |")
    for (half, moves), rows in sorted(counts.items()):
        values, right = map(np.array, zip(*rows, strict=True))
        inside = [(values >= low) & (values < high) for low, high in pairwise(_STEPS)]
        cells = [f"{right[part].sum()} of {part.sum()}" for part in inside]
        print(f"| {half}, {'movement' if moves else 'pictures'} | {' | '.join(cells)} |")


def judged_clips(folder: Path | None) -> Iterator[tuple[dict[str, str], Path | None]]:
    """The rows of the CSV, and where their clips are."""
    shared = {Path(clip["file"]).stem: Path(clip["file"]) for clip in known_clips()}
    with _CLIPS_FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            path = shared.get(row["clip"]) if row["set"] == "shared" else folder and folder / row["clip"]
            yield row, path if path and path.exists() else None


def print_clips(folder: Path | None) -> None:
    """Print the judgements, and what is said now where it is another text."""
    rows = list(judged_clips(folder))
    for kind in ("shared", "independent", "scenes", "unseen"):
        for column in ("judgement", "before"):
            counts = Counter(row[column] for row, _ in rows if row["set"] == kind)
            print(f"{kind}, {column}: {dict(counts.most_common())}")
    for row, path in rows:
        said = " / ".join(entry.text for entry in describe(path).descriptions) if path else ""
        if path and said != row["descriptions"]:
            print(f"{row['clip']}: judged {row['descriptions']!r}, now {said!r}")


def see(path: Path) -> SeenSegments:
    """The rows and actions of the shots of a clip."""
    (features, movement), pictures = open_in_space("vse", path, Extraction(), actions=True).read()
    shots = find(features, SHOTS, pictures)
    actions = segment_actions(movement, shots.intervals, shots.edges_s)
    return see_segments(features, shots.intervals, "vse", actions)


def print_exchange(folder: Path | None) -> None:
    """Print how many lines stay the same if the pictures or actions of the next clip stand for a clip's."""
    clips = defaultdict[str, list[SeenSegments]](list)
    for row, path in judged_clips(folder):
        if path:
            clips[row["set"]].append(see(path))
    for kind, seen in clips.items():
        counts = Counter[str]()
        for clip, other in zip(seen, [*seen[1:], *seen[:1]], strict=True):
            before = write_words(clip, "vse", MIN_SURE["words"])
            counts["lines"] += sum(bool(sentence.text) for sentence in before)
            for name, changed in exchanged(clip, other).items():
                after = write_words(changed, "vse", MIN_SURE["words"])
                same = [bool(a.text) and a.text == b.text for a, b in zip(before, after, strict=True)]
                counts[name] += sum(same)
        print(f"{kind}, lines that stay the same: {dict(counts)}")


def exchanged(clip: SeenSegments, other: SeenSegments) -> dict[str, SeenSegments]:
    """A clip with the pictures or the actions of another one, or without actions."""
    assert clip.actions is not None
    assert other.actions is not None
    assert clip.objects is not None
    assert other.objects is not None
    rows, actions = np.resize(other.rows, clip.rows.shape), np.resize(other.actions, clip.actions.shape)
    objects = np.resize(other.objects, clip.objects.shape)
    return {
        "other pictures": replace(clip, rows=rows, objects=objects),
        "other actions": replace(clip, actions=actions),
        "no actions": replace(clip, actions=None),
    }


def main() -> None:
    """Print all of it."""
    parser = argument_parser(__doc__, small="--extra shared/videos/actions")
    parser.add_argument("--extra", type=Path, default=EXTRA)
    parser.add_argument("--independent", type=Path)
    options = parser.parse_args()
    print_activities(options.extra)
    print_clips(options.independent)
    print_exchange(options.independent)


if __name__ == "__main__":
    main()
