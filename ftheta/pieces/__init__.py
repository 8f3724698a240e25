r"""Exact polyhedral complexes of ReLU networks: the pieces on which a network is affine.

`pieces` stores them, `count_pieces` counts them, `stream_pieces` hands them over while it runs. They are pieces of the
*real function with the stored weights*: weights are taken at their exact values, arithmetic is that of real numbers,
and degenerate networks (coincident or concurrent hyperplanes, neurons that vanish on a cell) are handled exactly. What
a cell is, and how zeros are labelled: `ftheta.pieces.complex`.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ftheta.logic.enclosure import Basis as _Basis
from ftheta.logic.enclosure import Enclosure as _Enclosure

from .complex import Cell as Cell
from .complex import Certificate as Certificate
from .complex import Complex as Complex
from .complex import assemble as _assemble
from .complex import sharpen_corners as _sharpened
from .complex import shift_chunk as _shifted
from .domains import Box as Box
from .domains import Domain as Domain
from .domains import Polygon as Polygon
from .domains import Polyline as Polyline
from .domains import Segment as Segment
from .domains import Space as Space
from .enumeration import Chunk as Chunk
from .enumeration import Tally as _Tally
from .geometry import domain_volume as _domain_volume
from .setting import Exactness as Exactness
from .setting import begin as _begin
from .setting import checked_budget as _checked_budget

if TYPE_CHECKING:
    from .functions.triangulation import Triangulation as Triangulation
    from .functions.triangulation import decompile as decompile
    from .questions.equality import Difference as Difference
    from .questions.equality import Equality as Equality
    from .questions.equality import equal as equal

_LATER = {
    "Difference": "questions.equality",
    "Equality": "questions.equality",
    "Triangulation": "functions.triangulation",
    "decompile": "functions.triangulation",
    "equal": "questions.equality",
}  # they read networks of other kinds, whose package waits for JAX


def pieces(
    net: Any,
    domain: Domain,
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    maps: bool = True,
    workers: int = 1,
) -> Complex:
    """All pieces of a network on a domain: a `ReluNetwork`, or anything `ft.load` makes a network of.

    `exact="auto"` decides every sign in float64 with a rigorous error bound and only the open ones in rational
    arithmetic; `exact=True` computes in rational arithmetic throughout; `exact=False` takes open signs for zero and
    says how many there were. `max_cells`, and `max_work` in elementary steps (about a hundred millions a second), end
    at the same cell on every machine; `max_seconds` are of processor time, without that of compilation. Out of budget,
    the pieces found so far are returned and `certificate.complete` is False.
    Without `maps` the affine maps are computed when they are first asked for. With several `workers`, threads share
    polygons and boxes (segments, rational arithmetic and boxes of many dimensions take one): the same pieces, in
    another order.
    """
    budget = _checked_budget(max_cells, max_seconds, max_work)
    maps = maps or isinstance(domain, Polyline)  # its segments have charts of their own
    parts = _begin(net, domain, exact, budget, store=True, maps=maps, workers=workers)
    chunks = []
    total = _Tally(complete=True)
    for i, part in enumerate(parts):
        for chunk in part.chunks:
            chunks.append(_shifted(chunk, i) if i else chunk)
        total = total.plus(part.tally)
        if not part.tally.complete:
            break
    certificate = Certificate.of(total, exact is not False, _domain_volume(domain), parts[0].plan.net)
    whole = _assemble(parts[0].plan, domain, chunks, certificate)
    return _sharpened(whole) if exact == "auto" and not isinstance(domain, Polyline) else whole


def count_pieces(
    net: Any,
    domain: Domain,
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    workers: int = 1,
) -> _Enclosure:
    """The number of pieces, nothing stored, by `workers` threads: exactly, or at least those found in the budget."""
    budget = _checked_budget(max_cells, max_seconds, max_work)
    if isinstance(domain, Space):
        from .methods.space import count_in_space

        return count_in_space(net, domain, exact, budget)
    parts = _begin(net, domain, exact, budget, store=False, maps=False, workers=workers)
    total = _Tally(complete=True)
    for part in parts:
        for _ in part.chunks:
            pass
        total = total.plus(part.tally)
        if not part.tally.complete:
            break
    basis = parts[0].plan.net.basis if exact is not False and total.guessed == 0 else _Basis.FLOAT
    return _Enclosure(total.cells, total.cells if total.complete else float("inf"), basis)


def stream_pieces(
    net: Any,
    domain: Domain,
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    maps: bool = False,
    workers: int = 1,
) -> Iterator[Chunk]:
    """The pieces in chunks of some ten thousand, while the enumeration runs: memory stays bounded."""
    budget = _checked_budget(max_cells, max_seconds, max_work)
    for part in _begin(net, domain, exact, budget, store=True, maps=maps, workers=workers):
        yield from part.chunks


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ftheta.pieces' has no attribute {name!r}")
    return getattr(import_module(f"ftheta.pieces.{_LATER[name]}"), name)


class _CallableModule(ModuleType):
    """`ft.pieces` is this package; called, it is the function of the same name."""

    def __call__(self, *args: Any, **options: Any) -> Complex:
        return pieces(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
