"""One property of one network, decided: what `ft.verify` and `ftheta verify` do."""

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.certify.questions import Question
from ftheta.certify.verification import Verification, decide
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.relu.network import ReluNetwork, Step

if TYPE_CHECKING:
    from ftheta.certify.properties import Property

SOUND_TYPES = frozenset(("", "real"))
"""Element types of a query that are answered: a verdict is about real numbers."""


def verify(
    net: Any,
    property: "str | os.PathLike[str] | Question | Property",
    *,
    budget: str | float = "60s",
    threads: int | None = None,
    real: bool = False,
) -> Verification:
    """Decide whether a property holds of a network: of the real function with its stored weights.

    `net` is a `ReluNetwork`, a subject, a file, or anything `load` turns into a network; it must be piecewise affine.
    `property` is a VNN-LIB file, a `Question`, or a property such as `Robust(x, eps)`. `threads` search at once, one
    for each core by default. `real` answers a query whose element types are floats over the real numbers.
    """
    from ftheta.processes.budgets import parse_seconds

    seconds = parse_seconds(budget)
    count = os.cpu_count() or 1 if threads is None else threads
    if count < 1:
        raise UsageError("A search needs a thread.", got=threads, remedy="give a positive number")
    network = read_network(net)
    return decide(network, read_question_for(network, property, real=real), seconds=seconds, threads=count)


def read_network(net: Any) -> ReluNetwork:
    """The normal form of a network. A plain chain in an ONNX file is read without tracing it."""
    if isinstance(net, ReluNetwork):
        return net
    if isinstance(net, (str, os.PathLike)) and _is_onnx(Path(net)):
        chain = _read_chain(Path(net))
        if chain is not None:
            return chain
    from ftheta.pieces.normal_forms import network_of

    return network_of(_load(net))


def _load(net: Any) -> Any:
    if not isinstance(net, (str, os.PathLike)):
        return net
    from ftheta.subjects import Network
    from ftheta.subjects.resolve import load_as

    return load_as(Network, net)


def _is_onnx(path: Path) -> bool:
    return "".join(path.suffixes[-2:]).lower().endswith((".onnx", ".onnx.gz"))


def _read_chain(path: Path) -> ReluNetwork | None:
    from ftheta.networks.onnx.model import read_model
    from ftheta.networks.programs.affine_chains import read_affine_chain
    from ftheta.networks.reading import ensure_file, reading_file

    with reading_file(path, "ONNX"):
        ensure_file(path)
        steps = read_affine_chain(read_model(path))
    if steps is None:
        return None
    made = [Step(step.matrix, step.offset, np.full(len(step.offset), step.rectified)) for step in steps]
    if steps[-1].rectified:
        size = len(steps[-1].offset)
        made.append(Step(np.eye(size), np.zeros(size), np.zeros(size, bool)))
    return ReluNetwork(tuple(made))


def read_question_for(network: ReluNetwork, property: Any, *, real: bool) -> Question:
    """The question by which a property of this network is decided."""
    if isinstance(property, Question):
        return property
    if isinstance(property, (str, os.PathLike)):
        return _read_file(property, real)
    if hasattr(property, "question"):
        return property.question(network.widths[-1], lambda x: _label(network, x))
    raise UsageError(
        "A property is a VNN-LIB file, a question, or made of Robust and Outputs.",
        got=f"a {type(property).__name__}",
        remedy="for example ft.Robust(x, eps=0.01)",
    )


def _label(network: ReluNetwork, x: tuple[Fraction, ...]) -> int:
    """The largest output at a rational point, decided exactly; of equal ones the first."""
    from ftheta.relu.exact import exact

    y = exact(network)(x)
    return y.index(max(y))


def _read_file(path: Any, real: bool) -> Question:
    from ftheta.certify.vnnlib import read_query

    query = read_query(path)
    refused = sorted(query.element_types - SOUND_TYPES)
    if query.version[0] >= 2 and refused and not real:
        raise SubjectError(
            "A query about floating-point numbers is not answered: bounds here are about real numbers.",
            where=str(path),
            got=f"element type {refused[0]}",
            remedy="declare it real, or ask for the answer over the reals (--real)",
        )
    if not query.is_plain:
        raise SubjectError(
            "Queries about several networks, hidden nodes or products are read, but not decided yet.", where=str(path)
        )
    return query.question()
