"""The check for a GPU runs on a CPU, at small sizes."""

import sys

import pytest
import torch

from docs.benchmarks import gpu_check


@pytest.mark.deep
def test_every_part_holds_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(sys, "argv", ["gpu_check", "--small"])
    try:
        with pytest.raises(SystemExit) as ended:
            gpu_check.main()
    finally:
        torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert ended.value.code == 0
    for part in (
        "EfficientNetLite0 bfloat16",
        "T=512",
        "T=4160, recurrent",
        "MRNet, light",
        "int8 on cpu",
        "depth 32, bf16",
        "linear_layers",
    ):
        assert part in printed
