"""`python -m benchmarks.comparison [--quick] [words …]`: set up the peers, race, write RESULTS.md and results.svg.

Words choose the cores whose names contain one of them; without any, all are run.
"""

import argparse
import sys
import time

from .cores import CORES, Core
from .environments import name_missing_folders, set_up
from .racing import Contestant, Course, race
from .results import Row, write

ROUNDS = 7
PATIENCE = 300.0  # seconds for one answer
QUICK_ROUNDS = 3
QUICK_PATIENCE = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("words", nargs="*", help="of the names of cores")
    chosen = parser.parse_args()
    cores = [
        core
        for core in CORES
        if not chosen.words or any(word in core.name for word in chosen.words)
    ]
    if not cores:
        sys.exit(f"no core is called so; there are: {'; '.join(core.name for core in CORES)}")
    names = sorted({peer.environment for core in cores for peer in core.peers})
    environments = [set_up(name) for name in names]
    pythons = {"": sys.executable} | {e.name: str(e.python) for e in environments if e.python}
    missing = {e.name: e.reason for e in environments if not e.python}
    begun = time.monotonic()
    rows: list[Row] = []
    for core in cores:
        rows.append(run_core(core, pythons, missing, chosen.quick))
        # so that an interrupted run leaves what it has
        write(rows, missing | name_missing_folders(), chosen.quick)
    print(
        f"benchmarks/RESULTS.md and benchmarks/results.svg, after {time.monotonic() - begun:.0f} s",
        file=sys.stderr,
    )


def run_core(core: Core, pythons: dict[str, str], missing: dict[str, str], quick: bool) -> Row:
    """All sizes of one core; contestants without an environment carry the reason."""
    sizes = core.quick if quick else core.sizes
    print(f"{core.name}, {core.size}: {', '.join(map(str, sizes))}", file=sys.stderr, flush=True)
    everyone: list[Contestant] = [core.ours, *core.peers, *core.limits]
    there = [contestant for contestant in everyone if contestant.environment in pythons]
    absent = {
        one: Course(one.label, reason=missing[one.environment])
        for one in everyone
        if one not in there
    }
    rounds, patience = (QUICK_ROUNDS, QUICK_PATIENCE) if quick else (ROUNDS, PATIENCE)
    begun = time.monotonic()
    raced = race(there, pythons, map(core.work, sizes), rounds, patience)
    print(f"  {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return Row(
        core, sizes, [_in_order(everyone, dict(zip(there, courses)) | absent) for courses in raced]
    )


def _in_order(everyone: list[Contestant], courses: dict[Contestant, Course]) -> list[Course]:
    return [courses[contestant] for contestant in everyone]


if __name__ == "__main__":
    main()
