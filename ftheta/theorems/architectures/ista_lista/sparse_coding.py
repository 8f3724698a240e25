r"""Sparse codes of many signals: ISTA and FISTA, certified by duality, and ISTA as a ReLU network.

The code of a signal $x$ in the dictionary $A$ minimises $F(\alpha)=\frac12\|x-A\alpha\|^2+\lambda\|\alpha\|_1$. ISTA
is $\alpha\leftarrow S_\theta(\tau A^\top x+(I-\tau A^\top A)\alpha)$ with $\theta=\tau\lambda$, $\tau=\frac hL$,
$L=\|A\|^2$. As $S_\theta(v)=r(v-\theta)-r(-v-\theta)$, $K$ steps are $K$ layers of $2d$ ReLUs with the same weights.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ftheta.certify.norms import spectral_norm
from ftheta.logic import SubjectError
from ftheta.relu.network import ReluNetwork, Step

POLISH = 2000  # steps of FISTA before the equations of the supports are solved


def shrink(v: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    r"""$S_\theta(v)=\mathrm{sign}(v)\max(|v|-\theta,0)$."""
    return np.sign(v) * np.maximum(np.abs(v) - level, 0)


@dataclass(frozen=True, eq=False)
class SparseCoding:
    r"""Dictionary `A` (n, d), `signals` (m, n) one per row, penalty `weight` $\lambda$, step $h/L$ with `step` $h$.

    Codes are rows too, of shape (m, d)."""

    A: np.ndarray
    signals: np.ndarray
    weight: float
    step: float = 1.0

    def __post_init__(self) -> None:
        if (
            self.A.ndim != 2
            or self.signals.ndim != 2
            or self.signals.shape[1] != len(self.A)
            or not self.A.any()
        ):
            raise SubjectError(
                "Sparse coding needs a dictionary (n, d), not zero, and signals (m, n).",
                got=f"dictionary {self.A.shape}, signals {self.signals.shape}",
                remedy="one column of the dictionary is one atom; a signal has as many entries as an atom",
            )

    @cached_property
    def smoothness(self) -> float:
        r"""$L=\|A\|_2^2$, rounded outward."""
        return float((spectral_norm(self.A) * spectral_norm(self.A)).hi)

    @property
    def tau(self) -> float:
        return self.step / self.smoothness

    def take_step(self, codes: np.ndarray) -> np.ndarray:
        """One step of ISTA from each row."""
        residual = self.signals - codes @ self.A.T
        return shrink(codes + self.tau * residual @ self.A, self.tau * self.weight)

    def ista(self, steps: int) -> np.ndarray:
        """The codes after 0, …, K steps from 0, of shape (K + 1, m, d)."""
        found = [np.zeros((len(self.signals), self.A.shape[1]))]
        for _ in range(steps):
            found.append(self.take_step(found[-1]))
        return np.array(found)

    def fista(self, steps: int, keep: bool = True) -> np.ndarray:
        """The same of FISTA; without `keep` the last codes alone, of shape (1, m, d)."""
        before = ahead = np.zeros((len(self.signals), self.A.shape[1]))
        found = [before]
        t = 1.0
        for _ in range(steps):
            new = self.take_step(ahead)
            later = (1 + (1 + 4 * t * t) ** 0.5) / 2
            ahead = new + (t - 1) / later * (new - before)
            before = new
            t = later
            found = [*found, new] if keep else [new]
        return np.array(found)

    def values(self, codes: np.ndarray) -> np.ndarray:
        r"""$F$ of every code."""
        return ((self.signals - codes @ self.A.T) ** 2).sum(-1) / 2 + self.weight * np.abs(
            codes
        ).sum(-1)

    def duals(self, codes: np.ndarray) -> np.ndarray:
        r"""$\frac12\|x\|^2-\frac12\|x-\nu\|^2\le F^*$ for $\nu\propto x-A\alpha$,
        $\|A^\top\nu\|_\infty\le\lambda$."""
        residual = self.signals - codes @ self.A.T
        slope = np.abs(residual @ self.A).max(-1)
        nu = residual * np.minimum(1.0, self.weight / np.maximum(slope, 1e-300))[..., None]
        return ((self.signals**2).sum(-1) - ((self.signals - nu) ** 2).sum(-1)) / 2

    def gaps(self, codes: np.ndarray) -> np.ndarray:
        """F − dual value: how far each code can be from optimal."""
        return self.values(codes) - self.duals(codes)

    @cached_property
    def solution(self) -> np.ndarray:
        """FISTA with h = 1, then the equations of each support where they make the gap smaller."""
        plain = SparseCoding(self.A, self.signals, self.weight)
        found = plain.fista(POLISH, keep=False)[-1]
        polished = found.copy()
        for code, x in zip(polished, self.signals):
            on = code != 0
            if on.any():
                B = self.A[:, on]
                code[on] = np.linalg.lstsq(
                    B.T @ B, B.T @ x - self.weight * np.sign(code[on]), rcond=None
                )[0]
        better = self.gaps(polished) < self.gaps(found)
        return np.where(better[:, None], polished, found)

    def network(self, layers: int) -> ReluNetwork:
        """ISTA as a ReLU network from signal to code: a state (p, q, τAᵀx) with α = p − q, p and q rectified."""
        d = self.A.shape[1]
        level = np.full(self.A.shape[1], self.tau * self.weight)
        encode = self.tau * self.A.T
        move = np.eye(d) - self.tau * self.A.T @ self.A
        offset = np.concatenate([-level, -level, np.zeros(d)])
        rectified = np.repeat([True, True, False], d)
        one = np.eye(d)
        first = Step(np.vstack([encode, -encode, encode]), offset, rectified)
        tied = np.block([[move, -move, one], [-move, move, -one], [np.zeros((d, 2 * d)), one]])
        last = Step(np.hstack([one, -one, np.zeros((d, d))]), np.zeros(d), np.zeros(d, bool))
        return ReluNetwork(
            (first, *(Step(tied, offset, rectified) for _ in range(layers - 1)), last)
        )


def exact_code(
    Q: list[list[Fraction]], x: list[Fraction], weight: Fraction
) -> tuple[list[Fraction], Fraction]:
    r"""For orthonormal columns: one step of ISTA from 0 with $L=1$, $S_\lambda(Q^\top x)$, and by how much it misses
    the conditions $Q^\top(x-Q\alpha)\in\lambda\,\partial\|\alpha\|_1$, in rationals."""
    columns = list(zip(*Q))
    correlations = [sum((a * b for a, b in zip(q, x)), Fraction(0)) for q in columns]
    code = [(1 if c > 0 else -1) * max(abs(c) - weight, Fraction(0)) for c in correlations]
    residual = [b - sum((a * v for a, v in zip(row, code)), Fraction(0)) for row, b in zip(Q, x)]
    slopes = [sum((a * b for a, b in zip(q, residual)), Fraction(0)) for q in columns]
    misses = [
        abs(s - weight * (1 if c > 0 else -1)) if c else max(abs(s) - weight, Fraction(0))
        for s, c in zip(slopes, code)
    ]
    return code, max(misses)
