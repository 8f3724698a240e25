r"""Simplices and affine forms in rationals.

An affine form is the tuple $(a_1,\dots,a_d,c)$ of $x\mapsto\langle a,x\rangle+c$; a simplex the tuple of its vertices.
"""

from collections.abc import Iterator, Sequence
from operator import mul
from typing import TypeAlias

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError

Point: TypeAlias = tuple[fmpq, ...]
Form: TypeAlias = tuple[fmpq, ...]
Simplex: TypeAlias = tuple[Point, ...]
ZERO = fmpq(0)


def value(form: Form, x: Point) -> fmpq:
    r"""The affine form $(a_1,\dots,a_d,b)$ at the point $x$: $\langle a,x\rangle+b$."""
    # `map` stops where x ends, and loops in C: this is called a million times
    return sum(map(mul, form, x), form[-1])


def plus(f: Form, g: Form, c: int = 1) -> Form:
    """$f+cg$."""
    return tuple(a + c * b for a, b in zip(f, g))


def times(c: fmpq, f: Form) -> Form:
    """$cf$."""
    return tuple(c * a for a in f)


def constant(c: int, d: int) -> Form:
    """The constant form $c$ in $d$ variables."""
    return (*[ZERO] * d, fmpq(c))


def barycentric(simplex: Simplex) -> tuple[Form, ...]:
    r"""The forms $\lambda_0,\dots,\lambda_d$ with $\lambda_i(x_j)=\delta_{ij}$."""
    corner = fmpq_mat([[*x, fmpq(1)] for x in simplex])
    if corner.det() == 0:
        raise SubjectError(
            "A simplex is flat.",
            got=[[str(t) for t in x] for x in simplex],
            remedy="drop simplices of volume zero",
        )
    inverse = corner.inv().table()
    return tuple(tuple(row[i] for row in inverse) for i in range(len(simplex)))


def interpolant(simplex: Simplex, values: Sequence[fmpq]) -> Form:
    """The affine form with these values at the vertices."""
    return tuple(
        sum(terms, ZERO)
        for terms in zip(*(times(v, f) for v, f in zip(values, barycentric(simplex))))
    )


def centre(points: Sequence[Point]) -> Point:
    """The mean of the `points`."""
    return tuple(sum(coordinate, ZERO) / len(points) for coordinate in zip(*points))


def positive_part(simplex: Simplex, form: Form) -> Iterator[Simplex]:
    r"""Simplices that triangulate the part of the simplex with $\text{form}\ge0$; none if it is nowhere positive.

    With $p$ positive and $n$ negative vertices the part is, up to a projective map, a product of simplices of
    dimensions $p-1$ and $n$ (joined to the zero vertices); its staircase triangulation runs over the monotone
    lattice paths.
    """
    values = [value(form, x) for x in simplex]
    positive = [(x, v) for x, v in zip(simplex, values) if v > 0]
    zero = [x for x, v in zip(simplex, values) if v == 0]
    negative = [(x, v) for x, v in zip(simplex, values) if v < 0]
    if not positive:
        return

    def corner(i: int, j: int) -> Point:
        (x, v) = positive[i]
        (y, w) = negative[j - 1] if j else positive[i]
        return x if j == 0 else tuple((v * b - w * a) / (v - w) for a, b in zip(x, y))

    def climb(i: int, j: int, path: tuple[Point, ...]) -> Iterator[Simplex]:
        if i == len(positive) - 1 and j == len(negative):
            yield (*path, *zero)
        if i < len(positive) - 1:
            yield from climb(i + 1, j, (*path, corner(i + 1, j)))
        if j < len(negative):
            yield from climb(i, j + 1, (*path, corner(i, j + 1)))

    yield from climb(0, 0, (corner(0, 0),))


def where_all_positive(simplex: Simplex, forms: Sequence[Form]) -> Point | None:
    """A point of the simplex at which every form is positive, or None when there is none. Decided exactly."""
    if any(all(value(form, x) <= 0 for x in simplex) for form in forms):
        return None
    cells = [simplex]
    for form in forms:
        cells = [piece for cell in cells for piece in positive_part(cell, form)]
    return centre(cells[0]) if cells else None


def overlap(one: Simplex, other: Simplex) -> bool:
    """Whether the interiors of two full-dimensional simplices meet."""
    for a, b in ((one, other), (other, one)):
        if any(all(value(form, x) <= 0 for x in b) for form in barycentric(a)):
            return False
    return where_all_positive(one, barycentric(other)) is not None
