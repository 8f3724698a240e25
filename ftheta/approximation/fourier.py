r"""Barron's norm $C_f=\int|\omega||\hat f|\,d\omega$ of $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$.

**From samples.** A function that has died out at the ends of its box, or is periodic there, has Fourier coefficients
$c_k$ on a grid of $N$ points per side, and $C_f\approx\sum_k|\omega_k||c_k|$. The sum stops at half the sampling
frequency: it is the integral over $|\omega|\le\Lambda$. On the line the kink of $|\omega|$ at 0 costs
$\frac{\Delta\omega^2}6|\hat f(0)|$, which is added back for a function that dies out.

**In closed form.** $e^{-|x|^2/2}$: $\sqrt2\,\Gamma(\frac{d+1}2)/\Gamma(\frac d2)$. $\sum_kA_k\cos(\langle a_k,x\rangle+
\varphi_k)$: $\sum_k|A_k||a_k|$. The hat function $(1-|x|)_+$: $\infty$, as
$\int_{|\omega|\le\Lambda}=\frac2\pi(\gamma+\ln\Lambda-\mathrm{Ci}\,\Lambda)$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import jax
import numpy as np
from flint import acb, arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.witness import Witness
from ftheta.shapes import Float

from .suprema import Scalar, ranges

MOST_VALUES = 1 << 21
SECANTS = 256  # of a function of one variable, held against its norm
QUIET = 1e-6  # what is left at the ends of the box of a function that dies out, as a share of its largest value


@dataclass(frozen=True, eq=False)
class Spectral:
    r"""Fourier coefficients of samples: sizes $|\omega_k|$ and $|\omega_k||c_k|$, in order of size."""

    frequencies: Float[np.ndarray, "k"]
    terms: Float[np.ndarray, "k"]
    correction: float
    quiet: bool

    @classmethod
    def of(
        cls, values: Float[np.ndarray, "*grid"], lo: Sequence[float], hi: Sequence[float]
    ) -> "Spectral":
        """Of samples on a grid of the box, its upper ends left out."""
        d = values.ndim
        n = values.shape
        if not np.isfinite(values).all():
            raise SubjectError(
                "A spectrum needs finite samples.",
                got=f"{int((~np.isfinite(values)).sum())} that are not",
            )
        steps = [2 * pi / (b - a) for a, b in zip(lo, hi)]
        axes = [np.fft.fftfreq(m, 1 / m) * step for m, step in zip(n, steps)]
        size = np.sqrt(sum(w**2 for w in np.meshgrid(*axes, indexing="ij")))
        found = np.abs(np.fft.fftn(values)) / values.size
        order = np.argsort(size, axis=None)
        ends = max(float(np.abs(np.take(values, 0, axis)).max()) for axis in range(d))
        quiet = ends <= QUIET * float(np.abs(values).max())
        correction = steps[0] / 6 * float(found.flat[0]) if quiet and d == 1 else 0.0
        return cls(size.ravel()[order], (size * found).ravel()[order], correction, quiet)

    @property
    def cut(self) -> float:
        r"""$\Lambda$: the frequency that the samples reach."""
        return float(self.frequencies[-1])

    def up_to(self, cut: float) -> float:
        r"""$\int_{|\omega|\le\Lambda}|\omega||\hat f|\,d\omega$."""
        return (
            float(self.terms[: np.searchsorted(self.frequencies, cut, "right")].sum())
            + self.correction
        )


def steeper_than(
    f: Scalar, lo: Sequence[float], hi: Sequence[float], norm: Enclosure
) -> Witness | None:
    r"""A secant of a function of one variable that is steeper than its `norm` $C_f\ge\sup|f'|$; None without one."""
    if len(lo) != 1:
        return None
    x = np.linspace(lo[0], hi[0], SECANTS + 1)[:, None]
    one = lambda row: f(row[0])
    values = np.ravel(np.asarray(jax.vmap(one)(x), np.float64))
    steep = np.abs(np.diff(values)) / np.diff(x[:, 0])
    k = int(np.argmax(np.nan_to_num(steep)))
    if not steep[k] > norm.hi:
        return None
    slope = enclosed_slopes(one, x[k : k + 1], x[k + 1 : k + 2])[0]
    exact = Enclosure.between(norm.lo, norm.hi)
    return Witness(
        {"x": float(x[k, 0]), "y": float(x[k + 1, 0])},
        slope,
        exact,
        "a secant in intervals rounded outward",
    )


def sampled_spectrum(f: Scalar, lo: Sequence[float], hi: Sequence[float], points: int) -> Spectral:
    """The spectrum of a function from `points` samples per side."""
    d = len(lo)
    if points**d > MOST_VALUES:
        raise SubjectError(
            "Too many samples.",
            got=f"{points} per side in dimension {d}",
            remedy="d ≤ 2, or fewer points",
        )
    sides = [np.linspace(a, b, points, endpoint=False) for a, b in zip(lo, hi)]
    rows = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
    box = ranges(f, rows, rows)
    return Spectral.of(((box.lo + box.hi) / 2).reshape((points,) * d), lo, hi)


def gaussian_norm(dimension: int) -> Enclosure:
    r"""$\sqrt2\,\Gamma(\frac{d+1}2)/\Gamma(\frac d2)$ in balls."""
    with ctx.workprec(128):
        half = arb(dimension) / 2
        return Enclosure.ball(arb(2).sqrt() * (half + arb(1) / 2).gamma() / half.gamma())


def gaussian_norm_by_integral(dimension: int) -> Enclosure:
    r"""$\frac{2^{1-d/2}}{\Gamma(d/2)}\int_0^\infty r^de^{-r^2/2}\,dr$, by proved quadrature up to 60 and a tail."""
    with ctx.workprec(128):
        inner = acb.integral(lambda r, _: r**dimension * (-r * r / 2).exp(), 0, 60).real
        # r^d e^(−r²/4) falls beyond 60 for d ≤ 1000
        tail = arb(0, (arb(60) ** dimension) * (-arb(1800)).exp())
        half = arb(dimension) / 2
        return Enclosure.ball((inner + tail) * arb(2) ** (1 - half) / half.gamma())


def hat_norm(cut: float) -> Enclosure:
    r"""$\frac2\pi(\gamma+\ln\Lambda-\mathrm{Ci}\,\Lambda)$."""
    with ctx.workprec(128):
        x = arb(cut)
        return Enclosure.ball(2 / arb.pi() * (arb.const_euler() + x.log() - x.ci()))


def hat_norm_by_integral(cut: float) -> Enclosure:
    r"""$\frac2\pi\int_0^\Lambda\frac{1-\cos\omega}\omega\,d\omega$ by proved quadrature."""
    with ctx.workprec(128):
        smooth = lambda w, _: (w / (2 * acb.pi())).sinc_pi() ** 2 * w / 2
        return Enclosure.ball(2 / arb.pi() * acb.integral(smooth, 0, arb(cut)).real)


def stretched_norm(
    f: Scalar, lo: Sequence[float], hi: Sequence[float], points: int, scale: float
) -> float:
    r"""$s\,C_{f(\cdot/s)}$ from samples, which is $C_f$."""
    low, high = ([scale * end for end in ends] for ends in (lo, hi))
    found = sampled_spectrum(lambda x: f(x / scale), low, high, points)
    return scale * found.up_to(found.cut)
