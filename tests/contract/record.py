"""Every theorem's verdicts and numbers as JSON, to see what a change of the house changes.

`python -m tests.contract.record write before.json` runs each theorem by default and in its presets (`--studies`: slow
ones too; `--only`: ids or chapters); `… compare before.json after.json` prints what differs.
"""

import argparse
import json
import sys
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from ftheta.catalogue import theorems
from ftheta.logic import Enclosure, FthetaError, Result
from ftheta.running import run

from .studies import STUDIES

RTOL = 1e-9


def record(result: Result) -> dict[str, Any]:
    """What is compared of one run."""
    return {
        "verdict": result.verdict.value,
        "summary": result.summary,
        "checks": {check.name: check.finding.status.value for check in result.checks},
        "claims": [_record_claim(judged) for judged in result.claims],
        "examples": [_record_claim(judged) for judged in result.examples],
        "as printed": [_record_claim(judged) for judged in result.as_printed],
        "example numbers": {
            name: [number.lo, number.hi] for name, number in result.example_numbers.items()
        },
        "numbers": {name: [number.lo, number.hi] for name, number in result.numbers.items()},
    }


def _record_claim(judged: Any) -> dict[str, Any]:
    names = ("left", "right", "slope", "achieved", "wanted", "limit")
    sides = {name: getattr(judged.claim, name, None) for name in names}
    known: dict[str, Any] = {
        name: [side.lo, side.hi] for name, side in sides.items() if isinstance(side, Enclosure)
    }
    values = getattr(judged.claim, "values", ())
    if values:
        known["values"] = [[value.lo, value.hi] for value in values]
    return {"what": judged.claim.what, "verdict": judged.judgement.verdict.value, **known}


def write(path: Path, studies: bool, only: tuple[str, ...] = ()) -> None:
    """Run everything, or what `only` names; what is done is written after every theorem."""
    runs: dict[str, Any] = {}
    for theorem in theorems().values():
        if only and theorem.id not in only and theorem.chapter not in only:
            continue
        presets = [name for name in theorem.presets if studies or (theorem.id, name) not in STUDIES]
        for preset in (None, *presets):
            name = theorem.id if preset is None else f"{theorem.id} / {preset}"
            try:
                runs[name] = record(run(theorem, preset=preset))
            except FthetaError as error:
                runs[name] = {"error": str(error)}
        path.write_text(json.dumps(runs, indent=1, ensure_ascii=False), "utf-8")
        print(f"{len(runs):>4} {theorem.id}", file=sys.stderr, flush=True)


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each difference."""
    lines = [f"gone: {name}" for name in before if name not in after]
    lines += [f"new: {name}" for name in after if name not in before]
    for name in before:
        if name in after:
            lines += [f"{name}: {line}" for line in _differences(before[name], after[name])]
    return lines


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    lines = [
        f"{field}: {old.get(field)} → {new.get(field)}"
        for field in ("error", "verdict", "summary")
        if old.get(field) != new.get(field)
    ]
    lines += _changed_entries("hypothesis", old.get("checks", {}), new.get("checks", {}))
    lines += _changed_entries("number", old.get("numbers", {}), new.get("numbers", {}))
    lines += _changed_entries(
        "example number", old.get("example numbers", {}), new.get("example numbers", {})
    )
    for field in ("claims", "examples", "as printed"):
        lines += _changed_entries(field, _by_text(old.get(field, [])), _by_text(new.get(field, [])))
    return lines


def _by_text(claims: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        claim["what"]: {key: value for key, value in claim.items() if key != "what"}
        for claim in claims
    }


def _changed_entries(kind: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    gone = [f"{kind} gone: {name}" for name in old if name not in new]
    added = [f"{kind} new: {name}" for name in new if name not in old]
    changed = [
        f"{kind} {name}: {old[name]} → {new[name]}"
        for name in old
        if name in new and not _same(old[name], new[name])
    ]
    return [*gone, *added, *changed]


def _same(one: Any, other: Any) -> bool:
    """Equal, numbers within the relative tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other))
    if isinstance(one, float) and isinstance(other, float) and isfinite(one) and isfinite(other):
        return isclose(one, other, rel_tol=RTOL, abs_tol=1e-12)
    return one == other


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.contract.record", description=__doc__)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="ids or chapters, with commas")
    parser.add_argument("--partial", action="store_true", help="compare only what both files have")
    parser.add_argument("--studies", action="store_true", help="the slow presets too")
    options = parser.parse_args()
    if options.action == "write":
        write(options.files[0], options.studies, tuple(filter(None, options.only.split(","))))
        return 0
    before, after = (json.loads(path.read_text("utf-8")) for path in options.files)
    if options.partial:
        before = {name: run for name, run in before.items() if name in after}
    lines = compare(before, after)
    print("\n".join(lines) or "no difference")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
