"""Risks and what a loss estimates; linear models; bounds on the risk of a trained network."""

from .bayes import ConditionalLaw as ConditionalLaw
from .bayes import Groups as Groups
from .empirical import FiniteLaw as FiniteLaw
from .empirical import Risk as Risk
from .empirical import bootstrap as bootstrap
from .empirical import expected_risks as expected_risks
from .empirical import risk as risk
from .linear import condition as condition
from .linear import exact_least_squares as exact_least_squares
from .linear import logistic_regression as logistic_regression
from .separation import Separation as Separation
from .separation import separation as separation
