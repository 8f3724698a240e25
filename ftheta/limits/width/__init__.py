"""Infinite width: kernels of wide networks in closed form, tangent kernels of actual ones, neurons as particles."""

from .angles import arc_cosine as arc_cosine
from .asking import nngp as nngp
from .asking import ntk as ntk
from .flows import MeanField as MeanField
from .flows import mean_field as mean_field
from .regimes import drift_with_width as drift_with_width
from .regimes import lazy_scale as lazy_scale
from .relu import WideLimit as WideLimit
from .relu import gaussian_p_value as gaussian_p_value
from .relu import he_network as he_network
from .relu import he_params as he_params
from .relu import kernel_flow as kernel_flow
from .relu import sign_params as sign_params
from .relu import two_layer as two_layer
from .relu import unscaled as unscaled
from .tangents import Linearised as Linearised
from .tangents import linearised as linearised
