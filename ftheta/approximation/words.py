"""Boxes in words, for the command line."""

from ftheta.logic.errors import UsageError


def box_of(words: str, dimension: int) -> tuple[list[float], list[float]]:
    """`-1,1` for every variable, or `0,1;-1,1` with one pair per variable."""
    try:
        pairs = [tuple(float(word) for word in part.split(",")) for part in words.split(";")]
        pairs = pairs * dimension if len(pairs) == 1 else pairs
        if len(pairs) != dimension or any(len(pair) != 2 for pair in pairs):
            raise ValueError
    except ValueError:
        remedy = 'write --box=0,1, or one pair per variable: --box="0,1;-1,1"'
        raise UsageError("A box is two numbers per variable.", got=words, remedy=remedy) from None
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
