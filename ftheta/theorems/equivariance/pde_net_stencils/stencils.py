r"""Filters as differential operators, by their moments $m_\alpha=\sum_kk^\alpha q[k]$:

$$\sum_kq[k]f(x+kh)=\sum_\alpha\frac{h^{|\alpha|}}{\alpha!}m_\alpha\,\partial^\alpha f(x).$$

A filter is an array with an axis for every dimension; tap 0 stands in the middle (at index $n//2$). Floats are
rationals, so moments, and the way back from moments to filters, are exact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import factorial, prod
from typing import Any

import jax
import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.graph import Graph, Slot, trace
from ftheta.logic import SubjectError

Index = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Stencil:
    """One filter; `taps[k]` is the weight at the offset k from the middle."""

    weights: np.ndarray

    @property
    def dimension(self) -> int:
        return self.weights.ndim

    @cached_property
    def taps(self) -> dict[Index, Fraction]:
        middle = [n // 2 for n in self.weights.shape]
        places = np.ndindex(*self.weights.shape)
        return {
            tuple(i - c for i, c in zip(place, middle)): Fraction(float(self.weights[place]))
            for place in places
            if self.weights[place]
        }

    def moment(self, alpha: Index) -> Fraction:
        return sum(
            (q * prod(k**a for k, a in zip(at, alpha)) for at, q in self.taps.items()), Fraction(0)
        )

    @cached_property
    def moments(self) -> dict[Index, Fraction]:
        r"""$m_\alpha$ for $\alpha_i<n_i$: as many as there are taps, and as much as the filter."""
        return {alpha: self.moment(alpha) for alpha in np.ndindex(*self.weights.shape)}

    @cached_property
    def rounding(self) -> float:
        """What counts as zero among the moments of a filter that was learnt or rounded."""
        reach = max((max(map(abs, k)) for k in self.taps), default=0)
        return 1e-12 * float(np.abs(self.weights).sum()) * max(1, reach) ** 4

    def derivative(self, most: int = 8) -> int | None:
        """The order of the operator: the least sum of exponents of a moment that is not zero."""
        for order in range(most + 1):
            if any(abs(self.moment(a)) > self.rounding for a in exponents(self.dimension, order)):
                return order
        return None

    def accuracy(self, most: int = 12) -> int | None:
        """The order of the error: how much later the next moment that is not zero comes."""
        first = self.derivative()
        if first is None:
            return None
        for later in range(1, most + 1):
            if any(
                abs(self.moment(a)) > self.rounding
                for a in exponents(self.dimension, first + later)
            ):
                return later
        return None

    def operator(self, terms: int = 3) -> str:
        r"""The leading terms in words, for $h=1$: `1 ∂xx + 0.0833 ∂xxxx`."""
        found = []
        for order in range(9):
            for alpha in exponents(self.dimension, order):
                m = self.moment(alpha)
                if abs(m) > self.rounding and len(found) < terms:
                    letters = "".join(letter * a for letter, a in zip("xyz", alpha))
                    size = float(m / prod(map(factorial, alpha)))
                    found.append(f"{size:.4g}" + (f" ∂{letters}" if letters else ""))
        return " + ".join(found).replace("+ -", "− ") or "0"

    def apply(self, f: Callable[..., Any], x: Sequence[float], h: float) -> float:
        r"""$\sum_kq[k]f(x+kh)$."""
        return sum(
            float(q) * float(f(*(a + k * h for a, k in zip(x, at)))) for at, q in self.taps.items()
        )

    def remainder(self, h: float, terms: int, frequency: float) -> float:
        r"""A bound for what is left of the series after orders below `terms`, for waves of this frequency."""
        reach = sum(
            abs(float(q)) * (sum(map(abs, at)) * h * frequency) ** terms
            for at, q in self.taps.items()
        )
        return reach / factorial(terms)

    def series(self, omega: Sequence[float], phase: float, h: float, terms: int) -> float:
        r"""The series below order `terms` for $f(x)=\cos(\langle\omega,x\rangle+\varphi)$ at 0."""
        total = 0.0
        for order in range(terms):
            turned = np.cos(phase + order * np.pi / 2)  # the derivative of this order of cos
            for alpha in exponents(self.dimension, order):
                scale = prod(w**a for w, a in zip(omega, alpha)) / prod(map(factorial, alpha))
                total += h**order * float(self.moment(alpha)) * scale * turned
        return total


def exponents(dimension: int, order: int) -> list[Index]:
    return [a for a in product(range(order, -1, -1), repeat=dimension) if sum(a) == order]


def from_moments(moments: dict[Index, Fraction], shape: Index) -> dict[Index, Fraction]:
    r"""The taps with these moments ($\alpha_i<n_i$), axis by axis by exact Vandermonde systems."""
    table = np.array([moments[a] for a in np.ndindex(*shape)], dtype=object).reshape(shape)
    for axis, n in enumerate(shape):
        powers = fmpq_mat(n, n, [fmpq((i - n // 2) ** a) for a in range(n) for i in range(n)])
        rows = np.moveaxis(table, axis, 0).reshape(n, -1)
        solved = powers.solve(fmpq_mat(n, rows.shape[1], [_fmpq(v) for v in rows.ravel()]))
        values = [Fraction(int(v.p), int(v.q)) for v in solved.entries()]
        rest = tuple(m for k, m in enumerate(shape) if k != axis)
        table = np.moveaxis(np.array(values, dtype=object).reshape(n, *rest), 0, axis)
    return {
        tuple(i - n // 2 for i, n in zip(at, shape)): table.item(at) for at in np.ndindex(*shape)
    }


def _fmpq(value: Fraction) -> Any:
    return fmpq(value.numerator, value.denominator)


def with_moments(moments: dict[Index, float | Fraction], shape: Index) -> np.ndarray:
    """The filter of this shape whose moments are these, and zero where none is named."""
    wanted = {a: Fraction(moments.get(a, 0)) for a in np.ndindex(*shape)}
    taps = from_moments(wanted, shape)
    return np.array([float(q) for q in taps.values()]).reshape(shape)


MOST_TAPS = 11


def filters_of(net: Any) -> np.ndarray:
    """The filters of the first convolution of a network, shape (outputs, inputs, *window), as it slides them.

    They are read off the network's graph, in whatever layout its weights are kept.
    """
    with jax.enable_x64(True):
        graph = trace(net.apply, net.params, net.example)
        node = next((n for n in graph.nodes if n.primitive == "conv_general_dilated"), None)
        if node is None:
            raise SubjectError(
                "The network has no convolution.",
                got=getattr(net, "name", ""),
                remedy="give one that has",
            )
        kernel = np.transpose(
            _without_input(graph, net.params, node.inputs[1]),
            node.params["dimension_numbers"].rhs_spec,
        )
    if not all(1 <= n <= MOST_TAPS for n in kernel.shape[2:]) or prod(kernel.shape[2:]) < 2:
        raise SubjectError(
            "The first convolution has no windows that can be read.",
            got=f"windows {kernel.shape[2:]}",
            remedy=f"give windows of 2 to {MOST_TAPS} taps a side",
        )
    return kernel


def _without_input(graph: Graph, params: Any, slot: Slot) -> np.ndarray:
    """The value of a slot that depends on the parameters alone."""
    values: dict[int, Any] = dict(graph.constants)
    values.update(zip((s.id for s in graph.argument(0)), graph.signature.inputs_of((params, 0.0))))
    for node in graph.nodes:
        if slot.id in values:
            break
        if all(s.id in values for s in node.inputs):
            values.update(
                zip(
                    (s.id for s in node.outputs),
                    node.evaluate(*(values[s.id] for s in node.inputs)),
                )
            )
    if slot.id not in values:
        raise SubjectError(
            "The first convolution has no fixed filter.", got="a kernel that depends on the input"
        )
    return np.asarray(values[slot.id])


SECOND_DIFFERENCE = np.array([1.0, -2.0, 1.0])
CENTRED_DIFFERENCE = np.array([-0.5, 0.0, 0.5])
STENCILS: dict[str, np.ndarray] = {
    "second difference": SECOND_DIFFERENCE,
    "centred difference": CENTRED_DIFFERENCE,
    "second difference, fourth order": np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12,
    "Laplacian": np.array([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]),
    "nine-point Laplacian": np.array([[1.0, 4.0, 1.0], [4.0, -20.0, 4.0], [1.0, 4.0, 1.0]]) / 6,
}
