"""Why one hidden layer is not integrable: kinks that never end, rays on which it does not fall to zero."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Curves, Enclosure, Heatmap, Identity, Series, Table, Witness
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.relu.describe import describe_layers
from ftheta.relu.exact import ExactNetwork, exact
from ftheta.relu.geometry import Form, Point, plus, times
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.line.points import restrict_to_line
from ftheta.relu.local import across, is_clean, kink
from ftheta.relu.matrices import fraction
from ftheta.relu.meshes.mesh import Mesh
from ftheta.relu.meshes.nodal import nodal
from ftheta.relu.meshes.simplex_cells import box_mesh, box_simplices, integral
from ftheta.relu.network import ReluNetwork

from .ridge_form import (
    Ray,
    RidgeForm,
    direction_inside,
    escaping_ray,
    follow_ray,
    foot,
    neurons,
    ridge_forms,
    unit_form,
)

KINDS = ("ridge hat", "random", "affine in disguise", "zero in disguise", "compact hat, two hidden layers")
MOST_HYPERPLANES = 16
STEPS = (fmpq(1, 7), fmpq(10, 3), fmpq(-(10**6)))  # along a hyperplane, near and far
SIDE = 121  # pixels of the picture


def example(kind: str, inputs: int, width: int, rng: np.random.Generator) -> Description:
    """Networks by name; only the last one has two hidden layers, and compact support."""
    first = np.eye(inputs)[0]
    zero = np.zeros(1)
    if kind == "compact hat, two hidden layers":
        points, simplices = box_mesh([-1] * inputs, [1] * inputs, 2)
        return describe_layers(nodal(Mesh.of(points, simplices), points.index((fmpq(0),) * inputs)))
    if kind == "ridge hat":
        hidden = Dense(np.tile(first, (3, 1)), np.array([1.0, 0.0, -1.0]), "relu")
        return Description((hidden, Dense(np.array([[1.0, -2.0, 1.0]]), zero)))
    if kind == "random":
        return random_mlp(rng, (inputs, width, 1), bias=0.5)
    w = rng.integers(-4, 5, (width, inputs)) / 2.0
    b = rng.integers(-4, 5, width) / 2.0
    w[~w.any(axis=1)] = first
    hidden = Dense(np.concatenate([w, -w, 2 * w]), np.concatenate([b, -b, 2 * b]), "relu")
    c = rng.integers(1, 9, width) / 4.0
    outer = [c, -c, 0 * c] if kind == "affine in disguise" else [-2 * c, 0 * c, c]  # r(z) − r(−z) = z, r(2z) = 2r(z)
    return Description((hidden, Dense(np.concatenate(outer)[None], zero)))


@dataclass(frozen=True)
class Decay:
    """What the outputs of a network do far out: their ridge forms (of one hidden layer) and rays that tell."""

    net: ExactNetwork
    forms: tuple[RidgeForm, ...]
    rays: tuple[Ray | None, ...]

    @classmethod
    def of(cls, net: ExactNetwork) -> "Decay":
        forms = ridge_forms(net)
        return cls(net, forms, tuple(escaping_ray(f) for f in forms))

    @property
    def hyperplanes(self) -> list[Form]:
        return list(dict.fromkeys(form for f in self.forms for form in f.ridges))

    @property
    def summary(self) -> str:
        planes = len(self.hyperplanes)
        far = "f ≡ 0"
        if self.first:
            far = f"|f| → {self.first[1].limit:g} on the ray {self.first[1]}"
        return f"{planes} hyperplanes survive{'' if planes else ': f is affine'}; {far}"

    @property
    def shown(self) -> list[tuple[str, int, Point, Point]]:
        """The ray for the picture."""
        return [(f"the ray {ray}", k, ray.point, ray.direction) for k, ray in [self.first or (0, None)] if ray]

    @property
    def first(self) -> tuple[int, Ray] | None:
        """The first output that is not zero, and its ray."""
        return next(((k, ray) for k, ray in enumerate(self.rays) if ray), None)

    @property
    def escaping(self) -> list[tuple[int, Ray]]:
        """Every output that has a ray on which it does not tend to zero, with the ray."""
        return [(k, ray) for k, ray in enumerate(self.rays) if ray]

    @property
    def unconfirmed(self) -> int:
        """Rays whose level and slope far out the network itself, neuron by neuron, does not confirm."""
        return sum(follow_ray(self.net, ray, k) != ray for k, ray in self.escaping)

    def table(self) -> Table:
        """The hyperplanes that survive, and the jump of the gradient across each."""
        rows = [
            (" ".join(f"{float(fraction(a)):+.4g}x{j + 1}" for j, a in enumerate(form[:6]) if j < len(form) - 1 and a),
             float(fraction(-form[-1])), *(float(fraction(f.ridges.get(form, fmpq(0)))) for f in self.forms[:4]))
            for form in self.hyperplanes[:16]
        ]  # fmt: skip
        names = [f"c of output {k + 1}" for k in range(min(4, len(self.forms)))]
        return Table(f"{len(self.hyperplanes)} hyperplanes ⟨a, x⟩ = b survive", ("a", "b", *names), tuple(rows))


def constant_jumps(net: ExactNetwork, hyperplanes: Sequence[Form] | None = None) -> Identity:
    """Whether the gradient jumps by the same amount near and far on each hyperplane (of the first layer)."""
    every = [unit_form(form) for form, on in neurons(net) if on and any(form[:-1])]
    forms = list(dict.fromkeys(every if hyperplanes is None else hyperplanes))[:MOST_HYPERPLANES]
    worst = Fraction(0)
    places = None
    for form in forms:
        jumps = [(kink(net, x, form[:-1]), x) for x in points_on(net, form, every)]
        for jump, x in jumps[1:]:
            change = max(abs(a - b) for a, b in zip(jump, jumps[0][0]))
            if change > worst:
                worst = change
                places = (form[:-1], jumps[0][1], x)
    what = f"largest change of the gradient's jump along one of {len(forms)} hyperplanes"
    return Identity(what, enclose_rational(worst), enclose_rational(0), _again(net, *places) if places else None)


def points_on(net: ExactNetwork, form: Form, others: Sequence[Form]) -> list[Point]:
    """Points of a hyperplane, near and far, next to which the network has no other kink."""
    if len(form) == 2:
        return [foot(form)]
    v = direction_inside(form, others)
    along = across(form[:-1])
    found = []
    for step in STEPS:
        shifted = (plus(foot(form), times(step + fmpq(k, 97), v)) for k in range(8))
        found += [x for x in shifted if is_clean(net, x, along)][:1]
    return found


def _again(net: ExactNetwork, normal: Point, x: Point, y: Point) -> Witness:
    """The two jumps once more, from the exact pieces along the normals through the two points."""
    zero = Fraction(0)
    one, other = ([f.jumps.get(zero, zero) for f in restrict_to_line(net, p, normal)] for p in (x, y))
    change = max(abs(a - b) for a, b in zip(one, other))
    at = {name: tuple(float(fraction(t)) for t in p) for name, p in (("x", x), ("y", y))}
    return Witness(
        at,
        enclose_rational(change),
        enclose_rational(0),
        "the pieces along the normal through either point, in rationals",
    )


def ridge_hat_mass(radius: float) -> Fraction:
    r"""$\int_{[-R,R]^2}\max\{0,1-|x_1|\}$ of the network, cell by cell."""
    R = Fraction(radius)
    none = np.random.default_rng(0)
    return integral(exact(example("ridge hat", 2, 3, none)), box_simplices([-R, -R], [R, R]))


def mass_chart(radius: float) -> Curves:
    """Integrals over growing squares: of the ridge hat, and of a hat with two hidden layers."""
    radii = sorted({1.0, *(radius * k / 16 for k in range(1, 17))})
    compact = exact(example(KINDS[-1], 2, 0, np.random.default_rng(0)))
    inside = [float(integral(compact, box_simplices([-R, -R], [R, R]))) for R in map(Fraction, radii)]
    series = (
        Series("one hidden layer: ridge hat", radii, [float(ridge_hat_mass(R)) for R in radii]),
        Series("two hidden layers: compact hat", radii, inside, "reference"),
    )
    return Curves("one of the two has a finite integral", Axis("R"), Axis("integral over [−R, R]²"), series)


def landscape(net: ReluNetwork, radius: float, title: str, output: int = 0) -> Heatmap:
    """An output on a square of the first two inputs, the others being zero."""
    t = np.linspace(-radius, radius, SIDE)
    x = np.zeros((SIDE * SIDE, net.widths[0]))
    x[:, 0], x[:, min(1, net.widths[0] - 1)] = np.tile(t, SIDE), np.repeat(t, SIDE)
    values = net(x)[:, output].reshape(SIDE, SIDE)
    return Heatmap(title, Axis("x₁"), Axis("x₂"), values, (-radius, radius, -radius, radius), "f")


def along_rays(net: ExactNetwork, rays: Sequence[tuple[str, int, Point, Point]], far: float) -> Curves:
    """Outputs along rays, from their exact pieces."""
    t = np.linspace(0, far, 201)
    series = []
    for k, (name, output, p, v) in enumerate(rays):
        f = restrict_to_line(net, p, v)[output]
        values = [float(f(Fraction(s))) for s in t.tolist()]
        series.append(Series(name, t, values, "measured" if k == 0 else "other"))
    return Curves("along rays", Axis("t"), Axis("f(p + tv)"), tuple(series))


def random_rays(net: ExactNetwork, rng: np.random.Generator, rays: int) -> list[tuple[str, int, Point, Point]]:
    """Rays from the origin."""
    d = net.widths[0]
    directions = [[fmpq(int(t), 8) for t in rng.integers(-8, 9, d)] for _ in range(rays)]
    return [(f"random ray {k + 1}", 0, (fmpq(0),) * d, tuple(v)) for k, v in enumerate(directions)]


def limits(rays: Sequence[Ray | None]) -> Enclosure:
    """The least limit of |f| along the rays; 0 where there is none."""
    return enclose_rational(min((ray.limit for ray in rays if ray), default=0))
