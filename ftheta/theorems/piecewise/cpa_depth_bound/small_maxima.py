"""A maximum of many affine forms as a signed sum of maxima of few, compared exactly on every cell of a box."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import SubjectError
from ftheta.relu.counts import count
from ftheta.relu.geometry import Form, Point, plus, value
from ftheta.relu.matrices import fraction
from ftheta.relu.maxima.wang_sun import few_maxima
from ftheta.relu.meshes.simplex_cells import box_simplices, cells
from ftheta.relu.network import ExactNetwork


@dataclass(frozen=True)
class Conversion:
    """A maximum of `forms` affine forms, as a signed sum of maxima of at most `largest_term`; `layers` hidden layers
    make the sum, and `gap` is how far the two are apart."""

    forms: int
    largest_term: int
    layers: int
    gap: Fraction


def convert_maximum(rows: Sequence[Sequence[int]]) -> Conversion:
    """The maximum of the forms with these integer coefficients (the constant last), converted and compared."""
    forms: list[Form] = [tuple(fmpq(int(t)) for t in row) for row in rows]
    few = few_maxima(forms)
    if few is None:
        raise SubjectError(
            "No triangulation could be verified.",
            got=f"{len(forms)} forms",
            remedy="take another seed",
        )
    gap = max(
        abs(fraction(few(x) - max(value(form, x) for form in forms))) for x in _order_corners(forms)
    )
    terms = max((len(term) for _, term in few.terms), default=0)
    return Conversion(len(forms), 1 + terms, count(few.network()).activations, gap)


def _order_corners(forms: Sequence[Form]) -> set[Point]:
    """Corners of the cells of a box on which the order of the forms does not change: there all maxima are affine."""
    d = len(forms[0]) - 1
    gaps = [plus(f, g, -1) for f, g in combinations(dict.fromkeys(forms), 2)] or [forms[0]]
    order = ExactNetwork.dense(
        [[gap[:-1] for gap in gaps], [[0] * len(gaps)]], [[gap[-1] for gap in gaps], [0]]
    )
    return {
        x
        for simplex in box_simplices([-4] * d, [4] * d)
        for cell, _ in cells(order, simplex)
        for x in cell
    }
