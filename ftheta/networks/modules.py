"""Modules of equinox and flax as functions of their parameters; neither package is imported before it is needed."""

import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ftheta.logic.errors import SubjectError


class Parts(NamedTuple):
    """`apply(params, x)` and its parameters in float64."""

    apply: Callable[[Any, Any], Any]
    params: Any


def split(
    function: Any, shape: tuple[int, ...], unpack: Callable[[Any], Any] = lambda x: x
) -> Parts:
    """The parameters of a module and the function of them, for one input of that shape, as it is used after training.

    A pair of an equinox module and its state is a module too. Any other callable has no parameters. It is called with
    what `unpack` makes of the input.
    """
    import equinox as eqx

    if isinstance(function, eqx.Module) or is_stateful(function):
        return _of_equinox(function, shape, unpack)
    return Parts(lambda params, x: function(unpack(x)), ())


def is_stateful(found: Any) -> bool:
    """Whether this is an equinox module with its state, as `equinox.nn.make_with_state` returns them."""
    if not isinstance(found, tuple) or len(found) != 2:
        return False
    import equinox as eqx

    return isinstance(found[0], eqx.Module) and isinstance(found[1], eqx.nn.State)


def input_size(module: Any) -> int | None:
    """The length of the vectors that a module says it takes, itself or by the first of its `layers`."""
    for word in ("in_size", "in_features"):
        if type(size := getattr(module, word, None)) is int:
            return size
    layers = getattr(module, "layers", None)
    return input_size(layers[0]) if isinstance(layers, (tuple, list)) and layers else None


def wide(tree: Any) -> Any:
    """The same tree with its real arrays as float64 NumPy arrays."""
    import equinox as eqx

    return jax.tree.map(
        lambda leaf: np.asarray(leaf, np.float64) if eqx.is_inexact_array(leaf) else leaf, tree
    )


# ---- equinox ---------------------------------------------------------------------------------------------------------


def _of_equinox(given: Any, shape: tuple[int, ...], unpack: Callable[[Any], Any]) -> Parts:
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
        inputs = unpack(x)
        return whole(inputs, **keys) if state is None else whole(inputs, state, **keys)[0]

    if needs_key:
        _ensure_not_random(apply, params, shape, type(module).__name__)
    return Parts(lambda params, x: apply(params, x), params)


def _needs_key(module: Any) -> bool:
    try:
        parameter = inspect.signature(type(module).__call__).parameters.get("key")
    except (TypeError, ValueError, AttributeError):
        return False
    return parameter is not None and parameter.default is inspect.Parameter.empty


def _ensure_not_random(
    apply: Callable[..., Any], params: Any, shape: tuple[int, ...], name: str
) -> None:
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


# ---- flax ------------------------------------------------------------------------------------------------------------


def is_torch(found: Any) -> bool:
    """Whether it is a module or an exported program of torch, which is imported if there is one."""
    places = (("torch.nn", "Module"), ("torch.export", "ExportedProgram"))
    kinds = (getattr(sys.modules.get(package), kind, None) for package, kind in places)
    return any(isinstance(found, kind) for kind in kinds if isinstance(kind, type))


def shape_of_first_layer(module: Any) -> tuple[int, ...] | None:
    """What the first layer with weights takes, where it is a dense one."""
    leaves = (part for part in module.modules() if next(part.children(), None) is None)
    first = next((part for part in leaves if next(part.parameters(), None) is not None), None)
    size = getattr(first, "in_features", None)
    return (size,) if isinstance(size, int) else None


def stated_shape(module: Any) -> tuple[int, ...]:
    """The shape of one input that a module says itself, of torch with a batch of one before it."""
    if is_torch(module):
        shape = shape_of_first_layer(module) if hasattr(module, "modules") else None
        found = None if shape is None else (1, *shape)
    else:
        size = input_size(module)
        found = None if size is None else (size,)
    if found is None:
        raise SubjectError(
            "A module needs an example of its input.",
            got=getattr(module, "__name__", type(module).__name__),
            remedy="give one input, an array or a shape such as (1, 3, 224, 224), beside it",
        )
    return found


def is_nnx(found: Any) -> bool:
    """Whether this is a module of flax NNX."""
    return any(
        kind.__module__.startswith("flax.nnx") and kind.__name__ == "Module"
        for kind in type(found).__mro__
    )


def split_nnx(
    module: Any, shape: tuple[int, ...], unpack: Callable[[Any], Any] | None = None
) -> tuple[Parts, tuple[int, ...]]:
    """The same for a module of flax NNX, with the shape of one input.

    A first axis of length 1, of the example and of the output, is a batch, as most modules of flax expect one.
    """
    from flax import nnx

    copy = nnx.clone(module)
    copy.eval()
    graph, learnt, rest = nnx.split(copy, nnx.Param, ...)
    leaves, tree = jax.tree_util.tree_flatten_with_path(wide(learnt))
    names = [
        jax.tree_util.keystr(path, simple=True, separator=".").removesuffix(".value")
        for path, _ in leaves
    ]
    rest = wide(rest)

    def whole(params: Any, x: Any) -> Any:
        state = jax.tree.unflatten(tree, [params[name] for name in names])
        return nnx.merge(graph, state, rest, copy=True)(x if unpack is None else unpack(x))

    params = {name: leaf for name, (_, leaf) in zip(names, leaves)}
    if unpack is not None or not _takes_batches(whole, params, shape):
        return Parts(whole, params), shape
    return Parts(lambda params, x: whole(params, x[None])[0], params), shape[1:]


def _takes_batches(whole: Callable[[Any, Any], Any], params: Any, shape: tuple[int, ...]) -> bool:
    if len(shape) < 2 or shape[0] != 1:
        return False
    try:
        with jax.enable_x64(True):
            found = jax.eval_shape(whole, params, jax.ShapeDtypeStruct(shape, np.float64))
    except Exception:
        return False  # told where the network is traced
    return getattr(found, "shape", ())[:1] == (1,)
