"""A network for a function, with a certificate: `approximate` and its constructions."""

from .approximate import METHODS as METHODS
from .approximate import approximate as approximate
from .result import Approximation as Approximation
