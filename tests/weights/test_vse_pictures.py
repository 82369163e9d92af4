"""The collector of pictures, against repositories on this machine."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.media import make_video
from vidsum.weights.recipes import vse_pictures
from vidsum.weights.recipes.vse_pictures import PictureSource, collect, read_sources


def save_picture(path: Path, *colours: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    halves = [np.full((8, 16, 3), colour, np.uint8) for colour in colours]
    Image.fromarray(np.concatenate(halves, axis=1)).save(path)


def commit(folder: Path) -> str:
    """Commit what is in a folder; return the commit."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "pictures"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


@pytest.fixture
def photographs(tmp_path: Path) -> PictureSource:
    """A repository with two photographs, of which a later commit has one alone, and what is none."""
    folder = tmp_path / "photographs"
    save_picture(folder / "data/COCO_000000000007.jpg", (200, 0, 0))
    save_picture(folder / "data/COCO_000000000010.jpg", (0, 200, 0))
    (folder / "README.jpg.md").write_text("not a picture")
    first = commit(folder)
    (folder / "data/COCO_000000000010.jpg").unlink()
    commit(folder)
    return PictureSource("coco", str(folder), first, r"data/COCO_0*(?P<key>\d+)\.jpg")


def test_pictures_of_a_commit_are_collected_by_their_keys(photographs: PictureSource, tmp_path: Path) -> None:
    assert collect([photographs], tmp_path / "out") == {"coco": 2}
    assert {path.name for path in (tmp_path / "out/pictures/coco").iterdir()} == {"7.jpg", "10.jpg"}


def test_first_source_of_a_picture_wins(photographs: PictureSource, tmp_path: Path) -> None:
    save_picture(tmp_path / "other/0007.jpg", (0, 0, 200))
    other = PictureSource("coco", str(tmp_path / "other"), commit(tmp_path / "other"), r"0*(?P<key>\d+)\.jpg")
    collect([photographs, other], tmp_path / "out")
    with Image.open(tmp_path / "out/pictures/coco/7.jpg") as picture:
        assert np.asarray(picture)[0, 0, 0] > 150


def test_run_that_was_killed_resumes(
    photographs: PictureSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    name = f"photographs@{photographs.commit[:7]}"
    (out / "repositories" / f"{name}.part").mkdir(parents=True)  # a clone that was not finished
    collect([photographs], out)
    (out / "pictures/coco/10.jpg").unlink()
    (out / "pictures/coco/10.part").write_bytes(b"half of it")
    (out / "repositories" / name / "data/COCO_000000000007.jpg").unlink()  # a checkout that was not finished
    (out / "repositories" / name / ".git/index.lock").touch()
    calls = list[str]()
    run = vse_pictures._git
    monkeypatch.setattr(vse_pictures, "_git", lambda *words: (calls.extend(words), run(*words)))
    before = (out / "pictures/coco/7.jpg").stat().st_mtime_ns
    assert collect([photographs], out) == {"coco": 2}
    assert "clone" not in calls
    assert (out / "pictures/coco/7.jpg").stat().st_mtime_ns == before


def test_pairs_and_videos_become_frames(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    save_picture(folder / "video7-shot0_1/concat_img0_img9.jpg", (200, 0, 0), (0, 0, 200))
    (folder / "clips").mkdir()
    make_video(folder / "clips/runs.mp4")
    head = commit(folder)
    pairs = PictureSource(
        "msrvtt", str(folder), head, r"(?P<key>video\w+-shot\w+)/concat\w+\.jpg", pairs=True
    )
    clips = PictureSource("msvd", str(folder), head, r"clips/(?P<key>\w+)\.mp4")
    assert collect([pairs, clips], tmp_path / "out") == {"msrvtt": 2, "msvd": 4}
    reds = []
    for number in (0, 1):
        with Image.open(tmp_path / f"out/pictures/msrvtt/video7-shot0_1.{number}.jpg") as picture:
            reds.append(int(np.asarray(picture)[4, 8, 0]))
    assert reds[0] > 150 > 50 > reds[1]


@pytest.mark.deep
def test_sources_of_the_map_are_readable() -> None:
    sources = read_sources(Path(vse_pictures.__file__).with_name("vse_sources.yaml"))
    assert {source.set for source in sources} == {"flickr8k", "coco", "msrvtt", "msvd"}
    names = {
        "data/resized2014/COCO_train2014_000000000009.jpg": "9",
        "assets/images/000000000605_MEG_size.jpg": "605",
        "data/images/1000268201_693b08cb0e.jpg": "1000268201_693b08cb0e",
        "all_concat/MSR-VTT-videoTestVideo_video7013-shot1_0/concat_img0_img86.jpg": "video7013-shot1_0",
    }
    for path, key in names.items():
        assert key in [source.key_of(path) for source in sources]
