"""A network with whatever proves its structure: its pieces, the signs of its weights, or shears."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.certain import is_differentiable_at
from ftheta.graph.enclosing import enclose_number
from ftheta.graph.jaxprs import trace
from ftheta.logic import Basis, Enclosure, SubjectError
from ftheta.networks.description import Description
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.normal_forms import Form
from ftheta.relu.exact import exact
from ftheta.relu.network import ExactNetwork

from .certificates import (
    Test,
    convex_test,
    monotone_test,
    pieces_everywhere,
    sampled_tests,
    symplectic_test,
)
from .shears import omega
from .signs import Shape, shape_of

POINTS = 256
CELLS = 2000


@dataclass(frozen=True, eq=False)
class Structured:
    """A network `f` of a flat input, with its normal form, its layers or its exact map, where there are any."""

    name: str
    dimension: int
    f: Callable[[Any], Any]
    form: Form | None = None
    layers: Description | None = None
    sympnet: ExactNetwork | None = None
    rows: np.ndarray | None = None
    shears: bool = False

    @cached_property
    def pieces(self) -> tuple[list[Piece], Basis] | None:
        """All pieces in rationals, where there are few inputs, and what the normal form is known by."""
        if self.sympnet is not None:
            found = pieces_everywhere(self.sympnet, CELLS)
            basis = Basis.EXACT
        elif self.form is not None and self.form.network is not None and not self.form.refusal:
            found = pieces_everywhere(exact(self.form.network), CELLS)
            basis = self.form.basis
        else:
            return None
        return None if found is None else (found, basis)

    @cached_property
    def shape(self) -> Shape | None:
        """What the signs of the weights prove."""
        if self.form is not None and self.form.network is not None and not self.form.refusal:
            return shape_of(self.form.network)
        return None if self.layers is None else shape_of(self.layers)

    def by_construction(self, output: int) -> dict[str, bool]:
        """What holds by construction."""
        shape = self.shape
        if shape is not None and not 0 <= output < len(shape.convex):
            raise SubjectError(
                "There is no such output.", got=output, remedy=f"0 … {len(shape.convex) - 1}"
            )
        return {
            "convex": shape is not None and bool(shape.convex[output]),
            "monotone": shape is not None and bool(shape.rises[output].all()),
            "symplectic": self.shears,
        }

    def _test_at_points(self, rng: np.random.Generator, output: int) -> dict[str, Test]:
        x = self.rows if self.rows is not None else rng.normal(size=(POINTS, self.dimension))
        return sampled_tests(self.f, x[:POINTS].reshape(-1, self.dimension), output)

    def test(self, rng: np.random.Generator, output: int, wanted: str) -> dict[str, Test]:
        """The wanted property, or every one that has a meaning here; in all pieces or at points."""
        if self.pieces is None:
            found = self._test_at_points(rng, output)
            return {name: test for name, test in found.items() if wanted in (name, "any")}
        cells, _ = self.pieces
        even = len(cells[0].rows) == self.dimension and self.dimension % 2 == 0
        found = {}
        if wanted in ("convex", "any"):
            found["convex"] = convex_test(cells, output)
        if wanted in ("monotone", "any"):
            found["monotone"] = monotone_test(cells, output)
        if even and wanted in ("symplectic", "any"):
            found["symplectic"] = symplectic_test(cells)
        return found


def enclose_excess(given: Structured, name: str, test: Test, output: int) -> Enclosure:
    """The number of a test at its point once more, in intervals rounded outward; all numbers where the derivative of
    the program need not be that of the function."""
    x = np.array(test.at)
    if not is_differentiable_at(trace(given.f, x, fold_rounded=False), x):
        return Enclosure.unknown()

    def excess(x: Any, b: Any) -> Any:
        J = jax.jacfwd(given.f)(x)
        if name == "symplectic":
            form = omega(len(test.at) // 2)
            return jnp.max(jnp.abs(J.T @ form @ J - form))
        if name == "monotone":
            return jnp.max(-J[output])
        value = lambda z: jnp.ravel(given.f(z))[output]
        return value(x) + J[output] @ (b - x) - value(b)

    return enclose_number(excess, x, np.array(test.towards or test.at))
