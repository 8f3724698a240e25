r"""Networks with polynomial activations, in rational arithmetic: expansion, degree, differences, collapse.

Float64 weights are dyadic rationals, so nothing is lost on the way in. The same layers are evaluated on polynomials in
all inputs (the whole function), on polynomials in one variable (the function on a line), on rationals (its values), or
for other activations on Arb balls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mpoly_ctx, fmpq_poly, fmpz_mat  # type: ignore[import-untyped]

from ftheta.logic import Basis, Enclosure, SubjectError
from ftheta.networks.activations import activation
from ftheta.networks.description import Description
from ftheta.networks.slopes import VALUES

MAX_DEGREE = 256
MAX_TERMS = 700  # of the expansion in all inputs
MAX_WORK = 1_500_000  # weights times values asked for
BITS = 768
ASSUMED = 2  # the degree taken for an activation that is no polynomial, in a forced run

Element = Any  # of a ring over the rationals: python-flint has no types


def rational(x: float) -> fmpq:
    q = Fraction(x)
    return fmpq(q.numerator, q.denominator)


def degrees(description: Description) -> list[int | None]:
    """The degree of the activation after every affine map but the last; an activated output counts as hidden."""
    words = [layer.activation for layer in description.layers]
    hidden = words if words[-1] != "identity" else words[:-1]
    return [activation(word).degree for word in hidden]


@dataclass(frozen=True, slots=True)
class Bound:
    """$r^{L-1}$ for $L$ affine maps and activations of degree at most $r$."""

    r: int
    maps: int

    @property
    def degree(self) -> int:
        return self.r ** (self.maps - 1)


def degree_bound(description: Description) -> Bound:
    found = degrees(description)
    return Bound(max((ASSUMED if d is None else d for d in found), default=1), len(found) + 1)


def evaluate(
    description: Description, state: Sequence[Element], number: Any = rational
) -> list[Element]:
    """The layers on elements of any ring that has the numbers `number(w)`."""
    values = list(state)
    for layer in description.layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist())
        values = [
            sum((number(w) * v for w, v in zip(row, values) if w), values[0] * 0 + number(b))
            for row, b in rows
        ]
        values = [VALUES[activation(layer.activation).name](v) for v in values]
    return values


def total_degree(description: Description) -> int | None:
    """The degree of the whole function by expansion in all inputs, or None where that is out of reach."""
    d = description.widths[0]
    n = degree_bound(description).degree
    if n == 1:
        return int(any(any(row) for row in collapse(description).slope_rows))
    if d > 8 or comb(n + d, d) > MAX_TERMS or None in degrees(description):
        return None
    variables = fmpq_mpoly_ctx.get(("x", d), "degrevlex").gens()
    return max(0, *(int(p.total_degree()) for p in evaluate(description, variables)))


@dataclass(frozen=True, slots=True)
class Line:
    r"""$t\mapsto x+tv$ with rational $x$ and $v$."""

    start: tuple[Fraction, ...]
    step: tuple[Fraction, ...]

    @property
    def place(self) -> dict[str, str]:
        """Point and direction in words."""
        pairs = (("x", self.start), ("v", self.step))
        return {name: ", ".join(map(str, q[:8])) + " …" * (len(q) > 8) for name, q in pairs}

    def at(self, t: int) -> list[Fraction]:
        return [x + t * v for x, v in zip(self.start, self.step)]


def lines(rng: np.random.Generator, dimension: int, count: int) -> list[Line]:
    """Lines through points with coordinates in sixteenths, in directions with odd eighths."""
    drawn = []
    for _ in range(count):
        start = rng.integers(-16, 17, dimension).tolist()
        step = (2 * rng.integers(-3, 3, dimension) + 1).tolist()
        drawn.append(
            Line(tuple(Fraction(k, 16) for k in start), tuple(Fraction(k, 8) for k in step))
        )
    return drawn


def degree_on(description: Description, line: Line) -> int:
    """The degree of the function on a line, by expansion: never more than its total degree."""
    state = [fmpq_poly([_fmpq(x), _fmpq(v)]) for x, v in zip(line.start, line.step)]
    return max(0, *(int(p.degree()) for p in evaluate(description, state)))


def degree_of(description: Description, drawn: Sequence[Line]) -> tuple[Enclosure, Enclosure]:
    """The degree: exactly where the function can be expanded, else the largest met on the lines, as a sample and as
    the lower bound that it is."""
    if None in degrees(description):
        return Enclosure(), Enclosure()
    whole = total_degree(description)
    if whole is not None:
        return Enclosure.exact(whole), Enclosure.exact(whole)
    met = float(max(degree_on(description, line) for line in drawn))
    return Enclosure.at_least(met, samples=len(drawn)), Enclosure(met, basis=Basis.EXACT)


def difference_on(description: Description, line: Line, order: int, bits: int = BITS) -> Enclosure:
    r"""$\max_j|\Delta^m_vf_j(x)|$, the largest over the outputs: in rationals, or in balls if it is no polynomial."""
    weights = [(-1) ** (order - k) * comb(order, k) for k in range(order + 1)]
    exact = None not in degrees(description)
    with ctx.workprec(bits):
        number = rational if exact else lambda w: arb(rational(w))
        lift = _fmpq if exact else lambda q: arb(_fmpq(q))
        rows = [
            evaluate(description, [lift(x) for x in line.at(k)], number) for k in range(order + 1)
        ]
        totals: list[Element] = [
            abs(sum(w * row[j] for w, row in zip(weights, rows))) for j in range(len(rows[0]))
        ]
        if exact:
            return Enclosure.exact(max(Fraction(int(t.p), int(t.q)) for t in totals))
        sizes = [Enclosure.ball(t) for t in totals]
        return Enclosure.between(max(0.0, *(s.lo for s in sizes)), max(s.hi for s in sizes))


@dataclass(frozen=True, eq=False)
class IntegerAffine:
    r"""$x\mapsto 2^{-s}(Ax+c)$ with the integer matrix $[A\,|\,c]$ above the row $(0,\dots,0,2^s)$."""

    matrix: fmpz_mat
    shift: int

    @property
    def slope_rows(self) -> list[list[int]]:
        return [[int(a) for a in row[:-1]] for row in self.matrix.tolist()[:-1]]

    @property
    def rank(self) -> int:
        return fmpz_mat(self.slope_rows).rank()

    def __call__(self, x: Sequence[Fraction]) -> list[Fraction]:
        rows = self.matrix.tolist()[:-1]
        top = [sum((int(a) * t for a, t in zip(row, x)), Fraction(int(row[-1]))) for row in rows]
        return [value / 2**self.shift for value in top]


def collapse(description: Description) -> IntegerAffine:
    """The product of all affine maps, exactly: the whole function of a network with identity activations."""
    d = description.widths[0]
    product = fmpz_mat([[int(i == j) for j in range(d + 1)] for i in range(d + 1)])
    total = 0
    for layer in description.layers:
        numbers = [
            [Fraction(w) for w in row]
            for row in np.column_stack([layer.weight, layer.bias]).tolist()
        ]
        shift = max(q.denominator.bit_length() - 1 for row in numbers for q in row)
        rows = [[int(q * 2**shift) for q in row] for row in numbers]
        rows.append([0] * (len(rows[0]) - 1) + [2**shift])
        product = fmpz_mat(rows) * product
        total = total + shift
    return IntegerAffine(product, total)


def gap_to_product(description: Description, line: Line) -> Fraction:
    """The product of all maps beside the layers one after the other, at the start of the line: how far apart."""
    layers = [
        Fraction(int(v.p), int(v.q)) for v in evaluate(description, [_fmpq(x) for x in line.start])
    ]
    return max(abs(a - b) for a, b in zip(layers, collapse(description)(line.start)))


def coefficients_on(description: Description, line: Line) -> list[Fraction]:
    """The first output on a line as a polynomial, lowest power first."""
    state = [fmpq_poly([_fmpq(x), _fmpq(v)]) for x, v in zip(line.start, line.step)]
    return [Fraction(int(c.p), int(c.q)) for c in evaluate(description, state)[0].coeffs()]


def within_reach(description: Description, count: int) -> Bound:
    """The bound on the degree, if differences of one order more can be computed exactly on `count` lines."""
    bound = degree_bound(description)
    size = sum(weight.size for weight, _ in description.params)
    order = bound.degree + 2 if bound.r == 1 or bound.maps <= 64 else MAX_DEGREE + 3
    if order > MAX_DEGREE + 2 or size * order * count * (16 + order) > 16 * MAX_WORK:
        raise SubjectError(
            "Exact differences of this network are out of reach.",
            got=f"degree up to {bound.r}^{bound.maps - 1}, {size:,} weights, {count} lines",
            remedy=f"the degree may be {MAX_DEGREE} at most, and fewer lines cost less",
        )
    return bound


def mergeable(description: Description) -> int:
    """How many affine maps can be saved by multiplying out those without an activation between them."""
    return sum(layer.activation == "identity" for layer in description.layers[:-1])


def dimension_of(degree: int, inputs: int) -> int:
    """The dimension of the polynomials of that degree in so many variables."""
    return comb(degree + inputs, inputs)


def _fmpq(q: Fraction) -> fmpq:
    return fmpq(q.numerator, q.denominator)
