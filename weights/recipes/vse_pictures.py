"""Collect the pictures of the map `vse` from public repositories (vse_sources.yaml); a killed run resumes.

    python -m vidsum.weights.recipes.vse_pictures FOLDER [SOURCES]

Repositories are cloned by git into FOLDER/repositories, without their files but those of the commit, and the
pictures copied to FOLDER/pictures/SET/KEY.jpg. Four frames of a video of MSVD are taken.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at

_N_FRAMES = 4  # of a video


@dataclass(frozen=True)
class PictureSource:
    """Pictures in a repository."""

    set: str
    repository: str  # a URL or path that git can clone
    commit: str
    files: str  # regular expression of their paths, with a group `key`
    pairs: bool = False  # whether a file shows two frames side by side

    def key_of(self, path: str) -> str | None:
        """Return the name of the picture at a path; None where it is something else."""
        found = re.fullmatch(self.files, path)
        return found["key"] if found else None


def read_sources(path: Path) -> list[PictureSource]:
    """Return the sources of a YAML file."""
    return [PictureSource(**source) for source in yaml.safe_load(path.read_text("utf-8"))]


def collect(sources: list[PictureSource], folder: Path) -> dict[str, int]:
    """Collect the pictures of sources; return how many each set has."""
    for source in sources:
        checkout = check_out(source, folder / "repositories")
        for path in sorted(checkout.rglob("*")):
            key = source.key_of(path.relative_to(checkout).as_posix())
            if key is not None and path.is_file():
                _copy(source, path, folder / "pictures" / source.set, key)
    return {part.name: sum(1 for _ in part.glob("*.jpg")) for part in sorted((folder / "pictures").glob("*"))}


def check_out(source: PictureSource, folder: Path) -> Path:
    """Return a work tree of a source's commit, cloned if it is not here yet."""
    name = source.repository.rstrip("/").split("/")[-1]
    target = folder / f"{name}@{source.commit[:7]}"
    if not target.exists():
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)  # what a killed run left
        part.parent.mkdir(parents=True, exist_ok=True)
        _git("clone", "--quiet", "--filter=blob:none", "--no-checkout", source.repository, str(part))
        part.replace(target)
    (target / ".git/index.lock").unlink(missing_ok=True)
    _git(
        "-C", str(target), "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", source.commit
    )
    return target


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def _copy(source: PictureSource, path: Path, folder: Path, key: str) -> None:
    """Write the pictures of a file, those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    first = folder / (f"{key}.jpg" if path.suffix == ".jpg" and not source.pairs else f"{key}.0.jpg")
    if first.exists():
        return
    if path.suffix == ".jpg" and not source.pairs:
        shutil.copyfile(path, part := first.with_suffix(".part"))
        part.replace(first)
        return
    pictures = list(_halves(path) if source.pairs else _frames(path))
    for number in reversed(range(len(pictures))):  # the first one last: it stands for all
        part = folder / f"{key}.part"
        pictures[number].save(part, "JPEG", quality=95)
        part.replace(folder / f"{key}.{number}.jpg")


def _halves(path: Path) -> Iterator[Image.Image]:
    with Image.open(path) as pair:
        middle = pair.width // 2
        yield pair.convert("RGB").crop((0, 0, middle, pair.height))
        yield pair.convert("RGB").crop((middle, 0, 2 * middle, pair.height))


def _frames(path: Path) -> Iterator[Image.Image]:
    video = probe(path)
    times = [float(time) for time in (np.arange(_N_FRAMES) + 0.5) / _N_FRAMES * video.duration_s]
    yield from (Image.fromarray(np.asarray(frame.image)) for frame in read_frames_at(video, times))


def main() -> None:
    """Collect, and print how many pictures there are."""
    folder, *sources = map(Path, sys.argv[1:])
    listed = read_sources(sources[0] if sources else Path(__file__).with_name("vse_sources.yaml"))
    for name, count in collect(listed, folder).items():
        print(f"{name}: {count} pictures")


if __name__ == "__main__":
    main()
