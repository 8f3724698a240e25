"""A link as a QR code (ISO/IEC 18004): bytes, error correction of level M, versions 1 to 10, up to 213 bytes."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from ftheta.logic import UsageError

Modules = list[list[bool]]
"""Rows of the code; dark is True."""

_BLOCKS = {  # by version: codewords of error correction per block, and the codewords of data of each block
    1: (10, (16,)),
    2: (16, (28,)),
    3: (26, (44,)),
    4: (18, (32,) * 2),
    5: (24, (43,) * 2),
    6: (16, (27,) * 4),
    7: (18, (31,) * 4),
    8: (22, (38,) * 2 + (39,) * 2),
    9: (22, (36,) * 3 + (37,) * 2),
    10: (26, (43,) * 4 + (44,)),
}
_ALIGNED = {1: (), 7: (6, 22, 38), 8: (6, 24, 42), 9: (6, 26, 46), 10: (6, 28, 50)}
_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda i, j: (i + j) % 2 == 0,
    lambda i, j: i % 2 == 0,
    lambda i, j: j % 3 == 0,
    lambda i, j: (i + j) % 3 == 0,
    lambda i, j: (i // 2 + j // 3) % 2 == 0,
    lambda i, j: i * j % 2 + i * j % 3 == 0,
    lambda i, j: (i * j % 2 + i * j % 3) % 2 == 0,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2 == 0,
)
_FINDER = (True, False, True, True, True, False, True)


def encode(text: str) -> Modules:
    """The modules of the smallest code that holds the text, without the quiet zone."""
    data = text.encode()
    version = next(
        (v for v, (_, blocks) in _BLOCKS.items() if len(data) <= sum(blocks) - _overhead(v)), None
    )
    if version is None:
        raise UsageError(
            "This is too long for a QR code.",
            got=f"{len(data)} bytes",
            remedy="take a shorter --token",
        )
    bits = [byte >> k & 1 == 1 for byte in _codewords(data, version) for k in range(7, -1, -1)]
    drawn = [_draw(bits, version, mask) for mask in range(len(_MASKS))]
    return min(drawn, key=_penalty)


def _overhead(version: int) -> int:
    """Bytes that mode and length take, rounded up."""
    return 2 if version < 10 else 3


# -- codewords ------------------------------------------------------------------------------------------


def _codewords(data: bytes, version: int) -> list[int]:
    """Data and error correction, interleaved block by block."""
    correction, sizes = _BLOCKS[version]
    length = 8 if version < 10 else 16
    bits = f"0100{len(data):0{length}b}" + "".join(f"{byte:08b}" for byte in data) + "0000"
    bits += "0" * (-len(bits) % 8)
    words = [int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)][: sum(sizes)]
    words += [(0xEC, 0x11)[i % 2] for i in range(sum(sizes) - len(words))]
    cut = iter(words)
    blocks = [[next(cut) for _ in range(size)] for size in sizes]
    checks = [_remainder(block, correction) for block in blocks]
    return [*_interleave(blocks), *_interleave(checks)]


def _interleave(blocks: Sequence[Sequence[int]]) -> Iterator[int]:
    for column in zip_longest(*blocks):
        yield from (word for word in column if word is not None)


def _times(a: int, b: int) -> int:
    """The product in the field of 256 elements, modulo x⁸ + x⁴ + x³ + x² + 1."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def _remainder(block: Sequence[int], count: int) -> list[int]:
    """The codewords of Reed and Solomon: of the block times xᶜ, the remainder by (x − 1)(x − 2)…(x − 2ᶜ⁻¹)."""
    divisor = [1]
    root = 1
    for _ in range(count):
        shifted = [*divisor, 0]
        divisor = [a ^ _times(root, b) for a, b in zip(shifted, [0, *divisor])]
        root = _times(root, 2)
    rest = [*block, *[0] * count]
    for i in range(len(block)):
        lead = rest[i]
        for k, factor in enumerate(divisor):
            rest[i + k] ^= _times(lead, factor)
    return rest[len(block) :]


# -- the picture ----------------------------------------------------------------------------------------


def _draw(bits: Sequence[bool], version: int, mask: int) -> Modules:
    size = 17 + 4 * version
    fixed = _fixed_modules(version, mask)
    filling = iter(bits)
    modules = [[fixed.get((i, j), False) for j in range(size)] for i in range(size)]
    for i, j in _snake(size):
        if (i, j) not in fixed:
            modules[i][j] = next(filling, False) ^ _MASKS[mask](i, j)
    return modules


def _snake(size: int) -> Iterator[tuple[int, int]]:
    """Two columns at a time from the right, up and down by turns; the column of the timing pattern is left out."""
    upward = True
    for right in (*range(size - 1, 6, -2), 5, 3, 1):
        for i in range(size - 1, -1, -1) if upward else range(size):
            yield i, right
            yield i, right - 1
        upward = not upward


def _fixed_modules(version: int, mask: int) -> dict[tuple[int, int], bool]:
    """The modules that hold no data: patterns to find, align and time, the format and the version."""
    size = 17 + 4 * version
    found = {(6, k): k % 2 == 0 for k in range(size)} | {(k, 6): k % 2 == 0 for k in range(size)}
    centres = _ALIGNED.get(version, (6, 10 + 4 * version))
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for a, b in ((a, b) for a in centres for b in centres if (a, b) not in corners):
        found |= {
            (a + i, b + j): max(abs(i), abs(j)) != 1 for i in range(-2, 3) for j in range(-2, 3)
        }
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        found |= _finder(top, left, size)
    return found | _format(size, mask) | (_version(size, version) if version > 6 else {})


def _finder(top: int, left: int, size: int) -> dict[tuple[int, int], bool]:
    """Rings around a dark square, with a light border as far as it lies inside."""
    drawn = {}
    for i in range(-1, 8):
        for j in range(-1, 8):
            if 0 <= top + i < size and 0 <= left + j < size:
                drawn[top + i, left + j] = max(abs(i - 3), abs(j - 3)) in (0, 1, 3)
    return drawn


def _format(size: int, mask: int) -> dict[tuple[int, int], bool]:
    """The level (M is 00) and the mask, with their BCH code, written twice, and the module that is always dark."""
    word = (mask << 10 | _rest(mask << 10, 0b10100110111)) ^ 0b101010000010010
    bits = [word >> k & 1 == 1 for k in range(15)]
    around = [*((i, 8) for i in (0, 1, 2, 3, 4, 5, 7, 8)), *((8, j) for j in (7, 5, 4, 3, 2, 1, 0))]
    apart = [*((8, size - 1 - k) for k in range(8)), *((size - 7 + k, 8) for k in range(7))]
    return dict(zip(around, bits)) | dict(zip(apart, bits)) | {(size - 8, 8): True}


def _version(size: int, version: int) -> dict[tuple[int, int], bool]:
    """The version with its BCH code, written twice."""
    word = version << 12 | _rest(version << 12, 0b1111100100101)
    bits = {(k // 3, size - 11 + k % 3): word >> k & 1 == 1 for k in range(18)}
    return bits | {(j, i): bit for (i, j), bit in bits.items()}


def _rest(dividend: int, divisor: int) -> int:
    """The remainder of polynomials over the field of two elements."""
    while dividend.bit_length() >= divisor.bit_length():
        dividend ^= divisor << (dividend.bit_length() - divisor.bit_length())
    return dividend


def _penalty(modules: Modules) -> int:
    """How hard a code is to read, as the standard counts it; the mask of the least is taken."""
    columns = [list(column) for column in zip(*modules)]
    lines = [*modules, *columns]
    size = len(modules)
    dark = sum(map(sum, modules))
    squares = sum(
        modules[i][j] == modules[i][j + 1] == modules[i + 1][j] == modules[i + 1][j + 1]
        for i in range(size - 1)
        for j in range(size - 1)
    )
    uneven = int(abs(dark * 100 / size**2 - 50) / 5)
    return (
        sum(map(_run_penalty, lines)) + 3 * squares + sum(map(_finder_penalty, lines)) + 10 * uneven
    )


def _run_penalty(line: Sequence[bool]) -> int:
    total = 0
    run = 0
    for k, module in enumerate(line):
        run = run + 1 if k and module == line[k - 1] else 1
        total += 3 if run == 5 else 1 if run > 5 else 0
    return total


def _finder_penalty(line: Sequence[bool]) -> int:
    """Forty for each pattern that looks like a finder beside four light modules."""
    light = (False,) * 4
    patterns = ((*_FINDER, *light), (*light, *_FINDER))
    return 40 * sum(tuple(line[k : k + 11]) in patterns for k in range(len(line) - 10))


# -- views ----------------------------------------------------------------------------------------------


def to_terminal(modules: Modules) -> str:
    """Half a letter per module, dark on light whatever the colours of the terminal are."""
    wide = len(modules[0]) + 4
    blank = [[False] * wide] * 2
    rows = [*blank, *([False, False, *row, False, False] for row in modules), *blank]
    rows += [[False] * wide] * (len(rows) % 2)
    signs = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    pairs = zip(rows[::2], rows[1::2])
    lines = ("".join(signs[a, b] for a, b in zip(upper, lower)) for upper, lower in pairs)
    return "\n".join(f"\x1b[30;107m{line}\x1b[0m" for line in lines)


def to_svg(modules: Modules) -> str:
    """A picture with the quiet zone that the standard asks for."""
    size = len(modules) + 8
    dark = "".join(
        f"M{j + 4},{i + 4}h1v1h-1z"
        for i, row in enumerate(modules)
        for j, on in enumerate(row)
        if on
    )
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" aria-label="QR code">'
    return f'{frame}<rect width="{size}" height="{size}" fill="#fff"/><path d="{dark}"/></svg>'
