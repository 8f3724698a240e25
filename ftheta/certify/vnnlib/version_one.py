"""VNN-LIB 1.0: inputs X_0, X_1, … and outputs Y_0, Y_1, … of one network, declared one by one, and linear rows."""

import re
from collections.abc import Sequence

from ftheta.logic.errors import SubjectError, suggest

from ..formulas import And
from .expressions import Linear
from .forms import Form, FormReader, Symbol, Word
from .queries import Interface, Query, Tensor
from .syntax import PIECES_WITHOUT_INDICES, Source, shorten

IGNORED = frozenset(("set-logic", "set-info", "set-option"))
"""Commands of SMT-LIB that say nothing about the question."""
ENDING = frozenset(("check-sat", "get-model", "exit"))
"""Commands of SMT-LIB behind the last assertion."""
_NAME = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})")


def read_version_one(source: Source, version: tuple[int, int] = (1, 0)) -> Query:
    """A query of version 1.0."""
    dialect = _VersionOne(source)
    assertions = FormReader(source, dialect).read()
    inputs = dialect.count("X")
    outputs = dialect.count("Y")
    if not inputs:
        raise SubjectError(
            "The file declares no input.",
            where=source.name,
            got=f"{len(assertions)} assertions, {outputs} outputs",
            remedy="declare inputs: (declare-const X_0 Real)",
        )
    network = Interface(
        "", (Tensor("X", "real", (inputs,)),), (), (Tensor("Y", "real", (outputs,)),)
    )
    return Query(source.name, version, (network,), And(assertions))


class _VersionOne:
    pieces = PIECES_WITHOUT_INDICES
    mixes_types = False

    def __init__(self, source: Source) -> None:
        self.source = source
        self.symbols = dict[str, Symbol]()
        self.ended_by = ""

    def count(self, letter: str) -> int:
        """How many variables of a letter there are, which must be numbered from 0 without gaps."""
        numbers = {int(name[2:]) for name in self.symbols if name[0] == letter}
        if numbers and max(numbers) >= len(numbers):
            missing = next(k for k in range(len(numbers)) if k not in numbers)
            raise SubjectError(
                f"The variable {letter}_{missing} is not declared.",
                where=self.source.name,
                got=f"{len(numbers)} variables, the last {letter}_{max(numbers)}",
                remedy="number inputs and outputs from 0, without gaps",
            )
        return len(numbers)

    def symbol(self, word: str, position: int) -> Symbol:
        if word in self.symbols:
            return self.symbols[word]
        raise self.source.error(
            position,
            "The variable is not declared.",
            got=shorten(word),
            remedy=suggest(
                word, list(self.symbols)[:1000], f"declare it: (declare-const {word[:40]} Real)"
            ),
        )

    def declare(self, form: Form) -> None:
        if form.head in ("declare-const", "declare-fun"):
            self.declare_variable(form)
        elif form.head in ENDING:
            self.ended_by = form.head
        elif form.head not in IGNORED and form.head != "vnnlib-version":
            raise self.source.error(
                form.position,
                "There is no such command in VNN-LIB 1.0.",
                got=shorten(form.head) if form.head else "parentheses without a command",
                remedy=suggest(
                    form.head, ("declare-const", "assert"), "use declare-const and assert"
                ),
            )

    def declare_variable(self, form: Form) -> None:
        words = [part for part in form.arguments if isinstance(part, Word)]
        takes_arguments = any(
            isinstance(part, Form) and (part.head or part.arguments) for part in form.arguments
        )
        if len(words) != 2 or takes_arguments or words[1].text != "Real":
            raise self.source.error(
                form.position,
                "The declaration is not understood.",
                got=" ".join(word.text for word in words)[:80] or form.head,
                remedy="write (declare-const X_0 Real)",
            )
        name = words[0].text
        match = _NAME.fullmatch(name)
        if match is None:
            raise self.source.error(
                words[0].position,
                "Variables are inputs X_0, X_1, … and outputs Y_0, Y_1, …",
                got=shorten(name),
                remedy="rename it, or write the property in VNN-LIB 2.0",
            )
        if name in self.symbols:
            raise self.source.error(words[0].position, "The variable is declared twice.", got=name)
        number = int(match[2])
        self.symbols[name] = Symbol(number if match[1] == "X" else -1 - number)

    def begin_assertion(self, position: int) -> None:
        if self.ended_by:
            raise self.source.error(
                position,
                "An assertion stands behind the end of the question.",
                got=f"assert after {self.ended_by}",
                remedy="one file asks one question: move the assertion up, or write a file of its own",
            )

    def multiply(self, factors: Sequence[Linear], position: int) -> Linear:
        raise self.source.error(
            position,
            "The product is not linear, which VNN-LIB 1.0 does not have.",
            got=f"a product of {len(factors)} terms with variables",
            remedy="multiply by constants only, or write the property in VNN-LIB 2.0",
        )
