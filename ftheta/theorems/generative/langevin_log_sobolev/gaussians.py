"""Langevin dynamics between Gaussians in closed form, in balls."""

from flint import arb

from ftheta.flows.mixtures import Mixture


def decay(law: Mixture, start: float, spread: float, t: float) -> tuple[arb, arb]:
    """The squared distance of the mean from that of the target, and the variance, at time t."""
    s2 = arb(law.variance)
    fade = (-arb(t) / s2).exp()
    centre = law.atoms[0].tolist()
    off = [arb(start if j == 0 else 0.0) - arb(c) for j, c in enumerate(centre)]
    return fade**2 * sum((o**2 for o in off), arb(0)), s2 + (arb(spread) ** 2 - s2) * fade**2


def divergence(law: Mixture, away: arb, v: arb) -> arb:
    ratio = v / arb(law.variance)
    return (away / arb(law.variance) + law.atoms.shape[1] * (ratio - 1 - ratio.log())) / 2


def wasserstein(law: Mixture, away: arb, v: arb) -> arb:
    step = v.sqrt() - arb(law.variance).sqrt()
    # powers of balls around 0 are NaN, and so are their roots
    square = away + law.atoms.shape[1] * step * step
    half = square.upper().sqrt() / 2
    return square.sqrt() if square > 0 or square.is_zero() else arb(half, half.upper())
