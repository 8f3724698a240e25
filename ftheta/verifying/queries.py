"""A query about one or several networks as one question about one network.

The networks of a query stand side by side, hidden nodes are further outputs, and equations between inputs are solved
(`ftheta.certify.joining`, `ftheta.certify.equalities`). A counter-example is taken back to the inputs of the query.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.certify.equalities import Substitution, leave_equations, solve_equations
from ftheta.certify.joining import draw_inputs, stand_side_by_side
from ftheta.certify.normal_form import make_cases
from ftheta.certify.products import Factor
from ftheta.certify.questions import Question
from ftheta.certify.vnnlib.queries import Interface, Query, Tensor
from ftheta.logic.errors import SubjectError, UsageError, suggest

from .networks import (
    is_chain,
    is_onnx,
    read_float_program,
    read_network,
    read_program,
    read_tensors,
    require_chain,
    require_normal_form,
)

if TYPE_CHECKING:
    from .networks import AnyNetwork

ONNX_TYPES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
"""Numbers of element types in ONNX files, those of floats."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A network and the question about it; `lift` takes its inputs back to those of the query."""

    network: "AnyNetwork"
    question: Question
    substitution: Substitution
    factors: tuple[tuple[Factor, ...], ...] = ()
    """Of the products that are the last outputs of the question."""

    def lift(self, u: Sequence[Fraction]) -> tuple[Fraction, ...]:
        return self.substitution.lift(u)


def make_instance(
    query: Query, networks: Any, *, any_type: bool = False, in_floats: bool = False
) -> Instance:
    """The question of a query about its networks: one network, or a mapping from names to networks.

    The element types of the files must be those of the query, unless it may be about `any_type`. `in_floats`, networks
    are what their programs compute: several must be chains, and only equations that make inputs the same are used.
    """
    runs_program = False
    if in_floats:
        sources = _assign(query, networks)
        alone = len(query.networks) == 1 and not query.networks[0].hidden
        runs_program = alone and not is_chain(sources[query.networks[0].name])
        for network in query.networks if not alone else ():
            nodes = [tensor.node for tensor in network.hidden]
            require_chain(sources[network.equal_to or network.name], nodes)
    found = read_networks(query, networks, any_type=any_type)
    if runs_program:
        found = [read_float_program(next(iter(_assign(query, networks).values())))]
    several = "Queries about several networks"
    joined = (
        found[0]
        if len(found) == 1
        else stand_side_by_side([require_normal_form(net, several) for net in found])
    )
    solution = solve_equations(query.formula, query.inputs)
    if in_floats and not solution.only_copies:
        solution = leave_equations(query.formula, query.inputs)
    if solution.is_trivial:
        network = joined
    else:
        network = draw_inputs(
            require_normal_form(joined, "Equations between inputs"), *solution.matrix()
        )

    def name(k: int) -> str:
        return query.name_input(solution.kept[k])

    cases = make_cases(solution.formula, solution.inputs, name, query.where)
    question = Question(solution.inputs, query.outputs + len(query.products), cases)
    return Instance(network, question, solution, _rewrite_products(query, solution))


def _rewrite_products(query: Query, solution: Substitution) -> tuple[tuple[Factor, ...], ...]:
    """The factors of the products of a query, in the inputs that are kept."""
    found = list[tuple[Factor, ...]]()
    for product in query.products:
        factors = list[Factor]()
        for form in product.factors:
            inputs, constant = solution.rewrite(form.inputs)
            factors.append(Factor(inputs, form.outputs, form.constant + constant))
        found.append(tuple(factors))
    return tuple(found)


def read_networks(query: Query, networks: Any, *, any_type: bool) -> "list[AnyNetwork]":
    """The networks of a query, each with its hidden nodes as further outputs."""
    sources = _assign(query, networks)
    found = dict[tuple[str, tuple[str, ...]], "AnyNetwork"]()
    read = list["AnyNetwork"]()
    for network in query.networks:
        own = network.equal_to or network.name
        key = own, tuple(tensor.node for tensor in network.hidden)
        if key not in found:
            found[key] = _read(query, network, sources[own], any_type)
        read.append(found[key])
    for network in query.networks:
        if network.isomorphic_to:
            _ensure_isomorphic(
                query, network, sources[network.name], sources[network.isomorphic_to]
            )
    return read


def _assign(query: Query, networks: Any) -> dict[str, Any]:
    """The source of each network that is not declared equal to another one."""
    needed = [network.name for network in query.networks if not network.equal_to]
    if not isinstance(networks, Mapping):
        if len(needed) > 1:
            raise UsageError(
                "The query is about several networks.",
                where=query.where,
                got="one network",
                remedy=" ".join(f"--network {name}=FILE" for name in needed),
            )
        return {needed[0]: networks}
    names = [network.name for network in query.networks]
    for name in networks:
        if name not in needed:
            twin = next(
                (network.equal_to for network in query.networks if network.name == name), ""
            )
            what = (
                f"The network {name} is {twin} itself: it has no file of its own." if twin else ""
            )
            raise UsageError(
                what or "The query declares no network of this name.",
                where=query.where,
                got=name,
                remedy="leave it out"
                if twin
                else suggest(name, names, f"declared: {', '.join(names)}"),
            )
    missing = [name for name in needed if name not in networks]
    if missing:
        raise UsageError(
            f"The network {missing[0]} has no file.",
            where=query.where,
            got=f"{len(networks)} of {len(needed)} networks",
            remedy=" ".join(f"--network {name}=FILE" for name in missing),
        )
    return dict(networks)


def _read(query: Query, network: Interface, source: Any, any_type: bool) -> "AnyNetwork":
    for tensor in network.inputs:
        if tensor.initialized:
            raise SubjectError(
                "An input of a query is not initialized: others are not decided.",
                where=query.where,
                got=f"network {network.name}, input {tensor.name}",
                remedy="export it with this input fixed",
            )
    if len(network.inputs) > 1 and not is_onnx(source):
        raise SubjectError(
            "Several inputs are those of an ONNX file.",
            where=query.where,
            got=f"network {network.name}, inputs {', '.join(tensor.name for tensor in network.inputs)}",
            remedy="give the file, or a network of one input",
        )
    if is_onnx(source):
        read = _read_onnx(query, network, Path(os.fspath(source)), any_type)
    else:
        if network.hidden:
            raise SubjectError(
                "Hidden nodes are those of an ONNX file.",
                where=query.where,
                got=f"network {network.name}, hidden node {network.hidden[0].name}",
            )
        read = read_network(source)
    declared = (
        sum(t.size for t in network.inputs),
        sum(t.size for t in network.outputs + network.hidden),
    )
    if (read.widths[0], read.widths[-1]) != declared:
        raise SubjectError(
            f"The question is about another network than {_name(source)}.",
            where=query.where,
            got=f"{network.name or 'a network'} with {declared[0]} inputs and {declared[1]} outputs",
            remedy=f"the network has {read.widths[0]} inputs and {read.widths[-1]} outputs",
        )
    return read


def _read_onnx(query: Query, network: Interface, path: Path, any_type: bool) -> "AnyNetwork":
    program = read_program(path)
    is_old = query.version[0] < 2  # version 1.0 has neither shapes nor types
    if not is_old:
        for kind, tensors, ports in (
            ("inputs", network.inputs, program.inputs),
            ("outputs", network.outputs, program.outputs),
        ):
            if len(tensors) != len(ports):
                raise SubjectError(
                    f"The network {network.name} has another number of {kind}.",
                    where=str(path),
                    got=f"{len(ports)}: {', '.join(port.name for port in ports)}",
                    remedy=f"{query.where} declares {', '.join(tensor.name for tensor in tensors)}",
                )
            for tensor, port in zip(tensors, ports):
                _ensure_fits(
                    query,
                    tensor,
                    port.dims,
                    "" if any_type else ONNX_TYPES.get(port.type, ""),
                    path,
                )
    elif len(program.outputs) != 1:
        return read_network(path)  # which says what is wrong
    hidden = [_find_node(program, tensor, query, path) for tensor in network.hidden]
    return read_tensors(program, path, [*(port.name for port in program.outputs), *hidden])


def _ensure_fits(query: Query, tensor: Tensor, dims: Any, element_type: str, path: Path) -> None:
    """The declared shape is that of the file, up to axes that the file leaves open, and so is the type."""
    if dims is not None:
        known = [(axis, n) for axis, n in enumerate(dims) if n is not None]
        fits = len(dims) == len(tensor.shape) and all(tensor.shape[axis] == n for axis, n in known)
        if (
            not fits and prod(n for _, n in known) == tensor.size
        ):  # axes of length one are written or not
            fits = [n for _, n in known if n != 1] == [n for n in tensor.shape if n != 1]
        if not fits:
            raise SubjectError(
                f"The tensor {tensor.name} has another shape in the network's file.",
                where=query.where,
                got=f"[{','.join(map(str, tensor.shape))}]",
                remedy=f"{path} says [{','.join('?' if n is None else str(n) for n in dims)}]",
            )
    if tensor.element_type != "real" and element_type and tensor.element_type != element_type:
        raise SubjectError(
            f"The tensor {tensor.name} has another type in the network's file.",
            where=query.where,
            got=tensor.element_type,
            remedy=f"{path} says {element_type}; declare it real to ask about the real function",
        )


def _find_node(program: Any, tensor: Tensor, query: Query, path: Path) -> str:
    """The tensor that a hidden declaration names: by its own name, or by that of the node that makes it."""
    if tensor.node in program.maker:
        return tensor.node
    for node in program.nodes:
        if node.name == tensor.node and node.outputs:
            return node.outputs[0]
    names = [*program.maker, *(node.name for node in program.nodes if node.name)]
    raise SubjectError(
        f"The hidden node {tensor.name} is not in the network's file.",
        where=f"{query.where}, {path}",
        got=f'"{tensor.node}"',
        remedy=suggest(
            tensor.node, names, f"its last tensors are {', '.join(list(program.maker)[-3:])}"
        ),
    )


def _ensure_isomorphic(query: Query, network: Interface, one: Any, other: Any) -> None:
    """Isomorphic networks have the same operators in the same order."""
    if not (is_onnx(one) and is_onnx(other)):
        return
    first, second = (
        [node.op for node in read_program(Path(os.fspath(source))).nodes] for source in (one, other)
    )
    if first != second:
        raise SubjectError(
            f"The networks {network.name} and {network.isomorphic_to} are not isomorphic.",
            where=query.where,
            got=f"{_name(one)} and {_name(other)} have different operators",
            remedy="leave isomorphic-to out: the query is decided without it",
        )


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
