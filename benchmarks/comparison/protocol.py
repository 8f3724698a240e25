"""The protocol between the comparison and its contestants; run by every Python, so it needs NumPy alone.

`python <program>.py <method> <work.npz>` prepares the method on the arrays of the work, runs it once, which compiles,
and prints a line `{"ready": …}`. Each line that it is sent then means: run once more. It answers with a line of JSON:
`cpu` and `wall` seconds, `peak` (MiB that the process has grown by since it had read its work) and `value`, some numbers
of the result, which have to agree among the contestants.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Run = Callable[[], Any]
Prepare = Callable[[Mapping[str, np.ndarray]], Run]
SHOWN = 32  # numbers of a result that are compared


def serve(methods: Mapping[str, Prepare]) -> None:
    """Answer on standard output until standard input ends."""
    name, path = sys.argv[1:3]
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a package prints is no answer
    work = dict(np.load(path))
    before = _resident()
    run = methods[name](work)
    value = summarise(run())
    print(json.dumps({"ready": name}), file=answers, flush=True)
    for _ in sys.stdin:
        cpu = time.process_time()
        wall = time.perf_counter()
        found = run()
        answer = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        value = summarise(found)
        print(json.dumps(answer | {"peak": _peak() - before, "value": value}), file=answers, flush=True)


def summarise(result: Any) -> list[float]:
    """A few numbers of a result, evenly taken from it."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    flat = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
    return flat[np.linspace(0, len(flat) - 1, min(SHOWN, len(flat))).astype(int)].tolist()


def take(work: Mapping[str, np.ndarray], letter: str) -> list[np.ndarray]:
    """The arrays `p0`, `p1`, … of a work."""
    return [work[f"{letter}{k}"] for k in range(sum(name[:1] == letter and name[1:].isdigit() for name in work))]


def number(letter: str, arrays: Iterable[Any]) -> dict[str, np.ndarray]:
    """Arrays by the names `p0`, `p1`, …"""
    return {f"{letter}{k}": np.asarray(array) for k, array in enumerate(arrays)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _resident() -> float:
    """MiB that the process has now; where there is no /proc, the most it had."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return _peak()
