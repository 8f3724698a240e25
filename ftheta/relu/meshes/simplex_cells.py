r"""A network on simplices, exactly: cells on which it is affine, its largest value, its integral.

Every neuron that changes sign on a simplex cuts it, and either part is cut into simplices again. On the simplices that
remain the network is an affine form: $\sup|f|$ is attained at their corners, and
$\int f=\sum\mathrm{vol}\cdot\text{mean over the corners}$.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import factorial

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError

from ..geometry import Form, Point, Simplex, positive_part, times, value
from ..matrices import ExactMatrix, Number, fraction, rational
from ..network import ExactNetwork

ZERO = fmpq(0)
MOST_CELLS = 20_000


def cells(
    net: ExactNetwork, simplex: Simplex, most: int = MOST_CELLS
) -> Iterator[tuple[Simplex, tuple[Form, ...]]]:
    """Simplices that make up the given one, each with the affine forms of the outputs on it."""
    d = len(simplex) - 1
    found = 0
    identity = [tuple(fmpq(i == j) for j in range(d + 1)) for i in range(d)]
    waiting = [(simplex, 0, _image(net, 0, identity), 0)]
    while waiting:
        cell, k, forms, unit = waiting.pop()
        on = net.steps[k].rectified
        while unit < len(forms) and not (on[unit] and _changes_sign(forms[unit], cell)):
            unit += 1
        if unit < len(forms):
            for side in (forms[unit], times(fmpq(-1), forms[unit])):
                waiting += [(part, k, forms, unit + 1) for part in positive_part(cell, side)]
        elif k == len(net.steps) - 1:
            found += 1
            if found > most:
                raise SubjectError(
                    "The network has too many cells on a simplex.", got=f"more than {most:,}"
                )
            yield cell, tuple(forms)
        else:
            waiting.append((cell, k + 1, _image(net, k + 1, _mask(forms, on, cell)), 0))


def _image(net: ExactNetwork, k: int, forms: Sequence[Form]) -> list[Form]:
    step = net.steps[k]
    d = len(forms[0])
    matrix = step.matrix @ ExactMatrix.of(forms)
    rows = [[row.get(j, ZERO) for j in range(d)] for row in matrix.rows]
    return [(*row[:-1], row[-1] + b) for row, b in zip(rows, step.offset)]


def _mask(forms: Sequence[Form], on: Iterable[bool], cell: Simplex) -> list[Form]:
    """The forms after the ReLU: none of them changes sign on the cell."""
    zero = (ZERO,) * len(forms[0])
    return [f if not r or any(value(f, x) > 0 for x in cell) else zero for f, r in zip(forms, on)]


def _changes_sign(form: Form, cell: Simplex) -> bool:
    values = [value(form, x) for x in cell]
    return min(values) < 0 < max(values)


def largest(
    net: ExactNetwork, simplices: Iterable[Simplex], most: int = MOST_CELLS
) -> tuple[Fraction, Point]:
    r"""$\sup|f|$ over the simplices and all outputs, and where it is attained."""
    best = fmpq(-1)
    place = ()
    for simplex in simplices:
        for cell, forms in cells(net, simplex, most):
            for x in cell:
                size = max(abs(value(form, x)) for form in forms)
                if size > best:
                    best = size
                    place = x
    return fraction(best), place


def integral(net: ExactNetwork, simplices: Iterable[Simplex], most: int = MOST_CELLS) -> Fraction:
    r"""$\int f$ of the first output over the simplices."""
    total = ZERO
    for simplex in simplices:
        for cell, (form, *_) in cells(net, simplex, most):
            total += volume(cell) * sum((value(form, x) for x in cell), ZERO) / len(cell)
    return fraction(total)


def volume(simplex: Simplex) -> fmpq:
    """The volume of a `simplex` given by its corners."""
    corners = fmpq_mat([[*x, fmpq(1)] for x in simplex])
    return abs(corners.det()) / factorial(len(simplex) - 1)


def box_mesh(
    lower: Sequence[Number], upper: Sequence[Number], cells: int = 1
) -> tuple[list[Point], list[list[int]]]:
    r"""Points and simplices of the box: `cells` cubes along every axis, each cut into the $d!$ simplices of Kuhn."""
    d = len(lower)
    lo = [rational(t) for t in lower]
    edge = [(rational(b) - a) / cells for a, b in zip(lo, upper)]
    grid = list(product(range(cells + 1), repeat=d))
    number = {corner: k for k, corner in enumerate(grid)}
    simplices = []
    for corner in product(range(cells), repeat=d):
        for order in permutations(range(d)):
            x = list(corner)
            simplex = [number[corner]]
            for axis in order:
                x[axis] += 1
                simplex.append(number[tuple(x)])
            simplices.append(simplex)
    return [tuple(a + k * h for a, k, h in zip(lo, corner, edge)) for corner in grid], simplices


def box_simplices(lower: Sequence[Number], upper: Sequence[Number]) -> list[Simplex]:
    """The simplices of the box, by their corners."""
    points, simplices = box_mesh(lower, upper)
    return [tuple(points[i] for i in simplex) for simplex in simplices]
