"""Tangent kernels of actual networks, by the cheapest contraction that fits into memory."""

from .contraction_plan import plan_contraction as plan_contraction
from .kernel import Choice as Choice
from .kernel import choices as choices
from .kernel import empirical as empirical
