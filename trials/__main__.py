"""`python -m trials` runs the adversarial trials within a time limit and prints how many were tried, how many wrong."""

import argparse
import faulthandler
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import Trial, all_trials

STUCK = 600  # seconds after which a case that has not ended says where it stands


@dataclass
class Tally:
    """What became of the cases of one trial."""

    trial: Trial
    tried: int = 0
    seconds: float = 0.0
    wrong: dict[int, str] = field(default_factory=dict)

    def attempt(self, seed: int, number: int) -> None:
        began = time.perf_counter()
        faulthandler.dump_traceback_later(STUCK)
        fault = self.trial.case(seed, number)
        faulthandler.cancel_dump_traceback_later()
        self.seconds += time.perf_counter() - began
        self.tried += 1
        if fault is not None:
            self.wrong[number] = fault
            print(f"wrong: {self.trial.name}, seed {seed}, case {number}: {fault}", flush=True)


def main() -> int:
    options = _parser().parse_args()
    trials = _selected(options.only)
    tallies = [Tally(trial) for trial in trials]
    try:
        _run(tallies, options)
    except KeyboardInterrupt:
        print("interrupted: what was tried so far")
    _print_table(tallies)
    if options.json:
        _write(tallies, options)
    return 1 if any(tally.wrong for tally in tallies) else 0


def _run(tallies: list[Tally], options: argparse.Namespace) -> None:
    """Every trial gets an equal share of the time that is left; at least one case each."""
    if options.case is not None:
        for tally in tallies:
            tally.attempt(options.seed, options.case)
        return
    end = time.perf_counter() + 60 * options.minutes
    for position, tally in enumerate(tallies):
        left = end - time.perf_counter()
        stop = time.perf_counter() + left / (len(tallies) - position)
        while tally.tried == 0 or time.perf_counter() < stop:
            tally.attempt(options.seed, tally.tried)
            if options.cases is not None and tally.tried >= options.cases:
                break
        print(
            f"{tally.trial.name}: {tally.tried:,} tried, {len(tally.wrong):,} wrong",
            file=sys.stderr,
            flush=True,
        )


def _selected(words: list[str]) -> list[Trial]:
    trials = list(all_trials())
    if not words:
        return trials
    found = [trial for trial in trials if any(word in trial.name for word in words)]
    if not found:
        sys.exit(
            "trials: none has this name; there are:\n  "
            + "\n  ".join(trial.name for trial in trials)
        )
    return found


def _print_table(tallies: list[Tally]) -> None:
    width = max(len(tally.trial.name) for tally in tallies)
    print(
        f"\n{'trial':{width}}  {'tried':>9}  {'wrong':>6}  {'seconds':>8}  a wrong answer would be"
    )
    for tally in tallies:
        counts = f"{tally.tried:>9,}  {len(tally.wrong):>6,}  {tally.seconds:>8.1f}"
        print(f"{tally.trial.name:{width}}  {counts}  {tally.trial.says}")
    tried = sum(tally.tried for tally in tallies)
    wrong = sum(len(tally.wrong) for tally in tallies)
    print(f"\n{tried:,} tried, {wrong:,} wrong")


def _write(tallies: list[Tally], options: argparse.Namespace) -> None:
    rows = [
        {"trial": t.trial.name, "tried": t.tried, "seconds": round(t.seconds, 1), "wrong": t.wrong}
        for t in tallies
    ]
    Path(options.json).write_text(
        json.dumps({"seed": options.seed, "trials": rows}, indent=1) + "\n", "utf-8"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trials", description=__doc__)
    parser.add_argument(
        "--only", nargs="*", default=[], help="trials whose name contains one of these words"
    )
    parser.add_argument(
        "--minutes", type=float, default=60, help="time for all of them together (default 60)"
    )
    parser.add_argument("--cases", type=int, help="at most so many cases of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case alone")
    parser.add_argument("--json", help="write the counts to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
