"""Constants in words, one a line."""

from math import isfinite

from ftheta.logic.enclosure import Enclosure

from .constants import Constants


def describe(c: Constants) -> str:
    """The card of a loss: every constant with how well it is known."""
    o = c.objective
    ridge = f" + {o.ridge:g}‖θ‖²" if o.ridge else ""
    head = f"{o.model.name} ({o.size:,} parameters) on {o.examples.name} ({len(o.examples):,} rows)"
    rows = [*_curvature(c), *_convexity(c), *_descent(c), *_kernel(c), *_density(c), *_path(c)]
    lines = [f"  {name:<24}{value}" for name, value in rows]
    lines += [f"  {c.layers.diagnosis}"] if c.layers is not None else []
    return "\n".join([f"{head}, {o.loss.name} loss{ridge}", *lines])


def _curvature(c: Constants) -> list[tuple[str, str]]:
    h = c.hessian
    spent = "" if h.converged else f"; {h.products} products were not enough"
    rest = ", ".join(f"{v:.5g}" for v in h.largest.values[1:])
    radius = max(h.largest.residuals, default=0.0)
    known = "all were computed" if h.complete else f"an eigenvalue within {radius:.2g} of each{spent}"
    return [
        ("loss", f"{c.loss:.6g}, gradient {c.gradient:.4g}"),
        ("smoothness max|λ|", _number(c.smoothness)),
        ("largest eigenvalue", _number(c.top)),
        ("the next", f"{rest} ({known})" if rest else "–"),
        ("lowest curvature", _number(c.lowest)),
    ]


def _convexity(c: Constants) -> list[tuple[str, str]]:
    if c.strong_convexity is not None:
        mu = c.strong_convexity
        kind = "strongly convex everywhere" if mu.lo > 0 else "convex everywhere"
        rows = [("convexity", f"{kind}: linear model, μ {_number(mu)}")]
    elif c.hessian.range[0] < 0:
        rows = [("convexity", "not convex: there is negative curvature here")]
    else:
        rows = [("convexity", "convex to second order here; nothing is said of other points")]
    return rows + ([("condition number", _number(c.condition))] if c.condition is not None else [])


def _descent(c: Constants) -> list[tuple[str, str]]:
    rows = [("PL ratio here", f"{_number(c.pl)} (loss above {c.optimum:g})")]
    if c.pl_by_kernel is not None:
        rows.append(("PL from the kernel", _number(c.pl_by_kernel)))
    if c.stable_step is not None:
        rows.append(("largest stable step", _number(c.stable_step)))
    if c.edge is not None:
        side = "stable" if c.edge.hi < 2 else "unstable" if c.edge.lo > 2 else "at the edge"
        rows.append(("step × λ_max", f"{_number(c.edge)}: {side}"))
    return rows


def _kernel(c: Constants) -> list[tuple[str, str]]:
    k = c.kernel
    how = "all were computed" if k.complete else f"{k.products} products"
    lo, hi = k.range
    return [("tangent kernel", f"{k.size:,} eigenvalues from {max(lo, 0.0):.4g} to {hi:.4g} ({how})")]


def _density(c: Constants) -> list[tuple[str, str]]:
    return [] if c.density is None else [("trace of the Hessian", _number(c.density.trace))]


def _path(c: Constants) -> list[tuple[str, str]]:
    p = c.path
    if p is None:
        return []
    rows = [
        ("along the run", f"{p.at[-1]:,} steps, loss {p.loss[0]:.4g} → {p.loss[-1]:.4g}; stopped by: {p.ended}"),
        ("  λ_max", f"{p.top[0]:.4g} → {p.top[-1]:.4g}, at most {p.top.max():.4g}"),
        ("  gradient Lipschitz", f"at least {p.lipschitz.max(initial=0.0):.4g}"),
        ("  least PL ratio", f"{p.pl.min():.4g}"),
    ]
    return rows if p.step is None else [*rows, ("  step × λ_max", f"{p.edge[0]:.4g} → {p.edge[-1]:.4g}")]


def _number(e: Enclosure) -> str:
    """A value with what is known of it."""
    if e.width <= 1e-6 * abs(e.middle):
        return f"{e.middle:.6g}"
    if not isfinite(e.hi):
        return f"at least {e.lo:.5g}"
    nominal = "" if e.nominal is None else "nominal "
    sure = "" if e.level is None else f" ({nominal}confidence {e.level:g})"
    return f"between {e.lo:.5g} and {e.hi:.5g}{sure}"
