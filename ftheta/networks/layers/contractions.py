r"""Layers that are 1-Lipschitz in the norm 2 by construction, whatever their parameters: $\|f(x)-f(y)\|\le\|x-y\|$.

They hold up to rounding and to the iterations inside; `ftheta.certify.unit_lipschitz` bounds what was reached.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import jax.numpy as jnp

from ftheta.logic.errors import UsageError
from ftheta.networks.operators.orthogonal import CONSTRAINTS, estimate_norm

from .layer import Dense, Layer, Shape, Whole, array_shapes

Constraint = Literal["spectral", "bjorck", "cayley"]
_TOLD = {"spectral": "of norm 1", "bjorck": "orthogonal (Björck)", "cayley": "orthogonal (Cayley)"}


@dataclass(frozen=True)
class UnitDense(Dense):
    r"""$x\mapsto Q(W)x+b$ along the last axis, $\|Q(W)\|_2=1$: $W$ over its norm (`spectral`), or semi-orthogonal."""

    constraint: Constraint = "bjorck"

    def __post_init__(self) -> None:
        if self.constraint not in CONSTRAINTS:
            remedy = f"choose one of {', '.join(CONSTRAINTS)}"
            raise UsageError("Unknown constraint of a matrix.", got=self.constraint, remedy=remedy)

    @property
    def name(self) -> str:
        return f"dense {self.units}, {_TOLD[self.constraint]}"

    def matrix(self, params: Any) -> Any:
        """$Q(W)$."""
        return CONSTRAINTS[self.constraint](jnp.asarray(params["weight"]))

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return x @ self.matrix(params).T + params["bias"]


@dataclass(frozen=True)
class GroupSort(Layer):
    """The entries along the first axis (channels) sorted in groups of so many neighbours; pairs are called MaxMin.

    A permutation at every input, so that gradients keep their length (`anil2019`).
    """

    group: int = 2

    @property
    def name(self) -> str:
        return "MaxMin" if self.group == 2 else f"group sort {self.group}"

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        if self.group < 1 or shape[0] % self.group:
            got = f"{shape[0]} entries in groups of {self.group}"
            raise UsageError("The groups do not divide the entries.", where=self.name, got=got)
        return shape

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        columns = [x[i :: self.group] for i in range(self.group)]
        for one, other in comparisons(self.group):
            low = jnp.minimum(columns[one], columns[other])
            columns[other] = jnp.maximum(columns[one], columns[other])
            columns[one] = low
        return jnp.stack(columns, axis=1).reshape(x.shape)


def comparisons(group: int) -> list[tuple[int, int]]:
    """The pairs that sort so many numbers, compared one after the other: odd-even transposition."""
    return [(i, i + 1) for turn in range(group) for i in range(turn % 2, group - 1, 2)]


@dataclass(frozen=True)
class ConvexPotential(Whole):
    r"""$x\mapsto x-\frac2{\|W\|_2^2}W^\top\max(Wx+b,0)$, a step down the gradient of a convex function (`meunier2022`).

    Its Jacobian is $I-\frac2{\|W\|^2}W^\top DW$ with $0\preceq D\preceq I$, symmetric with eigenvalues in $[-1,1]$.
    """

    hidden: int
    weighted = True

    @property
    def name(self) -> str:
        return f"convex potential {self.hidden}"

    def count(self, shape: Shape) -> int:
        return self.hidden * (shape[-1] + 1)

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(weight=(self.hidden, shape[-1]), bias=(self.hidden,))

    def products(self, shape: Shape, circular: bool = False) -> int:
        return 2 * prod(shape) * self.hidden

    def back(self, params: Any) -> Any:
        r"""$-\frac2{\|W\|^2}W^\top$."""
        weight = jnp.asarray(params["weight"])
        return (
            -2 / jnp.maximum(estimate_norm(weight) ** 2, jnp.finfo(weight.dtype).tiny) * weight
        ).T

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        inner = jnp.maximum(x @ params["weight"].T + params["bias"], 0)
        return x + inner @ self.back(params).T
