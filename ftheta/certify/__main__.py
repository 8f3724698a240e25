"""`python -m ftheta.certify` compiles every kernel now and keeps it on disk, so that no first answer waits for it."""

from fractions import Fraction

import numpy as np

from ftheta.relu.network import ReluNetwork

from .questions import Box, Case, Question, Row
from .verification import decide


def main() -> None:
    """Ask a small random network whether its output falls below a bound that it cannot reach."""
    rng = np.random.default_rng(0)
    net = ReluNetwork.dense([rng.normal(size=(4, 2)), rng.normal(size=(1, 4))], [rng.normal(size=4), np.zeros(1)])
    one = Fraction(1)
    case = Case(Box((-one, -one), (one, one)), ((Row({}, {0: one}, Fraction(-1000)),),))
    print(decide(net, Question(2, 1, (case,))).answer)


if __name__ == "__main__":
    main()
