"""`python -m benchmarks.comparison [--quick] [words …]`: set up the peers, race, write RESULTS.md and results.svg.

Words choose the cores whose names contain one of them; without any, all are run.
"""

import argparse
import sys
import time

from .cores import CORES, Core
from .environments import name_missing_folders, set_up
from .racing import Contestant, Course, our_python, race
from .results import Row, write

ROUNDS = 7
QUICK_ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("words", nargs="*", help="of the names of cores")
    chosen = parser.parse_args()
    cores = [core for core in CORES if not chosen.words or any(word in core.name for word in chosen.words)]
    if not cores:
        sys.exit(f"no core is called so; there are: {'; '.join(core.name for core in CORES)}")
    names = sorted({peer.environment for core in cores for peer in core.peers})
    environments = [set_up(name) for name in names]
    pythons = {"": our_python()} | {e.name: str(e.python) for e in environments if e.python}
    missing = {e.name: e.reason for e in environments if not e.python}
    begun = time.monotonic()
    rows = [run_core(core, pythons, missing, chosen.quick) for core in cores]
    write(rows, missing | name_missing_folders(), chosen.quick)
    print(f"benchmarks/RESULTS.md and benchmarks/results.svg, after {time.monotonic() - begun:.0f} s", file=sys.stderr)


def run_core(core: Core, pythons: dict[str, str], missing: dict[str, str], quick: bool) -> Row:
    """All sizes of one core."""
    sizes = core.quick if quick else core.sizes
    rounds = QUICK_ROUNDS if quick else ROUNDS
    courses = []
    for size in sizes:
        print(f"{core.name}, {size:,} {core.size}", file=sys.stderr, flush=True)
        courses.append(_race_those_there(core, size, pythons, missing, rounds))
    return Row(core, sizes, courses)


def _race_those_there(
    core: Core, size: int, pythons: dict[str, str], missing: dict[str, str], rounds: int
) -> list[Course]:
    """The contestants in the order of the table; those without an environment carry the reason."""
    everyone: list[Contestant] = [core.ours, *core.peers, *([core.limit] if core.limit else [])]
    there = [contestant for contestant in everyone if contestant.environment in pythons]
    raced = dict(zip(there, race(there, pythons, core.work(size), rounds)))
    absent = {one: Course(one.label, reason=missing[one.environment]) for one in everyone if one not in raced}
    return [(raced | absent)[contestant] for contestant in everyone]


if __name__ == "__main__":
    main()
