"""What a class will ask for next, computed while nobody waits: the sliders that it moves, then presets.

A *line* is a state with one knob free: a slider that is moved visits its stops. The lines that most of the
latest requests lie on come first, each from where it was last asked for outwards; then what every theorem is
opened with.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ftheta.catalogue import entry_of, index, settings_of
from ftheta.languages import language
from ftheta.logic.knob import Setting, Value

from .answer_jobs import SharedJobs
from .background import BackgroundJobs
from .positions import knobs_of, stops_of
from .protocol import Run, Size, State

BROKEN = "broken on purpose"
_LINES = 12  # that are computed ahead, the commonest
_STRETCH = 20  # computations between two looks at what the class does now
_PAUSE = 1.0  # seconds between two looks whether there is something to do


@dataclass(frozen=True)
class Line:
    """The states that a slider leads through: all like `state`, which leaves `setting` out."""

    state: State
    setting: Setting
    at: Value  # where it was asked for

    @property
    def name(self) -> str:
        return f"{self.setting.name} {self.state.model_dump_json()}"

    def states(self) -> list[State]:
        """Its states, those nearest to `at` first."""
        stops = stops_of(self.setting)
        if isinstance(self.at, (int, float)):
            gaps = [abs(float(stop) - self.at) for stop in stops]
            near = gaps.index(min(gaps))
            stops = [stops[i] for i in sorted(range(len(stops)), key=lambda i: abs(i - near))]
        return [
            self.state.model_copy(update={"knobs": {**self.state.knobs, self.setting.name: stop}})
            for stop in stops
        ]


def lines_through(state: State) -> list[Line]:
    """One line for each knob of the theorem."""
    if state.theorem not in index():
        return []
    entry = entry_of(state.theorem)
    settings = settings_of(entry)
    values = knobs_of(settings, entry["presets"].get(state.preset, {}), state.knobs)
    found = []
    for setting in settings:
        others = {name: value for name, value in state.knobs.items() if name != setting.name}
        rest = state.model_copy(update={"knobs": others})
        found.append(Line(rest, setting, values[setting.name]))
    return found


def popular_lines(asked: Sequence[State]) -> list[Line]:
    """The lines that most of these states lie on, the commonest first, each as it was last asked for."""
    lines = [line for state in asked for line in lines_through(state)]
    latest = {line.name: line for line in lines}
    counted = Counter(line.name for line in lines)
    return [latest[name] for name, _ in counted.most_common(_LINES)]


def presets_of(id: str, size: Size | None) -> list[Run]:
    """What a page asks for when a theorem is opened, and for each of its presets."""
    names: list[str | None] = [None, *index()[id]["presets"]]
    states = [
        State(theorem=id, preset=name, force=name == BROKEN, lang=language()) for name in names
    ]
    return [_run(state, size) for state in states]


def _run(state: State, size: Size | None) -> Run:
    return Run(type="run", n=0, state=state, size=size)


class Ahead:
    """Gives the worker in the background what is likely to be asked for; `theorems` in the order of the lesson."""

    def __init__(
        self, jobs: SharedJobs, background: BackgroundJobs, theorems: Sequence[str]
    ) -> None:
        self.jobs = jobs
        self.background = background
        self.theorems = theorems
        self.lines_done: set[tuple[str, Size | None]] = set()
        self.presets: dict[Size | None, Iterator[Run]] = {}  # that are left, by size

    async def work(self) -> None:
        """Compute whatever is next, without end."""
        while True:
            runs = self.next_runs()
            for run in runs:
                await self._compute(run)
            if not runs:
                await asyncio.sleep(_PAUSE)

    def next_runs(self) -> list[Run]:
        """Some requests without an answer, in the commonest size; nothing before a page was open."""
        if not self.jobs.sizes:
            return []
        size = self.jobs.sizes.most_common(1)[0][0]
        for line in popular_lines(self.jobs.asked):
            if (line.name, size) in self.lines_done:
                continue
            runs = [_run(state, size) for state in line.states()]
            missing = [run for run in runs if not self.jobs.holds(run)]
            if len(missing) <= _STRETCH:  # the last of them: what failed once is not tried again
                self.lines_done.add((line.name, size))
            if missing:
                return missing[:_STRETCH]
        return list(islice(self._presets(size), _STRETCH))

    def _presets(self, size: Size | None) -> Iterator[Run]:
        if size not in self.presets:
            self.presets[size] = (run for id in self.theorems for run in presets_of(id, size))
        return self.presets[size]

    async def _compute(self, run: Run) -> None:
        if self.jobs.holds(run):
            return
        while self.jobs.pool.waiting:  # pages wait: the processors are theirs
            await asyncio.sleep(_PAUSE)
        order: dict[str, Any] = self.jobs.job_of(run).order
        theorem = run.state.theorem
        header, body = await self.background.picture({**order, "theorem": theorem, "ahead": True})
        if header["kind"] == "done":
            self.jobs.keep(run, header, body)
