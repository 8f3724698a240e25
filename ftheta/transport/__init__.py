"""Optimal transport and two-sample tests: exact on the line, exact in general, entropic, between Gaussians, sliced.

`transport` finds a plan and encloses its cost, `distance` compares two samples with an interval and a p-value.
"""

import sys
from types import ModuleType
from typing import Any

from .distances import Distance as Distance
from .distances import distance as distance
from .solving import Plan as Plan
from .solving import Transport as Transport
from .solving import transport as transport


class _CallableModule(ModuleType):
    """`ft.transport` is this package; called, it is the function of the same name."""

    def __call__(self, *args: Any, **options: Any) -> Transport:
        return transport(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
