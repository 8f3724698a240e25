"""Certified bounds: norms with their rounding enclosed, and how steep a network can be."""

from .lipschitz import Secant as Secant
from .lipschitz import inputs_near as inputs_near
from .lipschitz import layer_norms as layer_norms
from .lipschitz import product_bound as product_bound
from .lipschitz import slope as slope
from .lipschitz import steepest_secant as steepest_secant
from .norms import convolution_norm as convolution_norm
from .norms import frobenius_norm as frobenius_norm
from .norms import spectral_norm as spectral_norm
