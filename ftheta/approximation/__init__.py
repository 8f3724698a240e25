"""A network for a function, with a certificate: `approximate` and its constructions."""

from .approximate import METHODS as METHODS
from .approximate import approximate as approximate
from .leshno import leshno_chain as leshno_chain
from .rates import measure_rates as measure_rates
from .result import Approximation as Approximation
