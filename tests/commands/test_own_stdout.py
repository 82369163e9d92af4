"""Stdout for results alone: what Python, threads, C and started processes print goes to stderr."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, subprocess, sys
from threading import Thread
from vidsum.commands.result import redirect_stdout

def in_thread(text):
    thread = Thread(target=print, args=(text,))
    thread.start()
    thread.join()

print("before")
with redirect_stdout() as out:
    print("noise")
    in_thread("noise")
    with out.open():
        print("result é")
        in_thread("noise")
        os.write(1, b"noise\\n")
        subprocess.run([sys.executable, "-c", "print('noise')"])
    os.write(1, b"noise\\n")
print("after")
"""


def test_only_results_are_printed_to_stdout() -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment, check=True)
    assert ran.stdout.decode().split("\n") == ["before", "result é", "after", ""]
    assert ran.stderr.decode().split() == ["noise"] * 6
