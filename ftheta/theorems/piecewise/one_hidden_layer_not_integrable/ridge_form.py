r"""One hidden layer in the form that shows its kinks: one ridge for each hyperplane.

$r(-z)=r(z)-z$ turns every neuron to one orientation, so that neurons with the same hyperplane merge:
$$f(x)=\langle s,x\rangle+t+\sum_kc_k\,r(\ell_k(x)),\qquad c_k\ne0,$$
with different hyperplanes $\ell_k=0$. The form is unique, so $f\equiv0$ exactly when nothing is left of it. Across the
hyperplane $\ell_k=0$ the gradient jumps by $c_k\nabla\ell_k$ everywhere on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import SubjectError
from ftheta.relu.calculus import parts, precompose
from ftheta.relu.geometry import Form, Point, plus, times, value
from ftheta.relu.line.points import restrict_to_line
from ftheta.relu.local import across
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork

ZERO = fmpq(0)


@dataclass(frozen=True)
class RidgeForm:
    r"""`affine` $(s,t)$ and `ridges` $\ell_k\mapsto c_k$; the first non-zero coefficient of every $\ell_k$ is 1."""

    affine: Form
    ridges: Mapping[Form, fmpq]

    @property
    def is_zero(self) -> bool:
        return not self.ridges and not any(self.affine)

    def __call__(self, x: Point) -> fmpq:
        return sum(
            (c * max(ZERO, value(form, x)) for form, c in self.ridges.items()),
            value(self.affine, x),
        )


@dataclass(frozen=True)
class Ray:
    r"""On $p+tv$ the function is `level` + `slope` $t$ from some $t$ on, and this is not 0."""

    point: Point
    direction: Point
    level: Fraction
    slope: Fraction

    @property
    def limit(self) -> float:
        r"""$\lim|f(p+tv)|$."""
        return float("inf") if self.slope else float(abs(self.level))

    def __str__(self) -> str:
        x, v = (
            ", ".join(f"{float(fraction(t)):g}" for t in point)
            for point in (self.point, self.direction)
        )
        return f"({x}) + t ({v})"


def ridge_forms(net: ExactNetwork) -> tuple[RidgeForm, ...]:
    """The form of every output of a network with at most one hidden layer."""
    net = without_idle_steps(net)
    if len(net.steps) > 2:
        raise SubjectError(
            "A sum of ridges has one hidden layer.", got=f"{len(net.steps) - 1} hidden layers"
        )
    inner = neurons(net)
    (matrix, offset, _) = parts(net)[-1]
    return tuple(_merge(inner, row, b, net.widths[0]) for row, b in zip(matrix.rows, offset))


def without_idle_steps(net: ExactNetwork) -> ExactNetwork:
    """The same network with affine maps that no ReLU follows merged into the next ones."""
    for k, step in enumerate(net.steps[:-1]):
        if not step.rectified.any():
            rest = net.rebuilt(parts(net)[k + 1 :])
            merged = parts(precompose(rest, step.matrix, step.offset))
            return without_idle_steps(net.rebuilt([*parts(net)[:k], *merged]))
    return net


def neurons(net: ExactNetwork) -> list[tuple[Form, bool]]:
    """The forms of the first hidden layer and whether each is rectified; without one, the inputs themselves."""
    d = net.widths[0]
    if len(net.steps) == 1:
        return [(tuple(fmpq(i == j) for j in range(d + 1)), False) for i in range(d)]
    step = net.steps[0]
    rows = zip(step.matrix.rows, step.offset, step.rectified.tolist())
    return [((*(row.get(j, ZERO) for j in range(d)), b), on) for row, b, on in rows]


def unit_form(form: Form) -> Form:
    """The form divided by its first coefficient that is not 0: equal for equal hyperplanes."""
    return times(1 / next(a for a in form[:-1] if a), form)


def _merge(
    inner: Sequence[tuple[Form, bool]], row: Mapping[int, fmpq], b: fmpq, d: int
) -> RidgeForm:
    affine = (ZERO,) * d + (b,)
    ridges = defaultdict(fmpq)
    for k, c in row.items():
        form, rectified = inner[k]
        size = next((a for a in form[:-1] if a), ZERO)
        if not rectified:
            affine = plus(affine, times(c, form))
        elif not size:
            affine = (*affine[:-1], affine[-1] + c * max(ZERO, form[-1]))
        else:
            ridges[unit_form(form)] += c * abs(size)
            affine = plus(affine, times(c, form)) if size < 0 else affine  # r(ℓ) = ℓ + r(−ℓ)
    return RidgeForm(affine, {form: c for form, c in ridges.items() if c})


def escaping_ray(f: RidgeForm) -> Ray | None:
    r"""A ray on which $f$ does not tend to 0: for two variables or more there is one unless $f\equiv0$.

    Along a direction $v$ in a hyperplane $\ell_k=0$ that lies in no other, $f(p+tv)$ is in the end $g(p)+\sigma t$,
    where $g$ keeps the kink at $\ell_k=0$. So if $\sigma=0$, one of three values of $g$ across the kink is not 0.
    """
    if f.is_zero:
        return None
    d = len(f.affine) - 1
    if d == 1:
        rays = (_end(f, (ZERO,), (fmpq(sign),)) for sign in (1, -1))
    elif not f.ridges:
        v = f.affine[:-1] if any(f.affine[:-1]) else (fmpq(1), *[ZERO] * (d - 1))
        rays = iter([_end(f, (ZERO,) * d, v)])
    else:
        form = next(iter(f.ridges))
        v = direction_inside(form, f.ridges)
        normal = form[:-1]
        rays = (
            _end(f, plus(foot(form), times(fmpq(side), normal)), v)
            for side in (0, _nearby(form, f), -_nearby(form, f))
        )
    return next((ray for ray in rays if ray.level or ray.slope), None)


def direction_inside(form: Form, forms: Iterable[Form]) -> Point:
    """A direction in the hyperplane of the form and in no other one of `forms` that is not parallel to it."""
    basis = across(form[:-1])
    others = [g[:-1] for g in forms if g[:-1] != form[:-1]]
    for m in count(1):
        v = tuple(
            sum((fmpq(m) ** k * u[j] for k, u in enumerate(basis)), ZERO)
            for j in range(len(form) - 1)
        )
        if all(sum(a * t for a, t in zip(normal, v)) for normal in others):
            return v
    raise AssertionError("a polynomial in m has finitely many zeros")


def foot(form: Form) -> Point:
    """A point of the hyperplane: where it meets the first axis that it meets."""
    i = next(k for k, a in enumerate(form[:-1]) if a)
    return tuple(-form[-1] / form[i] if k == i else ZERO for k in range(len(form) - 1))


def _nearby(form: Form, f: RidgeForm) -> fmpq:
    """A step along the normal that crosses no hyperplane parallel to that of the form."""
    size = sum(a * a for a in form[:-1])
    gaps = [abs(g[-1] - form[-1]) / size for g in f.ridges if g[:-1] == form[:-1] and g != form]
    return min([fmpq(1), *(gap / 2 for gap in gaps)])


def _end(f: RidgeForm, point: Point, direction: Point) -> Ray:
    """Level and slope far out on the ray."""
    level = value(f.affine, point)
    slope = value((*f.affine[:-1], ZERO), direction)
    for form, c in f.ridges.items():
        speed = value((*form[:-1], ZERO), direction)
        here = value(form, point)
        if speed > 0 or (speed == 0 and here > 0):
            level = level + c * here
            slope = slope + c * speed
    return Ray(point, direction, fraction(level), fraction(slope))


def follow_ray(net: ExactNetwork, ray: Ray, output: int = 0) -> Ray:
    """The ray with level and slope read off the network itself, whatever its depth, neuron by neuron."""
    f = restrict_to_line(net, ray.point, ray.direction)[output]
    far = f.kinks[-1] if f.kinks else Fraction(0)
    return Ray(ray.point, ray.direction, f(far) - f.slopes[-1] * far, f.slopes[-1])
