r"""The point of a polyhedron nearest to a given one, in rationals: exact, no tolerance anywhere.

The polyhedron is $\{x:\ell_i(x)\ge0\text{ for all }i\}$ with affine forms $\ell_i=(a_i,b_i)$ (`ftheta.relu.geometry`).
The nearest point to $c$ is $x=c+\sum_iu_ia_i$ with $u\ge0$ and $u_i\ell_i(x)=0$, so that it is rational. It is found by
the dual method of Goldfarb and Idnani (1983): from $c$ on, one violated form after the other is met, and forms whose
multiplier would become negative are let go. The distance grows with every step, so that it ends.
"""

from collections.abc import Sequence

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from .geometry import Form, Point, value

ZERO = fmpq(0)


def find_nearest_point(forms: Sequence[Form], centre: Point) -> Point | None:
    r"""The point of the polyhedron with the least $\|x-c\|_2$ for the `centre` $c$; None if it has no point."""
    x = centre
    met: list[Form] = []
    multipliers: list[fmpq] = []
    while True:
        values = [value(form, x) for form in forms]
        lowest = min(values, default=ZERO)
        if lowest >= 0:
            return x
        moved = _meet(forms[values.index(lowest)], x, met, multipliers)
        if moved is None:
            return None
        x = moved


def _meet(form: Form, x: Point, met: list[Form], multipliers: list[fmpq]) -> Point | None:
    """Move to where a violated form is zero, and add it to those that are `met`; None if that is impossible."""
    own = ZERO  # its multiplier
    while True:
        direction, shares = _split(form, met)
        slope = sum((d * a for d, a in zip(direction, form)), ZERO)
        whole = -value(form, x) / slope if slope else None
        limits = [(u / r, j) for j, (u, r) in enumerate(zip(multipliers, shares)) if r > 0]
        leaving = min(limits, default=None)
        if whole is None and leaving is None:
            return None
        is_whole = leaving is None or (whole is not None and whole <= leaving[0])
        step = leaving[0] if leaving is not None and not is_whole else whole
        assert step is not None
        x = tuple(v + step * d for v, d in zip(x, direction))
        multipliers[:] = [u - step * r for u, r in zip(multipliers, shares)]
        own += step
        if is_whole:
            met.append(form)
            multipliers.append(own)
            return x
        del met[leaving[1]], multipliers[leaving[1]]  # type: ignore[index]


def _split(form: Form, met: Sequence[Form]) -> tuple[Point, list[fmpq]]:
    """The normal of a form as a sum of multiples (`shares`) of those of forms that are met, which are independent, and
    of a rest orthogonal to all of them."""
    normal = form[:-1]
    if not met:
        return normal, []
    rows = fmpq_mat([list(other[:-1]) for other in met])
    column = fmpq_mat([[a] for a in normal])
    shares = (rows * rows.transpose()).solve(rows * column)
    rest = column - rows.transpose() * shares
    return tuple(rest[i, 0] for i in range(len(normal))), [shares[j, 0] for j in range(len(met))]
