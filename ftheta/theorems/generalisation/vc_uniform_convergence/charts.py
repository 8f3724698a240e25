"""Growth functions, radii of uniform convergence, VC dimensions of networks, and bounds of the risk."""

import numpy as np

from ftheta.logic import Axis, Bars, Curves, Series, Table
from ftheta.risks.bounds.table import RiskBounds
from ftheta.risks.bounds.uniform import finite_class_radius, uniform_coverage, vc_radius

from .architectures import ARCHITECTURES, count_rows_needed, units_of_widths
from .shattering import cover_count, sauer_shelah
from .uniform_experiments import Setting


def draw_growth(patterns: np.ndarray, d: int) -> Curves:
    """Growth functions: all labellings, Sauer and Shelah, halfspaces by Cover, and the count on the points."""
    last = max(min(3 * d + 5, 24), patterns.shape[1] + 2)
    m = np.arange(1, last + 1)
    counted = [len(np.unique(patterns[:, :k], axis=0)) for k in range(1, patterns.shape[1] + 1)]
    return Curves(
        f"labellings of m points by halfspaces in {d} dimension{'s' * (d > 1)}",
        Axis("points m"),
        Axis("labellings", "log"),
        (
            Series("all, 2ᵐ", m, 2.0**m, "reference"),
            Series(
                f"Sauer–Shelah, VC = {d + 1}",
                m,
                [float(sauer_shelah(int(k), d + 1)) for k in m],
                "bound",
            ),
            Series("Cover", m, [float(cover_count(int(k), d + 1)) for k in m], "other"),
            Series("counted", m[: len(counted)], counted, "measured", "points"),
        ),
    )


def draw_radii(d: int, setting: Setting, rng: np.random.Generator) -> Curves:
    """Radii against the sample size, and what half-lines (VC dimension 2) do in an experiment."""
    n = np.unique(np.geomspace(max(10, setting.n // 50), setting.n * 50, 40).astype(int))
    one = [finite_class_radius(1, int(k), setting.delta) for k in n]
    many = [finite_class_radius(setting.hypotheses, int(k), setting.delta) for k in n]
    vc = [vc_radius(d + 1, int(k), setting.delta) for k in n]
    sizes = np.unique(np.geomspace(n[0], setting.n, 5).astype(int))
    trials = [max(40, min(200, 1_000_000 // int(k))) for k in sizes]
    seen = [uniform_coverage(int(k), setting.delta, t, rng)[1] for k, t in zip(sizes, trials)]
    met = [float(np.quantile(v, 1 - setting.delta, method="higher")) for v in seen]
    return Curves(
        "radius within which all predictors of a class stay",
        Axis("sample size n", "log"),
        Axis("|R_n − R|", "log"),
        (
            Series(f"VC dimension {d + 1}", n, vc, "bound"),
            Series(f"{setting.hypotheses:,} predictors", n, many, "other"),
            Series("one predictor", n, one, "other"),
            Series("vacuous", n, np.ones(len(n)), "reference"),
            Series("half-lines, measured", sizes, met, "measured", "points"),
        ),
    )


def tabulate_architectures(setting: Setting) -> Table:
    """VC dimensions of ReLU networks, and the rows from which the bound says something."""
    rows = []
    for widths in ARCHITECTURES:
        units = units_of_widths(widths)
        some = units.vc_of_some_network()
        at_most = units.vc_at_most()
        rows.append(
            (
                "-".join(map(str, widths)) if len(widths) < 6 else f"784-{len(widths) - 2}×1024-10",
                units.weights,
                units.depth,
                at_most,
                units.vc_closed_form(),
                "–" if some is None else some,
                vc_radius(at_most, setting.n, setting.delta),
                count_rows_needed(at_most, setting.delta),
            )
        )
    title = "VC dimension of ReLU networks: some network of that size reaches the lower bound, none the upper"
    radius = f"radius, n = {setting.n:,}"
    columns = (
        "widths",
        "W",
        "L",
        "VC at most",
        "closed form",
        "some has at least",
        radius,
        "rows for a radius < 1",
    )
    return Table(title, columns, tuple(rows))


def draw_bounds(found: RiskBounds) -> Bars:
    """The bounds of the risk of a network side by side."""
    names = tuple(f"{b.name}{' (vacuous)' if b.vacuous else ''}" for b in found.bounds)
    values = (tuple(b.value for b in found.bounds),)
    return Bars("upper bounds of the risk", Axis("risk at most", "log"), names, ("bound",), values)
