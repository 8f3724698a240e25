"""A network as a traced program: its values and gradients in floats, and enclosures of its outputs."""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import jax
import numpy as np
from jax import lax

from ftheta.certify.quadratic.scope import MOST_PRODUCTS, fits
from ftheta.certify.questions import round_down, round_up
from ftheta.certify.traced_programs import MEANING, read_program
from ftheta.graph.domains.interval import intervals
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.program import Program, needed_nodes
from ftheta.logic.errors import SubjectError
from ftheta.relu.reading.products import QuadraticNetwork, read_products
from ftheta.shapes import Float

Array = np.ndarray
SINGLE_BITS = (8, 23)
"""Of the exponent and of the mantissa of a float32."""

AT_ONCE = 64
"""Points evaluated at a time: programs are compiled for one number of them."""


class TracedNetwork:
    """The real function that a program denotes, with its constants as stored.

    `widths` are the numbers of inputs and outputs, flattened in the order of a question. In floats, `propagate` and
    `pull_back` serve attacks; `enclose_at` encloses the outputs at a rational point.
    """

    meaning = MEANING
    rounded = ""

    def __init__(self, net: Any, refusal: str = "") -> None:
        """`refusal` says why the network has no ReLU normal form."""
        self.refusal = refusal
        self.name: str = getattr(net, "name", "")
        self.shape: tuple[int, ...] = net.input_shape
        self.program: Program = read_program(net, self.shape)
        self.output_shape: tuple[int, ...] = self.program.graph.outputs[0].shape
        self.widths = (prod(self.shape), prod(self.output_shape))
        self.flat_function: Callable[[Any], Any] = lambda x: net.apply(
            net.params, x.reshape(self.shape)
        ).ravel()

    @cached_property
    def quadratic(self) -> QuadraticNetwork | None:
        """The program as a quadratic function of a ReLU network of few variables, where it is one."""
        found = read_products(self.program.source, MOST_PRODUCTS)
        return found if found is not None and fits(found) else None

    def enclose_at(self, x: tuple[Fraction, ...]) -> Interval:
        """The outputs (flat) at a rational point, with outward rounding."""
        ends = [
            np.array([turn(v) for v in x]).reshape(self.shape) for turn in (round_down, round_up)
        ]
        found = intervals(self.program.source, Interval(*ends)).values[
            self.program.source.outputs[0].id
        ]
        return found.map(np.ravel)

    def label(self, x: tuple[Fraction, ...]) -> int:
        """The largest output at a rational point."""
        y = self.enclose_at(x)
        best = int(y.lo.argmax())
        others = np.delete(y.hi, best)
        if not np.all(y.lo[best] > others):
            raise SubjectError(
                "Which output is largest cannot be told within rounding.",
                where=self.name,
                remedy="state the label: ft.Robust(x, eps, label=…)",
            )
        return best

    # ---- in floats ---------------------------------------------------------------------------------------------------

    @cached_property
    def _values(self) -> Callable[[Any], Any]:
        return jax.jit(jax.vmap(self.flat_function))

    @cached_property
    def _slopes(self) -> Callable[[Any, Any], Any]:
        return jax.jit(
            jax.vmap(lambda x, cotangent: jax.vjp(self.flat_function, x)[1](cotangent)[0])
        )

    def propagate(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "n d"]]:
        """The outputs at points `(n, inputs)`, and what `pull_back` needs."""
        return _in_parts(self._values, x), x

    def run_in(self, dtype: type, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """What the program computes in floats of a type, at points `(n, inputs)` of that type: every operator rounds
        its results, and sums inside of one are more precise."""
        function = self._values if dtype is np.float64 else self._rounded_values
        return _in_parts(function, np.asarray(points, np.float64)).astype(dtype)

    @cached_property
    def _rounded_values(self) -> Callable[[Any], Any]:
        """In float32, operator by operator."""
        graph = self.program.graph
        nodes = needed_nodes(self.program)

        def run(x: Any) -> Any:
            values: dict[int, Any] = {**graph.constants, graph.inputs[0].id: x.reshape(self.shape)}
            for node in nodes:
                for slot, value in zip(
                    node.outputs, node.evaluate(*[values[part.id] for part in node.inputs])
                ):
                    values[slot.id] = (
                        lax.reduce_precision(value, *SINGLE_BITS) if slot.is_real else value
                    )
            return values[graph.outputs[0].id].ravel()

        return jax.jit(jax.vmap(run))

    def pull_back(
        self, passed: Float[np.ndarray, "n d"], cotangents: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n d"]:
        """The gradients at the points of linear functions of the outputs."""
        return _in_parts(self._slopes, passed, cotangents)


def _in_parts(function: Callable[..., Any], *arrays: Array) -> Array:
    """Row by row, always with the same number of rows."""
    parts = []
    count = len(arrays[0])
    with jax.enable_x64(True):
        for start in range(0, count, AT_ONCE):
            rows = [array[start : start + AT_ONCE] for array in arrays]
            padded = [
                np.concatenate([part, np.repeat(part[:1], AT_ONCE - len(part), axis=0)])
                for part in rows
            ]
            parts.append(np.asarray(function(*padded))[: len(rows[0])])
    return np.concatenate(parts)
