"""What is claimed of filters read as differential operators."""

from fractions import Fraction
from functools import lru_cache
from math import factorial, prod
from typing import Any

import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, FthetaError, Identity, Series, Table
from ftheta.networks.architectures import Conv, table_of
from ftheta.theorems.orders import observed_order

from .heat import Diffusion, diffusion_of, slide
from .stencils import CENTRED_DIFFERENCE, SECOND_DIFFERENCE, Stencil, exponents, filters_of, from_moments

READ = 8  # filters that are read
SIDE = 64  # of the ring on which a diffusion is run
STEPS = (0.4, 0.2, 0.1)
TERMS = 6
WAVE = (1.0, 0.7, 0.4)
PHASE = 0.4


@lru_cache(maxsize=2)
def read(net: Any) -> list[Stencil] | FthetaError:
    """The largest filters of the first convolution of a network, or why there are none."""
    try:
        return stencils_of(filters_of(net))
    except FthetaError as error:
        return error


def diffusion(net: Any, steps: int) -> Diffusion | None:
    """The residual layers u + q*u of a network whose first convolution is one filter that diffuses."""
    found = read(net)
    if isinstance(found, FthetaError) or len(found) > 1:
        return None
    return diffusion_of(found[0], SIDE if found[0].dimension == 1 else SIDE // 2, steps)


def stencils_of(filters: np.ndarray) -> list[Stencil]:
    """The filters with the largest weights, from (outputs, inputs, *window)."""
    flat = filters.reshape(-1, *filters.shape[2:])
    order = np.argsort(-np.abs(flat).reshape(len(flat), -1).sum(1), kind="stable")
    return [Stencil(flat[k]) for k in order[:READ]]


def _wave(*x: float) -> float:
    return float(np.cos(np.dot(WAVE[: len(x)], x) + PHASE))


def there_and_back(stencils: list[Stencil]) -> Claim:
    worst = Fraction(0)
    for stencil in stencils:
        taps = from_moments(stencil.moments, stencil.weights.shape)
        worst = max(worst, *(abs(q - stencil.taps.get(at, 0)) for at, q in taps.items()))
    what = f"largest error of {len(stencils)} filters made again from their moments, in rationals"
    return Identity(what, Enclosure.exact(worst), Enclosure.exact(0))


def expansion(stencils: list[Stencil]) -> Claim:
    r"""The series up to order 5 on a cosine against its remainder, $\sum_k|q_k|(|k|_1h|\omega|_\infty)^6/6!$."""
    worst = 0.0
    for stencil in stencils:
        omega = WAVE[: stencil.dimension]
        for h in STEPS:
            value = stencil.applied(_wave, (0.0,) * stencil.dimension, h)
            bound = stencil.remainder(h, TERMS, max(omega))
            gap = abs(value - stencil.series(omega, PHASE, h, TERMS))
            worst = largest(worst, worst_ratio(gap, bound))
    what = f"error of the series below order {TERMS} on a cosine, over its remainder; steps {STEPS}"
    return AtMost(what, Enclosure.equal(worst), Enclosure.exact(1))


def accuracy(stencil: Stencil, *, rate: bool) -> tuple[Claim, ...]:
    r"""$h^{-d}\sum_kq[k]f(x+kh)$ tends to the leading operator, at the order $p$ that the moments tell: the error is at
    most $h^p\sum_k|q_k|(|k|_1|\omega|_\infty)^{d+p}/(d+p)!$. With `rate` the order is fitted, too."""
    d = stencil.derivative()
    order = stencil.accuracy()
    if d is None or order is None or d > 4:
        return ()
    omega = WAVE[: stencil.dimension]
    turned = np.cos(PHASE + d * np.pi / 2)
    limit = sum(
        float(stencil.moment(a)) * prod(w**k for w, k in zip(omega, a)) / prod(map(factorial, a)) * turned
        for a in exponents(stencil.dimension, d)
    )
    steps = 0.5 ** np.arange(1.0, 6.0)
    origin = (0.0,) * stencil.dimension
    values = [stencil.applied(_wave, origin, h) / h**d for h in steps]
    errors = np.abs(np.array(values) - limit)
    bounds = np.array([stencil.remainder(h, d + order, max(omega)) / h**d for h in steps])
    slack = 1e-12 * float(np.abs(stencil.weights).sum()) / steps**d  # what rounding of the terms may leave
    ratio = float(((errors - slack) / bounds).max())
    what = f"error of the leading operator on a cosine, over its bound, which is of order h^{order}"
    bound = AtMost(what, Enclosure.equal(ratio), Enclosure.exact(1))
    fitted = "error of the operator on a cosine, in 1/h"
    return (bound, *(observed_order(fitted, order, 1 / steps, errors) if rate else ()))


def is_one_layer(net: Any) -> bool:
    """Whether the network is a table of one convolution of one channel on a ring: a filter, slid along."""
    table = table_of(net)
    alone = table is not None and table.circular and len(table.layers) == 1 and isinstance(table.layers[0], Conv)
    return alone and net.input_shape[0] == 1 and net.output_shape == net.input_shape


def as_layer(net: Any, stencil: Stencil, rng: np.random.Generator) -> tuple[Claim, ...]:
    """The network is the filter, slid along."""
    if not is_one_layer(net):
        return ()
    u = rng.normal(size=net.input_shape)
    gap = float(np.abs(np.asarray(net(u)) - slide(stencil, u)).max())
    what = "f(u) minus Σ q[k] u(·+k), u random on the ring"
    return (Identity(what, Enclosure.equal(gap), Enclosure.exact(0), atol=1e-9 * float(np.abs(stencil.weights).sum())),)


def textbook() -> dict[str, Enclosure | float]:
    """Moments of the two differences of every textbook, and the second one of cos at 0 with h = 0.1."""
    second = Stencil(SECOND_DIFFERENCE)
    centred = Stencil(CENTRED_DIFFERENCE)
    found = {f"[1, −2, 1]: moment {k}": Enclosure.exact(second.moment((k,))) for k in range(5)}
    found |= {f"[−½, 0, ½]: moment {k}": Enclosure.exact(centred.moment((k,))) for k in range(4)}
    return found | {"[1, −2, 1]/h² of cos at 0, h = 0.1": second.applied(np.cos, (0.0,), 0.1) / 0.01}


def table(stencils: list[Stencil]) -> Table:
    rows = []
    for k, s in enumerate(stencils, 1):
        order = s.derivative()
        accurate = s.accuracy()
        told = "–" if order is None else order, "–" if accurate is None else accurate
        rows.append((k, "×".join(map(str, s.weights.shape)), s.operator(), *told))
    columns = ("filter", "taps", "operator, h = 1", "order of the derivative", "order of the error")
    return Table("filters as differential operators", columns, tuple(rows))


def response(stencil: Stencil) -> Curves:
    """What the filter multiplies a wave along the first axis by, beside its leading operator."""
    omega = np.linspace(0, np.pi, 121)
    values = sum(float(q) * np.exp(1j * at[0] * omega) for at, q in stencil.taps.items())
    d = stencil.derivative() or 0
    lead = float(stencil.moment((d, *[0] * (stencil.dimension - 1)))) / factorial(d)
    series = (
        Series("filter", omega, np.abs(values)),
        Series(f"leading operator, order {d}", omega, np.abs(lead) * omega**d, "reference"),
    )
    return Curves("response to waves", Axis("frequency ω (h = 1)"), Axis("|q̂(ω)|"), series)
