r"""The generalising solution of modular addition in closed form, as a network.

With $\theta=2\pi/p$ the logit of class $c$ is $\sum_{k=1}^{p-1}\cos k\theta(a+b-c)$: the sum of all $p$-th roots of
unity but 1, raised to the power $m=a+b-c$. It is $p-1$ for $m\equiv0$ and $-1$ for every other $m$. Since
$4uv=(u+v)^2-(u-v)^2$ and

$$\cos k\theta(a+b)=\cos k\theta a\cos k\theta b-\sin k\theta a\sin k\theta b,\qquad
\sin k\theta(a+b)=\sin k\theta a\cos k\theta b+\cos k\theta a\sin k\theta b,$$

eight hidden units with the activation $z^2$ compute a frequency, and $k$ and $p-k$ share them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.logic import Basis, Enclosure, UsageError
from ftheta.networks import Dense, Description

BITS = 80
UNIT = 2.0**-53  # half a unit in the last place of 1
LARGEST = 128


def exact_logits(p: int, frequencies: tuple[int, ...] | None = None) -> list[Enclosure]:
    r"""$\sum_k\cos\frac{2\pi km}p$ for $m=0,\dots,p-1$; of all frequencies $1,\dots,p-1$ unless said.

    With all of them the sum is fixed by every Galois automorphism and integral, so it is an integer, and the ball that
    contains it determines it. With some of them the ball is the answer.
    """
    _ensure_size(p)
    every = tuple(range(1, p))
    chosen = every if frequencies is None else frequencies
    with ctx.workprec(BITS):
        cosines = [arb.cos_pi_fmpq(fmpq(2 * m, p)) for m in range(p)]
        balls = [sum((cosines[k * m % p] for k in chosen), arb(0)) for m in range(p)]
        if tuple(sorted(chosen)) != every:
            return [Enclosure.ball(ball) for ball in balls]
        return [Enclosure.exact(_whole(ball)) for ball in balls]


def _whole(ball: Any) -> int:
    """The only integer in a ball."""
    found = ball.unique_fmpz()
    if found is None:
        raise ValueError(
            f"The ball {ball} does not determine an integer: take more than {BITS} bits."
        )
    return int(found)


def fourier_network(p: int) -> Description:
    """One hidden layer of squares, 2p inputs (unit vectors of a and b), p logits, float64 weights."""
    _ensure_size(p)
    hidden = []
    logits = []
    for k in range(1, p // 2 + 1):
        angle = 2 * np.pi * (k * np.arange(p) % p) / p
        cos = np.cos(angle)
        sin = np.sin(angle)
        shares = 1.0 if 2 * k == p else 2.0
        for u, v, out in ((cos, cos, cos), (sin, sin, -cos), (sin, cos, sin), (cos, sin, sin)):
            hidden += [np.concatenate([u, v]), np.concatenate([u, -v])]
            logits += [shares / 4 * out, -shares / 4 * out]
    W = np.array(hidden)
    V = np.array(logits).T
    return Description((Dense(W, np.zeros(len(W)), "square"), Dense(V, np.zeros(p))))


@dataclass(frozen=True)
class Control:
    """The Fourier network on all p² pairs: `right` answers, the least logit of a right class, the largest of a wrong
    one, and how far any logit is from its exact value."""

    pairs: int
    right: Enclosure
    least_right: Enclosure
    largest_wrong: Enclosure
    error: Enclosure

    @property
    def accuracy(self) -> Enclosure:
        return self.right / self.pairs if self.right.lo < self.pairs else Enclosure.exact(1)


def control(p: int) -> Control:
    r"""Run the network in float64 on every pair; what is said of it holds for its weights in exact arithmetic.

    A unit sees two weights, so that its square carries at most $4u$ relative rounding ($u=2^{-53}$); a sum of $N$
    products in any order carries $(N+1)u$ times the sum of their absolute values. Twice that is added to every bound.
    """
    first, last = fourier_network(p).layers
    a, b = (index.ravel() for index in np.indices((p, p)))
    z = first.weight[:, a] + first.weight[:, p + b]
    h = z * z
    logits = h.T @ last.weight.T
    rounding = 2 * (len(h) + 6) * UNIT * float((h.T @ np.abs(last.weight.T)).max())
    right = np.zeros_like(logits, dtype=bool)
    right[np.arange(p * p), (a + b) % p] = True
    good = logits[right]
    wrong = logits[~right].reshape(p * p, -1)
    certain = int((good - rounding > wrong.max(1, initial=-np.inf) + rounding).sum())
    off = float(np.abs(logits - np.where(right, p - 1, -1)).max())
    largest = float(wrong.max(initial=-np.inf)) if p > 1 else -1.0
    return Control(
        p * p,
        Enclosure.between(certain, p * p) if certain < p * p else Enclosure.exact(p * p),
        _about(float(good.min()), rounding),
        _about(largest, rounding),
        Enclosure.between(0.0, np.nextafter(off + rounding, np.inf)),
    )


def _about(value: float, rounding: float) -> Enclosure:
    return Enclosure.between(value, value, Basis.EXACT).widened(absolute=rounding)


def _ensure_size(p: int) -> None:
    if not 2 <= p <= LARGEST:
        raise UsageError(
            "The Fourier network is for moduli of this size.", where=f"2 to {LARGEST}", got=p
        )
