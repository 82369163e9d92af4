"""The authors' state dicts, filled at random, against what their code computes of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from tests.lab.importers.published_mrnet import CONFIGS, averaged, moments, score_map, state_dict
from vidsum.checkpoints.named import OFFICIAL
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.errors import WeightsError
from vidsum.grounding.moment_model import build_moment_model, ground_video
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.lab.importers import add_official
from vidsum.lab.importers.import_mrnet import mrnet_checkpoint
from vidsum.lab.importers.published import read_published
from vidsum.models.configs import MRNetConfig
from vidsum.models.mrnet import MRNet, match_scores

FILES = pytest.mark.parametrize("is_shared", [True, False], ids=["one for both", "one each"])
NAMES = pytest.mark.parametrize("name", CONFIGS)


def given(name: str, *, is_shared: bool, **sizes: int) -> dict[str, Tensor]:
    return state_dict(CONFIGS[name], is_shared=is_shared, **sizes)


def requested(name: str) -> tuple[Tensor, Tensor]:
    """A video and three queries."""
    how, generator = CONFIGS[name], torch.Generator().manual_seed(6)
    video = torch.randn(how.num_pre_clips, how.input_size, generator=generator)
    # neighbours are alike, so that the longest clips are not all that is ever seen of a video
    video = (video + video.roll(1, 0) + video.roll(2, 0)) / 3**0.5
    return video, torch.randn(3, 9, generator=generator)


def scores(trained: Trained, video: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """[M, T, T] of ours, and where there is a proposal."""
    model = build_moment_model(trained, "official", "cpu").model
    with torch.no_grad():
        return match_scores(model(video[None], queries[None]))[0], model.valid


@NAMES
@FILES
def test_scores_are_those_of_the_public_code(name: str, is_shared: bool) -> None:
    tensors = given(name, is_shared=is_shared)
    trained = mrnet_checkpoint(tensors, name)
    found, valid = scores(trained, *requested(name))
    expected = score_map(tensors, CONFIGS[name], *requested(name))
    assert torch.equal(expected > 0, valid.expand_as(expected))
    assert (found - expected)[:, valid].abs().max() < 1e-5
    assert expected[:, valid].std() > 0.02


@NAMES
def test_moments_are_those_of_the_public_evaluation(name: str) -> None:
    tensors, how = given(name, is_shared=False), CONFIGS[name]
    video, queries = requested(name)
    features = normalize(video.repeat_interleave(2, dim=0)[:-37], dim=1)
    duration_s = len(features) * 0.5
    times = np.arange(len(features)) * 0.5
    embedded = ClipEmbeddings(features.numpy(), times, step_s=0.5, duration_s=duration_s)
    grounder = build_moment_model(mrnet_checkpoint(tensors, name), name, "cpu")
    found = ground_video(grounder, embedded, list(queries.numpy()[:, None]), top_k=8)
    for query, prediction in zip(queries, found, strict=True):
        expected = moments(score_map(tensors, how, averaged(features, how), query[None])[0], how, duration_s)
        assert len(prediction.moments) == 8
        for answer, (start_s, end_s, score) in zip(prediction.moments, expected[:8], strict=True):
            assert (answer.start_s, answer.end_s) == pytest.approx((start_s, end_s), abs=1e-6)
            assert answer.score == pytest.approx(score, abs=1e-5)


@NAMES
def test_configuration_is_the_published_one(name: str) -> None:
    how = CONFIGS[name]
    tensors = given(name, is_shared=False, d=64, dim_query=96)
    trained = mrnet_checkpoint(tensors, name)
    config = MRNetConfig(**trained.config)
    assert (config.dim_video, config.dim_query, config.d) == (how.input_size, 96, 64)
    sizes = (how.num_clips, how.num_stack_layers, how.kernel_size)
    assert (config.clips, config.convolutions, config.kernel) == sizes
    with torch.device("meta"):
        MRNet(config).load_state_dict(dict(trained.tensors), assign=True)


@pytest.fixture
def file(name: str, tmp_path: Path) -> Path:
    """A file of the authors: a state dict of a model in parallel, with its optimizer."""
    tensors = {f"module.{key}": value for key, value in given(name, is_shared=True).items()}
    torch.save({"model": tensors, "epoch": 7, "optimizer": {"lr": 1.0}}, tmp_path / "pool_model_7e.pth")
    return tmp_path / "pool_model_7e.pth"


@NAMES
@pytest.mark.usefixtures("own_home")
def test_file_becomes_a_checkpoint_of_its_name(name: str, file: Path, tmp_path: Path) -> None:
    expected = tmp_path / "home" / "weights" / name / f"{name}.safetensors"
    assert add_official(file, name) == expected


@NAMES
@pytest.mark.usefixtures("own_home")
def test_checkpoint_of_a_file_has_the_settings_of_the_public_evaluation(name: str, file: Path) -> None:
    grounder = build_moment_model(read_trained(add_official(file, name)), name, "cpu")
    assert grounder.max_iou == CONFIGS[name].nms_thresh
    assert grounder.model.config.contrastive_power == CONFIGS[name].contrastive_score_pow


@NAMES
@pytest.mark.usefixtures("own_home")
def test_checkpoint_of_a_file_scores_as_its_tensors(name: str, file: Path) -> None:
    of_file = scores(read_trained(add_official(file, name)), *requested(name))[0]
    of_tensors = scores(mrnet_checkpoint(given(name, is_shared=True), name), *requested(name))[0]
    assert torch.equal(of_file, of_tensors)


@pytest.mark.usefixtures("own_home")
def test_file_of_one_configuration_is_refused_as_another(tmp_path: Path) -> None:
    torch.save(given("mrnet-tacos", is_shared=True), tmp_path / "best.pth")
    with pytest.raises(WeightsError, match=r"best\.pth: .*clips 128.*; mrnet-charades has .*clips 64"):
        add_official(tmp_path / "best.pth", "mrnet-charades")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_clips": 100}, "clips 100"),
        ({"num_stack_layers": 3}, "convolutions 3"),
        ({"kernel_size": 7}, "kernel 7"),
        ({"input_size": 4096}, "dim_video 4096"),
    ],
)
def test_file_of_no_known_configuration_is_refused(change: dict[str, int], named: str) -> None:
    tensors = state_dict(replace(CONFIGS["mrnet-activitynet"], **change), is_shared=False)
    with pytest.raises(WeightsError, match=f"MRNet with .*{named}.*; mrnet-activitynet has dim_video 500"):
        mrnet_checkpoint(tensors, "mrnet-activitynet")


@pytest.mark.parametrize(
    ("theirs", "wrong"),
    [
        ("trans_ret.rets.0.learn_vid_ret.weight", torch.ones(50, 1)),
        ("proposal_conv.convs.0.weight", torch.ones(8)),
        ("text_encoder.fc_out2.weight", torch.tensor(1.0)),
        ("trans_ret.rets.1.W_txt_Q", torch.ones(3, 5)),
    ],
)
def test_tensors_of_other_shapes_are_refused(theirs: str, wrong: Tensor, tmp_path: Path) -> None:
    tensors = given("mrnet-activitynet", is_shared=False)
    torch.save({**tensors, theirs: wrong}, tmp_path / "best.pth")
    with pytest.raises(WeightsError, match="do not have the form of mrnet-activitynet"):
        add_official(tmp_path / "best.pth", "mrnet-activitynet")


HINT = OFFICIAL["mrnet-activitynet"]


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"other\.pth: cannot be read \(No such file"):
        read_published(tmp_path / "other.pth", HINT)


def test_file_that_is_no_torch_file_is_refused_with_where_to_find_one(tmp_path: Path) -> None:
    (tmp_path / "other.pth").write_bytes(b"no")
    with pytest.raises(WeightsError, match=r"other\.pth: not a torch file of weights only \(.+\)\n") as error:
        read_published(tmp_path / "other.pth", HINT)
    assert "xian-sh/MRNet" in str(error.value.hint)


def test_file_that_is_no_state_dict_is_refused(tmp_path: Path) -> None:
    torch.save([1, 2], tmp_path / "other.pth")
    with pytest.raises(WeightsError, match="is not a state dict"):
        read_published(tmp_path / "other.pth", HINT)


@FILES
@pytest.mark.parametrize("lacking", ["trans_ret.norm.weight", "trans_ret.rets.0.learn_vid_ret.weight"])
def test_missing_tensor_is_named(is_shared: bool, lacking: str) -> None:
    tensors = given("mrnet-activitynet", is_shared=is_shared)
    del tensors[lacking]
    with pytest.raises(WeightsError, match=f"has no {lacking}"):
        mrnet_checkpoint(tensors, "mrnet-activitynet")


@FILES
def test_unknown_tensor_is_named(is_shared: bool) -> None:
    tensors = given("mrnet-activitynet", is_shared=is_shared) | {"text_encoder.bert.x": torch.ones(1)}
    with pytest.raises(WeightsError, match=r"it has text_encoder\.bert\.x"):
        mrnet_checkpoint(tensors, "mrnet-activitynet")


@pytest.mark.parametrize("part", ["trans_ret.rets.", "proposal_conv.convs."])
def test_state_dict_without_layers_is_refused(part: str) -> None:
    tensors = given("mrnet-activitynet", is_shared=True)
    left = {key: value for key, value in tensors.items() if not key.startswith(part)}
    with pytest.raises(WeightsError, match=f"has no {part}0"):
        mrnet_checkpoint(left, "mrnet-activitynet")
