"""How many steps of a semidefinite program so much work is: counted, not timed, so that an answer is the same on every
machine."""

from collections.abc import Sequence

import numpy as np

from ftheta.shapes import Float

from .sectors import System

FLOPS = 1.9e10  # of one second of work
OVERHEAD = 3e-4  # seconds of an evaluation, per layer
EVALUATIONS = 1.6  # of a step, with its line search


def steps_of_chain(weights: Sequence[Float[np.ndarray, "_m _n"]], work: float) -> int:
    """Steps for a chain of matrices; at least 5, at most 600."""
    sizes = [len(W) for W in weights[:-1]]
    first = min(weights[0].shape[1], sizes[0])
    inner = sum(3.0 * n**3 + 3.0 * n * n * m for n, m in zip(sizes, [first, *sizes]))
    seconds = (inner + 3.0 * first**3) / FLOPS + OVERHEAD * len(sizes)
    return int(np.clip(work / (EVALUATIONS * seconds), 5, 600))


def steps_of_system(system: System, work: float) -> int:
    """Steps for a chain of which only neurons with a range of slopes are left; at most 300."""
    total = system.inputs + sum(system.sizes)
    seconds = 12.0 * total**3 / FLOPS + 2 * OVERHEAD * max(1, len(system.sizes))
    return int(np.clip(work / (EVALUATIONS * seconds), 0, 300))
