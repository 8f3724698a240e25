"""Descriptions of networks, their sizes, and the files they live in."""

from .activations import ACTIVATIONS as ACTIVATIONS
from .activations import Activation as Activation
from .activations import activation as activation
from .counts import Counts as Counts
from .counts import count as count
from .description import Dense as Dense
from .description import Description as Description
from .description import random_mlp as random_mlp
