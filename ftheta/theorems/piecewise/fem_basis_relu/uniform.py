"""The nodal function of the uniform mesh in one to three dimensions, in rationals."""

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Enclosure
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.maxima.depth_bounds import necessary
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import nodal
from ftheta.relu.meshes.simplex_cells import box_mesh, box_simplices, integral
from ftheta.relu.network import ExactNetwork

ZERO = fmpq(0)


def uniform_hat(d: int) -> ExactNetwork:
    """The nodal function of the origin on the cubes around it, each cut along its diagonal."""
    points, simplices = box_mesh([-1] * d, [1] * d, 2)
    return nodal(Mesh.of(points, simplices), points.index((ZERO,) * d))


def hexagon_gap() -> Fraction:
    r"""The largest distance of $\max(|x|,|y|,|x-y|)$ to $\max(x,y,0)-\min(x,y,0)$ on the rays $x=0$, $y=0$, $x=y$.

    On the six cones between them both are linear, so that equality on the rays is equality everywhere.
    """
    rays = [(s * x, s * y) for x, y in ((1, 0), (0, 1), (1, 1)) for s in (1, -1)]
    sides = [(max(abs(x), abs(y), abs(x - y)), max(x, y, 0) - min(x, y, 0)) for x, y in rays]
    return Fraction(max(abs(a - b) for a, b in sides))


@dataclass(frozen=True)
class Uniform:
    """The hat around the origin on cubes cut along their diagonals, in one to three dimensions."""

    nets: tuple[ExactNetwork, ...]

    @classmethod
    def build(cls) -> "Uniform":
        return cls(tuple(uniform_hat(d) for d in (1, 2, 3)))

    @property
    def mass(self) -> Fraction:
        r"""$\int\phi$ in the plane, cell by cell."""
        return integral(self.nets[1], box_simplices([-1, -1], [1, 1]))

    def count_needed_maps(self, d: int) -> int:
        """Affine maps that it needs: the kink along the first axis ends at the next vertex."""
        x = ((ZERO,), (fmpq(1, 2), ZERO), (fmpq(1, 2), fmpq(1, 16), ZERO))[d - 1]
        normal = (*[ZERO] * (d - 1), fmpq(1))
        return necessary(self.nets[d - 1], [(x, normal)], (fmpq(-3), fmpq(3))).layers + 1

    def numbers(self) -> dict[str, Enclosure | float]:
        half = Fraction(1, 2)
        plane = self.nets[1]
        return {
            "integral of the uniform hat": enclose_rational(self.mass),
            "φ(½, 0)": enclose_rational(plane([half, 0])[0]),
            "φ(½, −½)": enclose_rational(plane([half, -half])[0]),
            "neurons in dimension 1": enclose_rational(count(self.nets[0]).neurons),
            **{
                f"affine maps in dimension {d}": enclose_rational(count(net).affine_layers)
                for d, net in enumerate(self.nets, 1)
            },
        }
