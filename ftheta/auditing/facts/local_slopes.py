"""How steep the network is near rows of its data: local Lipschitz constants, enclosed."""

import numpy as np

from ftheta.certify.input_regions import Ball
from ftheta.certify.ladder import lipschitz
from ftheta.certify.ladder.chains import read_chain
from ftheta.logic import Enclosure, Fact, SubjectError
from ftheta.subjects import Network

from ..part import Part
from .inputs import ensure_real_inputs, multiplications, some_rows

ROWS = 3
RADIUS = 0.01  # of the largest entry of the data
BUDGET = 0.3  # seconds of counted work per row
MOST = 3e5  # multiplications of one evaluation


def local_lipschitz(net: Network, rng: np.random.Generator) -> Part:
    """The Lipschitz constant near a few rows, between the slope of a secant that was found and a proved bound."""
    ensure_real_inputs(net)
    if read_chain(net) is None or multiplications(net) > MOST:
        raise SubjectError(
            "Requires a chain of dense layers of moderate size.",
            remedy="ft.lipschitz(net, ft.Ball(x, r)) takes longer",
        )
    x, source = some_rows(net, ROWS, rng)
    radius = RADIUS * (float(np.abs(x).max()) or 1.0)
    found = [lipschitz(net, Ball(row, radius, 2), budget=BUDGET) for row in x]
    steepest = Enclosure.between(max(part.lo for part in found), max(part.hi for part in found))
    flattest = Enclosure.between(min(part.lo for part in found), min(part.hi for part in found))
    told = f"2-norm, within {radius:.3g} of {source} (1 % of the largest entry)"
    return Part(
        (
            Fact("local Lipschitz constant, largest of the rows", steepest, told),
            Fact("local Lipschitz constant, smallest of the rows", flattest, told),
        )
    )
