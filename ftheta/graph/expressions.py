"""Expressions such as `t2*exp(t1)*sqrt(t1+t2*exp(t1))`, read as data and never run as Python.

    program     =  { name "=" sum ";" }  sum
    sum         =  numbers, variables, pi, e, functions of the table below, + − * / ^ (or **) and parentheses

A power binds before a sign, and to the right: −x^2 = −(x^2), x^y^z = x^(y^z). Reading gives a list of steps, each
once: the second `t2*exp(t1)` is the first one. `u = …;` names a step.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import BUDGET, named, trace
from ftheta.logic.errors import UsageError

LONGEST = 2000
DEEPEST = 60
MOST_STEPS = 1000
LARGEST_EXPONENT = 100

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": jnp.exp,
    "log": jnp.log,
    "sqrt": jnp.sqrt,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "relu": jax.nn.relu,
    "erf": jax.scipy.special.erf,
    "abs": jnp.abs,
}
OF_SEVERAL: dict[str, Callable[..., Any]] = {"min": jnp.minimum, "max": jnp.maximum}
CONSTANTS = {"pi": math.pi, "π": math.pi, "e": math.e}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "^": jnp.power,
}
STRENGTH = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 30}
SIGN = 25
WORDS = (*FUNCTIONS, *OF_SEVERAL, *CONSTANTS)

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/^(),=;−·×]))"
)
SPELLINGS = {"**": "^", "−": "-", "·": "*", "×": "*"}

# ("number", value), ("variable", name), ("power", base, integer), (operation, operand, …)
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Expression:
    """A function of its `variables`, in their natural order (t1, t2, t10), as steps that refer to earlier ones."""

    text: str
    steps: tuple[Step, ...]
    names: tuple[tuple[int, str], ...]  # steps that the user named
    result: int

    @classmethod
    def parse(cls, text: str) -> "Expression":
        """Read the text, or say what is wrong with it and where."""
        if len(text) > LONGEST:
            raise UsageError(
                f"An expression has at most {LONGEST} characters.",
                got=f"{len(text)} characters",
                remedy="shorten it",
            )
        return _Reader(text).program()

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(sorted((s[1] for s in self.steps if s[0] == "variable"), key=_natural))

    def __call__(self, *values: Any) -> Any:
        given = dict(zip(self.variables, values, strict=True))
        known = []
        names = dict(self.names)
        for number, (operation, *operands) in enumerate(self.steps):
            value = self._step(operation, operands, given, known)
            known.append(named(value, names[number]) if number in names else value)
        return known[self.result]

    def _step(
        self, operation: str, operands: list[Any], given: dict[str, Any], known: list[Any]
    ) -> Any:
        if operation == "number":
            return jnp.asarray(operands[0], float)
        if operation == "variable":
            return given[operands[0]]
        if operation == "power":
            return known[operands[0]] ** operands[1]
        values = [known[k] for k in operands]
        if operation == "neg":
            return -values[0]
        if operation in OF_SEVERAL:
            return reduce(OF_SEVERAL[operation], values)
        return (FUNCTIONS.get(operation) or OPERATIONS[operation])(*values)

    def trace(self, *args: Any, budget: int = BUDGET) -> Graph:
        """The graph, with the expression itself as the source of every node."""
        if len(args) != len(self.variables):
            raise UsageError(
                "The expression needs one value for each variable.",
                where=self.text,
                got=f"{len(args)} values for {', '.join(self.variables)}",
                remedy=f"give {len(self.variables)} numbers in this order",
            )
        graph = trace(self, *args, names=self.variables, budget=budget)
        nodes = tuple(replace(node, source=self.text) for node in graph.nodes)
        return replace(graph, nodes=nodes, source=self.text)


def point(expression: Expression, words: str) -> tuple[float, ...]:
    """The values of the variables, in their order, from words such as `t1=0,t2=1`."""
    given: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in words.split(","))):
        name, _, number = (p.strip() for p in part.partition("="))
        try:
            given[name] = float(number)
        except ValueError:
            example = ",".join(f"{v}=1" for v in expression.variables)
            raise UsageError(
                "A point is written name=number.", got=part, remedy=f"for example {example}"
            ) from None
    unknown, missing = (
        [v for v in a if v not in b]
        for a, b in ((given, expression.variables), (expression.variables, given))
    )
    if unknown or missing:
        told = [f"no value for {', '.join(missing)}"] * bool(missing) + [
            f"no variable {', '.join(unknown)}"
        ] * bool(unknown)
        raise UsageError(
            "The point must give a value to each variable of the expression, and to nothing else.",
            where=expression.text,
            got=" and ".join(told),
            remedy=f"the variables are {', '.join(expression.variables)}",
        )
    bad = [name for name, value in given.items() if not math.isfinite(value)]
    if bad:
        raise UsageError(
            "The point must be finite.",
            got=f"{bad[0]} = {given[bad[0]]}",
            remedy="give finite numbers",
        )
    return tuple(given[v] for v in expression.variables)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


@dataclass
class _Reader:
    """Precedence climbing over the tokens; every step is kept once."""

    text: str
    steps: dict[Step, int] = field(default_factory=dict)
    defined: dict[str, int] = field(default_factory=dict)

    def program(self) -> Expression:
        self.tokens = list(self.read())
        self.at = 0
        while self.now.kind == "name" and self.after.text == "=":
            self.definition()
        result = self.sum(0, 0)
        if self.now.kind != "end":
            self.fail(
                "Here an operator or the end is expected.",
                self.now,
                "write * between factors: 2*x, not 2x",
            )
        if not any(step[0] == "variable" for step in self.steps):
            self.fail(
                "An expression needs a variable.",
                self.tokens[0],
                "write names such as x or t1 for the inputs",
            )
        names = tuple((step, name) for name, step in self.defined.items())
        return Expression(self.text, tuple(self.steps), names, result)

    def definition(self) -> None:
        name = self.take()
        if name.text in WORDS or name.text in self.defined or ("variable", name.text) in self.steps:
            self.fail("This name is taken.", name, "choose a name that is not used before")
        self.take()
        self.defined[name.text] = self.sum(0, 0)
        self.expect(";", "end a definition with `;`")

    def sum(self, binding: int, depth: int) -> int:
        """What binds more strongly than `binding`."""
        if depth > DEEPEST:
            self.fail(
                f"The expression is nested more than {DEEPEST} deep.",
                self.now,
                "name parts of it: u = …; …",
            )
        left = self.operand(depth)
        while STRENGTH.get(self.now.text, -1) > binding:
            operator = self.take()
            strength = STRENGTH[operator.text]
            right = self.sum(strength - 1 if operator.text == "^" else strength, depth + 1)
            left = (
                self.power(left, right, operator)
                if operator.text == "^"
                else self.keep((operator.text, left, right))
            )
        return left

    def operand(self, depth: int) -> int:
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "name":
            return self.word(token, depth)
        if token.text in ("-", "+"):
            inner = self.sum(SIGN, depth + 1)
            return inner if token.text == "+" else self.read_negation(inner)
        if token.text == "(":
            inner = self.sum(0, depth + 1)
            self.expect(")", "close the parenthesis")
            return inner
        self.fail(
            "Here a number, a variable, a function or `(` is expected.",
            token,
            "complete the expression",
        )

    def number(self, token: _Token) -> int:
        value = float(token.text)
        if not math.isfinite(value):
            self.fail("This number is too large.", token, "numbers go up to 1.8e308")
        return self.keep(("number", value))

    def word(self, token: _Token, depth: int) -> int:
        name = token.text
        called = self.now.text == "("
        if called and name not in (*FUNCTIONS, *OF_SEVERAL):
            near = difflib.get_close_matches(name, (*FUNCTIONS, *OF_SEVERAL), n=1)
            known = ", ".join((*FUNCTIONS, *OF_SEVERAL))
            hint = (
                f"did you mean {near[0]}?"
                if near
                else f"functions are {known}; write * for a product"
            )
            self.fail("This is not a function.", token, hint)
        if called:
            return self.call(token, depth)
        if name in FUNCTIONS or name in OF_SEVERAL:
            self.fail("A function needs its argument.", token, f"write {name}(…)")
        if name in CONSTANTS:
            return self.keep(("number", CONSTANTS[name]))
        return self.defined[name] if name in self.defined else self.keep(("variable", name))

    def call(self, token: _Token, depth: int) -> int:
        self.take()
        operands = [self.sum(0, depth + 1)]
        while self.now.text == ",":
            self.take()
            operands.append(self.sum(0, depth + 1))
        self.expect(")", "close the parenthesis")
        if (len(operands) == 1) != (token.text in FUNCTIONS):
            wanted = "one argument" if token.text in FUNCTIONS else "two arguments or more"
            self.fail(f"{token.text} takes {wanted}.", token, f"give {wanted}")
        return self.keep((token.text, *operands))

    def read_negation(self, step: int) -> int:
        kind, value = self.kept(step)[:2]
        return self.keep(("number", -value)) if kind == "number" else self.keep(("neg", step))

    def power(self, base: int, exponent: int, operator: _Token) -> int:
        kind, value = self.kept(exponent)[:2]
        if kind != "number" or not float(value).is_integer():
            return self.keep(("^", base, exponent))
        if abs(value) > LARGEST_EXPONENT:
            self.fail(
                f"Whole exponents go up to {LARGEST_EXPONENT}.",
                operator,
                "write exp(n*log(x)) for larger powers",
            )
        return self.keep(("power", base, int(value)))

    def keep(self, step: Step) -> int:
        if len(self.steps) >= MOST_STEPS and step not in self.steps:
            self.fail(f"The expression has more than {MOST_STEPS} steps.", self.now, "shorten it")
        return self.steps.setdefault(step, len(self.steps))

    def kept(self, number: int) -> Step:
        return list(self.steps)[number]

    # -- tokens -------------------------------------------------------------------------------------------------

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    @property
    def after(self) -> _Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def take(self) -> _Token:
        token = self.now
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def expect(self, text: str, remedy: str) -> None:
        if self.now.text != text:
            self.fail(f"Here `{text}` is expected.", self.now, remedy)
        self.take()

    def read(self) -> Iterator[_Token]:
        place = 0
        end = len(self.text.rstrip())
        while place < end:
            match = TOKEN.match(self.text, place)
            if match is None or match.lastgroup is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                bad = _Token("unknown", self.text[place], place)
                self.fail(
                    "This character has no meaning here.", bad, "use + - * / ^ ( ) , and names"
                )
            found = match.group(match.lastgroup)
            yield _Token(match.lastgroup, SPELLINGS.get(found, found), match.start(match.lastgroup))
            place = match.end()
        yield _Token("end", "", end)

    def fail(self, what: str, token: _Token, remedy: str) -> NoReturn:
        """The expression with a caret below the place (an error prints `  where: ` before it)."""
        start = max(0, token.place - 50)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + 100])
        caret = " " * (len("  where: ") + token.place - start) + "^"
        got = (
            f"{token.text!r} at character {token.place + 1}"
            if token.text
            else "the end of the expression"
        )
        raise UsageError(what, where=f"{shown}\n{caret}", got=got, remedy=remedy)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """t2 before t10."""
    parts = re.split(r"(\d+)", name)
    return [
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts if part
    ]
