"""Claims about a network and its affine pieces that several theorems make."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph import Interval
from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import Enclosure, Identity, Witness
from ftheta.pieces.functions.composition import Window, floats
from ftheta.pieces.functions.partitions import Piece
from ftheta.relu.matrices import fraction
from ftheta.relu.reading.enclosing import gap_to


def agreement_claim(
    view: Window,
    net: Any,
    pieces: Sequence[Piece],
    shape: tuple[int, ...],
    output: int | None = None,
) -> Identity:
    """The function itself at the inner point of every piece, beside the affine map; in float64."""
    x = view.inputs([p.cell.within for p in pieces])
    keep = slice(None) if output is None else slice(output, output + 1)
    found = np.stack([np.ravel(net(row.reshape(shape)))[keep] for row in x])
    meant = np.array([floats(p(p.cell.within))[keep] for p in pieces])
    gap = np.abs(found - meant)
    size = float(np.abs(meant).max(initial=0.0))
    k, o = (int(index) for index in np.unravel_index(int(gap.argmax()), gap.shape))
    atol = 1e-9 * max(size, 1e-300)
    witness = None
    if not gap[k, o] <= atol:
        entry = o if output is None else output
        near = Interval.around(x[k], view.rounding(pieces[k].cell.within)).map(
            lambda end: end.reshape(shape)
        )
        here = Enclosure.exact(fraction(pieces[k](pieces[k].cell.within)[entry]))
        how = "the function near this input in intervals, and the affine map in rationals"
        witness = Witness(
            {"x": tuple(x[k].tolist())}, enclose_entry(net, near, entry=entry), here, how
        )
    what = f"largest |f − (Ax + c)| at inner points of {len(pieces):,} pieces"
    if witness is not None:
        f = lambda point: jnp.ravel(net(point.reshape(shape)))[keep]
        real = gap_to(f, x[k], int(o), float(meant[k, o]))
        if real is not None and real.lo <= atol:  # rounding of the program alone would explain it
            return Identity(what, real, Enclosure.exact(0), atol=atol)
    return Identity(what, Enclosure.equal(float(gap.max())), Enclosure.exact(0), witness, atol=atol)
