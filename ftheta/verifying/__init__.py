"""One property of one network, or one query about several, decided: what `ft.verify` and `ftheta verify` do."""

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from ftheta.certify.behaviour.behaviour import Behaviour
from ftheta.certify.deviations import FLOAT_TYPES
from ftheta.certify.products import ProductSolver
from ftheta.certify.questions import Question
from ftheta.certify.searches import Verification
from ftheta.certify.verification import MOST_BISECTED_INPUTS, decide, decide_in_floats
from ftheta.certify.vnnlib.queries import Query
from ftheta.logic.errors import SubjectError, UsageError, suggest
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork

from .networks import read_float_program, read_network, require_normal_form
from .queries import Instance, make_instance

if TYPE_CHECKING:
    from ftheta.certify.properties import Property

    from .networks import AnyNetwork

MEANINGS = ("real", *FLOAT_TYPES)
"""What an answer may be about: the real function, or what a program computes in floats of a type."""


def verify(
    net: Any,
    property: "str | os.PathLike[str] | Query | Question | Property | Behaviour",
    *,
    budget: str | float = "60s",
    threads: int | None = None,
    real: bool = False,
    meaning: str | None = None,
    on: Any = None,
) -> Verification:
    """Decide whether a property holds of a network: of the real function with its stored weights.

    `net` is a `ReluNetwork`, a subject, a file, or anything `load` turns into a network.
    For a query about several networks it is a mapping from their names to such. `property` is a VNN-LIB file, what
    `read_query` made of one, a `Question`, or a property such as `Robust(x, eps)` or `Monotone(box, increasing=0)`.
    `threads` search at once, one for
    each core by default.

    `budget` is counted by the clock on the wall from this call on, the reading of the network included; what is done
    once, compiling kernels and loading libraries, is not counted. A busy machine decides less in it. When it is over,
    the answer is "timeout", with the best enclosure by then.

    `meaning` is "real", "float32" or "float64": the last two ask about what a program of that type computes, in any
    order of summation. A query says so by its element types; `real` answers it over the real numbers all the same.

    `on` says who searches, as in a sweep: a number of processes, or a Dask client or scheduler (`"dask://host:port"`).
    Ctrl-C ends a search with what it has shown until then.
    """
    from ftheta.processes.budgets import parse_seconds

    ends = clock() + parse_seconds(budget)
    count = os.cpu_count() or 1 if threads is None else threads
    if count < 1:
        raise UsageError("A search needs a thread.", got=threads, remedy="give a positive number")
    if isinstance(property, (str, os.PathLike)):
        from ftheta.certify.vnnlib import read_query

        property = read_query(os.fspath(property))
    if meaning is not None and meaning not in MEANINGS:
        raise UsageError(
            "There is no such meaning.",
            got=meaning,
            remedy=suggest(meaning, MEANINGS, "real or float32"),
        )
    if real and meaning not in (None, "real"):
        raise UsageError(
            "The answer is either about real numbers or about floats.", got=f"real and {meaning}"
        )
    if isinstance(property, Query):
        asked = "real" if real else meaning
        kind = _element_type(property) if asked is None else asked
        instance = _make_instance(net, property, kind, any_type=asked is not None)
        if property.products:
            result = _decide_products(instance, property, _left(ends))
        else:
            result = _decide(
                instance.network, instance.question, kind, True, _left(ends), count, on
            )
        if result.witness is None:
            return result
        return replace(result, witness=replace(result.witness, x=instance.lift(result.witness.x)))
    if isinstance(net, Mapping):
        raise UsageError(
            "Several networks are those of a VNN-LIB query.", got=f"a {type(property).__name__}"
        )
    kind = meaning or "real"
    if isinstance(property, Behaviour):
        if kind != "real" or on is not None:
            raise UsageError(
                "This property is decided here, for the real function.",
                got=f"meaning={kind}, on={on}",
            )
        read = read_network(net)
        return property.decide(read, _left(ends), count)
    network = read_network(net) if kind == "real" else read_float_program(net)
    question = read_question_for(network, property)
    return _decide(network, question, kind, False, _left(ends), count, on)


def _left(ends: float) -> float:
    return max(ends - clock(), 0.0)


def _decide(
    network: "AnyNetwork",
    question: Question,
    kind: str,
    rounds_constants: bool,
    seconds: float,
    threads: int,
    on: Any,
) -> Verification:
    """Decide a question of one kind, here or by the workers of a sweep."""
    in_floats = partial(decide_in_floats, element_type=kind, rounds_constants=rounds_constants)
    answer = decide if kind == "real" else in_floats
    if on is None:
        return answer(network, question, seconds=seconds, threads=threads)
    from .spreading import PartsOfQuestion, decide_on

    form = require_normal_form(network, "Questions shared out to workers")
    few = form.widths[0] <= MOST_BISECTED_INPUTS
    return decide_on(PartsOfQuestion(form, question, answer, halves_boxes=few), on, seconds)


def _make_instance(net: Any, query: Query, kind: str, *, any_type: bool) -> Instance:
    in_floats = kind != "real"
    if in_floats:
        _refuse_arithmetic(query, kind)
    return make_instance(query, net, any_type=any_type, in_floats=in_floats)


def _decide_products(instance: Instance, query: Query, seconds: float) -> Verification:
    """Decide a query with products, which are envelopes over boxes of inputs."""
    network = require_normal_form(instance.network, "Queries with products")
    if network.widths[0] > MOST_BISECTED_INPUTS:
        raise SubjectError(
            f"Products of variables are decided for up to {MOST_BISECTED_INPUTS} inputs.",
            where=query.multiplied_at or query.where,
            got=f"{network.widths[0]} inputs",
            remedy="write the comparison without a product",
        )
    began = clock()
    began_cpu = time.process_time()
    found = ProductSolver(network, instance.factors).decide(instance.question, seconds)
    elapsed = clock() - began
    answer = "sat" if found.witness is not None else "unsat" if not found.open else "unknown"
    if answer == "unknown" and elapsed >= seconds:
        answer = "timeout"
    return Verification(
        answer,
        found.witness,
        "input splitting with envelopes of products",
        network.meaning,
        found.boxes,
        found.open,
        elapsed,
        time.process_time() - began_cpu,
    )


def _element_type(query: Query) -> str:
    """The one type that a query is about, if answers are sound for it."""
    if query.version[0] < 2:
        return "real"
    types = sorted(query.element_types)
    if len(types) == 1 and types[0] in MEANINGS:
        return types[0]
    refused = [name for name in types if name not in MEANINGS]
    raise SubjectError(
        "The query is about numbers for which no answer would be sound.",
        where=query.where,
        got=f"element type {refused[0]}" if refused else f"element types {' and '.join(types)}",
        remedy=f"declare all tensors {', '.join(MEANINGS)}, or ask for the answer over the reals (--real)",
    )


def _refuse_arithmetic(query: Query, kind: str) -> None:
    if query.computed_at:
        raise SubjectError(
            f"Arithmetic in a query about {kind} rounds; only comparisons of two numbers are decided.",
            where=query.computed_at,
            remedy="compare tensors with numbers or with each other, or ask for the answer over the reals (--real)",
        )


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
