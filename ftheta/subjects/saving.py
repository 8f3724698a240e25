"""Networks as files; the suffix says which form."""

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from ftheta.logic.errors import FthetaError, SubjectError, UsageError
from ftheta.networks import files
from ftheta.networks.description import Description

from .network import Network

if TYPE_CHECKING:
    from ftheta.networks.onnx.write import Precision

SUFFIXES = (".onnx", ".npz")
MOST_INPUTS = 4096
"""Up to which a network without a list of layers is brought into normal form to be written."""
Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def save_network(net: Any, path: str | Path, precision: "Precision" = "float64") -> Path:
    """Write a network as `.onnx` (opset 20) or as `.npz`; `load` reads both.

    What is written is its list of layers or, of any other piecewise-affine network, its ReLU normal form, which takes
    and gives vectors in an `.npz` file. A scaling of the inputs stays apart in `.onnx`, and is folded into the first
    layer in `.npz`. float64 keeps every number; `precision="float32"` rounds the weights of an `.onnx` file to what
    most runtimes compute with. Weights of an exact network are rounded to the nearest float64.
    """
    from ftheta.networks.onnx.write import store, to_bytes
    from ftheta.relu.export import save as save_steps

    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UsageError(
            "Unknown kind of file.",
            got=path.name,
            remedy=f"end its name with {', '.join(SUFFIXES)}",
        )
    found, shapes = _layers_or_steps(net)
    if path.suffix == ".onnx":
        apart = net.scaled_layers if isinstance(net, Network) else None
        store(to_bytes(apart or found, precision, shapes), path)
    elif isinstance(found, Description):
        files.save(found, path)
    else:
        save_steps(found, path)
    return path


def _layers_or_steps(net: Any) -> tuple[Any, Shapes | None]:
    """The list of layers or the steps of whatever has them, and the shapes of input and output if they are arrays."""
    import equinox as eqx

    from ftheta.networks.modules import input_size
    from ftheta.relu import ExactNetwork, ReluNetwork, round_weights

    if isinstance(net, (Description, ReluNetwork)):
        return net, None
    if isinstance(net, ExactNetwork):
        return round_weights(net).network, None
    if isinstance(net, Network):
        return (net.description, None) if net.description is not None else _normal_form(net)
    if isinstance(net, eqx.Module) and (size := input_size(net)) is not None:
        layers = Network.of(net, (size,)).description
        if layers is not None:
            return layers, None
    inner = getattr(net, "network", None)  # of a training run
    if inner is not None and inner is not net:
        return _layers_or_steps(inner)
    raise SubjectError(
        "Only networks are written.",
        got=type(net).__name__,
        remedy="make it one: save(ftheta.load(module, example), path)",
    )


def _normal_form(net: Network) -> tuple[Any, Shapes]:
    """The ReLU normal form of a piecewise-affine network; its matrices are as large as inputs times neurons."""
    from ftheta.relu import relu_form

    if prod(net.input_shape) > MOST_INPUTS:
        raise SubjectError(
            "The network is not a list of layers, and too large to be written as a ReLU normal form unasked.",
            where=net.name,
            got=f"{prod(net.input_shape):,} inputs",
            remedy="save ftheta.relu_form(net, net.example) if the memory allows it",
        )
    try:
        with jax.enable_x64(True):
            return relu_form(net, net.example), (net.input_shape, net.output_shape)
    except FthetaError as error:
        raise SubjectError(
            "Only lists of layers and piecewise-affine networks are written.",
            where=net.name,
            got=error.what,
            remedy="export it with the framework that made it",
        ) from error
