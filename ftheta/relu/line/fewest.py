r"""The smallest one-hidden-layer network of a piecewise-affine function on the line.

A neuron makes at most one kink, so $m$ kinks need $m$ neurons, one a kink with outer weight the jump $J_i$, pointing
left or right. Those that point left, $i\in S$, give the slope at $-\infty$: $s_0=-\sum_{i\in S}J_i$. So $m$ neurons do
exactly when $-s_0$ is a sum of some of the jumps (empty sums included), and $m+1$ always do.
"""

from fractions import Fraction

from ftheta.logic.enclosure import Enclosure

from ..elementary import ridges
from ..network import ExactNetwork
from .cpa1d import PiecewiseAffine
from .points import line_network

MOST_SUMS = 1 << 12


def left_pointing(f: PiecewiseAffine) -> frozenset[int] | bool | None:
    """Kinks whose jumps sum to minus the first slope; None if there are none; False if that was not settled."""
    if 0 in f.slopes:  # then the kinks before a flat piece will do
        return frozenset(range(f.slopes.index(Fraction(0))))
    reached: dict[Fraction, int] = {Fraction(0): 0}  # every sum with the bit mask of one choice
    for i, jump in enumerate(f.jumps.values()):
        reached = {**{total + jump: mask | 1 << i for total, mask in reached.items()}, **reached}
        if len(reached) > MOST_SUMS:
            return False
    mask = reached.get(-f.slopes[0])
    return None if mask is None else frozenset(i for i in range(len(f.kinks)) if mask >> i & 1)


def fewest(f: PiecewiseAffine) -> tuple[ExactNetwork, Enclosure]:
    """A one-hidden-layer network with as few neurons as are known to do, and the least number possible."""
    m = len(f.kinks)
    if m == 0:
        neurons = 2 if f.slopes[0] else 0
        return line_network(f), Enclosure.exact(neurons)
    left = left_pointing(f)
    if not isinstance(left, frozenset):
        net = line_network(f)
        return net, Enclosure.exact(m + 1) if left is None else Enclosure.between(m, m + 1)
    signs = [-1 if i in left else 1 for i in range(m)]
    jumps = list(f.jumps.values())
    shift = [-e * t for e, t in zip(signs, f.kinks)]
    first = f.kinks[0]
    there = sum(
        (j * max(Fraction(0), e * (first - t)) for j, e, t in zip(jumps, signs, f.kinks)),
        Fraction(0),
    )
    return ridges(jumps, signs, shift, f.values[0] - there), Enclosure.exact(m)
