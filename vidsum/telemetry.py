"""Libraries that report to their makers how they are used: vidsum turns that off.

onnxruntime 1.32 begins when it is imported: it stores a device id in the user's cache folder and queues what
it knows of the machine, and `disable_telemetry_events` comes too late for that. So the variables are set when
vidsum itself is imported, before its code can load one of these libraries. The processes that vidsum starts
inherit them.
"""

import os
from typing import Any

VARIABLES = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}
"""Variables of onnxruntime, huggingface_hub (imported by faster-whisper and open_clip) and Ray."""


def turn_off() -> None:
    """Set the variables, whatever they were."""
    os.environ.update(VARIABLES)


def load_onnxruntime() -> Any:
    """Return the module onnxruntime. On Windows the system takes its events, and only a call stops these.

    Raises ImportError where it is not installed.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
