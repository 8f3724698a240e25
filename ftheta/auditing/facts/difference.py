"""How far two networks are from being the same function."""

import numpy as np

from ftheta.logic import Enclosure, Fact, FthetaError
from ftheta.pieces.domains import Box, Polygon, Segment
from ftheta.pieces.questions.equality import equal
from ftheta.pieces.slices import slice_of
from ftheta.subjects import Network
from ftheta.subjects.layers import MOST_WEIGHTS

from ..part import Part
from .inputs import outputs_at, piecewise_affine, some_rows

ROWS = 4096
MOST_CELLS = 20_000
WHOLE_BOX = 3  # inputs up to which a box is looked at, instead of a plane


def difference(before: Network, after: Network, rng: np.random.Generator) -> Part:
    """The largest difference at some inputs; for small ReLU networks a proof of equality, or a witness against it."""
    x, source = some_rows(before, ROWS, rng)
    one = outputs_at(before, x)
    two = outputs_at(after, x)
    gaps = np.abs(one - two).max(1)
    size = float(np.abs(one).max())
    n = len(x)
    facts = [
        Fact("largest difference of an output", Enclosure.at_least(float(gaps.max()), samples=n), source),
        Fact("mean over the rows", Enclosure.measured(float(gaps.mean()), samples=n), source),
        Fact("largest output", Enclosure.at_least(size, samples=n), source),
    ]
    if one.shape[1] > 1:
        same = int((one.argmax(1) == two.argmax(1)).sum())
        facts.append(Fact("rows with the same prediction", Enclosure.measured(same, samples=n), source))
    return Part((*facts, *_decide_equality(before, after, rng)))


def _decide_equality(before: Network, after: Network, rng: np.random.Generator) -> list[Fact]:
    try:
        forms = [piecewise_affine(net)[0] for net in (before, after)]
        if max(net.parameters for net in (before, after)) > MOST_WEIGHTS:
            return [Fact("equality", "not decided: too many weights for rationals")]
        domain = _domain(before, rng)
        found = equal(forms[0], forms[1], domain, max_cells=MOST_CELLS)
    except FthetaError as error:
        return [Fact("equality", f"not decided: {error.what} {error.got or ''}".strip())]
    where = {Segment: "on a segment", Polygon: "on a plane through the data", Box: "on the box around the data"}
    place = where.get(type(domain), "")
    if found.equal is None:
        return [Fact("equality", f"open: {found.how}", place)]
    if found.equal:
        everywhere = found.how == "equal normal forms"
        return [Fact("equality", f"proved: {found.how}", "on all inputs" if everywhere else place)]
    assert found.witness is not None
    gap = Enclosure.exact(found.witness.gap)
    return [
        Fact("equality", "refuted: a rational point where they differ", place),
        Fact("largest difference, at the witness", Enclosure(gap.lo, np.inf, gap.basis), place),
    ]


def _domain(net: Network, rng: np.random.Generator) -> Box | Polygon | Segment:
    d = int(np.prod(net.input_shape))
    if d > WHOLE_BOX or d == 1:
        return slice_of(d, None if net.data is None else net.data.x, rng, 0.5 if net.data is not None else 3.0)
    if net.data is None:
        return Box([-1.0] * d, [1.0] * d)
    rows = net.data.x.reshape(len(net.data), -1)
    return Box(rows.min(0).tolist(), np.maximum(rows.max(0), rows.min(0) + 1e-9).tolist())
