"""Interacting particles: neurons of a wide layer, tokens under attention."""

from .neurons import MeanField as MeanField
from .neurons import mean_field as mean_field
