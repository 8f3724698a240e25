"""Values that the catalogue states, each recomputed independently: one file a chapter."""

from . import (
    architectures,
    attention,
    depth,
    equivariance,
    generalisation,
    generative,
    gradients,
    optimisation,
    perceptrons,
    piecewise,
    risk,
    robustness,
    universality,
    width,
)
from .reference import Reference

REFERENCE: dict[str, list[Reference]] = {}
for _chapter in (
    architectures,
    attention,
    depth,
    equivariance,
    generalisation,
    generative,
    gradients,
    optimisation,
    perceptrons,
    piecewise,
    risk,
    robustness,
    universality,
    width,
):
    REFERENCE |= _chapter.VALUES
