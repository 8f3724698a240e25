"""Tangent kernels of actual networks, by the cheapest contraction that fits into memory."""

from .kernel import Choice as Choice
from .kernel import choices as choices
from .kernel import empirical as empirical
from .plan import plan_of as plan_of
from .program import program_of as program_of
