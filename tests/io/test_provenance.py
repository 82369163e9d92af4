"""What a result was made from: hashes of files, and names of provenance blocks."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.io import provenance
from vidsum.io.provenance import hash_file
from vidsum.results.features import Features


def test_the_hash_of_a_file_is_the_published_one_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # the example of FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_file(tmp_path / "abc") == expected
    assert provenance.identify_file(tmp_path / "abc") == {"bytes": 3, "sha256": expected}


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_a_file_of_any_length_is_hashed_to_its_end(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert hash_file(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_a_file_that_changed_is_hashed_anew(tmp_path: Path) -> None:
    file = tmp_path / "film.mp4"
    file.write_bytes(b"one")
    before = provenance.identify_file(file)
    file.write_bytes(b"another")
    assert (
        provenance.identify_file(file)["sha256"] == hashlib.sha256(b"another").hexdigest() != before["sha256"]
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"film\.mp4: cannot be read"):
        provenance.identify_file(tmp_path / "film.mp4")


def test_the_order_of_keys_does_not_change_the_name_of_a_provenance() -> None:
    assert provenance.digest_of({"a": 1, "b": 2}) == provenance.digest_of({"b": 2, "a": 1})
    assert provenance.digest_of({"a": 1}) != provenance.digest_of({"a": 2})


def test_a_difference_is_told_by_the_option_that_makes_it() -> None:
    now = {"grounding": {"top_k": 5, "evidence": "both"}, "speech": {"model": "whisper_base"}}
    silent = {"grounding": {"top_k": 5}}
    assert "--in seen" in provenance.difference(silent, now)
    assert provenance.difference(now, silent) == "with --in both"
    older = {"speech": {"model": "whisper_base", "beams": 5}}
    newer = {"speech": {"model": "whisper_base", "beams": 5, "certain": 0.6}}
    assert provenance.difference(older, newer) == "with other rules for speech"
    spoken = {"summary": {"budget": 0.15, "speech": {"model": "whisper_base"}}}
    assert "--snap none" in provenance.difference({"summary": {"budget": 0.15}}, spoken)


def test_what_was_seen_of_a_video_is_told_by_its_options() -> None:
    whole = {"extractor": "lite", "weights_sha256": "a", "parameters": {"fps": 2, "reader": "pyav"}}
    fast = {**whole, "parameters": {**whole["parameters"], "fast": True}}
    moving = {**whole, "extractor": "i3d", "weights_sha256": "b"}
    plain, quick, thorough = (
        {"extractions": each, "grounding": {}} for each in ([whole], [fast], [moving, whole])
    )
    assert provenance.difference(plain, quick) == "without --fast"
    assert provenance.difference(quick, plain) == "with --fast"
    assert provenance.difference(plain, thorough) == "without --thorough"
    assert provenance.difference(thorough, plain) == "with --thorough"
    other = {**whole, "parameters": {**whole["parameters"], "fps": 3}}
    assert provenance.difference(plain, {"extractions": [other], "grounding": {}}) == "with other networks"


def test_features_made_elsewhere_go_by_their_numbers_and_their_times() -> None:
    array = np.eye(3, dtype=np.float32)
    one, again, slower, other = (
        Features.from_array(rows, fps=fps, extractor="own").effective_provenance
        for rows, fps in ((array, 2), (array.copy(), 2), (array, 1), (2 * array, 2))
    )
    assert one == again
    assert len({each["features"]["sha256"] for each in (one, slower, other)}) == 3
