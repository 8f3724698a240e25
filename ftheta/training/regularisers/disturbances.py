r"""Noise, dropout and augmentation as networks that `ftheta.fit` takes: they disturb while they are being trained.

A disturbed network has the values of the plain one. Where it is differentiated in its parameters, and there alone, its
input (or its hidden layers) are disturbed: that is the difference between training and evaluation, so that validation
losses, metrics and `trained.loss` are of the quiet network. The random numbers are a function of the seed, the
parameters and the row: new at every step, and a run remains a function of its arguments, to be cut and resumed.
"""

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from math import inf
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.networks.activations import activation
from ftheta.networks.description import Description
from ftheta.shapes import Int
from ftheta.training.models import model_of

Disturbance: TypeAlias = Callable[[Any, Any], Any]  # (input, random key) -> input
Apply: TypeAlias = Callable[[Any, Any], Any]


def noise(spread: float) -> Disturbance:
    r"""$x+s\varepsilon$, $\varepsilon\sim\mathcal N(0,I)$."""
    if not 0 <= spread < inf:
        raise UsageError("Noise has a standard deviation s ≥ 0.", got=spread, remedy="spread = 0.1")
    return lambda x, key: x + spread * jax.random.normal(key, x.shape, x.dtype)


def dropout(keep: float) -> Disturbance:
    r"""Inverted dropout: every entry is kept with probability $q$ and divided by $q$, else 0."""
    if not 0 < keep <= 1:
        raise UsageError(
            "Entries are kept with a probability in (0, 1].", got=keep, remedy="keep = 0.8"
        )
    return lambda x, key: jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0)


def augmentation(action: Int[np.ndarray, "g d"]) -> Disturbance:
    """A group element at random, of a group that permutes the entries of the input (`ftheta.groups`): row g of `action`
    says where every entry goes."""
    inverse = jnp.asarray(np.argsort(action, axis=1))

    def move(x: Any, key: Any) -> Any:
        g = jax.random.randint(key, (), 0, len(inverse))
        return jnp.ravel(x)[inverse[g]].reshape(x.shape)

    return move


def disturbed(net: Any, *disturbances: Disturbance, seed: int = 0) -> Any:
    """The network with disturbed inputs, as the kind of thing it was: a `Network`, or a pair `(params, apply)`."""
    if not disturbances:
        raise UsageError(
            "There is nothing to disturb the network with.", remedy="disturbed(net, noise(0.1))"
        )

    def train(apply: Apply, params: Any, x: Any, key: Any) -> Any:
        for k, disturb in enumerate(disturbances):
            x = disturb(x, jax.random.fold_in(key, k))
        return apply(params, x)

    return _while_trained(net, train, seed)


def with_dropout(net: Any, keep: float, seed: int = 0) -> Any:
    """A list of layers with inverted dropout after every hidden activation."""
    layers = net if isinstance(net, Description) else getattr(net, "description", None)
    if layers is None:
        remedy = "give a Description or a network of dense layers; "
        remedy += "disturbed(net, dropout(q)) drops inputs of any network"
        raise UsageError(
            "Hidden units are dropped from a list of layers.", got=type(net).__name__, remedy=remedy
        )
    drop = dropout(keep)

    def train(apply: Apply, params: Any, x: Any, key: Any) -> Any:
        for k, ((weight, bias), layer) in enumerate(zip(params, layers.layers)):
            x = activation(layer.activation).function(x @ weight.T + bias)
            if k + 1 < len(layers.layers):
                x = drop(x, jax.random.fold_in(key, k))
        return x

    return _while_trained(net, train, seed)


def quiet(net: Any, trained: Any) -> Any:
    """The plain network `net` with the parameters of the disturbed one that `fit` returned."""
    params = trained[0] if isinstance(trained, tuple) else trained.params
    if isinstance(net, Description):
        layers = zip(params, net.layers)
        return Description(
            tuple(replace(old, weight=weight, bias=bias) for (weight, bias), old in layers)
        )
    if isinstance(net, tuple):
        return params, net[1]
    return model_of(net).rebuild(params)


def _while_trained(net: Any, trained: Callable[..., Any], seed: int) -> Any:
    """`net` with `trained(apply, params, x, key)` in its place wherever its parameters are differentiated."""
    params, apply = _parts(net)

    @jax.custom_jvp
    def both(params: Any, x: Any) -> Any:
        return apply(params, x)

    @both.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        key = _key(seed, *primals)
        return jax.jvp(lambda params, x: trained(apply, params, x, key), primals, tangents)

    if is_dataclass(net) and not isinstance(net, (Description, type)):
        return replace(net, apply=both, description=None)  # type: ignore[type-var]
    return params, both


def _parts(net: Any) -> tuple[Any, Apply]:
    if isinstance(net, tuple):
        return net[0], net[1]
    if hasattr(net, "apply") and hasattr(net, "params"):
        return net.params, net.apply
    remedy = "give a Network, a Description or a pair (params, apply)"
    raise UsageError(
        "It is not clear how to disturb this object.", got=f"a {type(net).__name__}", remedy=remedy
    )


def _key(seed: int, params: Any, x: Any) -> Any:
    """A random key for this row at these parameters."""
    key = jax.random.key(seed)
    for tree in (params, x):
        key = jax.random.fold_in(key, sum(map(_bits, jax.tree.leaves(tree)), jnp.uint32(0)))
    return key


def _bits(leaf: Any) -> Any:
    """A number that changes with any entry: the bits of all of them, each weighed by an odd number, modulo 2³²."""
    leaf = jax.lax.stop_gradient(jnp.ravel(leaf))
    wide = leaf if leaf.dtype in (jnp.float32, jnp.float64) else leaf.astype(jnp.float32)
    words = jnp.ravel(jax.lax.bitcast_convert_type(wide, jnp.uint32))
    odd = 2 * jnp.arange(words.size, dtype=jnp.uint32) + jnp.uint32(2654435769)
    return jnp.sum(words * odd, dtype=jnp.uint32)
