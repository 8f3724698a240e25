r"""The slope of a secant, $\|f(x)-f(y)\|/\|x-y\|$, evaluated again: in rationals, or in balls for smooth activations.

Weights, inputs and the constants of a scaling are taken at their exact binary values; nothing is rounded before the
last square root. A pair of inputs is a witness that anybody can check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz_mat  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.networks.activations import LEAK
from ftheta.shapes import Float

from .chains import Chain
from .climbing import SPACE, Steep
from .curves import curve
from .domains import Domain

Array = np.ndarray
PRECISION = 400  # bits of the balls
MOST_WEIGHTS = 4_000_000  # of a chain that is evaluated exactly
HALVES = tuple(2.0**-k for k in (2, 6, 10, 14, 18, 22, 26, 30, 34))
"""Half lengths of the secants that are tried around a point, relative to its size: long ones leave the piece."""


@dataclass(frozen=True, eq=False)
class SteepestSecant:
    """Two inputs of the domain, and an enclosure of the slope between them; `tried` points were looked at to find them.

    `how` says in which arithmetic it was evaluated.
    """

    x: Float[np.ndarray, "d"]
    y: Float[np.ndarray, "d"]
    slope: Enclosure
    tried: int
    how: str


def lay_secant(
    chain: Chain, steep: Steep, norm: float, domain: Domain = SPACE
) -> SteepestSecant | None:
    """The longest secant through a steep point that is as steep as the Jacobian there, with both ends in the domain,
    evaluated again; None where the chain is too large for that, or no such secant is found."""
    if sum(W.size for W in chain.weights) > MOST_WEIGHTS:
        return None
    size = float(np.abs(steep.x).max()) or 1.0
    v = steep.direction / max(float(np.abs(steep.direction).max()), 1e-300)
    steps = size * np.array(HALVES)[:, None] * v
    middles = domain.make_room(steep.x, steps)
    x = domain.project(middles - steps)
    y = domain.project(middles + steps)
    guesses = _slopes_in_floats(chain, x, y, norm)
    enough = steep.slope * (1 - 1e-9)
    order = sorted(
        range(len(x)),
        key=lambda k: (guesses[k] < enough, k if guesses[k] >= enough else -guesses[k]),
    )
    for k in order:
        if domain.contains(x[k]) and domain.contains(y[k]):
            return measure_secant(chain, x[k], y[k], norm, steep.tried)
    return None


def measure_secant(
    chain: Chain, x: Float[np.ndarray, "d"], y: Float[np.ndarray, "d"], norm: float, tried: int = 2
) -> SteepestSecant:
    """The slope between two inputs: exactly, up to the rounding of the result."""
    how = "rationals" if chain.is_piecewise_affine else f"balls of {PRECISION} bits"
    return SteepestSecant(x, y, slope_between(chain, x, y, norm), tried, how)


@np.errstate(all="ignore")
def _slopes_in_floats(chain: Chain, x: Array, y: Array, norm: float) -> Array:
    """Slopes of many secants; differences are carried along, so that short ones do not drown in rounding."""
    h = (x + y) / 2
    change = y - x
    for W, b, word in zip(chain.weights, chain.biases, chain.words):
        z = h @ W.T + b
        dz = change @ W.T
        here = curve(word).value
        change = here(z + dz / 2) - here(z - dz / 2)
        h = (here(z + dz / 2) + here(z - dz / 2)) / 2
    rise = np.linalg.norm(change @ chain.weights[-1].T, ord=norm, axis=1)
    run = np.linalg.norm(x - y, ord=norm, axis=1)
    return np.nan_to_num(rise / np.where(run > 0, run, inf), nan=0.0, posinf=0.0)


def slope_between(
    chain: Chain, x: Float[np.ndarray, "d"], y: Float[np.ndarray, "d"], norm: float
) -> Enclosure:
    r"""$\|f(x)-f(y)\|/\|x-y\|$ for $x\ne y$, at the exact values of all numbers; 0 where $x=y$."""
    if np.array_equal(x, y):
        return Enclosure.exact(0)
    if chain.is_piecewise_affine:
        rise = _rise_in_rationals(chain, x, y)
        run = [Fraction(a) - Fraction(b) for a, b in zip(x.tolist(), y.tolist())]
        return _quotient(rise, run, norm)
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        rise = _rise_in_balls(chain, x, y)
        run = [arb(a) - arb(b) for a, b in zip(x.tolist(), y.tolist())]
        found = _length_in_balls(rise, norm) / _length_in_balls(run, norm)
    finally:
        ctx.prec = before
    # what cancels may be of either sign as far as the balls tell, and then has no root
    known = Enclosure.ball(found) if found.is_finite() else Enclosure.unknown()
    return Enclosure(max(known.lo, 0.0), known.hi, known.basis)


# ---- rationals -------------------------------------------------------------------------------------------------------


def _rise_in_rationals(chain: Chain, x: Array, y: Array) -> list[Fraction]:
    h = _columns_of_inputs(chain, x, y)
    for k, (W, b) in enumerate(zip(chain.weights, chain.biases)):
        if k == 0 and chain.first is not None:
            W, b = chain.first.weight, chain.first.bias
        h = _integer_matrix(W, b, h)
        if k < len(chain.words):
            h = fmpq_mat(h.nrows(), 2, [_bend(q, chain.words[k]) for q in h.entries()])
    entries = [Fraction(int(q.p), int(q.q)) for q in h.entries()]
    return [a - b for a, b in zip(entries[::2], entries[1::2])]


def _bend(q: Any, word: str) -> Any:
    if word == "identity" or q >= 0:
        return q
    return fmpq(0) if word == "relu" else q * fmpq(*float(LEAK).as_integer_ratio())


def _columns_of_inputs(chain: Chain, x: Array, y: Array) -> Any:
    rows = [
        [fmpq(*float(a).as_integer_ratio()), fmpq(*float(b).as_integer_ratio())]
        for a, b in zip(x, y)
    ]
    for operation, constant in () if chain.scaling is None else chain.scaling.steps:
        numbers = [fmpq(*float(c).as_integer_ratio()) for c in constant]
        rows = [[_operate(operation, q, c) for q in row] for row, c in zip(rows, numbers)]
    return fmpq_mat(rows)


def _operate(operation: str, q: Any, c: Any) -> Any:
    if operation in ("add", "sub"):
        return q + c if operation == "add" else q - c
    return q * c if operation == "mul" else q / c


def _integer_matrix(W: Array, b: Array, h: Any) -> Any:
    """$Wh+b$ for both columns: the floats of a matrix are integers times one power of two."""
    numbers = np.column_stack([W, b])
    mantissas, exponents = np.frexp(numbers)
    whole = (mantissas * 2.0**53).astype(np.int64)
    used = whole != 0
    least = int(exponents[used].min()) if used.any() else 0
    shifts = np.where(used, exponents - least, 0)
    entries = [a << s for a, s in zip(whole.ravel().tolist(), shifts.ravel().tolist())]
    matrix = fmpz_mat(len(W), W.shape[1] + 1, entries)
    column = fmpq_mat(h.nrows() + 1, 2, [*h.entries(), fmpq(1), fmpq(1)])
    exponent = least - 53
    power = fmpq(1 << exponent) if exponent >= 0 else fmpq(1, 1 << -exponent)
    return fmpq_mat(matrix) * column * power


def _quotient(rise: Sequence[Fraction], run: Sequence[Fraction], norm: float) -> Enclosure:
    if norm == 2:
        return _root(
            sum((a * a for a in rise), Fraction(0)) / sum((a * a for a in run), Fraction(0))
        )
    length = max if norm == inf else sum
    return Enclosure.exact(length(map(abs, rise)) / length(map(abs, run)))


def _root(square: Fraction) -> Enclosure:
    """Its square root, rounded outward by an integer root with 120 more bits."""
    if square == 0:
        return Enclosure.exact(0)
    bits = max(0, 240 - square.numerator.bit_length() + square.denominator.bit_length()) // 2
    whole = isqrt((square.numerator << 2 * bits) // square.denominator)
    lower = Enclosure.exact(Fraction(whole, 1 << bits))
    upper = Enclosure.exact(Fraction(whole + 1, 1 << bits))
    return Enclosure(lower.lo, upper.hi, Basis.EXACT)


# ---- balls -----------------------------------------------------------------------------------------------------------


def _rise_in_balls(chain: Chain, x: Array, y: Array) -> list[Any]:
    start = _columns_of_inputs(chain, x, y)
    h = arb_mat(start.nrows(), 2, [arb(q) for q in start.entries()])
    for k, (W, b) in enumerate(zip(chain.weights, chain.biases)):
        if k == 0 and chain.first is not None:
            W, b = chain.first.weight, chain.first.bias
        offset = arb_mat(len(b), 2, [arb(v) for v in np.repeat(b, 2).tolist()])
        h = arb_mat(len(W), W.shape[1], [arb(v) for v in W.ravel().tolist()]) * h + offset
        if k < len(chain.words):
            h = arb_mat(h.nrows(), 2, [_evaluate(chain.words[k], q) for q in h.entries()])
    entries = h.entries()
    return [a - b for a, b in zip(entries[::2], entries[1::2])]


def _evaluate(word: str, q: Any) -> Any:
    if word in ("identity", "relu", "leaky-relu"):
        slope = {"identity": arb(1), "relu": arb(0), "leaky-relu": arb(float(LEAK))}[word]
        return q.max(arb(0)) + slope * q.min(arb(0))
    if word == "gelu":
        return q * ((q / arb(2).sqrt()).erf() + 1) / 2
    if word == "silu":
        return q / (1 + (-q).exp())
    functions = {
        "tanh": lambda: q.tanh(),
        "sigmoid": lambda: 1 / (1 + (-q).exp()),
        "arctan": lambda: q.atan(),
        "softplus": lambda: q.exp().log1p(),
        "square": lambda: q * q,
    }
    return functions[word]()


def _length_in_balls(numbers: Sequence[Any], norm: float) -> Any:
    if norm == 2:
        return sum((a * a for a in numbers), arb(0)).sqrt()
    sizes = [abs(a) for a in numbers]
    if norm == 1:
        return sum(sizes, arb(0))
    largest = sizes[0]
    for size in sizes[1:]:
        largest = largest.max(size)
    return largest
