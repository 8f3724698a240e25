"""Tokens as interacting particles: on the sphere, in closed form, as a measure; what holds in every attention layer."""

from .sphere import SOFTMAX as SOFTMAX
from .sphere import UNNORMALISED as UNNORMALISED
from .sphere import token_cosines as token_cosines
