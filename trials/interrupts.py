"""Ctrl-C is pressed once, at any time, in any command that runs long: it ends, quickly and in order."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from . import Trial

ROOT = Path(__file__).parents[1]
# Each of them runs for minutes: one that ends by itself would sometimes be pressed after its end.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "double-descent-networks", "--preset", "thirty widths, five seeds"),
    ("audit", "digits-mlp", "--data", "digits-test", "--budget", "10m"),
    ("fit", "digits-test", "--steps", "1000000000"),
    ("pieces", "digits-mlp", "--max-cells", "1000000000", "--budget", "10m"),
    ("approximate", "sin(60*x)*y + cos(30*x*y*z)", "--eps", "1e-9", "--seconds", "600"),
    ("sweep", "trials.interrupts:slow", "--grid", "a=1,2,3", "--seeds", "100000", "--on", "2"),
)
PATIENCE = 90.0  # seconds after which a press counts as lost; a loaded machine is slow to end


def slow(seed: int, a: int) -> dict[str, float]:
    """A cell of the sweep that is interrupted."""
    time.sleep(0.05)
    return {"value": float(a + seed)}


def press(command: tuple[str, ...], after: float) -> str | None:
    """Start the command, press once after so many seconds, and say what was wrong with its end, if anything."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    heeding = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start = [
        sys.executable,
        "-c",
        heeding + "runpy.run_module('ftheta', run_name='__main__')",
        *command,
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        start, stdout=pipe, stderr=pipe, text=True, env=env, start_new_session=True
    )
    told = f"`ftheta {' '.join(command)}`, pressed after {after:.2f} s"
    try:
        process.wait(after)
        return f"{told}: ended before with {process.returncode}"  # no press was tried
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers hear it too
    try:
        _, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"{told}: lost"
    early = "in main" not in err and "ftheta/cli" not in err  # Python itself was still starting
    if "Traceback" in err and not early:
        return f"{told}: a traceback: {err[-300:]!r}"
    usual = process.returncode == 130 or (early and process.returncode == -signal.SIGINT)
    return None if usual else f"{told}: exit code {process.returncode}: {err[-300:]!r}"


def press_anywhere(rng: np.random.Generator) -> str | None:
    command = COMMANDS[rng.integers(len(COMMANDS))]
    return press(command, float(rng.uniform(0.2, 9.0)))


TRIALS = (
    Trial(
        "interrupts: one press",
        "a command that runs on, or ends in a traceback",
        press_anywhere,
        few=1,
    ),
)
