"""Paths as people type them."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vidsum.errors import InputError
from vidsum.io.file_names import existing_path, missing_file

LETTERS = st.text("aé\u202f \u00a0éﬁo\u0308\u3000x", min_size=1, max_size=6)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(LETTERS, max_size=4), typed=LETTERS)
def test_only_name_that_is_equal_in_unicode_is_taken(here: Path, names: set[str], typed: str) -> None:
    for path in here.iterdir():
        path.unlink()
    for name in names:
        Path(name).touch()
    equal = [
        name for name in names if unicodedata.normalize("NFKC", name) == unicodedata.normalize("NFKC", typed)
    ]
    if typed in names or not equal:
        assert existing_path(typed) == typed
    elif len(equal) == 1:
        assert existing_path(typed) == equal[0]
    else:
        with pytest.raises(InputError, match="several names") as caught:
            existing_path(typed)
        assert all(repr(name) in str(caught.value.hint) for name in equal)


@pytest.mark.parametrize(
    "path", ["", "/", ".", "..", "a/b/c", "/nowhere/at/all", "x\0y", "a" * 5000, "missing/"]
)
def test_other_paths_stay_as_they_are(here: Path, path: str) -> None:
    assert existing_path(path) == path


def test_folder_of_an_equal_name_is_taken(here: Path) -> None:
    (here / "fo\u0308r" / "x\u00a0y").mkdir(parents=True)
    (here / "fo\u0308r" / "x\u00a0y" / "a.mp4").touch()
    assert existing_path("för/x y/a.mp4") == "fo\u0308r/x\u00a0y/a.mp4"
    assert existing_path(f"{here}/för/x y/missing.mp4") == f"{here}/för/x y/missing.mp4"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("flim.mp4", "film.mp4"),
        ("my flm.mp4", "'my film.mp4'"),
        ("other", "a file that is there: ls ."),
        ("nowhere/at/all.mp4", "a file that is there: ls ."),
        ("sub/x", "a file that is there: ls sub"),
    ],
)
def test_the_error_for_a_missing_file_names_what_is_there(here: Path, typed: str, hint: str) -> None:
    for name in ("film.mp4", "my film.mp4"):
        Path(name).touch()
    Path("sub").mkdir()
    error = missing_file(typed)
    assert (error.message, error.hint) == (f"{typed}: no such file", hint)
