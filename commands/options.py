"""Options that several commands share. All can also be set by environment variables and `--config`."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from vidsum.commands.config import SEVERAL_MEANINGS, use_config


def option(*flags: str, help: str, **more: Any) -> Any:
    """A typer option that `VIDSUM_<COMMAND>_<LONG_NAME>` in the environment sets too.

    So does `VIDSUM_<LONG_NAME>` if the option is the same in all commands that have it.
    """
    long = next(flag for flag in flags if flag.startswith("--")).split("/")[0]
    name = long.removeprefix("--").replace("-", "_")
    general = None if name in SEVERAL_MEANINGS else f"VIDSUM_{name.upper()}"
    return typer.Option(*flags, help=help, envvar=general, show_envvar=False, **more)


class ExtractorName(str, Enum):
    """The extractors, by name."""

    mobilenet_v2 = "mobilenet_v2"
    i3d = "i3d"
    efficientnet_lite0 = "efficientnet_lite0"
    googlenet = "googlenet"
    c3d = "c3d"
    c3d_fc7 = "c3d_fc7"
    clip = "clip"


class PrecisionName(str, Enum):
    """Floating-point types a model can run in."""

    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"


class BackendName(str, Enum):
    """What runs a model."""

    torch = "torch"
    onnx = "onnx"


class ReaderName(str, Enum):
    """What decodes video."""

    pyav = "pyav"
    decord = "decord"
    opencv = "opencv"


class ShotMethod(str, Enum):
    """How a video is cut into shots."""

    kts = "kts"
    uniform = "uniform"
    transnetv2 = "transnetv2"


class FeatureFormat(str, Enum):
    """Formats of feature files."""

    npz = "npz"
    h5 = "h5"


class PlotName(str, Enum):
    """What a summary can be drawn as."""

    importance = "importance"
    attention = "attention"


class PlotFormat(str, Enum):
    """Formats of the plots."""

    png = "png"
    svg = "svg"


VIDEO, WHAT, OUT, VIEW = "Reading and features", "Shots and summary", "Output", "Messages"

Inputs = Annotated[list[str], typer.Argument(help="Video files.", show_default=False, metavar="VIDEO...")]
VideosOrFeatures = Annotated[
    list[str],
    typer.Argument(
        help="Video files, or feature files (.npz, .h5).", show_default=False, metavar="VIDEO|FEATURES..."
    ),
]

Extractor = Annotated[
    ExtractorName, option("--extractor", "-e", help="What turns frames into features.", rich_help_panel=VIDEO)
]
Fps = Annotated[
    float | None,
    option(
        "--fps", help="Frames sampled per second.", show_default="the extractor's own", rich_help_panel=VIDEO
    ),
]
ClipFrames = Annotated[
    int | None,
    option(
        "--clip-frames",
        help="Frames in a clip (i3d).",
        show_default="the extractor's own",
        rich_help_panel=VIDEO,
    ),
]
StrideFrames = Annotated[
    int | None,
    option(
        "--stride-frames",
        help="Frames from one clip to the next (i3d, c3d).",
        show_default="the extractor's own",
        rich_help_panel=VIDEO,
    ),
]
Precision = Annotated[
    PrecisionName,
    option("--precision", help="Floating-point type that the model runs in.", rich_help_panel=VIDEO),
]
Backend = Annotated[
    BackendName,
    option("--backend", help=r"What runs the model; onnx needs vidsum\[onnx].", rich_help_panel=VIDEO),
]
Device = Annotated[
    str,
    option("--device", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=VIDEO, metavar="DEVICE"),
]
Reader = Annotated[ReaderName, option("--reader", help="What decodes the video.", rich_help_panel=VIDEO)]
Strict = Annotated[
    bool, option("--strict", help="A partly damaged video is an error (exit 3).", rich_help_panel=VIDEO)
]
AllowPlaylists = Annotated[
    bool,
    option(
        "--allow-playlists",
        help="Read ffconcat lists and .m3u8 playlists of local files as videos.",
        rich_help_panel=VIDEO,
    ),
]
NoCache = Annotated[
    bool,
    option("--no-cache", help="Neither use features of an earlier run nor keep them.", rich_help_panel=VIDEO),
]

Shots = Annotated[
    ShotMethod, option("--shots", help="How to cut the video into shots.", rich_help_panel=WHAT)
]
MaxShots = Annotated[
    int | None,
    option(
        "--max-shots", help="Largest number of shots.", show_default="chosen by KTS", rich_help_panel=WHAT
    ),
]
MinShot = Annotated[
    str | None,
    option(
        "--min-shot",
        help="Shortest shot, e.g. 2s.",
        show_default="the method's",
        metavar="TIME",
        rich_help_panel=WHAT,
    ),
]
MaxShot = Annotated[
    str | None,
    option(
        "--max-shot",
        help="Longest shot, e.g. 30s.",
        show_default="the method's",
        metavar="TIME",
        rich_help_panel=WHAT,
    ),
]

FormatOfFeatures = Annotated[
    FeatureFormat, option("--format", help="Format of the feature file.", rich_help_panel=OUT)
]
Logits = Annotated[
    bool, option("--logits", help="Keep the class scores too (i3d, mobilenet_v2).", rich_help_panel=VIDEO)
]

Beams = Annotated[
    int,
    option(
        "--beams",
        help="Beam width of a trained model; 1 is greedy.",
        min=1,
        rich_help_panel=WHAT,
    ),
]

Output = Annotated[
    str | None,
    option(
        "--output",
        "-o",
        help="File to write; for a batch a template with {stem}, {parent} or {n}; - for stdout.",
        show_default="named after the input",
        metavar="FILE",
        rich_help_panel=OUT,
    ),
]
OutputDir = Annotated[
    Path | None,
    option(
        "--output-dir",
        help="Folder for outputs named after their inputs; keeps the folders that these are in.",
        show_default="the current folder",
        rich_help_panel=OUT,
    ),
]
Overwrite = Annotated[
    bool, option("--overwrite", help="Replace outputs that exist already.", rich_help_panel=OUT)
]
FailFast = Annotated[
    bool, option("--fail-fast", help="Stop a batch at the first bad input.", rich_help_panel=OUT)
]

Json = Annotated[bool, option("--json", help="One JSON object per input on stdout.", rich_help_panel=VIEW)]
Quiet = Annotated[bool, option("--quiet", "-q", help="Errors only.", rich_help_panel=VIEW)]
Verbose = Annotated[
    bool, option("--verbose", "-v", help="Show the traceback of a fault.", rich_help_panel=VIEW)
]
Config = Annotated[
    Path | None,
    option(
        "--config",
        help="YAML file with defaults for options.",
        show_default=False,
        metavar="FILE",
        callback=use_config,
        is_eager=True,
        rich_help_panel=VIEW,
    ),
]
