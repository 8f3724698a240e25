"""Ranges of slopes over a set of inputs, from linear bounds of what each activation reads."""

import numpy as np

from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.sets import InputSet
from ftheta.graph.jaxprs import trace
from ftheta.lazy import jax

from .chains import Chain, Ranges
from .curves import slope_range


def prepare(chain: Chain) -> Program:
    """The program of all pre-activations of a chain, to be bounded over many sets."""
    with jax.enable_x64(True):
        example = jax.ShapeDtypeStruct((chain.inputs,), np.float64)
        return Program.of(trace(chain.pre_activations, example, fold_rounded=False))


def local_ranges(chain: Chain, program: Program, sets: InputSet, *, steps: int = 0) -> list[Ranges]:
    """For each of the sets, the slopes of every neuron between any two of its inputs; with `steps` of ascent on the
    free slopes of the linear bounds."""
    relaxed = enclose(program, [sets], steps=steps)
    found = [relaxed.enclosures[slot.id] for slot in program.graph.outputs[: len(chain.words)]]
    count = len(sets.hull.lo)
    return [
        tuple(
            slope_range(word, z.lo[k].ravel(), z.hi[k].ravel())
            for word, z in zip(chain.words, found)
        )
        for k in range(count)
    ]
