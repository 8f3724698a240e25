r"""Exact polyhedral complexes of ReLU networks: the pieces on which a network is affine.

`pieces` stores them, `count_pieces` counts them, `stream_pieces` hands them over while it runs. They are pieces of the
*real function with the stored weights*: weights are taken at their exact values, arithmetic is that of real numbers,
and degenerate networks (coincident or concurrent hyperplanes, neurons that vanish on a cell) are handled exactly. What
a cell is, and how zeros are labelled: `ftheta.pieces.cells`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ftheta.calling import accept_modules

from .cells import Cell as Cell
from .cells import Certificate as Certificate
from .complex import Complex as Complex
from .domains import Box as Box
from .domains import Domain as Domain
from .domains import Polygon as Polygon
from .domains import Polyline as Polyline
from .domains import Segment as Segment
from .domains import Space as Space
from .enumeration import Chunk as Chunk
from .search import count_pieces as count_pieces
from .search import pieces as pieces
from .search import stream_pieces as stream_pieces
from .setting import Exactness as Exactness

if TYPE_CHECKING:
    from .functions.triangulation import Triangulation as Triangulation
    from .functions.triangulation import decompile as decompile
    from .questions.equality import Difference as Difference
    from .questions.equality import Equality as Equality
    from .questions.equality import equal as equal

# they read networks of other kinds, whose package waits for JAX
_LATER = {
    "Difference": "questions.equality",
    "Equality": "questions.equality",
    "Triangulation": "functions.triangulation",
    "decompile": "functions.triangulation",
    "equal": "questions.equality",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ftheta.pieces' has no attribute {name!r}")
    return getattr(import_module(f"ftheta.pieces.{_LATER[name]}"), name)


class _CallableModule(ModuleType):
    """`ft.pieces` is this package; called, it is the function of the same name."""

    def __call__(self, *args: Any, **options: Any) -> Complex:
        return accept_modules(pieces)(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
