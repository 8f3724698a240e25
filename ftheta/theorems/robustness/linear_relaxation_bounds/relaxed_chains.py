"""Bounds of one output of a ReLU network over a box, by intervals, by given slopes, and by slopes that are sought."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import BoxSet, Program, linear_bounds
from ftheta.graph.domains.linear.backward import Form
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.slopes import optimise
from ftheta.graph.graph import Slot
from ftheta.relu.network import ReluNetwork


def realise(g: ReluNetwork, x: jax.Array) -> jax.Array:
    """The network as a program, in which every layer's ReLUs are one node: what passes by them is kept apart."""
    parts = [(np.arange(g.widths[0]), x)]
    for step in g.steps:
        matrix = step.dense()
        z = sum(
            (jnp.asarray(matrix[:, columns]) @ part for columns, part in parts),
            jnp.asarray(step.offset),
        )
        on = np.flatnonzero(step.rectified)
        past = np.flatnonzero(~step.rectified)
        if not len(past):
            parts = [(on, jnp.maximum(z, 0.0))]
        elif not len(on):
            parts = [(past, z)]
        else:
            parts = [(on, jnp.maximum(z[on], 0.0)), (past, z[past])]
    ((_, y),) = parts
    return y


@dataclass(frozen=True, eq=False)
class AffineBound:
    """An affine function `slope`·x + `offset` below the output, and its least value over the box."""

    slope: np.ndarray
    offset: float
    least: float

    @classmethod
    def of(cls, form: Form, least: float) -> "AffineBound":
        (A,) = form.coefficients
        slope = np.zeros(1) if A is None else A[0, 0]
        return cls(slope, float(form.offset[0, 0] - form.paid_error[0, 0]), least)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x @ self.slope + self.offset


class RelaxedChain:
    """A network with one output over the box around a centre."""

    def __init__(self, g: ReluNetwork) -> None:
        self.net = g
        with jax.enable_x64(True):
            graph = trace(
                lambda x: realise(g, x),
                jax.ShapeDtypeStruct((g.widths[0],), np.float64),
                fold_rounded=False,
            )
        self.program = Program.of(graph)
        self.output = self.program.graph.outputs[0]

    def box(self, centre: np.ndarray, radius: float) -> BoxSet:
        return BoxSet(Interval.around(centre[None], radius))

    def interval(self, box: BoxSet) -> float:
        return float(linear_bounds(self.program, [box], method="interval").lower[0, 0])

    @cached_property
    def kinks(self) -> tuple[Slot, ...]:
        """The outputs of the ReLUs, layer by layer."""
        made = [node.outputs[0] for node in self.program.graph.nodes if node.primitive == "max"]
        return tuple(slot for slot in made if slot.id in self.program.varying)

    def relax(self, box: BoxSet) -> "RelaxedBox":
        return RelaxedBox(self, box)


class RelaxedBox:
    """The chain over one box: the ranges of all neurons by back-substitution, and bounds of the output from them."""

    def __init__(self, chain: RelaxedChain, box: BoxSet) -> None:
        self._chain = chain
        self.box = box
        self._relaxed = enclose(chain.program, [box])

    @cached_property
    def operands(self) -> list[Interval]:
        """The enclosures of the operands of the ReLUs, layer by layer."""
        nodes = {
            node.outputs[0].id: node
            for node in self._chain.program.graph.nodes
            if node.primitive == "max"
        }
        return [self._relaxed.enclosures[nodes[slot.id].inputs[0].id] for slot in self._chain.kinks]

    def plain(self, sign: float = 1.0) -> AffineBound:
        """Each line below a ReLU has slope 1 where it is on over most of its range, else 0 (CROWN)."""
        return self._pull({}, sign)

    def with_slopes(self, slopes: Sequence[np.ndarray]) -> AffineBound:
        """The lines below the ReLUs of each layer have these slopes; where one is NaN, the plain one."""
        guessed = [self._guess(x) for x in self.operands]
        chosen = [np.where(np.isnan(slope), guess, slope) for slope, guess in zip(slopes, guessed)]
        return self._pull(
            {slot.id: slope[None, None] for slot, slope in zip(self._chain.kinks, chosen)}, 1.0
        )

    def climb(self, steps: int) -> AffineBound:
        """Slopes chosen by so many steps of ascent."""
        best = optimise(self._relaxed, [self.box], self._seeds(1.0), steps)
        return AffineBound.of(best.form, float(best.value[0, 0]))

    def _seeds(self, sign: float) -> dict[int, np.ndarray]:
        return {self._chain.output.id: np.full((1, 1, 1), sign)}

    def _pull(self, slopes: dict[int, np.ndarray], sign: float) -> AffineBound:
        form = self._relaxed.pull_back(self._seeds(sign), slopes)
        return AffineBound.of(form, float(form.least([self.box])[0, 0]))

    @staticmethod
    def _guess(operand: Interval) -> np.ndarray:
        low = operand.lo[0]
        high = operand.hi[0]
        return ((low >= 0) | (high > -low)).astype(float)
