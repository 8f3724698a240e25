r"""Functions $\alpha(x)+\sum_jc_j\max\{0,\ell_{j1}(x),\dots,\ell_{jk}(x)\}$ with $k\le3$: at most two hidden layers.

In dimension $d$ every continuous piecewise-affine function is such a sum with $k\le d$ (Wang and Sun), which gives
$\lceil\log_2(d+1)\rceil$ hidden layers. The terms with positive and with negative coefficients are two convex
functions, and $f$ is their difference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError

from ..geometry import Form, Point, Simplex, constant, interpolant, plus, times, value
from ..matrices import ExactMatrix
from ..network import ExactNetwork, ExactStep

ZERO = fmpq(0)
ONE = fmpq(1)
Term = tuple[fmpq, tuple[Form, ...]]


def depth_bound(d: int) -> int:
    r"""$\lceil\log_2(d+1)\rceil+1$ affine maps suffice for every CPA function on $\mathbb R^d$ (Arora et al.)."""
    return d.bit_length() + 1


def recent_hidden_layers(d: int) -> int:
    r"""$\lceil\log_3(d-1)\rceil+1$ hidden layers suffice for $d\ge3$ (Bakaev et al., 2025)."""
    if d < 3:
        raise SubjectError("The recent bound is for dimension three and more.", got=d)
    layers = 1
    while 3 ** (layers - 1) < d - 1:
        layers += 1
    return layers


@dataclass(frozen=True)
class MaximaSum:
    r"""`affine` $\alpha$ and `terms` $(c_j,(\ell_{j1},\dots))$, each with one to three forms besides 0."""

    affine: Form
    terms: tuple[Term, ...]

    def __call__(self, x: Point) -> fmpq:
        total = value(self.affine, x)
        for c, forms in self.terms:
            total += c * max(ZERO, *(value(form, x) for form in forms))
        return total

    def __sub__(self, other: "MaximaSum") -> "MaximaSum":
        terms = (*self.terms, *((-c, forms) for c, forms in other.terms))
        return MaximaSum(plus(self.affine, other.affine, -1), terms)

    @classmethod
    def fit(cls, terms: Iterable[Term], simplex: Simplex, values: Sequence[fmpq]) -> "MaximaSum":
        """The sum with the affine part that gives it these values at the vertices of the simplex."""
        flat = cls(constant(0, len(simplex[0])), tuple(terms))
        return cls(interpolant(simplex, [v - flat(x) for v, x in zip(values, simplex)]), flat.terms)

    @property
    def convex(self) -> "MaximaSum":
        """$g$ of $f=g-h$."""
        return MaximaSum(self.affine, tuple(t for t in self.terms if t[0] > 0))

    @property
    def subtrahend(self) -> "MaximaSum":
        """$h$ of $f=g-h$."""
        terms = tuple((-c, forms) for c, forms in self.terms if c < 0)
        return MaximaSum(constant(0, len(self.affine) - 1), terms)

    def network(self) -> ExactNetwork:
        r"""One hidden layer if every maximum is an $r(\ell)$, otherwise two.

        $\max\{0,a,b\}=r(b+r(a-b))$ and $\max\{0,a,b,c\}=r(a)+r(c+r(b-c)-r(a))$, with $b$ carried as $r(b)-r(-b)$.
        """
        if not any(self.affine[:-1]) and not self.terms:
            return ExactNetwork.affine([[0] * (len(self.affine) - 1)], [self.affine[-1]])
        if max((len(forms) for _, forms in self.terms), default=0) > 3:
            raise SubjectError(
                "Two hidden layers take maxima of at most four forms.", got="more in one term"
            )
        build = _Layers(len(self.affine) - 1)
        for c, forms in self.terms:
            build.add(c, forms)
        build.add_affine(self.affine)
        return build.network()


@dataclass
class _Layers:
    """Two hidden layers under construction. `direct` is what the output takes from the first layer."""

    d: int
    first: dict[Form, int] = field(default_factory=dict)
    second: list[dict[int, fmpq]] = field(default_factory=list)
    outer: list[fmpq] = field(default_factory=list)
    direct: dict[int, fmpq] = field(default_factory=dict)
    constant: fmpq = ZERO

    def neuron(self, form: Form) -> dict[int, fmpq]:
        """$r(\\text{form})$ as a multiple of a neuron of the first layer; proportional forms share one."""
        size = max(abs(a) for a in form)
        if size == 0:
            return {}
        unit = times(1 / size, form)
        return {self.first.setdefault(unit, len(self.first)): size}

    def carry(self, form: Form) -> dict[int, fmpq]:
        return _merge(self.neuron(form), self.neuron(times(fmpq(-1), form)), fmpq(-1))

    def add(self, c: fmpq, forms: tuple[Form, ...]) -> None:
        if len(forms) == 1:
            self.direct = _merge(self.direct, self.neuron(forms[0]), c)
            return
        *above, a, b = forms
        inner = _merge(self.neuron(plus(a, b, -1)), self.carry(b), ONE)
        for top in above:
            inner = _merge(inner, self.neuron(top), fmpq(-1))
            self.direct = _merge(self.direct, self.neuron(top), c)
        self.second.append(inner)
        self.outer.append(c)

    def add_affine(self, form: Form) -> None:
        self.constant += form[-1]
        if any(form[:-1]):
            self.direct = _merge(self.direct, self.carry((*form[:-1], ZERO)), ONE)

    def network(self) -> ExactNetwork:
        forms = list(self.first)
        first = ExactStep(
            ExactMatrix.of([list(f[:-1]) for f in forms]),
            tuple(f[-1] for f in forms),
            np.ones(len(forms), bool),
        )
        rows = list(self.second)
        outer = list(self.outer)
        if not rows:
            return ExactNetwork(
                (first, _affine_step([self.direct], [self.constant], len(forms), False))
            )
        if self.direct:
            rows += [self.direct, {j: -a for j, a in self.direct.items()}]
            outer += [ONE, -ONE]
        second = _affine_step(rows, [ZERO] * len(rows), len(forms), True)
        last = _affine_step([dict(enumerate(outer))], [self.constant], len(rows), False)
        return ExactNetwork((first, second, last))


def _affine_step(
    rows: list[dict[int, fmpq]], offset: list[fmpq], width: int, rectified: bool
) -> ExactStep:
    matrix = ExactMatrix(tuple(rows), (len(rows), width))
    return ExactStep(matrix, tuple(offset), np.full(len(rows), rectified))


def _merge(x: dict[int, fmpq], y: dict[int, fmpq], c: fmpq) -> dict[int, fmpq]:
    total = dict(x)
    for j, a in y.items():
        total[j] = total.get(j, ZERO) + c * a
    return {j: a for j, a in total.items() if a}
