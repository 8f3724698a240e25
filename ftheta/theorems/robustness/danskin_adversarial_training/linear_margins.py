r"""A linear classifier on boxes, in rationals: its least margin
$M(w,b)=\min_{\|e\|_\infty\le\varepsilon}y(w^\top(x+e)+b)=y(w^\top x+b)-\varepsilon\|w\|_1$, the directional derivatives
of $M$, and its logistic loss in balls."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from ftheta.networks.description import is_realisation
from ftheta.subjects import Network

BITS = 256


@dataclass(frozen=True)
class Linear:
    """Weights and bias, or a direction of them."""

    weight: tuple[Fraction, ...]
    bias: Fraction

    @property
    def zeros(self) -> int:
        return sum(w == 0 for w in self.weight)

    def move(self, step: Fraction, direction: "Linear") -> "Linear":
        """$\\theta+hv$."""
        weight = tuple(w + step * v for w, v in zip(self.weight, direction.weight))
        return Linear(weight, self.bias + step * direction.bias)

    def __call__(self, x: tuple[Fraction, ...]) -> Fraction:
        return sum((w * t for w, t in zip(self.weight, x)), self.bias)


@dataclass(frozen=True)
class LabelledInput:
    """An input and its label ±1."""

    x: tuple[Fraction, ...]
    y: int

    def least_margin(self, theta: Linear, epsilon: Fraction) -> Fraction:
        """$M$."""
        return self.y * theta(self.x) - epsilon * sum(map(abs, theta.weight), Fraction(0))

    def minimiser(self, theta: Linear, epsilon: Fraction) -> tuple[Fraction, ...]:
        r"""$x-\varepsilon y\,\mathrm{sign}(w)$, the input of the box with the least margin, with $\mathrm{sign}(0)=1$:
        the only one where no weight is zero, one of many otherwise."""
        return tuple(
            t - epsilon * self.y * (-1 if w < 0 else 1) for t, w in zip(self.x, theta.weight)
        )

    def slope(self, theta: Linear, direction: Linear, epsilon: Fraction) -> Fraction:
        r"""$\lim_{h\downarrow0}\frac{M(\theta+hv)-M(\theta)}h$, from the formula for $M$."""
        pairs = zip(theta.weight, direction.weight)
        growth = sum((abs(v) if w == 0 else (v if w > 0 else -v) for w, v in pairs), Fraction(0))
        return self.y * direction(self.x) - epsilon * growth

    def slope_at_minimiser(self, theta: Linear, direction: Linear, epsilon: Fraction) -> Fraction:
        r"""$\langle\nabla_\theta\,y(w^\top x^*+b),v\rangle$ with the minimiser $x^*$ held fixed."""
        return self.y * direction(self.minimiser(theta, epsilon))


def read_linear(net: Network) -> Linear | None:
    """The weights of a network that is one affine map to one number, else None."""
    layers = (
        net.description.layers
        if is_realisation(net.apply, net.params, net.description) and net.description
        else ()
    )
    if len(layers) != 1 or layers[0].activation != "identity" or len(layers[0].weight) != 1:
        return None
    return Linear(
        tuple(map(Fraction, layers[0].weight[0].tolist())), Fraction(float(layers[0].bias[0]))
    )


def worst_loss(rows: list[LabelledInput], theta: Linear, epsilon: Fraction) -> arb:
    r"""$\frac1n\sum_i\log(1+e^{-M_i})$, a ball."""
    with ctx.workprec(BITS):
        total = sum(
            ((1 + (-_ball(row.least_margin(theta, epsilon))).exp()).log() for row in rows), arb(0)
        )
        return total / len(rows)


def loss_slope(
    rows: list[LabelledInput], theta: Linear, direction: Linear, epsilon: Fraction
) -> arb:
    """The slope of the mean logistic loss along the direction, each input held fixed at its minimiser; a ball."""
    with ctx.workprec(BITS):
        total = arb(0)
        for row in rows:
            weight = 1 / (1 + _ball(row.least_margin(theta, epsilon)).exp())
            total -= weight * _ball(row.slope_at_minimiser(theta, direction, epsilon))
        return total / len(rows)


def quotient(after: arb, before: arb, step: Fraction) -> arb:
    """$(b-a)/h$ at the precision of the losses."""
    with ctx.workprec(BITS):
        return (after - before) / _ball(step)


def _ball(q: Fraction) -> arb:
    return arb(fmpq(q.numerator, q.denominator))
