r"""Bounds for all predictors of a class at once: finite classes, VC classes, ReLU networks.

With probability at least $1-\delta$, for every predictor $h$ of the class,

- finite class: $|R_n(h)-R(h)|\le\sqrt{\ln(2|H|/\delta)/2n}$;
- growth function $\Pi$: $|R_n(h)-R(h)|\le\sqrt{\frac8n\ln\frac{4\Pi(2n)}\delta}$ (Vapnik and Chervonenkis), and by
  Sauer and Shelah $\Pi(2n)\le(2en/d)^d$ for a class of VC dimension $d\le2n$.

**ReLU networks** (`bartlett2019`). Where the signs of all units of the layers before it are fixed, a pre-activation
of layer $\ell$ is a polynomial of degree $\ell$ in the $W_\ell$ parameters up to there, and $N$ polynomials of degree
$D$ in $w\le N$ variables have at most $2(2eND/w)^w$ sign vectors (Warren). Layer by layer, with $k_\ell$ units and
$p$ kinks a unit, the 0-1 losses on $m$ rows take at most
$$\Pi(m)\le\prod_{\ell=1}^L2\Big(\frac{2em\,p\,k_\ell\,\ell}{W_\ell}\Big)^{W_\ell},\qquad p\,k_L:=\max\{1,\tbinom K2\}$$
values for $K$ outputs (the class is read off the signs of their differences). All constants are explicit. The lower
bound $\mathrm{VC}\ge\frac1{640}WL\log_2\frac WL$ holds for *some* network of $W$ parameters and $L$ layers, if
$W>640L>640^2$; it says nothing of another one.
"""

from dataclasses import dataclass
from math import ceil, comb, e, floor, inf, log, log2
from typing import Any

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.logic.errors import UsageError
from ftheta.networks import Description, activation
from ftheta.shapes import Float, Shaped

from .balls import BITS, above, ball, check_probability, log_over

KINKS = {"identity": 0, "relu": 1, "leaky-relu": 1}
SOME_NETWORK = 640  # the constant of the lower bound


def finite_class_radius(size: int, n: int, delta: float) -> float:
    r"""$\sqrt{\ln(2|H|/\delta)/2n}$."""
    with ctx.workprec(BITS):
        return above((log_over(delta, 2 * size) / (2 * n)).sqrt())


def finite_class_rows(size: int, radius: float, delta: float) -> int:
    r"""The least $n\ge\frac{\ln(2|H|/\delta)}{2\varepsilon^2}$."""
    if not radius > 0 or size < 1:
        raise UsageError(
            "A radius above 0 and a class of one predictor or more.",
            got=f"ε = {radius}, |H| = {size}",
        )
    with ctx.workprec(BITS):
        return int(
            (log_over(delta, 2 * size) / (2 * ball(radius) ** 2)).upper().ceil().unique_fmpz()
        )


def growth_radius(log_growth: float, n: int, delta: float) -> float:
    r"""$\sqrt{\frac8n(\ln\Pi(2n)+\ln\frac4\delta)}$ from $\ln\Pi(2n)$ or an upper bound of it."""
    with ctx.workprec(BITS):
        return above((8 * (ball(log_growth) + log_over(delta, 4)) / n).sqrt())


def vc_radius(d: int, n: int, delta: float) -> float:
    r"""$\sqrt{\frac8n(d\ln\frac{2en}d+\ln\frac4\delta)}$; for $d>2n$ all $2^{2n}$ labellings are counted instead."""
    with ctx.workprec(BITS):
        growth = (
            arb(0)
            if d == 0
            else (1 + (ball(2 * n) / d).log()) * d
            if d <= 2 * n
            else 2 * n * arb(2).log()
        )
        return above((8 * (growth + log_over(delta, 4)) / n).sqrt())


@dataclass(frozen=True)
class Units:
    """A piecewise linear network as the count needs it: for each layer how many sign decisions it makes for one row
    (`decisions`) and how many parameters there are up to it (`parameters`)."""

    decisions: tuple[int, ...]
    parameters: tuple[int, ...]

    @classmethod
    def of(cls, description: Description) -> "Units | None":
        """None where an activation is not piecewise linear with known kinks."""
        kinks = [KINKS.get(activation(layer.activation).name) for layer in description.layers]
        if None in kinks:
            return None
        sizes = [layer.weight.size + layer.bias.size for layer in description.layers]
        hidden = [int(k or 0) * len(layer.bias) for k, layer in zip(kinks, description.layers)]
        outputs = len(description.layers[-1].bias)
        decisions = [*hidden[:-1], hidden[-1] + max(1, comb(outputs, 2))]
        return cls(tuple(decisions), tuple(np.cumsum(sizes).tolist()))

    @property
    def weights(self) -> int:
        return self.parameters[-1]

    @property
    def depth(self) -> int:
        return len(self.parameters)

    def log_growth(self, m: int) -> float:
        r"""$\ln\Pi(m)$, bounded above; layers of fewer decisions than parameters have at most $2^{\#}$ sign vectors."""
        with ctx.workprec(BITS):
            total = arb(0)
            for degree, (k, w) in enumerate(zip(self.decisions, self.parameters), start=1):
                number = m * k
                every = number * arb(2).log()
                if number > w:
                    warren = arb(2).log() + w * (1 + (arb(2) * number * degree / w).log())
                    every = warren if warren < every else every
                total += every
            return above(total)

    def vc_at_most(self) -> int:
        r"""The largest $m$ with $2^m\le\Pi(m)$: no more points are shattered (one output, or two classes)."""
        fits = lambda m: self.log_growth(m) >= m * log(2) * (1 - 1e-12)
        lo = 1
        hi = 2
        while fits(hi):
            lo = hi
            hi = 2 * hi
        while hi - lo > 1:
            middle = (lo + hi) // 2
            lo, hi = (middle, hi) if fits(middle) else (lo, middle)
        return lo

    def vc_closed_form(self) -> int:
        r"""$L+\bar LW\log_2(4eR\log_2(2eR))$ with $\bar L=\frac1W\sum_\ell W_\ell$ and $R=\sum_\ell\ell k_\ell$."""
        R = max(1, sum(degree * k for degree, k in enumerate(self.decisions, start=1)))
        return ceil(self.depth + sum(self.parameters) * log2(4 * e * R * log2(2 * e * R)))

    def vc_of_some_network(self) -> int | None:
        r"""$\frac1{640}WL\log_2\frac WL$, where the theorem applies."""
        W = self.weights
        L = self.depth
        if not W > SOME_NETWORK * L > SOME_NETWORK**2:
            return None
        return floor(W * L * log2(W / L) / SOME_NETWORK)


def thresholds_deviation(
    x: Float[np.ndarray, "n"], y: Shaped[np.ndarray, "n"], flip: float
) -> float:
    r"""$\sup_h|R_n(h)-R(h)|$ over all half-lines $h=1\{x\gtrless a\}$, for $x$ uniform on $[0,1]$ and
    $y=1\{x>\frac12\}$, flipped with probability `flip`: both risks are known between any two examples, and linear
    there."""
    order = np.argsort(x)
    x = x[order]
    y = y[order].astype(bool)
    wrong = np.concatenate([[0], np.cumsum(y)]) + (~y).sum() - np.concatenate([[0], np.cumsum(~y)])
    risk = lambda a: flip + (1 - 2 * flip) * np.abs(a - 0.5)
    ends = np.concatenate([[0.0], x, [1.0]])
    cuts = np.concatenate([[0.5], ends])
    piece = np.searchsorted(x, cuts, side="right")  # rows below a cut
    at_cut = np.abs(wrong[piece] / len(x) - risk(cuts))
    before = np.abs(wrong[np.searchsorted(x, cuts, side="left")] / len(x) - risk(cuts))
    return float(max(at_cut.max(), before.max()))


def uniform_coverage(
    n: int, delta: float, trials: int, rng: np.random.Generator, flip: float = 0.2
) -> Any:
    """How often some half-line deviates by more than the VC radius of dimension 2, and the deviations themselves."""
    check_probability(delta)
    found = []
    for _ in range(trials):
        x = rng.random(n)
        y = (x > 0.5) ^ (rng.random(n) < flip)
        found.append(thresholds_deviation(x, y, flip))
    deviations = np.array(found)
    radius = vc_radius(2, n, delta)
    return int((deviations > min(radius, inf)).sum()), deviations
