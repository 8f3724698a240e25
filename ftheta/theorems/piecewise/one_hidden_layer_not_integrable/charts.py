"""A network on a square and along rays; integrals over growing squares; the hyperplanes that survive."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Curves, Heatmap, Series, Table
from ftheta.relu.geometry import Point
from ftheta.relu.line.points import restrict_to_line
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork, ReluNetwork

from .escaping import Decay
from .named_networks import integrate_compact_hat, integrate_ridge_hat

SIDE = 121  # pixels of the picture
TABLED = 16  # hyperplanes
NamedRay = tuple[str, int, Point, Point]  # name, output, point, direction


def draw_landscape(net: ReluNetwork, radius: float, title: str, output: int = 0) -> Heatmap:
    """An output on a square of the first two inputs, the others being zero."""
    t = np.linspace(-radius, radius, SIDE)
    x = np.zeros((SIDE * SIDE, net.widths[0]))
    x[:, 0], x[:, min(1, net.widths[0] - 1)] = np.tile(t, SIDE), np.repeat(t, SIDE)
    values = net(x)[:, output].reshape(SIDE, SIDE)
    return Heatmap(title, Axis("x₁"), Axis("x₂"), values, (-radius, radius, -radius, radius), "f")


def draw_along_rays(net: ExactNetwork, rays: Sequence[NamedRay], far: float) -> Curves:
    """Outputs along rays, from their exact pieces."""
    t = np.linspace(0, far, 201)
    series = []
    for k, (name, output, p, v) in enumerate(rays):
        f = restrict_to_line(net, p, v)[output]
        values = [float(f(Fraction(s))) for s in t.tolist()]
        series.append(Series(name, t, values, "measured" if k == 0 else "other"))
    return Curves("along rays", Axis("t"), Axis("f(p + tv)"), tuple(series))


def random_rays(net: ExactNetwork, rng: np.random.Generator, rays: int) -> list[NamedRay]:
    """Rays from the origin, to be drawn beside the one that escapes."""
    d = net.widths[0]
    directions = [[fmpq(int(t), 8) for t in rng.integers(-8, 9, d)] for _ in range(rays)]
    return [(f"random ray {k + 1}", 0, (fmpq(0),) * d, tuple(v)) for k, v in enumerate(directions)]


def escaping_ray_of(decay: Decay) -> list[NamedRay]:
    """The ray of the first output that does not tend to zero, if there is one."""
    return [(f"the ray {ray}", k, ray.point, ray.direction) for k, ray in decay.escaping[:1]]


def draw_masses(radius: float) -> Curves:
    """Integrals over growing squares: of the ridge hat, and of a hat with two hidden layers."""
    radii = sorted({1.0, *(radius * k / 16 for k in range(1, 17))})
    series = (
        Series(
            "one hidden layer: ridge hat", radii, [float(integrate_ridge_hat(R)) for R in radii]
        ),
        Series(
            "two hidden layers: compact hat",
            radii,
            [float(integrate_compact_hat(R)) for R in radii],
            "reference",
        ),
    )
    return Curves(
        "one of the two has a finite integral", Axis("R"), Axis("integral over [−R, R]²"), series
    )


def tabulate_hyperplanes(decay: Decay) -> Table:
    """The hyperplanes that survive, and the jump of the gradient across each."""
    forms = decay.forms[:4]
    rows = []
    for plane in decay.hyperplanes[:TABLED]:
        *normal, offset = plane
        terms = " ".join(
            f"{float(fraction(a)):+.4g}x{j + 1}" for j, a in enumerate(normal[:6]) if a
        )
        jumps = [float(fraction(f.ridges.get(plane, fmpq(0)))) for f in forms]
        rows.append((terms, float(fraction(-offset)), *jumps))
    names = [f"c of output {k + 1}" for k in range(len(forms))]
    return Table(
        f"{len(decay.hyperplanes)} hyperplanes ⟨a, x⟩ = b survive", ("a", "b", *names), tuple(rows)
    )
