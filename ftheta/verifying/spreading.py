"""Verification on many processes or on a Dask cluster, by the workers of sweeps.

Tasks are handed out while there is room, and more may come of their results: a box that was not closed in its time is
halved. A lost worker costs the task that it was busy with, which is handed out again; one that loses its worker three
times is given up.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.certify.questions import Box, Case, Question
from ftheta.certify.searches import Verification, Witness
from ftheta.processes import interrupts
from ftheta.relu.network import ReluNetwork
from ftheta.sweeps.grid import Cell
from ftheta.sweeps.pool import Backend
from ftheta.sweeps.store import Outcome
from ftheta.sweeps.sweeping import backend_of, pack_payload
from ftheta.sweeps.trains import describe_failure

TICK = 0.1  # seconds between two looks at the clock
RETRIES = 2  # of a task whose worker died
WAIT = 60.0  # seconds for workers of a cluster that has none
FIRST_PARTS = 4  # boxes for each worker at first
FIRST_SECONDS = 5.0  # for a box before it is halved
GRACE = 10.0  # seconds after the end in which workers may say what they found


class Tasks:
    """Tasks that wait, and those that are under way; iterating yields each with its outcome, as they end."""

    def __init__(self, work: Any, on: Any, seconds: float) -> None:
        """`work.run(cells)` does tasks where they are sent; `on` says where, as in a sweep."""
        self._payload = pack_payload(work)
        self._backend: Backend
        self._backend, self._is_ours = backend_of(on, min(WAIT, max(seconds, 1.0)))
        self._ends = time.monotonic() + seconds
        self._deaths: Counter[int] = Counter()
        self.waiting = deque[tuple[int, dict[str, Any]]]()
        self.running = dict[int, tuple[int, dict[str, Any]]]()
        self._number = 0
        self._serial = 0

    @property
    def workers(self) -> int:
        return self._backend.size

    @property
    def left(self) -> float:
        return self._ends - time.monotonic()

    def add(self, settings: dict[str, Any]) -> None:
        self._number += 1
        self.waiting.append((self._number, settings))

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Outcome]]:
        """Until nothing is left, or the time is over; what is left then stays in `waiting`."""
        try:
            while (self.waiting or self.running) and self.left > -GRACE:
                while self.waiting and self._backend.room() and self.left > 0:
                    self._start(*self.waiting.popleft())
                if not self.running:
                    break
                for event in self._backend.events(TICK):
                    if event.task in self.running:
                        yield from self._hear(event)
        finally:
            self.waiting.extend(self.running.values())
            self.running.clear()

    def _start(self, number: int, settings: dict[str, Any]) -> None:
        self._serial += 1
        self.running[self._serial] = (number, settings)
        self._backend.submit(self._payload, self._serial, [Cell(settings, number)])

    def _hear(self, event: Any) -> Iterator[tuple[dict[str, Any], Outcome]]:
        number, settings = self.running[event.task]
        if event.kind == "cell":
            del self.running[event.task]
            yield settings, event.detail
        elif event.kind == "lost":
            del self.running[event.task]
            self._deaths[number] += int(event.index)
            if self._deaths[number] > RETRIES:
                yield (
                    settings,
                    Outcome(None, f"{event.detail} It did so {self._deaths[number]} times.", 0.0),
                )
            else:
                self.waiting.appendleft((number, settings))

    def close(self) -> None:
        if self._is_ours:
            self._backend.stop()


@dataclass(frozen=True, eq=False)
class PartsOfQuestion:
    """Decides parts of one question: boxes of inputs, or some of the disjuncts, of one of its cases.

    `decide(network, question, seconds=…)` answers for a part as it would for the whole. Boxes are halved where
    `halves_boxes`.
    """

    network: ReluNetwork
    question: Question
    decide: Callable[..., Verification]
    halves_boxes: bool
    name: str = "verification of parts"

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        for i, cell in enumerate(cells):
            began = time.perf_counter()
            try:
                found = self.decide_part(**cell.settings)
                yield i, Outcome({"found": found}, None, time.perf_counter() - began)
            except Exception as failure:
                yield i, Outcome(None, describe_failure(failure), time.perf_counter() - began)

    def decide_part(
        self,
        case: int,
        low: list[float],
        high: list[float],
        disjuncts: tuple[int, int],
        seconds: float,
    ) -> Verification:
        whole = self.question.cases[case]
        lo = tuple(max(a, Fraction(v)) for a, v in zip(whole.box.lo, low))
        hi = tuple(min(b, Fraction(v)) for b, v in zip(whole.box.hi, high))
        part = replace(whole, box=Box(lo, hi), unsafe=whole.unsafe[slice(*disjuncts)])
        return self.decide(self.network, replace(self.question, cases=(part,)), seconds=seconds)


def decide_on(work: PartsOfQuestion, on: Any, seconds: float) -> Verification:
    """Decide a question by many workers: boxes of inputs are shared out, and halved while they stay open.

    Networks of many inputs are not searched by their inputs: the disjuncts are shared out then.
    """
    began = time.perf_counter()
    tasks = Tasks(work, on, seconds)
    few = work.halves_boxes
    parts = [
        part
        for number, case in enumerate(work.question.cases)
        for part in _first_parts(number, case, few, tasks)
    ]
    for part in parts:
        tasks.add(part)
    cpu_seconds = 0.0
    subproblems = 0
    given_up = 0
    witness: Witness | None = None
    meaning = work.network.meaning
    interrupted = False
    try:
        for settings, outcome in tasks:
            found: Verification | None = None if outcome.result is None else outcome.result["found"]
            if found is None:
                given_up += 1
                continue
            meaning = found.meaning
            cpu_seconds += found.cpu_seconds
            subproblems += found.subproblems
            if found.answer == "sat":
                witness = found.witness
                break
            if found.answer != "unsat":
                more = _halve(settings, tasks.left) if few and found.answer == "timeout" else []
                given_up += not more
                for part in more:
                    tasks.add(part)
    except KeyboardInterrupt:
        interrupts.heed()
        interrupted = True
    finally:
        tasks.close()
    is_open = given_up + len(tasks.waiting) + interrupted
    answer = (
        "sat"
        if witness is not None
        else "unsat"
        if not is_open
        else "timeout"
        if tasks.left <= 0
        else "unknown"
    )
    method = f"{'input' if few else 'neuron'} splitting on {tasks.workers} workers"
    elapsed = time.perf_counter() - began
    return Verification(
        answer, witness, method, meaning, subproblems, is_open, elapsed, cpu_seconds, interrupted
    )


def _first_parts(number: int, case: Case, few: bool, tasks: Tasks) -> list[dict[str, Any]]:
    """A few boxes for each worker, or one disjunct at a time."""
    if case.box.is_empty or not case.unsafe:
        return []
    low, high = case.box.outer()
    every = (0, len(case.unsafe))
    if not few:
        size = max(1, len(case.unsafe) // 256)
        starts = range(0, len(case.unsafe), size)
        return [_part(number, low, high, (k, min(k + size, every[1])), tasks.left) for k in starts]
    seconds = min(FIRST_SECONDS, tasks.left)
    parts = deque([_part(number, low, high, every, seconds)])
    while len(parts) < FIRST_PARTS * tasks.workers:
        halves = _halve(parts.popleft(), tasks.left, seconds)
        if not halves:
            return [_part(number, low, high, every, seconds)]
        parts.extend(halves)
    return list(parts)


def _part(
    case: int,
    low: Sequence[float],
    high: Sequence[float],
    disjuncts: tuple[int, int],
    seconds: float,
) -> dict:
    return {
        "case": case,
        "low": list(low),
        "high": list(high),
        "disjuncts": disjuncts,
        "seconds": seconds,
    }


def _halve(
    part: Mapping[str, Any], left: float, seconds: float | None = None
) -> list[dict[str, Any]]:
    """Two boxes, across the widest side; none where it is too small to be halved."""
    low, high = np.array(part["low"]), np.array(part["high"])
    side = int(np.argmax(high - low))
    middle = float(0.5 * low[side] + 0.5 * high[side])
    if not low[side] < middle < high[side] or left <= 0:
        return []
    longer = min(part["seconds"] * 1.5 if seconds is None else seconds, left)
    below, above = high.copy(), low.copy()
    below[side] = above[side] = middle
    disjuncts = part["disjuncts"]
    return [
        _part(part["case"], low.tolist(), below.tolist(), disjuncts, longer),
        _part(part["case"], above.tolist(), high.tolist(), disjuncts, longer),
    ]


@dataclass(frozen=True, eq=False)
class Instances:
    """Decides instances of a list: a network and a property, by their files, with `ft.verify`."""

    verify: Callable[..., Verification]
    name: str = "verification of instances"

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        from ftheta.certify.vnnlib import read_query

        for i, cell in enumerate(cells):
            began = time.perf_counter()
            given = cell.settings
            try:
                query = read_query(given["property"])
                how = {"budget": given["seconds"], "threads": 1, "meaning": given["meaning"]}
                found = self.verify(given["network"], query, **how)
                result = {"found": found, "is_new": query.version[0] >= 2}
                yield i, Outcome(result, None, time.perf_counter() - began)
            except Exception as failure:
                words = getattr(failure, "what", "") or describe_failure(failure)
                yield i, Outcome(None, words, time.perf_counter() - began)
