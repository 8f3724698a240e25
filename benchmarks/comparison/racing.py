"""Contestants on the same work, one after the other in every round, so that all meet the same state of the machine."""

import json
import os
import re
import select
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
ENOUGH = 10.0  # seconds on one work, after which a contestant is asked no more; each has two rounds at least
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*:|[\w.]*Error$")
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
    spent: float = 0.0  # seconds of all rounds
    reason: str = ""

    def add(self, answer: dict[str, Any]) -> None:
        self.cpu = min(self.cpu, answer["cpu"])
        self.wall = min(self.wall, answer["wall"])
        self.peak = max(self.peak, answer["peak"])
        self.value = answer["value"]
        self.rounds += 1
        self.spent += answer["wall"]

    @property
    def finished(self) -> bool:
        return not self.reason and self.rounds > 0


class _Process:
    """A contestant that waits for its next round."""

    def __init__(self, python: str, contestant: Contestant, log: Path) -> None:
        # programs of peers see the protocol alone, ours the package as well
        places = (
            [str(HERE)]
            if contestant.environment
            else [str(HERE), str(ROOT), os.environ.get("PYTHONPATH", "")]
        )
        self._log = log.open("w+")
        self._process = subprocess.Popen(
            [python, str(PROGRAMS / f"{contestant.program}.py"), contestant.method],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(places)},
        )

    def ask(self, work: Path, patience: float) -> dict[str, Any] | str:
        """Its answer, or why there is none."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(work, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return self._read_error()
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        if not ready:
            return f"stopped after {patience:g} s"
        line = self._process.stdout.readline()
        return json.loads(line) if line else self._read_error()

    def _read_error(self) -> str:
        """The last line of its error output that names an error."""
        self._process.wait()
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        errors = [line for line in lines if _ERROR.match(line)]
        return (errors or lines or [f"ended with code {self._process.returncode}"])[-1][:160]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()


def race(
    contestants: Sequence[Contestant],
    pythons: dict[str, str],
    works: Iterable[dict[str, np.ndarray]],
    rounds: int,
    patience: float,
) -> list[list[Course]]:
    """For each work, the courses of all contestants on it, in `rounds` interleaved rounds; fewer for who is slow.

    Who does not answer within `patience` seconds, compiling included, is left out from there on. `pythons` has the
    interpreter of every environment, that of the empty name being ours.
    """
    with TemporaryDirectory() as folder, ExitStack() as stack:
        processes = []
        for k, contestant in enumerate(contestants):
            process = _Process(
                pythons[contestant.environment], contestant, Path(folder) / f"{k}.log"
            )
            stack.callback(process.close)
            processes.append(process)
        found: list[list[Course]] = []
        for k, work in enumerate(works):
            path = Path(folder) / f"{k}.npz"
            np.savez(path, allow_pickle=False, **work)
            before = (
                found[-1] if found else [Course(contestant.label) for contestant in contestants]
            )
            # who stopped has stopped
            found.append([Course(course.label, reason=course.reason) for course in before])
            _race_on(path, list(zip(processes, found[-1])), rounds, patience)
    return found


def _race_on(
    work: Path, contest: Sequence[tuple[_Process, Course]], rounds: int, patience: float
) -> None:
    for k in range(1 + rounds):
        for process, course in contest:
            if course.reason or (course.rounds > 1 and course.spent > ENOUGH):
                continue
            answer = process.ask(work, patience)
            if isinstance(answer, str):
                course.reason = answer
            elif k:  # the first answer says that it is ready
                course.add(answer)
