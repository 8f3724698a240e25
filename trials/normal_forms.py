"""Normal forms and pieces of hard programs and networks, beside a brute force in rationals.

The programs add, scale and divide by numbers that cancel, round and tie (0.1 + 0.2 beside 0.30000000000000004,
10¹⁶x + x beside 10¹⁶x, thirds, powers of ten that overflow a square), and nest ReLUs, maxima and absolute values. The
brute force follows the same program through convex polygons with rational corners; it shares no code with ftheta.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.logic import Basis, SubjectError
from ftheta.pieces import Box, Segment, count_pieces, equal, pieces
from ftheta.relu.network import ReluNetwork

from . import Trial

Form = tuple[Fraction, ...]  # an affine form: its slopes, then its constant
Point = tuple[Fraction, ...]
CONSTANTS = (
    0.1,
    0.2,
    0.3,
    0.30000000000000004,
    0.5,
    1.0,
    -1.0,
    2.0,
    3.0,
    1 / 3,
    0.7,
    1e16,
    -1e16,
    1e-16,
    1 + 2.0**-52,
)
FAR = (1e160, 1e-160, 1e18, 2.3e-308, 1e-300, 1e150)
MOST_CELLS = 200


@dataclass
class Program:
    """Instructions `(operation, operands, constant)`; the values are the inputs, then one for each instruction."""

    inputs: int
    instructions: list[tuple[str, tuple[int, ...], float]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = (
            f"{op}{list(at)}{'' if np.isnan(c) else f' {c!r}'}" for op, at, c in self.instructions
        )
        return f"{self.inputs} inputs; " + ", ".join(lines)

    def __call__(self, x: Any) -> Any:
        """The program in JAX: all its values, one after the other."""
        values = [x[i] for i in range(self.inputs)]
        for operation, at, c in self.instructions:
            values.append(IN_JAX[operation](*(values[i] for i in at), c))
        return jnp.stack(values)


IN_JAX: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, c: a + b,
    "subtract": lambda a, b, c: a - b,
    "shift": lambda a, c: a + c,
    "scale": lambda a, c: c * a,
    "divide": lambda a, c: a / c,
    "sum of multiples": lambda a, c: (
        (jnp.float64(0.1) + jnp.float64(c)) * a
    ),  # a constant that the program computes
    "relu": lambda a, c: jax.nn.relu(a),
    "abs": lambda a, c: jnp.abs(a),
    "maximum": lambda a, b, c: jnp.maximum(a, b),
    "minimum": lambda a, b, c: jnp.minimum(a, b),
}
BENDS = ("relu", "relu", "abs", "maximum", "minimum")
STRAIGHT = ("add", "subtract", "shift", "scale", "scale", "divide", "sum of multiples")


def random_program(rng: np.random.Generator, inputs: int, bends: int) -> Program:
    made = Program(inputs)
    constants = CONSTANTS + (FAR if rng.random() < 0.3 else ())
    for _ in range(bends):
        kinds = [*rng.choice(STRAIGHT, size=int(rng.integers(2, 6))), str(rng.choice(BENDS))]
        for kind in kinds:
            known = inputs + len(made.instructions)
            two = kind in ("add", "subtract", "maximum", "minimum")
            recent = (
                [known - 1, int(rng.integers(known))]
                if rng.random() < 0.7
                else rng.integers(known, size=2).tolist()
            )
            at = tuple(recent[: 2 if two else 1])
            needs = kind in ("shift", "scale", "divide", "sum of multiples")
            made.instructions.append(
                (str(kind), at, float(rng.choice(constants)) if needs else float("nan"))
            )
    return made


# ---- brute force -----------------------------------------------------------------------------------------------------


@dataclass
class Leaf:
    """A convex part of the domain (its corners in order) and the affine forms of all values on it."""

    corners: list[Point]
    forms: list[Form]


def at(form: Form, x: Point) -> Fraction:
    return sum((a * t for a, t in zip(form, x)), form[-1])


def part(corners: list[Point], form: Form) -> list[Point]:
    """The part of a segment or a polygon where a form is at least zero."""
    found = []
    for k, (p, q) in enumerate(zip(corners, corners[1:] + corners[:1])):
        u = at(form, p)
        v = at(form, q)
        if u >= 0:
            found.append(p)
        if u * v < 0 and (len(p) > 1 or k == 0):  # a segment has one edge
            found.append(tuple(a + (b - a) * u / (u - v) for a, b in zip(p, q)))
    return found


def brute_force(program: Program, corners: list[Point]) -> list[Leaf]:
    d = program.inputs
    units = [tuple(Fraction(int(i == j)) for j in range(d + 1)) for i in range(d)]
    leaves = [Leaf(corners, units)]
    for operation, places, c in program.instructions:
        leaves = [new for leaf in leaves for new in _step(leaf, operation, places, c)]
        if len(leaves) > MOST_CELLS:
            return leaves
    return leaves


def _step(leaf: Leaf, operation: str, places: tuple[int, ...], c: float) -> list[Leaf]:
    given = [leaf.forms[i] for i in places]
    a = given[0]
    b = given[-1]
    plus = lambda u, v, factor=Fraction(1): tuple(x + factor * y for x, y in zip(u, v))
    times = lambda factor, u: tuple(factor * x for x in u)
    zero = times(Fraction(0), a)
    if operation in ("relu", "abs", "maximum", "minimum"):
        gap = {
            "relu": a,
            "abs": a,
            "maximum": plus(a, b, Fraction(-1)),
            "minimum": plus(b, a, Fraction(-1)),
        }[operation]
        above = {"relu": a, "abs": a, "maximum": a, "minimum": a}[operation]
        below = {"relu": zero, "abs": times(Fraction(-1), a), "maximum": b, "minimum": b}[operation]
        signs = [at(gap, x) for x in leaf.corners]
        if max(signs) > 0 > min(signs):
            minus = times(Fraction(-1), gap)
            return [
                Leaf(part(leaf.corners, gap), [*leaf.forms, above]),
                Leaf(part(leaf.corners, minus), [*leaf.forms, below]),
            ]
        return [Leaf(leaf.corners, [*leaf.forms, above if max(signs) > 0 else below])]
    q = Fraction(0) if np.isnan(c) else Fraction(c)
    straight = {
        "add": lambda: plus(a, b),
        "subtract": lambda: plus(a, b, Fraction(-1)),
        "shift": lambda: (*a[:-1], a[-1] + q),
        "scale": lambda: times(q, a),
        "divide": lambda: times(1 / q, a),
        "sum of multiples": lambda: times(Fraction(0.1) + q, a),
    }
    return [Leaf(leaf.corners, [*leaf.forms, straight[operation]()])]


def _corners(low: Sequence[float], high: Sequence[float]) -> list[Point]:
    lo = [Fraction(x) for x in low]
    hi = [Fraction(x) for x in high]
    if len(lo) == 1:
        return [(lo[0],), (hi[0],)]
    return [(lo[0], lo[1]), (hi[0], lo[1]), (hi[0], hi[1]), (lo[0], hi[1])]


# ---- one case --------------------------------------------------------------------------------------------------------


def _ends(rng: np.random.Generator, d: int) -> tuple[list[float], list[float]]:
    low = [float(rng.choice([-1.0, -0.3, -2.0, -0.7])) for _ in range(d)]
    high = [float(rng.choice([1.0, 2.0, 0.9, 0.30000000000000004])) for _ in range(d)]
    return low, high


def _program_case(rng: np.random.Generator, d: int) -> str | None:
    program = random_program(rng, d, int(rng.integers(1, 6 if d == 1 else 5)))
    low, high = _ends(rng, d)
    leaves = brute_force(program, _corners(low, high))
    if len(leaves) > MOST_CELLS:
        return None
    with jax.enable_x64(True):
        try:
            net = ft.relu_form(program, jax.ShapeDtypeStruct((d,), np.float64))
        except SubjectError as refused:
            return None if "too large" in refused.what else f"{program}: refused, {refused}"
    if net.rounded:
        return (
            f"{program}: said to be rounded by {net.rounded}, and nothing but +, −, ×, ÷ was done"
        )
    domain = Segment(low, high) if d == 1 and rng.random() < 0.5 else Box(low, high)
    cells = pieces(net, domain)
    where = f"{program} on {low}–{high}"
    if (
        cells.certificate.basis is not Basis.EXACT
        or len(cells) != len(leaves)
        or count_pieces(net, domain) != cells.count
    ):
        return f"{where}: {cells} and {count_pieces(net, domain)}, true {len(leaves)}"
    k = int(rng.integers(net.widths[-1]))
    return _outputs(cells, leaves, k, where)


def _outputs(cells: Any, leaves: list[Leaf], k: int, where: str) -> str | None:
    """The extremes and the Lipschitz constant of one output."""
    values = [at(leaf.forms[k], x) for leaf in leaves for x in leaf.corners]
    slope = max(sum(map(abs, leaf.forms[k][:-1]), Fraction(0)) for leaf in leaves)
    for name, found, true in (
        ("least value", cells.argmin(k).value, min(values)),
        ("greatest value", cells.argmax(k).value, max(values)),
        ("Lipschitz constant", cells.lipschitz("inf", k), slope),
    ):
        if found.basis is not Basis.EXACT or not _encloses(found, true):
            return f"{where}: {name} of value {k} is {float(true)!r}, said {found}"
    return None


def _encloses(found: Any, true: Fraction) -> bool:
    low = Fraction(found.lo) if np.isfinite(found.lo) else None
    high = Fraction(found.hi) if np.isfinite(found.hi) else None
    return (low is None or low <= true) and (high is None or true <= high)


def attempt_line(rng: np.random.Generator) -> str | None:
    return _program_case(rng, 1)


def attempt_plane(rng: np.random.Generator) -> str | None:
    return _program_case(rng, 2)


def attempt_equality(rng: np.random.Generator) -> str | None:
    """A value of a program and one that rounding makes equal to it, or different from it."""
    program = random_program(rng, 1, int(rng.integers(1, 4)))
    i = int(rng.integers(program.inputs + len(program.instructions)))
    c = float(rng.choice(CONSTANTS))
    how = int(rng.integers(3))
    other = Program(1, list(program.instructions))
    if how == 0:  # c·v/c: the same real function
        other.instructions += [("scale", (i,), c), ("divide", (_last(other, 1),), c)]
    elif how == 1:  # (v + c) − c
        other.instructions += [("shift", (i,), c), ("shift", (_last(other, 1),), -c)]
    else:  # v moved by less than rounding shows
        other.instructions += [("shift", (i,), 2.0**-80), ("scale", (_last(other, 1),), 1.0)]
    low, high = _ends(rng, 1)
    leaves = brute_force(other, _corners(low, high))
    if len(leaves) > MOST_CELLS:
        return None
    j = _last(other, 0)
    true = all(
        at(leaf.forms[i], x) == at(leaf.forms[j], x) for leaf in leaves for x in leaf.corners
    )
    example = jax.ShapeDtypeStruct((1,), np.float64)
    with jax.enable_x64(True):
        try:
            one, two = (ft.relu_form(lambda x, k=k: other(x)[k : k + 1], example) for k in (i, j))
        except SubjectError as refused:
            return None if "too large" in refused.what else f"{other}: refused, {refused}"
    found = equal(one, two, Segment(low, high))
    return (
        None
        if found.equal is true and found.basis is Basis.EXACT
        else f"{other}: values {i}, {j}: {found}, true {true}"
    )


def _last(program: Program, more: int) -> int:
    return program.inputs + len(program.instructions) - 1 + more


# ---- networks of all scales ------------------------------------------------------------------------------------------


def attempt_scales(rng: np.random.Generator) -> str | None:
    """Weights, offsets and domains from 10⁻³⁰⁰ to 10³⁰⁰: what floats decide, beside rational arithmetic throughout."""
    d = int(rng.integers(1, 4))
    reach = float(rng.choice([20, 120, 200, 300]))
    size = lambda: 10.0 ** float(rng.choice([0.0, 0.0, rng.uniform(-reach, reach)]))
    widths = [d, *rng.integers(1, 5, size=int(rng.integers(1, 3))).tolist(), 1]
    weights = []
    offsets = []
    for n, m in pairwise(widths):
        rows = np.array([size() for _ in range(m)])[:, None]
        weights.append(np.clip(rng.integers(-3, 4, size=(m, n)) * rows, -1e300, 1e300))
        offsets.append(
            np.clip(
                rng.integers(-2, 3, size=m) * np.array([size() for _ in range(m)]), -1e300, 1e300
            )
        )
    net = ReluNetwork.dense(weights, offsets)
    radius = size()
    domain = Box([-radius] * d, [radius * float(rng.choice([1.0, 2.0, 0.3]))] * d)
    found = count_pieces(net, domain)
    true = count_pieces(net, domain, exact=True)
    stored = pieces(net, domain)
    if found != true or stored.count != true:
        return f"weights {weights}, offsets {offsets} on ±{radius:g}: {found} and {stored}, true {true}"
    return None


TRIALS = (
    Trial(
        "normal forms: programs on a line",
        "a wrong number of pieces, extreme or slope called exact",
        attempt_line,
        few=8,
    ),
    Trial(
        "normal forms: programs in a plane",
        "a wrong number of pieces or slope called exact",
        attempt_plane,
        few=5,
    ),
    Trial(
        "normal forms: nearly equal programs",
        "programs that differ called equal, or equal ones different",
        attempt_equality,
        few=5,
    ),
    Trial(
        "normal forms: all scales",
        "a wrong number of pieces where numbers overflow or vanish",
        attempt_scales,
        few=15,
    ),
)
