r"""What a network does next to one point, exactly: one-sided slopes, and the kink along a line through it.

Along $v$ a ReLU has the one-sided derivative $r'(z;\dot z)=\dot z$ where $z>0$, $0$ where $z<0$ and $r(\dot z)$ where
$z=0$. The chain rule holds for one-sided derivatives of Lipschitz functions, so one pass through the network gives
$f'(x;v)=\lim_{t\downarrow0}(f(x+tv)-f(x))/t$ in rationals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from .geometry import Point
from .matrices import fraction, vector
from .network import ExactNetwork

ZERO = fmpq(0)


@dataclass(frozen=True)
class Slope:
    """`outputs` is $f'(x;v)$; `turning` says whether a neuron is zero at $x$ and leaves zero along $v$."""

    outputs: tuple[fmpq, ...]
    turning: bool


def slope(net: ExactNetwork, x: Sequence[object], v: Sequence[object]) -> Slope:
    """The one-sided derivative of the network at `x` along `v`."""
    state = vector(x)
    moves = vector(v)
    turning = False
    for step in net.steps:
        z = net.algebra.add(step.matrix.apply(state), step.offset)
        dz = step.matrix.apply(moves)
        turning |= any(on and a == 0 and b != 0 for a, b, on in zip(z, dz, step.rectified))
        state = tuple(max(a, ZERO) if on else a for a, on in zip(z, step.rectified))
        moves = tuple(_rectify(a, b) if on else b for a, b, on in zip(z, dz, step.rectified))
    return Slope(moves, turning)


def _rectify(z: fmpq, dz: fmpq) -> fmpq:
    return dz if z > 0 else ZERO if z < 0 else max(dz, ZERO)


def kink(net: ExactNetwork, x: Sequence[object], normal: Sequence[object]) -> tuple[Fraction, ...]:
    r"""$f'(x;n)+f'(x;-n)$: by how much the slope along the `normal` $n$ jumps at $x$."""
    ahead = slope(net, x, normal)
    behind = slope(net, x, [-t for t in vector(normal)])
    return tuple(fraction(a + b) for a, b in zip(ahead.outputs, behind.outputs))


def is_clean(net: ExactNetwork, x: Sequence[object], along: Sequence[Sequence[object]]) -> bool:
    r"""Whether no neuron that vanishes at `x` moves in a direction of `along`, which spans a hyperplane, or back.

    Then next to $x$ every neuron keeps its sign on either side of that hyperplane: $f$ is affine on both sides, and its
    gradient jumps across it by the same amount in a whole neighbourhood.
    """
    both = [[sign * t for t in vector(v)] for v in along for sign in (1, -1)]
    return not any(slope(net, x, v).turning for v in both)


def across(normal: Sequence[fmpq]) -> list[Point]:
    r"""A basis of the vectors orthogonal to the `normal`: $n_ie_j-n_je_i$ for one $i$ with $n_i\ne0$."""
    i = next(k for k, t in enumerate(normal) if t)
    basis = []
    for j, t in enumerate(normal):
        if j != i:
            v = [ZERO] * len(normal)
            v[i], v[j] = -t, normal[i]
            basis.append(tuple(v))
    return basis
