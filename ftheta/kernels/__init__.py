"""Reproducing kernels and features, kernels of wide networks in closed form, tangent kernels of actual networks."""

from .dispatch import nngp as nngp
from .dispatch import ntk as ntk
from .features import Features as Features
from .features import features as features
from .linearisation import Linearised as Linearised
from .linearisation import linearised as linearised
from .regimes import drift_with_width as drift_with_width
from .regimes import lazy_scale as lazy_scale
from .reproducing import Kernel as Kernel
from .reproducing import KernelRidge as KernelRidge
from .reproducing import kernel as kernel
from .reproducing import kernel_ridge as kernel_ridge
