r"""A network as a chain of affine and increasing maps, with its parameters apart: what bounds are propagated through.

An affine map $x\mapsto Ax+b$ is known by two functions of its parameters: itself, and $r\mapsto|A|r$, by which it maps
the half-widths of a box. Everything else in a chain increases in each of its inputs, so that the ends of a box go to
the ends of the smallest box around its image: monotone activations, largest entries of windows, sorted groups.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax.numpy as jnp

from ftheta.logic.errors import SubjectError
from ftheta.networks.activations import activation
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.biases import PartlyBiased
from ftheta.networks.description import Description
from ftheta.networks.layers.contractions import GroupSort, UnitDense
from ftheta.networks.layers.grids import Conv, Flatten, GlobalMean, Norm, Pool, ReLU
from ftheta.networks.layers.layer import Dense, Layer
from ftheta.networks.scaling import ScaledLayers, Scaling

Params: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class AffineMap:
    r"""`apply(params, x)` is $Ax+b$ and `spread(params, r)` is $|A|r$, both of one input."""

    name: str
    apply: Callable[[Params, Any], Any]
    spread: Callable[[Params, Any], Any]


@dataclass(frozen=True, eq=False)
class Increasing:
    """A map without parameters that increases in each of its inputs; `is_relu` says that it is the ReLU."""

    name: str
    function: Callable[[Any], Any]
    is_relu: bool = False


Chain: TypeAlias = tuple[AffineMap | Increasing, ...]

REMEDY = (
    "give a list of layers or a Stack of dense, convolution, pooling and monotone activation layers"
)


def chain_of(net: Any) -> Chain:
    """The chain of a `Description`, of a `Network` of layers or of a pair `(params, stack.apply)`; its steps take the
    parameters as `fit` does. What is no such chain is refused by name."""
    apply = net[1] if isinstance(net, tuple) and len(net) == 2 else getattr(net, "apply", None)
    made_of = net if isinstance(net, Description) else getattr(apply, "__self__", None)
    own = getattr(apply, "__func__", None)
    if isinstance(made_of, Stack) and own is Stack.apply:
        pairs = enumerate(made_of.layers)
        return tuple(_step_of_layer(i, layer, made_of.circular) for i, layer in pairs)
    if isinstance(made_of, PartlyBiased) and own is PartlyBiased.apply:
        made_of = made_of.layers
        own = type(made_of).apply
    if isinstance(made_of, ScaledLayers) and own is ScaledLayers.apply:
        return (_scaling(made_of.scaling), *_steps_of_description(made_of.layers))
    if isinstance(made_of, Description) and own is Description.apply:
        return _steps_of_description(made_of)
    got = f"a {type(net).__name__} whose layers are not known"
    raise SubjectError("Bounds are propagated through a list of layers.", got=got, remedy=REMEDY)


def _steps_of_description(description: Description) -> Chain:
    steps: list[AffineMap | Increasing] = []
    for i, layer in enumerate(description.layers):
        steps.append(
            AffineMap(f"dense layer {i}", partial(_apply_pair, i), partial(_spread_pair, i))
        )
        if layer.activation != "identity":
            steps.append(_activation(layer.activation, f"layer {i}"))
    return tuple(steps)


def _apply_pair(i: int, params: Params, x: Any) -> Any:
    weight, *bias = params[i]
    return x @ weight.T + (bias[0] if bias else 0)


def _spread_pair(i: int, params: Params, r: Any) -> Any:
    return r @ jnp.abs(params[i][0]).T


def _activation(name: str, where: str) -> Increasing:
    found = activation(name)
    if not found.monotone:
        raise SubjectError(
            "Boxes are propagated through increasing activations.",
            where=where,
            got=found.name,
            remedy='train with relu, leaky-relu, tanh, sigmoid, arctan or softplus, or by the method "adversarial"',
        )
    return Increasing(found.name, found.function, is_relu=found.name == "relu")


def _scaling(scaling: Scaling) -> AffineMap:
    def spread(params: Params, r: Any) -> Any:
        for operation, constant in scaling.steps:
            if operation == "mul":
                r = r * jnp.abs(constant)
            elif operation == "div":
                r = r / jnp.abs(constant)
        return r

    return AffineMap("scaling of the inputs", lambda params, x: scaling(x), spread)


def _step_of_layer(i: int, layer: Layer, circular: bool) -> AffineMap | Increasing:
    if isinstance(layer, ReLU):
        return Increasing("relu", lambda x: layer({}, x), is_relu=True)
    if isinstance(layer, GroupSort) or (isinstance(layer, Pool) and not layer.mean):
        return Increasing(layer.name, lambda x: layer({}, x, circular))
    if isinstance(layer, UnitDense):
        spread = lambda params, r: r @ jnp.abs(layer.matrix(params[i])).T
        return AffineMap(layer.name, lambda params, x: layer(params[i], x), spread)
    if isinstance(layer, Dense | Conv | Norm | Flatten | GlobalMean | Pool):
        apply = lambda params, x: layer(params[i], x, circular)
        return AffineMap(
            layer.name, apply, lambda params, r: layer(_magnitudes(params[i]), r, circular)
        )
    raise SubjectError(
        "Bounds are not propagated through this layer.",
        where=f"layer {i}",
        got=layer.name,
        remedy=REMEDY,
    )


def _magnitudes(params: dict[str, Any]) -> dict[str, Any]:
    """Weights and scales made positive, what is added made zero: a layer $x\\mapsto Ax+b$ becomes $r\\mapsto|A|r$."""
    added = ("bias", "shift")
    return {
        name: jnp.zeros_like(leaf) if name in added else jnp.abs(leaf)
        for name, leaf in params.items()
    }
