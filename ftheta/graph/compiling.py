"""Compile once what differs in its numbers alone.

`jax.jit` compiles a new function anew, and a function made from a knob (a step size, a matrix) is new at every value
of the knob. Here the function is traced, which is cheap; its constants become inputs of the program; and programs are
known by what they compute, not by the function that was traced. The results are values: not to be differentiated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from .hurry import compiles_quickly, settled_compiler_options

_KEPT = 128  # compiled programs
LONG = 1e9  # numbers that a program computes, from which it is not compiled in a hurry
_INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
}


def call_compiled(function: Callable[..., Any], *arguments: Any) -> Any:
    """`jax.jit(function)(*arguments)`, compiled once for all functions with the same graph.

    Two graphs are the same if they differ in constant arrays of the same shape and in float64 numbers that are no
    small halves or integers (those may let the compiler simplify). A graph that cannot be compared is compiled anew.
    """
    return compile_alike(function, *arguments)(*arguments)


def compile_alike(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """`jax.jit(function)` for arguments of the shapes of these, compiled as by `call_compiled`; traced once, here."""
    traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    try:
        form = _Form.of(traced.jaxpr)
    except _Unknown:
        return jax.jit(function)
    consts = tuple(traced.consts)
    numbers = np.array(form.numbers, np.float64)
    structure = jax.tree.structure(shape)

    def call(*arguments: Any) -> Any:
        return jax.tree.unflatten(
            structure, _program(form)(consts, numbers, tuple(jax.tree.leaves(arguments)))
        )

    return call


class _Unknown(Exception):
    """Something in the graph whose text does not say what it is."""


@dataclass(frozen=True)
class _Form:
    """What a graph computes, as `text`; the numbers that were taken out of it, in the order in which they occur."""

    text: str
    jaxpr: Jaxpr = field(compare=False)
    numbers: tuple[float, ...] = field(compare=False)

    @classmethod
    def of(cls, jaxpr: Jaxpr) -> "_Form":
        numbers: list[float] = []
        return cls("\n".join(_lines(jaxpr, numbers)), jaxpr, tuple(numbers))


@lru_cache(_KEPT)
def _program(form: _Form) -> Callable[..., list[Any]]:
    """The graph as a compiled function of its constants, its numbers and its arguments."""

    def run(consts: tuple[Any, ...], numbers: Any, arguments: tuple[Any, ...]) -> list[Any]:
        supply = iter([numbers[i] for i in range(len(form.numbers))])
        return _evaluate(form.jaxpr, (*consts, *arguments), supply)

    hurried = compiles_quickly() and numbers_computed(form.jaxpr) >= LONG
    return jax.jit(run, compiler_options=dict(settled_compiler_options()) if hurried else None)


def numbers_computed(jaxpr: Jaxpr) -> float:
    """About how many products and other numbers a run of the graph computes; a `while` is taken once."""
    total = 0.0
    for eqn in jaxpr.eqns:
        inner = [p for value in eqn.params.values() for p in _graphs_in(value)]
        if inner:
            times = eqn.params.get("length", 1) if eqn.primitive.name == "scan" else 1
            total += times * sum(map(numbers_computed, inner))
        else:
            total += sum(_size(var) for var in eqn.outvars) * _terms(eqn)
    return total


def _graphs_in(value: Any) -> Iterator[Jaxpr]:
    if isinstance(value, ClosedJaxpr):
        yield value.jaxpr
    elif isinstance(value, Jaxpr):
        yield value
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _graphs_in(inner)


def _terms(eqn: Any) -> float:
    """How many products each number is the sum of."""
    if eqn.primitive.name != "dot_general":
        return 1.0
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return float(np.prod([eqn.invars[0].aval.shape[axis] for axis in contracted]))


def _size(var: Any) -> float:
    return float(np.prod(getattr(var.aval, "shape", ())))


# -- the text of a graph ------------------------------------------------------------------------------


def _lines(jaxpr: Jaxpr, numbers: list[float] | None) -> Iterator[str]:
    """One line an equation; `numbers` takes the literals that become inputs, or None where they have to stay."""
    if jaxpr.effects:
        raise _Unknown
    fresh = count()
    names = {var: next(fresh) for var in (*jaxpr.constvars, *jaxpr.invars)}
    yield "in " + " ".join(str(var.aval) for var in names)
    for eqn in jaxpr.eqns:
        words = [_word(atom, names, numbers) for atom in eqn.invars]
        names |= {var: next(fresh) for var in eqn.outvars}
        kinds = " ".join(f"{names[var]}:{var.aval}" for var in eqn.outvars)
        yield f"{kinds} = {eqn.primitive.name} {' '.join(words)}"
        yield from _parameters(eqn, numbers)
    yield "out " + " ".join(_word(atom, names, numbers) for atom in jaxpr.outvars)


def _parameters(eqn: Any, numbers: list[float] | None) -> Iterator[str]:
    """What belongs to an equation besides its inputs. Graphs inside it are part of the text."""
    entered = _inner(eqn)
    if entered is not None:
        yield "{"
        yield from _lines(entered, numbers)
        yield "}"
        if eqn.primitive.name != "scan":
            return
    for name, value in sorted(eqn.params.items()):
        if value is not eqn.params.get("jaxpr") or entered is None:
            yield f"  {name}={'; '.join(_value(value))}"


def _inner(eqn: Any) -> Jaxpr | None:
    """The graph inside an equation, where it is evaluated step by step with the numbers supplied."""
    name = eqn.primitive.name
    found = eqn.params.get("jaxpr" if name == "scan" else _INLINED.get(name, ""))
    if found is None:
        return None
    if isinstance(found, ClosedJaxpr):
        if found.consts:
            raise _Unknown  # arrays that the text would not show
        return found.jaxpr
    return found if isinstance(found, Jaxpr) else None


def _value(value: Any) -> Iterator[str]:
    if isinstance(value, ClosedJaxpr):
        if value.consts:
            raise _Unknown
        yield from _lines(value.jaxpr, None)
    elif isinstance(value, Jaxpr):
        yield from _lines(value, None)
    elif isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        for inner in value:
            yield from _value(inner)
        yield f"({len(value)})"
    else:
        text = repr(value)
        if " at 0x" in text or isinstance(value, (np.ndarray, jax.Array)):
            raise _Unknown
        yield text


def _word(atom: Any, names: dict[Any, int], numbers: list[float] | None) -> str:
    if not isinstance(atom, Literal):
        return str(names[atom])
    if numbers is None or not _becomes_an_input(atom):
        return f"{atom.val!r}:{atom.aval}"
    numbers.append(float(atom.val))
    return f"#:{atom.aval}"


def _becomes_an_input(atom: Literal) -> bool:
    """Whether a literal becomes an input: any float64 but small halves and integers, and what is not finite."""
    if (
        getattr(atom.aval, "dtype", None) != np.float64
        or np.shape(atom.val) != ()
        or not np.isfinite(atom.val)
    ):
        return False
    value = float(atom.val)
    return not (abs(value) <= 16 and (2 * value).is_integer())


# -- its evaluation ------------------------------------------------------------------------------------


def _evaluate(jaxpr: Jaxpr, inputs: tuple[Any, ...], supply: Iterator[Any]) -> list[Any]:
    """The outputs of a graph; the literals that `_lines` took out come from the supply, in the same order."""
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), inputs))

    def read(atom: Any) -> Any:
        if isinstance(atom, Literal):
            return next(supply) if _becomes_an_input(atom) else atom.val
        return values[atom]

    for eqn in jaxpr.eqns:
        found = _apply_equation(eqn, [read(atom) for atom in eqn.invars], supply)
        values.update(zip(eqn.outvars, found))
    return [jnp.asarray(read(atom)) for atom in jaxpr.outvars]


def _apply_equation(eqn: Any, inputs: list[Any], supply: Iterator[Any]) -> list[Any]:
    inner = _inner(eqn)
    if inner is None:
        found = eqn.primitive.bind(*inputs, **eqn.params)
        return list(found) if eqn.primitive.multiple_results else [found]
    if eqn.primitive.name != "scan":
        return _evaluate(inner, tuple(inputs), supply)
    return _run_scan(eqn.params, inner, inputs, supply)


def _run_scan(
    params: dict[str, Any], inner: Jaxpr, inputs: list[Any], supply: Iterator[Any]
) -> list[Any]:
    """A loop whose body takes its numbers from outside."""
    before = params["num_consts"]
    carried = params["num_consts"] + params["num_carry"]
    count = len(_Form.of(inner).numbers)
    numbers = [next(supply) for _ in range(count)]

    def body(carry: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        found = _evaluate(inner, (*inputs[:before], *carry, *row), iter(numbers))
        return found[: params["num_carry"]], found[params["num_carry"] :]

    loop = {name: params[name] for name in ("length", "reverse", "unroll")}
    carry, rows = jax.lax.scan(body, inputs[before:carried], inputs[carried:], **loop)
    return [*carry, *rows]
