"""Numbers read off samples, each with its error and confidence."""

from .means import binomial_interval as binomial_interval
from .means import mean as mean
from .rates import fit_rate as fit_rate
from .worst import largest as largest
from .worst import worst_ratio as worst_ratio
