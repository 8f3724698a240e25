"""The soft threshold as two ReLUs: a claim that proximal descent and unrolled sparse coding share."""

from fractions import Fraction

from ftheta.logic import Enclosure, Identity


def soft_threshold_is_relu(level: Fraction) -> Identity:
    r"""$S_\lambda(x)=\mathrm{relu}(x-\lambda)-\mathrm{relu}(-x-\lambda)=x-\mathrm{clip}(x,-\lambda,\lambda)$ for every
    real $x$: the three are affine between $-\lambda$ and $\lambda$ and beyond, so four points decide."""
    relu = lambda t: max(t, Fraction(0))
    gap = Fraction(0)
    for x in (-level - 1, -level, level, level + 1):
        sign = (x > 0) - (x < 0)
        soft = sign * relu(abs(x) - level)
        gap = max(
            gap,
            abs(soft - (relu(x - level) - relu(-x - level))),
            abs(soft - (x - min(max(x, -level), level))),
        )
    return Identity(
        "S_λ − two ReLUs, S_λ + clip − I, on the whole line",
        Enclosure.exact(gap),
        Enclosure.exact(0),
    )
