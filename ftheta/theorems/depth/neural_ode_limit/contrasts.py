r"""What the limit of deep residual networks needs: weights that vary smoothly with depth, and skip connections.

All of it on $\dot x=\lambda x$, $x(0)=1$, where it can be computed. With independent signs of size η on the weights,
$x_T=\prod_k(1+\frac{\lambda+\eta s_k}T)$ has mean $\mu=(1+\frac\lambda T)^T$ and
$\mathbb E|x_T-e^\lambda|^2=\big((1+\frac\lambda T)^2+\frac{\eta^2}{T^2}\big)^T-2e^\lambda\mu+e^{2\lambda}$, about
$\frac{\eta^2}Te^{2\lambda}$: order $\frac12$ and no better. Plain layers $x\mapsto\frac\lambda Tx$ end at
$(\lambda/T)^T$, near 0: small weights make no identity without a skip connection.
"""

from typing import NamedTuple

from flint import arb, ctx

BITS = 256


class Errors(NamedTuple):
    """Distances to the limit at one depth, as balls: of smooth weights, in the mean square of noisy ones, of plain
    layers."""

    smooth: arb
    noisy: arb
    plain: arb


def errors_at(rate: float, noise: float, depth: int) -> Errors:
    r"""The three distances for $\lambda$ = `rate` and $\eta$ = `noise`."""
    with ctx.workprec(BITS):
        step = 1 + arb(rate) / depth
        end = arb(rate).exp()
        mean = step**depth
        square = (step**2 + (arb(noise) / depth) ** 2) ** depth - 2 * end * mean + end**2
        return Errors(abs(end - mean), square.sqrt(), abs(end - (arb(rate) / depth) ** depth))


def half_limits(rate: float, noise: float) -> tuple[arb, arb]:
    r"""$\frac12\eta^2e^{2\lambda}$ and $\frac12e^\lambda$, as balls."""
    with ctx.workprec(BITS):
        end = arb(rate).exp()
        return arb(noise) ** 2 * end**2 / 2, end / 2
