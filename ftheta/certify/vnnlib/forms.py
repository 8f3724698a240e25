"""Forms in parentheses, read one after another: assertions become formulas, everything else is handed on as it is.

The reader keeps the parentheses that are open on a list of its own, so that a file may be nested as deeply as it likes.
Comparisons of two words, which make up most of any file, are one match of one pattern.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

from ftheta.logic.errors import suggest

from ..allocating import paused_collection
from ..formulas import And, Formula, Not, Or, push_negations
from ..questions import Row
from .expressions import MINUS_ONE, ONE, ZERO, Linear, add, row_below_zero
from .operands import changes_sign, common_type, divide
from .syntax import CLOSE, COMPARISON, OPEN, WORD, Source, is_number, parse_number, shorten

CONNECTIVES = frozenset(("and", "or", "not", "assert"))
ARITHMETIC = frozenset(("+", "-", "*", "/"))
COMPARISONS = frozenset(("<=", "<", ">=", ">", "=", "==", "!="))
OPERANDS = ARITHMETIC | COMPARISONS
"""Words whose arguments are numbers, variables and arithmetic."""
STRICT = frozenset(("<", ">", "!="))
FORMULAS = frozenset((Row, And, Or, Not))
REMEMBERED = 1 << 16
"""Numbers that are kept by how they are written."""

Coefficients = tuple[dict[int, Fraction], dict[int, Fraction]]
"""Of inputs and of outputs."""


class Word(NamedTuple):
    text: str
    position: int


class Form(NamedTuple):
    """A form that is no part of a formula: its first word, and what follows."""

    head: str
    arguments: "Sequence[Word | Form]"
    position: int


class Symbol:
    """A variable, with the rows' coefficients of it alone: `(inputs, outputs)`, once times 1 and once times −1.

    Rows share these mappings, of which a property of images would else have thousands of copies.
    """

    __slots__ = ("element_type", "minus", "plus", "variable")

    def __init__(self, variable: int, element_type: str = "real") -> None:
        self.variable = variable
        self.element_type = element_type
        if variable >= 0:
            self.plus: Coefficients = ({variable: ONE}, {})
            self.minus: Coefficients = ({variable: MINUS_ONE}, {})
        else:
            self.plus = ({}, {-1 - variable: ONE})
            self.minus = ({}, {-1 - variable: MINUS_ONE})


class Dialect(Protocol):
    """What differs from one version of VNN-LIB to another."""

    pieces: re.Pattern[str]
    symbols: dict[str, Symbol]
    """Variables by how they are written, those that were met."""
    mixes_types: bool
    """Whether comparisons must be checked for the types of what they compare."""

    def symbol(self, word: str, position: int) -> Symbol:
        """The variable of a word, or an error that names it."""
        ...

    def declare(self, form: Form) -> None: ...

    def begin_assertion(self, position: int) -> None: ...

    def multiply(self, factors: Sequence[Linear], position: int) -> Linear: ...


class FormReader:
    """Reads all forms of a file in one dialect; `read` returns its assertions."""

    def __init__(self, source: Source, dialect: Dialect) -> None:
        self.source = source
        self.dialect = dialect
        self.numbers = dict[str, Fraction]()
        self.negates = False  # whether there is a `not` in the assertion that is being read
        self.computed_at: int | None = None  # the first arithmetic that would round in floats
        self.multiplied_at: int | None = None  # the first product of things that vary

    def read(self) -> tuple[Formula, ...]:
        """All forms of the file; declarations go to the dialect."""
        with paused_collection():
            return self._read()

    def _read(self) -> tuple[Formula, ...]:
        assertions = list[Formula]()
        outer = list[tuple[str, list, int]]()  # the forms around the one that is being read
        head = ""
        arguments: list = []
        start = 0
        for match in self.dialect.pieces.finditer(self.source.text):
            kind = match.lastindex
            if kind == COMPARISON:
                if match[1] is not None:
                    self.begin_assertion(match.start(), len(outer))
                    assertions.append(self.compare_words(match))
                elif head in CONNECTIVES:
                    arguments.append(self.compare_words(match))
                else:
                    raise self.misplaced_operator(head, start if head else match.start(), match[2])
            elif kind == OPEN:
                outer.append((head, arguments, start))
                head, arguments, start = match[OPEN], [], match.start()
                if head == "assert":
                    self.begin_assertion(start, len(outer) - 1)
            elif kind == CLOSE:
                if not outer:
                    raise self.source.error(
                        match.start(), "A parenthesis is closed that was never opened.", got="')'"
                    )
                value = self.close(head, arguments, start)
                if len(outer) == 1:
                    self.finish(head, value, start, assertions)
                head, arguments, start = outer.pop()
                if outer:
                    arguments.append(value)
            elif kind == WORD:
                if not outer:
                    raise self.outside(match)
                if head or arguments:
                    arguments.append(self.argument(head, match[WORD], match.start()))
                    continue
                head = match[WORD]  # a comment stood between the parenthesis and its first word
                if head == "assert":
                    self.begin_assertion(start, len(outer) - 1)
        if outer:
            raise self.unfinished_form(head, start, len(outer))
        return tuple(assertions)

    def finish(
        self,
        head: str,
        value: "Formula | Not | Linear | Form",
        position: int,
        assertions: list[Formula],
    ) -> None:
        """A form that stands by itself is complete."""
        if isinstance(value, Form):
            self.dialect.declare(value)
        elif head == "assert":
            assertions.append(value)  # type: ignore[arg-type]  # negations are moved inwards where it is closed
        else:
            raise self.source.error(
                position, f"`{head}` stands outside an assertion.", remedy="write (assert …)"
            )

    def begin_assertion(self, position: int, forms_around: int) -> None:
        if forms_around:
            raise self.source.error(
                position, "An assertion stands inside another form.", got="assert"
            )
        self.dialect.begin_assertion(position)

    # -- words --------------------------------------------------------------------------------------------------------

    def argument(self, head: str, word: str, position: int) -> Linear | Word:
        """A word inside a form that begins with `head`."""
        if head in OPERANDS:
            return self.operand(word, position)
        if head in CONNECTIVES:
            raise self.source.error(
                position,
                f"`{head}` is of formulas.",
                got=shorten(word),
                remedy="give comparisons, such as (<= a b), or and, or, not of them",
            )
        return Word(word, position)

    def operand(self, word: str, position: int) -> Linear:
        if is_number(word):
            return Linear({}, self.number(word, position), is_decimal="." in word)
        symbol = self.dialect.symbol(word, position)
        return Linear({symbol.variable: ONE}, ZERO, symbol.element_type)

    def number(self, word: str, position: int) -> Fraction:
        value = self.numbers.get(word)
        if value is None:
            value = parse_number(self.source, word, position)
            if len(self.numbers) < REMEMBERED:
                self.numbers[word] = value
        return value

    def compare_words(self, match: re.Match[str]) -> Formula:
        """`(<= a b)` of variables and numbers."""
        operator, left, right = match.group(2, 3, 4)
        symbols = self.dialect.symbols
        symbol = symbols.get(left)
        if symbol is None and not is_number(left):
            symbol = self.dialect.symbol(left, match.start(3))
        other = symbols.get(right)
        if other is None and not is_number(right):
            other = self.dialect.symbol(right, match.start(4))
        if symbol is None or symbol is other or self.dialect.mixes_types:
            operands = [self.operand(left, match.start(3)), self.operand(right, match.start(4))]
            return self.compare(operator, operands, match.start())
        if other is None:
            bound = self.number(right, match.start(4))
            if operator == "<=":
                return Row(*symbol.plus, bound)
            if operator == ">=":
                return Row(*symbol.minus, -bound)
            below, above = symbol.plus, symbol.minus
        else:
            bound = ZERO
            below = _side_by_side(symbol.plus, other.minus)
            above = _side_by_side(symbol.minus, other.plus)
        strict = operator in STRICT
        return _join(operator, Row(*below, bound, strict), Row(*above, -bound, strict))

    # -- forms --------------------------------------------------------------------------------------------------------

    def close(self, head: str, arguments: list, position: int) -> Formula | Not | Linear | Form:
        """What a form is worth whose arguments are read."""
        if head in CONNECTIVES:
            return self.connect(head, arguments, position)
        if head in OPERANDS:
            return self.calculate(head, arguments, position)
        if any(not isinstance(argument, (Word, Form)) for argument in arguments):
            raise self.unknown_operator(head, position)
        return Form(head, arguments, position)

    def connect(self, head: str, parts: list, position: int) -> Formula | Not:
        if not FORMULAS.issuperset(map(type, parts)):
            stranger = next(part for part in parts if type(part) not in FORMULAS)
            if isinstance(stranger, Form):
                raise self.unknown_operator(stranger.head, stranger.position)
            raise self.source.error(
                position,
                f"`{head}` is of formulas.",
                got="arithmetic",
                remedy="compare it with something: <=, <, >=, >, == or !=",
            )
        if not parts or (head in ("not", "assert") and len(parts) > 1):
            expected = (
                "exactly one formula" if head in ("not", "assert") else "at least one formula"
            )
            raise self.wrong_arity(head, len(parts), expected, position)
        if head == "assert":
            formula = push_negations(parts[0]) if self.negates else parts[0]
            self.negates = False
            return formula
        if head == "not":
            self.negates = True
            return Not(parts[0])
        if len(parts) == 1:
            return parts[0]
        return And(tuple(parts)) if head == "and" else Or(tuple(parts))

    def calculate(self, head: str, operands: list, position: int) -> Formula | Linear:
        for operand in operands:
            if not isinstance(operand, Linear):
                if isinstance(operand, Form):
                    raise self.unknown_operator(operand.head, operand.position)
                raise self.source.error(
                    position,
                    f"`{head}` is of numbers, not of formulas.",
                    got="a formula inside arithmetic",
                    remedy="join formulas by and, or",
                )
        if head in COMPARISONS:
            return self.compare(head, operands, position)
        if not operands or (head == "/" and len(operands) < 2):
            expected = "at least two operands" if head == "/" else "at least one operand"
            raise self.wrong_arity(head, len(operands), expected, position)
        element_type, is_decimal = common_type(self.source, operands, position)
        if self.computed_at is None and (len(operands) > 1 and not changes_sign(head, operands)):
            self.computed_at = position
        if head == "*":
            result = self.product(operands, position)
        elif head == "/":
            result = divide(self.source, operands, position)
        elif head == "-" and len(operands) == 1:
            result = operands[0].scale(MINUS_ONE)
        elif head == "-":
            result = add([operands[0], *(operand.scale(MINUS_ONE) for operand in operands[1:])])
        else:
            result = add(operands)
        return Linear(result.terms, result.constant, element_type, is_decimal)

    def product(self, operands: Sequence[Linear], position: int) -> Linear:
        constant = ONE
        varying = list[Linear]()
        for operand in operands:
            if operand.terms:
                varying.append(operand)
            else:
                constant *= operand.constant
        if not varying or not constant:
            return Linear({}, constant if not varying else ZERO)
        if len(varying) == 1:
            return varying[0].scale(constant)
        if self.multiplied_at is None:
            self.multiplied_at = position
        return self.dialect.multiply(varying, position).scale(constant)

    def compare(self, operator: str, operands: Sequence[Linear], position: int) -> Formula:
        if len(operands) != 2:
            raise self.wrong_arity(operator, len(operands), "exactly two operands", position)
        common_type(self.source, operands, position)
        left, right = operands
        below = add([left, right.scale(MINUS_ONE)])
        strict = operator in STRICT
        return _join(
            operator, row_below_zero(below, strict), row_below_zero(below.scale(MINUS_ONE), strict)
        )

    # -- errors -------------------------------------------------------------------------------------------------------

    def wrong_arity(self, head: str, count: int, expected: str, position: int) -> Exception:
        return self.source.error(
            position, f"`{head}` has the wrong number of arguments.", got=count, remedy=expected
        )

    def outside(self, match: re.Match[str]) -> Exception:
        what = "The file is not VNN-LIB: everything in it stands in parentheses."
        return self.source.error(match.start(), what, got=shorten(match[WORD]))

    def unfinished_form(self, head: str, position: int, count: int) -> Exception:
        return self.source.error(
            position,
            "The file ends inside parentheses: it is truncated, or one is not closed.",
            got=f"{count} open, the innermost begins with {shorten(head)}",
            remedy="close them, or fetch the file again",
        )

    def misplaced_operator(self, head: str, position: int, operator: str) -> Exception:
        if not head:
            return self.source.error(
                position, f"`{operator}` stands outside an assertion.", remedy="write (assert …)"
            )
        if head in OPERANDS:
            return self.source.error(
                position,
                f"`{head}` is of numbers, not of formulas.",
                got=f"`{operator}` inside `{head}`",
            )
        return self.unknown_operator(head, position)

    def unknown_operator(self, head: str, position: int) -> Exception:
        known = (*sorted(CONNECTIVES | ARITHMETIC), "<=", "<", ">=", ">", "==", "!=")
        return self.source.error(
            position,
            "There is no such operator in VNN-LIB.",
            got=shorten(head) if head else "a parenthesis without an operator",
            remedy=suggest(head, known, f"use one of {' '.join(known)}"),
        )


def _join(operator: str, below: Row, above: Row) -> Formula:
    if operator in ("<=", "<"):
        return below
    if operator in (">=", ">"):
        return above
    return Or((below, above)) if operator == "!=" else And((below, above))


def _side_by_side(one: Coefficients, other: Coefficients) -> Coefficients:
    return {**one[0], **other[0]}, {**one[1], **other[1]}
