"""Certificates of 1-Lipschitz layers against rationals: how far a matrix or a residual step stretches a vector."""

from fractions import Fraction

import numpy as np

from ftheta.certify.norms import spectral_norm
from ftheta.certify.unit_lipschitz import bound_orthogonality_defect, bound_potential

from . import Trial


def attempt_orthogonal(rng: np.random.Generator) -> str | None:
    r"""A matrix that is orthogonal up to an error of some size: $|v^\top(Q^\top Q-I)v|\le d\|v\|^2$ in rationals."""
    m, n = sorted(rng.integers(1, 7, size=2))[::-1]
    Q = np.linalg.qr(rng.normal(size=(m, n)))[0]
    Q = Q + 10.0 ** rng.uniform(-18, 0) * rng.normal(size=Q.shape)
    defect = bound_orthogonality_defect(Q if rng.random() < 0.5 else Q.T)
    values, vectors = np.linalg.eigh(Q.T @ Q - np.eye(n))
    v = _rational(vectors[:, int(np.abs(values).argmax())])
    stretched = _times(_matrix(Q), v)
    off = abs(_square(stretched) - _square(v))
    if off > Fraction(defect) * _square(v):
        return f"{Q.tolist()} has a defect of {float(off / _square(v))!r}, the bound is {defect!r}"
    return None


def attempt_potential(rng: np.random.Generator) -> str | None:
    r"""A step $x+V\max(Wx+b,0)$, exact or disturbed, on one of its pieces: $\|(I+VDW)v\|\le L\|v\|$ in rationals."""
    k, d = rng.integers(1, 7, size=2)
    W = 10.0 ** rng.uniform(-6, 6) * rng.normal(size=(k, d))
    step = rng.choice([2.0, rng.uniform(0.1, 4)]) / spectral_norm(W).hi ** 2
    V = -step * W.T
    V = V + 10.0 ** rng.uniform(-18, 0) * np.abs(V).max() * rng.normal(size=V.shape)
    bound = bound_potential(W, V)
    active = (rng.random(k) < rng.choice([0.5, 1.0])).astype(float)
    v = _rational(np.linalg.svd(np.eye(d) + V @ (active[:, None] * W))[2][0])
    inner = [value * int(on) for value, on in zip(_times(_matrix(W), v), active)]
    image = [a + b for a, b in zip(v, _times(_matrix(V), inner))]
    if _square(image) > Fraction(bound) ** 2 * _square(v):
        stretch = float(_square(image) / _square(v)) ** 0.5
        return (
            f"W = {W.tolist()}, V = {V.tolist()} stretches by {stretch!r}, the bound is {bound!r}"
        )
    return None


def _rational(v: np.ndarray) -> list[Fraction]:
    return [Fraction(x) for x in v.tolist()]


def _matrix(A: np.ndarray) -> list[list[Fraction]]:
    return [_rational(row) for row in A]


def _times(A: list[list[Fraction]], v: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, v)), Fraction(0)) for row in A]


def _square(v: list[Fraction]) -> Fraction:
    return sum((x * x for x in v), Fraction(0))


TRIALS = (
    Trial("unit Lipschitz: orthogonality", "a defect above its bound", attempt_orthogonal, few=100),
    Trial(
        "unit Lipschitz: residual steps",
        "a slope above the certified constant",
        attempt_potential,
        few=100,
    ),
)
