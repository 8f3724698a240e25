r"""Weight decay, penalties on the weights and constraints as optimisers that `ftheta.fit` takes.

The penalty $\gamma\|\theta\|^2$ adds $2\gamma\theta$ to the gradient *before* the optimiser sees it; decoupled decay
subtracts $2\gamma\tau\theta$ from the parameters *beside* the optimiser's own step. Under gradient descent both are
$\theta\leftarrow(1-2\gamma\tau)\theta-\tau g$. Under Adam they are not: the first is divided by the size of the
gradients, as everything is, the second is not (`loshchilov2019`).

A penalty changes the steps and nothing else: the loss in the history, the validation loss and the metrics of a fit are
those of the data alone.
"""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.training.optimisers import Step, optimiser_named

if TYPE_CHECKING:
    import optax

Penalty: TypeAlias = Callable[[Any, Any], Any]  # (parameters, random key) -> number
Projection: TypeAlias = Callable[[Any], Any]  # parameters -> parameters


class _Count(NamedTuple):
    steps: Any


def check_weight(gamma: Any) -> Any:
    """The weight of a penalty, which must not reward; numbers that JAX traces are taken as they are."""
    if isinstance(gamma, (int, float)) and not 0 <= gamma < inf:
        raise UsageError("A penalty has a weight γ ≥ 0.", got=gamma, remedy="γ = 1e-3")
    return gamma


def l2(gamma: float) -> Penalty:
    r"""$\gamma\|\theta\|_2^2$, over all parameters."""
    gamma = check_weight(gamma)
    return lambda params, key: (
        gamma * sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(params))
    )


def l1(gamma: float) -> Penalty:
    r"""$\gamma\|\theta\|_1$."""
    gamma = check_weight(gamma)
    return lambda params, key: (
        gamma * sum(jnp.sum(jnp.abs(leaf)) for leaf in jax.tree.leaves(params))
    )


def spectral(gamma: float) -> Penalty:
    r"""$\gamma\sum_\ell\sigma_{\max}(W_\ell)^2$ over the matrices among the parameters (`yoshida2017`)."""
    gamma = check_weight(gamma)
    return lambda params, key: (
        gamma * sum(_largest_square(leaf) for leaf in jax.tree.leaves(params) if leaf.ndim == 2)
    )


def _largest_square(W: Any) -> Any:
    return jnp.linalg.eigvalsh(W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W)[-1]


def penalised(
    optimiser: "str | optax.GradientTransformation",
    *penalties: Penalty,
    step: Step | None = None,
    seed: int = 0,
) -> "optax.GradientTransformationExtraArgs":
    """The optimiser on the loss plus the penalties, each a function of the parameters and a random key.

    The key is new at every step and a function of `seed` and the number of the step: a run can be cut and resumed.
    """
    import optax

    if not penalties:
        raise UsageError("There is no penalty.", remedy="penalised('adam', l2(1e-3), step=1e-2)")
    base = optimiser_named(optimiser, step)[1]

    def total(params: Any, key: Any) -> Any:
        keys = jax.random.split(key, len(penalties))
        return sum(penalty(params, one) for penalty, one in zip(penalties, keys))

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, _Count]:
        key = jax.random.fold_in(jax.random.key(seed), state.steps)
        pull = jax.grad(total)(params, key)
        return jax.tree.map(jnp.add, updates, pull), _Count(state.steps + 1)

    add = optax.GradientTransformationExtraArgs(
        lambda params: _Count(jnp.zeros((), jnp.int32)), update
    )
    return optax.with_extra_args_support(optax.chain(add, base))


def decoupled(
    optimiser: "str | optax.GradientTransformation", gamma: float, step: float
) -> "optax.GradientTransformationExtraArgs":
    r"""$\theta\leftarrow\theta+u-2\gamma\tau\theta$, $u$ the optimiser's step and $\tau$ = `step`: AdamW for Adam."""
    import optax

    base = optimiser_named(optimiser, step if isinstance(optimiser, str) else None)[1]
    shrink = lambda updates, params: jax.tree.map(
        lambda u, theta: u - 2 * gamma * step * theta, updates, params
    )
    return optax.with_extra_args_support(optax.chain(base, optax.stateless(shrink)))


def constrained(
    optimiser: "str | optax.GradientTransformation",
    projection: Projection,
    step: Step | None = None,
) -> "optax.GradientTransformationExtraArgs":
    r"""$\theta\leftarrow P(\theta+u)$: every step ends in the set that $P$ projects onto."""
    import optax

    def hold(updates: Any, params: Any) -> Any:
        moved = projection(jax.tree.map(jnp.add, params, updates))
        return jax.tree.map(jnp.subtract, moved, params)

    base = optimiser_named(optimiser, step)[1]
    return optax.with_extra_args_support(optax.chain(base, optax.stateless(hold)))


def matrices(change: Callable[[Any], Any]) -> Projection:
    """`change` on every matrix among the parameters; vectors (biases, scales) stay."""
    return lambda params: jax.tree.map(
        lambda leaf: change(leaf) if leaf.ndim == 2 else leaf, params
    )


def largest_row(radius: float) -> Projection:
    r"""Rows of matrices with $\|w\|>r$ are scaled to $\|w\|=r$: the max-norm constraint."""
    size = lambda W: jnp.sqrt(jnp.sum(jnp.square(W), axis=1, keepdims=True))
    return matrices(
        lambda W: W * jnp.minimum(1.0, radius / jnp.maximum(size(W), np.finfo(np.float32).tiny))
    )


def spectral_ball(radius: float) -> Projection:
    r"""Matrices with $\sigma_{\max}(W)>r$ are scaled to $\sigma_{\max}(W)=r$: spectral normalisation, a constraint."""
    return matrices(
        lambda W: W * jnp.minimum(1.0, radius / jnp.sqrt(jnp.maximum(_largest_square(W), 1e-30)))
    )
