"""Contestants on the same work, one after the other in every round, so that all meet the same state of the machine."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PATIENCE = 120  # seconds for one round, or for the first with compilation
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


@dataclass(frozen=True)
class Contestant:
    """`method` of a program in `programs/`, run in the environment of that peer; ours where it has no name."""

    label: str
    program: str
    method: str
    environment: str = ""


@dataclass
class Course:
    """What one contestant did on one work: the smallest times of the rounds, or why there are none."""

    label: str
    cpu: float = np.inf
    wall: float = np.inf
    peak: float = 0.0
    value: list[float] = field(default_factory=list)
    rounds: int = 0
    reason: str = ""

    def add(self, answer: dict[str, Any]) -> None:
        self.cpu = min(self.cpu, answer["cpu"])
        self.wall = min(self.wall, answer["wall"])
        self.peak = max(self.peak, answer["peak"])
        self.value = answer["value"]
        self.rounds += 1

    @property
    def finished(self) -> bool:
        return not self.reason and self.rounds > 0


class _Process:
    """A contestant that waits for its next round."""

    def __init__(self, python: str, contestant: Contestant, work: Path) -> None:
        # programs of peers see the protocol alone, ours the package as well
        path = os.pathsep.join(
            [str(HERE), *([os.environ.get("PYTHONPATH", ""), str(Path.cwd())] * (not contestant.environment))]
        )
        program = PROGRAMS / f"{contestant.program}.py"
        self._log = work.with_suffix(f".{contestant.label}.log".replace("/", " ")).open("w+")
        self._process = subprocess.Popen(
            [python, str(program), contestant.method, str(work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        )

    def read(self) -> dict[str, Any] | str:
        """Its next line, or why there is none."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        if not ready:
            return f"stopped after {PATIENCE} s"
        line = self._process.stdout.readline()
        return json.loads(line) if line else self._last_words()

    def ask(self) -> dict[str, Any] | str:
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return self.read()

    def _last_words(self) -> str:
        self._process.wait()
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        return (lines or [f"ended with code {self._process.returncode}"])[-1][:160]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()


def race(
    contestants: Sequence[Contestant], pythons: dict[str, str], work: dict[str, np.ndarray], rounds: int
) -> list[Course]:
    """The courses of all contestants on this work, in `rounds` interleaved rounds.

    `pythons` has the interpreter of every environment, that of the empty name being ours.
    """
    courses = [Course(contestant.label) for contestant in contestants]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "work.npz"
        np.savez(path, allow_pickle=False, **work)
        processes: list[_Process] = []
        try:
            for contestant, course in zip(contestants, courses):
                processes.append(_Process(pythons[contestant.environment], contestant, path))
                said = processes[-1].read()  # one at a time: they compile
                course.reason = said if isinstance(said, str) else ""
            for _ in range(rounds):
                for process, course in zip(processes, courses):
                    if not course.reason:
                        _take_round(process, course)
        finally:
            for process in processes:
                process.close()
    return courses


def _take_round(process: _Process, course: Course) -> None:
    answer = process.ask()
    if isinstance(answer, str):
        course.reason = answer
    else:
        course.add(answer)


def our_python() -> str:
    return sys.executable
