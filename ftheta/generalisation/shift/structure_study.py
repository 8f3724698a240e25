"""Structure that holds everywhere, shown: symplectic steps, convex and monotone networks, physics in the loss."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Chart,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Heatmap,
    Identity,
    Series,
    SubjectError,
    Table,
    Witness,
)
from ftheta.logic.chart import Role
from ftheta.networks.description import Description, random_mlp
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.normal_forms import Form
from ftheta.relu.exact import ExactNetwork, exact

from . import certificates as tests
from . import hamiltonian, physics, shears
from .signs import Shape, shape_of

PROPERTIES = ("symplectic", "convex", "monotone", "physics", "any")
ZERO = Enclosure.exact(0)
POINTS, SHOWN, CELLS = 256, 61, 2000
TOLERANCE = 1e-9
Numbers = dict[str, Enclosure | float]


@dataclass(frozen=True, eq=False)
class Structured:
    """A network `f` of a flat input, with its normal form, its layers or its exact map, where there are any."""

    name: str
    dimension: int
    f: Callable[[Any], Any]
    form: Form | None = None
    layers: Description | None = None
    sympnet: ExactNetwork | None = None
    rows: np.ndarray | None = None
    shears: bool = False

    @cached_property
    def pieces(self) -> tuple[list[Piece], Basis] | None:
        """All pieces in rationals, where there are few inputs, and what the normal form is known by."""
        if self.sympnet is not None:
            found, basis = tests.pieces_everywhere(self.sympnet, CELLS), Basis.EXACT
        elif self.form is not None and self.form.network is not None and not self.form.refusal:
            found, basis = tests.pieces_everywhere(exact(self.form.network), CELLS), self.form.basis
        else:
            return None
        return None if found is None else (found, basis)

    @cached_property
    def shape(self) -> Shape | None:
        """What the signs of the weights prove."""
        if self.form is not None and self.form.network is not None and not self.form.refusal:
            return shape_of(self.form.network)
        return None if self.layers is None else shape_of(self.layers)

    def by_construction(self, output: int) -> dict[str, bool]:
        """What holds by construction."""
        shape = self.shape
        if shape is not None and not 0 <= output < len(shape.convex):
            raise SubjectError("There is no such output.", got=output, remedy=f"0 … {len(shape.convex) - 1}")
        return {
            "convex": shape is not None and bool(shape.convex[output]),
            "monotone": shape is not None and bool(shape.rises[output].all()),
            "symplectic": self.shears,
        }

    def sampled(self, rng: np.random.Generator, output: int) -> dict[str, tests.Test]:
        x = self.rows if self.rows is not None else rng.normal(size=(POINTS, self.dimension))
        return tests.sampled_tests(self.f, x[:POINTS].reshape(-1, self.dimension), output)

    def found(self, rng: np.random.Generator, output: int, wanted: str) -> dict[str, tests.Test]:
        """The wanted property, or every one that has a meaning here; in all pieces or at points."""
        if self.pieces is None:
            found = self.sampled(rng, output)
            return {name: test for name, test in found.items() if wanted in (name, "any")}
        cells, _ = self.pieces
        even = len(cells[0].rows) == self.dimension and self.dimension % 2 == 0
        known = {
            "convex": lambda: tests.convex_test(cells, output),
            "monotone": lambda: tests.monotone_test(cells, output),
        } | ({"symplectic": lambda: tests.symplectic_test(cells)} if even else {})
        return {name: test() for name, test in known.items() if wanted in (name, "any")}


# ---- claims ----------------------------------------------------------------------------------------------------------

WORDS = {
    "convex": "largest f(a) + ⟨∇f(a), b − a⟩ − f(b)",
    "monotone": "largest fall of f in an input",
    "symplectic": "largest entry of |JᵀΩJ − Ω|",
}


def property_claim(given: Structured, name: str, test: tests.Test, output: int) -> Claim:
    """That the property holds: of all pieces, or of points with a witness for the contrary."""
    where = "on all cells" if test.everywhere else f"at {test.points} points"
    what = f"{WORDS[name]}, {where}"
    kind = Identity if name == "symplectic" else AtMost
    if test.everywhere:
        is_exact = given.pieces is not None and given.pieces[1] is Basis.EXACT
        left = Enclosure.exact(test.excess) if is_exact else Enclosure.equal(float(test.excess))
    else:
        left = Enclosure.measured(float(test.excess), samples=test.points)
    seen = _again(given, name, test, output) if float(test.excess) > TOLERANCE else None
    return kind(what, left, ZERO, witness=seen, atol=TOLERANCE)


def _again(given: Structured, name: str, test: tests.Test, output: int) -> Witness:
    """The number at its point once more, in intervals."""

    def excess(x: Any, b: Any) -> Any:
        J = jax.jacfwd(given.f)(x)
        if name == "symplectic":
            omega = shears.omega(len(test.at) // 2)
            return jnp.max(jnp.abs(J.T @ omega @ J - omega))
        if name == "monotone":
            return jnp.max(-J[output])
        value = lambda z: jnp.ravel(given.f(z))[output]
        return value(x) + J[output] @ (b - x) - value(b)

    at = {"x": test.at} | ({"b": test.towards} if test.towards else {})
    left = enclose_number(excess, np.array(test.at), np.array(test.towards or test.at))
    return Witness(at, left, ZERO, "derivatives at this point, in intervals rounded outward")


def oscillator_claims(h: float, steps: int) -> tuple[list[Claim], Numbers]:
    r"""Leapfrog and Euler on $q'=p$, $p'=-q$, in rationals."""
    step = Fraction(h)
    leap, euler = shears.leapfrog_matrix(step), shears.euler_matrix(step)
    before, after = shears.kept_energy(step)
    kept = max(abs(a - b) for one, two in zip(before, after) for a, b in zip(one, two))
    energy, grown = shears.energy_after(euler, steps), (1 + step**2) ** steps
    claims: list[Claim] = [
        Identity("leapfrog: largest entry of |JᵀΩJ − Ω|", Enclosure.exact(shears.exact_defect(leap)), ZERO),
        Identity("leapfrog: change of p² + (1 − h²/4)q² in a step", Enclosure.exact(kept), ZERO),
        Identity("Euler: det J − (1 + h²)", Enclosure.exact(shears.determinant(euler) - 1 - step**2), ZERO),
        Identity(f"Euler: energy after {steps} steps − (1 + h²)^{steps}", Enclosure.exact(energy - grown), ZERO),
    ]
    numbers: Numbers = {
        "det of leapfrog": Enclosure.exact(shears.determinant(leap)),
        "det of Euler": Enclosure.exact(shears.determinant(euler)),
        "energy factor of Euler": Enclosure.exact(energy),
        "energy factor of leapfrog": Enclosure.exact(shears.energy_after(leap, steps)),
    }
    return claims, numbers


def hamiltonian_claims(rng: np.random.Generator) -> tuple[list[Claim], Numbers]:
    r"""A network as energy $H$: the flow $\dot x=\Omega\nabla H$ keeps it, and a Runge–Kutta method nearly does."""
    net = random_mlp(rng, (2, 16, 1), "tanh", bias=1.0)
    h = np.array([0.2, 0.1, 0.05, 0.025])
    power, drift = hamiltonian.power(net, rng.normal(size=(POINTS, 2))), hamiltonian.drifts(net, h)
    claims: list[Claim] = [
        Identity(f"dH/dt = ⟨∇H, Ω∇H⟩ of a Hamiltonian network, at {POINTS} points",
                 Enclosure.measured(power, samples=POINTS), ZERO, atol=1e-12),
        Converges("largest change of H up to time 8, Runge–Kutta steps of length 1/scale", ZERO,
                  tuple(map(Enclosure.equal, drift)), tuple((1 / h).tolist()), 1e-3),
    ]  # fmt: skip
    return claims, {"change of H, Runge–Kutta": float(drift[-1])}


def physics_claims(given: Structured, degree: int) -> tuple[list[Claim], Numbers, physics.Fitted]:
    r"""The residual bounds the error at 1, for the network and for a polynomial with a loss of zero."""
    u, e = physics.fitted(given.f, given.layers), physics.solution()
    polynomial = physics.Collocated.of(degree)
    at_one = Enclosure.exact(polynomial(Fraction(1)))
    gap = at_one - e
    off = Enclosure.between(max(gap.lo, -gap.hi, 0.0), max(abs(gap.lo), abs(gap.hi)))
    A, b = [[Fraction(1)] * 3, [Fraction(1), Fraction(2), Fraction(3)]], [Fraction(1), Fraction(2)]
    out = physics.projected(A, b, [Fraction(3, 7), Fraction(-2), Fraction(1, 3)])
    claims: list[Claim] = [
        AtMost("|u(1) − e⁻¹| ≤ e⁻¹|u(0) − 1| + (1 − e⁻¹) sup|u′ + u|, network", u.error, u.bound),
        Identity(f"loss of a polynomial of degree {degree} at its points", Enclosure.exact(polynomial.loss), ZERO),
        AtMost("its |u(1) − e⁻¹| ≤ (1 − e⁻¹) sup|u′ + u|", off, (Enclosure.exact(1) - e) * polynomial.largest_residual),
        Identity("|Ax − b| for x = y − Aᵀ(AAᵀ)⁻¹(Ay − b)", Enclosure.exact(physics.violation(A, b, out)), ZERO),
    ]
    numbers: Numbers = {
        "u(1) of the solution": e,
        "u(1) of the network": float(u.u[-1]),
        "u(1) of the polynomial": at_one,
        "largest residual of the network": u.residual,
    }
    return claims, numbers, u


# ---- evidence --------------------------------------------------------------------------------------------------------


def evidence(
    given: Structured, rng: np.random.Generator, wanted: str, h: float, steps: int, degree: int, output: int
) -> Evidence:
    """One property with its claims and pictures; or all of them, in a table."""
    if wanted == "physics":
        claims, numbers, u = physics_claims(given, degree)
        told = f"u(1) = {u.u[-1]:.6g} for e⁻¹ = 0.367879; the residual allows an error of {u.bound.hi:.3g}"
        return Evidence(tuple(claims), _physics_charts(u, degree), numbers, summary=told)
    oscillator, numbers = oscillator_claims(h, steps)
    found = given.found(rng, output, wanted)
    built = given.by_construction(output)
    asked = [name for name in found if name == wanted or (wanted == "any" and built[name])]
    claims = [property_claim(given, name, found[name], output) for name in asked]
    rows = tuple(
        (name, "yes" if built[name] else "not shown", _told(name, test), float(test.excess), _place(test))
        for name, test in found.items()
    )
    table = Table("certificate", ("property", "by construction", "tested", "worst", "where"), rows)
    keep: list[Claim] = []
    if wanted in ("symplectic", "any"):
        conserved, more = hamiltonian_claims(rng)
        keep, numbers = [*oscillator, *conserved], numbers | more
    summary = "; ".join(f"{name}: {_told(name, test)}" for name, test in found.items())
    numbers = (numbers if keep else {}) | {f"worst, {name}": float(test.excess) for name, test in found.items()}
    if given.pieces is not None:
        numbers |= {"cells": Enclosure.exact(len(given.pieces[0]))}
    charts = _phase_portraits(h, steps) if wanted == "symplectic" else _graph(given, output)
    return Evidence((*claims, *keep), charts, numbers, (table,), summary=f"{given.name}: {summary}")


def _told(name: str, test: tests.Test) -> str:
    holds = abs(float(test.excess)) <= TOLERANCE if name == "symplectic" else float(test.excess) <= TOLERANCE
    if test.everywhere:
        return "holds everywhere" if holds else "fails"
    return f"nothing against it at {test.points} points" if holds else "fails"


def _place(test: tests.Test) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in test.at[:4]) + (", …)" if len(test.at) > 4 else ")")


# ---- pictures --------------------------------------------------------------------------------------------------------


def _phase_portraits(h: float, steps: int) -> tuple[Chart, ...]:
    """The pendulum: leapfrog stays on its curve, Euler spirals out; and their energies."""
    series, drift = [], []
    shown = min(max(steps, int(4 * np.pi / h)), 2000)
    roles: dict[str, Role] = {"Euler": "other", "leapfrog": "measured"}
    for method, role in roles.items():
        path = shears.pendulum(method, h, shown, 1.5, 0.0)
        energy = shears.pendulum_energy(path)
        inside = np.abs(path[:, 0]) < 2 * np.pi  # Euler goes over the top at last
        last = len(path) if inside.all() else int(np.argmin(inside))
        series.append(Series(method, path[:last, 0], path[:last, 1], role))
        off = np.maximum(np.abs(energy[1:] - energy[0]), 1e-16)
        drift.append(Series(method, np.arange(1, shown + 1), off, role))
    for start in (0.75, 2.4):
        fine = shears.pendulum("leapfrog", 0.01, 1400, start, 0.0)[::7]
        series.append(Series(f"flow from q = {start:g}", fine[:, 0], fine[:, 1], "reference"))
    portrait = Curves(f"the pendulum, step h = {h:g}", Axis("angle q"), Axis("momentum p"), tuple(series))
    return portrait, Curves("drift of the energy", Axis("step k", "log"), Axis("|H(k) − H(0)|", "log"), tuple(drift))


def _graph(given: Structured, output: int) -> tuple[Chart, ...]:
    """The function on a line or a plane of its inputs."""
    values = jax.jit(jax.vmap(lambda x: jnp.ravel(given.f(x))[output]))
    t = np.linspace(-2, 2, SHOWN)
    with jax.enable_x64(True):
        if given.dimension == 1:
            return (Curves(given.name, Axis("x"), Axis("f"), (Series("f", t, np.asarray(values(t[:, None]))),)),)
        x = np.zeros((SHOWN * SHOWN, given.dimension))
        x[:, :2] = np.stack(np.meshgrid(t, t), -1).reshape(-1, 2)
        table = np.asarray(values(x)).reshape(SHOWN, SHOWN)
    return (Heatmap(given.name, Axis("x₁"), Axis("x₂"), table, (-2.0, 2.0, -2.0, 2.0), "f"),)


def _physics_charts(u: physics.Fitted, degree: int) -> tuple[Chart, ...]:
    keep = slice(None, None, 100)
    t, c = u.t[keep], physics.Collocated.of(degree)
    polynomial = [float(c(Fraction(float(s)).limit_denominator(10**6))) for s in t]
    fits = (
        Series("network", t, u.u[keep], "measured"),
        Series(f"polynomial of degree {degree}", t, polynomial, "other"),
        Series("exp(−t)", t, np.exp(-t), "reference"),
    )
    r = [float(np.polyval([float(v) for v in c.residual[::-1]], s)) for s in t]
    residuals = (
        Series("network", t, np.maximum(np.abs(u.r[keep]), 1e-17), "measured"),
        Series(f"polynomial of degree {degree}", t, np.maximum(np.abs(r), 1e-17), "other"),
    )
    return (
        Curves("u′ = −u, u(0) = 1", Axis("t"), Axis("u"), fits),
        Curves("residual |u′ + u|", Axis("t"), Axis("residual", "log"), residuals),
    )
