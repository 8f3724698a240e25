"""Verification of networks of any operators, against ball arithmetic: small programs of smooth activations, products,
residuals, softmax and quotients, with thresholds beside their least values.

The least value of an output over a box is known by other means: branch and bound with plain ball arithmetic of 128
bits, on an evaluator of its own. Whatever is below the proved bound must not be refuted, whatever is above the value at
a point must not be proved, and a counter-example is evaluated again in balls.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.programs.ranges import RangeSearch
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Witness
from ftheta.certify.verification import decide
from ftheta.subjects import Network

from . import Trial

BITS = 128
SECONDS = 0.5  # for one question: not to be decided in time is no wrong answer
POOL = 64  # programs of one kind: each is compiled once and asked about many boxes
BALLS = 300  # boxes that the reference looks at
ONE = Fraction(1)

# ---- programs, in JAX and in balls -----------------------------------------------------------------------------------

Vector = list[Any]
ACTIVATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (jnp.tanh, lambda v: v.tanh()),
    "sigmoid": (jax.nn.sigmoid, lambda v: 1 / (1 + (-v).exp())),
    "sine": (jnp.sin, lambda v: v.sin()),
    "cosine": (jnp.cos, lambda v: v.cos()),
    "bump": (lambda x: jnp.exp(-jnp.square(x)), lambda v: (-v * v).exp()),
    "square": (jnp.square, lambda v: v * v),
    "cube": (lambda x: x**3, lambda v: v**3),
    "relu": (jax.nn.relu, lambda v: v.max(arb(0))),
    "silu": (jax.nn.silu, lambda v: v / (1 + (-v).exp())),
    "softplus": (jax.nn.softplus, lambda v: (1 + v.exp()).log()),
    "arctangent": (jnp.arctan, lambda v: v.atan()),
    "absolute value": (jnp.abs, abs),
}


@dataclass(frozen=True, eq=False)
class Stage:
    """One operation on a vector: `kind`, with the matrices and offsets that it has, and the name of an activation."""

    kind: str
    weights: tuple[np.ndarray, ...] = ()
    activation: str = ""

    def in_jax(self, h: Any) -> Any:
        w = self.weights
        if self.kind == "dense":
            return ACTIVATIONS[self.activation][0](w[0] @ h + w[1])
        if self.kind == "residual":
            return h + ACTIVATIONS[self.activation][0](w[0] @ h + w[1])
        if self.kind == "gate":
            return jax.nn.sigmoid(w[0] @ h + w[1]) * (w[2] @ h + w[3])
        if self.kind == "softmax":
            return jax.nn.softmax(h)
        if self.kind == "quotient":
            return h / (2 + jnp.cos(h))
        if self.kind == "normalised":
            return h / jnp.sqrt(1 + jnp.mean(jnp.square(h)))
        if self.kind == "maximum":
            return jnp.maximum(h, h[::-1])
        return w[0] @ h + w[1]

    def in_balls(self, h: Vector) -> Vector:
        w = self.weights
        if self.kind == "dense":
            return [ACTIVATIONS[self.activation][1](v) for v in _affine(w[0], w[1], h)]
        if self.kind == "residual":
            moved = [ACTIVATIONS[self.activation][1](v) for v in _affine(w[0], w[1], h)]
            return [u + v for u, v in zip(h, moved)]
        if self.kind == "gate":
            gates = [1 / (1 + (-v).exp()) for v in _affine(w[0], w[1], h)]
            return [g * v for g, v in zip(gates, _affine(w[2], w[3], h))]
        if self.kind == "softmax":
            return [1 / sum(((u - v).exp() for u in h), arb(0)) for v in h]
        if self.kind == "quotient":
            return [v / (2 + v.cos()) for v in h]
        if self.kind == "normalised":
            size = (1 + sum((v * v for v in h), arb(0)) / len(h)).sqrt()
            return [v / size for v in h]
        if self.kind == "maximum":
            return [u.max(v) for u, v in zip(h, reversed(h))]
        return _affine(w[0], w[1], h)


def _affine(W: np.ndarray, b: np.ndarray, h: Vector) -> Vector:
    return [
        sum((arb(float(w)) * v for w, v in zip(row, h) if w), arb(float(c))) for row, c in zip(W, b)
    ]


def _draw(rng: np.random.Generator, *shape: int, grid: int = 8) -> np.ndarray:
    """Numbers on a grid between −1.5 and 1.5."""
    return rng.integers(-3 * grid // 2, 3 * grid // 2 + 1, shape) / grid


def _draw_stages(rng: np.random.Generator, width: int) -> list[Stage]:
    """One to three operations on vectors of that width."""
    stages = []
    for _ in range(int(rng.integers(1, 4))):
        kind = str(
            rng.choice(
                [
                    "dense",
                    "dense",
                    "residual",
                    "gate",
                    "softmax",
                    "quotient",
                    "normalised",
                    "maximum",
                ]
            )
        )
        activation = str(rng.choice(list(ACTIVATIONS))) if kind in ("dense", "residual") else ""
        sizes = {"dense": 1, "residual": 1, "gate": 2}.get(kind, 0)
        weights = tuple(
            part for _ in range(sizes) for part in (_draw(rng, width, width), _draw(rng, width))
        )
        stages.append(Stage(kind, weights, activation))
    return stages


@dataclass(frozen=True, eq=False)
class Program:
    """Stages one after another, from `inputs` numbers to two outputs; `along` is the row a, if all of it depends on
    ⟨a, x⟩ alone."""

    inputs: int
    stages: tuple[Stage, ...]
    along: np.ndarray | None = None

    def in_balls(self, x: Vector) -> Vector:
        for stage in self.stages:
            x = stage.in_balls(x)
        return x

    def traced(self) -> TracedNetwork:
        def f(x: Any) -> Any:
            for stage in self.stages:
                x = stage.in_jax(x)
            return x

        return TracedNetwork(Network.of(f, example=(self.inputs,)))


@lru_cache(maxsize=POOL)
def _program(kind: str, number: int) -> tuple[Program, TracedNetwork]:
    rng = np.random.default_rng([len(kind), number])
    width = int(rng.integers(2, 4))
    stages = _draw_stages(rng, width)
    last = Stage("affine", (_draw(rng, 2, width), _draw(rng, 2)))
    along = None
    if kind == "one linear form":
        inputs = int(rng.integers(1, 6))
        along = _draw(rng, inputs)
        along[int(rng.integers(inputs))] = 1.0
        first = np.outer(rng.choice([-1.0, -0.5, 0.5, 1.0], width), along)
    else:
        inputs = int(rng.integers(1, 3))
        first = _draw(rng, width, inputs)
    entry = Stage("affine", (first, _draw(rng, width)))
    program = Program(inputs, (entry, *stages, last), along)
    return program, program.traced()


# ---- the least value, in balls ---------------------------------------------------------------------------------------


def _bound_least(
    f: Callable[[Vector], Any], lo: Sequence[float], hi: Sequence[float]
) -> tuple[Fraction, Fraction]:
    """A number below the least value of f over a box, and one that it does not exceed: the value at a point."""
    best = _upper(f([arb(a) / 2 + arb(b) / 2 for a, b in zip(lo, hi)]))
    heap = [(_lower_of(f, lo, hi), 0, tuple(lo), tuple(hi))]
    for count in range(1, BALLS):
        lower, _, a, b = heap[0]
        if lower >= float(best) - 1e-7:
            break
        heapq.heappop(heap)
        side = int(np.argmax(np.subtract(b, a)))
        middle = a[side] / 2 + b[side] / 2
        if not a[side] < middle < b[side]:
            heapq.heappush(heap, (lower, -count, a, b))
            break
        for k, (low, high) in enumerate(((a[side], middle), (middle, b[side]))):
            left, right = (*a[:side], low, *a[side + 1 :]), (*b[:side], high, *b[side + 1 :])
            heapq.heappush(heap, (_lower_of(f, left, right), 2 * count + k, left, right))
            best = min(best, _upper(f([arb(u) / 2 + arb(v) / 2 for u, v in zip(left, right)])))
    return Fraction(heap[0][0]) if np.isfinite(heap[0][0]) else Fraction(-(10**30)), best


def _lower_of(f: Callable[[Vector], Any], lo: Sequence[float], hi: Sequence[float]) -> float:
    """A float below f over a box."""
    found = f([arb(a).union(arb(b)) for a, b in zip(lo, hi)])
    return float(np.nextafter(float(found.lower()), -np.inf)) if found.is_finite() else -np.inf


def _upper(ball: Any) -> Fraction:
    """A rational above a ball."""
    return (
        Fraction(float(np.nextafter(float(ball.upper()), np.inf)))
        if ball.is_finite()
        else Fraction(10**30)
    )


def _exact_ball(value: Fraction) -> Any:
    return arb(value.numerator) / arb(value.denominator)


# ---- cases -----------------------------------------------------------------------------------------------------------


def _draw_box(rng: np.random.Generator, inputs: int) -> tuple[list[float], list[float]]:
    centre = rng.integers(-8, 9, inputs) / 8
    half = rng.choice([1 / 64, 1 / 8, 0.5, 1.0], inputs)
    return (centre - half).tolist(), (centre + half).tolist()


def _least(
    program: Program, output: int, sign: int, lo: list[float], hi: list[float]
) -> tuple[Fraction, Fraction]:
    """Bounds of the least value of ± an output. In one variable where the program depends on a linear form alone."""
    if program.along is None:
        return _bound_least(lambda x: sign * program.in_balls(x)[output], lo, hi)
    a = program.along
    # on a grid: no rounding
    ends = [np.minimum(a * lo, a * hi).sum(), np.maximum(a * lo, a * hi).sum()]
    entry = program.stages[0]
    place = int(np.flatnonzero(a)[0])
    factors = entry.weights[0][:, place] / a[place]
    start = Stage("affine", (factors[:, None], entry.weights[1]))
    short = Program(1, (start, *program.stages[1:]))
    return _bound_least(lambda t: sign * short.in_balls(t)[output], [ends[0]], [ends[1]])


def _fault_of_witness(program: Program, case: Case, witness: Witness) -> str | None:
    """What is wrong with a counter-example, evaluated again in balls."""
    if not case.box.contains(witness.x):
        return f"{witness.x} is outside of the box"
    y = program.in_balls([_exact_ball(v) for v in witness.x])
    for value, told in zip(y, witness.y):
        if not abs(value - _exact_ball(told)).lower() <= float(witness.within) + 1e-25:
            return f"the output at {witness.x} is {value}, not {float(told)}"
    for rows in case.unsafe:
        excess = [
            sum((_exact_ball(q) * y[j] for j, q in row.outputs.items()), arb(0))
            - _exact_ball(row.bound)
            for row in rows
        ]
        if all(part <= 0 for part in excess):
            return None
    return f"{witness.x} meets no disjunct"


def _attempt(rng: np.random.Generator, kind: str, by_ranges: bool) -> str | None:
    with ctx.workprec(BITS):
        program, net = _program(kind, int(rng.integers(POOL)))
        lo, hi = _draw_box(rng, program.inputs)
        output, sign = int(rng.integers(2)), int(rng.choice([-1, 1]))
        below, above = _least(program, output, sign, lo, hi)
        step = Fraction(1, 2 ** int(rng.integers(4, 24)))
        truth = str(rng.choice(["sat", "unsat"]))
        bound = above + step if truth == "sat" else below - step
        row = Row({}, {output: Fraction(sign)}, bound, bool(rng.integers(2)))
        never = Row({}, {0: ONE, 1: ONE}, Fraction(10**40))  # met by every output
        rows = (row, never) if rng.integers(2) else (row,)
        case = Case(Box(tuple(map(Fraction, lo)), tuple(map(Fraction, hi))), (rows,))
        said, witness = _ask_ranges(net, case) if by_ranges else _ask(net, case)
        if said in ("sat", "unsat") and said != truth:
            asked = f"{kind} {net.widths}, [{lo}, {hi}], output {output}, {float(step):.3g} beside"
            return f"{asked}: said {said}, is {truth}"
        return None if witness is None else _fault_of_witness(program, case, witness)


def _ask(net: TracedNetwork, case: Case) -> tuple[str, Witness | None]:
    found = decide(net, Question(*net.widths, (case,)), seconds=SECONDS)
    return found.answer, found.witness


def _ask_ranges(net: TracedNetwork, case: Case) -> tuple[str, Witness | None]:
    judge = EnclosingJudge(net, case)
    found = RangeSearch(net, case, SECONDS, judge.propose).run()
    return (
        "sat" if judge.witness is not None else "unsat" if found.closed else "unknown",
        judge.witness,
    )


def attempt_boxes(rng: np.random.Generator) -> str | None:
    """One or two inputs, boxes of which are halved."""
    return _attempt(rng, "of one or two inputs", by_ranges=False)


def attempt_forms(rng: np.random.Generator) -> str | None:
    """Functions of one linear form in up to five inputs: the least value is known closely."""
    return _attempt(rng, "one linear form", by_ranges=False)


def attempt_ranges(rng: np.random.Generator) -> str | None:
    """The same programs, by halving ranges of numbers inside."""
    return _attempt(
        rng, str(rng.choice(["of one or two inputs", "one linear form"])), by_ranges=True
    )


TRIALS = (
    Trial(
        "programs: boxes of inputs", "another answer than ball arithmetic's", attempt_boxes, few=10
    ),
    Trial(
        "programs: one linear form", "a wrong answer beside the least value", attempt_forms, few=10
    ),
    Trial(
        "programs: ranges inside", "another answer than ball arithmetic's", attempt_ranges, few=15
    ),
)
