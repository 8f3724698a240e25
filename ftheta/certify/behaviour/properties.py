"""Properties of a network beyond comparisons of its outputs, as `ft.verify` decides them."""

import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.certify.properties import inputs_between, read_rational
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Search
from ftheta.certify.verification import Answer, Verification, decide
from ftheta.logic.errors import UsageError
from ftheta.processes import interrupts
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork

from .behaviour import Behaviour
from .convex import ConvexJudge, ask_curvature, search_convex
from .monotone import MonotoneJudge, ask_slopes, sample_box, search_monotone

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork

Shown = tuple[str, Search]


class Monotone(Behaviour):
    r"""On a box, every output is non-decreasing in the inputs `increasing` and non-increasing in those `decreasing`.

    `box` is a pair `(lo, hi)`; inputs and `outputs` (all by default) are given by their numbers. A counter-example are
    two points that differ in one input.
    """

    def __init__(
        self, box: tuple[Any, Any], increasing: Any = (), decreasing: Any = (), outputs: Any = None
    ) -> None:
        self.box = read_box(box)
        self.outputs = None if outputs is None else _read_numbers(outputs, "outputs")
        up, down = _read_numbers(increasing, "increasing"), _read_numbers(decreasing, "decreasing")
        self.signs = {**dict.fromkeys(up, 1), **dict.fromkeys(down, -1)}
        both = sorted({*up} & {*down})
        if both or not self.signs:
            raise UsageError(
                "Monotone is in one input or more, each increasing or decreasing.",
                got=f"both for input {both[0]}" if both else "no input",
                remedy="for example ft.Monotone(box, increasing=[0, 2])",
            )

    def decide(
        self, net: "ReluNetwork | TracedNetwork", seconds: float, threads: int
    ) -> Verification:
        """By slopes over boxes; networks that are not piecewise affine by bounds of their derivatives."""
        self._require_fit(net)
        _require_below(self.signs, net.widths[0], "input")
        judge = MonotoneJudge(net, self.box, self.signs, _choose_outputs(self.outputs, net))
        if isinstance(net, ReluNetwork):
            return _time_search(net, judge, seconds, lambda left: search_monotone(judge, left))
        return _time_search(
            net, judge, seconds, lambda left: _search_derivatives(net, judge, left, threads)
        )


class Convex(Behaviour):
    """On a box, every output is convex, or with `concave` every output is concave.

    `box` is a pair `(lo, hi)`; `outputs` (all by default) are given by their numbers. A counter-example are three
    points, one half-way between the others.
    """

    def __init__(self, box: tuple[Any, Any], outputs: Any = None, concave: bool = False) -> None:
        self.box = read_box(box)
        self.outputs = None if outputs is None else _read_numbers(outputs, "outputs")
        self.sign = -1 if concave else 1

    def decide(
        self, net: "ReluNetwork | TracedNetwork", seconds: float, threads: int
    ) -> Verification:
        """By slopes of switching neurons and facets; smooth networks by bounds of their second derivatives."""
        self._require_fit(net)
        judge = ConvexJudge(net, self.box, _choose_outputs(self.outputs, net), self.sign)
        if isinstance(net, ReluNetwork):
            return _time_search(net, judge, seconds, lambda left: search_convex(judge, left))
        return _time_search(
            net, judge, seconds, lambda left: _search_curvature(net, judge, left, threads)
        )


def ask_close(box: Box, outputs: int, eps: Any) -> Question:
    r"""Whether some $|f_j-g_j|>\varepsilon$, for the network $x\mapsto(f(x),g(x))$ of two of so many outputs each."""
    within = read_rational(eps, "eps")
    if within < 0:
        raise UsageError("The tolerance is negative.", where="eps", got=eps, remedy="give eps ≥ 0")
    one = Fraction(1)
    unsafe = []
    for j in range(outputs):
        for sign in (one, -one):
            unsafe.append((Row({}, {j: sign, outputs + j: -sign}, -within, True),))
    return Question(len(box.lo), 2 * outputs, (Case(box, tuple(unsafe)),))


def read_box(box: Any) -> Box:
    """A box of rationals, from a pair of ends."""
    if not isinstance(box, (tuple, list)) or len(box) != 2:
        raise UsageError(
            "A box is a pair of its ends.", where="box", got=repr(box)[:60], remedy="give (lo, hi)"
        )
    ends = [np.asarray(end).ravel() if np.ndim(end) else end for end in box]
    return inputs_between(*ends).box


def _read_numbers(given: Any, what: str) -> tuple[int, ...]:
    """Numbers of inputs or outputs: one, or several."""
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    numbers = tuple(several)
    for number in numbers:
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or number < 0:
            raise UsageError(
                "Inputs and outputs are given by their numbers.",
                where=what,
                got=repr(number)[:60],
                remedy="whole numbers from 0",
            )
    return tuple(map(int, numbers))


def _require_below(numbers: Iterable[int], count: int, what: str) -> None:
    for number in numbers:
        if number >= count:
            raise UsageError(
                f"There is no {what} {number}.",
                got=f"{count} {what}s",
                remedy="they are numbered from 0",
            )


def _choose_outputs(
    asked: tuple[int, ...] | None, net: "ReluNetwork | TracedNetwork"
) -> tuple[int, ...]:
    if asked is None:
        return tuple(range(net.widths[-1]))
    _require_below(asked, net.widths[-1], "output")
    return asked


def _time_search(
    net: "ReluNetwork | TracedNetwork",
    judge: MonotoneJudge | ConvexJudge,
    seconds: float,
    search: Callable[[float], Shown],
) -> Verification:
    """What a search has shown, with the time that it took."""
    began = clock()
    began_cpu = time.process_time()
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows proves nothing
        method, found = search(seconds)
    if found.interrupted:
        interrupts.heed()
    elapsed = clock() - began
    answer: Answer = "unsat" if found.closed else "timeout" if elapsed >= seconds else "unknown"
    answer = "sat" if judge.witness is not None else answer
    if (
        answer == "unsat" and net.rounded
    ):  # the proof is about another function than the one that was read
        answer = "unknown"
    cpu_seconds = time.process_time() - began_cpu
    least = found.least if answer in ("unknown", "timeout") else -np.inf
    return Verification(
        answer,
        judge.witness,
        method,
        net.meaning,
        found.boxes,
        found.open,
        elapsed,
        cpu_seconds,
        found.interrupted,
        least,
    )


def _search_derivatives(
    net: "TracedNetwork", judge: MonotoneJudge, seconds: float, threads: int
) -> Shown:
    """Monotone, of a network that is not piecewise affine: its derivatives are bounded as outputs are."""
    from .derivatives import differentiate, is_lipschitz_on

    if judge.propose(sample_box(judge.box, np.random.default_rng(0))):
        return "slopes at random points", Search(False, None, -np.inf, 0, 1)
    if not is_lipschitz_on(net, judge.box):
        return "the program may jump, or has derivatives of its own", Search(
            False, None, -np.inf, 0, 1
        )
    slopes = differentiate(net, tuple(judge.signs))
    question = ask_slopes(judge.box, judge.signs, judge.outputs, net.widths[-1])
    found = decide(slopes, question, seconds=seconds, threads=threads)
    if found.witness is not None:
        judge.propose(np.array([[float(v) for v in found.witness.x]]))
    return f"derivatives by {found.method}", _as_search(found)


def _search_curvature(
    net: "TracedNetwork", judge: ConvexJudge, seconds: float, threads: int
) -> Shown:
    """Convex, of a smooth network: its second derivatives along all directions are bounded as outputs are."""
    from .derivatives import differentiate_twice, is_smooth_on

    size = net.widths[0]
    if judge.propose(judge.rng.uniform(judge.low, judge.high, (512, size))):
        return "chords at random points", Search(False, None, -np.inf, 0, 1)
    if not is_smooth_on(net, judge.box):
        return "the program may have kinks, or has derivatives of its own", Search(
            False, None, -np.inf, 0, 1
        )
    question = ask_curvature(judge.box, judge.outputs, net.widths[-1], judge.sign)
    found = decide(differentiate_twice(net), question, seconds=seconds, threads=threads)
    if found.witness is not None:
        point = np.array([float(v) for v in found.witness.x])
        x, v = point[None, :size], point[None, size:]
        middle = 0.5 * judge.low + 0.5 * judge.high
        for share in (0.0, 1e-6, 1e-3):  # a little inwards, so that there is room for a chord
            if judge.propose_along(x + share * (middle - x), v):
                break
    return f"second derivatives by {found.method}", _as_search(found)


def _as_search(found: Verification) -> Search:
    closed = found.answer == "unsat"
    return Search(
        closed,
        None,
        found.least,
        found.subproblems,
        0 if closed else max(found.open, 1),
        found.interrupted,
    )
