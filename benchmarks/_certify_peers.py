"""nnenum, α,β-CROWN and Marabou as processes of their own: what they answer, and the processor seconds that they take.

Each is given the settings that its authors publish for a family. The time of a process that does nothing but start is
taken off. Limits are processor seconds too, set by the system, so that other load on the machine decides nothing.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, inf
from pathlib import Path

PATIENCE = 20  # seconds on the clock for every second of the processor that a peer may take
NO_LIMIT = 10_000  # seconds; what a peer is told, where the system limits it
ABCROWN_SETTINGS = {
    "acasxu": ["--config", "exp_configs/vnncomp21/acasxu.yaml"],
    # without mixed-integer programs, for which it asks for a licence of Gurobi
    "mnist_fc": ["--config", "exp_configs/vnncomp22/mnistfc.yaml", "--complete_verifier", "bab"],
}
# its start is longer than most of its work, so that it says itself how much it has worked
TIMED_NNENUM = (
    "import time, nnenum.nnenum as m; began = time.process_time(); m.main(); "
    "print('\\nworked', time.process_time() - began)"
)
ANSWERS = {"safe": "unsat", "unsafe": "sat", "unsat": "unsat", "sat": "sat"}


@dataclass(frozen=True)
class Said:
    """An answer, `?` where there was none in time; or why there is none. The start is not in its seconds."""

    answer: str
    seconds: float
    failure: str = ""
    start: float = 0.0


Ask = Callable[[str, Path, Path, float], Said]
"""A family, a network, a property, and processor seconds after the start: what a peer says."""


def find_peers() -> dict[str, Ask | str]:
    """How to ask each of them, or why it is not there."""
    return {"nnenum": _find_nnenum(), "α,β-CROWN": _find_abcrown(), "Marabou": _find_marabou()}


def _find_nnenum() -> Ask | str:
    if "FTHETA_NNENUM" not in os.environ:
        return "FTHETA_NNENUM names no folder"
    source = Path(os.environ["FTHETA_NNENUM"]) / "src"
    python = os.environ.get("FTHETA_NNENUM_PYTHON", sys.executable)

    def command(family: str, network: Path, property: Path) -> list[str]:
        # the last word: one worker process, which is the calling one. What is compared is work, not cores
        words = [str(network), str(property), str(NO_LIMIT), os.devnull, "1"]
        return [python, "-c", TIMED_NNENUM, *words]

    start = [python, "-c", "import nnenum.nnenum"]
    return _asking(command, start, r"^Result: network is (\S+)", source)


def _find_abcrown() -> Ask | str:
    if "FTHETA_ABCROWN" not in os.environ:
        return "FTHETA_ABCROWN names no folder"
    folder = Path(os.environ["FTHETA_ABCROWN"]) / "complete_verifier"
    python = os.environ.get("FTHETA_ABCROWN_PYTHON", sys.executable)

    def command(family: str, network: Path, property: Path) -> list[str]:
        files = ["--onnx_path", str(network), "--vnnlib_path", str(property)]
        limit = ["--device", "cpu", "--timeout", str(NO_LIMIT)]
        return [python, "abcrown.py", *ABCROWN_SETTINGS.get(family, []), *limit, *files]

    return _asking(command, [python, "-c", "import abcrown"], r"^Result: (\S+)", folder, folder)


def _find_marabou() -> Ask | str:
    if "FTHETA_MARABOU" not in os.environ:
        return "FTHETA_MARABOU names no folder"
    folder = Path(os.environ["FTHETA_MARABOU"])
    python = os.environ.get("FTHETA_MARABOU_PYTHON", sys.executable)

    def command(family: str, network: Path, property: Path) -> list[str]:
        return [python, str(folder / "bin" / "Marabou"), str(network), str(property)]

    start = [python, "-c", "from maraboupy import Marabou"]
    return _asking(command, start, r"^(unsat|sat|unknown|timeout)\s*$", folder)


def _asking(
    command: Callable[[str, Path, Path], list[str]],
    start: list[str],
    pattern: str,
    source: Path,
    cwd: Path | None = None,
) -> Ask | str:
    """How to ask a peer whose last match of `pattern` is its answer; or why it does not start."""
    begun = inf
    for _ in range(4):  # the first time also keeps bytecode
        code, output, seconds = run_child(start, source, cwd)
        if code:
            return _last_line(output)
        begun = min(begun, seconds)

    def ask(family: str, network: Path, property: Path, limit: float) -> Said:
        words = command(family, network, property)
        code, output, seconds = run_child(words, source, cwd, limit=begun + limit)
        seconds = max(seconds - begun, 1e-3)
        if worked := re.findall(r"^worked (\S+)$", output, re.MULTILINE):
            seconds = float(worked[-1])
        found = re.findall(pattern, output.strip(), re.MULTILINE)
        if found:
            return Said(ANSWERS.get(found[-1].lower(), "?"), seconds, start=begun)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return Said("?", seconds, start=begun)
        return Said("?", seconds, _last_line(output), begun)

    return ask


def _last_line(output: str) -> str:
    return next(iter(output.strip().splitlines()[::-1]), "it said nothing")


def run_child(
    command: list[str],
    source: Path,
    cwd: Path | None = None,
    limit: float = 600.0,
    **variables: str,
) -> tuple[int, str, float]:
    """How a process ended, what it printed, and the processor seconds of it and of its children.

    After `limit` processor seconds the system ends it. Bytecode may be kept, as for any package that was installed.
    """
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one | {"PYTHONPATH": str(source)} | variables
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds = ceil(limit)

    def stop_in_time() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # into a file: what a peer has started may outlive it, and would keep a pipe open
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=stop_in_time,
            start_new_session=True,
        )
        try:
            code = child.wait(60 + PATIENCE * limit)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        said.seek(0)
        output = said.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return code, output, spent
