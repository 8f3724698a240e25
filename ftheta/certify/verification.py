r"""Decide a question about a network: a counter-example checked exactly, or a proof that there is none.

What a proof is about: the real function with the stored weights. Sums and products are those of real numbers; all
bounds are rounded outward. A counter-example is a rational point whose output is computed in rationals.

Networks of few inputs, or of one layer of ReLUs, are searched by splitting boxes (`boxes/`), wider ones by fixing the
signs of neurons (`neurons/`).
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.lazy import is_sparse
from ftheta.logic.errors import SubjectError
from ftheta.processes import interrupts
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork, Step

from .attacks import attack
from .boxes import InputSearch
from .deviations import FLOAT_TYPES, FloatType, require_weights
from .floating import (
    FloatJudge,
    cover_readings,
    describe,
    list_readings,
    search_in_floats,
    split_disjuncts,
)
from .judging import Judge
from .neurons.bounding import bound_excess
from .neurons.inputs import Inputs
from .neurons.search import search_neurons
from .pruning import MANY, split_case
from .questions import Case, Question
from .repairing import relax_equations
from .searches import Answer, Search, Verification, Witness
from .sequential_programs import attack_by_programs, needs_solver
from .simplifying import drop_cancelled_outputs

if TYPE_CHECKING:
    from .programs.judging import EnclosingJudge
    from .programs.network import TracedNetwork


MOST_BISECTED_INPUTS = 16  # up to so many, boxes of inputs are bisected
SHALLOW_INPUTS = 100  # up to so many, they are if there is one layer of ReLUs: its neurons are bounded again and again
GLANCE = 0.05  # seconds for boxes before the first attack
LOOKS = (0.1, 0.2, 0.5)  # before each of the next attacks
ATTACK = 0.1  # of the time for an attack
# seconds of the processor for attacks by linear programs, which find what they find at once: where these are small,
# and where they are handed to a solver
BRIEF_PROGRAMS = 0.05
SMALL_PROGRAMS = 0.1
PROGRAMS = 0.5
ROUNDS = 2  # of the attack from many starts: the boxes themselves are attacked too
TINIEST = 1e-300  # of weights that are rounded to float64 by one part in 2⁵³
MOST_ENCLOSED = 64  # open parts that are bounded one by one when the time is over


def decide(
    net: "ReluNetwork | TracedNetwork",
    question: Question,
    *,
    seconds: float = 60.0,
    threads: int = 1,
) -> Verification:
    """Answer a question about a network within so many seconds."""
    began = clock()
    began_cpu = time.process_time()
    _ensure_fit(net, question)
    subproblems = 0
    open = 0
    methods: dict[str, None] = {}
    witness = None
    interrupted = False
    least = -math.inf if net.rounded else 0.0
    try:
        parts = _parts(net, question)
        for case in parts:
            remaining = began + seconds - clock()
            if remaining <= 0:
                open += 1
                least = -math.inf
                break
            judge, (method, search) = _search_case(net, case, remaining, threads)
            methods[method] = None
            subproblems += search.boxes
            open += search.open
            least = min(least, search.least)
            witness = judge.witness
            if search.interrupted:
                interrupts.heed()
                interrupted = True
                open += 1
                # others were not looked at
                least = -math.inf if next(parts, None) is not None else least
            if witness is not None or interrupted:
                break
    except KeyboardInterrupt:
        interrupts.heed()
        interrupted = True
        open += 1
        least = -math.inf
    elapsed = clock() - began
    answer = _conclude(witness, open, elapsed >= seconds)
    if (
        answer == "unsat" and net.rounded
    ):  # the proof is about another function than the one that was read
        answer = "unknown"
    return Verification(
        answer,
        witness,
        " and ".join(methods) or _describe_no_search(question),
        net.meaning,
        subproblems,
        open,
        elapsed,
        time.process_time() - began_cpu,
        interrupted,
        least if answer in ("unknown", "timeout") else -math.inf,
    )


def _conclude(witness: Witness | None, open: int, out_of_time: bool) -> Answer:
    """What a counter-example, or the number of subproblems that are left open, says."""
    if witness is not None:
        return "sat"
    if open == 0:
        return "unsat"
    return "timeout" if out_of_time else "unknown"


def _describe_no_search(question: Question) -> str:
    """Why a question was answered without a search."""
    return (
        "the set of inputs is empty"
        if all(case.box.is_empty for case in question.cases)
        else "bounds"
    )


def decide_in_floats(
    net: "ReluNetwork | TracedNetwork",
    question: Question,
    element_type: str,
    *,
    rounds_constants: bool,
    seconds: float = 60.0,
    threads: int = 1,
) -> Verification:
    """Answer a question about what a program of type `float32` or `float64` computes, in any order of summation.

    The steps of a chain are those of the program; any other network is the program. With `rounds_constants`, the
    constants of the question may be read as they are written or as the nearest numbers of the type: an answer holds for
    both.
    """
    began = clock()
    began_cpu = time.process_time()
    _ensure_fit(net, question)
    kind = FLOAT_TYPES[element_type]
    few = _prepare_floats(net, kind)
    subproblems = 0
    open = 0
    witness = None

    def search(net: Any, case: Case, judge: FloatJudge, seconds: float) -> tuple[str, Search]:
        if isinstance(net, ReluNetwork):
            method, found = _search(net, case, judge, seconds, threads)
        else:
            from .programs.search import search_program

            method, found = search_program(net, case, seconds=seconds, propose=judge.propose)
        if found.interrupted:
            raise KeyboardInterrupt
        return method, found

    cases = [case for case in question.cases if case.unsafe]
    interrupted = False
    try:
        for part in (part for case in cases for part in split_disjuncts(case, MANY)):
            left = began + seconds - clock()
            wide = cover_readings(part, kind) if rounds_constants else part
            if wide.box.is_empty:
                continue
            if left <= 0:
                open += 1
                break
            written = list_readings(part, kind) if rounds_constants else (part,)
            witness, looked_at, left_open = search_in_floats(
                net, wide, written, kind, search, left, few
            )
            subproblems += looked_at
            open += left_open
            if witness is not None:
                break
    except KeyboardInterrupt:
        interrupts.heed()
        interrupted = True
        open += 1
    elapsed = clock() - began
    answer = _conclude(witness, open, elapsed >= seconds)
    method = (
        "input splitting"
        if few
        else "neuron splitting"
        if isinstance(net, ReluNetwork)
        else "range splitting"
    )
    cpu_seconds = time.process_time() - began_cpu
    meaning = describe(kind)
    return Verification(
        answer, witness, method, meaning, subproblems, open, elapsed, cpu_seconds, interrupted
    )


def _prepare_floats(net: "ReluNetwork | TracedNetwork", kind: FloatType) -> bool:
    """Raise unless the weights are numbers of the type; whether boxes of inputs are few enough to be halved."""
    if isinstance(net, ReluNetwork):
        require_weights(net, kind)
        return _splits_inputs(net)
    from .program_deviations import require_constants
    from .programs.search import MOST_BISECTED_INPUTS_OF_PROGRAM

    require_constants(net.program, kind)
    return net.widths[0] <= MOST_BISECTED_INPUTS_OF_PROGRAM


def _parts(net: "ReluNetwork | TracedNetwork", question: Question) -> Iterator[Case]:
    """The cases that have to be searched, in parts of not too many disjuncts."""
    for case in question.cases:
        if case.box.is_empty or not case.unsafe:
            continue
        if not isinstance(net, ReluNetwork):
            yield case
            continue
        for part in split_case(net, case):
            simpler = drop_cancelled_outputs(net, part)
            if simpler.unsafe:
                yield simpler


def _search_case(
    net: "ReluNetwork | TracedNetwork", case: Case, seconds: float, threads: int
) -> "tuple[Judge | EnclosingJudge, tuple[str, Search]]":
    if isinstance(net, ReluNetwork):
        judge = Judge(net, case)
        return judge, _search(net, case, judge, seconds, threads)
    from .programs.judging import EnclosingJudge
    from .programs.search import search_program

    judge = EnclosingJudge(net, case)
    return judge, search_program(net, case, seconds=seconds, propose=judge.propose)


def _search(
    net: ReluNetwork, case: Case, judge: Judge | FloatJudge, seconds: float, threads: int
) -> tuple[str, Search]:
    """From cheap to dear. Few inputs: some boxes, an attack, then all boxes; else `search_neurons` does likewise."""
    if any(not rows for rows in case.unsafe):  # met by every input of the box
        centre = np.array([float((a + b) / 2) for a, b in zip(case.box.lo, case.box.hi)])
        judge.propose(centre)
        return "one point", Search(False, centre, -np.inf, 1, 0 if judge.witness else 1)
    began = clock()
    relaxed = relax_equations(case)
    if relaxed is not None:  # no point meets an equation by chance: such that almost do are moved
        attack(
            net, relaxed, np.random.default_rng(0), ATTACK * seconds, judge.propose, rounds=ROUNDS
        )
        if judge.witness is not None:
            return "attack", Search(False, None, -np.inf, 1, 1)
        seconds -= clock() - began
    if not _splits_inputs(net):
        search = search_neurons(
            net, case, seconds=seconds, propose=judge.propose, finish=judge.finish, threads=threads
        )
        return "neuron splitting", search
    return _search_inputs(net, case, judge, seconds, threads)


def _search_inputs(
    net: ReluNetwork, case: Case, judge: Judge | FloatJudge, seconds: float, threads: int
) -> tuple[str, Search]:
    """Boxes with attacks in between; what Ctrl-C leaves open is bounded like what is open in the end."""
    boxes = InputSearch(net, case, judge.propose, judge.finish)
    try:
        method, search = _search_boxes(net, case, judge, boxes, seconds, threads)
    except KeyboardInterrupt:
        interrupts.heed()
        method, search = "input splitting", boxes.stop()
    if not search.closed and search.found is None and judge.witness is None:
        search = replace(search, least=_bound_open(net, case, boxes))
    return method, search


def _search_boxes(
    net: ReluNetwork,
    case: Case,
    judge: Judge | FloatJudge,
    boxes: InputSearch,
    seconds: float,
    threads: int,
) -> tuple[str, Search]:
    """Boxes, with attacks in between: from the centre, by a few linear programs, from many starts, by many programs."""
    ends = clock() + seconds
    search = boxes.go_on(min(GLANCE, seconds))
    rng = np.random.default_rng(0)
    brief, long = (0.0, PROGRAMS) if needs_solver(case) else (BRIEF_PROGRAMS, SMALL_PROGRAMS)
    strikes: tuple[tuple[Callable[[float], np.ndarray | None], float], ...] = (
        (lambda most: attack(net, case, rng, most, judge.propose, rounds=1), LOOKS[0]),
        (lambda most: _attack_by_programs(net, case, most, judge, brief), LOOKS[1]),
        (
            lambda most: attack(
                net, case, rng, most, judge.propose, rounds=ROUNDS, from_centre=False
            ),
            LOOKS[2],
        ),
        (lambda most: _attack_by_programs(net, case, most, judge, long), seconds),
    )
    for strike, patience in strikes:
        if search.closed or search.found is not None or judge.witness is not None:
            break
        point = strike(ATTACK * (ends - clock()))
        if point is not None or judge.witness is not None:
            return "attack", Search(False, None, -np.inf, search.boxes, search.open)
        search = boxes.go_on(min(patience, ends - clock()), threads)
    return "input splitting", search


def _bound_open(net: ReluNetwork, case: Case, boxes: InputSearch) -> float:
    """A lower bound of the excess over what is open: part by part where these are few, else over the box around all."""
    parts = boxes.list_open()
    if len(parts) > MOST_ENCLOSED:
        lows, highs = (np.array(ends) for ends in zip(*parts))
        parts = [(lows.min(0), highs.max(0))]
    ball = Inputs.around(case).ball
    return min(
        (bound_excess(net, case, Inputs(lo, hi, ball)) for lo, hi in parts), default=-math.inf
    )


def _attack_by_programs(
    net: ReluNetwork, case: Case, seconds: float, judge: Judge | FloatJudge, work: float
) -> np.ndarray | None:
    if work == 0 or all(len(rows) == 1 for rows in case.unsafe):
        return None
    if needs_solver(case):
        import_module("scipy.optimize")  # it takes a while, and not the time of the attack
    return attack_by_programs(
        net, case, np.random.default_rng(0), seconds, judge.propose, work=work
    )


def _splits_inputs(net: ReluNetwork) -> bool:
    """Whether parts of the box of inputs are searched (`boxes/`), or domains of neurons (`neurons/`)."""
    is_shallow = sum(bool(step.rectified.any()) for step in net.steps) <= 1
    return net.widths[0] <= (SHALLOW_INPUTS if is_shallow else MOST_BISECTED_INPUTS)


def _ensure_fit(net: "ReluNetwork | TracedNetwork", question: Question) -> None:
    if (net.widths[0], net.widths[-1]) != (question.inputs, question.outputs):
        raise SubjectError(
            "The question is about another network.",
            got=f"{question.inputs} inputs and {question.outputs} outputs",
            remedy=f"the network has {net.widths[0]} inputs and {net.widths[-1]} outputs",
        )
    if isinstance(net, ReluNetwork) and any(map(_has_tiny_long_weights, net.steps)):
        raise SubjectError(
            "The weights of this network are rationals that float64 cannot hold, and some are tiny.",
            remedy="round them first (ftheta.relu.round_weights): then the answer is about the rounded network",
        )


def _has_tiny_long_weights(step: Step) -> bool:
    """Whether rows that float64 cannot hold have weights so small that rounding them is no relative error."""
    for r in step.long_rows:
        row = step.matrix[[r]]
        sizes = np.abs(np.append(row.data if is_sparse(row) else row[row != 0], step.offset[r]))
        if (sizes[sizes > 0] < TINIEST).any():
            return True
    return False
