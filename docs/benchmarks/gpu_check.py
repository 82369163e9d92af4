"""Check and time vidsum on one GPU, in about ten minutes; a line that begins with FAIL is a fault.

python -m docs.benchmarks.gpu_check [--small, to try the script itself on a CPU]
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, scaled_dot_product_attention

from docs.benchmarks import argument_parser
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.lab.models import llama_adapter as describer
from vidsum.lab.reproduction import WORDS
from vidsum.lab.training.settings import LoopSettings, LossSettings, MRNetSettings
from vidsum.lab.training.train_mrnet import MomentBatch, mrnet_loss, train_mrnet
from vidsum.models.attention import retention as forms
from vidsum.models.attention.local_global import SparsePattern, local_global_attention
from vidsum.models.clip_networks import I3D
from vidsum.models.configs import LIGHT_HEAD, DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.models.detr_models import build
from vidsum.models.efficientnet_lite import EfficientNetLite0
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss
from vidsum.models.mrnet import MRNet
from vidsum.pipelines.decoding import load_extractor
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

_SAMPLE = Path(__file__).parents[1] / "sample" / "big_buck_bunny.mp4"
SMALL = describer.AudioDescriptionConfig(
    dim_visual=384,
    dim_audio=32,
    n_tokens=10,
    d=32,
    heads=4,
    d_ff=64,
    layers=3,
    d_adapter=32,
    adapter_heads=4,
    adapter_layers=1,
    n_queries=4,
    d_lm=32,
    lm_heads=4,
    lm_ff=64,
    lm_layers=2,
    adapted=1,
    vocabulary=300,
    lora_rank=4,
)
LARGEST_ERROR = {torch.float32: 1e-3, torch.bfloat16: 0.05, torch.float16: 1e-2}
"""1 - cosine of outputs; float32 convolutions run in TF32."""


class Check:
    """A device, whether sizes are small, and the number of faults so far."""

    def __init__(self, device: str, *, small: bool) -> None:
        self.device, self.small, self.faults = torch.device(device), small, 0
        self.is_cuda = self.device.type == "cuda"

    def say(self, text: str, *, holds: bool = True) -> None:
        """Print a line."""
        self.faults += not holds
        print(text if holds else f"FAIL {text}", flush=True)

    def hold(self, text: str, error: float, largest: float) -> None:
        """Print an error, which must be below the largest."""
        self.say(f"{text}: error {error:.1e}", holds=error < largest)

    def time(self, call: Callable[[], object], times: int = 10) -> tuple[float, str]:
        """Return the mean seconds of a call; and these with the peak MiB of the GPU's memory as text."""
        call()
        wait = torch.cuda.synchronize if self.is_cuda else int
        wait()
        start, times = time.perf_counter(), 1 if self.small else times
        for _ in range(times):
            call()
        wait()
        seconds = (time.perf_counter() - start) / times
        mib = torch.cuda.max_memory_allocated() / 2**20 if self.is_cuda else 0
        if self.is_cuda:
            torch.cuda.reset_peak_memory_stats()
        return seconds, f"{1e3 * seconds:.2f} ms, {mib:.0f} MiB"


@torch.inference_mode()
def networks(check: Check) -> None:
    """Compare networks with the CPU, and count pictures or clips a second."""
    nets = ((EfficientNetLite0(), 64), (I3D(), 8))[: 1 if check.small else 2]
    first = lambda output: (output[0] if isinstance(output, tuple) else output).float().cpu()  # noqa: E731
    for net, batch in nets:
        side = 96 if check.small else 224
        shape = (3, 32, side, side) if isinstance(net, I3D) else (3, side, side)
        few = torch.randn(2, *shape)
        # batch norms take the statistics of these inputs: with random weights alone, all fades to nothing
        net.apply(lambda module: setattr(module, "momentum", 1.0))
        net.train()(few)
        expected = first(net.eval()(few))
        for dtype, largest in LARGEST_ERROR.items():
            if check.is_cuda or dtype != torch.float16:
                net = net.to(check.device, dtype)
                output = first(net(few.to(check.device, dtype)))
                many = torch.randn(2 if check.small else batch, *shape, device=check.device, dtype=dtype)
                seconds, cost = check.time(lambda net=net, many=many: net(many))
                line = f"{type(net).__name__} {str(dtype)[6:]}: {len(many) / seconds:.0f}/s, {cost}"
                cosines = cosine_similarity(output.flatten(1), expected.flatten(1))
                check.hold(line, 1 - float(cosines.min()), largest)
                net = net.float()


@torch.inference_mode()
def attention(check: Check) -> None:
    """Compare local-global attention with the CPU, and time it beside fused full attention."""

    def attend(q: Tensor, k: Tensor, v: Tensor, is_global: Tensor, is_valid: Tensor) -> Tensor:
        return local_global_attention(q, k, v, SparsePattern.of(is_global, is_valid, 17))

    for length in (512,) if check.small else (1024, 4096, 16384, 65536):
        qkv = [*torch.randn(3, 1, 8, length, 8)]
        shots, is_valid = torch.arange(length)[None] % 15 == 0, torch.ones(1, length, dtype=torch.bool)
        host, here = ([tensor.to(at) for tensor in (*qkv, shots, is_valid)] for at in ("cpu", check.device))
        if length <= 4096:
            apart = attend(*here).cpu() - attend(*host)
            check.hold(f"T={length}: from the CPU", float(apart.abs().max()), 1e-3)
        check.say(f"T={length}, a global token in 7.5 s: {check.time(partial(attend, *here))[1]}")
        check.say(f"T={length}, full: {check.time(partial(scaled_dot_product_attention, *here[:3]), 5)[1]}")


@torch.inference_mode()
def retention(check: Check) -> None:
    """Compare the recurrent form with the parallel one, and time them."""
    for length in (256,) if check.small else (512, 4096):
        x = [*torch.randn(3, 1, 8, length, 32, device=check.device), 0.98, forms.xpos_turn(32)]
        expected = _parallel(*x)[0]
        for form in (_parallel, forms.recurrent_retention):
            worst = float((form(*x)[0] - expected).abs().max() / expected.abs().mean())
            cost = check.time(partial(form, *x), 3)[1]
            check.hold(f"T={length}, {form.__name__}: {cost}", worst, 1e-2)
    # beyond 4,096 clips positions need float64; what lies far behind no longer counts
    length, near, last = (4160, 1024, 64) if check.small else (65_536, 2048, 512)
    q, k, v = torch.randn(3, 1, 8, length, 32, device=check.device)
    nearest, turn = slice(-near, None), forms.xpos_turn(32)
    ends = _parallel(q[..., nearest, :], k[..., nearest, :], v[..., nearest, :], 0.98, turn)[0][
        ..., -last:, :
    ]
    recur = partial(forms.recurrent_retention, q, k, v, 0.98, turn)
    worst = float((recur()[0][..., -last:, :] - ends).abs().max() / ends.abs().mean())
    check.hold(f"T={length}, recurrent_retention: {check.time(recur, 1)[1]}", worst, 1e-2)


def _parallel(q: Tensor, k: Tensor, v: Tensor, gamma: float, turn: Tensor) -> tuple[Tensor]:
    decay = forms.decay_mask(q.shape[2], gamma, "forward", device=q.device)
    return ((forms.xpos(q) @ forms.xpos(k, inverse=True).mT * decay) @ v,)


def training(check: Check) -> None:
    """Time steps of training at the papers' sizes, in fp32 (TF32) and under autocast to bf16."""
    sizes = {"d": 32, "d_ff": 32, "layers": 2} if check.small else {}
    with check.device:
        length, batch, n_videos, n_clips = (64, 1, 1, 16) if check.small else (1513, 32, 12, 64)
        x, frames = torch.randn(1, length, 1024), torch.arange(9)[None]
        marks, is_query = torch.arange(length)[None] % 10 == 0, torch.ones(n_videos, 4, dtype=torch.bool)
        for config in (FullTransNetConfig(**sizes), FullTransNetConfig(**sizes, attention="full")):
            model: nn.Module = FullTransNet(config)
            loss = lambda model: fulltransnet_loss(model(x, marks, frames), frames)  # noqa: E731
            _steps(check, f"FullTransNet, {config.attention}, T={length}", model, loss, 1)
        windows = torch.rand(n_videos, 4, 1, 1) / 2 + torch.tensor([0.0, 0.3])
        clips, queries = torch.randn(n_videos, n_clips, 500), torch.randn(n_videos, 4, 768)
        videos = MomentBatch(clips, queries, is_query, windows)
        head = LIGHT_HEAD if check.small else {}
        model = MRNet(MRNetConfig(clips=n_clips, **head, **sizes))
        _steps(check, "MRNet, 4 queries", model, lambda m: mrnet_loss(m, videos, LossSettings()), n_videos)
        clips, words = (torch.randn(batch, n, dim) for n, dim in ((75, 2818), (32, 512)))
        inputs = clips, clips[..., 0] < torch.inf, words, words[..., 0] < torch.inf
        for mask in (None, MaskConfig(), MaskConfig(depth=32, init="he")):
            model = build("qd-detr", DETRConfig(mask=mask, **sizes))
            loss = lambda m: sum(part.float().square().mean() for part in m(*inputs))  # noqa: E731
            _steps(check, f"QD-DETR, mask of depth {mask.depth if mask else 0}", model, loss, batch)


def _steps(check: Check, name: str, model: nn.Module, loss: Callable[[nn.Module], Tensor], n: int) -> None:
    optimizer, values = torch.optim.AdamW(model.train().parameters(), 1e-4), list[Tensor]()
    for kind in ("fp32", "bf16"):

        def step(kind: str = kind) -> None:
            with torch.autocast(check.device.type, torch.bfloat16, enabled=kind == "bf16"):
                value = loss(model)
            optimizer.zero_grad()
            value.float().backward()
            optimizer.step()
            values.append(value.detach())

        seconds, cost = check.time(step)
        is_finite = bool(torch.stack(values).isfinite().all())
        check.say(f"{name}, {kind}: {cost}, {n / seconds:.0f} a second", holds=is_finite)


def real_training(check: Check) -> None:
    """Train MRNet on made-up videos for some epochs, as `vidsum train` does, with its prefetching thread."""
    from tests.lab.training.toy import Toy, draw_data, draw_moments

    toy = Toy(n_videos=32 if check.small else 600)
    sizes = replace(MRNetConfig(**LIGHT_HEAD), d=16, d_ff=16, heads=2, layers=1)
    loop = LoopSettings(epochs=3 if check.small else 20)
    settings = MRNetSettings(model=sizes, loop=loop, lr=1e-3, device=str(check.device))
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = train_mrnet(draw_data(draw_moments, toy, seed=0), settings, Path(folder) / "run")
        seconds = (time.perf_counter() - start) / len(result.history)
    first, last = (result.history[place].loss for place in (0, -1))
    learns = last < first if check.small else last < 0.9 * first
    check.say(f"MRNet, light: {seconds:.2f} s an epoch, loss {first:.3f} to {last:.3f}", holds=learns)


def precisions(check: Check) -> None:
    """Compare the default extractor in each precision with fp32 on the CPU, on the sample film."""
    seconds = 4 if check.small else 30
    expected = _sample_features("cpu", "fp32", seconds)
    pairs = [("cpu", "int8", 0.06)] + [("cuda", "fp16", 1e-2), ("cuda", "bf16", 0.05)] * check.is_cuda
    for device, precision, largest in pairs:
        name = f"EfficientNet-Lite0 {precision} on {device}"
        try:
            rows = _sample_features(device, precision, seconds)
        except UsageError as refused:  # such as int8 on a processor without VNNI
            check.say(f"{name}: {refused.message}")
            continue
        error = 1 - float(cosine_similarity(rows, expected).min())
        cost = check.time(partial(_sample_features, device, precision, seconds), 1)[1]
        check.hold(f"{name}: {cost}", error, largest)


def _sample_features(device: str, precision: str, seconds: float) -> Tensor:
    """Features of the first seconds of the sample film."""
    extractor = load_extractor(Extraction(device=device, precision=precision))  # type: ignore[arg-type]
    with read_frames(probe(_SAMPLE), [extractor.spec.sampling]) as frames:
        pictures = [extractor.spec.crop(frame.image) for _, frame in islice(frames, int(2 * seconds))]
    return torch.from_numpy(extractor.encode(np.stack(pictures)[:, None]))


@torch.inference_mode()
def latency(check: Check) -> None:
    """Time one pass of the audio describer over a clip and 249 words, in bf16: STAMP's Table 4."""
    config = SMALL if check.small else describer.AudioDescriptionConfig()
    stamp = MaskConfig(kind="stamp", depth=16)
    rows = {}, {"linear_layers": 15}, {"layers": config.layers + 39}, {"mask": stamp}
    for changes in rows:
        torch.set_default_dtype(torch.bfloat16)
        try:
            with check.device:
                model = describer.AudioDescription(replace(config, **changes)).eval()
                clip = [torch.randn(1, config.n_tokens, dim) for dim in (config.dim_visual, config.dim_audio)]
                words = torch.zeros(1, WORDS, dtype=torch.long)
                say = lambda m=model, w=words, x=clip: m(w, m.evidence(*x))  # noqa: E731
                check.say(f"{changes}: {check.time(say)[1]}", holds=bool(say().isfinite().all()))
        finally:
            torch.set_default_dtype(torch.float32)


def main() -> None:
    """Run the parts; exit code 1 where one fails."""
    parser = argument_parser(__doc__)
    parser.add_argument("--device", help="default: cuda, and with --small cpu")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    check = Check(options.device or ("cpu" if options.small else "cuda"), small=options.small)
    check.say(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name() if check.is_cuda else 'CPU'}")
    for part in (networks, attention, retention, training, real_training, precisions, latency):
        check.say(f"== {part.__name__}")
        try:
            part(check)
        except Exception as error:  # the other parts have their say
            check.say(repr(error), holds=False)
    sys.exit(bool(check.faults))


if __name__ == "__main__":
    main()
