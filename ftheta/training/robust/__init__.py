"""Losses at the worst input near each row, for `fit(..., robust=RobustLoss("ibp", 0.1))`. See docs/training.md."""

from .losses import METHODS as METHODS
from .losses import RobustLoss as RobustLoss
