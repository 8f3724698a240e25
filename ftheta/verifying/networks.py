"""Networks as verification needs them: ReLU normal forms, of files and of anything that can be loaded."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.certify.joining import network_of_tensors, stack_on_one_input
from ftheta.relu.network import ReluNetwork, Step

if TYPE_CHECKING:
    from ftheta.networks.programs.program import Program


def read_network(net: Any) -> ReluNetwork:
    """The normal form of a network. A plain chain in an ONNX file is read without tracing it."""
    if isinstance(net, ReluNetwork):
        return net
    if is_onnx(net):
        chain = _read_chain(Path(net))
        if chain is not None:
            return chain
    from ftheta.pieces.normal_forms import network_of

    return network_of(_load(net))


def read_program(path: Path) -> "Program":
    """The graph in an ONNX file."""
    from ftheta.networks.onnx.model import read_model
    from ftheta.networks.reading import ensure_file, reading_file

    with reading_file(path, "ONNX"):
        ensure_file(path)
        return read_model(path)


def read_tensors(program: "Program", path: Path, names: Sequence[str]) -> ReluNetwork:
    """The normal form of the network from the input of a graph to some of its tensors, one after the other."""
    from ftheta.networks.programs.affine_chains import read_tensors_of_chain

    chain = read_tensors_of_chain(program)
    if chain is not None and set(names) <= set(chain.tensors):
        return network_of_tensors(chain, names)
    from ftheta.pieces.normal_forms import network_of

    return stack_on_one_input([network_of(_load(path, until=name)) for name in names])


def is_onnx(net: Any) -> bool:
    """Whether this is the name of an ONNX file, packed or not."""
    return isinstance(net, (str, os.PathLike)) and os.fspath(net).lower().endswith((".onnx", ".onnx.gz"))


def _load(net: Any, **asked: Any) -> Any:
    if not isinstance(net, (str, os.PathLike)):
        return net
    from ftheta.subjects import Network
    from ftheta.subjects.resolve import load_as

    return load_as(Network, net, **asked)


def _read_chain(path: Path) -> ReluNetwork | None:
    from ftheta.networks.programs.affine_chains import read_affine_chain

    steps = read_affine_chain(read_program(path))
    if steps is None:
        return None
    made = [Step(step.matrix, step.offset, np.full(len(step.offset), step.rectified)) for step in steps]
    if steps[-1].rectified:
        size = len(steps[-1].offset)
        made.append(Step(np.eye(size), np.zeros(size), np.zeros(size, bool)))
    return ReluNetwork(tuple(made))
