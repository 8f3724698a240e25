r"""Tables of finite binary operations as data: a row is a pair $(a,b)$ of numbers of elements, its label the number of
$a\circ b$. They are all pairs, in the order of the table; a training set is a random share of them (`split`)."""

from collections.abc import Callable
from itertools import permutations

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Int

from .named_arrays import Data

PAIR = ("a", "b")
MODULAR: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a+b": lambda a, b: a + b,
    "a-b": lambda a, b: a - b,
    "a*b": lambda a, b: a * b,
    "a^2+b^2": lambda a, b: a * a + b * b,
    "a^2+ab+b^2": lambda a, b: a * a + a * b + b * b,
    "a^3+ab": lambda a, b: a**3 + a * b,
}
"""The operations of Power et al. (2022), besides a/b."""
LARGEST = 512
"""Elements of a table; it has their square many rows."""


def modular(rng: np.random.Generator, p: int = 97, operation: str = "a+b") -> Data:
    r"""$a\circ b\bmod p$ for $0\le a,b<p$; for $a/b$ the modulus is prime and $b\ne0$."""
    del rng  # a table is what it is
    _ensure_size(p)
    a, b = (index.ravel() for index in np.indices((p, p)))
    if operation == "a/b":
        a = a[b > 0]
        b = b[b > 0]
        y = a * _inverses(p)[b] % p
    elif operation in MODULAR:
        y = MODULAR[operation](a, b) % p
    else:
        known = ", ".join([*MODULAR, "a/b"])
        raise UsageError(
            "There is no such operation.", got=operation, remedy=f"choose one of {known}"
        )
    return Data("modular", np.stack([a, b], 1), y, PAIR, tuple(map(str, range(p))))


def group(rng: np.random.Generator, of: str = "S4") -> Data:
    """The multiplication table of a group: Zn, Sn, An, Dn (of 2n elements) or Q8."""
    del rng
    names, table = group_table(of)
    return operation_table(table, "group", names)


def operation_table(
    table: Int[np.ndarray, "n n"], name: str = "operation", names: tuple[str, ...] = ()
) -> Data:
    r"""The data of any operation: `table[a, b]` is the number of $a\circ b$."""
    table = np.asarray(table)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.dtype.kind not in "iu":
        raise UsageError(
            "A table is a square of whole numbers.", got=f"{table.dtype}, shape {table.shape}"
        )
    n = len(table)
    _ensure_size(n)
    if table.min() < 0 or table.max() >= n:
        raise UsageError(
            "The operation leaves its elements.",
            got=f"{table.min()} to {table.max()}, {n} elements",
        )
    pairs = np.indices((n, n)).reshape(2, -1).T
    return Data(
        name, pairs, table.ravel().astype(np.int64), PAIR, names or tuple(map(str, range(n)))
    )


def group_table(of: str) -> tuple[tuple[str, ...], Int[np.ndarray, "n n"]]:
    """The names of the elements of a group and its table."""
    kind = of[:1].upper()
    size = int(of[1:]) if of[1:].isdecimal() else 0
    if kind == "Z" and size:
        _ensure_size(size)
        a, b = np.indices((size, size))
        return tuple(map(str, range(size))), (a + b) % size
    if kind == "D" and size:
        return _dihedral(size)
    if kind == "Q" and size == 8:
        return _quaternions()
    if kind in "SA" and kind and 0 < size <= 5:
        return _permutations(size, even=kind == "A")
    raise UsageError(
        "There is no such group here.", got=of, remedy="Z7, S3 to S5, A3 to A5, D4 or Q8"
    )


def _permutations(n: int, even: bool) -> tuple[tuple[str, ...], np.ndarray]:
    r"""$(a\circ b)(k)=a(b(k))$; the element [2 1 0] sends 0 to 2."""
    every = np.array(list(permutations(range(n))))
    kept = every[[_sign(p) > 0 for p in every]] if even else every
    places = {tuple(p): k for k, p in enumerate(kept.tolist())}
    table = [[places[tuple(row)] for row in a[kept].tolist()] for a in kept]
    return tuple("".join(map(str, p)) for p in kept), np.array(table)


def _sign(p: np.ndarray) -> int:
    return 1 - 2 * (sum(int(p[i] > p[j]) for j in range(len(p)) for i in range(j)) % 2)


def _dihedral(n: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Rotations r^k (number k) and reflections r^k s (number n + k), with s r = r⁻¹ s."""
    _ensure_size(2 * n)
    a, b = np.indices((2 * n, 2 * n))
    turn = (a % n + np.where(a < n, 1, -1) * (b % n)) % n
    names = [f"r{k}" for k in range(n)] + [f"r{k}s" for k in range(n)]
    return tuple(names), turn + n * ((a >= n) ^ (b >= n))


def _quaternions() -> tuple[tuple[str, ...], np.ndarray]:
    """±1, ±i, ±j, ±k: the element number u + 4 s is the unit u with the sign (-1)^s."""
    # ij = k, ji = −k, i² = −1, …
    product = np.array([[0, 1, 2, 3], [1, 4, 3, 6], [2, 7, 4, 1], [3, 2, 5, 4]])
    a, b = np.indices((8, 8))
    found = product[a % 4, b % 4]
    sign = (a // 4 + b // 4 + found // 4) % 2
    return ("1", "i", "j", "k", "-1", "-i", "-j", "-k"), found % 4 + 4 * sign


def _inverses(p: int) -> np.ndarray:
    if p < 2 or any(p % q == 0 for q in range(2, int(p**0.5) + 1)):
        raise UsageError("Division needs a prime modulus.", got=p, remedy="take p = 97")
    return np.array([pow(b, p - 2, p) for b in range(p)])


def _ensure_size(n: int) -> None:
    if not 1 <= n <= LARGEST:
        raise UsageError(
            "A table has from 1 to so many elements.", where=f"at most {LARGEST}", got=n
        )
