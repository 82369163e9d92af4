"""Sounds as evidence: names of classes, the classes that queries mean, and moments of curves."""

import numpy as np
import pytest

from tests.conftest import real_weights
from vidsum.evidence.audible import RUN, _are_runs, match_classes, read_names, sound_moments
from vidsum.evidence.protocol import encode_queries
from vidsum.features.yamnet import N_CLASSES

_NEAREST = (
    "applause > applause; laughter > laughter; a dog barks > dog, bark; music > music; "
    "people are clapping their hands > clapping, applause; the audience bursts out laughing > laughter; "
    "a baby is crying > baby cry; the telephone is ringing > telephone bell ringing, telephone; "
    "somebody knocks on a door > knock; breaking glass > shatter; cars honking > vehicle horn; "
    "police siren > police car, siren; falling rain > rain; a thunderclap > thunder; "
    "birdsong > bird, bird vocalization; a kitten meows > meow, cat; "
    "starting an engine > engine starting; a guitar being played > guitar; cheering fans > cheering; "
    "a person coughing > cough; typing on a keyboard > computer keyboard, typing; gunshots > gunshot; "
    "waves on a beach > waves; sawing a plank > sawing; a horse whinnies > horse, neigh; "
    "the referee's whistle > whistle; something frying in a pan > frying food; "
    "hoovering > vacuum cleaner; a motorbike > motorcycle; a woman speaks > speech; "
    "helicopter noise > helicopter; piano > piano; drumming > drum, drum kit, percussion; "
    "footsteps > walk; church bells ringing > church bell; fireworks > fireworks; "
    "water flowing from a tap > water tap, water; howling wind > wind; "
    "a train goes by > train, rail transport; hammering nails > hammer; cock-a-doodle-doo > crowing; "
    "a cow moos > moo, cattle; sheep bleating > bleat, sheep; bees buzzing > bee, buzz; "
    "a woman singing > singing; a fire alarm > fire alarm; snoring > snoring; silence > silence; "
    "explosion > explosion; kids playing outside > children playing"
)
QUERIES = dict(entry.split(" > ") for entry in _NEAREST.split("; "))
"""The nearest class is one of these; written before the rule was first run."""
_OTHERS = (
    "a red cup; a man in a suit; a person opens a laptop; sunset over the mountains; a green meadow; "
    "a flag; a pizza; the president of France; a woman with long hair; slicing peppers; "
    "a chart of sales; a man wearing glasses; he explains the budget for next year; "
    "two people shake hands"
)


def test_names() -> None:
    names = read_names()
    assert len(names) == N_CLASSES
    assert [names[number][0] for number in (0, 132, 494)] == ["speech", "music", "silence"]
    assert min(len(name) for entry in names for name in entry) >= 2


@pytest.mark.weights
def test_classes_of_queries() -> None:
    real_weights("minilm")
    nearest = [read_names()[classes[0]][0] for classes in map(match_classes, encode_queries(list(QUERIES)))]
    assert all(name in right.split(", ") for name, right in zip(nearest, QUERIES.values(), strict=True))
    assert not any(len(match_classes(query)) for query in encode_queries(_OTHERS.split("; ")))
    car = match_classes(*encode_queries(["a yellow car"]))  # what is seen may sound too
    assert read_names()[car[0]][0] == "car"


def test_moments_of_a_curve() -> None:
    curve = np.array([0.1, 0.4, 0.6, 0.2, 0.3, 0.1, 0.2, 0.9, 0.1, 0.2, 0.4, 0.0], np.float32)
    first, second = sound_moments(curve, 11.4)
    assert first.interval == pytest.approx((7 * 0.96, 8 * 0.96))
    assert first.score == pytest.approx(0.9)
    assert type(first.start_s) is float
    assert second.interval == pytest.approx((0.96, 5 * 0.96))  # a single quiet window is no end
    assert {first.evidence, second.evidence} == {"sound"}
    assert sound_moments(np.zeros(4, np.float32), 4.0) == []


def test_a_moment_ends_with_the_sound() -> None:
    (moment,) = sound_moments(np.array([0.0, 0.8, 0.8], np.float32), 2.5)
    assert moment.interval == pytest.approx((0.96, 2.5))
    assert sound_moments(np.array([0.0, 0.0, 0.8], np.float32), 1.9) == []


SOUND_RUNS = [(0, 1, 3, 0.5), (0, 4, 6, 0.5), (2, 0, 9, 1.0)]


def are_runs(*changes: tuple[int, tuple[int, int, int, float]]) -> bool:
    """Whether runs are accepted after changes of some of them."""
    return _are_runs(np.array([dict(changes).get(n, run) for n, run in enumerate(SOUND_RUNS)], RUN))


def test_stored_sounds_in_order_and_apart_are_accepted() -> None:
    assert are_runs()


@pytest.mark.parametrize(
    ("number", "run"),
    [
        (1, (0, 2, 6, 0.5)),
        (1, (0, 3, 6, 0.5)),
        (2, (0, 0, 9, 1.0)),
        (0, (0, 3, 1, 0.5)),
        (2, (N_CLASSES, 0, 9, 1.0)),
        (0, (0, 1, 3, 0.0)),
        (2, (2, 0, 9, 1.5)),
    ],
    ids=["overlap", "touch", "order", "end before start", "unknown class", "too quiet", "above 1"],
)
def test_stored_sounds_out_of_order_or_range_are_refused(
    number: int, run: tuple[int, int, int, float]
) -> None:
    assert not are_runs((number, run))
