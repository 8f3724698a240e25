"""Monotone, convex, ranges and simplified networks, against functions of one linear form whose slopes are known."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.certify.behaviour.properties import Convex, Monotone
from ftheta.certify.behaviour.ranges import maximise
from ftheta.certify.behaviour.witnesses import WitnessPoints
from ftheta.certify.questions import Box, round_down, round_up
from ftheta.logic.errors import FthetaError
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from ftheta.stability.simplification import simplify

from . import Trial
from .verification import BIG, _add_zeros, _draw, _draw_ridge

SECONDS = 0.5  # for one question: not to be decided in time is no wrong answer
INPUTS = (1, 2, 3, 4, 6, 18)  # pieces, boxes of inputs, signs of neurons
POWERS = (0, 0, 40, 300, 500)  # of two, by which layers may be scaled
POINTS = 12


def _rescale(rng: np.random.Generator, net: ReluNetwork, box: Box) -> tuple[ReluNetwork, Box]:
    """Every state times a power of two: no digit changes, but some numbers are huge and some are tiny."""
    most = int(rng.choice(POWERS))
    powers = rng.integers(-most, most + 1, len(net.steps) + 1)
    weights = [
        np.ldexp(step.dense(), int(b - a)) for step, a, b in zip(net.steps, powers, powers[1:])
    ]
    offsets = [np.ldexp(step.offset, int(b)) for step, b in zip(net.steps, powers[1:])]
    by = Fraction(2) ** int(powers[0])
    scaled = Box(tuple(by * v for v in box.lo), tuple(by * v for v in box.hi))
    return ReluNetwork.dense(weights, offsets), scaled


def _draw_case(rng: np.random.Generator) -> tuple[ReluNetwork, Box, np.ndarray, list[Any]]:
    r"""A network $g(\langle a,x\rangle)$, a box, $a$, and the corners $(t,g(t))$ of the graph of $g$ there."""
    constants = float(rng.choice([0.0, 0.0, BIG]))
    drawn, inside, _ = _draw_ridge(rng, int(rng.choice(INPUTS)), constants)
    net, box = _rescale(rng, drawn, inside)
    first = net.steps[0].dense()
    a = first[0]
    j = int(np.abs(a).argmax())
    along = ReluNetwork.dense(
        [first[:, [j]] / a[j], *(step.dense() for step in net.steps[1:])],
        [step.offset for step in net.steps],
    )
    slopes = [Fraction(float(v)) for v in a]
    ends = [
        sum((choose(p * x, p * y) for p, x, y in zip(slopes, box.lo, box.hi)), Fraction(0))
        for choose in (min, max)
    ]
    marks = sorted(set(ends))
    for depth in range(len(along.steps) - 1):
        marks = _add_zeros(along, marks, depth)
    in_rationals = exact(along)
    return net, box, a, [(t, in_rationals([t])[0]) for t in marks]


def _slopes(corners: list[Any]) -> list[Fraction]:
    return [(z - y) / (t - s) for (s, y), (t, z) in itertools.pairwise(corners)]


def _read_box(box: Box) -> tuple[list[Fraction], list[Fraction]]:
    return list(box.lo), list(box.hi)


def _fault(says: str, found: Any, is_true: bool, net: ReluNetwork) -> str | None:
    if (found.answer == "unsat" and not is_true) or (found.answer == "sat" and is_true):
        return f"{says} of {net.widths}: said {found.answer} by {found.method}"
    if found.answer == "sat":
        witness = found.witness
        assert isinstance(witness, WitnessPoints)
        if any(exact(net)(x) != y for x, y in zip(witness.points, witness.values)):
            return f"{says} of {net.widths}: other values at {witness.points}"
    return None


def attempt_monotone(rng: np.random.Generator) -> str | None:
    """The sign of every slope of g times every entry of a."""
    net, box, a, corners = _draw_case(rng)
    entries = rng.permutation(len(a))[: int(rng.integers(1, 3))]
    signs = {int(i): int(rng.choice([-1, 1])) for i in entries}
    slopes = _slopes(corners)
    is_true = all(
        sign * Fraction(float(a[i])) * slope >= 0 for i, sign in signs.items() for slope in slopes
    )
    up = [i for i, sign in signs.items() if sign > 0]
    asked = Monotone(_read_box(box), up, [i for i in signs if i not in up])
    return _fault(f"monotone {signs}", asked.decide(net, SECONDS, 1), is_true, net)


def attempt_convex(rng: np.random.Generator) -> str | None:
    """Slopes of g that grow, or fall."""
    net, box, _, corners = _draw_case(rng)
    slopes = _slopes(corners)
    concave = bool(rng.integers(2))
    pairs = list(itertools.pairwise(slopes))
    is_true = all(s >= t if concave else s <= t for s, t in pairs)
    asked = Convex(_read_box(box), concave=concave)
    says = "concave" if concave else "convex"
    return _fault(says, asked.decide(net, SECONDS, 1), is_true, net)


def attempt_range(rng: np.random.Generator) -> str | None:
    """The least and the greatest value at the corners of g."""
    net, box, _, corners = _draw_case(rng)
    sign = int(rng.choice([-1, 1]))
    found = maximise(net, np.array([float(sign)]), box, seconds=SECONDS / 5, tolerance=1e-3)
    greatest = max(sign * y for _, y in corners)
    if found.bound is not None and found.bound < greatest:
        return f"{net.widths}: at most {float(found.bound)!r}, and {float(greatest)!r} is attained"
    if found.attained > greatest or sign * exact(net)(found.x)[0] != found.attained:
        return f"{net.widths}: {float(found.attained)!r} is not attained"
    return None


def attempt_simplified(rng: np.random.Generator) -> str | None:
    """Values at rational points of the box, before and after."""
    d = int(rng.integers(1, 5))
    widths = (d, *rng.integers(2, 9, int(rng.integers(1, 4))), int(rng.integers(1, 3)))
    shapes = list(zip(widths[1:], widths[:-1]))
    drawn = ReluNetwork.dense(
        [_draw(rng, *shape) for shape in shapes],
        [_draw(rng, shape[0]) * float(rng.choice([1, 3])) for shape in shapes],
    )
    half = Fraction(int(rng.integers(1, 9)), 8)
    inside = Box(*zip(*((c - half, c + half) for c in (Fraction(float(v)) for v in _draw(rng, d)))))
    net, box = _rescale(rng, drawn, inside)
    tolerance = float(rng.choice([0.0, 0.0, 1e-3, 0.5]))
    kinds: tuple[Any, ...] = (None, "float32", "float64")
    precision = kinds[int(rng.integers(3))] if tolerance else None
    ends = [
        np.array([turn(v) for v in side])
        for turn, side in zip((round_up, round_down), _read_box(box))
    ]
    try:
        found = simplify(net, (ends[0], ends[1]), tolerance=tolerance, precision=precision)
    except FthetaError:
        if precision is None:
            raise
        return None  # weights that do not fit
    before, after = exact(net), exact(found.network)
    most = Fraction(found.proof.deviation.hi)
    for _ in range(POINTS):
        shares = [Fraction(int(v), 8) for v in rng.integers(0, 9, d)]
        x = [Fraction(a) + s * (Fraction(b) - Fraction(a)) for s, a, b in zip(shares, *ends)]
        moved = max(abs(p - q) for p, q in zip(before(x), after(x)))
        if moved > most:
            return f"{net.widths} → {found.network.widths}: moved by {float(moved)!r}, at most {float(most)!r} was said"
    return None


TRIALS = (
    Trial("behaviour: monotone", "slopes of the wrong sign overlooked", attempt_monotone, few=40),
    Trial("behaviour: convex", "a wrong bend overlooked, or made up", attempt_convex, few=40),
    Trial("behaviour: ranges", "a value beyond its bound", attempt_range, few=20),
    Trial("behaviour: simplified", "another value than before", attempt_simplified, few=40),
)
