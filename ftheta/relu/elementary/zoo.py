r"""The small functions of the exercise slides: each beside its formula in $r(t)=\max\{0,t\}$."""

from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Curves, Identity, Table

from ..exact import ExactNetwork
from ..line.cpa1d import PiecewiseAffine, affine, from_jumps, known
from ..line.points import from_slopes, on_line
from ..line.program import curve, window
from ..matrices import Number, fraction, rational
from .constructions import absolute, identity, minimum, ramp, repu_power, ridges, soft_threshold

ZERO = fmpq(0)
NAMES = ("identity", "absolute value", "ramp", "soft threshold")
RAYS = ((1, 0), (1, 1), (-1, 0), (-1, -1))
"""Rays on the lines y = 0 and x = y, where the neurons of `minimum` vanish: all is linear on the cones between."""


def shape(name: str, threshold: Number = 1) -> PiecewiseAffine:
    """The function itself, by its kinks and slopes."""
    level = fraction(rational(threshold))
    match name:
        case "identity":
            return affine(1)
        case "absolute value":
            return from_slopes([0], [-1, 1], 0, 0)
        case "ramp":
            return from_slopes([0, 1], [0, 1, 0], 0, 0)
        case _:
            jumps = {-level: Fraction(-1), level: Fraction(1)} if level else {}
            return from_jumps(1, jumps, 0, 0)


def formula(name: str, threshold: Number = 1) -> ExactNetwork:
    """The network of the formula."""
    nets = {"identity": identity, "absolute value": absolute, "ramp": ramp}
    return nets[name]() if name in nets else soft_threshold(threshold)


def minimum_error() -> Fraction:
    r"""The largest error of $\min\{x,y\}$ on the four rays; zero there is zero on the plane."""
    net = minimum()
    return max(abs(net(ray)[0] - min(ray)) for ray in RAYS)


def power_error(p: int) -> int:
    """The largest error of the formula for x^p at the integers from -p to p: as many as determine it on either side."""
    return max(abs(repu_power(x, p) - x**p) for x in range(-p, p + 1))


def printed_power(x: int, p: int) -> int:
    r"""$r(x)^p+(-1)^pr(-x)^p$ with $t^0=1$, for every $p\ge0$."""
    return max(x, 0) ** p + (-1) ** p * max(-x, 0) ** p


def sketches(threshold: Number) -> Curves:
    points = [Fraction(k, 16) for k in range(-48, 49)]
    series = [curve(name, shape(name, threshold), points, "other") for name in NAMES]
    return Curves("the exercise sketches", Axis("x"), Axis("value"), tuple(series))


def powers(p: int) -> Curves:
    points = [Fraction(k, 32) for k in range(-40, 41)]
    series = (
        curve(f"r(x)^{p}", lambda x: max(x, 0) ** p, points, "other"),
        curve(f"±r(−x)^{p}", lambda x: (-1) ** p * max(-x, 0) ** p, points, "other"),
        curve(f"their sum, x^{p}", lambda x: repu_power(x, p), points, "measured"),
        curve("at p = 0: 2, not 1", lambda x: printed_power(1 if x >= 0 else -1, 0), points, "reference"),
    )
    return Curves(f"x^{p} from two rectified powers", Axis("x"), Axis("value"), series)


def weights(net: ExactNetwork) -> Table:
    r"""The neurons of $c+\sum_ia_ir(w_ix+b_i)$, one a row."""
    hidden, last = net.steps
    rows = [
        (
            i + 1,
            float(fraction(row.get(0, ZERO))),
            float(fraction(b)),
            float(fraction(last.matrix.rows[0].get(i, ZERO))),
        )
        for i, (row, b) in enumerate(zip(hidden.matrix.rows[:64], hidden.offset))
    ]
    constant = float(fraction(last.offset[0]))
    return Table(f"neurons a·r(wx + b); constant {constant:g}", ("neuron", "w", "b", "a"), tuple(rows))


def atoms(f: PiecewiseAffine, net: ExactNetwork, title: str, most: int = 7) -> Curves:
    """The function over the neurons that it is the sum of (the first few of them)."""
    points, (hidden, last) = window(f), net.steps
    neurons = [
        ridges([last.matrix.rows[0].get(i, ZERO)], [row.get(0, ZERO)], [b])
        for i, (row, b) in enumerate(zip(hidden.matrix.rows[:most], hidden.offset))
    ]
    drawn = [curve(f"neuron {i + 1}", on_line(one)[0], points, "other") for i, one in enumerate(neurons)]
    return Curves(title, Axis("x"), Axis("value"), (*drawn, curve("f, the sum", f, points)))


def exercises(threshold: Number, p: int) -> tuple[Identity, ...]:
    """The formulas of the slides as claims about all real numbers, each reduced to finitely many exact equalities."""
    zero = known(0)
    zoo = {name: (shape(name, threshold) - on_line(formula(name, threshold))[0]).largest[1] for name in NAMES}
    return (
        *(Identity(f"sup |formula − {name}|", known(error), zero) for name, error in zoo.items()),
        Identity("error of min{x, y} on rays, all being linear between", known(minimum_error()), zero),
        Identity(f"error of x^{p} at 0, ±1, …, ±{p}, which determine it", known(power_error(p)), zero),
    )
