"""Curvature: how a loss bends."""

from .curvature import eigenvalue_range as eigenvalue_range
from .curvature import sampled_curvature as sampled_curvature
