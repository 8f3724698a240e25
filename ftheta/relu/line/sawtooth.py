r"""What depth buys on the line: sawtooths with $2^k$ pieces, $x^2$, $xy$ and polynomials with proved errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ftheta.logic.errors import UsageError

from ..calculus import compose, parallel, postcompose, precompose, stack
from ..elementary import absolute, ridges
from ..matrices import Number, fraction, rational
from ..network import ExactNetwork


def tent() -> ExactNetwork:
    r"""$\Delta(x)=2r(x)-4r(x-\frac12)$: the tent on $[0,1]$ (two neurons; it goes on downwards beyond)."""
    return ridges([2, -4], [1, 1], [0, Fraction(-1, 2)])


def clipped_tent() -> ExactNetwork:
    r"""$2r(x)-4r(x-\frac12)+2r(x-1)$: the tent, and 0 outside $[0,1]$."""
    return ridges([2, -4, 2], [1, 1, 1], [0, Fraction(-1, 2), -1])


def sawtooth(k: int, clipped: bool = False) -> ExactNetwork:
    r"""$\Delta^{\circ k}$: $2^k$ affine pieces on $[0,1]$ with $2k$ neurons ($3k$ when `clipped`)."""
    one = clipped_tent() if clipped else tent()
    net = one
    for _ in range(_least(k, 1, "folds") - 1):
        net = one @ net
    return net


def zigzag(a: int) -> ExactNetwork:
    r"""0, 1, 0, … at $0,\frac1a,\frac2a,\dots$ on $[0,1]$: `a` pieces, `a` neurons, $2a$ non-zero weights."""
    slopes = [(-1) ** i * a for i in range(_least(a, 1, "pieces"))]
    jumps = [slopes[0], *(2 * s for s in slopes[1:])]
    return ridges(jumps, [1] * a, [Fraction(-i, a) for i in range(a)])


def sparse_zigzag(a: int, k: int) -> ExactNetwork:
    r"""$k$ zigzags of `a` pieces one after the other, kept apart by an idle ReLU: $a^k$ pieces.

    $L=2k$ affine maps, $W=2ak$ non-zero weights, hence $(W/L)^{L/2}$ pieces. The values lie in $[0,1]$, so that the
    ReLU between two zigzags changes nothing there and one neuron carries the value.
    """
    one = zigzag(a)
    parts = [(s.matrix, s.offset, s.rectified) for s in one.steps]
    open_end = [parts[0], (parts[1][0], parts[1][1], [True])]
    return one.rebuilt([*open_end * (_least(k, 1, "zigzags") - 1), *parts])


def square(m: int) -> ExactNetwork:
    r"""$f_m(x)=x-\sum_{s\le m}4^{-s}\Delta^{\circ s}(x)$, the interpolant of $x^2$ at $k2^{-m}$ on $[0,1]$.

    $0\le f_m(x)-x^2\le4^{-(m+1)}$ there, and the bound is attained. There are $m\ge1$ hidden layers of 3 neurons: the
    two of the tent, and the partial sum, which is non-negative on $[0,1]$.
    """
    _least(m, 1, "levels")
    half = Fraction(-1, 2)
    first = ([[1], [1], [1]], [0, half, 0])
    # state (r(u), r(u-1/2), p): the tent of u is 2 r(u) - 4 r(u-1/2), the partial sum p loses 4^-s of it
    weights = [first[0]]
    biases = [first[1]]
    for s in range(1, m):
        loss = Fraction(1, 4**s)
        weights.append([[2, -4, 0], [2, -4, 0], [-2 * loss, 4 * loss, 1]])  # type: ignore[list-item]
        biases.append([0, half, 0])
    loss = Fraction(1, 4**m)
    return ExactNetwork.dense([*weights, [[-2 * loss, 4 * loss, 1]]], [*biases, [0]])


def square_error(m: int) -> Fraction:
    r"""$\|x^2-f_m\|_{\infty,[0,1]}=4^{-(m+1)}$: on a cell of width $h=2^{-m}$ the chord errs by at most $h^2/4$."""
    return Fraction(1, 4 ** (m + 1))


@dataclass(frozen=True, eq=False)
class Approximation:
    """A network and a proved bound of its error on the cube $[-B,B]^d$ of half-width `radius`."""

    network: ExactNetwork
    error: Fraction
    radius: Fraction


def product(m: int, radius: Number = 1) -> Approximation:
    r"""$xy\approx2B^2\big(f_m(\frac{|x+y|}{2B})-f_m(\frac{|x|}{2B})-f_m(\frac{|y|}{2B})\big)$ on $[-B,B]^2$.

    $B$ is `radius`. From $xy=\frac12((x+y)^2-x^2-y^2)$. Each $f_m$ errs within $[0,4^{-(m+1)}]$, so that
    the whole errs by at most $2B^2\cdot2\cdot4^{-(m+1)}=B^24^{-m}$. The product with 0 is exactly 0.
    """
    B = fraction(rational(radius))
    if B <= 0:
        raise UsageError("A radius is positive.", got=radius)
    scaled = precompose(absolute(), [[1 / (2 * B)]])
    one = compose(square(m), scaled)
    triple = precompose(parallel(one, one, one), [[1, 1], [1, 0], [0, 1]])
    weight = 2 * B * B
    return Approximation(postcompose(triple, [[weight, -weight, -weight]]), B * B / 4**m, B)


def polynomial(coefficients: Sequence[Number], m: int, radius: Number = 1) -> Approximation:
    r"""$p(x)=\sum_kc_kx^k$ on $[-B,B]$ by Horner's scheme $p_k=c_k+x\,p_{k+1}$, every product by `product(m, …)`.

    If $\tilde p_{k+1}$ errs by $e$, then $|\tilde p_{k+1}|\le R:=\max|p_{k+1}|+e$, the product on the cube of
    half-width $\max\{B,R\}$ errs by its own bound, and $\tilde p_k$ errs by that bound plus $Be$. All in rationals.
    """
    c = [fraction(rational(a)) for a in coefficients]
    B = fraction(rational(radius))
    if not c:
        raise UsageError("A polynomial needs at least one coefficient.", got=list(coefficients))
    size = abs(c[-1])
    error = Fraction(0)
    net = ExactNetwork.affine([[0]], [c[-1]])
    for a in reversed(c[:-1]):
        step = product(m, max(B, size + error))
        pair = stack(ExactNetwork.affine([[1]]), net)
        net = postcompose(compose(step.network, pair), [[1]], [a])
        error = step.error + B * error
        size = abs(a) + B * size
    return Approximation(net, error, B)


def _least(value: int, least: int, what: str) -> int:
    if value < least:
        raise UsageError(f"The number of {what} is at least {least}.", got=value)
    return value


def folding(k: int, d: int, pieces: int = 2) -> ExactNetwork:
    r"""$k$ foldings of the cube $[0,1]^d$: $x\mapsto(z^{\circ k}(x_1),\dots,z^{\circ k}(x_d))$, $z$ = `zigzag(pieces)`.

    Every folding maps each of $\text{pieces}^d$ smaller cubes onto the whole; hidden widths $\text{pieces}\cdot d$.
    """
    one = zigzag(pieces)
    net = one
    for _ in range(_least(k, 1, "foldings") - 1):
        net = one @ net
    return parallel(*[net] * _least(d, 1, "dimensions"))


def folding_regions(k: int, d: int, pieces: int = 2) -> int:
    r"""Linear regions of `folding` inside $[0,1]^d$: $\text{pieces}^{kd}$."""
    return pieces ** (k * d)
