"""Witnesses as text: `((X_0 v) … (Y_0 v))`, as competitions exchange them, or tensor by tensor, as VNN-LIB 2.0 says.

Numbers are written exactly: as a decimal where that is finite, and else as `(/ p q)`.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from ftheta.networks.reading import ensure_file, read_text, reading_file

from .vnnlib.queries import Query
from .vnnlib.syntax import Source, is_number, parse_number, shorten

Point = tuple[Fraction, ...]
_PIECE = re.compile(r"[()]|[^\s()]+")
_VARIABLE = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})")


def write_number(value: Fraction) -> str:
    """A rational, exactly."""
    rest = value.denominator
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    fives = 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    if rest != 1:
        return f"(/ {_digits(value.numerator)} {_digits(value.denominator)})"
    places = max(twos, fives)
    digits = _digits(abs(value.numerator) * 2 ** (places - twos) * 5 ** (places - fives)).rjust(
        places + 1, "0"
    )
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[: len(digits) - places]}.{digits[len(digits) - places :] or '0'}"


def _digits(value: int) -> str:
    """The decimal digits of a number of any length; `str` refuses the longest."""
    return str(Decimal(value))


def write_witness(x: Sequence[Fraction], y: Sequence[Fraction]) -> str:
    """An input and its output as `((X_0 v) … (Y_0 v) …)`, one line for each number."""
    named = [f"(X_{i} {write_number(value)})" for i, value in enumerate(x)]
    named += [f"(Y_{j} {write_number(value)})" for j, value in enumerate(y)]
    return "(" + "\n".join(named) + ")\n"


def write_counter_example(query: Query, x: Sequence[Fraction], y: Sequence[Fraction]) -> str:
    """As competitions exchange it, or for a query of version 2.0 tensor by tensor."""
    return write_assignment(query, x, y) if query.version[0] >= 2 else write_witness(x, y)


def write_assignment(query: Query, x: Sequence[Fraction], y: Sequence[Fraction]) -> str:
    """Inputs and outputs of a query, as VNN-LIB 2.0 prints them: name, type and shape of a tensor, then its entries.

    Tensors come in the order of their declaration.
    """
    values = dict[str, Sequence[Fraction]]()
    for tensors, numbers in ((query.input_tensors, x), (query.output_tensors, y)):
        first = 0
        for tensor in tensors:
            values[tensor.name] = numbers[first : first + tensor.size]
            first += tensor.size
    lines = list[str]()
    for network in query.networks:
        for tensor in network.tensors:
            shape = ",".join(map(str, tensor.shape))
            lines.append(f"{tensor.name} {tensor.element_type} [{shape}]")
            lines.extend(map(write_number, values[tensor.name]))
    return "\n".join(lines) + "\n"


def read_witness(path: str | Path) -> tuple[Point, Point]:
    """The input and the output in a file of a witness, which may be packed by gzip."""
    path = Path(path)
    with reading_file(path, "a witness", "the verifier that found it"):
        ensure_file(path)
        return parse_witness(read_text(path), str(path))


def parse_witness(text: str, name: str = "text") -> tuple[Point, Point]:
    """The input and the output of a witness; the answer `sat` may stand before it. Outputs may be left out."""
    source = Source(name, text)
    values: dict[str, dict[int, Fraction]] = {"X": {}, "Y": {}}
    for form, position in _read_pairs(source):
        match = (
            _VARIABLE.fullmatch(form[0]) if len(form) == 2 and isinstance(form[0], str) else None
        )
        if match is None or not isinstance(form[1], Fraction):
            raise source.error(
                position,
                "A pair of a variable and its value is expected.",
                remedy="write (X_0 0.5)",
            )
        letter, number = match[1], int(match[2])
        if number in values[letter]:
            raise source.error(position, "A variable has two values.", got=form[0])
        values[letter][number] = form[1]
    if not values["X"]:
        raise source.error(
            0,
            "The witness has no input.",
            got=shorten(text[:40]),
            remedy="write ((X_0 0.5) … (Y_0 1.5))",
        )
    for letter, numbers in values.items():
        if numbers and max(numbers) >= len(numbers):
            missing = next(k for k in range(len(numbers)) if k not in numbers)
            raise source.error(
                0, f"The witness has no value of {letter}_{missing}.", got=f"{len(numbers)} values"
            )
    x, y = ([numbers[k] for k in range(len(numbers))] for numbers in values.values())
    return tuple(x), tuple(y)


def _read_pairs(source: Source) -> list[tuple[list, int]]:
    """The forms inside the outermost parentheses, with where they begin; arithmetic in them is worked out."""
    pairs = list[tuple[list, int]]()
    open_forms = list[tuple[list, int]]()
    for match in _PIECE.finditer(source.text):
        piece, position = match[0], match.start()
        if piece == "(":
            open_forms.append(([], position))
        elif not open_forms:
            if piece != "sat":
                raise source.error(
                    position, "Everything in a witness stands in parentheses.", got=shorten(piece)
                )
        elif piece != ")":
            value = (
                parse_number(source, piece, position)
                if _is_value(piece, open_forms[-1][0])
                else piece
            )
            open_forms[-1][0].append(value)
        else:
            form, start = open_forms.pop()
            if len(open_forms) == 1:
                pairs.append((form, start))
            elif open_forms:
                open_forms[-1][0].append(_work_out(source, form, start))
    if open_forms:
        raise source.error(
            open_forms[-1][1], "The witness ends inside parentheses: it is truncated."
        )
    return pairs


def _is_value(piece: str, before: list) -> bool:
    return bool(before) and is_number(piece)


def _work_out(source: Source, form: list, position: int) -> Fraction:
    """`(/ p q)` or `(- v)`."""
    operator, *operands = form or [""]
    if all(isinstance(operand, Fraction) for operand in operands):
        if operator == "/" and len(operands) == 2 and operands[1]:
            return operands[0] / operands[1]
        if operator == "-" and len(operands) == 1:
            return -operands[0]
    raise source.error(
        position, "The value is not understood.", remedy="write a decimal, (/ p q) or (- v)"
    )
