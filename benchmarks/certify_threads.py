"""The hard instances of ACAS Xu by one thread and by two in turn: time by the clock, processor time, and their ratios.

    python -m benchmarks certify_threads

Threads share the machine with whatever else runs on it, so that the clock says something on quiet cores alone; the
load is printed beside it. Processor time says what sharing costs: it should hardly grow. Rounds alternate, and the
medians are compared. The folder of instances is named by FTHETA_VNNCOMP.
"""

import os
import time
from pathlib import Path

import numpy as np

from ftheta.verifying import verify

FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp")) / "acasxu"
HARD = (("1_9", 7, "sat"), ("3_3", 2, "unsat"), ("4_2", 2, "unsat"))
ROUNDS = 5
LIMIT = 120.0  # seconds by the clock for one answer


def main() -> None:
    if not FOLDER.exists():
        print(f"no instances in {FOLDER} (set FTHETA_VNNCOMP)")
        return
    _decide("1_1", 3, 2)  # so that all is compiled
    print(f"medians of {ROUNDS} rounds; load before: {os.getloadavg()[0]:.1f}")
    gains = list[float]()
    for network, property, answer in HARD:
        rounds = [
            [_decide(network, property, threads) for threads in (1, 2)] for _ in range(ROUNDS)
        ]
        said = {found for pair in rounds for found, _, _ in pair}
        wall = np.median([[each[1] for each in pair] for pair in rounds], axis=0)
        work = np.median([[each[2] for each in pair] for pair in rounds], axis=0)
        gains.append(float(wall[0] / wall[1]))
        print(
            f"  {network}:{property} {', '.join(sorted(said))}{'' if said == {answer} else ' (not ' + answer + ')'}"
            f"  clock {wall[0]:.2f} and {wall[1]:.2f} s: {gains[-1]:.2f}×"
            f"  processor {work[0]:.2f} and {work[1]:.2f} s: {work[1] / work[0]:.2f}×",
            flush=True,
        )
    mean = np.exp(np.mean(np.log(gains)))
    print(
        f"  two threads by the clock: {mean:.2f}× (geometric mean); load: {os.getloadavg()[0]:.1f}"
    )


def _decide(network: str, property: int, threads: int) -> tuple[str, float, float]:
    """The answer, and how long it took by the clock and of the processor."""
    files = (
        FOLDER / "onnx" / f"ACASXU_run2a_{network}_batch_2000.onnx.gz",
        FOLDER / "vnnlib" / f"prop_{property}.vnnlib.gz",
    )
    began = time.perf_counter(), time.process_time()
    found = verify(files[0], str(files[1]), budget=LIMIT, threads=threads).answer
    return found, time.perf_counter() - began[0], time.process_time() - began[1]


if __name__ == "__main__":
    main()
