"""What a run found, as benchmarks/RESULTS.md and as a chart."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import Axis, Bars
from ftheta.report.render import render

from .cores import Core
from .racing import Course

FOLDER = Path(__file__).parent.parent
QUIET = 1.5  # a load average up to this is our own
FASTER = 1.02  # ratios closer to 1 than this are called equal


@dataclass(frozen=True)
class Row:
    """A core and the courses of all contestants at every size: ours first, then the peers, then the limits."""

    core: Core
    sizes: Sequence[int]
    courses: Sequence[Sequence[Course]]

    @property
    def ours(self) -> Course:
        """At the largest size."""
        return self.courses[-1][0]

    @property
    def peers(self) -> Sequence[Course]:
        return self.courses[-1][1 : 1 + len(self.core.peers)]

    @property
    def best(self) -> Course | None:
        """The peer of the least CPU time whose result agrees with ours."""
        right = [
            peer for peer in self.peers if peer.finished and self.differs(peer) <= self.core.agree
        ]
        return min(right, key=lambda peer: peer.cpu, default=None)

    @property
    def limits(self) -> Sequence[Course]:
        return self.courses[-1][1 + len(self.core.peers) :]

    @property
    def ratio(self) -> float:
        """How many times our CPU time the best peer takes."""
        return self.best.cpu / self.ours.cpu if self.best and self.ours.finished else np.nan

    def differs(self, peer: Course) -> float:
        """The largest difference from our result, relative to its largest number."""
        mine = np.array(self.ours.value)
        theirs = np.array(peer.value)
        if mine.shape != theirs.shape:
            return np.inf
        return float(np.abs(mine - theirs).max() / max(np.abs(mine).max(), 1e-300))

    def exponent(self, label: str) -> float:
        """The slope of log CPU time against log size, by least squares."""
        found = [
            (size, c.cpu)
            for size, group in zip(self.sizes, self.courses)
            for c in group
            if c.label == label
        ]
        kept = [(size, cpu) for size, cpu in found if np.isfinite(cpu)]
        return fit_exponent(*zip(*kept)) if len(kept) > 1 else np.nan


def fit_exponent(sizes: Any, seconds: Any) -> float:
    """The exponent p of seconds ≈ c · size^p."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def write(
    rows: Sequence[Row], missing: Mapping[str, str], quick: bool, folder: Path = FOLDER
) -> None:
    """RESULTS.md and results.svg."""
    (folder / "results.svg").write_text(_draw(rows))
    (folder / "RESULTS.md").write_text(describe(rows, missing, quick))


def describe(rows: Sequence[Row], missing: Mapping[str, str], quick: bool) -> str:
    """The whole page."""
    parts = [
        "# Ours beside the peers, in one run",
        _describe_run(quick),
        "![Best peer ÷ ours, CPU time](results.svg)",
        _tabulate(rows),
        _tell_losses(rows),
        "## Every contestant, at the largest size",
        *[_tabulate_contestants(row) for row in rows],
        "## Peers that were not run",
        "\n".join(f"- {name}: {why}" for name, why in missing.items()) or "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _describe_run(quick: bool) -> str:
    cores = os.cpu_count() or 1
    load = f"load average {os.getloadavg()[0]:.1f} on {cores} cores at the end of the run"
    state = (
        f"**The machine was loaded by other work** ({load}): judge by CPU time, and expect even that to be larger than "
        "on quiet cores."
        if os.getloadavg()[0] > QUIET
        else f"The machine had little else to do ({load})."
    )
    command = "make bench QUICK=1" if quick else "make bench"
    return (
        f"`{command}`, {time.strftime('%-d %B %Y', time.gmtime())}, Python {platform.python_version()}, {cores} cores "
        f"({platform.machine()}). {state} Every contestant is a process of its own with one thread, takes the same "
        "arrays, compiles before its first round, and waits while the others take theirs. Times are the smallest of "
        "the rounds. *Ratio* is the CPU time of the best peer whose result agrees with ours, divided by ours: above 1 "
        "we are first. *Growth* is the exponent p of time ~ size^p, fitted over all sizes. *Peak* is by how much the "
        "process grew."
    )


def _tabulate(rows: Sequence[Row]) -> str:
    head = (
        "core",
        "size",
        "ours CPU",
        "wall",
        "peak",
        "best peer",
        "CPU",
        "wall",
        "peak",
        "ratio",
        "limit (÷)",
        "growth",
    )
    lines = [head, tuple("---" for _ in head)]
    for row in rows:
        ours = row.ours
        best = row.best
        none = "none ran" if row.core.peers else "none known"
        theirs = (best.label, *_show(best)) if best else (none, "–", "–", "–")
        floors = [
            f"{limit.label}, {ours.cpu / limit.cpu:.2f}×"
            for limit in row.limits
            if limit.finished and ours.finished
        ]
        growth = _show_exponent(row, ours) + (f", peer {_show_exponent(row, best)}" if best else "")
        ratio = f"**{row.ratio:.2f}×**" if best else "–"
        size = f"{row.sizes[-1]:,} {row.core.size}"
        lines.append(
            (row.core.name, size, *_show(ours), *theirs, ratio, "; ".join(floors) or "–", growth)
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _show_exponent(row: Row, course: Course) -> str:
    exponent = row.exponent(course.label)
    return f"{exponent:.2f}" if np.isfinite(exponent) else "–"


def _show(course: Course) -> tuple[str, str, str]:
    if not course.finished:
        return "–", "–", "–"
    return _show_seconds(course.cpu), _show_seconds(course.wall), f"{course.peak:.0f} MiB"


def _show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _tell_losses(rows: Sequence[Row]) -> str:
    behind = [row for row in rows if row.ratio < 1 / FASTER]
    equal = [row for row in rows if 1 / FASTER <= row.ratio < FASTER]
    failed = [row for row in rows if not row.ours.finished]
    lines = ["## Where we are not first", ""]
    lines += [f"- {row.core.name}: ours did not finish ({row.ours.reason})." for row in failed]
    for row in behind:
        assert row.best is not None
        reason = REASONS.get(row.core.name, "the reason is not known.")
        lines.append(
            f"- {row.core.name}: {row.best.label} takes {row.ratio:.2f}× our CPU time; {reason}"
        )
    lines += [f"- {row.core.name}: as fast as {row.best.label}." for row in equal if row.best]
    return "\n".join(lines if len(lines) > 2 else [*lines, "Nowhere in this run."])


REASONS: dict[str, str] = {
    "an ONNX file is read": "it checks the types of the nodes in C++; ours makes a JAX function of them and finds the "
    "shapes of every kind of node by tracing it, in Python.",
    "a tiny GPT, Adam, batch 16": "most of the time is in the same matrix products, and a run of few steps pays "
    "for our start.",
}
"""Why we are behind where we have been."""


def _tabulate_contestants(row: Row) -> str:
    lines = [
        f"**{row.core.name}** ({row.sizes[-1]:,} {row.core.size}{'; ' + row.core.note if row.core.note else ''})",
        "",
    ]
    lines += [
        "| contestant | CPU | wall | peak | CPU ÷ ours | growth | differs by |",
        "|---|---|---|---|---|---|---|",
    ]
    for course in row.courses[-1]:
        if not course.finished:
            lines.append(
                f"| {course.label} | not run: {course.reason.replace('|', '/')} | | | | | |"
            )
            continue
        is_limit = any(course is limit for limit in row.limits)
        differs = "" if course is row.ours or is_limit else f"{row.differs(course):.1e}"
        if np.isinf(row.core.agree):
            differs = ""
        elif not is_limit and course is not row.ours and row.differs(course) > row.core.agree:
            differs += " (does not agree: not counted)"
        cells = (
            *_show(course),
            f"{course.cpu / row.ours.cpu:.2f}",
            _show_exponent(row, course),
            differs,
        )
        lines.append(f"| {course.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _draw(rows: Sequence[Row]) -> str:
    shown = [row for row in rows if np.isfinite(row.ratio)]
    names = tuple(row.core.name for row in shown)
    values = (tuple(float(np.log2(row.ratio)) for row in shown),)
    axis = Axis("log₂ of CPU time, best peer ÷ ours: right of 0 we are first")
    drawn = render(
        Bars("Ours beside the best peer", axis, names, ("best peer ÷ ours",), values), "svg"
    )
    assert isinstance(drawn, str)
    return drawn
