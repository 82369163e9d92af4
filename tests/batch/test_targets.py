"""Names of the files that a command plans."""

from pathlib import Path

import pytest

from vidsum.batch.inputs import plain_inputs
from vidsum.batch.settings import CommonOptions
from vidsum.batch.targets import plan_moment_files


@pytest.mark.parametrize(
    ("output", "names"),
    [(None, ("film_moments.json", "film_curves.png")), ("mine.json", ("mine.json", "mine_curves.png"))],
    ids=["by the film", "by the output"],
)
def test_plot_beside_moments_has_the_name_of_the_film_or_the_output(
    output: str | None, names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    common = CommonOptions(output=output)
    (item,), _, _ = plan_moment_files(
        "moments", plain_inputs(["film.mp4"]), common, {"plot": "curves.png"}, clips=False
    )
    assert item.artifacts is not None
    assert tuple(item.artifacts.files[kind].name for kind in ("json", "plot")) == names
