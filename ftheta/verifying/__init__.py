"""One property of one network, or one query about several, decided: what `ft.verify` and `ftheta verify` do."""

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ftheta.certify.questions import Question
from ftheta.certify.verification import Verification, decide
from ftheta.certify.vnnlib.queries import Query
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.relu.network import ReluNetwork

from .networks import read_network
from .queries import make_instance

if TYPE_CHECKING:
    from ftheta.certify.properties import Property

    from .networks import AnyNetwork

SOUND_TYPES = frozenset(("", "real"))
"""Element types of a query that are answered: a verdict is about real numbers."""


def verify(
    net: Any,
    property: "str | os.PathLike[str] | Query | Question | Property",
    *,
    budget: str | float = "60s",
    threads: int | None = None,
    real: bool = False,
) -> Verification:
    """Decide whether a property holds of a network: of the real function with its stored weights.

    `net` is a `ReluNetwork`, a subject, a file, or anything `load` turns into a network.
    For a query about several networks it is a mapping from their names to such. `property` is a VNN-LIB file, what
    `read_query` made of one, a `Question`, or a property such as `Robust(x, eps)`. `threads` search at once, one for
    each core by default. `real` answers a query whose element types are floats over the real numbers.
    """
    from ftheta.processes.budgets import parse_seconds

    seconds = parse_seconds(budget)
    count = os.cpu_count() or 1 if threads is None else threads
    if count < 1:
        raise UsageError("A search needs a thread.", got=threads, remedy="give a positive number")
    if isinstance(property, (str, os.PathLike)):
        from ftheta.certify.vnnlib import read_query

        property = read_query(os.fspath(property))
    if isinstance(property, Query):
        return _verify_query(net, property, seconds, count, real)
    if isinstance(net, Mapping):
        raise UsageError("Several networks are those of a VNN-LIB query.", got=f"a {type(property).__name__}")
    network = read_network(net)
    return decide(network, read_question_for(network, property), seconds=seconds, threads=count)


def _verify_query(net: Any, query: Query, seconds: float, threads: int, real: bool) -> Verification:
    refused = sorted(query.element_types - SOUND_TYPES)
    if query.version[0] >= 2 and refused and not real:
        raise SubjectError(
            "A query about floating-point numbers is not answered: bounds here are about real numbers.",
            where=query.where,
            got=f"element type {refused[0]}",
            remedy="declare it real, or ask for the answer over the reals (--real)",
        )
    if query.products:
        raise SubjectError("Queries about products are read, but not decided yet.", where=query.where)
    instance = make_instance(query, net, any_type=real)
    result = decide(instance.network, instance.question, seconds=seconds, threads=threads)
    if result.witness is None:
        return result
    return replace(result, witness=replace(result.witness, x=instance.lift(result.witness.x)))


def read_question_for(network: "AnyNetwork", property: Any) -> Question:
    """The question by which a property of this network is decided."""
    if isinstance(property, Question):
        return property
    if hasattr(property, "question"):
        return property.question(network.widths[-1], lambda x: _label(network, x))
    raise UsageError(
        "A property is a VNN-LIB file, a question, or made of Robust and Outputs.",
        got=f"a {type(property).__name__}",
        remedy="for example ft.Robust(x, eps=0.01)",
    )


def _label(network: "AnyNetwork", x: tuple[Fraction, ...]) -> int:
    """The largest output at a rational point, decided exactly; of equal ones the first."""
    if not isinstance(network, ReluNetwork):
        return network.label(x)
    from ftheta.relu.exact import exact

    y = exact(network)(x)
    return y.index(max(y))
