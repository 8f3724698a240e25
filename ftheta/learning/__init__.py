"""Learning from examples: risks, losses and what they estimate, linear models, kernels. See docs/learning.md."""

from .bayes import ConditionalLaw as ConditionalLaw
from .bayes import Groups as Groups
from .calibration import Calibration as Calibration
from .calibration import calibration as calibration
from .features import Features as Features
from .features import features as features
from .features import linear_probe as linear_probe
from .kernels import Kernel as Kernel
from .kernels import KernelRidge as KernelRidge
from .kernels import kernel as kernel
from .kernels import kernel_ridge as kernel_ridge
from .likelihoods import likelihood as likelihood
from .linear import condition as condition
from .linear import exact_least_squares as exact_least_squares
from .linear import logistic_regression as logistic_regression
from .risks import FiniteLaw as FiniteLaw
from .risks import Risk as Risk
from .risks import bootstrap as bootstrap
from .risks import expected_risks as expected_risks
from .risks import risk as risk
from .separation import Separation as Separation
from .separation import separation as separation
