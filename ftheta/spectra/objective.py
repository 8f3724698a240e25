r"""The loss of a network on data as a function of one row of parameters, with its matrix-free derivatives.

$$\mathcal L(\theta)=\frac1n\sum_i\ell(f_\theta(x_i),y_i)+\gamma\|\theta\|^2.$$

Products with the Hessian are forward over reverse. The reverse sweep is linearised once where what it has to keep fits
into memory, and a product then costs two gradients; else the data pass block by block, and a product costs three.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.hurry import quick_compiler_options
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Float, Real
from ftheta.training.examples import Examples, examples_of
from ftheta.training.losses import Loss, PerExample, loss_named
from ftheta.training.models import Model, model_of
from ftheta.training.study import first_rows, natural_loss

from .operators import Operator

KEPT = 1 << 29  # bytes that a linearised sweep, or a Jacobian, may hold
BLOCK = 1 << 27  # bytes that a block of rows may hold
# bytes that a sweep holds, up to which a program takes longer to compile than to run
SMALL = 1 << 24


@dataclass(frozen=True, eq=False)
class Objective:
    """Make one with `Objective.of(net, data, loss)`; `ridge` is γ, `start` the parameters of the network as one row.

    `kept` and `block` are the bytes that a linearised sweep over all rows and a sweep over one block may hold.
    """

    model: Model
    loss: Loss
    examples: Examples
    ridge: float = 0.0
    kept: int = KEPT
    block: int = BLOCK

    @classmethod
    def of(
        cls,
        net: Any,
        data: Any = None,
        loss: str | Loss | PerExample = "squared",
        *,
        ridge: float = 0.0,
        dtype: Any = np.float64,
        kept: int = KEPT,
        block: int = BLOCK,
    ) -> "Objective":
        if not (isfinite(ridge) and ridge >= 0):
            raise UsageError("The ridge must be a number of at least 0.", got=ridge)
        with jax.enable_x64(True):
            model = model_of(net, dtype)
            chosen = loss_named(loss)
            examples = examples_of(
                getattr(net, "data", None) if data is None else data, model, chosen
            )
        return cls(model, chosen, examples, float(ridge), kept, block)

    # -- the parts ----------------------------------------------------------------------------------------------

    @cached_property
    def start(self) -> Float[np.ndarray, "p"]:
        return np.concatenate(
            [np.ravel(leaf) for leaf in jax.tree.leaves(self.model.params)]
        ).astype(np.float64)

    @property
    def size(self) -> int:
        return self.start.size

    @cached_property
    def dtype(self) -> np.dtype:
        return np.result_type(*jax.tree.leaves(self.model.params))

    @cached_property
    def build(self) -> Callable[[Any], Any]:
        """From one row to the tree of parameters."""
        return ravel_pytree(self.model.params)[1]

    def _outputs(self, theta: Any, x: Any) -> Any:
        return jax.vmap(self.model.apply, (None, 0))(self.build(theta), x)

    def _partial(self, theta: Any, x: Any, y: Any, weights: Any) -> jax.Array:
        """The weighted sum of the losses of some rows."""
        return jnp.sum(jax.vmap(self.loss.of)(self._outputs(theta, x), y) * weights)

    def _held(self, rows: int) -> int:
        """Bytes that the linearised reverse sweep over so many rows keeps."""
        shapes = [
            jax.ShapeDtypeStruct((rows, *a.shape[1:]), a.dtype)
            for a in (self.examples.x, self.examples.y)
        ]
        weights = jax.ShapeDtypeStruct((rows,), self.dtype)
        theta = jax.ShapeDtypeStruct((self.size,), self.dtype)
        with jax.enable_x64(True):
            kept = jax.eval_shape(self._linearise, theta, *shapes, weights)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(kept))

    @cached_property
    def _most_held(self) -> int:
        """No fewer bytes than for all rows: what does not grow with the rows is counted for each of them."""
        return self._held(1) * len(self.examples)

    @cached_property
    def _bytes_a_row(self) -> int:
        """What it keeps, a row."""
        return max(self._held(3) - self._held(2), 1)

    @cached_property
    def fits(self) -> bool:
        """Whether the reverse sweep over all rows can be linearised once and kept."""
        return self._most_held <= self.kept or self._bytes_a_row * len(self.examples) <= self.kept

    def _jit(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """Compiled, in a hurry where the work is small."""
        return jax.jit(
            program,
            compiler_options=dict(quick_compiler_options()) if self._most_held <= SMALL else None,
        )

    @cached_property
    def _blocks(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Rows, targets and weights in blocks of equal size; the last is filled up with rows of weight 0."""
        n = len(self.examples)
        rows = n if self.fits else min(n, max(1, self.block // self._bytes_a_row))
        number = np.arange(-(-n // rows) * rows)
        weights = np.where(number < n, 1 / n, 0.0).astype(self.dtype).reshape(-1, rows)
        index = np.where(number < n, number, 0).reshape(-1, rows)
        with jax.enable_x64(True):
            return (
                jnp.asarray(self.examples.x[index]),
                jnp.asarray(self.examples.y[index]),
                jnp.asarray(weights),
            )

    def _over_blocks(self, of_block: Callable[..., Any], zero: Any, data: Any) -> Any:
        """The sum of a function over the blocks, one at a time."""
        if len(data[0]) == 1:
            return of_block(*(part[0] for part in data))
        add = lambda total, part: (jax.tree.map(jnp.add, total, of_block(*part)), None)
        return jax.lax.scan(add, zero, data)[0]

    # -- value and gradient -------------------------------------------------------------------------------------

    @cached_property
    def _value_and_gradient(self) -> Callable[..., Any]:
        def both(theta: Any, data: Any) -> Any:
            zero = (jnp.zeros((), theta.dtype), jnp.zeros_like(theta))
            value, slope = self._over_blocks(
                lambda *part: jax.value_and_grad(self._partial)(theta, *part), zero, data
            )
            return value + self.ridge * jnp.sum(theta**2), slope + 2 * self.ridge * theta

        return self._jit(both)

    def value_and_gradient(
        self, theta: Float[np.ndarray, "p"] | None = None
    ) -> tuple[float, Float[np.ndarray, "p"]]:
        with jax.enable_x64(True):
            value, slope = self._value_and_gradient(self._row(theta), self._blocks)
            return float(value), np.asarray(slope, np.float64)

    def value(self, theta: Float[np.ndarray, "p"] | None = None) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: Float[np.ndarray, "p"] | None = None) -> Float[np.ndarray, "p"]:
        return self.value_and_gradient(theta)[1]

    def _row(self, theta: np.ndarray | None) -> jax.Array:
        row = self.start if theta is None else np.asarray(theta)
        if row.shape != (self.size,):
            got = f"shape {row.shape}, the network has {self.size:,} parameters"
            raise UsageError("Parameters are one row.", got=got)
        if not np.isfinite(row).all():
            raise SubjectError(
                "A parameter is not finite.",
                where=self.model.name,
                remedy="stop the training earlier",
            )
        return jnp.asarray(row, self.dtype)

    # -- products -----------------------------------------------------------------------------------------------

    def _linearise(self, theta: Any, x: Any, y: Any, weights: Any) -> Any:
        return jax.linearize(lambda t: jax.grad(self._partial)(t, x, y, weights), theta)[1]

    @cached_property
    def _sweep(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The linearised reverse sweep over all rows, and its product with a vector."""
        keep = lambda theta, data: self._linearise(theta, *(part[0] for part in data))
        return self._jit(keep), self._jit(lambda sweep, v: sweep(v) + 2 * self.ridge * v)

    @cached_property
    def _blockwise(self) -> Callable[..., Any]:
        def product(theta: Any, v: Any, data: Any) -> Any:
            of_block = lambda *part: jax.jvp(
                lambda t: jax.grad(self._partial)(t, *part), (theta,), (v,)
            )[1]
            return self._over_blocks(of_block, jnp.zeros_like(v), data) + 2 * self.ridge * v

        return self._jit(product)

    def hessian(self, theta: Float[np.ndarray, "p"] | None = None) -> Operator:
        r"""$v\mapsto\nabla^2\mathcal L(\theta)v$."""
        if not self.fits:
            return self._operator(self._blockwise, theta)
        with jax.enable_x64(True):
            keep, apply = self._sweep
            sweep = keep(self._row(theta), self._blocks)
        return Operator(self.size, self._in_double(lambda v: apply(sweep, v)))

    def gauss_newton(self, theta: Float[np.ndarray, "p"] | None = None) -> Operator:
        r"""$v\mapsto\big(\frac1n\sum_iJ_i^\top\,\nabla^2\ell_i\,J_i+2\gamma I\big)v$, $J_i=\partial_\theta f(x_i)$."""
        return self._operator(self._gauss_newton, theta)

    @cached_property
    def _gauss_newton(self) -> Callable[..., Any]:
        def product(theta: Any, v: Any, data: Any) -> Any:
            def of_block(x: Any, y: Any, weights: Any) -> Any:
                outputs, back = jax.vjp(lambda t: self._outputs(t, x), theta)
                moved = jax.jvp(lambda t: self._outputs(t, x), (theta,), (v,))[1]
                slope = lambda z: jax.grad(
                    lambda z: jnp.sum(jax.vmap(self.loss.of)(z, y) * weights)
                )(z)
                return back(jax.jvp(slope, (outputs,), (moved,))[1])[0]

            return self._over_blocks(of_block, jnp.zeros_like(v), data) + 2 * self.ridge * v

        return self._jit(product)

    def _operator(self, product: Callable[..., Any], theta: np.ndarray | None) -> Operator:
        with jax.enable_x64(True):
            row = self._row(theta)
        return Operator(self.size, self._in_double(lambda v: product(row, v, self._blocks)))

    def _in_double(self, product: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
        """In double precision outside, in that of the objective inside."""

        def apply(v: np.ndarray) -> np.ndarray:
            with jax.enable_x64(True):
                return np.asarray(product(jnp.asarray(v, self.dtype)), np.float64)

        return apply

    # -- the tangent kernel ---------------------------------------------------------------------------------------

    @cached_property
    def outputs(self) -> int:
        """Numbers that the network puts out for one input."""
        with jax.enable_x64(True):
            x = jax.ShapeDtypeStruct(self.examples.x.shape[1:], self.examples.x.dtype)
            return int(np.prod(jax.eval_shape(self.model.apply, self.model.params, x).shape))

    def residual(self, theta: Float[np.ndarray, "p"] | None = None) -> Float[np.ndarray, "m"]:
        r"""$\Phi(\theta)-y$, all rows and outputs in one row."""
        with jax.enable_x64(True):
            found = np.asarray(self._predict(self._row(theta), self.examples.x), np.float64)
        if found.shape != self.examples.y.shape:
            raise SubjectError(
                "The targets are no outputs.", got=f"{self.examples.y.shape} and {found.shape}"
            )
        return (found - self.examples.y).ravel()

    @cached_property
    def _predict(self) -> Callable[..., Any]:
        return self._jit(self._outputs)

    def tangent_kernel(self, theta: Float[np.ndarray, "p"] | None = None) -> Operator:
        r"""$u\mapsto JJ^\top u$ for the Jacobian $J$ of all outputs at all rows, of size `rows × outputs`."""
        with jax.enable_x64(True):
            row = self._row(theta)
        n = len(self.examples)
        size = n * self.outputs

        def product(u: Any) -> Any:
            x, _, weights = self._blocks
            padded = (
                jnp.zeros((weights.size, self.outputs), self.dtype).at[:n].set(u.reshape(n, -1))
            )
            return self._kernel(row, padded.reshape(*weights.shape, -1), x).reshape(-1)[:size]

        return Operator(size, self._in_double(product))

    @cached_property
    def _kernel(self) -> Callable[..., Any]:
        def product(theta: Any, u: Any, x: Any) -> Any:
            shaped = lambda x, u: u.reshape(jax.eval_shape(self._outputs, theta, x).shape)
            pulled = lambda x, u: jax.vjp(lambda t: self._outputs(t, x), theta)[1](shaped(x, u))[0]
            back = self._over_blocks(pulled, jnp.zeros_like(theta), (x, u))
            pushed = lambda x: jax.jvp(lambda t: self._outputs(t, x), (theta,), (back,))[1]
            return jax.lax.map(lambda x: pushed(x).reshape(len(x), -1), x)

        return self._jit(product)

    def kernel_matrix(
        self, theta: Float[np.ndarray, "p"] | None = None
    ) -> Float[np.ndarray, "m m"] | None:
        r"""$JJ^\top$ entry by entry, where the Jacobian fits into memory."""
        if len(self.examples) * self.outputs * self.size * self.dtype.itemsize > self.kept:
            return None
        with jax.enable_x64(True):
            return np.asarray(self._gram(self._row(theta), self.examples.x), np.float64)

    @cached_property
    def _gram(self) -> Callable[..., Any]:
        def gram(theta: Any, x: Any) -> Any:
            of_row = lambda row: jax.jacrev(
                lambda t: jnp.ravel(self.model.apply(self.build(t), row))
            )(theta)
            J = jax.vmap(of_row)(x).reshape(-1, self.size)
            return J @ J.T

        return self._jit(gram)


@dataclass(frozen=True, eq=False)
class LabelledNetwork:
    """A network with the rows and targets it is judged on, and the loss that suits them; no loss where none fits."""

    net: Any
    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n *k"]
    loss: str | None

    @classmethod
    def of(cls, net: Any) -> "LabelledNetwork":
        """With the first rows of the data that the network carries."""
        x, y = first_rows(net.data, flat=False, parameters=net.parameters)
        return cls(net, x, y, natural_loss(y, int(np.prod(net.output_shape))) if len(y) else None)

    @property
    def objective(self) -> Objective:
        """The mean loss over the rows; squared where no loss fits."""
        return Objective.of(self.net, (self.x, self.y), self.loss or "squared")


def natural_objective(
    net: Any, rows: int | None = None, *, outputs_only: bool = False
) -> Objective | None:
    r"""The loss of a network on the first rows of its own data; None where no labels fit its outputs.

    Squared where there is a number per output, cross-entropy where there is a class per row. With `outputs_only`
    targets must be shaped like outputs, and the loss is the mean of $\frac12\|f_\theta(x_i)-y_i\|^2$.
    """
    if not net.parameters:
        return None
    x, y = first_rows(net.data, flat=False, parameters=net.parameters)
    loss = natural_loss(y, int(np.prod(net.output_shape))) if len(y) else None
    if loss is None or (outputs_only and loss != "squared"):
        return None
    return Objective.of(net, (x[:rows], y[:rows]), "half-squared" if outputs_only else loss)
