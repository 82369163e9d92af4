"""One match probability: `ground`, `search` and `watch` on the same real videos, with real networks."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.conftest import real_weights
from vidsum.archive.archive import Archive
from vidsum.evidence import running_match
from vidsum.evidence.match_probability import (
    embed_background,
    kind_of,
    list_windows,
    match_windows,
    prepare_queries,
    usual_of,
)
from vidsum.evidence.running_match import RunningMatch
from vidsum.features.settings import Extraction
from vidsum.grounding.spaces import embed_queries
from vidsum.models.scaling import logistic
from vidsum.pipelines.embedding import open_in_space, plan_embedding

pytestmark = [pytest.mark.deep, pytest.mark.shared, pytest.mark.weights]

Clips = list[tuple[Path, list[str]]]

N_VIDEOS = 20
OTHERS = ("a rocket launch at night", "people", "a dog running", "someone is dancing")


@pytest.fixture(scope="module")
def clips(shared: Path) -> Clips:
    """Real clips, and texts that are true of each or of none."""
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    folders = (shared / "videos", shared / "videos" / "wide")
    listed = chain.from_iterable(
        ((folder / clip["file"], clip) for clip in json.loads((folder / "clips.json").read_text())["clips"])
        for folder in folders
    )
    return [(path, [clip["query"], *OTHERS]) for path, clip in islice(listed, N_VIDEOS)]


@pytest.fixture(scope="module")
def archive(clips: Clips, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with Archive(tmp_path_factory.mktemp("one") / "a.vidsum") as opened:
        opened.add([path for path, _ in clips], device="cpu", space="vse")
        yield opened


def test_search_gives_the_probability_of_ground(clips: Clips, archive: Archive) -> None:
    """To .01, after vectors of 8 bits."""
    for path, texts in clips:
        answers = vidsum.ground(path, texts, 3, space="vse", evidence="picture", device="cpu").queries
        for text, answer in zip(texts, answers, strict=True):
            found = archive.search(text, 3, path=[str(path)], evidence="picture", duplicates=True)
            best = max(moment.present or 0.0 for moment in answer.moments)
            assert found[0].present == pytest.approx(best, abs=0.01), (path.name, text)


def test_watch_gives_the_probability_of_ground(clips: Clips, monkeypatch: pytest.MonkeyPatch) -> None:
    """The probability of each window is equal after the whole video has been seen once."""
    monkeypatch.setattr(running_match, "_FADE", 1.0)
    background = embed_background("vse")
    for path, texts in clips:
        opened = open_in_space("vse", path, Extraction(device="cpu"), actions=True)
        video = plan_embedding(opened, "vse").run().clips
        objects, actions = video.objects, video.actions
        assert objects is not None
        assert actions is not None
        assert video.shots_s is not None
        names, kinds = (objects.names, actions.names), [*map(kind_of, texts)]
        queries = prepare_queries(kinds, embed_queries("vse", texts), background, *names)
        shots = np.searchsorted(video.shots_s[1:-1], video.timestamps + video.step_s / 2, side="right")
        starts = np.diff(shots, prepend=-1) != 0
        running = RunningMatch(queries, background)
        for _ in range(30):
            live = [
                running.add(
                    video.rows[t],
                    replace(objects, probabilities=objects.probabilities[t : t + 1]),
                    replace(actions, probabilities=actions.probabilities[t : t + 1]),
                    begins_shot=bool(starts[t]),
                )
                for t in range(len(video))
            ]
        ends = list_windows(video)[:, 1] - 1
        expected = logistic(match_windows(video, queries, usual_of(video, background)).logits)
        np.testing.assert_allclose(np.stack(live, axis=1)[:, ends], expected, atol=0.01, err_msg=path.name)
