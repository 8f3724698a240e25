"""The pendulum by two methods, a function of few variables, and solutions of u′ = −u with their residuals."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import Axis, Chart, Curves, Heatmap, Series
from ftheta.logic.chart import Role

from .physics import Collocated, FittedSolution
from .shears import pendulum_energy, trace_pendulum
from .structured import Structured

SHOWN = 61


def draw_pendulum(h: float, steps: int) -> tuple[Chart, ...]:
    """The pendulum: leapfrog stays on its curve, Euler spirals out; and their energies."""
    series = []
    drift = []
    shown = min(max(steps, int(4 * np.pi / h)), 2000)
    roles: dict[str, Role] = {"Euler": "other", "leapfrog": "measured"}
    for method, role in roles.items():
        path = trace_pendulum(method, h, shown, 1.5, 0.0)
        energy = pendulum_energy(path)
        inside = np.abs(path[:, 0]) < 2 * np.pi  # Euler goes over the top at last
        last = len(path) if inside.all() else int(np.argmin(inside))
        series.append(Series(method, path[:last, 0], path[:last, 1], role))
        off = np.maximum(np.abs(energy[1:] - energy[0]), 1e-16)
        drift.append(Series(method, np.arange(1, shown + 1), off, role))
    for start in (0.75, 2.4):
        fine = trace_pendulum("leapfrog", 0.01, 1400, start, 0.0)[::7]
        series.append(Series(f"flow from q = {start:g}", fine[:, 0], fine[:, 1], "reference"))
    portrait = Curves(
        f"the pendulum, step h = {h:g}", Axis("angle q"), Axis("momentum p"), tuple(series)
    )
    return portrait, Curves(
        "drift of the energy", Axis("step k", "log"), Axis("|H(k) − H(0)|", "log"), tuple(drift)
    )


def draw_function(given: Structured, output: int) -> tuple[Chart, ...]:
    """The function on a line or a plane of its inputs."""
    values = jax.jit(jax.vmap(lambda x: jnp.ravel(given.f(x))[output]))
    t = np.linspace(-2, 2, SHOWN)
    with jax.enable_x64(True):
        if given.dimension == 1:
            return (
                Curves(
                    given.name,
                    Axis("x"),
                    Axis("f"),
                    (Series("f", t, np.asarray(values(t[:, None]))),),
                ),
            )
        x = np.zeros((SHOWN * SHOWN, given.dimension))
        x[:, :2] = np.stack(np.meshgrid(t, t), -1).reshape(-1, 2)
        table = np.asarray(values(x)).reshape(SHOWN, SHOWN)
    return (Heatmap(given.name, Axis("x₁"), Axis("x₂"), table, (-2.0, 2.0, -2.0, 2.0), "f"),)


def draw_solutions(u: FittedSolution, degree: int) -> tuple[Chart, ...]:
    """A network and a collocation polynomial against the solution, and their residuals."""
    keep = slice(None, None, 100)
    t = u.t[keep]
    c = Collocated.of(degree)
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
