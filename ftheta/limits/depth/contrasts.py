r"""What the limit of deep residual networks needs: weights that vary smoothly with depth, and skip connections.

All of it on $\dot x=\lambda x$, $x(0)=1$, where it can be computed. With independent signs of size η on the weights,
$x_T=\prod_k(1+\frac{\lambda+\eta s_k}T)$ has mean $\mu=(1+\frac\lambda T)^T$ and
$\mathbb E|x_T-e^\lambda|^2=\big((1+\frac\lambda T)^2+\frac{\eta^2}{T^2}\big)^T-2e^\lambda\mu+e^{2\lambda}$, about
$\frac{\eta^2}Te^{2\lambda}$: order $\frac12$ and no better. Plain layers $x\mapsto\frac\lambda Tx$ end at
$(\lambda/T)^T$, near 0: small weights make no identity without a skip connection.
"""

import numpy as np
from flint import arb, ctx

from ftheta.logic import AtMost, Axis, Curves, Enclosure, Rate, Series

from ..orders import observed_order

BITS = 256
DEPTHS = tuple(2**k for k in range(3, 13))


def _errors(rate: float, noise: float, depth: int) -> tuple[arb, arb, arb]:
    """Distances to the limit: of smooth weights, in the mean square of noisy ones, of plain layers."""
    step, end = 1 + arb(rate) / depth, arb(rate).exp()
    mean = step**depth
    square = (step**2 + (arb(noise) / depth) ** 2) ** depth - 2 * end * mean + end**2
    return abs(end - mean), square.sqrt(), abs(end - (arb(rate) / depth) ** depth)


def contrasts(rate: float = 1.0, noise: float = 1.0) -> tuple[tuple[Rate | AtMost, ...], Curves]:
    """Claims about noisy weights and plain layers, and the three errors against depth."""
    with ctx.workprec(BITS):
        found = [_errors(rate, noise, T) for T in DEPTHS]
        T, (_, noisy, plain) = DEPTHS[-1], found[-1]
        floor, last = Enclosure.ball(arb(noise) ** 2 * arb(rate).exp() ** 2 / 2), Enclosure.ball(T * noisy**2)
        half, stays = Enclosure.ball(arb(rate).exp() / 2), Enclosure.ball(plain)
    smooth, rough, flat = (np.array([float(row[k]) for row in found]) for k in range(3))
    claims = (
        *observed_order("error with independent noise on the weights", 0.5, DEPTHS[-5:], rough[-5:], sharp=True),
        AtMost(f"½η²e^(2λ) ≤ T·E|x_T − x(1)|² with noise, T = {T}", floor, last),
        AtMost(f"½e^λ ≤ error of plain layers as small, T = {T}", half, stays),
    )
    series = (
        Series("smooth weights: 1/T", DEPTHS, smooth, "measured"),
        Series("independent noise: 1/√T", DEPTHS, rough, "other"),
        Series("plain layers: no limit", DEPTHS, flat, "other"),
    )
    return claims, Curves("what the limit needs, ẋ = λx", Axis("depth T", "log"), Axis("|x_T − x(1)|", "log"), series)
