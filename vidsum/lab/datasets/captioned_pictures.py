"""Pictures with sentences: photographs, or frames of videos, in the layouts of public data sets.

CSV, CSV.gz     a header and a row per sentence: `image` or `file`, `caption`, and if wanted `split` and
                `time_s`, of a frame of a video
Flickr8k's txt  `name.jpg#0<tab>sentence`; the official split where its three lists are in the same folder
Karpathy's json `images` with `sentences` and `split`: dataset_flickr8k.json, dataset_coco.json ...
a folder        NAME.txt for the picture NAME.jpg, a sentence per line
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast, get_args

from vidsum.errors import InputError, quote, safe_name
from vidsum.features.pictures import Still
from vidsum.io.text import number_lines, read_json, read_packed_text, read_text
from vidsum.lab.datasets.clip_captions import is_unicode
from vidsum.lab.datasets.entries import entry_of, number_of, table_of

PictureSplit = Literal["train", "val", "test"]

TEST_EVERY, VAL_EVERY = 8, 16
"""Without splits every eighth file by name is for testing, then every sixteenth other for validation."""
_FLICKR8K: Final[Mapping[str, PictureSplit]] = {
    "Flickr_8k.trainImages.txt": "train",
    "Flickr_8k.devImages.txt": "val",
    "Flickr_8k.testImages.txt": "test",
}
_NAMES: Final[Mapping[str, PictureSplit]] = {"restval": "train", "dev": "val", "validation": "val"}
"""Other names of a split. `restval` is the rest of COCO's validation part, which the field trains on."""
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
"""Suffixes of the pictures that belong to a text file."""


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture and the sentences that people wrote for it."""

    file: str  # as in the captions; a video may have several pictures
    still: Still
    sentences: tuple[str, ...]  # at least one, none of them blank
    split: PictureSplit


class SentenceRow(NamedTuple):
    where: str
    file: str
    sentence: str
    split: str | None = None
    time_s: float | None = None


def read_captioned_pictures(captions: Path, folder: Path) -> tuple[list[CaptionedPicture], list[str]]:
    """Return the pictures in a folder that captions describe, by name, and warnings of what was left out.

    The split is made from all names in the captions, whether their files exist or not. Raises InputError: the
    captions cannot be read, a row of them makes no sense, or no picture exists.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: {'is not a folder' if folder.exists() else 'no such folder'}")
    sentences: dict[tuple[str, float | None], list[str]] = {}
    splits: dict[str, str | None] = {}
    for row in sentence_rows(captions, folder):
        if not row.file.strip():
            raise InputError(f"{row.where}: has no name of a picture")
        if not row.sentence.strip() or not is_unicode(row.sentence):
            raise InputError(f"{row.where}: has no sentence for {safe_name(row.file)}")
        sentences.setdefault((row.file, row.time_s), []).append(row.sentence.strip())
        if splits.setdefault(row.file, row.split) != row.split:
            raise InputError(f"{row.where}: {safe_name(row.file)} is in two splits")
    if not sentences:
        raise InputError(f"{captions}: holds no sentences")
    split_of = split_pictures(splits)
    is_there = {file: _is_file(folder / file) for file in split_of}
    pictures = [
        CaptionedPicture(file, Still(folder / file, time_s), tuple(texts), split_of[file])
        for (file, time_s), texts in sorted(sentences.items(), key=lambda item: (item[0][0], item[0][1] or 0))
        if is_there.get(file)
    ]
    missing = [file for file in sorted(split_of) if not is_there[file]]
    if not pictures:
        example = safe_name(missing[0])
        raise InputError(
            f"{folder}: holds none of the {len(splits)} pictures of {captions}, such as {example}"
        )
    warnings = []
    if n_unused := len(splits) - len(split_of):
        warnings.append(f"{captions.name}: pictures that are in no split and are left out: {n_unused}")
    if missing:
        lost = f"pictures that are not in {folder} and are left out: {len(missing)}"
        warnings.append(f"{captions.name}: {lost}, such as {safe_name(missing[0])}")
    return pictures, warnings


def split_pictures(named: Mapping[str, str | None]) -> dict[str, PictureSplit]:
    """Return the split of each file by name: the one in the file, else by `TEST_EVERY` and `VAL_EVERY`.

    A file without a split is left out where others have one.
    """
    names = sorted(named)
    if any(named.values()):
        parts = {name: cast(PictureSplit, named[name]) for name in names if named[name]}
    else:
        parts = {name: "test" if n % TEST_EVERY == 0 else "train" for n, name in enumerate(names)}
    if "val" not in parts.values():
        train = [name for name in parts if parts[name] == "train"]
        parts |= dict.fromkeys(train[::VAL_EVERY], "val")
    return parts


def sentence_rows(captions: Path, folder: Path) -> Iterator[SentenceRow]:
    if captions.is_dir():
        return _of_folder(captions, folder)
    name = captions.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return _of_csv(captions)
    if name.endswith(".txt"):
        return _of_flickr8k(captions)
    if name.endswith(".json"):
        return _of_karpathy(captions)
    hint = ".csv, .csv.gz, Flickr8k's .txt, Karpathy's .json, or a folder of text files"
    raise InputError(f"{captions}: no layout of captions has such a name", hint=hint)


def _of_csv(path: Path) -> Iterator[SentenceRow]:
    columns, rows = table_of(path, read_packed_text(path))
    file = next((name for name in ("image", "file") if name in columns), None)
    if file is None or "caption" not in columns:
        header = quote(", ".join(columns))
        raise InputError(f"{path}: line 1: has the columns {header}, not image or file, and caption")
    for where, values in ((row.where, row.values) for row in rows):
        split = _split(where, values["split"]) if "split" in values else None
        time_s = _time(where, values["time_s"]) if values.get("time_s") else None
        yield SentenceRow(where, values[file], values["caption"], split, time_s)


def _time(where: str, text: str) -> float:
    try:
        time_s = number_of(float(text))
    except ValueError:
        time_s = None
    if time_s is None or time_s < 0:
        raise InputError(f"{where}: has a time_s that is not a number of seconds: {quote(text)}")
    return time_s


def _split(where: str, name: object) -> PictureSplit:
    split = _NAMES.get(str(name), name)
    if split not in get_args(PictureSplit):
        raise InputError(f"{where}: has a split that is not train, val or test: {quote(name)}")
    return cast(PictureSplit, split)


def _of_flickr8k(path: Path) -> Iterator[SentenceRow]:
    lists = {path.with_name(name): split for name, split in _FLICKR8K.items()}
    split_of = {
        line: split
        for names, split in lists.items()
        if names.is_file()
        for _, line in number_lines(read_text(names))
    }
    for number, line in number_lines(read_packed_text(path)):
        where = f"{path}: line {number}"
        key, tab, sentence = line.partition("\t")
        file, mark, _ = key.rpartition("#")
        if not (tab and mark):
            raise InputError(f"{where}: is not a name with the number of a sentence, a tab, and a sentence")
        yield SentenceRow(where, file, sentence, split_of.get(file))


def _of_karpathy(path: Path) -> Iterator[SentenceRow]:
    for number, image in enumerate(entry_of(str(path), read_json(path)).entries("images")):
        image = replace(image, where=f"{path}: image {number}")
        folder = f"{image.text('filepath')}/" if "filepath" in image.values else ""
        split = _split(image.where, image.values["split"]) if "split" in image.values else None
        for sentence in image.entries("sentences"):
            text = sentence.text("raw")
            yield SentenceRow(image.where, folder + image.text("filename"), text, split)


def _of_folder(captions: Path, folder: Path) -> Iterator[SentenceRow]:
    for path in sorted(captions.glob("*.txt")):
        names = [path.with_suffix(suffix).name for suffix in _SUFFIXES]
        file = next((name for name in names if _is_file(folder / name)), names[0])
        for number, line in number_lines(read_text(path)):
            yield SentenceRow(f"{path}: line {number}", file, line)


def _is_file(path: Path) -> bool:
    """Return whether a file is there; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
