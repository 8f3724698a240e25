"""What can be trained, and how the trained parameters become the same kind of thing again."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.biases import PartlyBiased
from ftheta.networks.description import Description, is_realisation
from ftheta.networks.scaling import ScaledLayers
from ftheta.networks.shared_program import program_of


@dataclass(frozen=True, eq=False)
class Model:
    """`apply(params, x)` for one input, trainable `params` in NumPy, and the way back: `rebuild(params)`.

    `paths` names every leaf of `params` for a reader; `shape` is that of one input where it is known. `program` is the
    same function as `apply`, and the same object for all networks with the same activations, where that is known.
    """

    name: str
    apply: Callable[[Any, Any], Any]
    params: Any
    rebuild: Callable[[Any], Any]
    paths: tuple[str, ...]
    shape: tuple[int, ...] | None = None
    program: Callable[[Any, Any], Any] | None = None

    @property
    def parameters(self) -> int:
        return sum(np.size(leaf) for leaf in jax.tree.leaves(self.params))


def model_of(net: Any, dtype: Any = None) -> Model:
    """An equinox module, a `Network`, a `Description` or a pair `(params, apply)`, with parameters of one dtype."""
    if isinstance(net, Description):
        model = _model_of_description("network", net)
    elif (
        hasattr(net, "apply") and hasattr(net, "params") and hasattr(net, "input_shape")
    ):  # a Network
        model = _network(net)
    elif "equinox" in sys.modules and isinstance(
        net, sys.modules["equinox"].Module
    ):  # slow to import
        model = _split(type(net).__name__, net, lambda module, x: module(x), lambda module: module)
    elif isinstance(net, tuple) and len(net) == 2 and callable(net[1]):
        params, apply = net
        model = _split(
            getattr(apply, "__name__", "network"), params, apply, lambda trained: (trained, apply)
        )
    else:
        raise UsageError(
            "It is not clear how to train this object.",
            got=f"a {type(net).__name__}",
            remedy="give an ftheta.Network, an equinox module, a Description, or a pair (params, apply)",
        )
    return replace(model, params=_cast_params(model, dtype))


def _model_of_description(name: str, description: Description) -> Model:
    def rebuild(params: Any) -> Description:
        layers = zip(params, description.layers)
        return Description(
            tuple(replace(old, weight=weight, bias=bias) for (weight, bias), old in layers)
        )

    paths = tuple(
        f"{part} of layer {i}"
        for i in range(1, len(description.layers) + 1)
        for part in ("weight", "bias")
    )
    return Model(
        name,
        description.apply,
        description.params,
        rebuild,
        paths,
        (description.widths[0],),
        program_of(description),
    )


def _network(net: Any) -> Model:
    """A `Network` is trained through its list of layers where that is what it computes."""
    if is_realisation(net.apply, net.params, net.description):
        inner = _model_of_description(net.name, net.description)

        def rebuild(params: Any) -> Any:
            description = inner.rebuild(params)
            return replace(
                net, apply=description.apply, params=description.params, description=description
            )

        return replace(inner, rebuild=rebuild)
    made_of = getattr(net.apply, "__self__", None)
    if isinstance(made_of, ScaledLayers) and net.apply == made_of.apply:
        return _behind_scaling(net, made_of)
    if isinstance(made_of, PartlyBiased) and net.apply == made_of.apply:
        return _partly_biased(net, made_of)
    wide = lambda params: jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    model = _split(
        net.name,
        net.params,
        net.apply,
        lambda params: replace(net, params=wide(params), description=None),
    )
    return replace(model, shape=net.input_shape)


def _behind_scaling(net: Any, made_of: ScaledLayers) -> Model:
    """The layers of a `Network` that scales its inputs first are trained; the scaling stays as it is."""
    inner = _model_of_description(net.name, made_of.layers)

    def rebuild(params: Any) -> Any:
        trained = ScaledLayers(made_of.scaling, inner.rebuild(params))
        return replace(
            net, apply=trained.apply, params=trained.params, description=trained.folded_layers
        )

    return replace(inner, apply=made_of.apply, params=net.params, rebuild=rebuild, program=None)


def _partly_biased(net: Any, made_of: PartlyBiased) -> Model:
    """Layers without a bias are trained without one."""

    def rebuild(params: Any) -> Any:
        numbers = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
        trained = type(net).described(made_of.with_params(numbers), net.name)
        return replace(
            net, apply=trained.apply, params=trained.params, description=trained.description
        )

    model = _split(net.name, net.params, net.apply, rebuild)
    return replace(model, shape=net.input_shape)


def _split(
    name: str, tree: Any, apply: Callable[[Any, Any], Any], rebuild: Callable[[Any], Any]
) -> Model:
    """Real arrays are trained; everything else in the tree stays as it is."""
    import equinox as eqx

    trained = lambda leaf: (
        isinstance(leaf, (np.ndarray, jax.Array)) and jax.numpy.issubdtype(leaf.dtype, np.inexact)
    )
    params, rest = eqx.partition(tree, trained)
    paths = tuple(
        jax.tree_util.keystr(path).lstrip(".")
        for path, _ in jax.tree_util.tree_leaves_with_path(params)
    )
    join = lambda p: eqx.combine(p, rest)
    return Model(name, lambda p, x: apply(join(p), x), params, lambda p: rebuild(join(p)), paths)


def _cast_params(model: Model, dtype: Any) -> Any:
    """The parameters in NumPy, in the dtype asked for or else each in its own."""
    if not jax.tree.leaves(model.params):
        remedy = "a plain function has none: give (params, apply) or an equinox module"
        raise SubjectError("There are no parameters to train.", where=model.name, remedy=remedy)
    try:
        real = dtype is None or np.dtype(dtype).kind == "f"
    except TypeError:
        real = False
    if not real:
        raise UsageError(
            "Parameters are trained in floating point.",
            got=f"dtype={dtype}",
            remedy="float32 or float64",
        )
    params = jax.tree.map(lambda leaf: np.asarray(leaf, dtype), model.params)
    for path, leaf in zip(model.paths, jax.tree.leaves(params)):
        if leaf.dtype.kind != "f":
            raise SubjectError(
                "Only real parameters are trained.",
                where=path,
                got=leaf.dtype,
                remedy="give dtype=float32",
            )
        if not np.isfinite(leaf).all():
            remedy = "initialise or repair the weights"
            raise SubjectError(
                "A parameter is not finite.", where=f"{model.name}: {path}", remedy=remedy
            )
    return params
