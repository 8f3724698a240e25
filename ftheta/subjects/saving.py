"""Networks as files; the suffix says which form."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.logic import SubjectError, UsageError
from ftheta.networks import files
from ftheta.networks.description import Description

from .network import Network

if TYPE_CHECKING:
    from ftheta.networks.onnx.write import Precision

SUFFIXES = (".onnx", ".npz")


def save_network(net: Any, path: str | Path, precision: "Precision" = "float64") -> Path:
    """Write a network as `.onnx` (opset 20), which `load` reads, or as `.npz`: a weight list, which it reads too, or
    the steps of a normal form, which `ftheta.relu.load` reads.

    float64 keeps every number; `precision="float32"` rounds the weights of an `.onnx` file to what most runtimes
    compute with. Weights of an exact network are rounded to the nearest float64.
    """
    from ftheta.networks.onnx.write import store, to_bytes
    from ftheta.relu.export import save as save_steps

    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UsageError("Unknown kind of file.", got=path.name, remedy=f"end its name with {', '.join(SUFFIXES)}")
    found = _layers_or_steps(net)
    if found is None:
        raise SubjectError(
            "Only networks that are lists of layers or ReLU normal forms are written.",
            where=getattr(net, "name", ""),
            got=type(net).__name__,
            remedy="if it is piecewise affine, save ftheta.relu_form(net, net.example)",
        )
    if path.suffix == ".onnx":
        store(to_bytes(found, precision), path)
    elif isinstance(found, Description):
        files.save(found, path)
    else:
        save_steps(found, path)
    return path


def _layers_or_steps(net: Any) -> Any:
    """The list of layers or the steps of whatever has them; None of all else."""
    from ftheta.relu import ExactNetwork, ReluNetwork, rounded

    if isinstance(net, (Description, ReluNetwork)):
        return net
    if isinstance(net, ExactNetwork):
        return rounded(net).network
    if isinstance(net, Network):
        return net.description
    inner = getattr(net, "network", None)  # of a training run
    return None if inner is None or inner is net else _layers_or_steps(inner)
