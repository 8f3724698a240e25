"""Networks as verification needs them: ReLU normal forms, of files and of anything that can be loaded, and programs
where there is none."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ftheta.certify.joining import network_of_tensors, stack_on_one_input
from ftheta.certify.networks import normal_form_or_program
from ftheta.logic.errors import SubjectError
from ftheta.processes.compilation import clock_stopped
from ftheta.relu.network import ReluNetwork, Step

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork
    from ftheta.networks.programs.program import Program

    AnyNetwork: TypeAlias = ReluNetwork | TracedNetwork


def read_network(net: Any) -> "AnyNetwork":
    """The normal form of a network; where it has none, or none without rounding, its program.

    A plain chain in an ONNX file is read without tracing it.
    """
    if isinstance(net, ReluNetwork) or _is_traced(net):
        return net
    if is_onnx(net):
        chain = _read_chain(Path(net))
        if chain is not None:
            return chain
    return normal_form_or_program(_load(net))


def _is_traced(net: Any) -> bool:
    return hasattr(net, "enclose_at")


def require_normal_form(net: "AnyNetwork", what: str) -> ReluNetwork:
    """The network, if it has a normal form; else an error that says what is decided for such networks alone."""
    if isinstance(net, ReluNetwork):
        return net
    raise SubjectError(
        f"{what} are decided for piecewise-affine networks alone.",
        where=net.name,
        got=net.refusal,
        remedy="ask about one network and its outputs",
    )


def read_program(path: Path) -> "Program":
    """The graph in an ONNX file."""
    from ftheta.networks.onnx.model import read_model
    from ftheta.networks.reading import ensure_file, reading_file

    with reading_file(path, "ONNX"):
        ensure_file(path)
        return read_model(path)


def read_tensors(program: "Program", path: Path, names: Sequence[str]) -> "AnyNetwork":
    """The network from the inputs of a graph, all entries in a row, to some of its tensors, one after the other."""
    from ftheta.networks.programs.affine_chains import read_tensors_of_chain

    chain = read_tensors_of_chain(program)
    if chain is not None and set(names) <= set(chain.tensors):
        return network_of_tensors(chain, names)
    found = [normal_form_or_program(_load(path, until=name)) for name in names]
    if len(found) == 1:
        return found[0]
    return stack_on_one_input(
        [require_normal_form(net, "Queries about several tensors") for net in found]
    )


def is_chain(net: Any, names: Sequence[str] = ()) -> bool:
    """Whether the steps of the normal form are those of the program: a plain chain of dense layers and ReLUs, with
    these tensors among its own."""
    if isinstance(net, ReluNetwork):
        return True
    if not is_onnx(net):
        return False
    from ftheta.networks.programs.affine_chains import read_tensors_of_chain

    chain = read_tensors_of_chain(read_program(Path(os.fspath(net))))
    return chain is not None and set(names) <= set(chain.tensors)


def read_float_program(net: Any) -> "AnyNetwork":
    """What is asked about in floats: a plain chain by its steps, any other network by the operators of its program."""
    if is_chain(net) or _is_traced(net):
        return read_network(net)
    from ftheta.certify.programs.network import TracedNetwork

    loaded = _load(net)
    if not hasattr(loaded, "apply") or not hasattr(loaded, "example"):
        raise SubjectError(
            "What a program computes in floats is decided for networks.",
            where=type(net).__name__,
            remedy="load it first (ft.load), or ask about the real function (--real)",
        )
    casts = getattr(loaded, "casts", ())
    if casts:  # an analysis reads such a node as the identity
        raise SubjectError(
            "What a program computes in floats is not decided where it changes their type.",
            where=casts[0],
            remedy="store it in one type, or ask about the real function (--real)",
        )
    return TracedNetwork(loaded, "its program is run as it is")


def require_chain(net: Any, names: Sequence[str] = ()) -> None:
    """Raise unless it is a plain chain, with these tensors among its own."""
    if is_chain(net, names):
        return
    raise SubjectError(
        "What several programs, or hidden nodes, compute in floats is decided for plain chains of dense layers alone.",
        where=str(net) if is_onnx(net) else type(net).__name__,
        remedy="give such a chain in an ONNX file, or ask about the real function (--real)",
    )


def is_onnx(net: Any) -> bool:
    """Whether this is the name of an ONNX file, packed or not."""
    return isinstance(net, (str, os.PathLike)) and os.fspath(net).lower().endswith(
        (".onnx", ".onnx.gz")
    )


def _load(net: Any, **asked: Any) -> Any:
    if not isinstance(net, (str, os.PathLike)):
        return net
    with clock_stopped():  # JAX is loaded once, which is no time of this question
        import_module("ftheta.networks.programs.importing")
        from ftheta.subjects import Network
        from ftheta.subjects.resolve import Asked, load_as, read_file

    if is_onnx(net) and Path(net).exists():
        return read_file(Path(net), str(net), Asked((Network,), keeps_inputs=True, **asked))
    return load_as(Network, net, **asked)


def _read_chain(path: Path) -> ReluNetwork | None:
    from ftheta.networks.programs.affine_chains import read_affine_chain

    steps = read_affine_chain(read_program(path))
    if steps is None:
        return None
    made = [
        Step(step.matrix, step.offset, np.full(len(step.offset), step.rectified)) for step in steps
    ]
    if steps[-1].rectified:
        size = len(steps[-1].offset)
        made.append(Step(np.eye(size), np.zeros(size), np.zeros(size, bool)))
    return ReluNetwork(tuple(made))
