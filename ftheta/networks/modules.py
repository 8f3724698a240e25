"""Modules of equinox and flax as functions of their parameters; neither package is imported before it is needed."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError

from .description import Dense, Description

NAMES: dict[Callable[..., Any], str] = {
    jax.nn.relu: "relu",
    jax.nn.leaky_relu: "leaky-relu",
    jnp.tanh: "tanh",
    jax.nn.tanh: "tanh",
    jax.nn.sigmoid: "sigmoid",
    jnp.arctan: "arctan",
    jax.nn.softplus: "softplus",
    jax.nn.silu: "silu",
    jnp.square: "square",
}
"""Functions that are called as an activation with nothing but its argument. jax.nn.gelu is an approximation then."""


class Parts(NamedTuple):
    """`apply(params, x)`, its parameters in float64, and the list of layers where the module is one."""

    apply: Callable[[Any, Any], Any]
    params: Any
    description: Description | None


def split(function: Any, shape: tuple[int, ...]) -> Parts:
    """The parameters of a module and the function of them, for one input of that shape, as it is used after training.

    A pair of an equinox module and its state is a module too. Any other callable has no parameters.
    """
    import equinox as eqx

    if isinstance(function, eqx.Module) or is_stateful(function):
        return _of_equinox(function, shape)
    return Parts(lambda params, x: function(x), (), None)


def is_stateful(found: Any) -> bool:
    """Whether this is an equinox module with its state, as `equinox.nn.make_with_state` returns them."""
    if not isinstance(found, tuple) or len(found) != 2:
        return False
    import equinox as eqx

    return isinstance(found[0], eqx.Module) and isinstance(found[1], eqx.nn.State)


def wide(tree: Any) -> Any:
    """The same tree with its real arrays as float64 NumPy arrays."""
    import equinox as eqx

    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64) if eqx.is_inexact_array(leaf) else leaf, tree)


# ---- equinox ---------------------------------------------------------------------------------------------------------


def _of_equinox(given: Any, shape: tuple[int, ...]) -> Parts:
    """Dropout is off and batch normalisation uses its running statistics, in a copy."""
    import equinox as eqx

    module, state = given if isinstance(given, tuple) else (given, None)
    module = eqx.nn.inference_mode(module)
    state = wide(state)
    arrays, static = eqx.partition(module, eqx.is_inexact_array)
    params = wide(arrays)
    needs_key = _needs_key(module)

    def apply(params: Any, x: Any, seed: int = 0) -> Any:
        keys = {"key": jax.random.key(seed)} if needs_key else {}
        whole = eqx.combine(params, static)
        return whole(x, **keys) if state is None else whole(x, state, **keys)[0]

    if needs_key:
        _ensure_not_random(apply, params, shape, type(module).__name__)
    return Parts(lambda params, x: apply(params, x), params, layers_of(module))


def _needs_key(module: Any) -> bool:
    try:
        parameter = inspect.signature(type(module).__call__).parameters.get("key")
    except (TypeError, ValueError, AttributeError):
        return False
    return parameter is not None and parameter.default is inspect.Parameter.empty


def _ensure_not_random(apply: Callable[..., Any], params: Any, shape: tuple[int, ...], name: str) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    try:
        with jax.enable_x64(True):
            one, other = (np.asarray(apply(params, x, seed)) for seed in (0, 1))
    except Exception:
        return  # that it cannot be called is told where it is traced
    if not np.array_equal(one, other, equal_nan=True):
        raise SubjectError(
            "The module is random: its output depends on the key.",
            where=name,
            remedy="fix the key: load(lambda x: module(x, key=key), example)",
        )


def layers_of(module: Any) -> Description | None:
    """The list of layers that an equinox module is, if it is one."""
    import equinox as eqx

    if isinstance(module, eqx.nn.MLP):
        unchanged = inspect.signature(eqx.nn.MLP.__init__).parameters["final_activation"].default
        final = [] if module.final_activation is unchanged else [module.final_activation]
        parts = [part for layer in module.layers for part in (layer, module.activation)][:-1] + final
    elif isinstance(module, eqx.nn.Sequential):
        parts = [layer.fn if isinstance(layer, eqx.nn.Lambda) else layer for layer in module.layers]
    else:
        parts = [module]
    silent = (eqx.nn.Dropout, eqx.nn.Identity)
    dense = lambda part: (part.weight, part.bias) if isinstance(part, eqx.nn.Linear) else part
    return _chain(dense(part) for part in parts if not isinstance(part, silent))


def _chain(parts: Iterable[Any]) -> Description | None:
    """The list of layers that pairs (W, b) and activations are, in order; None if they are anything else."""
    layers: list[Dense] = []
    waiting = False  # whether the last layer has no activation yet
    for part in parts:
        if isinstance(part, tuple):
            weight, bias = part
            has_bias = bias is not None
            bias = np.asarray(bias) if has_bias else np.zeros(np.shape(weight)[:1])
            if np.ndim(weight) != 2 or bias.ndim != 1:
                return None
            layers.append(Dense(np.asarray(weight), bias, has_bias=has_bias))
        else:
            name = _activation(part)
            if name is None or not waiting:
                return None
            layers[-1] = replace(layers[-1], activation=name)
        waiting = isinstance(part, tuple)
    return Description(tuple(layers)) if layers else None


def _activation(function: Any) -> str | None:
    if isinstance(function, partial) and function.func is jax.nn.gelu and not function.args:
        return "gelu" if function.keywords == {"approximate": False} else None
    try:
        return NAMES.get(function)
    except TypeError:  # what cannot be hashed is none of them
        return None


# ---- flax ------------------------------------------------------------------------------------------------------------


def is_nnx(found: Any) -> bool:
    """Whether this is a module of flax NNX."""
    return any(kind.__module__.startswith("flax.nnx") and kind.__name__ == "Module" for kind in type(found).__mro__)


def split_nnx(module: Any, shape: tuple[int, ...]) -> tuple[Parts, tuple[int, ...]]:
    """The same for a module of flax NNX, with the shape of one input.

    A first axis of length 1, of the example and of the output, is a batch, as most modules of flax expect one.
    """
    from flax import nnx

    copy = nnx.clone(module)
    copy.eval()
    graph, learnt, rest = nnx.split(copy, nnx.Param, ...)
    leaves, tree = jax.tree_util.tree_flatten_with_path(wide(learnt))
    names = [jax.tree_util.keystr(path, simple=True, separator=".").removesuffix(".value") for path, _ in leaves]
    rest = wide(rest)

    def whole(params: Any, x: Any) -> Any:
        state = jax.tree.unflatten(tree, [params[name] for name in names])
        return nnx.merge(graph, state, rest, copy=True)(x)

    params = {name: leaf for name, (_, leaf) in zip(names, leaves)}
    if not _takes_batches(whole, params, shape):
        return Parts(whole, params, _described_nnx(copy)), shape
    return Parts(lambda params, x: whole(params, x[None])[0], params, _described_nnx(copy)), shape[1:]


def _takes_batches(whole: Callable[[Any, Any], Any], params: Any, shape: tuple[int, ...]) -> bool:
    if len(shape) < 2 or shape[0] != 1:
        return False
    try:
        with jax.enable_x64(True):
            found = jax.eval_shape(whole, params, jax.ShapeDtypeStruct(shape, np.float64))
    except Exception:
        return False  # told where the network is traced
    return getattr(found, "shape", ())[:1] == (1,)


def _described_nnx(module: Any) -> Description | None:
    from flax import nnx

    parts = list(module.layers) if isinstance(module, nnx.Sequential) else [module]
    matrix = lambda part: None if part.bias is None else np.asarray(part.bias[...])
    dense = lambda part: (np.asarray(part.kernel[...]).T, matrix(part)) if isinstance(part, nnx.Linear) else part
    return _chain(dense(part) for part in parts if not isinstance(part, nnx.Dropout))
