"""Operands of arithmetic: their common type, what may be divided by what, what is exact in any type."""

from collections.abc import Sequence

from .expressions import Linear
from .syntax import Source


def common_type(source: Source, operands: Sequence[Linear], position: int) -> tuple[str, bool]:
    """The type of what is combined, and whether decimals are part of it."""
    is_decimal = any(operand.is_decimal for operand in operands)
    types = {operand.element_type for operand in operands if operand.element_type}
    if len(types) > 1:
        raise source.error(
            position,
            "Numbers of different types are combined.",
            got=" and ".join(sorted(types)),
            remedy="VNN-LIB converts no types: declare the tensors with one",
        )
    element_type = types.pop() if types else ""
    if is_decimal and "int" in element_type:
        raise source.error(
            position,
            "A decimal is combined with integers.",
            got=f"variables of type {element_type}",
            remedy="write the constant without a point",
        )
    return element_type, is_decimal


def divide(source: Source, operands: Sequence[Linear], position: int) -> Linear:
    """The first operand, divided by the others: constants that are not 0."""
    result = operands[0]
    for divisor in operands[1:]:
        if divisor.terms or not divisor.constant:
            raise source.error(
                position,
                "Only division by a constant that is not 0 is linear.",
                got="division by a variable" if divisor.terms else "division by 0",
            )
        result = result.scale(1 / divisor.constant)
    return result


def changes_sign(head: str, operands: Sequence[Linear]) -> bool:
    """Whether this is a product by 1 or −1, which is exact in any type."""
    constants = [operand.constant for operand in operands if not operand.terms]
    return (
        head == "*"
        and len(constants) == len(operands) - 1
        and all(abs(constant) == 1 for constant in constants)
    )
