"""`python -m ftheta.certify` compiles every kernel now and keeps it on disk, so that no first answer waits for it."""

from fractions import Fraction

import numpy as np

from ftheta.relu.network import ReluNetwork

from .boxes import InputSearch
from .neurons.enclosing import enclose
from .neurons.inputs import Inputs
from .neurons.search import search_neurons
from .questions import Box, Case, Row


def main() -> None:
    """Search the boxes of inputs of a small network, and fix signs of neurons of another one."""
    rng = np.random.default_rng(0)
    small = _draw_network(rng, 2, 4, 1)
    InputSearch(small, _ask(small, -1000), lambda _: False, lambda *_: None).compile()
    print("boxes of inputs: compiled")
    wide = _draw_network(rng, 20, 8, 8, 1)
    search_neurons(wide, _ask(wide, 0), seconds=1.0, propose=lambda _: False)
    enclose(wide, Inputs(-np.ones(20), np.ones(20)), splits=1)
    print("signs of neurons: compiled")


def _draw_network(rng: np.random.Generator, *widths: int) -> ReluNetwork:
    shapes = list(zip(widths[1:], widths[:-1]))
    return ReluNetwork.dense(
        [rng.normal(size=s) for s in shapes], [rng.normal(size=s[0]) for s in shapes]
    )


def _ask(net: ReluNetwork, bound: int) -> Case:
    """Whether the output falls below a bound."""
    one = Fraction(1)
    inputs = net.widths[0]
    return Case(Box((-one,) * inputs, (one,) * inputs), ((Row({}, {0: one}, Fraction(bound)),),))


if __name__ == "__main__":
    main()
