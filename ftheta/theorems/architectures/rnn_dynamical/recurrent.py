r"""Recurrent networks as dynamical systems: states, products of Jacobians, back-propagation through time, contraction.

A cell is any network $f_\theta$ that takes $(h,x)$ and returns the next state $h$: its first inputs are the state, as
many as it has outputs. $h_{t+1}=f_\theta(h_t,x_t)$, $\partial h_T/\partial h_0=J_{T-1}\cdots J_0$ with
$J_t=\partial f/\partial h$, and for a loss $\sum_t\ell_t(h_t)$ the adjoints are $\delta_T=\nabla\ell_T$,
$\delta_t=\nabla\ell_t+J_t^\top\delta_{t+1}$, the gradient $\sum_t(\partial f/\partial\theta)_t^\top\delta_{t+1}$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.certify.norms import spectral_norm
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Enclosure, SubjectError
from ftheta.networks.activations import activation
from ftheta.networks.description import Dense, Description, is_realisation


@dataclass(frozen=True, eq=False)
class Cell:
    """`apply(params, z)` for z = (h, x); `hidden` entries of h, `inputs` of x; `layers` where they are known."""

    apply: Callable[[Any, Any], Any]
    params: Any
    hidden: int
    inputs: int
    layers: Description | None = None

    @classmethod
    def of(cls, net: Any) -> "Cell":
        """A network read as a cell."""
        takes = int(np.prod(net.input_shape))
        gives = int(np.prod(net.output_shape))
        if len(net.input_shape) != 1 or len(net.output_shape) != 1 or gives > takes:
            raise SubjectError(
                "A cell takes one vector (h, x) and returns the next h.",
                where=net.name,
                got=f"inputs {net.input_shape}, outputs {net.output_shape}",
                remedy="give a network with at most as many outputs as inputs: the first inputs are the state",
            )
        listed = is_realisation(net.apply, net.params, net.description)
        return cls(net.apply, net.params, gives, takes - gives, net.description if listed else None)

    @classmethod
    def random(
        cls, rng: np.random.Generator, hidden: int, inputs: int, gain: float, sigma: str = "tanh"
    ) -> "Cell":
        r"""$h\mapsto\sigma(Wh+Ux+b)$ with a random orthogonal $W$ times `gain`."""
        layers = random_cell(rng, hidden, inputs, gain, sigma)
        return cls(layers.apply, layers.params, hidden, inputs, layers)

    @cached_property
    def contraction(self) -> Enclosure | None:
        r"""A bound of $\|\partial f/\partial h\|$ for every state and input, rounded outward: the norms of the weights
        (of the first those of the state alone) and the slopes of the activations. None where no layers are known."""
        if self.layers is None:
            return None
        bound = Enclosure.exact(1)
        for k, layer in enumerate(self.layers.layers):
            weight = layer.weight[:, : self.hidden] if k == 0 else layer.weight
            bound = bound * spectral_norm(weight) * activation(layer.activation).lipschitz
        return bound

    def step(self, params: Any, h: Any, x: Any) -> Any:
        """The next state."""
        return self.apply(params, jnp.concatenate([h, x]))

    def states(self, h: np.ndarray, xs: np.ndarray) -> np.ndarray:
        """h_0, …, h_T, driven by the rows of `xs`."""
        return np.concatenate(
            [h[None], np.asarray(call_compiled(self._unroll(), self.params, h, xs))]
        )

    def _unroll(self) -> Callable[[Any, Any, Any], Any]:
        def run(params: Any, h: Any, xs: Any) -> Any:
            advance = lambda h, x: (self.step(params, h, x),) * 2
            return jax.lax.scan(advance, jnp.asarray(h), jnp.asarray(xs))[1]

        return run

    def jacobians(self, states: np.ndarray, xs: np.ndarray) -> np.ndarray:
        r"""$J_t=\partial f/\partial h$ at $(h_t,x_t)$, of shape (T, hidden, hidden)."""
        slope = jax.vmap(jax.jacfwd(self.step, argnums=1), (None, 0, 0))
        return np.asarray(call_compiled(slope, self.params, states[:-1], xs))

    def unrolled_jacobian(self, h: np.ndarray, xs: np.ndarray) -> np.ndarray:
        r"""$\partial h_T/\partial h_0$ of the whole loop, differentiated as one function."""
        last = lambda h: self._unroll()(self.params, h, xs)[-1]
        return np.asarray(call_compiled(jax.jacrev(last), h))

    def unrolled_gradient(self, h: np.ndarray, xs: np.ndarray, aims: np.ndarray) -> np.ndarray:
        r"""$\nabla_\theta\frac12\sum_{t\ge1}\|h_t-y_t\|^2$ of the whole loop, by reverse mode through it."""
        loss = lambda params: jnp.sum((self._unroll()(params, h, xs) - aims) ** 2) / 2
        return _flat(call_compiled(jax.grad(loss), self.params))

    def through_time(
        self, states: np.ndarray, xs: np.ndarray, aims: np.ndarray, J: np.ndarray
    ) -> np.ndarray:
        """The same by back-propagation through time: adjoints step by step, then one product per step."""
        delta = np.zeros_like(states[1:])
        now = np.zeros(self.hidden)
        for t in range(len(xs) - 1, -1, -1):
            now = states[t + 1] - aims[t] + (J[t + 1].T @ now if t + 1 < len(xs) else 0.0)
            delta[t] = now

        def pull_back(params: Any, h: Any, x: Any, pull: Any) -> Any:
            return jax.vjp(lambda p: self.step(p, h, x), params)[1](pull)[0]

        parts = call_compiled(
            jax.vmap(pull_back, (None, 0, 0, 0)), self.params, states[:-1], xs, delta
        )
        return _flat(jax.tree.map(lambda leaf: np.asarray(leaf).sum(0), parts))


def random_cell(
    rng: np.random.Generator, hidden: int, inputs: int, gain: float, sigma: str = "tanh"
) -> Description:
    r"""$h\mapsto\sigma(Wh+Ux+b)$ with a random orthogonal $W$ times `gain`, as one dense layer of $(h,x)$."""
    W = gain * np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    U = rng.normal(size=(hidden, inputs)) / np.sqrt(max(1, inputs))
    b = 0.1 * rng.normal(size=hidden)
    return Description((Dense(np.hstack([W, U]), b, sigma),))


def lagged_norms(J: np.ndarray) -> np.ndarray:
    r"""$\|\partial h_T/\partial h_{T-k}\|_2$ for lags $k=0,\dots,T$."""
    product = np.eye(J.shape[1])
    norms = [1.0]
    for step in J[::-1]:
        product = product @ step
        norms.append(float(np.linalg.norm(product, 2)))
    return np.array(norms)


def _flat(tree: Any) -> np.ndarray:
    return np.asarray(ravel_pytree(tree)[0])
