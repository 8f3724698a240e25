"""Runge's phenomenon shown: polynomials through equispaced and Chebyshev nodes, broken lines and a trained network
through the same points, inside the interval and beyond it."""

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from flint import arb  # type: ignore[import-untyped]

from ftheta.logic import AtMost, Axis, Claim, Converges, Curves, Enclosure, Evidence, Identity, Series
from ftheta.networks.description import random_mlp
from ftheta.training import fit

from .nodes import KINDS, Interpolant, lebesgue_constant, lebesgue_point, nodes
from .runge_function import Runge
from .sampled_function import SampledFunction

MOST_DEGREE = 60
BEYOND = 2.0  # half-width of the panel of extrapolation, in half-widths of the interval
WIDTH, STEP = 32, 0.01
SHOWN = 401
ZERO = Enclosure.exact(0)


@dataclass(frozen=True, eq=False)
class Studied:
    """A function on [lo, hi], carried to [-1, 1]: `sampled` by its values and, for Runge's own, `exact` besides."""

    name: str
    sampled: SampledFunction
    exact: Runge | None
    lo: float
    hi: float

    def error(self, kind: str, n: int) -> Enclosure:
        return self.sampled.error(kind, n) if self.exact is None else self.exact.error(kind, n)

    def best_error(self, n: int) -> Enclosure:
        return self.sampled.best_error(n) if self.exact is None else Enclosure.ball(self.exact.best_error(n))

    def on_ellipse(self, ellipse: float) -> Enclosure:
        if self.exact is not None:
            return Enclosure.ball(self.exact.on_ellipse(ellipse)[1])
        return Enclosure.measured(self.sampled.on_ellipse(ellipse), samples=1024)

    def carried(self, t: np.ndarray) -> np.ndarray:
        """From [-1, 1] to the interval of the function."""
        return (self.lo + self.hi) / 2 + (self.hi - self.lo) / 2 * t


def evidence(f: Studied, rng: np.random.Generator, n: int, ellipse: float, steps: int) -> Evidence:
    """All claims at degree n, the two panels, errors and Lebesgue constants by degree."""
    errors = {kind: f.error(kind, n) for kind in KINDS}
    constants = {kind: lebesgue_constant(kind, n) for kind in KINDS}
    best = f.best_error(n)
    claims: list[Claim] = [
        AtMost(f"error of the polynomial, {kind} nodes ≤ (1 + Λ)E", errors[kind], (constants[kind] + 1) * best)
        for kind in KINDS
    ]
    claims += [_analytic(f, n, ellipse), *_constants(n, constants)]
    claims += [] if f.exact is None else _runge_claims(f.exact, f.sampled, n, best)
    bent = f.exact.bent_line_error(n) if f.exact else _bent_error(f.sampled, n)
    network = trained(f.sampled, n, rng, steps)
    numbers = {
        "error, equispaced": errors["equispaced"],
        "error, Chebyshev": errors["Chebyshev"],
        "Λ, equispaced": constants["equispaced"],
        "Λ, Chebyshev": constants["Chebyshev"],
        "best error": best,
        "error of the broken line": bent,
        "error of the network": _error_of(network, f.sampled),
    } | ({} if f.exact is None else {"ρ": Enclosure.ball(f.exact.rho), "growth factor": f.exact.growth})
    return Evidence(
        claims=tuple(claims),
        charts=(
            _panel(f, n, network, 1.0, "interpolation"),
            _panel(f, n, network, BEYOND, "extrapolation"),
            _by_degree(f, n, ellipse),
            _lebesgue_chart(n),
        ),
        numbers=numbers,
        summary=f"degree {n}: error {errors['equispaced'].lo:.5g} through equispaced nodes (Λ = "
        f"{constants['equispaced'].lo:.5g}), {errors['Chebyshev'].lo:.5g} through Chebyshev nodes (Λ = "
        f"{constants['Chebyshev'].lo:.5g}), {bent.lo:.5g} for the broken line of ReLUs",
    )


def _analytic(f: Studied, n: int, ellipse: float) -> AtMost:
    r"""$\|f-p_m\|\le\frac{4M\rho^{-m}}{\rho-1}$ for Chebyshev nodes, at the worst of a few degrees."""
    size = f.on_ellipse(ellipse)
    pairs = []
    for m in sorted({max(n // 2, 1), n, min(2 * n, MOST_DEGREE), min(4 * n, MOST_DEGREE)}):
        scale = Enclosure.ball(4 / arb(ellipse) ** m / (arb(ellipse) - 1))
        pairs.append((m, f.error("Chebyshev", m), size * scale))
    m, error, bound = max(pairs, key=lambda p: p[1].lo / max(p[2].lo, 1e-300))
    return AtMost(f"error at Chebyshev nodes, degree {m} ≤ 4Mρ⁻ⁿ/(ρ − 1), ρ = {ellipse:g}", error, bound)


def _constants(n: int, found: dict[str, Enclosure]) -> list[Claim]:
    r"""$\Lambda\le\frac2\pi\ln(n+1)+1$ at Chebyshev nodes, $\frac{2^{n-2}}{n^2}<\Lambda$ at equispaced ones."""
    slow = Enclosure.ball(2 / arb.pi() * arb(n + 1).log() + 1)
    fast = Enclosure.ball(arb(2) ** (n - 2) / n**2)
    return [
        AtMost("Λ at Chebyshev nodes ≤ (2/π) ln(n + 1) + 1", found["Chebyshev"], slow),
        AtMost("2ⁿ⁻²/n² ≤ Λ at equispaced nodes", fast, found["equispaced"]),
    ]


def _runge_claims(f: Runge, sampled: SampledFunction, n: int, best: Enclosure) -> list[Claim]:
    """What is known of Runge's function alone: the best error, the broken line, the factor of the divergence."""
    seen = Enclosure.equal(sampled.best_error(n).lo)
    scales = (25, 50, 100, 200, 400)
    x = np.cos(np.linspace(0, np.pi / 2, 20_001))
    largest = lambda m: float(np.abs(f.errors_at("equispaced", m, x)).max())
    factors = tuple(Enclosure.equal((largest(m + 2) / largest(m)) ** 0.5) for m in scales)
    bend = Enclosure.exact(f.a) / Enclosure.exact(n * n)  # h = 2/n, and max|f″| = |f″(0)| = 2a
    what = "(error at degree m + 2 / error at degree m)^½, equispaced nodes"
    return [
        AtMost("least error on 571 points ≤ E = a ρ^(−2⌊n/2⌋)/(2(a + 1))", seen, best, atol=1e-9),
        AtMost("error of the broken line ≤ h²/8 · max|f″|", f.bent_line_error(n), bend),
        Converges(what, Enclosure.equal(f.growth), factors, scales, 0.02 * f.growth),
    ]


# ---- networks through the same points --------------------------------------------------------------------------------


def trained(f: SampledFunction, n: int, rng: np.random.Generator, steps: int) -> Any:
    """A network of tanh with one hidden layer, fitted to the equispaced points; its function of an array."""
    x = nodes("equispaced", n)
    run = fit(random_mlp(rng, (1, WIDTH, 1), "tanh", gain=9.0, bias=2.0), (x[:, None], f.values(x)[:, None]),
              steps=steps, step=STEP, every=max(steps, 1), progress=False)  # fmt: skip
    net = run.network
    return lambda t: np.asarray(net.apply(net.params, np.asarray(t)[:, None]))[:, 0]


def bent_line(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The broken line through sorted points, going on with its outermost slopes."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[-1] - y[-2]) / (x[-1] - x[-2])
    return np.interp(t, x, y) + np.minimum(t - x[0], 0) * left + np.maximum(t - x[-1], 0) * right


def _bent_error(f: SampledFunction, n: int) -> Enclosure:
    x, (t, y) = nodes("equispaced", n), f.grid
    return Enclosure.at_least(float(np.abs(np.interp(t, x, f.values(x)) - y).max()), samples=len(t))


def _error_of(network: Any, f: SampledFunction) -> Enclosure:
    x, y = f.grid
    return Enclosure.at_least(float(np.abs(network(x) - y).max()), samples=len(x))


# ---- pictures --------------------------------------------------------------------------------------------------------


def _panel(f: Studied, n: int, network: Any, reach: float, title: str) -> Curves:
    t = np.linspace(-reach, reach, SHOWN)
    x, values = nodes("equispaced", n), f.sampled.values
    truth, inside = values(t), f.sampled.grid[1]
    frame = (float(inside.min()), float(inside.max()))
    curves: list[tuple[str, np.ndarray, Any]] = [
        ("equispaced polynomial", f.sampled.interpolant("equispaced", n)(t), "other"),
        ("Chebyshev polynomial", f.sampled.interpolant("Chebyshev", n)(t), "measured"),
        ("broken line (ReLU)", bent_line(x, values(x), t), "other"),
        ("trained tanh network", network(t), "other"),
        (f.name, truth, "reference"),
    ]
    series = [_within(name, f.carried(t), y, frame, role) for name, y, role in curves]
    dots = Series("equispaced nodes", f.carried(x), values(x), "reference", "points")
    what = f"{title}: degree {n}, " + ("on the interval" if reach == 1 else "on and beyond the interval of the nodes")
    return Curves(what, Axis("x"), Axis("value"), (*series, dots))


def _within(name: str, x: np.ndarray, y: np.ndarray, frame: tuple[float, float], role: Any) -> Series:
    """The part of a curve around the middle that stays near the function, so that the function is still seen."""
    margin = 2.0 * max(frame[1] - frame[0], 1e-9)
    out = np.flatnonzero((y < frame[0] - margin) | (y > frame[1] + margin) | ~np.isfinite(y))
    middle = len(x) // 2
    start = max((k + 1 for k in out if k < middle), default=0)
    end = min((k for k in out if k >= middle), default=len(x))
    return Series(name, x[start:end], y[start:end], role)


def _by_degree(f: Studied, n: int, ellipse: float) -> Curves:
    degrees = np.arange(1, min(max(2 * n, 24), MOST_DEGREE) + 1)
    x = f.sampled.grid[0]
    if f.exact is not None:
        found = {k: [np.abs(f.exact.errors_at(k, int(m), x)).max() for m in degrees] for k in KINDS}
        best = [float(f.exact.best_error(int(m))) for m in degrees]
        line = Series("best polynomial", degrees, best, "reference")
    else:
        found = {k: [f.sampled.error(k, int(m)).lo for m in degrees] for k in KINDS}
        size = f.sampled.on_ellipse(ellipse)
        bound = 4 * size * ellipse ** -degrees.astype(float) / (ellipse - 1)
        line = Series("4Mρ⁻ⁿ/(ρ − 1)", degrees, bound, "reference") if np.isfinite(size) else None
    series = [Series("equispaced nodes", degrees, np.maximum(found["equispaced"], 1e-17), "other")]
    series.append(Series("Chebyshev nodes", degrees, np.maximum(found["Chebyshev"], 1e-17), "measured"))
    bent = [_bent_error(f.sampled, int(m)).lo for m in degrees]
    series.append(Series("broken line (ReLU)", degrees, np.maximum(bent, 1e-17), "other"))
    series += [] if line is None else [line]
    return Curves("largest error against degree", Axis("degree n"), Axis("max |f − p|", "log"), tuple(series))


def _lebesgue_chart(n: int) -> Curves:
    degrees = np.arange(2, min(max(2 * n, 24), MOST_DEGREE) + 1)
    even = [lebesgue_point(nodes("equispaced", int(m)), -1, 1)[1] for m in degrees]
    slow = [lebesgue_constant("Chebyshev", int(m)).middle for m in degrees]
    series = (
        Series("equispaced", degrees, even, "other"),
        Series("2ⁿ⁺¹/(e n ln n)", degrees, 2.0 ** (degrees + 1) / (np.e * degrees * np.log(degrees)), "reference"),
        Series("Chebyshev", degrees, slow, "measured"),
        Series("(2/π) ln(n + 1) + 1", degrees, [2 / pi * log(m + 1) + 1 for m in degrees], "reference"),
    )
    return Curves("Lebesgue constants", Axis("degree n"), Axis("Λ", "log"), series)


# ---- the user's points -----------------------------------------------------------------------------------------------


def data_evidence(x: np.ndarray, y: np.ndarray, name: str) -> Evidence:
    """Points with different abscissae: what the polynomial through them does between them, and to their errors."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    middle, half = (x[0] + x[-1]) / 2, (x[-1] - x[0]) / 2
    t = (x - middle) / half
    p = Interpolant(t, y)
    at, constant = lebesgue_point(t, -1, 1)
    # labels moved by the signs of the cardinal functions move the polynomial by Λ at this point
    shaken = Interpolant(t, y + np.sign(p.cardinal(at)))
    moved = float(shaken(np.array([at]))[0] - p(np.array([at]))[0])
    grid = np.linspace(-1, 1, SHOWN)
    highest, scale = float(np.abs(p(grid)).max()), max(float(np.abs(y).max()), 1e-300)
    low, high = float(y.min()), float(y.max())
    room = max(high - low, 1e-9)  # the curve is cut off where it leaves the data by their range
    left = [_left_out(t, y, k) for k in range(1, len(t) - 1)]
    claims = (
        Identity("change of the polynomial at the worst point when labels move by ±1 = Λ", Enclosure.equal(moved),
                 Enclosure.equal(constant), rtol=1e-6, atol=1e-9 * scale * constant),
        AtMost("largest |p| between the points ≤ Λ max|y|", Enclosure.at_least(highest, samples=SHOWN),
               Enclosure.at_least(constant * scale)),
    )  # fmt: skip
    series = (
        Series(
            "polynomial through the points", middle + half * grid, np.clip(p(grid), low - room, high + room), "other"
        ),
        Series("broken line (ReLU)", middle + half * grid, bent_line(t, y, grid), "measured"),
        Series(name, x, y, "reference", "points"),
    )
    cut = "; the polynomial is cut off at the frame" if np.ptp(p(grid)) > 3 * room else ""
    errors = np.abs(np.array(left)) if left else np.zeros((1, 2))
    numbers = {"Λ": constant, "largest |p|": highest, "largest |y|": scale}
    numbers |= {"left-out error, polynomial": errors[:, 0].mean(), "left-out error, broken line": errors[:, 1].mean()}
    return Evidence(
        claims,
        (Curves(f"through {len(x)} points{cut}", Axis("x"), Axis("y"), series),),
        numbers,
        summary=f"the polynomial through {len(x)} points amplifies errors by up to {constant:.5g}, the broken line by "
        f"1; leaving a row out costs {errors[:, 0].mean():.4g} against {errors[:, 1].mean():.4g}",
    )


def _left_out(t: np.ndarray, y: np.ndarray, k: int) -> tuple[float, float]:
    """The errors at an inner point of the polynomial and of the broken line through all others."""
    others = np.arange(len(t)) != k
    point = t[k : k + 1]
    return (
        float(Interpolant(t[others], y[others])(point)[0] - y[k]),
        float(bent_line(t[others], y[others], point)[0] - y[k]),
    )
