"""`vidsum summarize` and `vidsum highlights`."""

import json
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from tests import media
from tests.commands.conftest import copies, files_here, use_mean_colours
from tests.program import Run, check_schema, read_valid
from tests.untrained import save_untrained
from vidsum.__main__ import main
from vidsum.outputs.alone import write_features
from vidsum.results.features import Features
from vidsum.video.probe import probe

pytestmark = pytest.mark.usefixtures("known_film")


def test_summarize_mp4_and_json(run: Run, film: Path) -> None:
    run("summarize", film, "--budget", "30%")
    assert files_here() == ["film_summary.json", "film_summary.mp4"]
    document = read_valid("film_summary.json", "summary")
    used = sum(segment["end_s"] - segment["start_s"] for segment in document["segments"])
    assert 0 < used <= 3.0
    assert document["budget"]["used_s"] == pytest.approx(used)
    assert probe("film_summary.mp4").duration_s == pytest.approx(used, abs=0.08)


@pytest.fixture(scope="module")
def repeated(made_film: Path, analysed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the outputs of three runs; the third extracts the features anew."""
    folder = tmp_path_factory.mktemp("repeated")
    film = copies(made_film, folder / "film.mp4")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(analysed))
        use_mean_colours(patch)
        for name, options in (("one", []), ("two", []), ("three", ["--no-cache"])):
            words = ["summarize", str(film), "--output-dir", str(folder / name), "--storyboard", "--plot"]
            patch.setattr("sys.argv", ["vidsum", *words, *options])
            with pytest.raises(SystemExit) as left:
                main()
            assert not left.value.code
    return folder


@pytest.mark.parametrize("name", ["film_storyboard.png", "film_importance.png"])
def test_storyboard_and_plot_are_written_on_demand(repeated: Path, name: str) -> None:
    assert (repeated / "one" / name).is_file()


@pytest.mark.parametrize(
    "name", ["film_summary.json", "film_summary.mp4", "film_storyboard.png", "film_importance.png"]
)
def test_summarize_writes_the_same_bytes_in_every_run(repeated: Path, name: str) -> None:
    first, second, third = ((repeated / run / name).read_bytes() for run in ("one", "two", "three"))
    assert first == second == third


@pytest.mark.parametrize(
    ("output", "files"), [("s.mp4", ["s.json", "s.mp4"]), ("s.json", ["s.json"]), ("-", [])]
)
def test_output_names_the_files(run: Run, film: Path, output: str, files: list[str]) -> None:
    ran = run("summarize", film, "-o", output)
    assert files_here() == files
    if output == "-":
        check_schema(ran.json, "summary")


def test_summarize_dry_run_prints_segments_and_writes_nothing(run: Run, film: Path) -> None:
    ran = run("summarize", film, "--dry-run")
    assert ran.out.splitlines()[0].split() == ["segment", "start", "end", "seconds"]
    assert files_here() == []


def test_summary_of_a_large_budget_is_the_whole_video_and_says_so(run: Run, film: Path) -> None:
    ran = run("summarize", film, "--budget", "1:00", "-o", "-", "--json")
    assert ran.json["data"]["segments"] == [{"start_s": 0, "end_s": 10}]
    assert ran.json["messages"]


def test_summary_has_what_is_kept_and_not_what_is_dropped(run: Run, film: Path) -> None:
    ranges = ("--keep", "4.5-5.5", "--drop", "0-2", "--drop", "8-10")
    ran = run("summarize", film, "-b", "3s", *ranges, "-o", "-")
    segments = [(segment["start_s"], segment["end_s"]) for segment in ran.json["segments"]]
    assert any(start <= 4.5 and end >= 5.5 for start, end in segments)
    assert all(2 <= start < end <= 8 for start, end in segments)


@pytest.mark.parametrize("option", ["--keep", "--drop"])
def test_ranges_before_first_picture(run: Run, tmp_path: Path, option: str) -> None:
    late = media.make_video(tmp_path / "late.mkv", n_frames=75, sound=True, late_s=3.0).path
    ran = run("summarize", late, "-b", "1s", option, "0-2", "-o", "-", code=2)
    assert f"{option} ends before the first picture, at 0:03." in ran.err


@pytest.mark.parametrize("model", ["contrastive", "uniform", "random"])
@pytest.mark.parametrize("shots", ["kts", "uniform"])
def test_models_and_shots(run: Run, film: Path, model: str, shots: str) -> None:
    ran = run("summarize", film, "--model", model, "--shots", shots, "-o", "-")
    check_schema(ran.json, "summary")
    assert (ran.json["model"], ran.json["shot_method"]) == (model, shots)


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """A file of random features, half a minute long."""
    array = np.random.default_rng(0).normal(size=(60, 8))
    write_features(Features.from_array(array), tmp_path / "f.npz")
    return tmp_path / "f.npz"


def test_summary_of_features_is_a_document_alone(run: Run, features: Path) -> None:
    run("summarize", features)
    assert files_here() == ["f_summary.json"]
    check_schema(json.loads(Path("f_summary.json").read_text()), "summary")


def test_no_video_is_written_of_features(run: Run, features: Path) -> None:
    run("summarize", features, "-o", "f.mp4", code=2)
    assert files_here() == []


@pytest.fixture
def avi(tmp_path: Path) -> Path:
    """A film of 2 s whose file does not say when its pictures are shown."""
    return media.make_video(tmp_path / "film.avi", n_frames=50, b_frames=2).path


def test_film_without_times_is_not_copied(run: Run, avi: Path) -> None:
    run("summarize", avi, "--copy", code=2)


def test_film_without_times_is_summarized(run: Run, avi: Path) -> None:
    run("summarize", avi, "--budget", "1:00", "-o", "whole.mp4")
    assert probe("whole.mp4").duration_s == pytest.approx(2, abs=0.1)


def test_joined_transport_streams_are_one_film_and_a_message(run: Run, tmp_path: Path) -> None:
    part = media.make_video(tmp_path / "part.ts", n_frames=50).path
    joined = tmp_path / "joined.ts"
    joined.write_bytes(part.read_bytes() * 2)
    ran = run("summarize", joined, "--json")
    assert ran.json["data"]["duration_s"] == pytest.approx(4.0)
    assert sum("start again" in message for message in ran.json["messages"]) == 1


def pictures_in(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


WHOLE = ("--budget", "1:00")


def test_whole_video_is_copied(run: Run, film: Path) -> None:
    run("summarize", film, *WHOLE)
    assert pictures_in(Path("film_summary.mp4")) == pictures_in(film)
    with av.open("film_summary.mp4") as container:
        assert container.metadata["comment"].count(" ") == 1  # of the default form
        assert container.streams.audio[0].codec_context.name == "aac"


def test_copied_video_is_up_to_date(run: Run, film: Path) -> None:
    run("summarize", film, *WHOLE)
    assert "unchanged" in run("summarize", film, *WHOLE).out


def test_copied_video_is_written_anew_with_the_same_bytes(run: Run, film: Path) -> None:
    run("summarize", film, *WHOLE)
    before = Path("film_summary.mp4").read_bytes()
    run("summarize", film, *WHOLE, "--overwrite")
    assert Path("film_summary.mp4").read_bytes() == before


@pytest.mark.parametrize("options", [("--crf", "30"), ("--drop", "0-0.1")], ids=["crf", "drop"])
def test_options_of_the_encoder_encode_the_whole_video(
    run: Run, film: Path, options: tuple[str, ...]
) -> None:
    run("summarize", film, *WHOLE, *options)
    assert pictures_in(Path("film_summary.mp4")) != pictures_in(film)
    assert "unchanged" in run("summarize", film, *WHOLE, *options).out


@pytest.mark.parametrize("kind", ["hevc", "vp9", "mpeg4_avi", "odd_size", "ten_bit"])
def test_whole_video_of_other_codec(run: Run, tmp_path: Path, kind: str) -> None:
    film = media.GOOD_VIDEOS[kind](tmp_path).path
    run("summarize", film, "--budget", "1:00", "-o", "whole.mp4")
    with av.open("whole.mp4") as container:
        pictures = container.streams.video[0].codec_context
        assert (pictures.name, pictures.pix_fmt) == ("h264", "yuv420p")
    assert "unchanged" in run("summarize", film, "--budget", "1:00", "-o", "whole.mp4").out


def save(path: Path, seed: int = 0, **features: object) -> Path:
    reads = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0, **features}
    return save_untrained(path, "fulltransnet", reads, seed, dim_in=1280, layers=2, window=3)


@pytest.fixture
def model() -> Path:
    """A checkpoint that reads what the extractors of `loads` give."""
    return save(Path("best.safetensors"))


def test_model_of_another_extractor_is_refused_before_any_work(
    run: Run, film: Path, loads: list[str]
) -> None:
    other = save(Path("other.safetensors"), extractor="clip")
    ran = run("summarize", film, "--model", other, "-o", "-", code=2)
    assert "other.safetensors reads features of clip, not of efficientnet_lite0" in ran.err
    assert "--extractor clip" in ran.err
    assert loads == []


def test_summary_of_a_retrained_model_is_made_again(run: Run, film: Path, model: Path) -> None:
    arguments = ("summarize", film, "--model", model)
    run(*arguments)
    assert "unchanged" in run(*arguments).out
    save(model, seed=1)
    assert "unchanged" not in run(*arguments).out


def test_summary_names_its_checkpoint(run: Run, film: Path, model: Path) -> None:
    document = run("summarize", film, "--model", model, "-o", "-").json
    assert document["model"] == "best.safetensors"
    assert len(document["provenance"]["summary"]["model_sha256"]) == 64


def test_checkpoint_changes_the_importance(run: Run, film: Path, model: Path) -> None:
    document = run("summarize", film, "--model", model, "-o", "-").json
    plain = run("summarize", film, "--model", "contrastive", "-o", "-").json
    assert document["importance"] != plain["importance"]
    assert "model_sha256" not in plain["provenance"]["summary"]


@pytest.fixture
def by_default(run: Run, film: Path) -> Any:
    """The summary by the model that is chosen."""
    return run("summarize", film, "-v", "-o", "-").json


def test_auto_model_is_stored_with_its_reason(by_default: Any) -> None:
    assert by_default["model"] == "ridge"  # four still pictures, each another
    assert by_default["model_reason"].startswith("auto: it was fitted")


def test_auto_model_stores_its_candidates_and_hash(by_default: Any) -> None:
    requests = by_default["provenance"]["summary"]
    assert ("model" in requests, requests["candidates"][0]) == (False, "ridge")
    assert len(requests["model_sha256"]) == 64


def test_reason_of_auto_model_is_printed(run: Run, film: Path) -> None:
    ran = run("summarize", film, "-v")
    assert json.loads(Path("film_summary.json").read_text())["model_reason"] in ran.out


def test_auto_model_of_a_still_film_is_uniform(run: Run, tmp_path: Path) -> None:
    still = media.make_video(tmp_path / "still.mp4", n_frames=200, paint=_grey).path
    ran = run("summarize", still, "-o", "-", "--json")
    assert ran.json["data"]["model"] == "uniform"
    assert any("stands still" in message for message in ran.json["messages"])


@pytest.mark.parametrize("options", [["--fps", "1"], ["--extractor", "i3d"]])
def test_auto_model_candidates(run: Run, film: Path, options: list[str]) -> None:
    ran = run("summarize", film, *options, "-o", "-")
    requests = ran.json["provenance"]["summary"]
    assert requests["candidates"] == ["highlights", "contrastive"]
    assert "model_sha256" not in requests


def _grey(number: int, width: int, height: int) -> media.Picture:
    return np.full((height, width, 3), 90, np.uint8)


@pytest.mark.parametrize("model", ["ridge", "fulltransnet"])
def test_shipped_models_need_no_network(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    document = run("summarize", film, "--model", model, "-o", "-").json
    assert (document["model"], document["model_reason"]) == (model, "it was asked for")
    assert "model_sha256" in document["provenance"]["summary"]


def test_fulltransnet_stores_the_hash_of_its_map(run: Run, film: Path) -> None:
    document = run("summarize", film, "--model", "fulltransnet", "-o", "-").json
    assert "map_sha256" in document["provenance"]["summary"]


CPU = ("--device", "cpu")


def test_film_without_highlights_has_a_document_and_no_clips(run: Run, film: Path) -> None:
    outputs = ("--clips", "--sheet", "--plot", "--report", "--export", "csv")
    run("highlights", film, *CPU, *outputs, error="nothing stands out")
    assert json.loads(Path("film_highlights.json").read_text())["moments"] == []
    assert [name for name in files_here() if name.endswith(".mp4")] == []


def test_film_without_highlights_has_a_table_and_no_timeline(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "--export", "otio", "--export", "csv", "--json")
    assert ran.json["data"]["outputs"]["csv"] == "film_highlights.csv"
    assert "film_highlights.otio: not written: the result has no moments" in ran.json["messages"]


def test_input_with_the_name_of_a_clip_is_refused(run: Run, film: Path) -> None:
    copies(film, "highlight_film_0m06s.mp4")
    ran = run("highlights", film, "highlight_film_0m06s.mp4", *CPU, "--clips", code=1)
    assert "has the name of a clip" in ran.err


@pytest.mark.usefixtures("low_level")
def test_highlights_table_and_document(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "--top-k", "2")
    assert files_here() == ["film_highlights.json"]
    head, *rows, message = ran.out.splitlines()
    assert head.split() == ["rank", "start", "end", "seconds", "score"]
    assert message == "film_highlights.json"
    document = read_valid("film_highlights.json", "highlights")
    assert 1 <= len(document["moments"]) == len(rows) <= 2
    assert document["saliency"]["timestamps_s"] == [0, 2, 4, 6, 8]


BEST = (*CPU, "-k", "1", "--clips")


@pytest.mark.usefixtures("low_level")
def test_highlights_list_their_outputs(run: Run, film: Path) -> None:
    ran = run("highlights", film, "--plot", *BEST, "--json")
    assert files_here() == ["film_highlights.json", "film_highlights.png", "highlight_film_0m06s.mp4"]
    named = {"json": "film_highlights.json", "plot": "film_highlights.png"}
    assert ran.json["data"]["outputs"] == {**named, "clips": ["highlight_film_0m06s.mp4"]}
    assert cv2.imread("film_highlights.png").shape[2] == 3


@pytest.mark.usefixtures("low_level")
def test_clip_of_a_highlight_is_as_long_as_its_moment(run: Run, film: Path) -> None:
    (moment,) = run("highlights", film, *BEST, "--json").json["data"]["moments"]
    length_s = moment["end_s"] - moment["start_s"]
    assert probe("highlight_film_0m06s.mp4").duration_s == pytest.approx(length_s, abs=0.1)


@pytest.mark.usefixtures("low_level")
def test_clips_of_highlights_go_to_a_folder(run: Run, film: Path) -> None:
    run("highlights", *CPU, "-k", "1", "-o", "best.json", "--clips-dir", "parts", film)
    assert Path("parts/highlight_film_0m06s.mp4").exists()


@pytest.mark.usefixtures("low_level")
def test_vertical_clip_of_a_highlight_is_tall(run: Run, film: Path) -> None:
    run("highlights", film, *BEST, "--vertical")
    tall = probe("highlight_film_0m06s.mp4")
    assert tall.display_width / tall.display_height == pytest.approx(9 / 16, abs=0.02)


@pytest.mark.usefixtures("low_level")
def test_clips_of_another_pad_are_written_again(run: Run, film: Path) -> None:
    run("highlights", film, *BEST, "--pad", "1s")
    assert "unchanged" in run("highlights", film, *BEST, "--pad", "1s").out
    assert "unchanged" not in run("highlights", film, *BEST).out
