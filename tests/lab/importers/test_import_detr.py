import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, prelu, scaled_dot_product_attention

from tests.checkpoints.test_unpickle import Calls
from tests.lab.importers import published_detr
from vidsum.checkpoints.named import OFFICIAL, checkpoint_file
from vidsum.checkpoints.trained import Trained, build_trained, read_trained
from vidsum.errors import WeightsError
from vidsum.grounding.chosen_model import resolve_model
from vidsum.lab.importers import add_official
from vidsum.lab.importers.import_detr import _perceptron, moment_detr_checkpoint, qd_detr_checkpoint
from vidsum.lab.importers.published import TensorReader, read_published
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import DETR, Detections
from vidsum.models.detr_models import MODELS, build

D, HEADS, SIZES = 16, 4, (16, 24, 11, 9)
CHECKPOINTS = {"moment-detr": moment_detr_checkpoint, "qd-detr": qd_detr_checkpoint}
SHAPES = {"moment-detr": published_detr.moment_detr, "qd-detr": published_detr.qd_detr}
pytestmark = pytest.mark.usefixtures("own_home")
OPTIONS = {"nheads": HEADS, "max_v_l": 7, "max_q_l": 5, "clip_length": 2, "use_txt_pos": False}


def given(model: str) -> dict[str, Tensor]:
    return published_detr.at_random(SHAPES[model](*SIZES) | published_detr.unused(D))


def loaded(trained: Trained) -> DETR:
    return build_trained(
        trained, trained.model, lambda config: build(trained.model, DETRConfig(**config)), "test"
    )


class Direct:
    """The published forward pass for one video and one query without padding, tensor by tensor."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.w = tensors

    def linear(self, name: str, x: Tensor) -> Tensor:
        return linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def norm(self, name: str, x: Tensor) -> Tensor:
        return layer_norm(x, x.shape[-1:], self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def perceptron(self, name: str, x: Tensor, layers: int) -> Tensor:
        for number in range(layers - 1):
            x = self.linear(f"{name}.layers.{number}", x).relu()
        return self.linear(f"{name}.layers.{layers - 1}", x)

    def inputs(self, name: str, x: Tensor) -> Tensor:
        x = self.linear(f"{name}.0.net.1", self.norm(f"{name}.0.LayerNorm", x)).relu()
        return self.linear(f"{name}.1.net.1", self.norm(f"{name}.1.LayerNorm", x))

    def attention(self, name: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        module = nn.MultiheadAttention(D, HEADS)
        start = f"{name}."
        own = {key.removeprefix(start): one for key, one in self.w.items() if key.startswith(start)}
        module.load_state_dict(own)
        out: Tensor = module(q, k, v, need_weights=False)[0]
        return out

    def feed_forward(self, name: str, x: Tensor) -> Tensor:
        inner = self.linear(f"{name}.linear1", x)
        slope = self.w.get(f"{name}.activation.weight")
        return self.linear(f"{name}.linear2", inner.relu() if slope is None else prelu(inner, slope))

    def encoder_layer(self, name: str, x: Tensor, positions: Tensor) -> Tensor:
        q = x + positions
        x = self.norm(f"{name}.norm1", x + self.attention(f"{name}.self_attn", q, q, x))
        return self.norm(f"{name}.norm2", x + self.feed_forward(name, x))

    def moment_detr(self, video: Tensor, words: Tensor) -> Detections:
        clips, texts = self.inputs("input_vid_proj", video), self.inputs("input_txt_proj", words)
        memory = torch.cat([clips, texts])
        positions = torch.cat([positions_of(len(clips)), torch.zeros_like(texts)])
        for number in range(2):
            memory = self.encoder_layer(f"transformer.encoder.layers.{number}", memory, positions)
        places = self.w["query_embed.weight"]
        x, found = torch.zeros_like(places), []
        for number in range(2):
            name = f"transformer.decoder.layers.{number}"
            q = x + places
            x = self.norm(f"{name}.norm1", x + self.attention(f"{name}.self_attn", q, q, x))
            q = x + places
            x = x + self.attention(f"{name}.multihead_attn", q, memory + positions, memory)
            x = self.norm(f"{name}.norm2", x)
            x = self.norm(f"{name}.norm3", x + self.feed_forward(name, x))
            found.append(self.norm("transformer.decoder.norm", x))
        each = torch.stack(found)
        spans = self.perceptron("span_embed", each, 3).sigmoid()
        saliency = self.linear("saliency_proj", memory[: len(clips)])[:, 0]
        return Detections(self.linear("class_embed", each), spans, saliency)

    def qd_detr(self, video: Tensor, words: Tensor) -> Detections:
        clips, texts = self.inputs("input_vid_proj", video), self.inputs("input_txt_proj", words)
        positions = positions_of(len(clips))
        for number in range(2):
            name = f"transformer.t2v_encoder.layers.{number}"
            x = clips + self.attention(f"{name}.self_attn", clips + positions, texts, texts)
            x = x + self.feed_forward(name, self.norm(f"{name}.norm1", x))
            clips = self.norm(f"{name}.norm2", x)
        x = torch.cat([self.w["global_rep_token"][None], clips])
        with_token = torch.cat([self.w["global_rep_pos"][None], positions])
        for number in range(2):
            x = self.encoder_layer(f"transformer.encoder.layers.{number}", x, with_token)
        token, memory = x[0], x[1:]
        found, anchors = self.anchor_decoder(memory, positions)
        spans = (self.perceptron("span_embed", found, 3) + inverse_sigmoid(anchors)).sigmoid()
        products = self.linear("saliency_proj1", memory) * self.linear("saliency_proj2", token)
        return Detections(self.linear("class_embed", found), spans, products.sum(1) / math.sqrt(D))

    def anchor_decoder(self, memory: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        name = "transformer.decoder"
        anchor = self.w["query_embed.weight"].sigmoid()
        x, found, anchors = torch.zeros(len(anchor), D), [], []
        for number in range(2):
            anchors.append(anchor)
            sine = torch.stack([torch.cat([waves(float(one), D // 2) for one in row]) for row in anchor])
            places = self.perceptron(f"{name}.ref_point_head", sine, 2)
            scale = self.perceptron(f"{name}.query_scale", x, 2) if number else 1
            width = self.perceptron(f"{name}.ref_anchor_head", x, 2).sigmoid()
            x = self.anchor_layer(number, x, places, sine * scale * width / anchor[:, 1:], memory, positions)
            moved = self.perceptron(f"{name}.bbox_embed", x, 3) + inverse_sigmoid(anchor)
            anchor = moved.sigmoid()
            found.append(self.norm(f"{name}.norm", x))
        return torch.stack(found), torch.stack(anchors)

    def anchor_layer(
        self, number: int, x: Tensor, places: Tensor, sine: Tensor, memory: Tensor, positions: Tensor
    ) -> Tensor:
        name = f"transformer.decoder.layers.{number}"

        def project(part: str, one: Tensor) -> Tensor:
            return self.linear(f"{name}.{part}_proj", one)

        q = project("sa_qcontent", x) + project("sa_qpos", places)
        k = project("sa_kcontent", x) + project("sa_kpos", places)
        mixed = attend([q], [k], project("sa_v", x))
        x = self.norm(f"{name}.norm1", x + self.linear(f"{name}.self_attn.out_proj", mixed))
        q, k, where = project("ca_qcontent", x), project("ca_kcontent", memory), project("ca_kpos", positions)
        if number == 0:
            q, k = q + project("ca_qpos", places), k + where
        mixed = attend([q, project("ca_qpos_sine", sine)], [k, where], project("ca_v", memory))
        x = self.norm(f"{name}.norm2", x + self.linear(f"{name}.cross_attn.out_proj", mixed))
        return self.norm(f"{name}.norm3", x + self.feed_forward(name, x))


def attend(queries: list[Tensor], keys: list[Tensor], values: Tensor) -> Tensor:
    """Attention whose heads read several parts side by side."""
    q, k, v = (
        torch.cat([part.view(len(part), HEADS, -1) for part in parts], dim=2).transpose(0, 1)
        for parts in (queries, keys, [values])
    )
    return scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)


def waves(share: float, d: int) -> Tensor:
    """Sine, cosine, sine ... of 2 pi share over 10,000^(2i/d)."""
    angles = [share * 2 * math.pi / 10000 ** (2 * (i // 2) / d) for i in range(d)]
    return torch.tensor([math.cos(one) if i % 2 else math.sin(one) for i, one in enumerate(angles)])


def positions_of(n_clips: int) -> Tensor:
    return torch.stack([waves(n / (n_clips + 1e-6), D) for n in range(1, n_clips + 1)])


def inverse_sigmoid(x: Tensor) -> Tensor:
    return torch.log(x.clamp(1e-3, 1) / (1 - x).clamp(1e-3, 1))


@dataclass(frozen=True)
class Compared:
    """Our outputs for two padded samples, and of each sample its sizes and the outputs written out."""

    found: Detections
    saliency: Tensor
    expected: list[tuple[int, Detections]]


@pytest.fixture(scope="module", params=CHECKPOINTS)
def compared(request: pytest.FixtureRequest) -> Compared:
    name = request.param
    tensors = given(name)
    model = loaded(CHECKPOINTS[name](tensors, OPTIONS))
    draw = torch.Generator().manual_seed(1)
    video, words = torch.randn(2, 7, 11, generator=draw), torch.randn(2, 5, 9, generator=draw)
    sizes = ((7, 2), (3, 5))
    is_clip = torch.arange(7) < torch.tensor([[clips] for clips, _ in sizes])
    is_word = torch.arange(5) < torch.tensor([[texts] for _, texts in sizes])
    direct = Direct(tensors)
    run = direct.moment_detr if name == "moment-detr" else direct.qd_detr
    with torch.no_grad():
        expected = [
            (clips, run(video[number, :clips], words[number, :texts]))
            for number, (clips, texts) in enumerate(sizes)
        ]
        found = model(video, is_clip, words, is_word)
        return Compared(found, model.saliency(video, is_clip, words, is_word), expected)


def test_layers_of_a_published_perceptron_are_every_second_module() -> None:
    names = [f"span.layers.{n}.{part}" for n in range(3) for part in ("weight", "bias")]
    reader = TensorReader(dict.fromkeys(names, torch.ones(1)), "Toy", "$")
    taken = _perceptron(reader, "span", "spans", 3)
    assert list(taken) == [f"spans.{n}.{part}" for n in (0, 2, 4) for part in ("weight", "bias")]


def test_logits_of_a_padded_batch_are_those_of_the_published_code(compared: Compared) -> None:
    for number, (_, expected) in enumerate(compared.expected):
        assert torch.allclose(compared.found.logits[:, number], expected.logits, atol=2e-5)
        assert expected.logits.std(dim=1).min() > 1e-3


def test_spans_of_a_padded_batch_are_those_of_the_published_code(compared: Compared) -> None:
    for number, (_, expected) in enumerate(compared.expected):
        assert torch.allclose(compared.found.spans[:, number], expected.spans, atol=1e-5)


def test_saliency_of_a_padded_batch_is_that_of_the_published_code(compared: Compared) -> None:
    for number, (clips, expected) in enumerate(compared.expected):
        assert torch.allclose(compared.found.saliency[number, :clips], expected.saliency, atol=2e-5)
        assert torch.allclose(compared.saliency[number, :clips], expected.saliency, atol=2e-5)
        assert expected.saliency.std() > 1e-2


@pytest.fixture(scope="module", params=CHECKPOINTS)
def published(request: pytest.FixtureRequest) -> Trained:
    """A checkpoint of the published sizes, of zeros."""
    name = request.param
    shapes = SHAPES[name](256, 1024, 2818, 512)
    tensors = {key: torch.zeros(shape) for key, shape in (shapes | published_detr.unused(256)).items()}
    return CHECKPOINTS[name](tensors, {})


def test_published_sizes_are_the_default_ones(published: Trained) -> None:
    assert DETRConfig(**published.config) == DETRConfig()


def test_published_models_read_features_of_qvhighlights(published: Trained) -> None:
    reads = {"space": "features", "dim": 2818, "clip_s": 2.0, "fps": 0.5, "text": "clip"}
    assert published.features == reads


def test_published_models_have_the_published_number_of_parameters(published: Trained) -> None:
    n_parameters = {"moment-detr": 4_814_601, "qd-detr": 7_576_869}[published.model]
    shapes = SHAPES[published.model](256, 1024, 2818, 512)
    assert sum(math.prod(shape) for shape in shapes.values()) == n_parameters
    assert sum(tensor.numel() for tensor in published.tensors.values()) == n_parameters


def test_checkpoint_of_a_published_model_has_all_tensors_of_ours(published: Trained) -> None:
    assert set(published.tensors) == set(loaded(published).state_dict())


class EasyDict(dict[str, object]):
    """As the class of the package easydict: a mapping whose keys are attributes too."""

    def __init__(self, **given: object) -> None:
        super().__init__(given)
        self.__dict__.update(given)


@pytest.mark.parametrize("kind", ["argparse", "easydict", "mapping", "none"])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_published_file_becomes_a_checkpoint_with_its_options(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**OPTIONS, "device": torch.device("cpu"), "v_feat_dirs": ["clip"], "a_feat_dir": None}
    options |= {"no_norm_vfeat": False, "no_norm_tfeat": False}
    content = {"model": given(name), "optimizer": {"state": {0: {"step": 3}}}, "epoch": 7}
    if kind == "argparse":
        content["opt"] = argparse.Namespace(**options)
    elif kind == "mapping":
        content["opt"] = options
    elif kind == "easydict":
        module = ModuleType("easydict")
        module.EasyDict = EasyDict  # type: ignore[attr-defined]
        monkeypatch.setattr(EasyDict, "__module__", "easydict")
        monkeypatch.setitem(sys.modules, "easydict", module)
        content["opt"] = EasyDict(**options)
    torch.save(content, tmp_path / "model_best.ckpt")
    monkeypatch.delitem(sys.modules, "easydict", raising=False)
    path = add_official(tmp_path / "model_best.ckpt", f"{name}-qvhighlights")
    assert path == checkpoint_file(f"{name}-qvhighlights")
    trained = read_trained(path)
    assert trained.model == name
    heads, clips = (8, 75) if kind == "none" else (HEADS, 7)
    assert (trained.config["heads"], trained.config["clips"]) == (heads, clips)
    assert isinstance(loaded(trained), MODELS[name])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Calls(print, "run"), "not a torch file of weights only"),
        (["nheads", 4], r"its options \(opt\) are not a mapping"),
    ],
    ids=["harmful", "list"],
)
def test_bad_options_of_a_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: object, message: str
) -> None:
    torch.save({"model": given("qd-detr"), "opt": options}, tmp_path / "model_best.ckpt")
    with pytest.raises(WeightsError, match=message) as refused:
        read_published(tmp_path / "model_best.ckpt", "give another")
    assert refused.value.hint == "give another"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize(
    "lacks", ["span_embed.layers.2.bias", "transformer.decoder.norm.weight", "query_embed.weight"]
)
def test_missing_tensor_is_named(name: str, lacks: str) -> None:
    tensors = {key: tensor for key, tensor in given(name).items() if key != lacks}
    with pytest.raises(WeightsError, match=f"has no {lacks}"):
        CHECKPOINTS[name](tensors, {})


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_state_dict_without_layers_is_refused(name: str) -> None:
    tensors = {key: value for key, value in given(name).items() if not key.startswith("transformer.encoder.")}
    with pytest.raises(WeightsError, match=r"has no transformer\.encoder\.layers\.0"):
        CHECKPOINTS[name](tensors, OPTIONS)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"span_embed.layers.2.weight": (150, D), "span_embed.layers.2.bias": (150,)},
            {},
            "span_loss_type ce",
        ),
        (published_detr.linear("input_vid_proj.2.net.1", D, D), {}, r"it has input_vid_proj\.2"),
        ({}, {"use_txt_pos": True}, "with --use_txt_pos is not supported"),
        ({}, {"no_norm_vfeat": True}, "with --no_norm_vfeat is not supported"),
        ({}, {"no_norm_tfeat": True}, "with --no_norm_tfeat is not supported"),
        ({}, {"a_feat_dir": "pann_features"}, "with --a_feat_dir is not supported"),
        (published_detr.norm("transformer.encoder.norm", D), {}, r"it has transformer\.encoder\.norm"),
    ],
)
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_other_variants_are_refused(
    name: str, change: published_detr.Shapes, options: dict[str, object], message: str
) -> None:
    tensors = given(name) | published_detr.at_random(change)
    with pytest.raises(WeightsError, match=message):
        CHECKPOINTS[name](tensors, options)


def test_tensors_of_another_loss_are_left_out() -> None:
    more = published_detr.linear("contrastive_align_projection_query", D, 64)
    tensors = given("moment-detr") | published_detr.at_random(more)
    trained = moment_detr_checkpoint(tensors, OPTIONS)
    assert set(trained.tensors) == set(loaded(trained).state_dict())


def test_qd_detr_is_not_read_as_moment_detr() -> None:
    with pytest.raises(WeightsError, match="not a published state dict of Moment-DETR"):
        moment_detr_checkpoint(given("qd-detr"), {})


each_official = pytest.mark.parametrize("name", ["qd-detr-qvhighlights", "mrnet-activitynet"])


@each_official
def test_empty_file_is_refused_with_where_to_find_the_model(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.ckpt").touch()
    with pytest.raises(WeightsError, match=r"(?m)other\.ckpt: is empty$") as empty:
        add_official(tmp_path / "other.ckpt", name)
    assert empty.value.hint == OFFICIAL[name]


@each_official
def test_file_of_another_model_is_refused_with_where_to_find_the_model(tmp_path: Path, name: str) -> None:
    torch.save({"model": given("moment-detr")}, tmp_path / "other.ckpt")
    with pytest.raises(WeightsError, match=r"other\.ckpt: not a published state dict of .*: it has") as other:
        add_official(tmp_path / "other.ckpt", name)
    assert other.value.hint == OFFICIAL[name]


@each_official
def test_official_model_that_was_not_added_is_refused_with_the_command(name: str) -> None:
    with pytest.raises(WeightsError, match=f"{name}: .*not on this machine") as missing:
        checkpoint_file(name)
    assert missing.value.hint == f"vidsum weights add FILE --as {name}"


def test_published_model_of_clips_features_is_chosen_by_its_name(tmp_path: Path) -> None:
    tensors = published_detr.at_random(published_detr.qd_detr(16, 24, 514, 512))
    torch.save({"model": tensors}, tmp_path / "model_best.ckpt")
    add_official(tmp_path / "model_best.ckpt", "qd-detr-qvhighlights")
    assert resolve_model("qd-detr-qvhighlights", "auto", "cpu") == ("qd-detr-qvhighlights", "clip")


def test_published_model_that_was_not_added_cannot_be_chosen() -> None:
    with pytest.raises(WeightsError, match=r"moment-detr-qvhighlights: .*not on this machine"):
        resolve_model("moment-detr-qvhighlights", "auto", "cpu")
