r"""Decide a question about a network: a counter-example checked exactly, or a proof that there is none.

What a proof is about: the real function with the stored weights. Sums and products are those of real numbers; all
bounds are rounded outward. A counter-example is a rational point whose output is computed in rationals.

Networks of few inputs are searched by bisecting boxes (`boxes/`), wider ones by fixing the signs of neurons
(`neurons/`).
"""

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.relu.exact import ExactNetwork, exact
from ftheta.relu.network import ReluNetwork

from .boxes import search_inputs
from .questions import Case, Question
from .searches import Search

Answer = Literal["sat", "unsat", "unknown", "timeout"]


@dataclass(frozen=True)
class Witness:
    """A counter-example: an input and the output of the network there, both exact."""

    x: tuple[Fraction, ...]
    y: tuple[Fraction, ...]


@dataclass(frozen=True)
class Verification:
    """The answer to a question, and how it was come by.

    `answer` is "sat" with a `witness`, "unsat" where it is proved that there is none, "timeout" or "unknown" where
    neither was shown within the budget. `meaning` is the function that the answer is about.
    """

    answer: Answer
    witness: Witness | None
    method: str
    meaning: str
    looked_at: int
    left: int
    seconds: float
    cpu_seconds: float

    @property
    def holds(self) -> bool | None:
        """Whether the property holds; None where that was not decided."""
        return {"unsat": True, "sat": False}.get(self.answer)


class Judge:
    """Decides whether points are counter-examples, in rationals; keeps the first one."""

    def __init__(self, net: ReluNetwork, case: Case) -> None:
        self._net = net
        self._exact: ExactNetwork | None = None
        self._case = case
        self.witness: Witness | None = None

    def propose(self, point: np.ndarray) -> bool:
        """Whether the point, moved into the box by what rounding took it out, is a counter-example."""
        if not np.isfinite(point).all():
            return False
        box = self._case.box
        x = tuple(min(max(Fraction(float(v)), a), b) for v, a, b in zip(point, box.lo, box.hi))
        self._exact = exact(self._net) if self._exact is None else self._exact
        y = self._exact(x)
        if self._case.admits(x, y):
            self.witness = Witness(x, y)
        return self.witness is not None


def decide(net: ReluNetwork, question: Question, *, seconds: float = 60.0, threads: int = 1) -> Verification:
    """Answer a question about a ReLU network within so many seconds."""
    began = time.perf_counter()
    began_cpu = time.process_time()
    _ensure_fit(net, question)
    looked_at = 0
    left = 0
    methods: dict[str, None] = {}
    witness = None
    for position, case in enumerate(question.cases):
        remaining = began + seconds - time.perf_counter()
        if remaining <= 0:
            left += len(question.cases) - position
            break
        if case.box.is_empty or not case.unsafe:
            continue
        judge = Judge(net, case)
        method, search = _search(net, case, judge, remaining, threads)
        methods[method] = None
        looked_at += search.looked_at
        left += search.left
        witness = judge.witness
        if witness is not None:
            break
    answer: Answer = "sat" if witness is not None else "unsat" if left == 0 else "unknown"
    elapsed = time.perf_counter() - began
    if answer == "unknown" and elapsed >= seconds:
        answer = "timeout"
    if answer == "unsat" and net.rounded:  # the proof is about another function than the one that was read
        answer = "unknown"
    return Verification(
        answer,
        witness,
        " and ".join(methods) or "nothing to search",
        net.meaning,
        looked_at,
        left,
        elapsed,
        time.process_time() - began_cpu,
    )


def _search(net: ReluNetwork, case: Case, judge: Judge, seconds: float, threads: int) -> tuple[str, Search]:
    if any(not rows for rows in case.unsafe):
        centre = np.array([float((a + b) / 2) for a, b in zip(case.box.lo, case.box.hi)])
        judge.propose(centre)
        return "one point", Search(False, centre, 1, 0)
    return "input splitting", search_inputs(net, case, seconds=seconds, propose=judge.propose, threads=threads)


def _ensure_fit(net: ReluNetwork, question: Question) -> None:
    if (net.widths[0], net.widths[-1]) != (question.inputs, question.outputs):
        raise SubjectError(
            "The question is about another network.",
            got=f"{question.inputs} inputs and {question.outputs} outputs",
            remedy=f"the network has {net.widths[0]} inputs and {net.widths[-1]} outputs",
        )
    if net.is_long:
        raise SubjectError(
            "The weights of this network are rationals that float64 cannot hold.",
            remedy="round them first (ftheta.relu.round_weights): then the answer is about the rounded network",
        )
