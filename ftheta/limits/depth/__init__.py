"""Infinite depth: residual networks, the flows and diffusions that they tend to, and what that tells of them."""

from .flows import FLOWS as FLOWS
from .flows import Flow as Flow
from .flows import acceleration_of as acceleration_of
from .flows import allowed_variation as allowed_variation
from .flows import ball_euler as ball_euler
from .flows import circling_tanh as circling_tanh
from .flows import distance as distance
from .flows import euler as euler
from .flows import euler_constant as euler_constant
from .flows import growth as growth
from .flows import largest as largest
from .flows import limit_of as limit_of
from .flows import lipschitz_of as lipschitz_of
from .flows import regularity as regularity
from .flows import rotation as rotation
from .flows import runge_kutta as runge_kutta
from .flows import runge_kutta_errors as runge_kutta_errors
from .flows import steepest_slope as steepest_slope
from .flows import trajectories as trajectories
