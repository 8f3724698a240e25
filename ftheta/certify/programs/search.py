"""Decide a case of a question for a traced network: by boxes of inputs where these are few."""

from collections.abc import Callable

import numpy as np

from ftheta.certify.quadratic.scope import takes
from ftheta.certify.quadratic.search import QuadraticSearch
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search

from .boxes import BoxSearch
from .network import TracedNetwork
from .ranges import RangeSearch

Propose = Callable[[np.ndarray], bool]

# up to so many, boxes of inputs are bisected; beyond, ranges of slots
MOST_BISECTED_INPUTS_OF_PROGRAM = 40
BOXES_FIRST = 0.15  # of the time, before the signs of neurons in a quadratic function are fixed


def search_program(
    net: TracedNetwork, case: Case, *, seconds: float, propose: Propose
) -> tuple[str, Search]:
    """The method, and what it came to."""
    if any(not rows for rows in case.unsafe):  # met by every input of the box
        centre = np.array([float((a + b) / 2) for a, b in zip(case.box.lo, case.box.hi)])
        return "one point", Search(False, centre, -np.inf, 1, 0 if propose(centre) else 1)
    if net.widths[0] > MOST_BISECTED_INPUTS_OF_PROGRAM:
        return "range splitting", RangeSearch(net, case, seconds, propose).run()
    if not takes(case) or net.quadratic is None:
        return "input splitting", BoxSearch(net, case, seconds, propose).run()
    first = BoxSearch(net, case, BOXES_FIRST * seconds, propose).run()
    if first.closed or first.found is not None or first.interrupted:
        return "input splitting", first
    then = QuadraticSearch(net.quadratic, net, case, (1 - BOXES_FIRST) * seconds, propose).run()
    least = max(first.least, then.least)
    found = Search(
        then.closed, then.found, least, first.boxes + then.boxes, then.open, then.interrupted
    )
    return "quadratic certificates", found
