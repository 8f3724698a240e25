"""Verification against exact answers: thresholds beside the least value, ties, cancellation, slabs, planted labels."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ftheta.certify.attacks import attack
from ftheta.certify.judging import Judge
from ftheta.certify.neurons.search import search_neurons
from ftheta.certify.properties import Robust
from ftheta.certify.questions import Box, Case, Question, RationalBall, Row
from ftheta.certify.searches import Verification
from ftheta.certify.verification import decide
from ftheta.pieces import Box as PieceBox
from ftheta.pieces import pieces
from ftheta.pieces.questions.extremes import extreme
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from . import Trial

ONE = Fraction(1)
SECONDS = 2.0  # for one question: not to be decided in time is no wrong answer
GLANCE = 0.2  # the same, where many are not decided at all
BIG = 2.0**56


def _draw(rng: np.random.Generator, *shape: int, grid: int = 8) -> np.ndarray:
    """Numbers on a grid, so that ties and zeros are common."""
    return rng.integers(-2 * grid, 2 * grid + 1, shape) / grid


def _below(bound: Fraction, strict: bool = False, sign: int = 1) -> tuple[tuple[Row, ...], ...]:
    """The first output (with `sign` −1: its negative) is at most the bound."""
    return ((Row({}, {0: sign * ONE}, bound, strict),),)


def _ask(net: ReluNetwork, box: Box, unsafe: tuple[tuple[Row, ...], ...]) -> Verification:
    return decide(
        net, Question(net.widths[0], net.widths[-1], (Case(box, unsafe),)), seconds=SECONDS
    )


def _fault(
    found: Verification,
    net: ReluNetwork,
    box: Box,
    unsafe: tuple[tuple[Row, ...], ...],
    truth: str,
    case: str,
) -> str | None:
    """What is wrong with an answer, or None."""
    if found.answer in ("sat", "unsat") and found.answer != truth:
        return f"{case}: said {found.answer}, is {truth}"
    if found.answer == "sat":
        witness = found.witness
        if (
            witness is None
            or exact(net)(witness.x) != witness.y
            or not Case(box, unsafe).admits(witness.x, witness.y)
        ):
            return f"{case}: {witness} is no counter-example"
    return None


def _threshold(rng: np.random.Generator, least: Fraction) -> tuple[Fraction, bool, str]:
    """A bound beside the least value of an output, whether it is strict, and whether it can be met."""
    kind = int(rng.integers(3))
    step = Fraction(1, 2 ** int(rng.integers(10, 41)))
    strict = bool(rng.integers(2))
    if kind == 0:
        return least - step, strict, "unsat"
    if kind == 1:
        return least + step, strict, "sat"
    return least, strict, "unsat" if strict else "sat"


def _thresholds(rng: np.random.Generator, least: Fraction) -> list[tuple[Fraction, bool, str]]:
    """Below, at and above the least value, each strict and not: drawing a network costs more than to ask of it."""
    step = Fraction(1, 2 ** int(rng.integers(10, 41)))
    return [
        (least + side * step, strict, "sat" if side > 0 or (side == 0 and not strict) else "unsat")
        for side in (-1, 0, 1)
        for strict in (False, True)
    ]


def _first_fault(
    rng: np.random.Generator, net: ReluNetwork, box: Box, least: Fraction, says: str
) -> str | None:
    """Six questions to one network."""
    for bound, strict, truth in _thresholds(rng, least):
        unsafe = _below(bound, strict)
        case = f"{says}, {float(bound - least):.3g} beside the least value"
        fault = _fault(_ask(net, box, unsafe), net, box, unsafe, truth, case)
        if fault is not None:
            return fault
    return None


# ---- small networks, by their pieces ----


def attempt_pieces(rng: np.random.Generator) -> str | None:
    """Thresholds beside the least value that the exact complex has."""
    d = int(rng.integers(1, 4))
    widths = (d, *(int(n) for n in rng.integers(2, 5, int(rng.integers(1, 3)))), 1)
    shapes = list(zip(widths[1:], widths[:-1]))
    net = ReluNetwork.dense(
        [_draw(rng, *shape) for shape in shapes], [_draw(rng, shape[0]) for shape in shapes]
    )
    cells = pieces(net, PieceBox([-1.0] * d, [1.0] * d))
    least = exact(net)(extreme(cells, 0, -1).point)[0]
    return _first_fault(rng, net, Box((-ONE,) * d, (ONE,) * d), least, f"widths {widths}")


# ---- functions of one linear form: the least value is known in any number of inputs ----


def _draw_ridge(
    rng: np.random.Generator, d: int, constants: float = 0.0, hidden: int | None = None
) -> tuple[ReluNetwork, Box, Fraction]:
    r"""A network $g(\langle a,x\rangle)$, a box, and its exact least output there.

    `constants` are added to some pre-activations of the first layer, which are far from zero then, and taken off again.
    There are so many `hidden` layers, or one or two.
    """
    a = _draw(rng, d)
    a[int(rng.integers(d))] = 1.0
    first = int(rng.integers(2, 6))
    signs = rng.choice([-1.0, 1.0], first)
    weights = [np.outer(signs, a)]
    biases = [_draw(rng, first)]
    more = int(rng.integers(0, 2)) if hidden is None else hidden - 1
    widths = [first, *(int(n) for n in rng.integers(2, 4, more)), 1]
    for n, m in zip(widths[1:], widths[:-1]):
        weights.append(_draw(rng, n, m))
        biases.append(_draw(rng, n))
    if constants:
        shifted = int(rng.integers(first))
        biases[0][shifted] = constants  # this neuron is ⟨a,x⟩ + constants there
        biases[1] = -constants * weights[1][:, shifted]
    half = [Fraction(int(v), 4) for v in rng.integers(1, 5, d)]
    centre = [Fraction(int(v), 4) for v in rng.integers(-4, 5, d)]
    box = Box(
        tuple(c - h for c, h in zip(centre, half)), tuple(c + h for c, h in zip(centre, half))
    )
    net = ReluNetwork.dense(weights, biases)
    slopes = [Fraction(float(v)) for v in a]
    lowest = sum((min(p * x, p * y) for p, x, y in zip(slopes, box.lo, box.hi)), Fraction(0))
    highest = sum((max(p * x, p * y) for p, x, y in zip(slopes, box.lo, box.hi)), Fraction(0))
    along = ReluNetwork.dense([signs[:, None], *weights[1:]], biases)
    return net, box, _least_along(along, lowest, highest)


def _least_along(net: ReluNetwork, lowest: Fraction, highest: Fraction) -> Fraction:
    """The least output of a network of one input on an interval: linear between the zeros of its neurons."""
    in_rationals = exact(net)
    marks = sorted({lowest, highest})
    for depth in range(len(net.steps) - 1):
        marks = _add_zeros(net, marks, depth)
    return min(in_rationals([t])[0] for t in marks)


def _add_zeros(net: ReluNetwork, marks: Sequence[Fraction], depth: int) -> list[Fraction]:
    """The marks, and where neurons of one layer change sign: between marks they are affine."""
    sums = [_sums(net, t, depth) for t in marks]
    found = set(marks)
    for s, t, below, above in zip(marks, marks[1:], sums, sums[1:]):
        for u, v in zip(below, above):
            if u * v < 0:
                found.add(s + (t - s) * u / (u - v))
    return sorted(found)


def _sums(net: ReluNetwork, t: Fraction, depth: int) -> list[Fraction]:
    """What enters the ReLUs of one layer, in rationals."""
    state = [t]
    for k, step in enumerate(net.steps[: depth + 1]):
        rows = [[Fraction(float(v)) for v in row] for row in step.dense()]
        state = [
            sum((w * h for w, h in zip(row, state)), Fraction(float(b)))
            for row, b in zip(rows, step.offset)
        ]
        if k < depth:
            state = [max(v, Fraction(0)) for v in state]
    return state


def attempt_ridge(rng: np.random.Generator) -> str | None:
    """Few inputs: boxes are split."""
    net, box, least = _draw_ridge(rng, int(rng.integers(1, 7)))
    return _first_fault(rng, net, box, least, f"{net.widths}")


LENGTHS = ((1, 0, 0), (3, 4, 0), (1, 2, 2), (2, 3, 6), (4, 4, 7), (1, 4, 8))
"""Vectors whose Euclidean lengths are whole numbers."""


def attempt_ball(rng: np.random.Generator) -> str | None:
    """Balls in ℓ1 and ℓ2: a linear form takes all values within the radius times its dual norm. Both searches."""
    norm = int(rng.integers(1, 3))
    d = int(rng.integers(3, 7)) if rng.random() < 0.8 else int(rng.integers(17, 20))
    a = np.zeros(d)
    a[rng.choice(d, 3, replace=False)] = rng.choice([-1, 1], 3) * np.array(
        LENGTHS[int(rng.integers(len(LENGTHS)))]
    )
    dual = int(np.abs(a).max()) if norm == 1 else round(float(np.linalg.norm(a)))
    hidden = [int(n) for n in rng.integers(2, 5, int(rng.integers(1, 3)))]
    signs = rng.choice([-1.0, 1.0], (hidden[0], 1))
    shapes = list(zip([*hidden[1:], 1], hidden))
    tops = [_draw(rng, *shape) for shape in shapes]
    biases = [_draw(rng, n) for n in (*hidden, 1)]
    net = ReluNetwork.dense([signs * a, *tops], biases)
    centre = tuple(Fraction(int(v), 4) for v in rng.integers(-4, 5, d))
    radius = Fraction(int(rng.integers(1, 9)), 8)
    middle = sum((Fraction(int(p)) * c for p, c in zip(a, centre)), Fraction(0))
    along = ReluNetwork.dense([signs, *tops], biases)
    least = _least_along(along, middle - dual * radius, middle + dual * radius)
    bound, strict, truth = _threshold(rng, least)
    ball = RationalBall(centre, radius, norm)
    box = Box(tuple(c - radius for c in centre), tuple(c + radius for c in centre))
    case = Case(box, _below(bound, strict), ball)
    says = f"{net.widths} in ℓ{norm}, {float(bound - least):.3g} beside the least value"
    if rng.random() < 0.5:
        judge = Judge(net, case)
        search = search_neurons(
            net, case, seconds=GLANCE, propose=judge.propose, finish=judge.finish
        )
        said = "sat" if judge.witness is not None else "unsat" if search.closed else "unknown"
        witness = judge.witness
    else:
        found = decide(net, Question(d, 1, (case,)), seconds=SECONDS)
        said, witness = found.answer, found.witness
    if said in ("sat", "unsat") and said != truth:
        return f"{says}: said {said}, is {truth}"
    if witness is not None and not (
        exact(net)(witness.x) == witness.y and case.admits(witness.x, witness.y)
    ):
        return f"{says}: {witness} is no counter-example"
    return None


def attempt_cancelling(rng: np.random.Generator) -> str | None:
    """Constants of 2⁵⁶ that cancel: in float64, what they are added to is lost."""
    net, box, least = _draw_ridge(rng, int(rng.integers(1, 4)), constants=BIG)
    return _first_fault(rng, net, box, least, f"{net.widths}")


def attempt_many_inputs(rng: np.random.Generator) -> str | None:
    """One layer of ReLUs of 17 inputs and more: a sum of functions of linear forms, each in inputs of its own."""
    parts = [
        _draw_ridge(rng, int(rng.integers(5, 9)), hidden=1) for _ in range(int(rng.integers(4, 6)))
    ]
    nets = [net for net, _, _ in parts]
    sizes = [net.widths for net in nets]
    first = np.zeros((sum(h for _, h, _ in sizes), sum(d for d, _, _ in sizes)))
    row = column = 0
    for net, (d, h, _) in zip(nets, sizes):
        first[row : row + h, column : column + d] = net.steps[0].dense()
        row += h
        column += d
    last = np.concatenate([net.steps[1].dense() for net in nets], axis=1)
    offsets = [
        np.concatenate([net.steps[0].offset for net in nets]),
        sum(net.steps[1].offset for net in nets),
    ]
    box = Box(
        *(tuple(v for _, part, _ in parts for v in getattr(part, side)) for side in ("lo", "hi"))
    )
    whole = ReluNetwork.dense([first, last], offsets)
    least = sum((least for _, _, least in parts), Fraction(0))
    return _first_fault(rng, whole, box, least, f"{whole.widths}")


def attempt_neurons(rng: np.random.Generator) -> str | None:
    """The same by splitting neurons, in up to twenty inputs."""
    net, box, least = _draw_ridge(
        rng, int(rng.integers(1, 21)), constants=float(rng.choice([0.0, 0.0, BIG]))
    )
    bound, strict, truth = _threshold(rng, least)
    case = Case(box, _below(bound, strict))
    judge = Judge(net, case)
    search = search_neurons(net, case, seconds=GLANCE, propose=judge.propose, finish=judge.finish)
    said = "sat" if judge.witness is not None else "unsat" if search.closed else "unknown"
    if said != "unknown" and said != truth:
        return f"{net.widths} {float(bound - least):.3g} beside the least value: said {said}, is {truth}"
    return None


def attempt_slab(rng: np.random.Generator) -> str | None:
    """A counter-example in a slab of width 2⁻¹²; it must be found, or shown to be absent beyond it."""
    d = int(rng.integers(2, 7))
    a = np.where(rng.random(d) < 0.5, 1.0, -1.0) * rng.integers(1, 4, d)
    place = float(rng.integers(-64, 65)) / 64 + 1 / 3
    width = 2.0**-12
    net = ReluNetwork.dense(
        [np.vstack([a, -a]), np.ones((1, 2))], [np.array([-place, place]), np.array([-width])]
    )
    box = Box((-ONE,) * d, (ONE,) * d)
    is_met = bool(rng.integers(2))
    unsafe = _below(Fraction(width) * Fraction(-1 if is_met else -2) * Fraction(127, 128))
    found = _ask(net, box, unsafe)
    truth = "sat" if is_met else "unsat"
    if found.answer not in ("sat", "unsat"):
        return f"slab in {d} inputs at {place!r}: not decided"
    return _fault(found, net, box, unsafe, truth, f"slab in {d} inputs at {place!r}")


# ---- classifiers ----


def _draw_classifier(rng: np.random.Generator) -> ReluNetwork:
    d = int(rng.integers(2, 9))
    h = int(rng.integers(3, 9))
    return ReluNetwork.dense(
        [rng.standard_normal((h, d)), rng.standard_normal((3, h))],
        [rng.standard_normal(h), rng.standard_normal(3)],
    )


def attempt_robust(rng: np.random.Generator) -> str | None:
    """Robust by construction: y₀ − yⱼ is a margin plus a sum of what is never negative. Or not, by a planted input."""
    d = int(rng.integers(2, 25))
    h = int(rng.integers(3, 9))
    W = _draw(rng, h, d)
    b = _draw(rng, h)
    common = _draw(rng, h)
    excess = np.abs(_draw(rng, 2, h))
    margin = float(rng.choice([2.0**-30, 2.0**-10, 1.0]))
    x = _draw(rng, d)
    net = ReluNetwork.dense(
        [W, np.vstack([common, common - excess])], [b, np.array([margin, 0.0, 0.0])]
    )
    question = Robust(x, eps=Fraction(int(rng.integers(1, 9)), 8), label=0).question(3)
    found = decide(net, question, seconds=SECONDS)
    if found.answer == "sat":
        return f"{net.widths}, margin {margin}: said sat, is robust"
    hidden = np.maximum(W @ x + b, 0.0)
    loss = excess[0] @ hidden  # numbers on a grid: no rounding
    broken = ReluNetwork.dense(
        [W, np.vstack([common, common - excess])], [b, np.array([-loss, 0.0, 0.0])]
    )
    found = decide(broken, question, seconds=SECONDS)  # at x itself it is a tie
    if found.answer == "unsat":
        return f"{net.widths}: said unsat, and x is a tie"
    return None


def attempt_radius(rng: np.random.Generator) -> str | None:
    """Where an attack meets another label, no larger radius is certified."""
    net = _draw_classifier(rng)
    d = net.widths[0]
    x = [Fraction(float(v)) for v in _draw(rng, d)]
    y = exact(net)(x)
    label = y.index(max(y))
    property = Robust(x, eps=Fraction(2), label=label)
    case = property.question(3).cases[0]
    judge = Judge(net, case)
    attack(net, case, rng, 1.0, judge.propose, rounds=2)
    if judge.witness is None:
        return None
    met = max(abs(a - b) for a, b in zip(judge.witness.x, x))
    for radius in (met, met + Fraction(1, 2**60)):
        found = decide(net, Robust(x, eps=radius, label=label).question(3), seconds=SECONDS)
        if found.answer == "unsat":
            return f"{net.widths}: certified {float(radius)!r}, and another label is met at {float(met)!r}"
    return None


TRIALS = (
    Trial(
        "verification: small networks",
        "another answer than the exact pieces'",
        attempt_pieces,
        few=20,
    ),
    Trial(
        "verification: one linear form",
        "a wrong answer beside the least value",
        attempt_ridge,
        few=60,
    ),
    Trial(
        "verification: balls",
        "a wrong answer beside the least value in a ball",
        attempt_ball,
        few=60,
    ),
    Trial(
        "verification: cancelling constants",
        "a wrong answer where floats lose all",
        attempt_cancelling,
        few=25,
    ),
    Trial(
        "verification: many inputs",
        "a wrong answer beside the least value",
        attempt_many_inputs,
        few=5,
    ),
    Trial(
        "verification: neurons", "a wrong answer beside the least value", attempt_neurons, few=30
    ),
    Trial("verification: slabs", "a counter-example missed or made up", attempt_slab, few=100),
    Trial("verification: robust by construction", "a wrong label", attempt_robust, few=150),
    Trial(
        "verification: attacks and certificates",
        "a certified radius above one met",
        attempt_radius,
        few=60,
    ),
)
