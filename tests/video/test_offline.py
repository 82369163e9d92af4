"""With VIDSUM_OFFLINE=1, whatever a server of this machine answers leads to no other or to a name server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkpoints.server import running_server, send
from tests.hostile import redirect
from tests.media import make_video

ROOT = Path(__file__).parents[2]
AWAY = "http://192.0.2.1/film.ts"
PROGRAM = """
import sys
from vidsum.errors import InputError
from vidsum.video.frames import LongSide, Sampling
from vidsum.video.live import parse_source, read_live
for url in sys.argv[1:]:
    source = parse_source(url, idle_s=0.1)
    try:
        if source.works_offline:
            list(read_live(source, Sampling(2.0, LongSide(32)), print))
        print("read" if source.works_offline else "refused")
    except InputError as error:
        print(error.message)
"""


@pytest.fixture
def trace(tmp_path: Path) -> list[str]:
    """The command that notes what a program asks the network for."""
    words = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(tmp_path / "calls")]
    if not shutil.which("strace") or subprocess.run([*words, "true"], check=False).returncode:
        pytest.skip("strace is not installed, or may not trace")
    return words


def test_no_answer_leads_beyond_this_machine(trace: list[str], tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.ts", n_frames=20).path.read_bytes()
    hls = f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{AWAY}\n#EXT-X-ENDLIST\n".encode()
    dash = f'<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{AWAY}</BaseURL></MPD>'.encode()
    with running_server() as server:
        server.serve("/film.ts", lambda handler: send(handler, film, "video/mp2t"))
        server.serve("/away", redirect(AWAY))
        server.serve("/name", redirect("http://vidsum.invalid/film.ts"))
        server.serve("/live.m3u8", lambda handler: send(handler, hls, "application/vnd.apple.mpegurl"))
        server.serve("/live.mpd", lambda handler: send(handler, dash, "application/dash+xml"))
        port = server.url.rpartition(":")[2]
        led = [f"{server.url}/{name}" for name in ("away", "name", "live.m3u8", "live.mpd")]
        hosts = ("192.0.2.1", "[2001:db8::1]", "vidsum.invalid", socket_name(), "127.1", "0x7f000001")
        further = [f"http://{host}:{port}/film.ts" for host in hosts]
        further += [
            f"rtsp://127.0.0.1:{port}/x",
            f"rtmp://localhost:{port}/x",
            f"http://localhost@192.0.2.1:{port}/",
        ]
        own = [f"{server.url}/film.ts", f"http://localhost:{port}/film.ts"]
        environment = os.environ | {"VIDSUM_OFFLINE": "1", "PYTHONPATH": str(ROOT), "http_proxy": AWAY}
        ran = subprocess.run(
            [*trace, sys.executable, "-c", PROGRAM, *led, *further, *own],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line for line in ran.stdout.splitlines() if "connecting again" not in line]
    assert [line for line in lines if "cannot connect" not in line] == ["refused"] * len(further) + [
        "read"
    ] * 2
    calls = (tmp_path / "calls").read_text()
    assert set(re.findall(r'inet_addr\("([^"]+)"\)', calls)) == {"127.0.0.1"}
    assert set(re.findall(r"htons\((\d+)\)", calls)) <= {port, "0"}


def socket_name() -> str:
    """Return the name of this machine, which may need a name server."""
    return os.uname().nodename
